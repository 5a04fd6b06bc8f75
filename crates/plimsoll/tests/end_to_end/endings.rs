//! Every ending, in short: `cargo xtask chaos` makes more, at other instants.

use crate::support::decide_watched;

/// The same on each run.
const SEED: u64 = 7;

#[test]
fn nothing_is_left_and_nothing_lost_however_it_ends() {
    decide_watched(|| {
        let problems = lab::chaos::problems(env!("CARGO_BIN_EXE_plimsoll").into(), SEED, 1).expect("a directory");
        assert_eq!(problems, Vec::<String>::new());
    });
}
