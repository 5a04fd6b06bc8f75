//! Counters. All of them add up: over threads, over seconds, over iterations.

use crate::{Failure, FailureKind, FailurePhase};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::BTreeMap;

/// What passed by during a span of time, whenever it was intended.
///
/// Rates (goodput, throughput) come from here: a server past its capacity completes late requests
/// after the window, and those must not raise its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Requests whose first byte was handed to the kernel.
    pub sent: u64,
    /// Complete responses, good or not.
    pub completed: u64,
    /// Responses that met the contract.
    pub good: u64,
    /// Requests that failed, including complete responses that broke the contract.
    pub failed: u64,
    /// Bytes of responses, heads included.
    pub bytes_received: u64,
    /// Bytes of requests, heads included.
    pub bytes_sent: u64,
    /// Connections opened, those before the clock started excluded.
    pub opened: u64,
    /// Of these, opened because a request of an open loop found none free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub grown: u64,
    /// TLS handshakes that resumed an earlier session, those before the clock started included.
    #[serde(default)]
    pub resumed: u64,
    /// Connections on which no response came, those before the clock started excluded.
    #[serde(default, skip_serializing_if = "Fruitless::is_none")]
    pub fruitless: Fruitless,
    /// Integral over time of the requests in flight; request-nanoseconds. Divided by the span it is the
    /// time-average number outstanding, the left side of Little's law.
    pub outstanding_ns: u64,
}

/// Connections on which no response came, by what ended them. What this machine had not enough of (ports, descriptors) is
/// none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fruitless {
    /// Attempts to open one that were refused.
    #[serde(default)]
    pub refused: u64,
    /// Attempts that came to nothing in another way: without an answer, a route, or a TLS session.
    #[serde(default)]
    pub unopened: u64,
    /// Reset by the server after they were open.
    #[serde(default)]
    pub reset: u64,
    /// Closed by the server after they were open.
    #[serde(default)]
    pub closed: u64,
}

/// All requests that a measurement sent, whatever they were sent for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentInAll {
    /// By the probe, before any load.
    pub probe: u64,
    /// In warm-ups.
    pub warmup: u64,
    /// In measurement windows.
    pub window: u64,
    /// After them: what was due in a window and was late.
    pub after: u64,
}

impl Fruitless {
    /// Counts what has ended a connection, or an attempt to open it, before any response; not where this machine has.
    pub fn count(&mut self, failure: Failure) {
        let is_unopened = matches!(failure.phase, FailurePhase::Connect | FailurePhase::Tls);
        match failure.kind {
            FailureKind::PortsExhausted | FailureKind::FdsExhausted => {}
            FailureKind::Refused if is_unopened => self.refused += 1,
            FailureKind::Reset => self.reset += 1,
            FailureKind::Closed => self.closed += 1,
            _ if is_unopened => self.unopened += 1,
            _ => {}
        }
    }

    /// All of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.never_open().saturating_add(self.reset).saturating_add(self.closed)
    }

    /// Those that were never open.
    #[must_use]
    pub const fn never_open(&self) -> u64 {
        self.refused.saturating_add(self.unopened)
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.all() == 0
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        let Self { refused, unopened, reset, closed } = other;
        self.refused = self.refused.saturating_add(*refused);
        self.unopened = self.unopened.saturating_add(*unopened);
        self.reset = self.reset.saturating_add(*reset);
        self.closed = self.closed.saturating_add(*closed);
    }
}

impl SentInAll {
    /// All of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.probe.saturating_add(self.warmup).saturating_add(self.window).saturating_add(self.after)
    }

    /// Adds `other` to `self`.
    pub const fn add(&mut self, other: &Self) {
        let Self { probe, warmup, window, after } = *other;
        self.probe = self.probe.saturating_add(probe);
        self.warmup = self.warmup.saturating_add(warmup);
        self.window = self.window.saturating_add(window);
        self.after = self.after.saturating_add(after);
    }

    /// The sum; none when one of them is not known.
    pub fn sum(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        all.into_iter().try_fold(Self::default(), |mut sum, one| {
            sum.add(&one?);
            Some(sum)
        })
    }
}

