//! The directory of an experiment: its file, its plan, and what came of each step, so that it can go on after its end.
//!
//! A line is on the disk before the next step begins. Steps lie in directories of their own, which are never used twice.

use super::stored::{Record, Stored, below, stored_bytes, stored_text};
use super::{EXPERIMENT_FILE, PLAN, RESULT, STEPS_LOG, claim, create, is_claimed, private};
use crate::exit::CommandError;
use input::ReadError;
use input::experiment::Progress;
use model::{
    ExperimentBegun, ExperimentEvent, ExperimentPlan, ExperimentRecord, MergedHistogram, PlannedStep, Redacted,
    RowQuantiles, StepRecord,
};
use report::record::experiment_record;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Largest plan, and largest list of steps: a thousand steps take a hundredth of it.
const FILE_MAX_BYTES: u64 = 64 << 20;
/// Attempts at one step that are kept.
const ATTEMPTS_MAX: u32 = 1_000;

/// An experiment that is being measured. No other program writes into it until this one ends.
pub(crate) struct ExperimentStore {
    pub(crate) directory: PathBuf,
    progress: Progress,
    log: File,
}

impl ExperimentStore {
    /// Begins an experiment in the directory that was asked for, or goes on with the same one.
    pub(crate) fn open(
        asked: Option<&Path>,
        plan: &ExperimentPlan,
        file: &Redacted,
        begun: ExperimentBegun,
    ) -> Result<Self, CommandError> {
        match asked.filter(|path| path.join(PLAN).exists()) {
            Some(path) => Self::resume(path, plan, begun),
            None => Self::begin(asked, plan, file, begun),
        }
    }

    fn begin(
        asked: Option<&Path>,
        plan: &ExperimentPlan,
        file: &Redacted,
        begun: ExperimentBegun,
    ) -> Result<Self, CommandError> {
        let directory = create(asked, "experiment", &begun.started)?;
        let written = private::write(&directory.join(EXPERIMENT_FILE), file.as_bytes())
            .and_then(|()| private::write(&directory.join(PLAN), report::json::plan(plan).as_bytes()));
        written.map_err(|error| cannot_write(&directory, &error))?;
        Self::started(directory, Progress { plan: plan.clone(), begun: None, steps: BTreeMap::new() }, begun)
    }

    /// Goes on with what is in `path`, if it is the same experiment and steps are missing.
    fn resume(path: &Path, plan: &ExperimentPlan, begun: ExperimentBegun) -> Result<Self, CommandError> {
        let wrong = |why: String| CommandError::usage(format!("--output {}: {why}", path.display()));
        if is_claimed(path) {
            return Err(wrong("another plimsoll is measuring into it; name another directory".to_owned()));
        }
        let found = read(path)?;
        if let Some(difference) = difference(&found.plan, plan) {
            return Err(wrong(format!(
                "it holds another experiment ({difference}); name another directory, or undo the change"
            )));
        }
        if found.is_complete() {
            return Err(wrong("all steps of the experiment in it have a result; name another directory".to_owned()));
        }
        let claim = claim(path).map_err(wrong)?;
        // It ends with the program, however that ends.
        std::mem::forget(claim);
        Self::started(path.to_owned(), found, begun)
    }

    fn started(directory: PathBuf, progress: Progress, begun: ExperimentBegun) -> Result<Self, CommandError> {
        let log = append(&directory.join(STEPS_LOG)).map_err(|error| cannot_write(&directory, &error))?;
        let mut store = Self { directory, progress, log };
        store.write(&Redacted::new(ExperimentEvent::Begun(Box::new(begun.clone()))))?;
        store.progress.apply(ExperimentEvent::Begun(Box::new(begun)));
        Ok(store)
    }

    /// True if a step need not be made any more.
    pub(crate) fn is_finished(&self, planned: &PlannedStep) -> bool {
        self.progress.is_finished(planned.number)
    }

    /// A directory for the next attempt at a step, below that of the experiment, and the last one that is there.
    pub(crate) fn places(&self, planned: &PlannedStep) -> Result<(String, Option<String>), CommandError> {
        let mut last = None;
        for attempt in 1..=ATTEMPTS_MAX {
            let name =
                if attempt == 1 { planned.directory.clone() } else { format!("{}-{attempt}", planned.directory) };
            if self.directory.join(&name).symlink_metadata().is_err() {
                return Ok((name, last));
            }
            last = Some(name);
        }
        Err(CommandError::usage(format!("{} was tried too often; name another directory", planned.directory)))
    }

