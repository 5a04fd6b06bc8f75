//! The fuzz target's checks on the committed graphs and on mutations of them, so that every test run fuzzes a bit.

use proptest::prelude::*;
use report::testing::fuzz_graph;
use std::path::Path;

/// Bits of markup and of stacks.
const TOKENS: [&str; 16] = [
    "<",
    ">",
    "/>",
    "</g>",
    "<svg ",
    "\" ",
    "=\"",
    " onload=\"x\"",
    "href=\"http://h/\"",
    "<script>",
    "</script>",
    "url(//h)",
    ";",
    "\n",
    " 18446744073709551615",
    "\u{1b}",
];

fn graphs() -> Vec<Vec<u8>> {
    seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs"))
}

#[test]
fn the_committed_graphs_keep_their_promises() {
    assert_eq!(graphs().len(), 6);
    graphs().iter().for_each(|graph| fuzz_graph(graph));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graphs_keep_their_promises(data in seeds::mutated(graphs(), &TOKENS)) {
        fuzz_graph(&data);
    }
}
