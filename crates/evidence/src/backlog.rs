//! Backlog of an open loop by the second: requests in flight, and due and not sent.
//!
//! Others that take CPU time make it grow, too. What grew in disturbed seconds can be left out.

use model::{NS_PER_S, Second};

/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S * 9 / 10;
/// A second with less undisturbed time says nothing about the growth of the backlog.
const CLEAN_SHARE_MIN: f64 = 0.9;

/// Backlog at the end of each whole second, in requests.
#[must_use]
pub fn backlog(seconds: &[Second], rate_per_s: f64) -> Vec<f64> {
    whole(seconds).map(|second| waiting(second, rate_per_s)).collect()
}

/// Backlog at the end of each undisturbed second, in requests. Growth in seconds that were disturbed is left out, and so is the
/// fall of those in which what they left behind was worked off.
#[must_use]
pub fn undisturbed_backlog(seconds: &[Second], rate_per_s: f64) -> Vec<f64> {
    let whole: Vec<&Second> = whole(seconds).collect();
    let Some(first) = whole.first() else { return Vec::new() };
    let mut backlog = vec![waiting(first, rate_per_s)];
    for pair in whole.windows(2) {
        if pair[1].clean_ns as f64 >= CLEAN_SHARE_MIN * pair[1].length_ns as f64 {
            let last = backlog[backlog.len() - 1];
            backlog.push(last + waiting(pair[1], rate_per_s) - waiting(pair[0], rate_per_s));
        }
    }
    backlog
}

fn whole(seconds: &[Second]) -> impl Iterator<Item = &Second> {
    seconds.iter().filter(|second| second.length_ns >= TICK_MIN_NS)
}

fn waiting(second: &Second, rate_per_s: f64) -> f64 {
    second.outstanding + rate_per_s * second.late_ns as f64 / NS_PER_S as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::backlog_grew;

    /// Seconds with so many requests in flight; `disturbed` ones have nothing undisturbed.
    fn seconds(in_flight: &[f64], disturbed: &[usize]) -> Vec<Second> {
        let second = |(i, outstanding): (usize, &f64)| Second {
            length_ns: NS_PER_S,
            outstanding: *outstanding,
            clean_ns: if disturbed.contains(&i) { 0 } else { NS_PER_S },
            ..Second::default()
        };
        in_flight.iter().enumerate().map(second).collect()
    }

    #[test]
    fn growth_in_disturbed_seconds_is_none_of_the_servers() {
        let in_flight = [10.0, 12.0, 500.0, 900.0, 905.0, 906.0];
        for all in [undisturbed_backlog, backlog] {
            assert_eq!(all(&seconds(&in_flight, &[]), 1_000.0), in_flight);
        }
        let disturbed = seconds(&in_flight, &[2, 3]);
        assert_eq!(backlog(&disturbed, 1_000.0), in_flight);
        let calm = undisturbed_backlog(&disturbed, 1_000.0);
        assert_eq!(calm, [10.0, 12.0, 17.0, 18.0]);
        assert!(!backlog_grew(&calm, 1_000.0, 1.0) && backlog_grew(&in_flight, 1_000.0, 1.0));
    }

    #[test]
    fn what_waits_to_be_sent_is_backlog_and_pieces_of_a_second_are_none() {
        let mut seconds = seconds(&[10.0, 10.0, 10.0], &[]);
        seconds[1].late_ns = NS_PER_S / 2;
        seconds[2].length_ns = NS_PER_S / 3;
        for all in [undisturbed_backlog, backlog] {
            assert_eq!(all(&seconds, 1_000.0), [10.0, 510.0]);
            assert!(all(&[], 1_000.0).is_empty());
        }
    }
}
