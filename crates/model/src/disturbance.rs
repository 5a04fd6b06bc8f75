//! Disturbed time: what was taken from the CPUs of client and server by causes seen from outside, slice by slice.
//!
//! CPU time that is taken moves goodput down and latency up, never the other way. So it can be set aside where it was
//! short, and makes a number a bound with a known direction where it was not.

use crate::{NS_PER_S, Quantiles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rules that tell of time that was taken; they make the numbers bounds in one direction: goodput is at least, latencies
/// are at most what is told.
pub const DISTURBANCE_RULES: [&str; 6] = ["CL-08", "CL-09", "CL-10", "EN-01", "EN-03", "SV-04"];

/// Length of a slice of the disturbance account; ns. Slice `k` begins `k * SLICE_NS` after the clock of the run started.
pub const SLICE_NS: u64 = NS_PER_S / 10;

/// The slice that an instant is in; ns since the clock of the run started.
#[must_use]
#[inline]
pub const fn slice_of(at_ns: u64) -> u64 {
    at_ns / SLICE_NS
}

/// What took CPU time from the measurement. Each is seen from outside: none is told by how long requests took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hypervisor, from a CPU that the load threads may use.
    ClientSteal,
    /// The hypervisor, from a CPU that the server may use.
    ServerSteal,
    /// Programs that are neither server, companion nor load generator, on the CPUs of either.
    OtherPrograms,
    /// A thread of the server was ready and had no CPU, while such programs used the CPUs that it may use.
    ServerWait,
    /// A load thread was ready and had no CPU, although the server has others.
    ClientWait,
    /// The quota of the client's control group was used up.
    ClientThrottled,
    /// The load generator was stopped, or the whole machine was.
    ClientStopped,
    /// The quota of the server's control group is another than at the begin, and stopped it.
    ServerQuota,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ClientSteal,
        Self::ServerSteal,
        Self::OtherPrograms,
        Self::ServerWait,
        Self::ClientWait,
        Self::ClientThrottled,
        Self::ClientStopped,
        Self::ServerQuota,
    ];

    /// Time taken in a slice from which on the slice is disturbed; ns of the CPU that lost most.
    ///
    /// The kernel tells steal in steps of 10 ms, so that two steps are the least that is surely more than one. What other
    /// programs used is a difference of several such figures. The rest is exact.
    #[must_use]
    pub const fn threshold_ns(self) -> u64 {
        match self {
            Self::ClientSteal | Self::ServerSteal => SLICE_NS / 5,
            Self::OtherPrograms => SLICE_NS * 3 / 10,
            Self::ServerWait | Self::ClientWait | Self::ClientThrottled | Self::ClientStopped | Self::ServerQuota => {
                SLICE_NS / 10
            }
        }
    }

    /// In a sentence: "CPU time was taken by ...".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::ClientSteal => "steal on the client's CPUs",
            Self::ServerSteal => "steal on the server's CPUs",
            Self::OtherPrograms => "other programs",
            Self::ServerWait => "the server waiting for a CPU that other programs had",
            Self::ClientWait => "a load thread waiting for a CPU",
            Self::ClientThrottled => "the client's CPU quota",
            Self::ClientStopped => "a pause of the load generator",
            Self::ServerQuota => "a changed CPU quota of the server",
        }
    }

    /// What the kernel shows only in coarse steps is too noisy to be told below its threshold.
    #[must_use]
    pub const fn is_estimate(self) -> bool {
        matches!(self, Self::OtherPrograms | Self::ServerWait)
    }
}

/// Time taken in one slice, by cause; ns of the CPU that lost most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceAccount {
    /// Number of the slice; see [`SLICE_NS`].
    pub slice: u64,
    /// Only causes that took any.
    pub taken_ns: BTreeMap<Cause, u64>,
    /// What other programs used of all CPUs of client and server, where they are among the causes; ns. None in recordings of
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns: Option<u64>,
}

impl SliceAccount {
    /// The cause that disturbs the slice most, with what it took; none when none reaches its threshold.
    #[must_use]
    pub fn worst(&self) -> Option<(Cause, u64)> {
        let over = self.taken_ns.iter().filter(|(cause, ns)| **ns >= cause.threshold_ns());
        over.max_by_key(|(_, ns)| **ns).map(|(cause, ns)| (*cause, *ns))
    }
}

/// What passed by in one slice of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceFlow {
    /// Number of the slice; see [`SLICE_NS`].
    pub slice: u64,
    /// Good responses.
    pub good: u64,
    /// Complete responses.
    pub completed: u64,
    /// When the request was scheduled that had been out longest of those that ended in it; [`u64::MAX`] without any. ns
    pub oldest_ns: u64,
}

