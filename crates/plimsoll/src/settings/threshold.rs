//! Thresholds that were asked for, checked before anything is measured.

use crate::cli::threshold::{CiFiles, ThresholdArgs};
use crate::cli::{MeasuredArgs, RunArgs};
use crate::exit::CommandError;
use crate::result::{Asked, other_objective};
use crate::store::stored::Stored;
use evidence::factors::differences;
use judge::abort::ABORT_OVER_NS;
use judge::threshold::{CPU_SHARE, SLO, Threshold};
use model::human::time;
use model::{Baseline, Factor, Load, SessionEvent, Stop, VerdictState};
use report::factors::factors;
use report::figures::figures;
use report::record::AnyRecord;
use std::path::Path;

/// What a capacity has; what others have not.
const CAPACITY: &str = "capacity";
/// Figures that are known only where the server is observed.
const OF_SERVER: [&str; 4] = ["cpu", CPU_SHARE, "cpu-per-request", "rss"];

/// A kind of result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Sweep,
    Capacity,
}

/// The thresholds of `args` for what is `measured`.
pub(crate) fn read(args: &ThresholdArgs, kind: Kind, measured: &MeasuredArgs) -> Result<Asked, CommandError> {
    let wrong = |why: String| CommandError::usage(format!("--fail-if {why}"));
    let mut all = Vec::new();
    for text in &args.fail_if {
        all.extend(Threshold::parse_all(text).map_err(wrong)?);
    }
    for threshold in &all {
        let figure = threshold.figure();
        if (kind == Kind::Capacity) != (figure == CAPACITY) {
            return Err(wrong(match kind {
                Kind::Capacity => {
                    format!("{threshold}: a capacity has the figure capacity only; put others into --goal")
                }
                Kind::Run | Kind::Sweep => format!("{threshold}: only plimsoll capacity finds a capacity; try goodput"),
            }));
        }
        if threshold.is_relative() && args.baseline.is_none() {
            return Err(wrong(format!("{threshold} is a change: name the result it is relative to (--baseline DIR)")));
        }
        if OF_SERVER.contains(&figure) && measured.no_observe {
            return Err(wrong(format!("{threshold} needs to see the server: leave out --no-observe")));
        }
        if figure == SLO && measured.slo.is_none() {
            return Err(wrong(format!("{threshold} needs the response time that it is about: add --slo 200ms")));
        }
    }
    if args.baseline.is_some() && !all.iter().any(Threshold::is_relative) {
        return Err(CommandError::usage("--baseline has no use: no --fail-if is a change, such as 'goodput<-3%'"));
    }
    writable(&args.files)?;
    let conditions = all.iter().map(ToString::to_string).collect();
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    let of_slo = all.iter().find(|threshold| threshold.is_relative() && threshold.figure() == SLO);
    if let (Some(threshold), Some(baseline)) = (of_slo, &baseline) {
        let own_ns = measured.slo.map(|slo| slo.ns);
        if let Some(why) = other_objective(own_ns, baseline.slo_ns) {
            return Err(wrong(format!("{threshold}: {why}")));
        }
    }
    Ok(Asked { conditions, baseline })
}

/// Conditions under which the load of a run is ended early.
pub(crate) fn abort_if(args: &RunArgs, load: Load, until: Stop) -> Result<Vec<Threshold>, CommandError> {
    let wrong = |why: String| CommandError::usage(format!("--abort-if {why}"));
    let mut all = Vec::new();
    for text in &args.abort_if {
        all.extend(judge::abort::parse_conditions(text).map_err(wrong)?);
    }
    for condition in &all {
        let is_missing = match judge::abort::needed_flag(condition) {
            Some("-R") => load.is_closed(),
            Some(_) => args.measured.slo.is_none(),
            None => false,
        };
        if let Some(flag) = judge::abort::needed_flag(condition).filter(|_| is_missing) {
            return Err(wrong(format!("{condition} is about what {flag} asks for: add {flag}")));
        }
    }
    match until.duration_ns() {
        Some(window_ns) if !all.is_empty() && window_ns < ABORT_OVER_NS => Err(wrong(format!(
            "is put to {} of the measurement window, which has {}: leave it out, or measure for longer (-d)",
            time(ABORT_OVER_NS as f64),
            time(window_ns as f64)
        ))),
        _ => Ok(all),
    }
}

/// Fails where a file that CI reads would have no directory, before anything is measured.
pub(crate) fn writable(files: &CiFiles) -> Result<(), CommandError> {
    for file in files.junit.iter().chain(&files.summary) {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(CommandError::usage(format!("cannot write {}: there is no such directory", file.display())));
        }
    }
    Ok(())
}

/// The figures of a stored result that others may be held against.
fn baseline(directory: &Path) -> Result<Baseline, CommandError> {
    let stored = Stored::read(directory)?;
    let refuse = |why: &str| CommandError::usage(format!("--baseline {}: {why}", directory.display()));
    let (state, interrupted) = match stored.named().record {
        AnyRecord::Run(record) => (record.verdict.state, record.interrupted),
        AnyRecord::Sweep(record) => (record.verdict.state, record.interrupted),
        AnyRecord::Capacity(record) => (record.verdict.state, record.interrupted),
        AnyRecord::Sweeps(_) => {
            return Err(refuse("it has several sweeps; name one of the directories in its arms/"));
        }
        AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => {
            return Err(refuse("it has several results; name a run, a sweep or a capacity"));
        }
    };
    if state == VerdictState::Invalid {
        return Err(refuse("it is INVALID: nothing may be compared with it (CP-10); plimsoll report has the reasons"));
    }
    if interrupted {
        return Err(refuse("it was interrupted before its plan was done; measure it again"));
    }
    let record = stored.named().record;
    let slo_ns = record.slo_ns();
    Ok(Baseline { figures: figures(record), factors: factors(record), name: stored.name.clone(), slo_ns })
}

impl Asked {
    /// Fails where what is about to be measured, of which the factors are `own`, may not be compared with the baseline. What
    /// is known only of the result is looked at again in the end.
    pub(crate) fn may_compare(&self, own: &[Factor]) -> Result<(), CommandError> {
        let Some(baseline) = &self.baseline else { return Ok(()) };
        let apart = differences(own, &baseline.factors);
        let told = apart.iter().filter(|(name, ..)| own.iter().any(|factor| factor.name == *name));
        let told: Vec<String> = told.map(|(name, own, other)| format!("{name}: {own}, not {other}")).collect();
        match told.is_empty() {
            true => Ok(()),
            false => Err(CommandError::usage(format!(
                "--baseline {} was not measured alike, so that there is no change to speak of (CP-01): {}",
                baseline.name,
                told.join("; ")
            ))),
        }
    }

    /// As it is recorded; none without any threshold.
    pub(crate) fn event(&self) -> Option<SessionEvent> {
        let Self { conditions, baseline } = self.clone();
        (!conditions.is_empty()).then(|| SessionEvent::Thresholds { conditions, baseline: baseline.map(Box::new) })
    }
}