    /// Keeps what came of a step, in place of what came of it before.
    pub(crate) fn keep(&mut self, step: StepRecord) -> Result<(), CommandError> {
        let event = Redacted::new(ExperimentEvent::Step(Box::new(step)));
        self.write(&event)?;
        self.progress.apply(event.into_inner());
        Ok(())
    }

    fn write(&mut self, event: &Redacted<ExperimentEvent>) -> Result<(), CommandError> {
        let mut line = serde_json::to_vec(event).map_err(|error| cannot_write(&self.directory, &error.into()))?;
        line.push(b'\n');
        let written = self.log.write_all(&line).and_then(|()| self.log.sync_data());
        written.map_err(|error| cannot_write(&self.directory, &error))
    }

    /// The result of what has been measured.
    pub(crate) fn record(&self) -> ExperimentRecord {
        record(&self.directory, self.progress.clone())
    }
}

/// What a directory says of its experiment.
fn read(directory: &Path) -> Result<Progress, CommandError> {
    let wrong = |name: &str, why: String| CommandError::usage(format!("{}: {why}", directory.join(name).display()));
    let text = stored_text(&directory.join(PLAN), FILE_MAX_BYTES).map_err(|error| wrong(PLAN, error.to_string()))?;
    let mut progress = Progress::of_plan(&text).map_err(|why| wrong(PLAN, why))?;
    let path = directory.join(STEPS_LOG);
    if path.exists() {
        let lines = whole_lines(&path).map_err(|error| wrong(STEPS_LOG, error.to_string()))?;
        progress.add_lines(&lines).map_err(|why| wrong(STEPS_LOG, why))?;
    }
    Ok(progress)
}

fn record(directory: &Path, progress: Progress) -> ExperimentRecord {
    let Progress { plan, begun, steps } = progress;
    let steps = steps.into_values().collect();
    let begun = begun.unwrap_or_else(|| ExperimentBegun { started: String::new(), environment: Default::default() });
    let mut record = experiment_record(plan, steps, begun.environment, begun.started);
    let steps: BTreeMap<u64, &StepRecord> = record.steps.iter().map(|step| (step.number, step)).collect();
    for row in &mut record.rows {
        row.response_ns = response_times(row.steps.iter().filter_map(|number| steps.get(number)), directory);
    }
    record
}

/// Those of runs together, of the histograms in their directories; none where one of them has none.
fn response_times<'a>(steps: impl Iterator<Item = &'a &'a StepRecord>, directory: &Path) -> Option<RowQuantiles> {
    let mut all = MergedHistogram::default();
    for step in steps {
        let stored = Stored::read(&below(directory, &step.directory)?).ok()?;
        all.add(&stored.distributions()?.response);
    }
    (!all.is_empty()).then(|| RowQuantiles::of(&all))
}

/// True if an experiment is or was measured in a directory.
pub(crate) fn is_experiment(directory: &Path) -> bool {
    directory.join(PLAN).exists()
}

/// The result of the experiment in `directory`, made of what it says of its steps.
///
/// # Errors
/// When no step was made, or what there is cannot be read.
pub(crate) fn recovered(directory: &Path) -> Result<ExperimentRecord, CommandError> {
    let found = read(directory)?;
    if found.steps.is_empty() {
        let about = "no step was measured that could be recovered; plimsoll experiment goes on with it";
        return Err(CommandError::usage(format!("{}: {about}", directory.display())));
    }
    Ok(record(directory, found))
}

/// The result in the directory of a step, judged as a step; none where there is none.
pub(crate) fn result_of(directory: &Path) -> Option<Stored> {
    let mut stored = directory.join(RESULT).is_file().then(|| Stored::read(directory).ok()).flatten()?;
    if let Record::Run(run) = &mut stored.record {
        run.verdict = judge::verdict_in_experiment(&run.verdict);
    }
    Some(stored)
}

/// The results of the steps of an experiment in `directory` with the labels of their variants, in the order of its file, and
/// how many of its steps have none.
pub(crate) fn step_results(directory: &Path, record: &ExperimentRecord) -> (Vec<(String, Stored)>, u64) {
    let made: BTreeMap<u64, &StepRecord> = record.steps.iter().map(|step| (step.number, step)).collect();
    let mut planned: Vec<&PlannedStep> = record.plan.steps.iter().collect();
    planned.sort_by_key(|step| (step.combination, step.repetition));
    let all = planned.len() as u64;
    let results = planned.into_iter().filter_map(|step| {
        let place = below(directory, &made.get(&step.number)?.directory)?;
        Some((step.variant.clone(), result_of(&place)?))
    });
    let results: Vec<_> = results.collect();
    let missing = all - results.len() as u64;
    (results, missing)
}

