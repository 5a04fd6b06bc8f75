//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use input::testing::{fuzz_experiment, fuzz_har, fuzz_progress, fuzz_url_list};
use model::testing::edited;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Bits that change what a text means.
const TOKENS: [&str; 30] = [
    "\n",
    "\r",
    "\0",
    " ",
    "@",
    "/../",
    "http://",
    "#",
    "\"",
    "\\u000a",
    "{",
    "]",
    ",",
    "18446744073709551616",
    "CONNECT",
    "\u{e9}",
    "[[loads]]\n",
    "[variants.grid]\n",
    "{workers}",
    " = ",
    "1_000",
    "'''",
    " POST ",
    "\n@b\n",
    "\nA: b\n",
    "$(HOST)",
    "HOST=",
    "wrk.",
    "[=[",
    "\\",
];

fn seeds(name: &str) -> Vec<Vec<u8>> {
    model::testing::seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name))
}

/// One of the seeds, changed.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<Index>(), 0_usize..12, 0..TOKENS.len()), 0..6);
    (prop::sample::select(seeds), edits).prop_map(|(seed, edits)| {
        edited(seed, edits.iter().map(|(at, length, token)| (|size| at.index(size), *length, TOKENS[*token])))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_keep_their_promises(data in mutated(seeds("urls"))) {
        fuzz_url_list(&data);
    }

    #[test]
    fn experiments_keep_their_promises(data in mutated(seeds("experiments"))) {
        fuzz_experiment(&data);
    }

    #[test]
    fn plans_and_steps_keep_their_promises(data in mutated(seeds("progress"))) {
        fuzz_progress(&data);
    }

    #[test]
    fn recordings_keep_their_promises(data in mutated(seeds("har"))) {
        fuzz_har(&data);
    }
}
