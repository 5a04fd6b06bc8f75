//! Faults that are made on this machine and measured by the real binary.

pub mod answers;
pub mod client;
pub mod load;
pub mod network;
pub mod server;

use crate::decide::account::{Account, QUIET};
use crate::decide::{Watched, side_by_side, watch};
use model::FindingState;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// No injection takes longer, whatever hangs: ended with all that it has started.
const LIMIT_S: &str = "120";
/// So much longer are the loads of short sweeps beside noise.
const LONGER: u32 = 3;
/// Length of a look at what others take; bursts of noise are apart by less.
const LOOK: Duration = Duration::from_secs(4);
/// Exit codes of a script: plimsoll refuses to begin, and `impossible` of the prelude.
const REFUSED: i32 = 2;
const IMPOSSIBLE: i32 = 77;
/// Rules about what is answered, set or counted, not about time: other loads on the same CPUs change nothing of it. That which
/// takes a minute first.
const BESIDE_ANY_LOADS: &[&str] = &[
    "ST-01", "ER-04", "ER-14", "ST-02", "ER-15", "ST-06", "CL-06", "CL-07", "CL-17", "ER-01", "ER-02", "ER-03",
    "ER-05", "ER-06", "ER-07", "ER-08", "ER-09", "ER-11", "LD-03", "LD-04", "LD-07", "LD-09", "NE-01", "NE-02",
    "NE-08", "SV-02", "SV-03", "SV-05", "SV-06", "EN-05", "EN-06", "ER-12", "PR-01",
];
/// Rules about time, whose faults leave the CPUs almost idle: others of that kind change nothing of it. Not those about single
/// iterations or seconds, or that want undisturbed time: on a slow machine the others take a third of a CPU. The longest first.
const BESIDE_IDLE_LOADS: &[&str] = &["SA-05", "SA-01", "SA-04", "CL-15", "NE-03", "SV-01"];
/// Rules about windows of seconds, and about what else a machine does that others use as well: whatever is wrong with a load,
/// they are right to fire. The fault of another program is its row's own.
pub const ON_ANY_LOAD: &[&str] = &[
    "LD-04", "CL-08", "CL-09", "CL-16", "EN-01", "EN-02", "EN-03", "EN-04", "NE-06", "PH-06", "ST-05", "SV-08", "SV-09",
];
/// Rules about how times and rates vary, and about which load is the peak: with other loads on the same CPUs they are right to
/// fire on those that bear that.
const BESIDE_LOADS: &[&str] = &[
    "CL-03", "LD-01", "LD-06", "PH-01", "PH-07", "SA-01", "SA-03", "SA-06", "ST-01", "ST-03", "ST-04", "ST-05", "ST-07",
];
/// A closed loop at full speed: client and server have one CPU each, and the client's may be the busier one.
const AT_FULL_SPEED: &[&str] = &["CL-01"];
/// Rules that make a note of a run or a sweep, and more of a search for a capacity or a comparison, of which no fault is
/// made here.
const NOTED_OF_SWEEPS: &[&str] = &["SA-02", "ST-06"];
/// So many that bear each other are made at a time.
const AT_A_TIME: usize = 4;

/// A fault that is made.
pub struct Real {
    /// The rules that must fire.
    pub rules: &'static [&'static str],
    /// What is wrong, in a few words.
    pub fault: &'static str,
    /// The rules that may fire beside them, as what they are about comes with the fault. No others may, but those about the
    /// machine.
    pub may: &'static [&'static str],
    /// Bash that makes it and measures, in the words of the prelude.
    pub faulty: &'static str,
    /// The same without the fault.
    pub clean: &'static str,
}

impl Real {
    /// What may be beside it.
    pub fn bears(&self) -> Beside {
        let is_of = |&beside: &Beside| self.turn(beside).is_some();
        [Beside::AnyLoads, Beside::IdleLoads].into_iter().find(is_of).unwrap_or(Beside::Nothing)
    }

