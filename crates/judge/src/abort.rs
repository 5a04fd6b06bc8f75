//! Conditions that end a load early, such as `errors>5%`: each second they are put to the seconds before it.
//!
//! Pure: ticks go in, and the condition that holds comes out. Whether others took CPU time in these seconds makes no
//! difference: the condition protects a server, or somebody's time, whoever is to blame, and the result still says what was
//! disturbed.

use crate::goal::parse::FIRST_BYTE;
use crate::threshold::{SLO, Threshold};
use model::{Aborted, Bound, Histograms, KnownFigure, Load, NS_PER_S, Phase, Plan, Quantile, ThresholdState, Tick};
use std::collections::VecDeque;

/// Time over which a condition has to hold: a single bad second is no reason to give a measurement up.
pub const ABORT_OVER_NS: u64 = 5 * NS_PER_S;

/// Figures that are known while a load runs, beside quantiles, each with the flag that it needs.
const FIGURES: [(&str, Option<&str>); 6] = [
    ("goodput", None),
    ("throughput", None),
    ("errors", None),
    ("send-rate", Some("-R")),
    (SLO, Some("--slo")),
    ("mean", None),
];

/// The conditions of one load, and its last seconds.
#[derive(Clone, Debug)]
pub struct AbortWatch {
    conditions: Vec<Threshold>,
    /// Objective of the response time; none without one. ns
    slo_ns: Option<u64>,
    is_open: bool,
    /// What has come of the window, as far back as is looked.
    ticks: VecDeque<Tick>,
}

/// Reads the conditions under which a load is ended early, separated by commas.
///
/// # Errors
/// One line that names the condition, the reason, and what to write.
pub fn parse_conditions(text: &str) -> Result<Vec<Threshold>, String> {
    let conditions = Threshold::parse_all(text)?;
    for condition in &conditions {
        let figure = condition.figure();
        if condition.is_relative() {
            return Err(format!("{condition} is a change against an earlier result; write for example errors>5%"));
        }
        if condition.quantile().is_none() && FIGURES.iter().all(|(known, _)| *known != figure) {
            let known: Vec<&str> = FIGURES.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "{condition}: it is known only of a whole result (--fail-if); while a load runs there are quantiles such as \
                 p99, max and ttfb-p95, and {}",
                known.join(", ")
            ));
        }
    }
    Ok(conditions)
}

/// The flag without which a condition has nothing to be put to; none of one that needs none.
#[must_use]
pub fn needed_flag(condition: &Threshold) -> Option<&'static str> {
    FIGURES.iter().find(|(known, _)| *known == condition.figure()).and_then(|(_, flag)| *flag)
}

impl AbortWatch {
    /// Watches the load of `plan`.
    #[must_use]
    pub fn new(conditions: Vec<Threshold>, plan: &Plan) -> Self {
        let is_open = matches!(plan.load, Load::Open { .. });
        Self { conditions, slo_ns: plan.slo_ns, is_open, ticks: VecDeque::new() }
    }

    /// Takes in the next tick. Returns the first condition that has held over the last [`ABORT_OVER_NS`] of the measured window.
    pub fn follow(&mut self, tick: &Tick) -> Option<Aborted> {
        if tick.phase != Phase::Measure {
            return None;
        }
        self.ticks.push_back(tick.clone());
        while self.ticks.get(1).is_some_and(|second| tick.to_ns - second.from_ns >= ABORT_OVER_NS) {
            self.ticks.pop_front();
        }
        let over_ns = tick.to_ns - self.ticks.front()?.from_ns;
        if over_ns < ABORT_OVER_NS {
            return None;
        }
        self.conditions.iter().find_map(|condition| {
            let value = self.figure(condition, over_ns);
            let condition = condition.judge(value, None);
            let is_met = condition.state == ThresholdState::Failed;
            is_met.then_some(Aborted { at_ns: tick.to_ns, over_ns, condition })
        })
    }

    /// The figure of a condition over the last seconds; none where nothing is known of it.
    fn figure(&self, condition: &Threshold, over_ns: u64) -> Option<KnownFigure> {
        let exactly = |value: f64| Some(KnownFigure::exactly(value));
        let sum = |of: fn(&Tick) -> u64| self.ticks.iter().map(of).sum::<u64>() as f64;
        let per_s = |n: f64| n * NS_PER_S as f64 / over_ns as f64;
        let share = |part: f64, all: f64| (all > 0.0).then(|| KnownFigure::exactly(part / all));
        if let Some(quantile) = condition.quantile() {
            return self.quantile(quantile, condition.figure().starts_with(FIRST_BYTE));
        }
        match condition.figure() {
            "goodput" => exactly(per_s(sum(|tick| tick.flow.good))),
            "throughput" => exactly(per_s(sum(|tick| tick.flow.completed))),
            "errors" => {
                let failed = sum(|tick| tick.flow.failed);
                share(failed, failed + sum(|tick| tick.flow.good))
            }
            "send-rate" => self.sent_share(over_ns).and_then(exactly),
            SLO => {
                let slo_ns = self.slo_ns?;
                let ended = sum(|tick| tick.cohort.counts.good) + sum(|tick| tick.cohort.failed());
                let waiting = self.waiting_for().filter(|(wait_ns, _)| *wait_ns >= slo_ns).map(|(_, n)| n);
                share(sum(|tick| tick.cohort.counts.within_slo), ended + waiting.fold(0.0, f64::max))
            }
            "mean" => {
                let response = self.merged().response;
                (!response.is_empty()).then(|| KnownFigure::exactly(response.summary().mean_ns))
            }
            _ => None,
        }
    }

