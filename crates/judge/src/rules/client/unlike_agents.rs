//! CL-19: agents that see the server differently.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::time;
use model::{Estimate, Evidence, FindingState};

/// Of one path; below it machines of one kind differ.
const RATIO: f64 = 1.25;
/// Differences of wake-ups and of the way through the kernel; ns.
const DIFFERENCE_NS: f64 = 100_000.0;

pub(crate) const RULE: Rule = Rule {
    id: "CL-19",
    title: "agents differ",
    detects: "The response times of the agents differ by more than chance, as their paths to the server do.",
    fires: &[Fires::note(
        "The median response times of two agents are more than 25 % and more than 100 µs apart, and their 95 % \
             intervals do not overlap.",
    )],
    remarks: "Each is the mean of the medians of the agent's seconds. Where these bear no interval, their range \
              counts.",
    applies: Applies::Agents,
    needs: &[Need::ResponseTimes],
    conditions: "at least 5 seconds with responses of each agent",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.agents.len() < 2 {
        return Outcome::Pass; // all requests take the same path
    }
    let medians = evidence.agents.iter().map(|agent| Some((agent, agent.window?.second_p50_ns?)));
    let Some(medians) = medians.collect::<Option<Vec<_>>>() else {
        return Outcome::Unchecked("fewer than 5 seconds with responses of each agent");
    };
    let by_value = |a: &&(_, Estimate), b: &&(_, Estimate)| a.1.value.total_cmp(&b.1.value);
    let (Some((near, low)), Some((far, high))) = (medians.iter().min_by(by_value), medians.iter().max_by(by_value))
    else {
        return Outcome::Pass;
    };
    let is_apart = low.high.zip(high.low).is_some_and(|(below, above)| below < above);
    if !is_apart || high.value <= RATIO * low.value || high.value - low.value <= DIFFERENCE_NS {
        return Outcome::Pass;
    }
    let message = format!(
        "the agents differ: half of the responses come within {} at {} and within {} at {}; their paths to the server do, or \
         their machines: percentiles of all agents together are those of none",
        time(low.value),
        near.name,
        time(high.value),
        far.name
    );
    let remedy = "read the figures of each agent, or generate the load at one place".to_owned();
    let figures = [("lowest_p50_ns", low.value), ("highest_p50_ns", high.value)];
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{clean_run, finding, judged};

    /// Two agents, the second with this median.
    fn with(second: Estimate) -> Evidence {
        let mut evidence = testing::run("CL-19");
        evidence.agents[1].window.iter_mut().for_each(|window| window.second_p50_ns = Some(second));
        evidence
    }

    fn within(value: f64, half: f64) -> Estimate {
        Estimate { value, low: Some(value - half), high: Some(value + half), n: 10 }
    }

    /// A median of 5.7 ms was told, which neither agent saw.
    #[test]
    fn agents_at_different_distances_are_noted_with_both_figures() {
        let found = finding(judged(&RULE, &with(within(21e6, 1e6))));
        assert_eq!(found.state, FindingState::Note);
        let text = "half of the responses come within 80.0 µs at ssh://load1 and within 21.0 ms at ssh://load2";
        assert!(found.message.contains(text), "{}", found.message);
    }

    #[test]
    fn chance_and_small_differences_are_no_finding() {
        for (name, second) in [
            ("alike", within(81e3, 1e3)),
            ("not apart", within(400e3, 350e3)),
            ("small", within(120e3, 1e3)),
            ("without an interval", Estimate { value: 21e6, ..Estimate::default() }),
        ] {
            assert_eq!(judged(&RULE, &with(second)), Outcome::Pass, "{name}");
        }
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut short = with(within(21e6, 1e6));
        short.agents[0].window = None;
        assert!(matches!(judged(&RULE, &short), Outcome::Unchecked(_)));
    }
}
