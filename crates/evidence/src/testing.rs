//! Promises of the readers of logs on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::interval_log::Intervals;
use crate::{Events, EvidenceBuilder};
use model::{Event, Histograms};

/// Parts the events from the log of their histograms in one input.
const BETWEEN: &[u8] = b"\n\n";

/// Reads `data` as an interval log: no panic, and what is read holds together.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_interval_log(data: &[u8]) {
    let (mut all, mut set_aside) = (Histograms::default(), Histograms::default());
    let mut counted = 0;
    for interval in Intervals::new(data) {
        let Ok(interval) = interval else { break };
        assert!(!interval.tag.contains(','), "{:?}", interval.tag);
        let _ = interval.is_of(u64::MAX, 0);
        if let Some(histogram) = interval.place(&mut all, &mut set_aside) {
            histogram.add(&interval.histogram);
            counted += interval.histogram.count();
        }
    }
    let sum = |histograms: &Histograms| histograms.each().iter().map(|(_, histogram)| histogram.count()).sum::<u64>();
    assert_eq!(sum(&all) + sum(&set_aside), counted);
    all.subtract(&set_aside);
}

/// Reads `data` as a log of events and, behind an empty line, that of their histograms: no panic, neither while the evidence
/// of them is made. Returns what came of it.
///
/// # Panics
/// When a promise is broken.
#[must_use]
pub fn fuzz_events(data: &[u8]) -> Option<EvidenceBuilder> {
    let at = data.windows(BETWEEN.len()).position(|bytes| bytes == BETWEEN);
    let (log, histograms) = at.map_or((data, &b""[..]), |at| (&data[..=at], &data[at + BETWEEN.len()..]));
    let mut builder: Option<EvidenceBuilder> = None;
    for event in Events::new(log, histograms) {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                break;
            }
        };
        match (&event, &mut builder) {
            (Event::Started { plan, .. }, None) => builder = Some(EvidenceBuilder::new((**plan).clone())),
            (_, Some(builder)) => builder.apply(&event),
            (_, None) => {}
        }
    }
    let builder = builder?;
    let evidence = builder.evidence();
    assert!(evidence.disturbance.as_ref().is_none_or(|seen| seen.clean_ns <= evidence.measured_ns));
    let mut twice = builder.clone();
    twice.merge(&builder);
    assert_eq!(twice.evidence().iterations, 2);
    Some(builder)
}

/// The events of a short load.
#[cfg(test)]
pub(crate) fn seed() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/events/run");
    std::fs::read_to_string(path).expect("a seed")
}
