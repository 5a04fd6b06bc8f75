//! Rules about the client of a load that comes from agents: each of their machines is looked at as that of a single client is.

use crate::{Outcome, Rule};
use model::{AgentRecord, Evidence, Finding, Observed};

/// What a rule says of a load by its check for one: where it lacks the client's machine, by those of the agents, the worst
/// first. None if it looks at whole sweeps only.
pub(crate) fn outcome(rule: &Rule, evidence: &Evidence) -> Option<Outcome> {
    let whole = rule.judge_load(evidence)?;
    let seen: Vec<&AgentRecord> = evidence.agents.iter().filter(|agent| agent.machine.is_some()).collect();
    let is_of_client = || rule.needs.iter().any(|need| need.is_of_client());
    if seen.is_empty() || !matches!(whole, Outcome::Unchecked(_)) || !is_of_client() {
        return Some(whole);
    }
    let (mut worst, mut fired, mut unchecked) = (None::<(&AgentRecord, Finding)>, 0, None);
    for agent in &seen {
        match rule.judge_load(&seen_by(evidence, agent))? {
            Outcome::Pass => {}
            Outcome::Unchecked(why) => unchecked = Some(why),
            Outcome::Fired(finding) => {
                fired += 1;
                if worst.as_ref().is_none_or(|(_, worst)| finding.state > worst.state) {
                    worst = Some((agent, finding));
                }
            }
        }
    }
    Some(match (worst, unchecked) {
        (Some((agent, finding)), _) => Outcome::Fired(placed(agent, finding, fired)),
        (None, Some(why)) => Outcome::Unchecked(why),
        (None, None) if seen.len() < evidence.agents.len() => whole,
        (None, None) => Outcome::Pass,
    })
}

/// The evidence as it would be if this agent were the only client.
fn seen_by(evidence: &Evidence, agent: &AgentRecord) -> Evidence {
    let machine = agent.machine.as_deref().cloned().unwrap_or_default();
    let server = evidence.observed.clone().unwrap_or_default();
    Evidence {
        observed: Some(Observed { generator: machine.generator.clone(), ..server }),
        client_machine: Some(machine),
        // That of the coordinator says nothing of the interfaces there.
        fingerprint: None,
        ..evidence.clone()
    }
}

/// The finding with the machine that it is about.
fn placed(agent: &AgentRecord, mut finding: Finding, fired: usize) -> Finding {
    let others = match fired - 1 {
        0 => String::new(),
        n => format!(" and {}", model::human::plural(n as u64, "other agent")),
    };
    finding.message = format!("at {}{others}: {}", agent.name, finding.message);
    finding.evidence.insert("agents_fired".to_owned(), fired as f64);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_run;
    use crate::testing::{clean_run, unlike_agents};

    /// A load of two agents, which see quiet machines of their own.
    fn two_clients() -> Evidence {
        let mut evidence = clean_run();
        evidence.plan.target.address = model::Address::Tcp(([192, 0, 2, 1], 80).into());
        evidence.agents = unlike_agents(81_000.0);
        let machine = evidence.observed.clone().map(Box::new);
        evidence.agents.iter_mut().for_each(|agent| agent.machine.clone_from(&machine));
        evidence.client_machine = Some(Observed::default());
        evidence.observed.iter_mut().for_each(|observed| observed.generator = None);
        evidence
    }

    /// With one agent's CPU stolen nobody noticed.
    #[test]
    fn the_machine_of_each_agent_is_looked_at_and_the_worst_is_named() {
        let quiet = judge_run(&two_clients());
        let of_client = ["CL-08", "CL-09", "CL-10", "CL-11", "CL-16"];
        for rule in of_client {
            assert!(!quiet.unchecked.iter().any(|unchecked| unchecked == rule), "{rule}: {:?}", quiet.unchecked_why);
        }
        assert!(quiet.findings.iter().all(|finding| !of_client.contains(&finding.rule.as_str())), "{quiet:#?}");
        let mut stolen = two_clients();
        let steal = |agent: &mut AgentRecord, share: f64| {
            let machine = agent.machine.as_mut().and_then(|seen| seen.machine.as_mut()).expect("it is seen");
            machine.cpu_shares.iter_mut().for_each(|cpu| cpu.steal = share);
        };
        steal(&mut stolen.agents[0], 0.02);
        steal(&mut stolen.agents[1], 0.3);
        let verdict = judge_run(&stolen);
        let found = verdict.findings.iter().find(|finding| finding.rule == "CL-08").expect("it is found");
        assert_eq!(found.state, model::FindingState::Bound, "{found:#?}");
        assert!(found.message.starts_with("at ssh://load2 and 1 other agent: steal took 30 %"), "{}", found.message);
        let waiting = stolen.agents[0].machine.as_mut().and_then(|seen| seen.generator.as_mut()).expect("it is seen");
        waiting.threads[0].wait_mean = 0.3;
        let verdict = judge_run(&stolen);
        let found = verdict.findings.iter().find(|finding| finding.rule == "CL-09").expect("it is found");
        assert!(found.message.starts_with("at ssh://load1: a load thread waited"), "{}", found.message);
        assert!(!found.remedy.contains("--cpus"), "agents take no such flag: {}", found.remedy);
    }

    #[test]
    fn who_does_not_tell_of_its_machine_leaves_the_rules_unchecked() {
        let mut evidence = two_clients();
        evidence.agents[1].machine = None;
        assert!(judge_run(&evidence).unchecked.iter().any(|rule| rule == "CL-08"));
    }
}
