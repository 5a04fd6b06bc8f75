//! Whoever takes part in a load of agents, killed: `cargo xtask chaos --agents` in short.

use crate::support::decide_watched;

/// The same on each run: an agent that a script has started, and an ssh between network namespaces.
const SEED: u64 = 7;
const TRIES: [u32; 2] = [2, 4];

#[test]
fn nothing_is_left_and_nothing_lost_whoever_of_the_agents_is_killed() {
    decide_watched(|| {
        let program = env!("CARGO_BIN_EXE_plimsoll").into();
        let problems = lab::chaos::problems_of_agents(program, SEED, &TRIES).expect("a directory");
        assert_eq!(problems, Vec::<String>::new());
    });
}
