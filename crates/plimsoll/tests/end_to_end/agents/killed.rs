//! Whoever takes part in a load of agents, killed: `cargo xtask chaos --agents` in short.

use crate::support::decide_watched;

/// The same on each run: the agent that has started the server, over a link and on this machine, and an ssh between network
/// namespaces; of short runs. The first two left a result that did not name the agent.
const SEED: u64 = 20_261_128;
const TRIES: [u32; 3] = [27, 33, 40];

#[test]
fn nothing_is_left_and_nothing_lost_whoever_of_the_agents_is_killed() {
    decide_watched(|| {
        let program = env!("CARGO_BIN_EXE_plimsoll").into();
        let problems = lab::chaos::problems_of_agents(program, SEED, &TRIES).expect("a directory");
        assert_eq!(problems, Vec::<String>::new());
    });
}