/// Counters of the requests intended inside the measured window: of a load thread, of a [`Cohort`] and of a record
/// ([`crate::Requests`]). Each adds up, so that a new one costs its field and its place in [`Counts::each`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests intended in the window.
    pub planned: u64,
    /// Of these, handed to the kernel.
    pub sent: u64,
    /// Of these, answered completely.
    pub completed: u64,
    /// Of these, meeting the contract.
    pub good: u64,
    /// Complete responses of the right status and size whose content was looked at, one in
    /// [`crate::BODY_SAMPLE_EVERY`]; 0 when the contract asks for no content.
    #[serde(default)]
    pub body_checked: u64,
    /// Complete responses whose body was compared with the one that the probe got each time; see
    /// [`crate::Contract::usual_hash`].
    #[serde(default)]
    pub bodies_compared: u64,
    /// Of these, with another body of the same size.
    #[serde(default)]
    pub bodies_other: u64,
    /// Sum of the response times of the complete responses that broke the contract; ns.
    #[serde(default)]
    pub broken_response_ns: u64,
    /// Responses that met the contract within [`crate::Plan::slo_ns`]; 0 where none is named.
    #[serde(default)]
    pub within_slo: u64,
    /// Requests without an answer at their deadline; their elapsed time is in the histograms as a lower bound.
    pub censored: u64,
    /// Requests that were due and neither answered nor failed when the load was ended before its time; they are in no
    /// histogram.
    #[serde(default)]
    pub unfinished: u64,
    /// Sum of the times since these were due; ns.
    #[serde(default)]
    pub unfinished_ns: u64,
}

/// What became of the requests intended inside the measured window, however late they ended.
///
/// Latency and failure shares come from here: every intended request is accounted for exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cohort {
    /// The counters that need no name.
    #[serde(flatten)]
    pub counts: Counts,
    /// Complete responses by status code.
    #[serde(deserialize_with = "by_status")]
    pub status: BTreeMap<u16, u64>,
    /// Failures by name (`connect.refused`); only kinds that occurred.
    pub failures: BTreeMap<String, u64>,
    /// Complete responses to each request of a mix, in the order of the plan; empty when there is but one, or more
    /// than [`MIX_TOLD_APART_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixCount>,
    /// How the responses were spread over the connections; none before the window is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
}

/// How the responses of the measured window were spread over the connections of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fairness {
    /// Connections that were open, or had a request, at the end of the window.
    pub connections: u64,
    /// Of these, answered at least once in it.
    pub answered: u64,
    /// Of the others, those with a request that waited for its answer at the end.
    pub starved: u64,
    /// The shortest of these waits within the window, a lower bound of what their requests took; none without one. ns
    pub starved_ns: Option<u64>,
    /// Time from the last response of the window to its end; none without a response. ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_ns: Option<u64>,
    /// Responses in the window.
    pub responses: u64,
    /// Sum over the connections of the squares of their responses.
    pub squares: u64,
}

/// Most requests of a mix that are counted one by one: each costs a line in every second's record.
pub const MIX_TOLD_APART_MAX: usize = 100;

/// What became of one request of a mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixCount {
    /// Complete responses.
    pub completed: u64,
    /// Of these, meeting the contract.
    pub good: u64,
    /// Sum of their response times; ns.
    pub response_ns: u64,
}

impl Flow {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        let Self {
            sent,
            completed,
            good,
            failed,
            bytes_received,
            bytes_sent,
            opened,
            grown,
            resumed,
            fruitless,
            outstanding_ns,
        } = other;
        self.sent += sent;
        self.completed += completed;
        self.good += good;
        self.failed += failed;
        self.bytes_received += bytes_received;
        self.bytes_sent += bytes_sent;
        self.opened += opened;
        self.grown += grown;
        self.resumed += resumed;
        self.fruitless.add(fruitless);
        self.outstanding_ns += outstanding_ns;
    }
}

impl MixCount {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        let Self { completed, good, response_ns } = other;
        self.completed += completed;
        self.good += good;
        self.response_ns += response_ns;
    }
}

impl Fairness {
    /// Counts a connection with so many responses, whose request has waited so long for an answer; ns.
    pub fn count(&mut self, responses: u64, waits_ns: Option<u64>) {
        self.connections += 1;
        self.answered += u64::from(responses > 0);
        self.responses += responses;
        self.squares = self.squares.saturating_add(responses.saturating_mul(responses));
        if let (0, Some(waits_ns)) = (responses, waits_ns) {
            self.starved += 1;
            self.starved_ns = Some(self.starved_ns.map_or(waits_ns, |least_ns| least_ns.min(waits_ns)));
        }
    }

    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        let Self { connections, answered, starved, starved_ns, quiet_ns, responses, squares } = other;
        self.connections += connections;
        self.answered += answered;
        self.starved += starved;
        self.starved_ns = [self.starved_ns, *starved_ns].into_iter().flatten().min();
        self.quiet_ns = [self.quiet_ns, *quiet_ns].into_iter().flatten().min();
        self.responses += responses;
        self.squares = self.squares.saturating_add(*squares);
    }

    /// Jain's index, 1 when all connections had the same number of responses and 1/n when one had all (R. Jain, D. Chiu and
    /// W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301, 1984); none without responses.
    #[must_use]
    pub fn index(&self) -> Option<f64> {
        let responses = self.responses as f64;
        (self.squares > 0).then(|| responses * responses / (self.connections as f64 * self.squares as f64))
    }
}

