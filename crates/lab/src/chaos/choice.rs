//! What a try with agents is made of: all of it follows from a seed and its number.

use super::ending::Ending;
use super::endings::OF_AGENTS;
use super::fleet::Means;
use super::moment::{Moment, Since, below};
use super::verb::Verb;
use std::time::Duration;

/// One instant in so many lies in the first second and a half, in which agents are started, and one after the loads.
const EDGE_ONE_IN: u64 = 5;
const STARTING: Duration = Duration::from_millis(1500);
const CLOSING: Duration = Duration::from_millis(600);
/// The load has two agents, and the servers one.
const AGENTS: u64 = 3;
/// Real connections and links can be ended in many ways: half of the tries have them.
const MEANS: [Means; 4] = [Means::Ssh, Means::Script, Means::Ssh, Means::Connect];

/// One try.
pub(super) struct Choice {
    pub(super) ending: &'static Ending,
    pub(super) verb: Verb,
    pub(super) means: Means,
    /// True if an agent observes the servers.
    pub(super) has_server_host: bool,
    /// True if an agent starts the servers, too.
    pub(super) is_served: bool,
    /// Which of those of a kind is killed: 0 to 2.
    pub(super) which: usize,
    /// True if no machine has the program yet.
    pub(super) is_new: bool,
    pub(super) moment: Moment,
}

/// Who is killed comes in turns, all else at random.
pub(super) fn choose(seed: u64, number: u32) -> Choice {
    let mut below = below((seed, "agents", number));
    let ending = &OF_AGENTS[(number as usize).saturating_sub(1) % OF_AGENTS.len()];
    let verb = ending.verbs[below(ending.verbs.len() as u64) as usize];
    let chosen = MEANS[below(MEANS.len() as u64) as usize];
    let means = if needs_network(ending) { Means::Ssh } else { chosen };
    let has_server_host = ending.name == "server-agent-killed" || below(2) == 0;
    let (which, is_new) = (below(AGENTS) as usize, below(2) == 0);
    let (since, longest) = match below(EDGE_ONE_IN) {
        0 => (Since::Start, STARTING),
        1 => (Since::Closing, CLOSING),
        _ => (Since::Start, verb.span_of_agents()),
    };
    let delay = Duration::from_micros(below(longest.as_micros() as u64));
    let is_served = has_server_host && below(2) == 0;
    let moment = Moment { since, delay, hold: Duration::ZERO };
    Choice { ending, verb, means, has_server_host, is_served, which, is_new, moment }
}

/// True of those that a script in the place of ssh has nothing for.
fn needs_network(ending: &Ending) -> bool {
    matches!(ending.name, "ssh-killed" | "link-cut")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_same_seed_makes_the_same_tries_and_another_makes_others() {
        let made = |seed: u64| -> Vec<String> {
            let one = |number| {
                let Choice { ending, verb, means, has_server_host, is_served, which, is_new, moment } =
                    choose(seed, number);
                let has = (has_server_host, is_served, is_new);
                format!("{} {verb:?} {means:?} {has:?} {which} {moment:?}", ending.name)
            };
            (1..=100).map(one).collect()
        };
        assert_eq!(made(7), made(7));
        assert_eq!(made(7).iter().zip(&made(8)).filter(|(a, b)| a == b).count(), 0);
    }

    #[test]
    fn a_hundred_tries_kill_everybody_under_each_verb_by_all_means() {
        let all: Vec<Choice> = (1..=100).map(|number| choose(7, number)).collect();
        let pairs: BTreeSet<_> = all.iter().map(|choice| (choice.ending.name, choice.verb)).collect();
        assert_eq!(pairs.len(), 24, "{pairs:?}");
        let means: BTreeSet<_> = all.iter().map(|choice| choice.means).collect();
        assert_eq!(means.len(), 3);
        for instant in [Since::Start, Since::Closing] {
            assert!(all.iter().any(|choice| choice.moment.since == instant));
        }
    }

    #[test]
    fn who_is_to_be_killed_takes_part() {
        for choice in (1..=200).map(|number| choose(9, number)) {
            let name = choice.ending.name;
            assert!(name != "server-agent-killed" || choice.has_server_host);
            assert!(choice.has_server_host || !choice.is_served);
            assert!(!["ssh-killed", "link-cut"].contains(&name) || choice.means == Means::Ssh);
            assert!(choice.moment.delay < choice.verb.span_of_agents());
        }
    }
}
