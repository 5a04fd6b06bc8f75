//! ER-05: latency quantiles cut off by the timeout.

use crate::facts::{quantiles, starved};
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent, time};
use model::{Evidence, Fairness, Finding, FindingState, Quantile, Quantiles};
use std::collections::BTreeMap;

/// A maximum this close to the timeout is taken as cut by it.
const MAX_OF_TIMEOUT: f64 = 0.95;

pub(crate) const RULE: Rule = Rule {
    id: "ER-05",
    title: "tail cut off by the timeout",
    detects: "A longer timeout would raise the latency quantiles.",
    fires: &[Fires::bound(
        "A request had no response within the timeout, the slowest response took more than 95 % of the timeout, \
             connections waited for their first response until the end of the window, for at least 0.5 s and 10 \
             times the p99, or the load was ended early while requests waited, on average for longer than the slowest \
             response took.",
    )],
    remarks: "Without a response to some requests the maximum is a lower bound, and so is each quantile that their \
              share reaches: p99 from 1 % on.",
    applies: Applies::Always,
    needs: &[Need::ResponseTimes, Need::Requests, Need::Plan],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    // The response times may be of undisturbed time only, and these counts never are.
    let answered_or_not = evidence.cohort.counts.completed + evidence.cohort.counts.censored;
    let share = evidence.cohort.counts.censored as f64 / answered_or_not.max(1) as f64;
    let cut = cut_quantiles(evidence, share);
    let told = (!cut.is_empty()).then(|| cut_off(evidence, share, &cut));
    let mut figures: BTreeMap<_, _> =
        cut.iter().map(|(quantile, ns)| (quantile.at_least_figure(), *ns as f64)).collect();
    if let Some(wait_ns) = unfinished_wait_ns(evidence) {
        return unfinished(evidence, wait_ns, told, figures);
    }
    if let Some(fairness) = starved(evidence) {
        return never_answered(evidence, &fairness, told, figures);
    }
    let Some(message) = told else { return Outcome::Pass };
    figures.extend([("censored".to_owned(), evidence.cohort.counts.censored as f64), ("share".to_owned(), share)]);
    let remedy = format!("raise --timeout above {}, or lower the load", time(evidence.plan.timeout_ns as f64));
    bound(message, remedy, figures)
}

fn bound(message: String, remedy: String, figures: BTreeMap<String, f64>) -> Outcome {
    let (rule, state) = (RULE.id.to_owned(), FindingState::Bound);
    Outcome::Fired(Finding { rule, state, message, remedy, evidence: figures })
}

/// What the timeout has cut, and why.
fn cut_off(evidence: &Evidence, share: f64, cut: &[Cut]) -> String {
    let timeout = time(evidence.plan.timeout_ns as f64);
    let why = if evidence.cohort.counts.censored > 0 {
        format!("{} requests ({}) had no answer in {timeout}", count(evidence.cohort.counts.censored), percent(share))
    } else {
        format!("the slowest response came just before the timeout of {timeout}")
    };
    let cut: Vec<Quantile> = cut.iter().map(|(quantile, _)| *quantile).collect();
    format!("{why}: {}", lower_bounds(&cut))
}

fn lower_bounds(quantiles: &[Quantile]) -> String {
    let names: Vec<_> = quantiles.iter().map(ToString::to_string).collect();
    let plural = if names.len() == 1 { "is a lower bound" } else { "are lower bounds" };
    format!("{} {plural}", list(&names))
}

/// Mean time for which requests had waited when the load was ended early, where that is longer than the slowest response took;
/// none where it is not. ns
fn unfinished_wait_ns(evidence: &Evidence) -> Option<u64> {
    let counts = &evidence.cohort.counts;
    let mean_ns = counts.unfinished_ns.checked_div(counts.unfinished)?;
    (mean_ns > evidence.latency.response.max_ns).then_some(mean_ns)
}

