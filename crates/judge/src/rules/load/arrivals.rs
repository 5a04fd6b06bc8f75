//! LD-01: send times that deviate from the schedule.

use crate::facts::whole_load::{AGENT_LOST, is_any_lost, whole_load};
use crate::rules::client::cap;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Arrivals, Evidence, FindingState, Load, NS_PER_S, Second};
use stats::{dispersion, exponential_misfit};

/// The 1 % point of the statistic; Lancet accepts up to twice that.
const CRITICAL: f64 = 1.96;
const WARNING: f64 = 2.0 * CRITICAL;
const INVALID: f64 = 4.0 * CRITICAL;
/// A wake-up puts gaps that are shorter into one turn of the loop; CL-03 tells how late that is.
const RESOLUTION_NS: f64 = 200_000.0;
/// Below this mean most gaps would be shorter than a few wake-ups.
const GAP_MIN_NS: f64 = 2_000_000.0;
/// Of a Poisson process, and standard errors that it may leave that range by chance.
const DISPERSION: std::ops::RangeInclusive<f64> = 0.5..=2.0;
const STANDARD_ERRORS: f64 = 3.0;
/// Of equal gaps.
const DISPERSION_EQUAL: f64 = 0.5;
const SECONDS_MIN: usize = 30;
const TOO_FEW: &str = "too few send times and too few seconds";

