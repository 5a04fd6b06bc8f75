//! What CPU time that was taken does to a number: one rule for all causes ([`model::DISTURBANCE_RULES`]).
//!
//! Time that is taken moves goodput down and latency up. So what was disturbed is set aside where it is short
//! ([`model::Disturbance`]), and what is left of it in the time that the numbers rest on makes them bounds with a known
//! direction. Nothing is left to say only where so much was taken that the bound is worth nothing.

use super::facts::observed;
use crate::Outcome;
use model::human::{percent, rate, time};
use model::{Basis, Cause, Disturbance, Evidence, FindingState, NS_PER_S};

/// Share of the time that the numbers rest on from which on a cause is told.
pub(super) const WARNING_SHARE: f64 = 0.01;
/// From here on the numbers are bounds: more is taken than repeats of a load differ by.
pub(super) const BOUND_SHARE: f64 = 0.05;
/// Who had less than a quarter of its CPU time can do anything up to four times as much and more: such a bound answers no
/// question that is asked.
pub(super) const INVALID_SHARE: f64 = 0.75;
/// The kernel counts in steps of 10 ms: less than ten of them is nothing to go by.
pub(super) const TAKEN_MIN_S: f64 = 0.1;
/// A pool that is occupied to this share, and is on a CPU for less than that, is the limit, and CPUs are not.
const OCCUPIED: f64 = 0.95;
const SLEEPING: f64 = 0.3;
/// CPUs that were used, or taken, for less than this had time to spare.
const CPUS_ROOM: f64 = 0.7;

/// What one rule has found.
pub(super) struct Taken<'a> {
    pub(super) rule: &'static str,
    pub(super) causes: &'a [Cause],
    /// Share of the time that the numbers rest on, 0 to 1.
    pub(super) share: f64,
    pub(super) warning_share: f64,
    pub(super) bound_share: f64,
    /// Less than this in all is nothing; s.
    pub(super) least_s: f64,
    /// What was seen, as the begin of a sentence.
    pub(super) facts: String,
    pub(super) remedy: String,
}

impl Taken<'_> {
    /// With the thresholds that most causes have.
    pub(super) fn new(rule: &'static str, causes: &'static [Cause], share: f64, facts: String, remedy: &str) -> Self {
        let (warning_share, bound_share) = (WARNING_SHARE, BOUND_SHARE);
        Self { rule, causes, share, warning_share, bound_share, least_s: 0.0, facts, remedy: remedy.to_owned() }
    }

    /// What it does to the numbers.
    pub(super) fn outcome(self, evidence: &Evidence) -> Outcome {
        let set_aside = set_aside(evidence, self.causes);
        let is_little = self.share * evidence.measured_ns as f64 / (NS_PER_S as f64) < self.least_s;
        let (state, meaning) = match self.share {
            s if s <= self.warning_share || is_little => match &set_aside {
                None => return Outcome::Pass,
                Some(aside) => (FindingState::Note, aside.clone()),
            },
            _ if let Some(why) = stands(evidence) => {
                (FindingState::Note, format!("the goodput stands all the same: {why}"))
            }
            s if s <= self.bound_share => {
                (FindingState::Warning, "goodput may be a little higher without, and latencies lower".to_owned())
            }
            s if s <= INVALID_SHARE => (FindingState::Bound, bounds(evidence)),
            _ => {
                let little = "so little was left that even a bound says nothing".to_owned();
                (FindingState::Invalid, little)
            }
        };
        let figures = [
            ("share", self.share),
            ("set_aside_ns", evidence.disturbance.as_ref().map_or(0.0, |seen| seen.set_aside_ns as f64)),
        ];
        Outcome::fired(self.rule, state, format!("{}: {meaning}", self.facts), self.remedy, figures)
    }
}

/// Share of the time that the numbers rest on which `causes` have taken; none where nobody kept the account.
pub(super) fn left(evidence: &Evidence, causes: &[Cause]) -> Option<f64> {
    let seen = evidence.disturbance.as_ref()?;
    Some(causes.iter().filter_map(|cause| seen.left.get(cause)).copied().fold(0.0, f64::max))
}

/// Share of the whole window that `causes` have taken, 0 to 1; none where nobody kept the account.
pub(super) fn taken(evidence: &Evidence, causes: &[Cause]) -> Option<f64> {
    let seen = evidence.disturbance.as_ref()?;
    Some(causes.iter().filter_map(|cause| seen.taken.get(cause)).copied().fold(0.0, f64::max))
}

/// What of the window is set aside because of `causes`, in half a sentence; none when nothing is.
fn set_aside(evidence: &Evidence, causes: &[Cause]) -> Option<String> {
    let seen = evidence.disturbance.as_ref().filter(|seen| seen.basis == Basis::Clean)?;
    let mine = seen.stretches.iter().filter(|stretch| causes.contains(&stretch.cause));
    let ns: u64 = mine.map(|stretch| stretch.to_ns - stretch.from_ns).sum();
    (ns > 0).then(|| {
        format!(
            "{} of {} set aside with the requests in flight in it; with it goodput would be {}",
            time(ns as f64),
            time((seen.clean_ns + seen.set_aside_ns) as f64),
            rate(seen.whole.goodput_per_s)
        )
    })
}

