//! Servers, supervisors and plimsoll itself, killed at random: `cargo xtask chaos` in short.

use lab::chaos::{Chaos, VICTIMS};

/// The same on each run; `cargo xtask chaos` takes others.
const SEED: u64 = 7;

#[test]
fn nothing_is_left_whoever_is_killed() {
    let mut chaos = Chaos::new(env!("CARGO_BIN_EXE_plimsoll").into(), SEED).expect("a directory");
    for number in 0..=VICTIMS.len() as u64 {
        let cycle = chaos.cycle(number);
        assert_eq!(cycle.problems, Vec::<String>::new(), "cycle {number}: {}, {}", cycle.server, cycle.victim.name());
    }
}