    /// Share of what was due that was sent. Requests are sent in the order in which they are due: when the oldest unsent one is a
    /// second late, then what was due in the last second was not sent.
    fn sent_share(&self, over_ns: u64) -> Option<f64> {
        let late_ns = self.ticks.back()?.late_ns.min(over_ns);
        self.is_open.then_some(1.0 - late_ns as f64 / over_ns as f64)
    }

    /// A quantile of the latencies of these seconds. Where requests have waited for longer, and are so many that they reach the
    /// quantile, it is at least as long as they have: a server that answers nothing any more has no slow responses.
    fn quantile(&self, quantile: Quantile, of_first_byte: bool) -> Option<KnownFigure> {
        let all = self.merged();
        let latency = if of_first_byte { all.first_byte } else { all.response };
        let ended_ns = (!latency.is_empty()).then(|| latency.quantile(quantile.share()) as f64);
        let ended = latency.count() as f64;
        let reaches = |waiting: f64| waiting >= 1.0 && waiting > (1.0 - quantile.share()) * (ended + waiting);
        // Of a request that waits nobody knows whether its first byte has come.
        let waits = self.waiting_for().filter(|(_, waiting)| !of_first_byte && reaches(*waiting));
        let at_least_ns = waits.map(|(wait_ns, _)| wait_ns as f64).fold(0.0, f64::max);
        match ended_ns {
            Some(ended_ns) if ended_ns >= at_least_ns => Some(KnownFigure::exactly(ended_ns)),
            None if at_least_ns == 0.0 => None,
            _ => Some(KnownFigure { bound: Some(Bound::AtLeast), ..KnownFigure::exactly(at_least_ns) }),
        }
    }

    /// How many requests have waited for at least so long, for each number of whole seconds; ns. At some instant of the last
    /// second as many were out as in its mean, and of these at most those are younger that were sent since.
    fn waiting_for(&self) -> impl Iterator<Item = (u64, f64)> {
        let last = self.ticks.back();
        let out = last.map_or(0.0, |tick| tick.flow.outstanding_ns as f64 / (tick.to_ns - tick.from_ns).max(1) as f64);
        let mut sent = last.map_or(0, |tick| tick.flow.sent);
        let mut wait_ns = 0;
        self.ticks.iter().rev().skip(1).map(move |tick| {
            sent += tick.flow.sent;
            wait_ns += tick.to_ns - tick.from_ns;
            (wait_ns, (out - sent as f64).max(0.0))
        })
    }

