//! Judgement of a measurement that noise can change, by the program's own account of disturbance.
//!
//! A check that fails on a quiet machine fails its test at once: nothing is measured again to make it pass. Where the account
//! says that others took CPU time, a failed check proves nothing: the test waits for a quieter stretch and measures again
//! within its budget, and is undecided when that is used up.

pub mod account;
#[cfg(test)]
mod tests;

pub use account::{Watched, watch};

use account::{Account, Disturbance, QUIET};
use rustix::time::{ClockId, clock_gettime};
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time that a test may take for waiting and for measuring again, on a machine that has let all others decide.
const BUDGET: Duration = Duration::from_secs(60);

/// Shortest stretch that says whether the machine is quiet.
const STRETCH: Duration = Duration::from_secs(1);

/// Longest reason in the list of undecided tests, which has a line for each.
const REASON_MAX: usize = 300;

/// Names the file to which an undecided test adds a line `NAME: REASON`.
const UNDECIDED: &str = "PLIMSOLL_UNDECIDED";

/// Measures, and holds the measurement against `check`, whose panic is its reason.
pub fn decide<M: Account>(measure: impl FnMut() -> M, check: impl FnMut(&M)) {
    Decider::new().decide("", measure, check);
}

/// A test that this machine does not let be made, for a reason: it counts as skipped, where that is counted, else it fails.
///
/// # Panics
/// Where nobody counts.
pub fn skip(reason: &str) {
    Decider::new().is_undecided(reason);
}

/// A whole test, whose own panic is its failure: for one with several records, or none. How disturbed it was is watched.
pub fn decide_watched(test: impl FnMut()) {
    decide(test, |()| {});
}

/// Does something with each of the cases, in their order, `at_a_time` of them at a time. The panic of one goes on in its own
/// words: a scope that joins its threads itself has words for all of them, and which case failed would not be told.
pub fn side_by_side<T: Send>(
    at_a_time: usize,
    cases: impl IntoIterator<Item = T, IntoIter: Send>,
    act: impl Fn(T) + Sync,
) {
    let left = Mutex::new(cases.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let lane = || {
        while let Some(case) = next() {
            act(case);
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..at_a_time).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().for_each(|lane| lane.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}

/// The budget of one test, for any number of cases.
pub struct Decider {
    test: String,
    left: Mutex<Duration>,
    /// Waits for a while; the share that others took of it.
    stretch: fn() -> f64,
}

impl Default for Decider {
    fn default() -> Self {
        Self::new()
    }
}

impl Decider {
    /// Of the test on whose thread this is called.
    pub fn new() -> Self {
        let undecided = std::env::var_os(UNDECIDED).and_then(|path| std::fs::read_to_string(path).ok());
        let budget = budget(undecided.map_or(0, |list| list.lines().count()));
        Self::with(budget, || watch(|| std::thread::sleep(STRETCH)).disturbance().share)
    }

    /// With that budget; `stretch` waits for a while and returns the share that others took of it.
    pub fn with(budget: Duration, stretch: fn() -> f64) -> Self {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        // Of several test programs, cargo-nextest says which one this is.
        let program = std::env::var("NEXTEST_BINARY_ID").map_or_else(|_| String::new(), |id| format!("{id} "));
        Self { test: format!("{program}{name}"), left: Mutex::new(budget), stretch }
    }

    /// One case. Its first measurement is free; what follows counts against the budget.
    pub fn decide<M: Account>(&self, case: &str, mut measure: impl FnMut() -> M, mut check: impl FnMut(&M)) {
        let mut again = false;
        loop {
            let begin = now();
            let Err(failure) = attempt(&mut measure, &mut check) else { return };
            let reason = reason(case, &failure.disturbance, failure.panic.as_ref());
            assert!(failure.disturbance.share > QUIET, "{reason}");
            if again {
                self.spend(now().saturating_sub(begin));
            }
            again = true;
            if !self.quiet_comes() {
                return self.is_undecided(&reason);
            }
        }
    }

    /// Waits for a quiet stretch; whether one came within the budget.
    fn quiet_comes(&self) -> bool {
        while !self.left().is_zero() {
            let begin = now();
            let share = (self.stretch)();
            self.spend(now().saturating_sub(begin));
            if share <= QUIET {
                return true;
            }
        }
        false
    }

    fn left(&self) -> Duration {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spend(&self, took: Duration) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_sub(took);
    }

    /// Tells whoever counts the tests. Where nobody does, a developer runs this one alone, and it is no pass.
    fn is_undecided(&self, reason: &str) {
        let Some(path) = std::env::var_os(UNDECIDED) else { panic!("undecided: {reason}") };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        // One write, as other tests append as well.
        let line = format!("{}: {reason}\n", self.test);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of undecided tests can be written");
    }
}

/// What failed, and how disturbed the measurement was.
struct Failure {
    panic: Box<dyn Any + Send>,
    disturbance: Disturbance,
}

/// Measures once and checks. A measurement without an end is watched from here; its servers end before this returns.
fn attempt<M: Account>(measure: impl FnOnce() -> M, check: impl FnOnce(&M)) -> Result<(), Failure> {
    let watched = watch(|| catch_unwind(AssertUnwindSafe(measure)));
    let watched_disturbance = watched.disturbance();
    let measured = watched.value.map_err(|panic| Failure { panic, disturbance: watched_disturbance })?;
    let checked = catch_unwind(AssertUnwindSafe(|| check(&measured)));
    checked.map_err(|panic| Failure { panic, disturbance: measured.disturbance() })
}

/// Quiet that did not come for the tests before will hardly come for this one: all tests together wait some minutes, and not
/// one minute each.
fn budget(undecided: usize) -> Duration {
    BUDGET.div_f64(1.0 + undecided as f64)
}

/// Time since the machine started. It bounds waits; no outcome depends on it.
fn now() -> Duration {
    clock_gettime(ClockId::Monotonic).try_into().expect("time passes")
}

/// One line.
fn reason(case: &str, disturbance: &Disturbance, panic: &(dyn Any + Send)) -> String {
    let case = if case.is_empty() { String::new() } else { format!("{case}: ") };
    let line = format!("{case}{disturbance}; failed with: {}", text(panic));
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(REASON_MAX).collect()
}

/// What a panic said.
fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text")
}