/// Requests that had no outcome when the load was ended early. What the timeout has cut of the others is `told` as well, with
/// its `figures`.
fn unfinished(evidence: &Evidence, wait_ns: u64, told: Option<String>, mut figures: BTreeMap<String, f64>) -> Outcome {
    let counts = &evidence.cohort.counts;
    let share = counts.unfinished as f64 / (counts.unfinished + counts.completed + counts.censored) as f64;
    let is_cut = |quantile: &Quantile| share >= 1.0 - quantile.share();
    let cut: Vec<Quantile> = quantiles(evidence).into_iter().filter(is_cut).chain([Quantile::MAX]).collect();
    let message = format!(
        "{} requests ({}) had no response when the load was ended, and had waited for {} on average: {}{}",
        count(counts.unfinished),
        percent(share),
        time(wait_ns as f64),
        lower_bounds(&cut),
        told.map_or_else(String::new, |told| format!("; {told}"))
    );
    // At least one of them waited as long as all on average. Of a quantile that they reach not even that is known.
    let response = Quantiles::from(evidence.latency.response.clone());
    let of_others = |quantile: Quantile| quantile.of(&response).map_or(0.0, |ns| ns as f64);
    figures.extend(cut.iter().map(|quantile| match *quantile {
        Quantile::MAX => (quantile.at_least_figure(), wait_ns as f64),
        _ => (quantile.at_least_figure(), of_others(*quantile)),
    }));
    figures.extend([("unfinished".to_owned(), counts.unfinished as f64), ("share".to_owned(), share)]);
    let remedy =
        "read the server's log for the time before the end, and let the load run until its requests have ended";
    bound(message, remedy.to_owned(), figures)
}

/// Connections that got nothing in the window: their requests began before it, or end after it. What the timeout has cut of
/// the others is `told` as well, with its `figures`.
fn never_answered(
    evidence: &Evidence,
    fairness: &Fairness,
    told: Option<String>,
    mut figures: BTreeMap<String, f64>,
) -> Outcome {
    let waited_ns = fairness.starved_ns.unwrap_or(0);
    let (starved, connections) = (fairness.starved, fairness.connections);
    let message = format!(
        "{} of {} connections were never answered, each for at least {}, while the others had a p99 of {}: all latencies \
         are of the {} that were served{}",
        count(starved),
        count(connections),
        time(waited_ns as f64),
        time(evidence.latency.response.p99_ns as f64),
        count(fairness.answered),
        told.map_or_else(String::new, |told| format!("; {told}"))
    );
    let remedy = "the server serves as many connections as it has workers, and keeps each of them: give it more workers, \
                  use fewer connections (-c), or --no-keepalive";
    let max_ns = figures.get("max_at_least_ns").copied().unwrap_or(0.0).max(waited_ns as f64);
    let of_connections = [
        ("starved", starved as f64),
        ("connections", connections as f64),
        ("max_at_least_ns", max_ns),
        ("fairness_index", fairness.index().unwrap_or(0.0)),
    ];
    figures.extend(of_connections.map(|(name, value)| (name.to_owned(), value)));
    bound(message, remedy.to_owned(), figures)
}

/// A quantile that is only a lower bound, and its value; ns.
type Cut = (Quantile, u64);