    /// The rules that fired and have nothing to do with it.
    pub fn unexpected<'a>(&self, judged: &'a Judged) -> Vec<&'a str> {
        let beside = if self.bears() == Beside::Nothing { &[] } else { BESIDE_LOADS };
        let known = [self.rules, self.may, ON_ANY_LOAD, AT_FULL_SPEED, beside];
        judged.fired().filter(|rule| !known.iter().any(|rules| rules.contains(rule))).collect()
    }

    /// When its turn is among those that bear that, if it is one of them.
    fn turn(&self, beside: Beside) -> Option<usize> {
        beside.rules().iter().position(|rule| self.rules.contains(rule))
    }
}

/// What may be beside a fault, and changes nothing of what its rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Whatever loads.
    AnyLoads,
    /// Loads that leave the CPUs almost idle.
    IdleLoads,
    /// Nothing.
    Nothing,
}

impl Beside {
    /// The rules whose faults bear it, in the order in which they are put to them.
    const fn rules(self) -> &'static [&'static str] {
        match self {
            Self::AnyLoads => BESIDE_ANY_LOADS,
            Self::IdleLoads => BESIDE_IDLE_LOADS,
            Self::Nothing => &[],
        }
    }
}

/// What plimsoll said.
pub enum Said {
    /// Its verdict.
    Judged(Judged),
    /// It refused to begin, in one line.
    Refused(String),
    /// This machine cannot have such a fault, and why.
    Impossible(String),
}

/// A verdict.
pub struct Judged {
    /// Rules that fired, and what they made of the result.
    pub findings: Vec<(String, FindingState)>,
    /// The whole record.
    pub record: Value,
}

impl Judged {
    /// The rules that made more of it than a note.
    pub fn fired(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().filter(|(_, state)| *state > FindingState::Note).map(|(rule, _)| rule.as_str())
    }

    /// Those of the rules that did not fire.
    pub fn silent<'a>(&self, rules: &[&'a str]) -> Vec<&'a str> {
        rules.iter().copied().filter(|rule| !self.tells(rule)).collect()
    }

    /// True if a rule fired: more than a note, unless it never says more.
    pub fn tells(&self, rule: &str) -> bool {
        let state = self.findings.iter().find(|(one, _)| one == rule).map(|(_, state)| *state);
        state.is_some_and(|state| state > FindingState::Note || has_only_notes(rule))
    }
}

/// True if what a rule is about is no fault of what is measured here, ever.
fn has_only_notes(rule: &str) -> bool {
    let card = audit::catalogue().rules.into_iter().find(|card| card.id == rule);
    NOTED_OF_SWEEPS.contains(&rule) || card.is_some_and(|card| card.states == [FindingState::Note])
}

/// All of them, family by family.
pub fn all() -> impl Iterator<Item = &'static Real> {
    [client::ALL, answers::ALL, load::ALL, network::ALL, server::ALL].into_iter().flatten()
}

/// Those that bear that, and no more.
///
/// # Panics
/// When there is none.
pub fn that_bear(beside: Beside) -> Vec<&'static Real> {
    let faults: Vec<_> = all().filter(|real| real.bears() == beside).collect();
    assert!(!faults.is_empty(), "no fault bears {beside:?} and no more");
    faults
}

/// Does something with each fault: first with those that bear others, some at a time, then with the rest one by one.
/// `real` is the fault of a `T`.
pub fn each<T: Send>(mut faults: Vec<T>, real: impl Fn(&T) -> &'static Real, act: impl Fn(T) + Sync) {
    for beside in [Beside::AnyLoads, Beside::IdleLoads] {
        let (mut together, others): (Vec<T>, Vec<T>) =
            faults.into_iter().partition(|fault| real(fault).bears() == beside);
        together.sort_by_key(|fault| real(fault).turn(beside));
        side_by_side(AT_A_TIME, together, &act);
        faults = others;
    }
    faults.into_iter().for_each(act);
}

/// Makes faults with one build of plimsoll: longer as soon as others take CPU time, as less of a load is left to look at then.
pub struct Maker {
    program: PathBuf,
    is_noisy: AtomicBool,
}