    fn merged(&self) -> Histograms {
        let mut all = Histograms::default();
        self.ticks.iter().for_each(|tick| all.add(&tick.histograms));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::clean_open_run;
    use model::{Counts, Flow};

    fn watch(conditions: &str) -> AbortWatch {
        let plan = Plan { slo_ns: Some(200_000_000), ..clean_open_run().plan };
        AbortWatch::new(parse_conditions(conditions).unwrap(), &plan)
    }

    /// A second of the window in which `good` requests were answered well in 100 ms, and `failed` failed.
    fn second(at: u64, good: u64, failed: u64) -> Tick {
        let mut tick = Tick::empty(Phase::Measure, at * NS_PER_S, (at + 1) * NS_PER_S);
        tick.flow = Flow { good, failed, completed: good, sent: good + failed, ..Flow::default() };
        tick.cohort.counts = Counts { good, within_slo: good, ..Counts::default() };
        tick.cohort.failures = [("first_byte.timeout".to_owned(), failed)].into();
        (0..good).for_each(|_| tick.histograms.response.record(100_000_000));
        (0..good).for_each(|_| tick.histograms.first_byte.record(20_000_000));
        tick
    }

    /// After which of the seconds the load is ended.
    fn ended_after(conditions: &str, seconds: impl IntoIterator<Item = Tick>) -> Option<(usize, String, f64)> {
        let mut watch = watch(conditions);
        seconds.into_iter().enumerate().find_map(|(at, tick)| {
            let Aborted { at_ns, over_ns, condition } = watch.follow(&tick)?;
            assert_eq!((at_ns, over_ns), (tick.to_ns, ABORT_OVER_NS));
            Some((at, condition.condition, condition.value.unwrap().value))
        })
    }

    #[test]
    fn a_load_is_ended_when_a_condition_has_held_over_five_seconds() {
        // 20 % fail from the fourth second on: 8 % of five seconds when two of them have.
        let failing = (0..20).map(|at| if at < 3 { second(at, 100, 0) } else { second(at, 80, 20) });
        assert_eq!(ended_after("p99>1s,errors>5%", failing), Some((4, "errors>5%".to_owned(), 0.08)));
        let clean = || (0..20).map(|at| second(at, 100, 0));
        assert_eq!(ended_after("errors>5%,goodput<100,p99>1s,send-rate<90%,slo<99%", clean()), None);
        let one_bad = (0..20).map(|at| if at == 9 { second(at, 80, 20) } else { second(at, 100, 0) });
        assert_eq!(ended_after("errors>5%", one_bad), None, "4 % of five seconds");
        let is_ended = |conditions: &str| ended_after(conditions, clean()).is_some_and(|(at, ..)| at == 4);
        for conditions in
            ["goodput<101", "throughput<=100", "p50>=99ms", "mean>50ms", "max>50ms", "ttfb-p99>10ms", "ttfb-max>10ms"]
        {
            assert!(is_ended(conditions), "{conditions}");
        }
        assert!(!is_ended("ttfb-p99>50ms"), "the first byte came after 20 ms");
    }

    #[test]
    fn the_warm_up_and_a_short_window_end_nothing() {
        let warmup = (0..20).map(|at| Tick { phase: Phase::Warmup, ..second(at, 0, 100) });
        assert_eq!(ended_after("errors>5%", warmup), None);
        assert_eq!(ended_after("errors>5%", (0..4).map(|at| second(at, 0, 100))), None);
        assert_eq!(
            ended_after("errors>5%", (0..5).map(|at| second(at, 0, 0))),
            None,
            "nothing has ended: nothing is known"
        );
    }

    #[test]
    fn a_rate_that_is_no_longer_held_is_seen_by_how_late_requests_are() {
        let late = |at: u64| Tick { late_ns: at * NS_PER_S / 10, ..second(at, 100, 0) };
        let (at, _, value) = ended_after("send-rate<90%", (0..20).map(late)).unwrap();
        // 0.6 s of five are 12 %.
        assert_eq!(at, 6);
        assert!((value - 0.88).abs() < 1e-9, "{value}");
        assert_eq!(needed_flag(&parse_conditions("send-rate<90%").unwrap()[0]), Some("-R"));
        assert_eq!(needed_flag(&parse_conditions("slo<90%").unwrap()[0]), Some("--slo"));
        assert_eq!(needed_flag(&parse_conditions("p99>1s").unwrap()[0]), None);
    }

    #[test]
    fn a_share_of_slow_requests_ends_a_load() {
        let slow = (0..20).map(|at| {
            let mut tick = second(at, 90, 10);
            tick.cohort.counts.within_slo = 45;
            tick
        });
        assert_eq!(ended_after("slo<50%", slow), Some((4, "slo<50%".to_owned(), 0.45)));
    }

    /// Eight connections waited for 20 s, and `p99>1s` ended nothing: no response was slow, as there was none.
    #[test]
    fn a_server_that_stops_to_answer_is_as_slow_as_the_requests_that_wait() {
        let hung = |at: u64| {
            let mut tick = if at < 3 { second(at, 1000, 0) } else { second(at, 0, 0) };
            tick.flow.outstanding_ns = 8 * NS_PER_S;
            tick
        };
        let seconds = || (0..20).map(hung);
        // Eight are not 1 % of the responses of five seconds as long as there is one of 1,000 among these.
        assert_eq!(ended_after("p99>1s", seconds()), Some((7, "p99>1s".to_owned(), 4e9)));
        assert_eq!(ended_after("max>1s", seconds()), Some((5, "max>1s".to_owned(), 2e9)));
        assert_eq!(ended_after("slo<50%", seconds()), Some((7, "slo<50%".to_owned(), 0.0)));
        assert_eq!(ended_after("ttfb-p99>1s", seconds()), None, "their first bytes may have come");
        // An open loop of 100/s whose responses take 2 s has 200 out, and all of them are younger than that.
        let slow = |at: u64| {
            let mut tick = second(at, 100, 0);
            tick.flow.outstanding_ns = 200 * NS_PER_S;
            tick
        };
        assert_eq!(ended_after("max>2s", (0..20).map(slow)), None);
    }

    #[test]
    fn what_is_not_known_while_a_load_runs_is_refused() {
        for (text, said) in [
            ("capacity<5", "known only of a whole result (--fail-if)"),
            ("cpu>80%", "known only of a whole result"),
            ("rss>1GiB", "known only of a whole result"),
            ("goodput<-3%", "is a change against an earlier result"),
            ("errors<5%", "would fail a better one; write errors>5%"),
            ("nothing", "has no < or >"),
        ] {
            let error = parse_conditions(text).expect_err(text);
            assert!(error.contains(said) && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
