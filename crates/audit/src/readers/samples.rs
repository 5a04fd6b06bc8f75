//! Files of samples, one request in a line: folded line by line in bounded memory, however long they are.

use super::{Tool, commands_above, with_url};
use crate::claim::{Claims, Figure};
use crate::reason::Reason;
use crate::text::Text;
use crate::{SAMPLE_LINE_MAX, Unreadable};
use model::{MergedHistogram, NS_PER_S, count_secrets};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};

/// The first sample stands no further down; above it is the command, and what the tool said before.
const HEAD_LINES: usize = 20;
/// Longer errors are cut before they are searched for a reason.
const REASON_BYTES: usize = 500;
/// A file names the same URLs again and again: secrets are looked for in so many bytes of it.
const SECRETS_IN_BYTES: usize = 64 << 10;

/// A tool's samples.
pub(crate) struct SampleReader {
    /// Starts with the first line of such a file, which is folded too; none of any other line.
    pub(super) begin: fn(&[u8]) -> Option<Begun>,
}

/// A file of samples that has begun, or why its form is not read.
pub(super) type Begun = Result<Box<dyn Fold>, Unreadable>;

/// Takes down samples one by one.
pub(super) trait Fold {
    /// A line without its end. False if it was not understood.
    fn line(&mut self, line: &[u8]) -> bool;
    /// What all of them say.
    fn finish(self: Box<Self>, claims: Claims) -> Result<Claims, Unreadable>;
}

/// Samples that were found at the begin of a file.
pub(crate) struct Samples {
    tool: &'static Tool,
    fold: Box<dyn Fold>,
    /// What stands above them.
    head: Option<Text>,
    secrets: u64,
    /// Where the first one begins.
    at: usize,
}

impl Samples {
    /// The samples that begin in the first lines of a file, which are all in `begin`.
    pub(crate) fn at(begin: &[u8], tools: &'static [Tool]) -> Option<Result<Self, Unreadable>> {
        let body = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let mut at = begin.len() - body.len();
        for _ in 0..HEAD_LINES {
            let rest = begin.get(at..).filter(|rest| !rest.is_empty())?;
            let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
            let begins = without_end(&rest[..length]);
            let found = tools.iter().find_map(|tool| Some((tool, (tool.samples.as_ref()?.begin)(begins)?)));
            if let Some((tool, fold)) = found {
                let secrets = count_secrets(&String::from_utf8_lossy(&begin[..begin.len().min(SECRETS_IN_BYTES)]));
                let head = Text::decode(&begin[..at]).ok();
                return Some(fold.map(|fold| Self { tool, fold, head, secrets, at }));
            }
            at += length;
        }
        None
    }

    /// Credentials in the first lines.
    pub(crate) const fn secrets(&self) -> u64 {
        self.secrets
    }

    /// Folds the samples in `begin`, which was read already, and in `input`, which follows.
    ///
    /// # Errors
    /// When it cannot be read, or lacks what is needed.
    pub(crate) fn read(mut self, begin: &[u8], input: impl Read) -> Result<Claims, Unreadable> {
        let mut input = io::BufReader::with_capacity(1 << 20, begin[self.at..].chain(input));
        let mut line = Vec::new();
        let mut unread = 0;
        while next_line(&mut input, &mut line)? {
            let text = without_end(&line);
            unread += u64::from(!text.is_empty() && !self.fold.line(text));
        }
        let mut claims = commands_above(self.tool, self.head.as_ref());
        let above = self.head.as_ref().map_or(0, |head| head.lines().count()) as u64;
        claims.unread_lines = unread + above.saturating_sub(u64::from(claims.command.is_some()));
        self.fold.finish(claims).map(with_url)
    }
}

/// Reads a line with its end; false at the end of the file.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, Unreadable> {
    line.clear();
    let limit = SAMPLE_LINE_MAX as u64 + 1;
    let read = input.by_ref().take(limit).read_until(b'\n', line);
    match read {
        Ok(0) => Ok(false),
        Ok(_) if line.len() > SAMPLE_LINE_MAX => Err(Unreadable::LongLine),
        Ok(_) => Ok(true),
        Err(error) => Err(Unreadable::NotRead { error: error.to_string() }),
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a response of this status.
    Status(u16),
    /// With a response of this status, which the load was not to have, whatever it is.
    Unwanted(u16),
    /// With a response that the tool took for good; its status is not told.
    Good,
    /// As the tool did not want it, with or without a response.
    Bad,
    /// Without a response.
    Broken,
    /// Without one in time.
    Late,
}

/// Sums over samples.
#[derive(Default)]
pub(super) struct Tally {
    latencies: MergedHistogram,
    sum_ns: f64,
    /// Responses by status.
    status: BTreeMap<u16, u64>,
    redirects: u64,
    bad_status: u64,
    good: u64,
    bad: u64,
    broken: u64,
    late: u64,
    /// When the first request began and the last one ended; ns since whenever.
    span: Option<(i64, i64)>,
    reasons: BTreeSet<Reason>,
    /// The error that was searched for a reason last: most are alike.
    searched: Vec<u8>,
}

