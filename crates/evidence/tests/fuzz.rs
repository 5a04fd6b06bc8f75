//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use evidence::testing::{fuzz_events, fuzz_interval_log};
use evidence::{Events, interval_log::Intervals};
use proptest::prelude::*;
use std::path::Path;

/// Bits that change what a log says.
const TOKENS: [&str; 16] = [
    "\n",
    "\n\n",
    ",",
    "0",
    "-",
    "9007199254740992",
    "18446744073709551615",
    "1e300",
    "null",
    "{}",
    "[]",
    "\"",
    "measure",
    "drain",
    "Tag=response,0.000,1.000,1.000,HISTF",
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
fn the_seeds_are_events_and_intervals() {
    for seed in corpus("events") {
        let text = String::from_utf8(seed).expect("text");
        let (log, histograms) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
        let log = format!("{}\n", log.trim_end());
        let events: Result<Vec<_>, _> = Events::new(log.as_bytes(), histograms.as_bytes()).collect();
        assert_eq!(
            events.map(|events| events.len()).map_err(|error| error.to_string()),
            Ok(log.lines().count()),
            "{log}"
        );
    }
    let read =
        corpus("hlog").iter().map(|seed| Intervals::new(seed.as_slice()).filter(Result::is_ok).count()).sum::<usize>();
    assert_eq!(read, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_keep_their_promises(data in changed("events")) {
        let _ = fuzz_events(&data);
    }

    #[test]
    fn interval_logs_keep_their_promises(data in changed("hlog")) {
        fuzz_interval_log(&data);
    }
}
