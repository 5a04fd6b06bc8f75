//! Every ending, in short: `cargo xtask chaos` makes more, at other instants.

use crate::support::decide_watched;
use lab::chaos::{Hostile, problems_with};

/// The same on each run.
const SEED: u64 = 7;

#[test]
fn nothing_is_left_and_nothing_lost_however_it_ends() {
    decide_watched(|| {
        let problems = lab::chaos::problems(env!("CARGO_BIN_EXE_plimsoll").into(), SEED, 1).expect("a directory");
        assert_eq!(problems, Vec::<String>::new());
    });
}

#[test]
fn nothing_is_left_of_servers_that_mean_harm() {
    let program = env!("CARGO_BIN_EXE_plimsoll").into();
    assert_eq!(problems_with(Hostile::Programs, program, SEED).expect("a directory"), Vec::<String>::new());
}

#[test]
fn agents_that_mean_harm_end_a_load_in_time_and_in_words() {
    let program = env!("CARGO_BIN_EXE_plimsoll").into();
    assert_eq!(problems_with(Hostile::Agents, program, SEED).expect("a directory"), Vec::<String>::new());
}
