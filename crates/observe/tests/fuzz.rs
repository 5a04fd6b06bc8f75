//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use observe::profile::Past;
use observe::testing::{fuzz_machine, fuzz_names, fuzz_perf_map, fuzz_samples, fuzz_status};
use proptest::prelude::*;
use std::path::Path;

/// Bits that change what a line says.
const TOKENS: [&str; 20] = [
    "\n",
    "\n\n",
    "\t",
    ": ",
    "/../",
    "nan",
    "max",
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

fn corpus(name: &str) -> Vec<Vec<u8>> {
    seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name))
}

/// One of the committed inputs of a parser, changed.
fn changed(name: &str) -> impl Strategy<Value = Vec<u8>> {
    seeds::mutated(corpus(name), &TOKENS)
}

#[test]
fn the_committed_samples_are_read() {
    for samples in corpus("samples") {
        assert!(Past::read(samples.as_slice()).is_ok_and(|past| past.recorded.sampled_ns() > 0));
        fuzz_samples(&samples);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_keep_their_promises(data in changed("samples")) {
        fuzz_samples(&data);
    }

    #[test]
    fn lists_of_functions_keep_their_promises(data in changed("perf_map")) {
        fuzz_perf_map(&data);
    }

    #[test]
    fn names_keep_their_promises(data in changed("names")) {
        fuzz_names(&data);
    }

    #[test]
    fn status_pages_keep_their_promises(data in changed("status")) {
        fuzz_status(&data);
    }

    #[test]
    fn the_files_of_a_machine_keep_their_promises(data in changed("machine")) {
        fuzz_machine(&data);
    }
}
