//! HdrHistogram interval logs, written and read back: the format its plotters and log processors read.
//!
//! One line for each histogram: `Tag=response,start_s,length_s,max_ms,BASE64`. Times are seconds since the
//! base time of the header, values inside the histogram are ns, the maximum in the line is ms, all as the Java
//! `HistogramLogWriter` has it.

use crate::lines;
use model::{DecodeError, Histograms, MergedHistogram, Tick};
use std::io::{self, BufRead, Write};
use thiserror::Error;

/// Begin of the tags of histograms of disturbed time.
const SET_ASIDE: &str = "set_aside_";
/// Longest line: the largest histogram has less than half of it.
const LINE_MAX_BYTES: u64 = 1 << 20;
/// Most intervals of a log: those of a week. With the most values that each may have their sum does not overflow.
const INTERVALS_MAX: u64 = 1 << 23;

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

/// Writes one tagged histogram of the interval that begins `start_ns` after the base time and is `length_ns` long; nothing
/// when it is empty.
///
/// # Errors
/// Whatever `out` reports; `InvalidInput` when `tag` would break the line.
pub fn write_interval(
    out: &mut impl Write,
    tag: &str,
    start_ns: u64,
    length_ns: u64,
    histogram: &MergedHistogram,
) -> io::Result<()> {
    if histogram.is_empty() {
        return Ok(());
    }
    if tag.is_empty() || tag.contains([',', '\r', '\n', ' ']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "tag of an interval log must be one plain word"));
    }
    let (max_ms, encoded) = (histogram.summary().max_ns as f64 / 1e6, histogram.encode());
    writeln!(out, "Tag={tag},{},{max_ms:.3},{encoded}", span(start_ns, length_ns))
}

/// Writes all histograms of a tick.
///
/// # Errors
/// Whatever `out` reports.
pub fn write_tick(out: &mut impl Write, tick: &Tick) -> io::Result<()> {
    let length_ns = tick.to_ns - tick.from_ns;
    for (name, histogram) in tick.histograms.each() {
        write_interval(out, name, tick.from_ns, length_ns, histogram)?;
    }
    for (name, histogram) in tick.set_aside.each() {
        write_interval(out, &format!("{SET_ASIDE}{name}"), tick.from_ns, length_ns, histogram)?;
    }
    Ok(())
}

/// Reason why a log cannot be read back.
#[derive(Debug, Error)]
pub enum LogError {
    /// An error of the system, or a line that no log has.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A histogram that cannot be read.
    #[error(transparent)]
    Histogram(#[from] DecodeError),
    /// More intervals than a load of a week has.
    #[error("has more than {INTERVALS_MAX} intervals")]
    TooMany,
}

/// Intervals of a log in order, up to where it breaks off. One line is in memory at a time; after an error there is nothing
/// more to be read.
#[derive(Debug)]
pub struct Intervals<R> {
    log: R,
    line: Vec<u8>,
    read: u64,
}

impl<R: BufRead> Intervals<R> {
    /// Those of `log`, which may come from anywhere.
    pub const fn new(log: R) -> Self {
        Self { log, line: Vec::new(), read: 0 }
    }

