//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use input::testing::{fuzz_har, fuzz_url_list};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Bits that change what a text means.
const TOKENS: [&str; 16] = [
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
];

/// Every seed of a directory, in the order of names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let entries = std::fs::read_dir(directory).expect("a corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

/// Place, length and replacement.
type Edit = (Index, usize, usize);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<Index>(), 0_usize..12, 0..TOKENS.len()), 0..6)
}

/// One of the seeds, changed.
fn mutated(which: Index, seeds: &[Vec<u8>], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = which.get(seeds).clone();
    for (at, length, token) in edits {
        let from = at.index(bytes.len() + 1);
        let to = bytes.len().min(from + length);
        drop(bytes.splice(from..to, TOKENS[*token].bytes()));
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_keep_their_promises(which in any::<Index>(), edits in edits()) {
        fuzz_url_list(&mutated(which, &seeds("urls"), &edits));
    }

    #[test]
    fn recordings_keep_their_promises(which in any::<Index>(), edits in edits()) {
        fuzz_har(&mutated(which, &seeds("har"), &edits));
    }
}
