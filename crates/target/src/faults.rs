//! Faults on demand, as pure arithmetic: when the whole server stalls, which answer is an error or breaks off, how
//! much later it comes, and who is turned away.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use model::NS_PER_S;

use super::Stall;

/// Longest delay of `/sleep` and of an answer that is made to come late; ns.
pub const SLEEP_MAX_NS: u64 = 60 * NS_PER_S;

/// Most answers a second that a [`Limit`] can be set to, and its largest burst.
pub const LIMIT_MAX: u64 = 1_000_000_000;

/// Faults of all answers but those of `/stats`. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Every answer comes this much later; ns.
    pub first_byte_ns: u64,
    /// Bytes a second that bodies are sent at, 0 for as fast as they go.
    pub body_bytes_per_s: u64,
    /// Every answer comes this much later than the one before; ns.
    pub growth_ns: u64,
    /// Slow at first.
    pub ramp: Option<Ramp>,
    /// Who comes too often is answered 429.
    pub limit: Option<Limit>,
    /// Share of the answers that are broken, 0 to 1, and how.
    pub broken: Option<(Break, f64)>,
}

/// How an answer is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// After half of it the connection is reset; what the kernel has not delivered by then is lost.
    Reset,
    /// After half of it the connection is closed.
    Half,
    /// It never comes.
    Drop,
    /// It is complete but has a body of half the size.
    WrongSize,
}

/// A server that has to warm up: the first answer comes `extra_ns` later, one after `length_ns` no later at all, and
/// those between are on a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// How much later the first answer comes; ns.
    pub extra_ns: u64,
    /// How long it takes to warm up, from the first request on; ns, above 0.
    pub length_ns: u64,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Tokens a second, 1 to [`LIMIT_MAX`].
    pub per_s: u64,
    /// Tokens it holds, 1 to [`LIMIT_MAX`].
    pub burst: u64,
}

impl Faults {
    /// What they have to be, when they are not.
    pub(super) fn check(&self) -> Result<(), String> {
        let limited = |n: u64| (1..=LIMIT_MAX).contains(&n);
        if self.limit.is_some_and(|limit| !limited(limit.per_s) || !limited(limit.burst)) {
            return Err(format!("a limit of 1 to {LIMIT_MAX} a second with a burst of 1 to {LIMIT_MAX}"));
        }
        if self.ramp.is_some_and(|ramp| ramp.length_ns == 0) {
            return Err("a ramp longer than nothing".into());
        }
        if self.broken.is_some_and(|(_, share)| !(0.0..=1.0).contains(&share)) {
            return Err("broken by a share from 0 to 1".into());
        }
        if self.first_byte_ns > SLEEP_MAX_NS {
            return Err(format!("late by at most {} s", SLEEP_MAX_NS / NS_PER_S));
        }
        Ok(())
    }
}

impl std::str::FromStr for Break {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "reset" => Ok(Self::Reset),
            "half" => Ok(Self::Half),
            "drop" => Ok(Self::Drop),
            "wrong-size" => Ok(Self::WrongSize),
            _ => Err(format!("{text:?} is none of reset, half, drop and wrong-size")),
        }
    }
}

/// What happens to one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerFaults {
    /// It comes this much later, at most [`SLEEP_MAX_NS`]; ns.
    pub(super) delay_ns: u64,
    pub(super) body_bytes_per_s: Option<u64>,
    pub(super) broken: Option<Break>,
}

impl AnswerFaults {
    /// These and those of the whole server; what a request asks for goes first.
    pub(super) fn and(self, server: Self) -> Self {
        Self {
            delay_ns: self.delay_ns.saturating_add(server.delay_ns).min(SLEEP_MAX_NS),
            body_bytes_per_s: self.body_bytes_per_s.or(server.body_bytes_per_s),
            broken: self.broken.or(server.broken),
        }
    }
}

/// The faults of a server that runs.
#[derive(Debug)]
pub(super) struct FaultState {
    faults: Faults,
    broken: Option<(Break, ErrorShare)>,
    bucket: Option<Mutex<TokenBucket>>,
    /// Answers so far.
    answers: AtomicU64,
    /// When the first request came, `u64::MAX` before; ns since the start.
    first_ns: AtomicU64,
}