impl SliceFlow {
    /// Nothing yet in slice `slice`.
    #[must_use]
    pub const fn new(slice: u64) -> Self {
        Self { slice, good: 0, completed: 0, oldest_ns: u64::MAX }
    }

    /// Adds what another thread saw in the same slice.
    pub fn add(&mut self, other: &Self) {
        let Self { slice: _, good, completed, oldest_ns } = other;
        self.good += good;
        self.completed += completed;
        self.oldest_ns = self.oldest_ns.min(*oldest_ns);
    }
}

/// What the headline numbers rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The whole window: nothing was disturbed, or too little time was left without.
    #[default]
    Whole,
    /// The undisturbed time of it.
    Clean,
}

/// The disturbance account of a measured window: the `disturbance` object of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// What goodput, throughput and latencies of the record rest on.
    pub basis: Basis,
    /// Time without disturbance; ns.
    pub clean_ns: u64,
    /// Good responses in it.
    pub clean_good: u64,
    /// Complete responses in it.
    pub clean_completed: u64,
    /// Time that was disturbed, and the time in which requests from it were still out; ns.
    pub set_aside_ns: u64,
    /// Requests of the window that were in flight in disturbed time.
    pub set_aside_requests: u64,
    /// CPU time that other programs used in it on all CPUs; 0 in recordings of before. ns
    #[serde(default)]
    pub set_aside_others_ns: u64,
    /// Requests in flight in the time without disturbance, by Little's law: its complete responses per second times the mean
    /// service time of the requests that are not set aside. Null where either is missing, or nothing is set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_in_flight: Option<f64>,
    /// By how much that may be off by chance: the standard error that requests across the ends of windows and of disturbed
    /// stretches make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean_in_flight_error: Option<f64>,
    /// By how much the window was prolonged to make up for it; ns.
    pub prolonged_ns: u64,
    /// Iterations that had too little undisturbed time to count.
    #[serde(default)]
    pub iterations_left_out: u32,
    /// The largest share in `taken`, 0 to 1.
    pub taken_share: f64,
    /// Its cause; null when nothing was taken.
    pub cause: Option<Cause>,
    /// Time taken by each cause, in parts of the window, 0 to 1; of the CPU that lost most.
    pub taken: BTreeMap<Cause, f64>,
    /// The same within the time that the record's numbers rest on.
    pub left: BTreeMap<Cause, f64>,
    /// The disturbed stretches in order, at most [`STRETCHES_MAX`]; of several iterations one after the other.
    pub stretches: Vec<Stretch>,
    /// The numbers of the whole window.
    pub whole: WholeWindow,
}

/// Stretches that a record keeps.
pub const STRETCHES_MAX: usize = 1000;

/// Disturbed time without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Begin, since the clock of the run started; ns.
    pub from_ns: u64,
    /// End; ns.
    pub to_ns: u64,
    /// What took most in it.
    pub cause: Cause,
    /// How much of it; ns.
    pub taken_ns: u64,
}

/// What the record would say with nothing set aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeWindow {
    /// Good responses per second.
    pub goodput_per_s: f64,
    /// Completion minus scheduled send; ns.
    pub response_ns: Quantiles,
    /// Completion minus actual send; ns.
    pub service_ns: Quantiles,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_disturbed_from_the_threshold_of_a_cause_on() {
        let account = |taken: &[(Cause, u64)]| SliceAccount {
            slice: 3,
            taken_ns: taken.iter().copied().collect(),
            ..SliceAccount::default()
        };
        assert_eq!(account(&[]).worst(), None);
        assert_eq!(account(&[(Cause::ClientSteal, 10_000_000)]).worst(), None, "one step of the kernel's clock");
        let both = account(&[(Cause::ClientSteal, 20_000_000), (Cause::ClientWait, 35_000_000)]);
        assert_eq!(both.worst(), Some((Cause::ClientWait, 35_000_000)));
        for cause in Cause::ALL {
            assert!((1..=SLICE_NS / 2).contains(&cause.threshold_ns()), "{cause:?}");
        }
    }

    #[test]
    fn an_account_reads_back() {
        let mut account =
            SliceAccount { slice: 7, taken_ns: [(Cause::ServerSteal, 20_000_000)].into(), ..SliceAccount::default() };
        let line = serde_json::to_string(&account).unwrap();
        assert_eq!(line, r#"{"slice":7,"taken_ns":{"server_steal":20000000}}"#);
        assert_eq!(serde_json::from_str::<SliceAccount>(&line).unwrap(), account);
        account.others_ns = Some(5);
        assert_eq!(serde_json::from_str::<SliceAccount>(&serde_json::to_string(&account).unwrap()).unwrap(), account);
    }
}
