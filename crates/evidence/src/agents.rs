//! Agents of a load, as they are told: some may be lost before all have said that they have started.

use model::{AGENTS_MAX, AgentLoss, AgentRecord, AgentStart, SourceId};

/// Those that have begun, with what is known of losses before that.
pub(crate) fn begin(agents: &mut Vec<AgentRecord>, starts: &[AgentStart]) {
    let early = std::mem::take(agents);
    let lost = |start: &AgentStart| early.iter().find(|agent| agent.source == start.source)?.lost.clone();
    let begun = |start| AgentRecord { lost: lost(start), ..AgentRecord::begun(start) };
    *agents = starts.iter().take(AGENTS_MAX).map(begun).collect();
}

/// One is lost.
pub(crate) fn lose(agents: &mut Vec<AgentRecord>, source: SourceId, name: &str, loss: AgentLoss) {
    if let Some(agent) = agents.iter_mut().find(|agent| agent.source == source) {
        agent.lost = Some(loss);
    } else if agents.len() < AGENTS_MAX {
        let start = AgentStart { source, name: name.to_owned(), ..AgentStart::default() };
        agents.push(AgentRecord { lost: Some(loss), ..AgentRecord::begun(&start) });
    }
}
