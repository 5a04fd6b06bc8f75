//! Tries of an ending: each in a folder of its own, ended at its instant, and judged by what is left.

use super::ending::{Effect, Ending};
use super::fleet::{Fleet, Gone, Party, SOON};
use super::follow::Standing;
use super::judge::{Judged, Seen, judge, unfinished};
use super::leaks::Left;
use super::log::{EVENTS, Log, SAMPLES};
use super::moment::Moment;
use super::processes::wait;
use super::recover::again;
use super::rows::{Row, Tried, row};
use super::said::{said, wrong_end};
use super::scene::{Ended, Scene, Unable};
use super::setting::Place;
use super::verb::Verb;
use rustix::process::{Signal, pidfd_send_signal};
use std::fs::{self, Permissions};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;

/// Tries that follow from a seed, in a directory for temporary files of their own.
pub(super) struct Tries {
    program: PathBuf,
    pub(super) seed: u64,
    tmp: TempDir,
    pub(super) rows: Vec<Row>,
    /// What was not as it should be, a line each.
    pub(super) problems: Vec<String>,
}

/// One try: what is ended, how, and when.
pub(super) struct Case<'a> {
    pub(super) ending: &'a Ending,
    pub(super) number: u32,
    pub(super) verb: Verb,
    pub(super) moment: Moment,
    /// Who generates the load, if not this machine.
    pub(super) party: Option<&'a Party>,
}

enum Outcome {
    Tried(Tried),
    /// It cannot be made here.
    Skipped(String),
}

/// What was done to a program, if it had not ended before.
#[derive(Default)]
struct Struck {
    was: bool,
    /// When.
    at: Option<Instant>,
    /// How far it was.
    standing: Option<Standing>,
    problem: Option<String>,
}

impl Tries {
    /// `program` is plimsoll.
    pub(super) fn new(program: PathBuf, seed: u64) -> Result<Self, String> {
        let tmp = tempfile::tempdir().map_err(|error| error.to_string())?;
        open(tmp.path()).map_err(|error| error.to_string())?;
        Ok(Self { program, seed, tmp, rows: Vec::new(), problems: Vec::new() })
    }

    /// Makes the tries of those numbers; `told` hears of each.
    pub(super) fn make(&mut self, ending: &Ending, numbers: RangeInclusive<u32>, mut told: impl FnMut(u32, usize)) {
        let missing = (ending.missing)();
        for number in numbers {
            let (verb, moment) = (ending.verb(number), ending.moment(self.seed, number));
            let known = row(&mut self.rows, ending.name, verb.name()).reason.clone();
            self.add(&Case { ending, number, verb, moment, party: None }, missing.clone().or(known));
            told(number, self.problems.len());
        }
    }

    /// Makes one, unless something that it needs is missing.
    pub(super) fn add(&mut self, case: &Case<'_>, missing: Option<String>) {
        let (ending, verb) = (case.ending.name, case.verb.name());
        let outcome = missing.map_or_else(|| self.one(case), Outcome::Skipped);
        let counted = row(&mut self.rows, ending, verb);
        match outcome {
            Outcome::Skipped(reason) => counted.skip(1, &reason),
            Outcome::Tried(tried) => {
                counted.add(&tried);
                let with = case.party.map_or_else(String::new, |party| format!(" ({party})"));
                let named = |problem: &String| format!("{ending}, try {}, {verb}{with}: {problem}", case.number);
                self.problems.extend(tried.problems.iter().map(named));
            }
        }
    }

    /// A try, and what it leaves running.
    fn one(&self, case: &Case<'_>) -> Outcome {
        let folder = self.tmp.path().join(format!("{}-{}", case.ending.name, case.number));
        if let Err(error) = fs::create_dir(&folder).and_then(|()| open(&folder)) {
            return Outcome::Tried(Tried::broken(format!("cannot create {}: {error}", folder.display())));
        }
        let mut outcome = self.attempt(case, &folder).unwrap_or_else(|problem| Outcome::Tried(Tried::broken(problem)));
        if let Outcome::Tried(tried) = &mut outcome {
            self.look_for_leftovers(&folder, tried);
        }
        // What is left in it has been told.
        let _ = fs::remove_dir_all(&folder);
        outcome
    }