fn cut_quantiles(evidence: &Evidence, censored_share: f64) -> Vec<Cut> {
    let response = Quantiles::from(evidence.latency.response.clone());
    let is_cut = |quantile: &Quantile| match *quantile {
        Quantile::MAX => censored_share > 0.0 || response.max as f64 > MAX_OF_TIMEOUT * evidence.plan.timeout_ns as f64,
        quantile => censored_share > 0.0 && censored_share >= 1.0 - quantile.share(),
    };
    let all = quantiles(evidence).into_iter().chain([Quantile::MAX]).filter(is_cut);
    all.filter_map(|quantile| Some((quantile, quantile.of(&response)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};

    /// Starman with four workers, `-c 8 -d 3s`: no failure at all, and a maximum of 13 ms.
    #[test]
    fn connections_never_answered_in_a_short_run_are_lower_bounds() {
        let mut evidence = clean_run();
        let starved_ns = Some(3_000_000_000);
        let fairness = Fairness {
            connections: 8,
            answered: 4,
            starved: 4,
            starved_ns,
            quiet_ns: Some(0),
            responses: 900,
            squares: 202_500,
        };
        evidence.connections.fairness = Some(fairness);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(
            found.message.starts_with("4 of 8 connections were never answered, each for at least 3.00 s"),
            "{}",
            found.message
        );
        assert_eq!((found.evidence["max_at_least_ns"], found.evidence["fairness_index"]), (3e9, 0.5));
        // Responses that take about as long as that are slow, and that some have none yet is chance.
        evidence.latency.response.p99_ns = 1_000_000_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// A p99.9 of 2 s, which is the timeout, was shown as exact.
    #[test]
    fn starved_connections_do_not_hide_what_the_timeout_cut() {
        let mut evidence = clean_run();
        let starved_ns = Some(1_500_000_000);
        let fairness = Fairness {
            connections: 8,
            answered: 4,
            starved: 4,
            starved_ns,
            quiet_ns: Some(0),
            responses: 900,
            squares: 202_500,
        };
        evidence.connections.fairness = Some(fairness);
        evidence.cohort.counts.censored = 2_500;
        (evidence.latency.response.p99_9_ns, evidence.latency.response.max_ns) = (2_000_000_000, 2_000_000_000);
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.starts_with("4 of 8 connections were never answered"), "{}", found.message);
        assert!(
            found
                .message
                .ends_with("; 2,500 requests (0.25 %) had no answer in 2.00 s: p99.9 and max are lower bounds"),
            "{}",
            found.message
        );
        assert_eq!((found.evidence["p99_9_at_least_ns"], found.evidence["max_at_least_ns"]), (2e9, 2e9));
        assert!(!found.evidence.contains_key("p99_at_least_ns"));
    }

    /// A server that stopped to answer: "14 of 16 connections were never answered", and more workers were advised.
    #[test]
    fn where_nobody_is_answered_any_more_no_connection_is_kept_from_another() {
        let mut evidence = clean_run();
        let starved_ns = Some(812_000_000);
        let fairness = Fairness { connections: 16, answered: 2, starved: 14, starved_ns, ..Fairness::default() };
        evidence.latency.response.p99_ns = 1_000_000;
        evidence.connections.fairness = Some(fairness);
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("14 of 16 connections were never answered"));
        evidence.connections.fairness = Some(Fairness { quiet_ns: Some(815_000_000), ..fairness });
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// The maximum was 4 ms where eight requests had waited for four seconds.
    #[test]
    fn requests_that_wait_at_an_early_end_bound_the_maximum_and_what_they_reach() {
        let mut evidence = clean_run();
        let max_ns = evidence.latency.response.max_ns;
        evidence.cohort.counts.unfinished = 8;
        evidence.cohort.counts.unfinished_ns = 8 * max_ns;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "they may end at once");
        evidence.cohort.counts.unfinished_ns = 8 * 4_000_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.starts_with("8 requests ("), "{}", found.message);
        let ends =
            "had no response when the load was ended, and had waited for 4.00 s on average: max is a lower bound";
        assert!(found.message.ends_with(ends), "{}", found.message);
        assert_eq!((found.evidence["max_at_least_ns"], found.evidence["unfinished"]), (4e9, 8.0));
        evidence.cohort.counts.unfinished = evidence.cohort.counts.completed / 50;
        evidence.cohort.counts.unfinished_ns = evidence.cohort.counts.unfinished * 4_000_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.ends_with("p99, p99.9 and max are lower bounds"), "{}", found.message);
        assert_eq!(found.evidence["p99_at_least_ns"], evidence.latency.response.p99_ns as f64);
    }

    #[test]
    fn quantiles_in_the_cut_tail_become_lower_bounds() {
        let mut evidence = clean_run();
        evidence.cohort.counts.censored = 12_000;
        evidence.latency.response.p99_ns = 2_000_000_000;
        evidence.latency.response.p99_9_ns = 2_000_000_000;
        evidence.latency.response.max_ns = 2_000_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert_eq!(
            found.message,
            "12,000 requests (1.2 %) had no answer in 2.00 s: p99, p99.9 and max are lower bounds"
        );
        assert_eq!(found.evidence["p99_at_least_ns"], 2e9);
        assert!(!found.evidence.contains_key("p90_at_least_ns"));
    }

    #[test]
    fn a_maximum_at_the_timeout_is_cut_too() {
        let mut evidence = clean_run();
        evidence.latency.response.max_ns = 1_950_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.ends_with("max is a lower bound"), "{}", found.message);
    }

    #[test]
    fn silent_on_a_clean_run_and_unchecked_without_values() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.latency.response.n = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
