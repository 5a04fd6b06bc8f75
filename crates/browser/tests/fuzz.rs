//! The fuzz target's checks on recordings of a browser and on mutations of them, so that every test run fuzzes a bit.

use browser::testing::fuzz_devtools;
use proptest::prelude::*;
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

fn recordings() -> Vec<Vec<u8>> {
    seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_keep_their_promises(data in seeds::mutated(recordings(), &TOKENS)) {
        fuzz_devtools(&data);
    }
}