impl Counts {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        for (sum, n) in self.each_mut().into_iter().zip(other.each()) {
            *sum += n;
        }
    }

    /// Share of the requests that were answered well within the objective `slo_ns` of the plan, 0 to 1; none without an objective,
    /// or a request.
    #[must_use]
    pub fn slo_share(&self, slo_ns: Option<u64>) -> Option<f64> {
        let is_asked_for = slo_ns.is_some() && self.planned > 0;
        is_asked_for.then(|| self.within_slo as f64 / self.planned as f64)
    }

    /// All of them. Sums and limits are made from this list, which does not compile without each counter.
    #[must_use]
    pub fn each(mut self) -> [u64; 12] {
        self.each_mut().map(|n| *n)
    }

    const fn each_mut(&mut self) -> [&mut u64; 12] {
        let Self {
            planned,
            sent,
            completed,
            good,
            body_checked,
            bodies_compared,
            bodies_other,
            broken_response_ns,
            within_slo,
            censored,
            unfinished,
            unfinished_ns,
        } = self;
        [
            planned,
            sent,
            completed,
            good,
            body_checked,
            bodies_compared,
            bodies_other,
            broken_response_ns,
            within_slo,
            censored,
            unfinished,
            unfinished_ns,
        ]
    }
}

impl Cohort {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        let Self { counts, status, failures, mix, fairness } = other;
        self.counts.add(counts);
        for (status, n) in status {
            *self.status.entry(*status).or_default() += n;
        }
        for (failure, n) in failures {
            *self.failures.entry(failure.clone()).or_default() += n;
        }
        self.mix.resize(self.mix.len().max(mix.len()), MixCount::default());
        for (mine, theirs) in self.mix.iter_mut().zip(mix) {
            mine.add(theirs);
        }
        if let Some(fairness) = fairness {
            self.fairness.get_or_insert_default().add(fairness);
        }
    }

    /// Requests that failed; contract breaches included.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

/// True if a counter is left out of what is written.
pub(crate) const fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// JSON keys are texts. Serde turns them back into numbers, but not inside a tagged enum such as [`crate::Event`].
fn by_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u16, u64>, D::Error> {
    let texts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    texts.into_iter().map(|(status, n)| Ok((status.parse().map_err(de::Error::custom)?, n))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    /// The counters by their names, and so also those that are added to the struct later.
    fn by_name(counts: Counts) -> Map<String, Value> {
        let Value::Object(fields) = serde_json::to_value(counts).unwrap() else { panic!("counters have names") };
        fields
    }

    /// Another power of two in each counter.
    fn powers() -> Counts {
        let mut fields = by_name(Counts::default());
        fields.values_mut().enumerate().for_each(|(power, n)| *n = (1_u64 << power).into());
        serde_json::from_value(fields.into()).unwrap()
    }

    /// A counter that was forgotten in a sum counted 0 in every result, and no test failed.
    #[test]
    fn no_counter_is_lost_where_cohorts_are_added() {
        let counts = powers();
        let (names, each) = (by_name(counts), counts.each());
        assert_eq!(names.len(), each.len());
        assert_eq!(each.iter().fold(0, |bits, n| bits | n), (1_u64 << each.len()) - 1, "each of them once");
        let one = Cohort { counts, ..Cohort::default() };
        let mut sum = one.clone();
        sum.add(&one);
        for (name, n) in by_name(sum.counts) {
            assert_eq!(n.as_u64(), names[&name].as_u64().map(|n| 2 * n), "{name}");
        }
    }

    #[test]
    fn a_cohort_is_written_as_one_object_in_the_order_of_earlier_logs() {
        let text = concat!(
            r#"{"planned":1,"sent":2,"completed":3,"good":4,"body_checked":5,"bodies_compared":6,"bodies_other":7,"#,
            r#""broken_response_ns":8,"within_slo":10,"censored":9,"unfinished":11,"unfinished_ns":12,"#,
            r#""status":{"200":10},"failures":{}}"#
        );
        let cohort: Cohort = serde_json::from_str(text).unwrap();
        assert_eq!((cohort.counts.planned, cohort.counts.censored), (1, 9));
        assert_eq!(serde_json::to_string(&cohort).unwrap(), text);
    }

    #[test]
    fn a_cohort_of_before_reads_without_what_was_not_counted_and_not_without_the_rest() {
        let text = r#"{"planned":1,"sent":1,"completed":1,"good":1,"censored":0,"status":{"200":1},"failures":{}}"#;
        let counts = Counts { planned: 1, sent: 1, completed: 1, good: 1, ..Counts::default() };
        let cohort = Cohort { counts, status: [(200, 1)].into(), ..Cohort::default() };
        assert_eq!(serde_json::from_str::<Cohort>(text).unwrap(), cohort);
        let without = text.replace(r#""sent":1,"#, "");
        let error = serde_json::from_str::<Cohort>(&without).unwrap_err();
        assert!(error.to_string().contains("missing field `sent`"), "{error}");
    }
}
