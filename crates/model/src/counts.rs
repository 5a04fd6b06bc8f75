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
        self.probe = self.probe.saturating_add(other.probe);
        self.warmup = self.warmup.saturating_add(other.warmup);
        self.window = self.window.saturating_add(other.window);
        self.after = self.after.saturating_add(other.after);
    }

    /// The sum; none when one of them is not known.
    pub fn sum(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        all.into_iter().try_fold(Self::default(), |mut sum, one| {
            sum.add(&one?);
            Some(sum)
        })
    }
}

/// What became of the requests intended inside the measured window, however late they ended.
///
/// Latency and failure shares come from here: every intended request is accounted for exactly once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cohort {
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
    /// Requests without an answer at their deadline; their elapsed time is in the histograms as a lower bound.
    pub censored: u64,
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
        self.sent += other.sent;
        self.completed += other.completed;
        self.good += other.good;
        self.failed += other.failed;
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.opened += other.opened;
        self.grown += other.grown;
        self.resumed += other.resumed;
        self.fruitless.add(&other.fruitless);
        self.outstanding_ns += other.outstanding_ns;
    }
}

impl MixCount {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.good += other.good;
        self.response_ns += other.response_ns;
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
        self.connections += other.connections;
        self.answered += other.answered;
        self.starved += other.starved;
        self.starved_ns = [self.starved_ns, other.starved_ns].into_iter().flatten().min();
        self.responses += other.responses;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Jain's index, 1 when all connections had the same number of responses and 1/n when one had all (R. Jain, D. Chiu and
    /// W. Hawe, "A Quantitative Measure of Fairness", DEC TR-301, 1984); none without responses.
    #[must_use]
    pub fn index(&self) -> Option<f64> {
        let responses = self.responses as f64;
        (self.squares > 0).then(|| responses * responses / (self.connections as f64 * self.squares as f64))
    }
}

impl Cohort {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Self) {
        self.planned += other.planned;
        self.sent += other.sent;
        self.completed += other.completed;
        self.good += other.good;
        self.body_checked += other.body_checked;
        self.bodies_compared += other.bodies_compared;
        self.bodies_other += other.bodies_other;
        self.broken_response_ns += other.broken_response_ns;
        self.censored += other.censored;
        for (status, n) in &other.status {
            *self.status.entry(*status).or_default() += n;
        }
        for (failure, n) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += n;
        }
        self.mix.resize(self.mix.len().max(other.mix.len()), MixCount::default());
        for (mine, theirs) in self.mix.iter_mut().zip(&other.mix) {
            mine.add(theirs);
        }
        if let Some(fairness) = &other.fairness {
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