impl FaultState {
    pub(super) fn new(faults: Faults) -> Self {
        Self {
            faults,
            broken: faults.broken.and_then(|(kind, share)| Some((kind, ErrorShare::new(share)?))),
            bucket: faults.limit.map(|limit| Mutex::new(TokenBucket::new(limit))),
            answers: AtomicU64::new(0),
            first_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// True if an answer can be other than without faults.
    pub(super) fn any(&self) -> bool {
        self.faults != Faults::default()
    }

    /// Lets a request in, or tells how long it has to wait; ns.
    pub(super) fn admit(&self, now_ns: u64) -> Result<(), u64> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        bucket.lock().expect("no thread panics with it").take(now_ns)
    }

    /// What happens to the next answer.
    pub(super) fn next(&self, now_ns: u64) -> AnswerFaults {
        if !self.any() {
            return AnswerFaults::default();
        }
        let index = self.answers.fetch_add(1, Relaxed);
        let first_ns = self.first_ns.fetch_min(now_ns, Relaxed).min(now_ns);
        let Faults { first_byte_ns, body_bytes_per_s, growth_ns, ramp, .. } = self.faults;
        let ramp_ns = ramp.map_or(0, |ramp| ramp.extra_at(now_ns - first_ns));
        let delay_ns = first_byte_ns.saturating_add(growth_ns.saturating_mul(index)).saturating_add(ramp_ns);
        AnswerFaults {
            delay_ns: delay_ns.min(SLEEP_MAX_NS),
            body_bytes_per_s: (body_bytes_per_s > 0).then_some(body_bytes_per_s),
            broken: self.broken.and_then(|(kind, share)| share.hits(index).then_some(kind)),
        }
    }
}

impl Ramp {
    /// How much later an answer comes this long after the first request; ns.
    fn extra_at(self, since_ns: u64) -> u64 {
        let left_ns = self.length_ns.saturating_sub(since_ns);
        (u128::from(self.extra_ns) * u128::from(left_ns) / u128::from(self.length_ns)) as u64
    }
}

/// The generic cell rate algorithm (ITU-T I.371): a token bucket kept as one instant.
#[derive(Debug)]
struct TokenBucket {
    interval_ns: u64,
    /// How far ahead of the clock `next_ns` may be.
    tolerance_ns: u64,
    /// When the bucket would be full again.
    next_ns: u64,
}

impl TokenBucket {
    fn new(limit: Limit) -> Self {
        let interval_ns = NS_PER_S.div_ceil(limit.per_s);
        Self { interval_ns, tolerance_ns: interval_ns.saturating_mul(limit.burst - 1), next_ns: 0 }
    }

    /// Takes a token, or tells when there will be one; ns from now.
    fn take(&mut self, now_ns: u64) -> Result<(), u64> {
        let earliest_ns = self.next_ns.saturating_sub(self.tolerance_ns);
        if now_ns < earliest_ns {
            return Err(earliest_ns - now_ns);
        }
        self.next_ns = self.next_ns.max(now_ns).saturating_add(self.interval_ns);
        Ok(())
    }
}

/// An interval during which nothing is read, written or accepted; ns since the server started, end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StallInterval {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Stall {
    /// The stall that `now_ns` (since the start) lies in. The first begins one period after the start.
    pub(super) const fn at(&self, now_ns: u64) -> Option<StallInterval> {
        let index = now_ns / self.every_ns;
        let interval = self.nth(index);
        if index > 0 && now_ns < interval.end_ns { Some(interval) } else { None }
    }

    /// The `index`-th stall, counted from 1.
    pub(super) const fn nth(&self, index: u64) -> StallInterval {
        let begin_ns = index * self.every_ns;
        StallInterval { begin_ns, end_ns: begin_ns + self.length_ns }
    }
}

/// Answers that are turned into errors: an exact share, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ErrorShare {
    per_billion: u64,
}

const BILLION: u64 = 1_000_000_000;

impl ErrorShare {
    /// `share` within 0 and 1, taken to the nearest billionth; none when that is 0.
    pub(super) fn new(share: f64) -> Option<Self> {
        let per_billion = (share * BILLION as f64).round() as u64;
        (per_billion > 0).then_some(Self { per_billion: per_billion.min(BILLION) })
    }

