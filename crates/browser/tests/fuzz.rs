//! The fuzz target's checks on recordings of a browser and on mutations of them, so that every test run fuzzes a bit.

use browser::testing::fuzz_devtools;
use model::testing::{edited, seeds};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Bits that change what a message says.
const TOKENS: [&str; 14] = [
    "\n",
    "\"",
    "{",
    "}",
    ",",
    "null",
    "-1",
    "1e308",
    "18446744073709551615",
    "\"id\":1,",
    "\\u001b\\n",
    "\u{e9}",
    "Network.loadingFailed",
    "token=s3cret",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_keep_their_promises(
        which in any::<Index>(),
        edits in prop::collection::vec((any::<Index>(), 0_usize..12, 0..TOKENS.len()), 0..6),
    ) {
        let seeds = seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures"));
        let edits = edits.iter().map(|(at, length, token)| (|size| at.index(size), *length, TOKENS[*token]));
        fuzz_devtools(&edited(which.get(&seeds).clone(), edits));
    }
}
