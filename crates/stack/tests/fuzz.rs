//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use model::testing::{edited, seeds};
use proptest::prelude::*;
use proptest::sample::Index;
use stack::testing::{fuzz_php_samples, fuzz_wxr};
use std::path::Path;

/// Bits that change what a file says.
const TOKENS: [&str; 16] = [
    "\n",
    ";",
    " 1",
    " 18446744073709551616",
    "<item>",
    "</item>",
    "</a\n\u{1b}>",
    "&#0;",
    "&a;",
    "<![CDATA[",
    "]]>",
    "<wp:comment>",
    " domain=\"category\"",
    "\"",
    "\u{e9}",
    "\0",
];

/// One of the seeds, changed.
fn mutated(name: &str) -> impl Strategy<Value = Vec<u8>> {
    let seeds = seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name));
    let edits = prop::collection::vec((any::<Index>(), 0_usize..12, 0..TOKENS.len()), 0..6);
    (prop::sample::select(seeds), edits).prop_map(|(seed, edits)| {
        edited(seed, edits.iter().map(|(at, length, token)| (|size| at.index(size), *length, TOKENS[*token])))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_of_php_keep_their_promises(data in mutated("php_samples")) {
        fuzz_php_samples(&data);
    }

    #[test]
    fn exports_of_wordpress_keep_their_promises(data in mutated("wxr")) {
        fuzz_wxr(&data);
    }
}
