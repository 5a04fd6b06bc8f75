//! The fuzz target's checks on the committed samples and on mutations of them, so that every test run fuzzes a bit.

use model::testing::{edited, seeds};
use observe::profile::Past;
use observe::testing::fuzz_samples;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Bits that change what a line says.
const TOKENS: [&str; 14] = [
    "\n",
    ",",
    "0",
    "-",
    "10",
    "4294967295",
    "18446744073709551615",
    "1e300",
    "null",
    "[]",
    "[[0,1]]",
    "\"",
    ";",
    "\u{e9}",
];

fn samples() -> Vec<Vec<u8>> {
    seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/samples"))
}

#[test]
fn the_committed_samples_are_read() {
    for samples in samples() {
        assert!(Past::read(samples.as_slice()).is_ok_and(|past| past.recorded.sampled_ns() > 0));
        fuzz_samples(&samples);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_keep_their_promises(
        which in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), 0_usize..6, 0..TOKENS.len()), 0..5),
    ) {
        let samples = which.get(&samples()).clone();
        let edits = edits.iter().map(|(at, length, token)| (|size| at.index(size), *length, TOKENS[*token]));
        fuzz_samples(&edited(samples, edits));
    }
}
