//! Both sides of Little's law over a window, and how much they may differ by chance.
//!
//! Over a finite window the two sides are equal but for the requests that straddle its ends (S.-H. Kim and W. Whitt,
//! "Statistical Analysis with Little's Law", Operations Research 61(4), 2013): of each only a part lies inside.

use crate::rate::per_second;
use model::{Basis, Disturbance, Evidence, MergedHistogram, NS_PER_S, Outstanding, STRETCHES_MAX};

/// True if a request that failed so never was in flight: no connection was opened for it, or none came free.
fn is_unsent(failure: &str) -> bool {
    failure == "send.timeout" || ["connect.", "tls."].iter().any(|phase| failure.starts_with(phase))
}

/// True if a request that failed so has a service time: it was answered, or its deadline passed.
fn is_timed(failure: &str) -> bool {
    failure.starts_with("contract.") || failure.ends_with(".timeout")
}

fn failed(evidence: &Evidence, of: impl Fn(&str) -> bool) -> u64 {
    evidence.cohort.failures.iter().filter(|(name, _)| of(name)).map(|(_, n)| n).sum()
}

/// Requests that were in flight and cut off: for how long, no histogram knows.
#[must_use]
pub fn cut_off(evidence: &Evidence) -> u64 {
    failed(evidence, |name| !is_unsent(name) && !is_timed(name))
}

/// How long the requests were in flight that ended in the windows.
///
/// Those that ended later are not among them: held up until after its end, they would say nothing about the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    sum_ns: f64,
    n: u64,
}

impl InFlight {
    /// Takes in the service times of a tick.
    pub(crate) fn add(&mut self, service: &MergedHistogram) {
        let summary = service.summary();
        self.merge(&Self { sum_ns: summary.mean_ns * summary.n as f64, n: summary.n });
    }

    /// Takes in another window.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { sum_ns, n } = other;
        self.sum_ns += sum_ns;
        self.n += n;
    }
}

/// Both sides of the law; `service` holds the service times of all requests.
///
/// A request occupies its place in flight once, from its first byte to its end, whatever that end is: a good
/// response, one that broke the contract, a time-out. `good + failed` counts each once, since a response that
/// broke the contract is complete *and* failed. A connection that could not be opened carried no request, and one that
/// was cut off has no service time ([`cut_off`]); how many there were is known for the requests of the window only, which
/// is as good as exact.
pub(crate) fn outstanding(evidence: &Evidence, in_flight: &InFlight, service: &MergedHistogram) -> Outstanding {
    if evidence.measured_ns == 0 {
        return Outstanding::default();
    }
    let unsent = failed(evidence, is_unsent);
    let ended = (evidence.flow.good + evidence.flow.failed).saturating_sub(unsent + cut_off(evidence));
    let mean_service_s = in_flight.sum_ns / in_flight.n.max(1) as f64 / NS_PER_S as f64;
    let mean = evidence.flow.outstanding_ns as f64 / evidence.measured_ns as f64;
    Outstanding {
        mean,
        little: per_second(ended, evidence.measured_ns) * mean_service_s,
        standard_error: straddling_ns(mean, evidence.iterations, service) / evidence.measured_ns as f64,
    }
}

/// What the law says of the time without disturbance: its responses per second, and the mean of the `service` times that are not
/// set aside, which the record tells beside each other. What delayed requests in time that counts as undisturbed, while they
/// themselves are set aside, is in the one and not in the other.
pub(crate) fn clean_in_flight(seen: &mut Disturbance, iterations: u32, service: &MergedHistogram) {
    let mean_ns = service.summary().mean_ns;
    let is_told = seen.basis == Basis::Clean && service.count() > 0 && mean_ns > 0.0;
    // Where more stretches were disturbed than are kept, nobody knows how many requests lie across their ends.
    if !is_told || seen.stretches.len() >= STRETCHES_MAX {
        return;
    }
    let in_flight = per_second(seen.clean_completed, seen.clean_ns) * mean_ns / NS_PER_S as f64;
    let ends = iterations.saturating_add(seen.stretches.len() as u32);
    seen.clean_in_flight = Some(in_flight);
    seen.clean_in_flight_error = Some(straddling_ns(in_flight, ends, service) / seen.clean_ns as f64);
}

