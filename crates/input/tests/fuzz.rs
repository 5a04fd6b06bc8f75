//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use input::testing::{fuzz_experiment, fuzz_har, fuzz_progress, fuzz_url_list};
use proptest::prelude::*;
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

/// One of the committed inputs of a parser, changed.
fn changed(name: &str) -> impl Strategy<Value = Vec<u8>> {
    seeds::mutated(seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)), &TOKENS)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_keep_their_promises(data in changed("urls")) {
        fuzz_url_list(&data);
    }

    #[test]
    fn experiments_keep_their_promises(data in changed("experiments")) {
        fuzz_experiment(&data);
    }

    #[test]
    fn plans_and_steps_keep_their_promises(data in changed("progress")) {
        fuzz_progress(&data);
    }

    #[test]
    fn recordings_keep_their_promises(data in changed("har")) {
        fuzz_har(&data);
    }
}
