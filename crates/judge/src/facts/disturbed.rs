//! Effect of lost CPU time on a result: one rule for all causes ([`model::DISTURBANCE_RULES`]).
//!
//! Lost CPU time lowers goodput and raises latency. Short disturbances are set aside ([`model::Disturbance`]); what is
//! left in the remaining time makes the numbers bounds of known direction, or invalid where so much was lost that the
//! bound is worthless.

use super::OCCUPIED;
use super::observed;
use crate::Outcome;
use model::human::{percent, rate, time};
use model::{Basis, Cause, Disturbance, Evidence, FindingState, NS_PER_S, Observed};

/// Share of the remaining time from which on a cause is reported.
pub(crate) const WARNING_SHARE: f64 = 0.01;
/// From here on the numbers are bounds: more is lost than repeats of a load differ by.
pub(crate) const BOUND_SHARE: f64 = 0.05;
/// With less than a quarter of its CPU time left, a server may do four times as much or more: such a bound is worthless.
pub(crate) const INVALID_SHARE: f64 = 0.75;
/// The kernel counts in steps of 10 ms: less than ten of them is nothing to go by.
pub(crate) const TAKEN_MIN_S: f64 = 0.1;
/// A fully occupied pool that is on a CPU for less than this share of the time is the limit, and CPUs are not.
const SLEEPING: f64 = 0.3;
/// CPUs that were used, or taken, for less than this had time to spare.
const CPUS_ROOM: f64 = 0.7;

/// Finding of one rule.
pub(crate) struct Taken<'a> {
    pub(crate) rule: &'static str,
    pub(crate) causes: &'a [Cause],
    /// Share of the time that the numbers rest on, 0 to 1.
    pub(crate) share: f64,
    pub(crate) warning_share: f64,
    pub(crate) bound_share: f64,
    /// Less than this in all is nothing; s.
    pub(crate) least_s: f64,
    /// Facts, as the start of a sentence.
    pub(crate) facts: String,
    pub(crate) remedy: String,
}