/// Standard deviation of the time that the requests at the ends of all windows add to one side only; ns.
///
/// A request found in flight at an instant has been so, and will be, for a time R whose mean square is `E[S^3] / 3E[S]`,
/// S being the service time. How many are found has the mean square L + L^2 with Poisson arrivals; that they all wait
/// for the same stall, so that their R are alike, is the worst case, and taken for granted.
fn straddling_ns(mean_in_flight: f64, windows: u32, service: &MergedHistogram) -> f64 {
    let n = service.count() as f64;
    let moment = |power| service.buckets().map(|(ns, times)| (ns as f64).powi(power) * times as f64).sum::<f64>() / n;
    let (first, third) = (moment(1), moment(3));
    if n == 0.0 || first == 0.0 {
        return 0.0;
    }
    let ends = 2.0 * f64::from(windows);
    (ends * (mean_in_flight + mean_in_flight.powi(2)) * third / (3.0 * first)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Cause, Stretch};

    fn histogram(values: impl IntoIterator<Item = u64>) -> MergedHistogram {
        let mut histogram = MergedHistogram::new();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    fn undisturbed(completed: u64, stretches: usize) -> Disturbance {
        let stretch = Stretch { from_ns: 0, to_ns: 1, cause: Cause::OtherPrograms, taken_ns: 1 };
        Disturbance {
            basis: Basis::Clean,
            clean_ns: 10 * NS_PER_S,
            clean_completed: completed,
            stretches: vec![stretch; stretches],
            ..Disturbance::default()
        }
    }

    /// 307/s were told beside response times of 2.17 ms of one connection, which are 461/s.
    #[test]
    fn time_that_was_lost_and_counts_as_undisturbed_is_in_the_rate_alone() {
        let service = histogram([2_170_000; 3_000]);
        let mut seen = undisturbed(3_070, 20);
        clean_in_flight(&mut seen, 1, &service);
        let (in_flight, error) = (seen.clean_in_flight.unwrap(), seen.clean_in_flight_error.unwrap());
        assert!((in_flight - 0.666).abs() < 0.001, "{in_flight}");
        assert!(error < 0.01, "requests across 42 ends, of 2 ms each, in 10 s: {error}");
    }

    #[test]
    fn of_a_whole_window_or_of_more_stretches_than_are_kept_nothing_is_told() {
        let service = histogram([2_170_000; 3_000]);
        for seen in [Disturbance { basis: Basis::Whole, ..undisturbed(3_070, 2) }, undisturbed(3_070, STRETCHES_MAX)] {
            let mut told = seen.clone();
            clean_in_flight(&mut told, 1, &service);
            assert_eq!(told, seen);
        }
        let mut empty = undisturbed(0, 2);
        clean_in_flight(&mut empty, 1, &histogram([]));
        assert_eq!(empty.clean_in_flight, None);
    }

    #[test]
    fn requests_that_take_the_same_time_straddle_evenly() {
        // R is even between 0 and S, so that its mean square is S^2 / 3.
        let ns = straddling_ns(1.0, 1, &histogram([1_000_000; 10]));
        assert!((ns / (4.0 * 1e12 / 3.0_f64).sqrt() - 1.0).abs() < 0.01, "{ns}");
        assert_eq!(straddling_ns(1.0, 4, &histogram([1_000_000; 10])), 2.0 * ns);
    }

    #[test]
    fn one_long_request_straddles_more_than_many_short_ones() {
        let short = straddling_ns(0.3, 1, &histogram([1_000_000; 100]));
        let stalled = straddling_ns(0.3, 1, &histogram([1_000_000; 99].into_iter().chain([50_000_000])));
        assert!(stalled > 10.0 * short, "{stalled} {short}");
    }
}
