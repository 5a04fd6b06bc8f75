//! CL-18: an agent that was lost, and a part of the load with it.

use crate::facts::whole_load::whole_load;
use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, plural, rate, time};
use model::{AgentLoss, AgentRecord, Evidence, FindingState, NS_PER_S, Second};

/// With less of the planned load than this the result is that of another one.
const INVALID_SHARE: f64 = 0.5;
/// Fewer whole seconds of the whole load show no level of it.
const WHOLE_MIN: usize = 2;
/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S / 2;
/// Lost agents that are named.
const NAMED_MAX: usize = 3;

pub(crate) const RULE: Rule = Rule {
    id: "CL-18",
    title: "agent lost",
    detects: "An agent on another machine was lost, so that its part of the load is missing.",
    fires: &[
        Fires::invalid(
            "More than 50 % of the planned load is missing, fewer than 2 whole seconds had all of it, or nothing was \
             measured.",
        ),
        Fires::bound("A smaller part of the planned load is missing from the window."),
        Fires::warning(
            "No part of the planned load is missing from the window, but an agent was lost with its requests in \
             flight.",
        ),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let lost: Vec<(&AgentRecord, &AgentLoss)> =
        evidence.agents.iter().filter_map(|agent| Some((agent, agent.lost.as_ref()?))).collect();
    let Some((_, first)) = lost.iter().min_by_key(|(_, loss)| loss.at_ns) else { return Outcome::Pass };
    let share = missing_share(evidence);
    let whole: Vec<&Second> = whole_load(evidence).filter(|second| second.length_ns >= TICK_MIN_NS).collect();
    let parts: Vec<&Second> = evidence.seconds.iter().filter(|second| second.lost_share > 0.0).collect();
    let (before_per_s, after_per_s) = (per_s(&whole), per_s(&parts));
    let state = match share {
        _ if evidence.seconds.is_empty() => FindingState::Invalid,
        0.0 => FindingState::Warning,
        share if share > INVALID_SHARE || whole.len() < WHOLE_MIN => FindingState::Invalid,
        _ => FindingState::Bound,
    };
    let meaning = match state {
        _ if evidence.seconds.is_empty() => "nothing was measured".to_owned(),
        FindingState::Warning => "its requests that were still in flight are in no figure".to_owned(),
        FindingState::Invalid => {
            format!("{} of the planned load is missing, and too little is left for a bound", percent(share))
        }
        _ => format!(
            "{} of the planned load is missing ({} good with all of it, {} without): the server sustains at least {}, and \
             response times are of less load",
            percent(share),
            rate(before_per_s),
            rate(after_per_s),
            rate(evidence::goodput(evidence).value)
        ),
    };
    let message = format!("{} lost {}: {meaning}", named(&lost), when(evidence, first.at_ns));
    let remedy = format!("see why it ended ({}), and measure again", first.why);
    let figures = [
        ("agents_lost", lost.len() as f64),
        ("lost_at_ns", first.at_ns as f64),
        ("missing_share", share),
        ("before_per_s", before_per_s),
        ("after_per_s", after_per_s),
    ];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// Share of the planned load of the windows that was not put on, 0 to 1.
fn missing_share(evidence: &Evidence) -> f64 {
    let missing: f64 = evidence.seconds.iter().map(|second| second.lost_share * second.length_ns as f64).sum();
    missing / evidence.measured_ns.max(1) as f64
}

/// Good responses per second of these.
fn per_s(seconds: &[&Second]) -> f64 {
    let (good, ns) = seconds.iter().fold((0, 0), |(good, ns), second| (good + second.good, ns + second.length_ns));
    if ns == 0 { 0.0 } else { good as f64 * NS_PER_S as f64 / ns as f64 }
}

/// The lost agents with their verb.
fn named(lost: &[(&AgentRecord, &AgentLoss)]) -> String {
    let mut names: Vec<String> = lost.iter().take(NAMED_MAX).map(|(agent, _)| agent.name.clone()).collect();
    if lost.len() > NAMED_MAX {
        names.push(format!("{} more", lost.len() - NAMED_MAX));
    }
    let verb = if lost.len() == 1 { "was" } else { "were" };
    let (agents, names) = (plural(lost.len() as u64, "agent"), list(&names));
    if lost.len() == 1 { format!("agent {names} {verb}") } else { format!("{agents} ({names}) {verb}") }
}

/// When the first was noticed to be lost, by the window.
fn when(evidence: &Evidence, at_ns: u64) -> String {
    let (Some(first), Some(last)) = (evidence.seconds.first(), evidence.seconds.last()) else {
        return "before the window".to_owned();
    };
    if evidence.iterations > 1 {
        return "in one of the iterations".to_owned();
    }
    match at_ns {
        ns if ns < first.from_ns => "before the window".to_owned(),
        ns if ns > last.from_ns.saturating_add(last.length_ns) => "after the window".to_owned(),
        ns => {
            let window_ns = evidence.measured_ns as f64;
            format!("{} into the window of {}", time((ns - first.from_ns) as f64), time(window_ns))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_run;
    use crate::testing;
    use crate::testing::{clean_run, finding, judged};
    use model::{Arrivals, Load, VerdictState};

    /// A run that had lost half of its load after two thirds was VALID, and the schedule, the load threads and burst credits
    /// were blamed.
    #[test]
    fn a_loss_is_a_bound_with_both_levels_and_no_rule_blames_anything_else() {
        let mut evidence = testing::run("CL-18");
        evidence.plan.load = Load::Open { rate_per_s: 33_333.0, arrivals: Arrivals::Poisson, connections: 64 };
        let verdict = judge_run(&evidence);
        assert_eq!(verdict.state, VerdictState::Bound, "{verdict:#?}");
        let decisive: Vec<_> = verdict.findings.iter().filter(|finding| finding.state > FindingState::Note).collect();
        assert_eq!(
            decisive.iter().map(|finding| finding.rule.as_str()).collect::<Vec<_>>(),
            ["CL-18"],
            "{decisive:#?}"
        );
        let message = &decisive[0].message;
        assert!(
            message.starts_with("agent ssh://load1 was lost 20.6 s into the window of 30.0 s: 17 % of"),
            "{message}"
        );
        assert!(message.contains("(33,333/s good with all of it, 16,666/s without)"), "{message}");
        assert!(decisive[0].remedy.contains("SIGKILL"), "{}", decisive[0].remedy);
        assert!(verdict.unchecked_why["ST-05"].contains("CL-18"), "{:?}", verdict.unchecked_why);
    }

    #[test]
    fn a_loss_of_most_of_the_load_is_invalid_and_one_after_the_window_a_warning() {
        let mut most = testing::run("CL-18");
        most.seconds.iter_mut().skip(1).for_each(|second| second.lost_share = 0.5);
        let found = finding(judged(&RULE, &most));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("48 % of the planned load is missing"), "{}", found.message);
        let mut half = testing::run("CL-18");
        half.seconds.iter_mut().skip(10).for_each(|second| second.lost_share = 0.9);
        assert_eq!(finding(judged(&RULE, &half)).state, FindingState::Invalid, "60 % are missing");
        let mut late = clean_run();
        late.agents = testing::run("CL-18").agents;
        late.agents.iter_mut().flat_map(|agent| &mut agent.lost).for_each(|loss| loss.at_ns = 31 * NS_PER_S);
        let found = finding(judged(&RULE, &late));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("was lost after the window: its requests"), "{}", found.message);
        late.seconds.clear();
        let found = finding(judged(&RULE, &late));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.ends_with("was lost before the window: nothing was measured"), "{}", found.message);
    }

    #[test]
    fn several_are_counted_and_some_named() {
        let mut evidence = testing::run("CL-18");
        let (lost, name) = (evidence.agents[0].clone(), |i| format!("ssh://h{i}"));
        evidence.agents = (0..5).map(|i| AgentRecord { name: name(i), ..lost.clone() }).collect();
        let message = finding(judged(&RULE, &evidence)).message;
        assert!(message.starts_with("5 agents (ssh://h0, ssh://h1, ssh://h2 and 2 more) were lost"), "{message}");
        evidence.agents.iter_mut().for_each(|agent| agent.lost = None);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass, "the load came from one process");
    }
}
