//! The fuzz target's checks on the committed records and on mutations of them, so that every test run fuzzes a bit.

use proptest::prelude::*;
use report::stored::Record;
use report::testing::fuzz_run_json;
use std::path::Path;

/// Numbers and bits that change what a record says.
const TOKENS: [&str; 16] = [
    "0",
    "-",
    "1e19",
    "1e300",
    "9007199254740993",
    "18446744073709551615",
    "0.000000000001",
    "null",
    "[]",
    "{}",
    "\"",
    ",",
    "connections",
    "invalid",
    "open",
    "\u{e9}",
];

fn records() -> Vec<Vec<u8>> {
    seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored"))
}

#[test]
fn the_committed_records_are_read() {
    for record in records() {
        let text = String::from_utf8(record).expect("text");
        assert_eq!(Record::parse(&text).err(), None, "{text}");
        fuzz_run_json(text.as_bytes());
    }
}

#[test]
fn a_peak_far_from_the_curve_is_drawn_at_its_end() {
    let mut texts = records().into_iter().map(|record| String::from_utf8(record).expect("text"));
    let sweep = texts.find(|text| text.contains(r#""load":1.0"#)).expect("a sweep");
    // Loads that a float hardly tells apart: a place in doublings of them is gigabytes to the right.
    let near =
        sweep.replace(r#""load":1.0"#, r#""load":7.999999"#).replace(r#""peak":{"load":8.0"#, r#""peak":{"load":1e19"#);
    assert_ne!(near, sweep);
    fuzz_run_json(near.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_keep_their_promises(data in seeds::mutated(records(), &TOKENS)) {
        fuzz_run_json(&data);
    }
}