impl Taken<'_> {
    /// With the thresholds that most causes have.
    pub(crate) fn new(rule: &'static str, causes: &'static [Cause], share: f64, facts: String, remedy: &str) -> Self {
        let (warning_share, bound_share) = (WARNING_SHARE, BOUND_SHARE);
        Self { rule, causes, share, warning_share, bound_share, least_s: 0.0, facts, remedy: remedy.to_owned() }
    }

    /// Effect on the numbers.
    pub(crate) fn outcome(self, evidence: &Evidence) -> Outcome {
        let set_aside = set_aside(evidence, self.causes);
        let is_little = self.share * evidence.measured_ns as f64 / (NS_PER_S as f64) < self.least_s;
        let (state, meaning) = match self.share {
            s if s <= self.warning_share || is_little => match &set_aside {
                None => return Outcome::Pass,
                Some(aside) => (FindingState::Note, aside.clone()),
            },
            _ if let Some(why) = stands(evidence) => (FindingState::Note, format!("goodput is unaffected: {why}")),
            s if s <= self.bound_share => {
                (FindingState::Warning, "without it goodput may be slightly higher and latencies lower".to_owned())
            }
            s if s <= INVALID_SHARE => (FindingState::Bound, bounds(evidence)),
            _ => {
                let little = "too little CPU time was left even for a bound".to_owned();
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

/// The account of what took CPU time, if it is about `causes`: one of the load generator's machine says nothing of a server on
/// another.
pub(crate) fn account<'a>(evidence: &'a Evidence, causes: &[Cause]) -> Option<&'a Disturbance> {
    const OF_SERVER: [Cause; 4] = [Cause::ServerSteal, Cause::OtherPrograms, Cause::ServerWait, Cause::ServerQuota];
    let is_elsewhere = evidence.client_machine.is_some() && causes.iter().all(|cause| OF_SERVER.contains(cause));
    evidence.disturbance.as_ref().filter(|_| !is_elsewhere)
}

/// Share of the time that the numbers rest on that `causes` took; none without an account.
pub(crate) fn left(evidence: &Evidence, causes: &[Cause]) -> Option<f64> {
    let seen = account(evidence, causes)?;
    Some(causes.iter().filter_map(|cause| seen.left.get(cause)).copied().fold(0.0, f64::max))
}

/// Share of the whole window that `causes` took, 0 to 1; none without an account.
pub(crate) fn taken(evidence: &Evidence, causes: &[Cause]) -> Option<f64> {
    let seen = account(evidence, causes)?;
    Some(causes.iter().filter_map(|cause| seen.taken.get(cause)).copied().fold(0.0, f64::max))
}

/// True if the numbers rest on disturbed time, as too little was left without: whoever has no CPU answers, and takes answers,
/// late at any time.
pub(crate) fn rests_on_disturbed(evidence: &Evidence) -> bool {
    evidence.disturbance.as_ref().is_some_and(|seen| seen.basis == Basis::Whole && seen.set_aside_ns > 0)
}

/// Part of the window set aside because of `causes`, in half a sentence; none when nothing is.
fn set_aside(evidence: &Evidence, causes: &[Cause]) -> Option<String> {
    let seen = evidence.disturbance.as_ref().filter(|seen| seen.basis == Basis::Clean)?;
    let mine = seen.stretches.iter().filter(|stretch| causes.contains(&stretch.cause));
    let ns: u64 = mine.map(|stretch| stretch.to_ns - stretch.from_ns).sum();
    (ns > 0).then(|| {
        format!(
            "{} of {} set aside with its requests in flight; goodput with it: {}",
            time(ns as f64),
            time((seen.clean_ns + seen.set_aside_ns) as f64),
            rate(seen.whole.goodput_per_s)
        )
    })
}

/// The numbers as bounds.
fn bounds(evidence: &Evidence) -> String {
    let goodput = rate(evidence::goodput(evidence).value);
    let cpu = match observed(evidence).and_then(Observed::server_cpu_ns_per_request) {
        Some(ns) => format!("; CPU time per request ({}) excludes lost time", time(ns)),
        None => String::new(),
    };
    format!(
        "the server sustains at least {goodput}, p99 at most {}{cpu}",
        time(evidence.latency.response.p99_ns as f64)
    )
}

/// Reason why the goodput does not depend on the lost CPU time; none where CPUs may be the bottleneck.
pub(crate) fn stands(evidence: &Evidence) -> Option<String> {
    let seen = observed(evidence)?;
    let machine = seen.machine.as_ref()?;
    // What waits for a CPU would have one.
    let on_cpu = |pool: &model::PoolObserved| pool.running + pool.runnable.unwrap_or(0.0);
    let is_limit =
        |pool: &&model::PoolObserved| pool.occupancy >= OCCUPIED && on_cpu(pool) <= SLEEPING * pool.occupancy;
    let pool = seen.pools.iter().find(is_limit)?;
    let in_use = machine.busy_mean + machine.steal_mean;
    (in_use <= CPUS_ROOM).then(|| {
        format!(
            "the {} of {} were occupied {} of the time with little CPU use, and CPUs had room",
            model::human::plural(u64::from(pool.workers_max), "worker"),
            pool.program,
            percent(pool.occupancy.min(1.0))
        )
    })
}

/// True if so much of a load's time was disturbed that its numbers are bounds, and other loads should be preferred.
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
            "seen: 3.00 s of 30.0 s set aside with its requests in flight; goodput with it: 31,000/s"
        );
        assert_eq!(state(&judged(0.03, Basis::Clean)), Some(FindingState::Warning));
        let bound = finding(judged(0.3, Basis::Clean));
        assert_eq!(bound.state, FindingState::Bound);
        assert!(
            bound.message.starts_with("seen: the server sustains at least 33,333/s, p99 at most 4.00 ms; CPU"),
            "{bound:?}"
        );
        assert_eq!(state(&judged(0.8, Basis::Whole)), Some(FindingState::Invalid));
    }

    /// 349 us of nginx, of a page that cost its PHP 31 ms.
    #[test]
    fn the_cpu_time_of_a_request_was_that_of_the_front_alone() {
        let mut evidence = clean_run();
        evidence.disturbance = Some(disturbance(0.3, Basis::Clean));
        let seen = evidence.observed.as_mut().expect("seen");
        let front = seen.server.as_mut().expect("seen");
        front.cpu_ns_per_request = Some(349_000.0);
        let php = model::ServerObserved { cpu_ns_per_request: Some(31_000_000.0), ..front.clone() };
        seen.companions = [("php-fpm".to_owned(), php)].into();
        let bound = finding(Taken::new("EN-01", &[], 0.3, "seen".to_owned(), "wait").outcome(&evidence));
        assert!(bound.message.contains("CPU time per request (31.3 ms)"), "{}", bound.message);
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
        let pools = |evidence: &mut Evidence, runnable| {
            evidence.observed.as_mut().expect("seen").pools[0].runnable = runnable;
        };
        pools(&mut evidence, Some(0.75));
        assert_eq!(state(&taken(&evidence)), Some(FindingState::Bound), "they wait for a CPU");
        pools(&mut evidence, None);
        machine(&mut evidence).busy_mean = 0.9;
        assert_eq!(state(&taken(&evidence)), Some(FindingState::Bound), "the CPUs may be as short as the workers");
    }
}