    /// True if the `index`-th answer (from 0) is an error: of the first n answers, floor(n x share) are.
    pub(super) fn hits(self, index: u64) -> bool {
        let errors = |answers: u64| u128::from(answers) * u128::from(self.per_billion) / u128::from(BILLION);
        errors(index.saturating_add(1)) > errors(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stalls_begin_after_one_period_and_end_excluded() {
        let stall = Stall { every_ns: 1_000, length_ns: 200 };
        let second = StallInterval { begin_ns: 2_000, end_ns: 2_200 };
        for (now_ns, expected) in
            [(0, None), (199, None), (999, None), (2_000, Some(second)), (2_199, Some(second)), (2_200, None)]
        {
            assert_eq!(stall.at(now_ns), expected, "{now_ns}");
        }
        assert_eq!(stall.nth(2), second);
    }

    #[test]
    fn errors_are_the_exact_share_and_evenly_spread() {
        for (share, answers, errors) in [(0.1, 1_000, 100), (0.29, 100, 29), (1.0, 7, 7), (0.001, 999, 0)] {
            let hits = ErrorShare::new(share).unwrap();
            assert_eq!((0..answers).filter(|index| hits.hits(*index)).count(), errors, "{share}");
        }
        let every_fourth: Vec<u64> = (0..12).filter(|index| ErrorShare::new(0.25).unwrap().hits(*index)).collect();
        assert_eq!(every_fourth, [3, 7, 11]);
        assert_eq!(ErrorShare::new(0.0), None);
    }

    #[test]
    fn a_bucket_gives_its_burst_at_once_and_then_its_rate() {
        let mut bucket = TokenBucket::new(Limit { per_s: 10, burst: 3 });
        let start_ns = 5 * NS_PER_S;
        for _ in 0..3 {
            assert_eq!(bucket.take(start_ns), Ok(()));
        }
        assert_eq!(bucket.take(start_ns), Err(100_000_000));
        assert_eq!(bucket.take(start_ns + 99_999_999), Err(1));
        assert_eq!(bucket.take(start_ns + 100_000_000), Ok(()));
        let later_ns = start_ns + 100 * NS_PER_S;
        let got = (0..10).filter(|_| bucket.take(later_ns).is_ok()).count();
        assert_eq!(got, 3, "it holds no more than its burst");
        let taken = (0..10_000).filter(|ms| bucket.take(later_ns + (1 + ms) * 1_000_000).is_ok()).count();
        assert_eq!(taken, 100, "10 a second for 10 s");
    }

    #[test]
    fn answers_get_later_one_by_one_and_earlier_as_the_server_warms_up() {
        let growing = FaultState::new(Faults { growth_ns: 1_000, first_byte_ns: 7, ..Faults::default() });
        let delays: Vec<u64> = (0..4).map(|_| growing.next(99).delay_ns).collect();
        assert_eq!(delays, [7, 1_007, 2_007, 3_007]);
        let endless = FaultState::new(Faults { growth_ns: u64::MAX, ..Faults::default() });
        endless.next(0);
        assert_eq!(endless.next(0).delay_ns, SLEEP_MAX_NS);

        let ramp = Some(Ramp { extra_ns: 1_000, length_ns: 100 });
        let cold = FaultState::new(Faults { ramp, ..Faults::default() });
        let delays = [500, 550, 590, 600, 10_000].map(|now_ns| cold.next(now_ns).delay_ns);
        assert_eq!(delays, [1_000, 500, 100, 0, 0], "counted from the first request");
    }

    #[test]
    fn the_share_of_broken_answers_is_exact_and_requests_go_first() {
        let state = FaultState::new(Faults { broken: Some((Break::Half, 0.25)), ..Faults::default() });
        let broken = (0..100).filter(|_| state.next(0).broken == Some(Break::Half)).count();
        assert_eq!(broken, 25);
        let asked = AnswerFaults { delay_ns: 5, body_bytes_per_s: Some(3), broken: Some(Break::Drop) };
        let server = AnswerFaults { delay_ns: SLEEP_MAX_NS, body_bytes_per_s: Some(9), broken: Some(Break::Half) };
        assert_eq!(asked.and(server), AnswerFaults { delay_ns: SLEEP_MAX_NS, ..asked });
        assert_eq!(AnswerFaults::default().and(server), server);
        assert!(!FaultState::new(Faults::default()).any());
    }

    proptest! {
        #[test]
        fn any_stretch_of_answers_is_within_one_of_its_share(share in 0.0f64..=1.0, from in 0u64..1_000_000) {
            let Some(hits) = ErrorShare::new(share) else { return Ok(()) };
            let count = (from..from + 500).filter(|index| hits.hits(*index)).count() as f64;
            prop_assert!((count - share * 500.0).abs() <= 1.001);
        }
    }
}
