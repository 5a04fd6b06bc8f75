//! PHP functions: of the measured window of a load, where the server is a stack that samples them, and read back by a verb.

use super::write_file;
use crate::exit::CommandError;
use crate::output::printer;
use model::{CheckRow, CheckState, PhpClock, PhpProfiled, Redacted};
use report::flame;
use stack::{PHP_SAMPLE_NS, PhpSamples, PhpWritten, StackError};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The stacks, and the graph of them.
pub(crate) const PHP_FOLDED: &str = "php.folded";
pub(crate) const PHP_GRAPH: &str = "php.svg";

/// Samples of the requests that end in the measured window.
pub(crate) struct PhpSampling {
    samples: PhpSamples,
    /// What has not worked before the load.
    failed: Option<StackError>,
    since: Option<Result<PhpWritten, StackError>>,
    until: Option<Result<PhpWritten, StackError>>,
}

/// What came of it.
pub(crate) struct PhpSampled {
    pub(crate) profile: PhpProfiled,
    pub(crate) folded: String,
}

impl PhpSampling {
    /// Makes room, as what is sampled before the window is in the same files. This is for before the load.
    pub(super) fn new(samples: PhpSamples) -> Self {
        let failed = samples.clear().err();
        Self { samples, failed, since: None, until: None }
    }

    /// Notes where the window begins. No file is opened here, where the load is followed.
    pub(super) fn begin(&mut self) {
        self.since = Some(self.samples.written());
    }

    /// Notes where the window ends, the first time.
    pub(super) fn end(&mut self) {
        self.until.get_or_insert_with(|| self.samples.written());
    }

    /// Reads what was sampled until then; tells why if it cannot be read.
    pub(super) fn finish(self) -> Option<PhpSampled> {
        let read = self.read()?;
        read.inspect_err(|error| printer::note(&format!("warning: no PHP functions: {error}"))).ok()
    }

    /// None if there was no window.
    fn read(self) -> Option<Result<PhpSampled, StackError>> {
        let (since, until) = self.since.zip(self.until)?;
        Some(self.failed.map_or(Ok(()), Err).and_then(|()| sampled(&self.samples, &since?, &until?)))
    }
}

/// What a stack has sampled from one time to another, added up.
pub(crate) fn sampled(samples: &PhpSamples, since: &PhpWritten, until: &PhpWritten) -> Result<PhpSampled, StackError> {
    let stacks = samples.read(since, until)?;
    let folded = redacted(&stacks.folded);
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

/// Stacks without secrets: names are the program's under test, and those of files may be anything. Each name is looked at
/// once, as a line has many that other lines have too.
fn redacted(folded: &str) -> String {
    let (mut shown, mut known) = (String::with_capacity(folded.len()), HashMap::new());
    for line in folded.lines() {
        let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
        for (i, frame) in stack.split(';').enumerate() {
            let safe = known.entry(frame).or_insert_with(|| Redacted::text(frame).into_inner());
            shown.push_str(if i > 0 { ";" } else { "" });
            shown.push_str(safe);
            // What is behind it may be the rest of the secret.
            if *safe != frame {
                break;
            }
        }
        shown.push_str(&format!(" {samples}\n"));
    }
    shown
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
    let found = format!("the server samples each request by {}, which takes CPU time", clock.words());
    warning(found, "measure again with php_profile=off for goodput and latency")
}

/// What is said of variants with the clocks of their samples, the baseline first: of the first that does not sample as the
/// baseline does. None where all are alike.
pub(crate) fn compared_row(variants: &[(&str, Option<PhpClock>)]) -> Option<CheckRow> {
    let ((_, baseline), others) = variants.split_first()?;
    let (name, clock) = others.iter().find(|(_, clock)| clock != baseline)?;
    let how = |clock: Option<PhpClock>| match clock {
        Some(clock) => format!("samples each request by {}", clock.words()),
        None => "samples none".to_owned(),
    };
    let found = format!("'{name}' {}, the baseline {}: sampling takes CPU time", how(*clock), how(*baseline));
    Some(warning(found, "compare again with php_profile=off in all variants for goodput and latency"))
}

fn warning(found: String, remedy: &str) -> CheckRow {
    CheckRow {
        rule: "PR-01".into(),
        what: "PHP functions".into(),
        state: CheckState::Warning,
        found,
        remedy: Some(remedy.into()),
        figures: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stack::Standing;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// The folder of the samples of a stack, with one stack of before the load.
    fn stack() -> (TempDir, PathBuf, PhpSamples) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("tmp/php-profile");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("1"), "\nold 1\n").unwrap();
        let state = dir.path().to_owned();
        let standing = Standing { state, php_profile: Some(PhpClock::Cpu), ..Standing::default() };
        (dir, folder, standing.php_samples().unwrap())
    }

    /// Adds to what is there, as a request does that ends.
    fn ends(folder: &Path, stack: &str) {
        let text = std::fs::read_to_string(folder.join("1")).unwrap();
        std::fs::write(folder.join("1"), format!("{text}\n{stack} 1\n")).unwrap();
    }

    #[test]
    fn a_variant_that_does_not_sample_as_the_baseline_does_is_named() {
        let (cpu, real) = (Some(PhpClock::Cpu), Some(PhpClock::Real));
        let found = |clocks: [Option<PhpClock>; 3]| {
            let named: Vec<_> = ["a", "b", "c"].into_iter().zip(clocks).collect();
            compared_row(&named).map(|row| row.found)
        };
        assert!(found([None; 3]).is_none() && found([cpu; 3]).is_none() && compared_row(&[]).is_none());
        let said = "'c' samples each request by CPU time, the baseline samples none: sampling takes CPU time";
        assert_eq!(found([None, None, cpu]).as_deref(), Some(said));
        assert!(found([cpu, None, real]).unwrap().starts_with("'b' samples none, the baseline samples each request"));
        assert!(found([cpu, real, None]).unwrap().starts_with("'b' samples each request by real time, the baseline "));
    }

    #[test]
    fn a_window_has_the_samples_of_the_requests_that_end_in_it() {
        let (_dir, folder, samples) = stack();
        let mut sampling = PhpSampling::new(samples);
        assert_eq!(std::fs::read(folder.join("1")).unwrap(), b"", "the load has all the room");
        ends(&folder, "warm-up");
        sampling.begin();
        ends(&folder, "in");
        sampling.end();
        ends(&folder, "after");
        sampling.end();
        assert_eq!(sampling.read().unwrap().unwrap().folded, "in 1\n");
    }

    #[test]
    fn samples_that_could_not_be_forgotten_are_no_part_of_a_profile() {
        let (_dir, folder, samples) = stack();
        std::fs::create_dir(folder.join("0")).unwrap();
        let mut sampling = PhpSampling::new(samples);
        sampling.begin();
        ends(&folder, "in");
        sampling.end();
        let why = sampling.read().unwrap().err().unwrap().to_string();
        assert!(why.starts_with("cannot empty ") && why.contains("php-profile"), "{why}");
    }

    #[test]
    fn a_load_without_a_window_has_no_profile() {
        let (_dir, _, samples) = stack();
        let mut sampling = PhpSampling::new(samples);
        sampling.end();
        assert!(sampling.read().is_none());
    }

    #[test]
    fn secrets_in_names_and_what_may_be_the_rest_of_them_are_left_out() {
        let folded = "i;f?token=s3cret;rest;x 3\ni;f;{closure:a.php(3)} 2\ni;f 1\n";
        assert_eq!(redacted(folded), "i;f?token=<redacted> 3\ni;f;{closure:a.php(3)} 2\ni;f 1\n");
    }
}