    fn attempt(&self, case: &Case<'_>, folder: &Path) -> Result<Outcome, String> {
        let &Case { ending, verb, moment, party, .. } = case;
        let fleet = party.map(|party| Fleet::start(party, &self.program, verb, folder)).transpose()?;
        let mut scene = match Scene::start(&self.program, verb, ending.setting, fleet, folder) {
            Ok(scene) => scene,
            Err(Unable::Skipped(reason)) => return Ok(Outcome::Skipped(reason)),
            Err(Unable::Failed(problem)) => return Err(problem),
        };
        let struck = strike(ending, moment, &mut scene)?;
        if verb == Verb::Serve && ending.effect == Effect::GoesOn {
            // One that has ended by itself is told below.
            let _ = scene.signal(Signal::INT);
        }
        let ended = scene.finish()?;
        if let Some(reason) = not_permitted(verb, &ended) {
            return Ok(Outcome::Skipped(reason));
        }
        let Struck { was, at, standing, problem } = struck;
        let Gone { left, after: all_ended } = gone(ending, at, &mut scene);
        let seen = self.look(ending, &scene, &ended, standing);
        let Judged { kept, lost, record, mut problems } = judge(verb, ending.keeps_log, &seen);
        let said = said(ending, verb, was, kept, &ended).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        let count = left.len();
        problems.extend(problem.into_iter().chain(left));
        problems.extend(wrong_end(ending, verb, was, &ended));
        if let Some(record) = &record {
            let is_told_whole = ended.status.code().is_some_and(|code| verb.is_fine(code)) && !(was && ending.cuts);
            problems.extend(unfinished(verb, record).filter(|_| is_told_whole));
            problems.extend((ending.check)(record));
        }
        let result = scene.result.display().to_string();
        let said = said.map(|line| line.replace(&result, "DIR"));
        let is_killed = ended.status.signal().is_some();
        Ok(Outcome::Tried(Tried { struck: was, is_killed, kept, lost, all_ended, said, left: count, problems }))
    }

    /// What is found of a program that has ended.
    fn look(&self, ending: &Ending, scene: &Scene, ended: &Ended, standing: Option<Standing>) -> Seen {
        let stored = scene.verb.result().and_then(|name| fs::read_to_string(scene.result.join(name)).ok());
        let is_in_place = ending.setting.place == Place::Ordinary;
        let is_done = scene.verb == Verb::Profile && stored.is_some();
        let again = match scene.verb.window().filter(|_| !is_done) {
            Some(_) => again(&self.program, &scene.result, is_in_place, scene.folder()),
            // The samples have made place for the profile.
            None => Err("it writes no events".into()),
        };
        let (log, has_samples) = (Log::of(&scene.result.join(EVENTS)), scene.result.join(SAMPLES).exists());
        let under_way = standing.map(|standing| {
            let log = Log::of(&standing.log);
            (standing, log)
        });
        let printed = ended.stdout.clone();
        Seen { stored, printed, again, log, has_samples, under_way }
    }

    /// Waits until nothing is left, with the help of `--clean` where plimsoll was killed; ends what is left.
    fn look_for_leftovers(&self, folder: &Path, tried: &mut Tried) {
        let left = Left::new(folder);
        wait(|| left.processes().is_empty());
        if tried.is_killed && !left.all().is_empty() {
            tried.problems.extend(self.clean(folder).err());
        }
        wait(|| left.all().is_empty());
        let all = left.all();
        tried.left += all.len();
        tried.problems.extend(all);
        for process in left.handles() {
            // It has ended by itself, or does so now.
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }

    fn clean(&self, folder: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        let output = command.args(["serve", "--clean"]).env("TMPDIR", folder).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(format!("--clean: {output:?}")) }
    }
}

/// Servers that root starts run as somebody else, who has to pass.
fn open(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

/// Waits for the instant and makes the ending, unless the program has ended by then.
fn strike(ending: &Ending, moment: Moment, scene: &mut Scene) -> Result<Struck, String> {
    if !scene.wait_until(moment)? {
        return Ok(Struck::default());
    }
    let standing = scene.standing();
    // Whoever is to be killed may not be there yet; where it never comes, the program ends first.
    let problem = (ending.strike)(scene, moment).err();
    if problem.is_some() && scene.has_ended() {
        // Just now.
        return Ok(Struck::default());
    }
    Ok(Struck { was: true, at: Some(Instant::now()), standing, problem })
}

/// Agents, and what belongs to them, that are there when all should have ended; once this is over all have.
fn gone(ending: &Ending, struck: Option<Instant>, scene: &mut Scene) -> Gone {
    let late = scene.late();
    let Some(fleet) = &mut scene.fleet else { return Gone::default() };
    let since = struck.filter(|_| ending.ends_within.is_some()).unwrap_or_else(Instant::now);
    fleet.gone(since, ending.ends_within.unwrap_or(SOON) + late)
}

/// Why samples cannot be taken here, if that is all there is to say.
fn not_permitted(verb: Verb, ended: &Ended) -> Option<String> {
    let stderr = ended.stderr.as_deref().filter(|_| verb == Verb::Profile)?;
    stderr.lines().find(|line| line.contains("cannot profile: ")).map(str::to_owned)
}
