//! The fuzz target's checks on random mutations of the fixtures, so that every test run fuzzes a bit.

use crate::support::folder;
use audit::testing::fuzz_audit;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Bits that turn one tool's output into another's, or into nonsense.
const TOKENS: [&str; 14] = [
    "\n",
    "\r",
    "\u{1b}[",
    "-nan",
    "18446744073709551615",
    "1e999",
    ".",
    "99%",
    " requests in 0.00us, 0B read\n",
    "Summary:\n",
    "Running 1h test @ http://u:p@h/\n",
    "Concurrency Level: 0\n",
    "{\"metrics\":{\"http_reqs\":{",
    "| 1 | 2 |\n",
];

/// Read once: there are more of them than a case has work to do.
static FIXTURES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder()).expect("fixtures").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a fixture")).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_keep_their_promises_on_mutations(
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, 0_usize..TOKENS.len(), 0_u8..4), 1..6),
    ) {
        let mut bytes = which.get(&FIXTURES).clone();
        for (at, length, token, kind) in edits {
            let from = at.index(bytes.len() + 1);
            let to = bytes.len().min(from + length);
            match kind {
                0 => drop(bytes.drain(from..to)),
                1 => drop(bytes.splice(from..to, TOKENS[token].bytes())),
                2 => drop(bytes.splice(from..from, TOKENS[token].bytes())),
                _ => {
                    let other = other.get(&FIXTURES);
                    bytes.truncate(from);
                    bytes.extend(&other[other.len().min(from)..]);
                }
            }
        }
        fuzz_audit(&bytes);
    }
}
