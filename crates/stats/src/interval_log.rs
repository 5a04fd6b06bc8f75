//! Writes HdrHistogram interval logs: the format its plotters and log processors read.
//!
//! One line for each histogram: `Tag=response,start_s,length_s,max_ms,BASE64`. Times are seconds since the
//! base time of the header, values inside the histogram are ns, the maximum in the line is ms, all as the Java
//! `HistogramLogWriter` has it.

use crate::{DecodeError, MergedHistogram};
use std::io::{self, Write};

/// Writes the head of a log. `base_epoch_s` is the wall-clock time that interval times count from, if known;
/// seconds since 1970, UTC.
///
/// # Errors
/// Whatever `out` reports.
pub fn write_header(out: &mut impl Write, base_epoch_s: Option<f64>) -> io::Result<()> {
    writeln!(out, "#[Histogram log format version 1.3]")?;
    if let Some(base) = base_epoch_s {
        writeln!(out, "#[StartTime: {base:.3} (seconds since epoch)]")?;
        writeln!(out, "#[BaseTime: {base:.3} (seconds since epoch)]")?;
    }
    writeln!(out, "#[MaxValueDivisor: 1000000.000]")?;
    writeln!(out, r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#)
}

/// Writes one tagged histogram, encoded as by [`MergedHistogram::encode`], of the interval that begins
/// `start_ns` after the base time and is `length_ns` long. An empty text is no histogram and writes nothing.
///
/// # Errors
/// Whatever `out` reports; `InvalidData` when `encoded` cannot be read, `InvalidInput` when `tag` would break the line.
pub fn write_interval(out: &mut impl Write, tag: &str, start_ns: u64, length_ns: u64, encoded: &str) -> io::Result<()> {
    if encoded.is_empty() {
        return Ok(());
    }
    if tag.is_empty() || tag.contains([',', '\r', '\n', ' ']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "tag of an interval log must be one plain word"));
    }
    let histogram = MergedHistogram::decode(encoded).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
    let max_ms = histogram.summary().max_ns as f64 / 1e6;
    writeln!(out, "Tag={tag},{:.3},{:.3},{max_ms:.3},{encoded}", start_ns as f64 / 1e9, length_ns as f64 / 1e9)
}

/// Tag and histogram of each interval in `log`, a text that [`write_header`] and [`write_interval`] have written; a line
/// that cannot be read is an error in its place.
pub fn read(log: &str) -> impl Iterator<Item = Result<(&str, MergedHistogram), DecodeError>> {
    log.lines().filter_map(|line| {
        let (tag, rest) = line.strip_prefix("Tag=")?.split_once(',')?;
        let encoded = rest.rsplit(',').next()?;
        Some(MergedHistogram::decode(encoded).map(|histogram| (tag, histogram)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencyHistogram;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::time::Duration;

    fn encoded(values: &[u64]) -> String {
        let mut h = LatencyHistogram::new();
        values.iter().for_each(|v| h.record(*v));
        h.encode()
    }

    #[test]
    fn the_reference_reader_reads_it_back() {
        let (response, service) = (encoded(&[1_000_000, 2_000_000, 40_000_000]), encoded(&[900_000]));
        let mut log = Vec::new();
        write_header(&mut log, Some(1_700_000_000.25)).unwrap();
        write_interval(&mut log, "response", 0, 1_000_000_000, &response).unwrap();
        write_interval(&mut log, "service", 1_000_000_000, 500_000_000, &service).unwrap();
        write_interval(&mut log, "slip_client", 1_000_000_000, 500_000_000, "").unwrap();

        let base = Duration::from_millis(1_700_000_000_250);
        let entries: Vec<_> = IntervalLogIterator::new(&log).collect::<Result<_, _>>().unwrap();
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[0], LogEntry::StartTime(base));
        assert_eq!(entries[1], LogEntry::BaseTime(base));
        let LogEntry::Interval(first) = &entries[2] else { panic!("{:?}", entries[2]) };
        assert_eq!(first.tag().unwrap().as_str(), "response");
        assert_eq!((first.start_timestamp(), first.duration()), (Duration::ZERO, Duration::from_secs(1)));
        assert!((first.max() - 40.0).abs() < 0.04, "{}", first.max());
        assert_eq!(first.encoded_histogram(), response);
        let LogEntry::Interval(second) = &entries[3] else { panic!("{:?}", entries[3]) };
        assert_eq!(second.tag().unwrap().as_str(), "service");
        assert_eq!((second.start_timestamp(), second.duration()), (Duration::from_secs(1), Duration::from_millis(500)));
        assert_eq!(MergedHistogram::decode(second.encoded_histogram()).unwrap().count(), 1);

        let read: Vec<_> = read(std::str::from_utf8(&log).unwrap()).map(Result::unwrap).collect();
        let counts: Vec<_> = read.iter().map(|(tag, histogram)| (*tag, histogram.count())).collect();
        assert_eq!(counts, [("response", 3), ("service", 1)]);
    }

    #[test]
    fn header_without_wall_clock_has_no_times() {
        let mut log = Vec::new();
        write_header(&mut log, None).unwrap();
        let text = String::from_utf8(log).unwrap();
        assert!(!text.contains("Time:"), "{text}");
        assert_eq!(IntervalLogIterator::new(text.as_bytes()).count(), 0);
    }

    #[test]
    fn what_would_break_the_log_is_refused() {
        let mut log = Vec::new();
        let kind = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(write_interval(&mut log, "response", 0, 1, "junk\n")), io::ErrorKind::InvalidData);
        assert_eq!(kind(write_interval(&mut log, "a,b", 0, 1, &encoded(&[1]))), io::ErrorKind::InvalidInput);
        assert!(log.is_empty());
    }
}