impl Tally {
    /// So many requests ended like this.
    pub(super) fn ended(&mut self, how: Ended, n: u64) {
        match how {
            Ended::Status(status) => {
                *self.status.entry(status).or_default() += n;
                match status {
                    200..=299 | 304 => {}
                    300..=399 => self.redirects += n,
                    _ => self.bad_status += n,
                }
            }
            Ended::Unwanted(status) => {
                *self.status.entry(status).or_default() += n;
                self.bad_status += n;
            }
            Ended::Good => self.good += n,
            Ended::Bad => self.bad += n,
            Ended::Broken => self.broken += n,
            Ended::Late => {
                self.broken += n;
                self.late += n;
            }
        }
    }

    /// The response time of a request that had a response.
    pub(super) fn latency(&mut self, ns: f64) {
        // A negative time is of a clock that was set back.
        let ns = ns.max(0.0);
        self.latencies.record(ns as u64);
        self.sum_ns += ns;
    }

    /// A request began and ended then.
    pub(super) fn lasted(&mut self, from_ns: i64, until_ns: i64) {
        let (first, last) = self.span.unwrap_or((from_ns, until_ns));
        self.span = Some((first.min(from_ns), last.max(until_ns)));
    }

    /// What the tool says of a failure.
    pub(super) fn reason(&mut self, error: &[u8]) {
        let error = &error[..error.len().min(REASON_BYTES)];
        if !error.is_empty() && self.searched != error {
            self.searched.clear();
            self.searched.extend_from_slice(error);
            self.reasons.extend(Reason::of(&String::from_utf8_lossy(error)));
        }
    }

    /// Takes all of it down.
    pub(super) fn put(self, claims: &mut Claims) {
        let responses = self.status.values().sum::<u64>() + self.good;
        let all = responses + self.bad + self.broken;
        if all == 0 {
            return;
        }
        claims.put(Figure::Responses, Some(responses as f64), None);
        claims.put(Figure::BadStatus, Some(self.bad_status as f64), None);
        // Whether there were redirects among those of an unknown status is not told.
        claims.put(Figure::Redirects, (self.good == 0).then_some(self.redirects as f64), None);
        claims.put(Figure::BadOrBroken, Some(self.bad as f64).filter(|bad| *bad > 0.0), None);
        claims.put(Figure::Broken, Some(self.broken as f64), None);
        claims.put(Figure::Timeouts, Some(self.late as f64), None);
        claims.status = self.status;
        claims.reasons = self.reasons;
        if let Some((first, last)) = self.span {
            let ns = last.saturating_sub(first) as f64;
            claims.put(Figure::Duration, Some(ns).filter(|ns| *ns > 0.0), None);
            claims.put(Figure::Throughput, Some(all as f64 / ns * NS_PER_S as f64), None);
        }
        if self.latencies.is_empty() {
            return;
        }
        let summary = self.latencies.summary();
        claims.put(Figure::LatencyMean, Some(self.sum_ns / summary.n as f64), None);
        for (figure, ns) in [
            (Figure::LatencyMin, summary.min_ns),
            (Figure::LatencyP50, summary.p50_ns),
            (Figure::LatencyP90, summary.p90_ns),
            (Figure::LatencyP95, summary.p95_ns),
            (Figure::LatencyP99, summary.p99_ns),
            (Figure::LatencyMax, summary.max_ns),
        ] {
            claims.put(figure, Some(ns as f64), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_refused() {
        let mut line = Vec::new();
        let endless = io::repeat(b'a');
        let read = next_line(&mut io::BufReader::new(endless), &mut line);
        assert!(matches!(read, Err(Unreadable::LongLine)), "{read:?}");
    }

    #[test]
    fn sums_are_over_all_requests() {
        let mut tally = Tally::default();
        for n in 0..100_i64 {
            tally.ended(if n < 90 { Ended::Status(200) } else { Ended::Status(503) }, 1);
            tally.latency(1e6 * (n + 1) as f64);
            tally.lasted(n * 10_000_000, n * 10_000_000 + 10_000_000);
        }
        tally.ended(Ended::Late, 1);
        let mut claims = Claims::new("k6", None);
        tally.put(&mut claims);
        let get = |figure| claims.get(figure).unwrap();
        assert_eq!(
            [Figure::Responses, Figure::BadStatus, Figure::Broken, Figure::Timeouts].map(get),
            [100.0, 10.0, 1.0, 1.0]
        );
        assert_eq!((get(Figure::Duration), get(Figure::LatencyMean)), (1e9, 50.5e6));
        assert!((get(Figure::Throughput) - 101.0).abs() < 1e-9);
        assert!((get(Figure::LatencyP99) / 99e6 - 1.0).abs() < 0.001);
    }
}