impl Maker {
    /// With `program` as plimsoll.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), is_noisy: AtomicBool::new(false) }
    }

    /// The same, for whom no fault is made twice: it looks first whether others take CPU time.
    #[must_use]
    pub fn after_a_look(self) -> Self {
        let is_noisy = watch(|| std::thread::sleep(LOOK)).disturbance().share > QUIET;
        Self { is_noisy: AtomicBool::new(is_noisy), ..self }
    }

    /// Runs a script of a [`Real`]. Faults take CPU time themselves: what others take meanwhile is watched from here.
    pub fn make(&self, script: &str) -> Watched<Result<Said, String>> {
        let longer = if self.is_noisy.load(Ordering::Relaxed) { LONGER } else { 1 };
        let made = watch(|| run(&self.program, script, longer));
        if made.disturbance().share > QUIET {
            self.is_noisy.store(true, Ordering::Relaxed);
        }
        made
    }
}

/// Runs a script of a [`Real`] that measures.
fn run(program: &Path, script: &str, longer: u32) -> Result<Said, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = apart(program, script, longer, directory.path())?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => {
            let record = std::fs::read(directory.path().join("record.json")).map_err(|error| error.to_string())?;
            let record: Value = serde_json::from_slice(&record).map_err(|error| format!("{error}: {stderr}"))?;
            judged(record).ok_or_else(|| "the record has no verdict".to_owned())
        }
        Some(REFUSED) => Ok(Said::Refused(stderr)),
        Some(IMPOSSIBLE) => Ok(Said::Impossible(stderr)),
        _ => Err(format!("{}: {stderr}", output.status)),
    }
}

/// What a script in these words prints.
///
/// # Errors
/// What it has printed of its failure.
pub fn scripted(program: &Path, script: &str) -> Result<String, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = apart(program, script, 1, directory.path())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Runs a script in a directory and a network namespace of its own, with short loads `longer` times as long.
fn apart(program: &Path, script: &str, longer: u32, directory: &Path) -> Result<Output, String> {
    let script = format!("{}\n{script}\n", include_str!("prelude.sh"));
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LIMIT_S, "unshare", "--net"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command
        .args(["bash", "-c", &script])
        .env("PLIMSOLL", program)
        .env("LONGER", longer.to_string())
        .current_dir(directory);
    command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start timeout: {error}"))
}

fn judged(record: Value) -> Option<Said> {
    let finding = |finding: &Value| {
        let state = serde_json::from_value(finding["state"].clone()).ok()?;
        Some((finding["rule"].as_str()?.to_owned(), state))
    };
    let findings = record["verdict"]["findings"].as_array()?.iter().filter_map(finding).collect();
    Some(Said::Judged(Judged { findings, record }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rules: &[(&str, FindingState)]) -> Judged {
        let findings = rules.iter().map(|(rule, state)| ((*rule).to_owned(), *state)).collect();
        Judged { findings, record: Value::Null }
    }

    #[test]
    fn rules_that_have_nothing_to_do_with_a_fault_are_told_unless_others_make_them_fire() {
        use FindingState::{Invalid, Note, Warning};
        let of = |rule: &str| all().find(|real| real.rules == [rule]).expect("it is made");
        // Its own, what comes with it, the machine, a note, and what other loads beside it may do.
        let known = [("NE-08", Invalid), ("ER-01", Invalid), ("EN-03", Warning), ("NE-05", Note), ("CL-03", Warning)];
        assert!(of("NE-08").unexpected(&judged(&known)).is_empty());
        assert_eq!(of("NE-08").unexpected(&judged(&[("ER-03", Warning)])), ["ER-03"]);
        // It is measured alone.
        assert_eq!(of("NE-05").unexpected(&judged(&[("CL-03", Warning), ("NE-05", Warning)])), ["CL-03"]);
    }

    #[test]
    fn what_may_fire_beside_a_fault_is_named_once() {
        for real in all() {
            let twice = |rule: &&&str| real.rules.contains(*rule) || ON_ANY_LOAD.contains(*rule);
            assert_eq!(real.may.iter().find(twice), None, "{}", real.fault);
        }
    }
}
