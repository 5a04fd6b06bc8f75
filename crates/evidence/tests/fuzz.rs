//! The fuzz targets' checks on the committed seeds and on mutations of them, so that every test run fuzzes a bit.

use evidence::testing::{fuzz_events, fuzz_interval_log};
use evidence::{Events, interval_log::Intervals};
use proptest::prelude::*;
use proptest::sample::Index;
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

#[test]
fn the_seeds_are_events_and_intervals() {
    for seed in seeds("events") {
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
        seeds("hlog").iter().map(|seed| Intervals::new(seed.as_slice()).filter(Result::is_ok).count()).sum::<usize>();
    assert_eq!(read, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn events_keep_their_promises(which in any::<Index>(), edits in edits()) {
        let _ = fuzz_events(&mutated(which, &seeds("events"), &edits));
    }

    #[test]
    fn interval_logs_keep_their_promises(which in any::<Index>(), edits in edits()) {
        fuzz_interval_log(&mutated(which, &seeds("hlog"), &edits));
    }
}
