//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use proptest::prelude::*;
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

/// One of the committed inputs of a parser, changed.
fn changed(name: &str) -> impl Strategy<Value = Vec<u8>> {
    seeds::mutated(seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)), &TOKENS)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_of_php_keep_their_promises(data in changed("php_samples")) {
        fuzz_php_samples(&data);
    }

    #[test]
    fn exports_of_wordpress_keep_their_promises(data in changed("wxr")) {
        fuzz_wxr(&data);
    }
}