/// What makes two plans different, if anything does.
fn difference(before: &ExperimentPlan, now: &ExperimentPlan) -> Option<String> {
    let told = [
        ("name", before.name.clone(), now.name.clone()),
        ("version of plimsoll", before.plimsoll.clone(), now.plimsoll.clone()),
        ("seed", before.seed.to_string(), now.seed.to_string()),
        ("repetitions", before.repetitions.to_string(), now.repetitions.to_string()),
        ("number of steps", before.steps.len().to_string(), now.steps.len().to_string()),
    ];
    if let Some((what, before, now)) = told.into_iter().find(|(_, before, now)| before != now) {
        return Some(format!("its {what} is {before}, not {now}"));
    }
    let key = |step: &PlannedStep| (step.number, step.repetition, step.directory.clone(), step.command.clone());
    let (before, now) = before.steps.iter().zip(&now.steps).find(|(before, now)| key(before) != key(now))?;
    let words = before.command.iter().zip(&now.command).find(|(before, now)| before != now);
    let (word, other) = words.unwrap_or((&before.directory, &now.directory));
    Some(format!("its step {} has {word:?}, not {other:?}", before.number))
}

/// The lines of the list of steps. What has no end was being written when its program or the machine ended, and may break off
/// within a letter.
fn whole_lines(path: &Path) -> Result<String, ReadError> {
    let mut bytes = stored_bytes(path, FILE_MAX_BYTES)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    bytes.truncate(whole);
    String::from_utf8(bytes).map_err(|_| ReadError::NotText)
}

/// Opens the list of steps to write behind its last whole line.
fn append(path: &Path) -> io::Result<File> {
    let file = private::append(path)?;
    let whole = whole_lines(path).map_err(io::Error::other)?.len() as u64;
    if whole < file.metadata()?.len() {
        file.set_len(whole)?;
    }
    Ok(file)
}