/// The numbers as bounds.
fn bounds(evidence: &Evidence) -> String {
    let goodput = rate(stats::goodput(evidence).value);
    let cpu = match observed(evidence).and_then(|seen| seen.server.as_ref()?.cpu_ns_per_request) {
        Some(ns) => format!("; its CPU time per request ({}) counts no time that was taken", time(ns)),
        None => String::new(),
    };
    format!("the server holds at least {goodput}, p99 at most {}{cpu}", time(evidence.latency.response.p99_ns as f64))
}

/// Why the goodput is what it is whatever was taken from the CPUs; none where CPUs may be the limit.
pub(super) fn stands(evidence: &Evidence) -> Option<String> {
    let seen = observed(evidence)?;
    let machine = seen.machine.as_ref()?;
    let is_limit =
        |pool: &&model::PoolObserved| pool.occupancy >= OCCUPIED && pool.running <= SLEEPING * pool.occupancy;
    let pool = seen.pools.iter().find(is_limit)?;
    let in_use = machine.busy_mean + machine.steal_mean;
    (in_use <= CPUS_ROOM).then(|| {
        format!(
            "the {} of {} were occupied {} of the time and hardly use a CPU, and the CPUs had time to spare",
            model::human::plural(u64::from(pool.workers_max), "worker"),
            pool.program,
            percent(pool.occupancy.min(1.0))
        )
    })
}

/// Whether so much of a load's time was disturbed that its numbers are bounds, and others should speak.
#[must_use]
pub fn is_disturbed(disturbance: Option<&Disturbance>) -> bool {
    disturbance.is_some_and(|seen| {
        seen.left.iter().any(|(cause, share)| *share > BOUND_SHARE && *cause != Cause::OtherPrograms)
            || seen.left.get(&Cause::OtherPrograms).is_some_and(|share| *share > 2.0 * BOUND_SHARE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, machine, state};
    use model::{PoolObserved, Stretch, WholeWindow};

    fn disturbance(left: f64, basis: Basis) -> Disturbance {
        let stretch = Stretch { from_ns: 0, to_ns: 3 * NS_PER_S, cause: Cause::ServerSteal, taken_ns: 50_000_000 };
        Disturbance {
            basis,
            clean_ns: 27 * NS_PER_S,
            clean_good: 900_000,
            set_aside_ns: 3 * NS_PER_S,
            left: [(Cause::ServerSteal, left)].into(),
            stretches: vec![stretch],
            whole: WholeWindow { goodput_per_s: 31_000.0, ..WholeWindow::default() },
            ..Disturbance::default()
        }
    }

    fn judged(share: f64, basis: Basis) -> Outcome {
        let mut evidence = clean_run();
        evidence.disturbance = Some(disturbance(share, basis));
        Taken::new("EN-01", &[Cause::ServerSteal], share, "seen".to_owned(), "wait").outcome(&evidence)
    }

    #[test]
    fn what_is_left_decides_and_taken_time_has_a_direction() {
        assert_eq!(judged(0.0, Basis::Whole), Outcome::Pass);
        let aside = finding(judged(0.004, Basis::Clean));
        assert_eq!(aside.state, FindingState::Note);
        assert_eq!(
            aside.message,
            "seen: 3.00 s of 30.0 s set aside with the requests in flight in it; with it goodput would be 31,000/s"
        );
        assert_eq!(state(&judged(0.03, Basis::Clean)), Some(FindingState::Warning));
        let bound = finding(judged(0.3, Basis::Clean));
        assert_eq!(bound.state, FindingState::Bound);
        assert!(
            bound.message.starts_with("seen: the server holds at least 33,333/s, p99 at most 4.00 ms; its CPU"),
            "{bound:?}"
        );
        assert_eq!(state(&judged(0.8, Basis::Whole)), Some(FindingState::Invalid));
    }

    #[test]
    fn where_a_pool_is_the_limit_and_cpus_have_time_to_spare_the_goodput_stands() {
        let mut evidence = clean_run();
        machine(&mut evidence).busy_mean = 0.2;
        let pool = PoolObserved {
            name: "php-fpm: pool www".into(),
            program: "php-fpm8.2".into(),
            workers_max: 5,
            occupancy: 0.99,
            running: 0.1,
            ..PoolObserved::default()
        };
        evidence.observed.as_mut().expect("seen").pools = vec![pool];
        let taken = |evidence: &Evidence| {
            Taken::new("EN-01", &[Cause::ServerSteal], 0.08, "seen".to_owned(), "wait").outcome(evidence)
        };
        let found = finding(taken(&evidence));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.contains("the 5 workers of php-fpm8.2 were occupied 99 %"), "{}", found.message);
        machine(&mut evidence).busy_mean = 0.9;
        assert_eq!(state(&taken(&evidence)), Some(FindingState::Bound), "the CPUs may be as short as the workers");
    }
}
