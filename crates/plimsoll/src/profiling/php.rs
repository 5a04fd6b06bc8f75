//! PHP functions: of the measured window of a load, where the server is a stack that samples them, and read back by a verb.

use super::write_file;
use crate::exit::CommandError;
use crate::output::printer;
use model::{CheckRow, CheckState, PhpClock, PhpProfiled, Redacted};
use report::flame;
use stack::{PHP_SAMPLE_NS, PhpSamples, PhpWritten, StackError};
use std::collections::BTreeMap;
use std::path::Path;

/// The stacks, and the graph of them.
pub(crate) const PHP_FOLDED: &str = "php.folded";
pub(crate) const PHP_GRAPH: &str = "php.svg";

/// Samples of the requests that end in the measured window.
pub(crate) struct PhpSampling {
    samples: PhpSamples,
    until: Option<Result<PhpWritten, StackError>>,
}

/// What came of it.
pub(crate) struct PhpSampled {
    pub(crate) profile: PhpProfiled,
    pub(crate) folded: String,
}

impl PhpSampling {
    pub(super) const fn new(samples: PhpSamples) -> Self {
        Self { samples, until: None }
    }

    /// Forgets what was sampled before the window. Nothing is read here, where the load is followed.
    pub(super) fn begin(&self) {
        if let Err(error) = self.samples.clear() {
            printer::note(&format!("warning: PHP functions of before the window are in the profile: {error}"));
        }
    }

    /// Notes where the window ends, the first time.
    pub(super) fn end(&mut self) {
        self.until.get_or_insert_with(|| self.samples.written());
    }

    /// Reads what was sampled until then; tells why if it cannot be read.
    pub(super) fn finish(self) -> Option<PhpSampled> {
        let until = self.until?;
        let read = until.and_then(|until| sampled(&self.samples, &until));
        read.inspect_err(|error| printer::note(&format!("warning: no PHP functions: {error}"))).ok()
    }
}

/// What a stack has sampled, added up.
pub(crate) fn sampled(samples: &PhpSamples, until: &PhpWritten) -> Result<PhpSampled, StackError> {
    let stacks = samples.read(until)?;
    // Names are the program's under test, and those of files may be anything.
    let folded = Redacted::text(&stacks.folded).into_inner();
    let profile = PhpProfiled {
        clock: samples.clock,
        sample_ns: PHP_SAMPLE_NS,
        samples: stacks.samples,
        left_out: stacks.left_out,
        is_full: stacks.is_full,
        functions: flame::php_functions(&folded),
    };
    Ok(PhpSampled { profile, folded })
}

/// Writes stacks and graph into `directory`, if there are any; true if there are.
pub(crate) fn write(
    directory: &Path,
    sampled: &PhpSampled,
    of: &Redacted,
    us_per_good: Option<f64>,
) -> Result<bool, CommandError> {
    let title = Redacted::text(&format!("PHP functions {of}"));
    let (clock, sample_us) = (sampled.profile.clock, sampled.profile.sample_ns as f64 / 1e3);
    let Some(svg) = flame::php(&sampled.folded, &title, clock, sample_us, us_per_good) else { return Ok(false) };
    write_file(&directory.join(PHP_FOLDED), &sampled.folded)?;
    write_file(&directory.join(PHP_GRAPH), &svg)?;
    Ok(true)
}

/// What is said of a server whose PHP functions are sampled, whether or not they are asked for.
pub(crate) fn check_row(clock: PhpClock) -> CheckRow {
    CheckRow {
        rule: "PR-01".into(),
        what: "PHP functions".into(),
        state: CheckState::Warning,
        found: format!("the server samples each request by {}, which takes CPU time", clock.words()),
        remedy: Some("measure again with php_profile=off for goodput and latency".into()),
        figures: BTreeMap::new(),
    }
}