fn cannot_write(directory: &Path, error: &io::Error) -> CommandError {
    CommandError::usage(format!(
        "cannot write to {}: {error}; what was measured is kept, and the same command with -o goes on",
        directory.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stored::tests::pipe;
    use model::{Estimate, FORMAT_PLAN, Quantiles, StepResult, VerdictState};

    fn plan() -> ExperimentPlan {
        let step = |number: u64| PlannedStep {
            number,
            repetition: number,
            combination: 1,
            variant: "a".to_owned(),
            values: [].into(),
            load: "run".to_owned(),
            verb: "run".to_owned(),
            command: ["plimsoll", "run", "--seed", &number.to_string()].map(str::to_owned).into(),
            directory: format!("steps/{number:03}-a-run"),
            estimated_ns: None,
            after: None,
            limits: Default::default(),
        };
        ExperimentPlan {
            format: FORMAT_PLAN.to_owned(),
            name: "x".to_owned(),
            plimsoll: "0.1.0".to_owned(),
            seed: 1,
            repetitions: 2,
            budget_ns: None,
            steps: [1, 2].map(step).into(),
        }
    }

    fn begun(started: &str) -> ExperimentBegun {
        ExperimentBegun { started: started.to_owned(), environment: Default::default() }
    }

    fn step(number: u64, interrupted: bool) -> StepRecord {
        let result = StepResult {
            verdict: VerdictState::Valid,
            rules: Vec::new(),
            unchecked: Vec::new(),
            interrupted,
            url: "http://h/".to_owned(),
            load: 4.0,
            load_unit: "connections".to_owned(),
            goodput_per_s: Estimate::default(),
            throughput_per_s: 0.0,
            response_ns: Quantiles::default(),
            response_p99_ns: None,
            failed_share: 0.0,
            generator_busy_max: 0.0,
            measured_ns: 1,
            server_cpu_cores: None,
            server_cpu_ns_per_request: None,
            server_rss_bytes_max: None,
            capacity: None,
            effects: Vec::new(),
            limiter: None,
            programs: Vec::new(),
            bounds: [].into(),
        };
        StepRecord {
            number,
            directory: format!("steps/{number:03}-a-run"),
            took_ns: Some(1),
            exit: 0,
            error: None,
            result: Some(result),
        }
    }

    fn open(path: &Path, plan: &ExperimentPlan, started: &str) -> Result<ExperimentStore, CommandError> {
        ExperimentStore::open(Some(path), plan, &Redacted::text("url = \"http://h/\"\n"), begun(started))
    }

    /// The lock on a directory goes with the program, which here is the test: a copy is that of a program that has died.
    fn copied(from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for name in [PLAN, STEPS_LOG, EXPERIMENT_FILE] {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }

    #[test]
    fn what_is_finished_stays_so_and_what_was_cut_short_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let mut store = open(&first, &plan(), "one").unwrap();
        store.keep(step(1, false)).unwrap();
        store.keep(step(2, true)).unwrap();
        assert!(store.record().interrupted && open(&first, &plan(), "two").is_err(), "it is being measured");
        copied(&first, &second);
        // A line that was being written.
        let text = std::fs::read_to_string(second.join(STEPS_LOG)).unwrap();
        std::fs::write(second.join(STEPS_LOG), format!("{text}{{\"experiment\":\"st")).unwrap();
        assert_eq!(recovered(&second).unwrap(), store.record());
        let mut store = open(&second, &plan(), "two").unwrap();
        let planned = plan().steps;
        assert_eq!(planned.iter().map(|step| store.is_finished(step)).collect::<Vec<_>>(), [true, false]);
        store.keep(step(2, false)).unwrap();
        let record = store.record();
        assert_eq!((record.started.as_str(), record.interrupted, record.steps.len()), ("one", false, 2));
        assert_eq!(recovered(&second).unwrap(), record);
        let third = folder.path().join("third");
        copied(&second, &third);
        assert!(open(&third, &plan(), "three").err().unwrap().message.contains("all steps"), "it is complete");
    }

    #[test]
    fn a_line_cut_in_a_letter_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let mut store = open(&first, &plan(), "one").unwrap();
        store.keep(step(1, false)).unwrap();
        copied(&first, &second);
        let log = second.join(STEPS_LOG);
        let whole = std::fs::read(&log).unwrap();
        std::fs::write(&log, [&whole[..], b"{\"error\":\"Gr\xc3"].concat()).unwrap();
        assert_eq!(recovered(&second).unwrap(), store.record());
        let mut store = open(&second, &plan(), "two").unwrap();
        store.keep(step(2, false)).unwrap();
        assert!(std::fs::read(&log).unwrap().starts_with(&whole));
        assert_eq!(recovered(&second).unwrap(), store.record());
    }

    #[test]
    fn a_pipe_among_stored_files_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("first");
        drop(open(&first, &plan(), "one").unwrap());
        for name in [PLAN, STEPS_LOG] {
            let copy = folder.path().join(name);
            copied(&first, &copy);
            std::fs::remove_file(copy.join(name)).unwrap();
            pipe(&copy.join(name));
            let message = open(&copy, &plan(), "two").err().expect("no list of steps").message;
            assert!(message.contains(name) && message.contains("it is no file"), "{message}");
        }
    }

    #[test]
    fn another_plan_is_refused_with_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("first");
        drop(open(&first, &plan(), "one").unwrap());
        let mut seed = plan();
        seed.seed = 2;
        let mut command = plan();
        command.steps[1].command[3] = "9".to_owned();
        let mut version = plan();
        version.plimsoll = "0.2.0".to_owned();
        let cases = [
            (seed, "its seed is 1, not 2"),
            (command, "its step 2 has \"2\", not \"9\""),
            (version, "its version of plimsoll is 0.1.0, not 0.2.0"),
        ];
        for (i, (other, said)) in cases.into_iter().enumerate() {
            let copy = folder.path().join(i.to_string());
            copied(&first, &copy);
            let message = open(&copy, &other, "two").err().expect("another plan").message;
            assert!(message.contains(said) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_damaged_directory_is_told_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("first");
        open(&first, &plan(), "one").unwrap().keep(step(1, false)).unwrap();
        let unknown = serde_json::to_string(&ExperimentEvent::Step(Box::new(step(9, false)))).unwrap();
        let cases = [
            (STEPS_LOG, "nonsense\n".to_owned(), "a line that is none of its own"),
            (STEPS_LOG, format!("{unknown}\n"), "there is no step 9 in the plan"),
            (PLAN, "{}".to_owned(), "no plan of an experiment"),
            (PLAN, report::json::plan(&plan()).replace("plimsoll.plan/1", "plimsoll.plan/2"), "\"plimsoll.plan/2\""),
        ];
        for (i, (name, text, said)) in cases.into_iter().enumerate() {
            let copy = folder.path().join(i.to_string());
            copied(&first, &copy);
            std::fs::write(copy.join(name), text).unwrap();
            let message = open(&copy, &plan(), "two").err().expect("it is damaged").message;
            assert!(message.contains(said) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn an_attempt_has_a_directory_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder.path().join("x"), &plan(), "one").unwrap();
        let planned = &plan().steps[0];
        assert_eq!(store.places(planned).unwrap(), ("steps/001-a-run".to_owned(), None));
        std::fs::create_dir_all(store.directory.join("steps/001-a-run")).unwrap();
        let next = ("steps/001-a-run-2".to_owned(), Some("steps/001-a-run".to_owned()));
        assert_eq!(store.places(planned).unwrap(), next);
    }
}
