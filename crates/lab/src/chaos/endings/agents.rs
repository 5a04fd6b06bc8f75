//! Measurements with load of agents, of which somebody is killed.

use crate::chaos::ending::{Effect, Ending, NONE};
use crate::chaos::fleet::{SOON, Victim};
use crate::chaos::setting::{ORDINARY, Setting};
use crate::chaos::verb::Verb;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// An agent that hears nothing ends after 10 s.
const SILENCE: Duration = Duration::from_secs(15);
/// It was not there yet, or its server was not.
const EARLY: &[i32] = &[2, 3];
const LOST: &[&str] = &["was lost", "plimsoll: "];

const AGENTS: Ending = Ending {
    verbs: &[Verb::Run, Verb::Sweep, Verb::Compare, Verb::Capacity],
    setting: Setting { is_quiet: false, ..ORDINARY },
    effect: Effect::Ends,
    ends_within: Some(SOON),
    ..NONE
};

const CUT: Ending = Ending { codes: EARLY, says: LOST, cuts: true, check: is_told, ..AGENTS };

/// All of them, in turns.
pub(in crate::chaos) static OF_AGENTS: [Ending; 6] = [
    Ending {
        name: "coordinator-killed",
        made: "SIGKILL for plimsoll, and nobody else",
        signals: &[Signal::KILL.as_raw()],
        strike: |scene, _| scene.signal(Signal::KILL),
        ..AGENTS
    },
    Ending {
        name: "agent-killed",
        made: "SIGKILL for one of two agents of the load",
        strike: |scene, _| scene.kill(Victim::Agent),
        ..CUT
    },
    Ending {
        name: "server-agent-killed",
        made: "SIGKILL for an agent on the machine of the servers: that which observes, or one that has started a server",
        strike: |scene, _| scene.kill(Victim::ServerAgent),
        ..CUT
    },
    Ending {
        name: "ssh-killed",
        made: "SIGKILL for one of the coordinator's ssh processes",
        strike: |scene, _| scene.kill(Victim::Ssh),
        ..CUT
    },
    Ending {
        name: "server-killed",
        made: "SIGKILL for the server that is measured; plimsoll goes on with what can be measured",
        codes: EARLY,
        says: &["plimsoll: "],
        strike: |scene, _| scene.kill(Victim::Server),
        ends_within: None,
        ..AGENTS
    },
    Ending {
        name: "link-cut",
        made: "the link to an agent of the load is taken down once a load is under way; agents that hear nothing end after 10 s",
        strike: |scene, _| scene.kill(Victim::Link),
        ends_within: Some(SILENCE),
        ..CUT
    },
];

/// A result that ends early without naming who was lost.
fn is_told(record: &Value) -> Option<String> {
    let of_run = |agent: &Value| agent["lost"]["why"].is_string();
    let is_named = record["agent_lost"]["name"].is_string()
        || record["observed"]["unavailable"]["server"].is_string()
        || record["agents"].as_array().is_some_and(|agents| agents.iter().any(of_run));
    (record["interrupted"] == true && !is_named).then(|| "its result was interrupted and names no agent".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_that_ended_early_names_who_was_lost() {
        assert_eq!(is_told(&json!({ "interrupted": false })), None);
        assert!(is_told(&json!({ "interrupted": true, "agents": [{}] })).is_some());
        for who in [
            json!({ "agents": [{}, { "lost": { "why": "cut" } }] }),
            json!({ "agent_lost": { "name": "ssh://b" } }),
            json!({ "observed": { "unavailable": { "server": "the agent was lost" } } }),
        ] {
            let mut record = json!({ "interrupted": true });
            record.as_object_mut().expect("it is one").extend(who.as_object().expect("it is one").clone());
            assert_eq!(is_told(&record), None);
        }
    }
}