    fn read_next(&mut self) -> Result<Option<Interval>, LogError> {
        while lines::next(&mut self.log, &mut self.line, LINE_MAX_BYTES)? {
            let line = str::from_utf8(&self.line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let Some(interval) = Interval::parse(line)? else { continue };
            self.read += 1;
            return if self.read > INTERVALS_MAX { Err(LogError::TooMany) } else { Ok(Some(interval)) };
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Intervals<R> {
    type Item = Result<Interval, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

/// A line of a log that was read back.
#[derive(Clone, Debug)]
pub struct Interval {
    /// What the histogram is of.
    pub tag: String,
    /// Begin and length as they are written.
    span: String,
    /// Its values.
    pub histogram: MergedHistogram,
}

impl Interval {
    /// Reads a line that [`write_interval`] has written; none from any other line of a log.
    ///
    /// # Errors
    /// When its histogram cannot be read.
    pub fn parse(line: &str) -> Result<Option<Self>, DecodeError> {
        let parts = line.strip_prefix("Tag=").map(|line| line.splitn(5, ',').collect::<Vec<_>>());
        let Some([tag, start, length, _, encoded]) = parts.as_deref() else { return Ok(None) };
        let histogram = MergedHistogram::decode(encoded)?;
        Ok(Some(Self { tag: (*tag).to_owned(), span: format!("{start},{length}"), histogram }))
    }

    /// Which of the histograms of a tick it is, of all that came or of those of disturbed time; none of an unknown tag.
    pub fn place<'a>(
        &self,
        histograms: &'a mut Histograms,
        set_aside: &'a mut Histograms,
    ) -> Option<&'a mut MergedHistogram> {
        match self.tag.strip_prefix(SET_ASIDE) {
            Some(name) => set_aside.named_mut(name),
            None => histograms.named_mut(&self.tag),
        }
    }

    /// True if it is the interval from `from_ns` to `to_ns`.
    #[must_use]
    pub fn is_of(&self, from_ns: u64, to_ns: u64) -> bool {
        self.span == span(from_ns, to_ns.saturating_sub(from_ns))
    }
}

/// Begin and length in seconds, as a log has them.
fn span(start_ns: u64, length_ns: u64) -> String {
    format!("{:.3},{:.3}", start_ns as f64 / 1e9, length_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::time::Duration;

    fn histogram(values: &[u64]) -> MergedHistogram {
        let mut h = MergedHistogram::default();
        values.iter().for_each(|v| h.record(*v));
        h
    }

    #[test]
    fn the_reference_reader_reads_it_back() {
        let (response, service) = (histogram(&[1_000_000, 2_000_000, 40_000_000]), histogram(&[900_000]));
        let mut log = Vec::new();
        write_header(&mut log, Some(1_700_000_000.25)).unwrap();
        write_interval(&mut log, "response", 0, 1_000_000_000, &response).unwrap();
        write_interval(&mut log, "service", 1_000_000_000, 500_000_000, &service).unwrap();
        write_interval(&mut log, "slip_client", 1_000_000_000, 500_000_000, &histogram(&[])).unwrap();

        let base = Duration::from_millis(1_700_000_000_250);
        let entries: Vec<_> = IntervalLogIterator::new(&log).collect::<Result<_, _>>().unwrap();
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[0], LogEntry::StartTime(base));
        assert_eq!(entries[1], LogEntry::BaseTime(base));
        let LogEntry::Interval(first) = &entries[2] else { panic!("{:?}", entries[2]) };
        assert_eq!(first.tag().unwrap().as_str(), "response");
        assert_eq!((first.start_timestamp(), first.duration()), (Duration::ZERO, Duration::from_secs(1)));
        assert!((first.max() - 40.0).abs() < 0.04, "{}", first.max());
        assert_eq!(first.encoded_histogram(), response.encode());
        let LogEntry::Interval(second) = &entries[3] else { panic!("{:?}", entries[3]) };
        assert_eq!(second.tag().unwrap().as_str(), "service");
        assert_eq!((second.start_timestamp(), second.duration()), (Duration::from_secs(1), Duration::from_millis(500)));
        assert_eq!(MergedHistogram::decode(second.encoded_histogram()).unwrap().count(), 1);

        let read: Vec<_> = Intervals::new(log.as_slice()).collect::<Result<_, _>>().unwrap();
        let counts: Vec<_> = read.iter().map(|interval| (interval.tag.as_str(), interval.histogram.count())).collect();
        assert_eq!(counts, [("response", 3), ("service", 1)]);
        assert!(read[1].is_of(1_000_000_000, 1_500_000_000) && !read[1].is_of(1_000_000_000, 2_000_000_000));
        assert!(Interval::parse("Tag=response,0.000,1.000,1.000,AAAA").is_err());
    }

    #[test]
    fn a_log_is_read_up_to_where_it_breaks_off_or_is_damaged() {
        let mut log = Vec::new();
        write_interval(&mut log, "response", 0, 1_000_000_000, &histogram(&[1])).unwrap();
        let whole = log.len();
        write_interval(&mut log, "response", 1_000_000_000, 1_000_000_000, &histogram(&[2])).unwrap();
        assert_eq!(Intervals::new(&log[..log.len() - 1]).filter_map(Result::ok).count(), 1);
        log.truncate(whole);
        log.extend_from_slice(b"Tag=response,0.000,1.000,1.000,AAAA\n");
        let read: Vec<_> = Intervals::new(log.as_slice()).take(2).map(|interval| interval.is_ok()).collect();
        assert_eq!(read, [true, false]);
    }

    #[test]
    fn a_line_without_an_end_is_an_error_and_not_a_string_of_gigabytes() {
        let endless = io::BufReader::new(io::repeat(b'A'));
        let error = Intervals::new(endless).next().expect("an error").unwrap_err();
        assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
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
        assert_eq!(kind(write_interval(&mut log, "a,b", 0, 1, &histogram(&[1]))), io::ErrorKind::InvalidInput);
        assert!(log.is_empty());
    }
}