pub(crate) const RULE: Rule = Rule {
    id: "LD-01",
    title: "arrivals deviate from the schedule",
    detects: "An open loop did not follow the requested arrival process.",
    fires: &[
        Fires::invalid("The Anderson-Darling statistic of the gaps between requests is more than 7.84."),
        Fires::warning(
            "The Anderson-Darling statistic is more than 3.92; or the variance of the requests sent per second, \
             divided by their mean, is outside 0.5 to 2 and more than 3 standard errors from 1 in a Poisson load, or \
             more than 0.5 in an evenly spaced one.",
        ),
    ],
    remarks: "The Anderson-Darling statistic is that of up to 2,000 gaps of a Poisson load of up to 500/s. Its 1 % \
              point is 1.96, and Lancet accepts up to twice as much.",
    applies: Applies::OpenLoop,
    needs: &[Need::Window, Need::Requests, Need::Plan, Need::WhereKnown(&[Need::SendTimes])],
    conditions: "send times of up to 2,000 requests, or at least 30 whole seconds",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Load::Open { rate_per_s, arrivals, .. } = evidence.plan.load else {
        return Outcome::Pass; // no schedule
    };
    if cap::fires(evidence) {
        return Outcome::Unchecked("requests waited for connections (CL-15)");
    }
    let is_poisson = arrivals == Arrivals::Poisson;
    let gap_ns = NS_PER_S as f64 / rate_per_s;
    // Between two turns there is a gap that no arrival process has.
    let has_own_gaps = is_poisson && gap_ns >= GAP_MIN_NS && evidence.plan.turns.is_none();
    let misfit = match has_own_gaps {
        true => exponential_misfit(of_whole_load(evidence), RESOLUTION_NS),
        false => None,
    };
    let spread = by_the_second(whole_load(evidence));
    if misfit.is_none() && spread.is_none() {
        return Outcome::Unchecked(if is_any_lost(evidence) { AGENT_LOST } else { TOO_FEW });
    }
    let by_spread = spread.filter(|(spread, n)| match is_poisson {
        true => !DISPERSION.contains(spread) && (spread - 1.0).abs() > STANDARD_ERRORS * (2.0 / (n - 1.0)).sqrt(),
        false => *spread > DISPERSION_EQUAL,
    });
    let state = match misfit.unwrap_or(0.0) {
        a if a > INVALID => FindingState::Invalid,
        a if a > WARNING || by_spread.is_some() => FindingState::Warning,
        _ => return Outcome::Pass,
    };
    let asked = if is_poisson { "Poisson" } else { "evenly spaced" };
    let seen = match (misfit.filter(|misfit| *misfit > WARNING), by_spread) {
        (Some(misfit), _) => {
            format!("gaps are not exponential (Anderson-Darling {misfit:.1}, 1 % point 1.96)")
        }
        (None, spread) => {
            let spread = spread.map_or(0.0, |(spread, _)| spread);
            format!("variance/mean of requests per second is {spread:.2}")
        }
    };
    let message = format!("arrivals were not {asked}: {seen}; the server got a different load");
    let remedy = "use more load threads (-t), a lower rate or a quieter client machine".to_owned();
    let mut figures: Vec<_> = misfit.map(|misfit| ("anderson_darling", misfit)).into_iter().collect();
    figures.extend(spread.map(|(spread, _)| ("dispersion_1s", spread)));
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// The instants at which requests were sent before an agent was lost: its part of the schedule is missing after that.
fn of_whole_load(evidence: &Evidence) -> &[u64] {
    let lost_ns = evidence.seconds.iter().find(|second| second.lost_share > 0.0).map_or(u64::MAX, |lost| lost.from_ns);
    &evidence.sends_ns[..evidence.sends_ns.partition_point(|at_ns| *at_ns < lost_ns)]
}

/// Variance over mean of the requests sent in each whole second, and how many seconds; none when they are too few.
fn by_the_second<'a>(seconds: impl Iterator<Item = &'a Second>) -> Option<(f64, f64)> {
    let whole = seconds.filter(|second| second.length_ns.abs_diff(NS_PER_S) < NS_PER_S / 100);
    let sent: Vec<f64> = whole.map(|second| second.sent as f64).collect();
    let spread = dispersion(&sent).filter(|_| sent.len() >= SECONDS_MIN)?;
    Some((spread, sent.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    /// 400/s with these instants.
    fn sent(sends_ns: Vec<u64>) -> Evidence {
        let mut evidence = clean_open_run();
        evidence.plan.load = Load::Open { rate_per_s: 400.0, arrivals: Arrivals::Poisson, connections: 64 };
        evidence.sends_ns = sends_ns;
        evidence
    }

    #[test]
    fn equal_gaps_are_not_poisson_and_bundles_are_neither() {
        let found = finding(judged(&RULE, &sent((0..2000).map(|i| i * 2_500_000).collect())));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("arrivals were not Poisson: gaps are not"), "{}", found.message);
        assert_eq!(
            state(&judged(&RULE, &sent((0..2000).map(|i| i / 8 * 20_000_000).collect()))),
            Some(FindingState::Invalid)
        );
    }

    #[test]
    fn seconds_that_vary_more_than_by_chance_warn() {
        let mut evidence = clean_open_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        for (i, second) in evidence.seconds.iter_mut().enumerate() {
            second.sent = if i % 2 == 0 { 33_000 } else { 33_666 };
        }
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("requests per second is 3.4"), "{}", found.message);
        evidence.plan.load = Load::Open { rate_per_s: 33_333.0, arrivals: Arrivals::Constant, connections: 64 };
        assert!(finding(judged(&RULE, &evidence)).message.contains("were not evenly spaced"));
    }

    /// Half of the load was gone from the 20th second on, and more load threads were proposed.
    #[test]
    fn the_schedule_of_a_lost_agent_is_not_held_against_the_others() {
        let mut evidence = sent((0..2000).map(|i| i * 2_500_000).collect());
        evidence.seconds.iter_mut().for_each(|second| (second.lost_share, second.sent) = (0.5, 200));
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked(AGENT_LOST));
        evidence.seconds[..4].iter_mut().for_each(|second| second.lost_share = 0.0);
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid, "what was sent before counts");
    }

    #[test]
    fn a_closed_loop_passes_and_what_the_server_held_up_or_too_little_is_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.seconds.truncate(29);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        let mut evidence = clean_open_run();
        evidence.latency.slip_blocked.p99_ns = 1_000_000_000;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
