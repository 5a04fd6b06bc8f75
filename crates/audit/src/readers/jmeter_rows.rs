//! JMeter: its `.jtl` files as CSV, a sample in each line.

use super::require;
use super::samples::{Begun, Ended, Fold, SampleReader, Tally};
use crate::claim::{Claims, Figure, Mode};
use crate::{SAMPLE_LINE_MAX, Unreadable};

pub(super) const SAMPLES: SampleReader = SampleReader { begin };

/// As it is typed.
const NAME: &str = "jmeter";
/// More columns than JMeter can be told to write.
const COLUMNS_MAX: usize = 64;
/// A row that sums up others, which have rows of their own.
const TRANSACTION: &[u8] = b"Number of samples in transaction";
/// The code of what is no response begins so.
const NO_RESPONSE: &[u8] = b"Non HTTP response code";
const NS_PER_MS: i64 = 1_000_000;

/// Where the columns of interest are.
struct Columns {
    delimiter: u8,
    stamp: usize,
    elapsed: usize,
    code: usize,
    success: usize,
    message: Option<usize>,
    bytes: Option<usize>,
    threads: Option<usize>,
    url: Option<usize>,
}

struct Rows {
    columns: Columns,
    tally: Tally,
    /// Lines of a row whose quotes are still open.
    open: Vec<u8>,
    /// Bytes of the responses, and how many these were.
    bytes: (f64, u64),
    threads: f64,
    /// The URL of all requests; none once there are two.
    url: Option<Vec<u8>>,
    has_several_urls: bool,
}

fn begin(line: &[u8]) -> Option<Begun> {
    if line.windows(21).any(|part| part == b"<testResults version=") {
        let instead = "save it as CSV (-Jjmeter.save.saveservice.output_format=csv)";
        return Some(Err(Unreadable::OtherForm { tool: NAME, form: "XML", instead }));
    }
    if !line.starts_with(b"timeStamp") {
        return is_without_header(line).then(|| Err(missing(vec!["the header `timeStamp,elapsed,...`"])));
    }
    let delimiter = *line.get(b"timeStamp".len())?;
    let fields = fields(line, delimiter)?;
    let place = |name: &str| fields.1.iter().take(fields.0).position(|field| *field == name.as_bytes());
    let needed = ["timeStamp", "elapsed", "responseCode", "success"].map(place);
    let [Some(stamp), Some(elapsed), Some(code), Some(success)] = needed else {
        return Some(Err(missing(vec!["`elapsed`, `responseCode` or `success`"])));
    };
    let [message, bytes, threads, url] = ["responseMessage", "bytes", "allThreads", "URL"].map(place);
    let columns = Columns { delimiter, stamp, elapsed, code, success, message, bytes, threads, url };
    let rows = Rows {
        columns,
        tally: Tally::default(),
        open: Vec::new(),
        bytes: (0.0, 0),
        threads: 0.0,
        url: None,
        has_several_urls: false,
    };
    Some(Ok(Box::new(rows)))
}

fn missing(missing: Vec<&'static str>) -> Unreadable {
    Unreadable::Incomplete { tool: NAME, read: Vec::new(), missing }
}

/// A time in ms, how long it took, a label, a status.
fn is_without_header(line: &[u8]) -> bool {
    let Some((n, fields)) = fields(line, b',').filter(|(n, _)| *n > 7) else { return false };
    fields[0].len() == 13 && [fields[0], fields[1]].iter().all(|field| number(field).is_some()) && n < COLUMNS_MAX
}

/// The fields of a row, without their quotes; none where there are too many.
fn fields(row: &[u8], delimiter: u8) -> Option<(usize, [&[u8]; COLUMNS_MAX])> {
    let mut found = [&row[..0]; COLUMNS_MAX];
    let (mut n, mut begin, mut is_quoted) = (0, 0, false);
    for at in 0..=row.len() {
        match row.get(at) {
            Some(b'"') => is_quoted = !is_quoted,
            Some(byte) if *byte != delimiter || is_quoted => {}
            _ => {
                let field = &row[begin..at];
                let inner = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
                *found.get_mut(n)? = inner.unwrap_or(field);
                n += 1;
                begin = at + 1;
            }
        }
    }
    Some((n, found))
}

fn number(field: &[u8]) -> Option<i64> {
    let is_number = !field.is_empty() && field.len() < 17 && field.iter().all(u8::is_ascii_digit);
    is_number.then(|| field.iter().fold(0, |sum, digit| 10 * sum + i64::from(digit - b'0')))
}

impl Rows {
    fn row(&mut self, row: &[u8]) -> bool {
        let Some((n, fields)) = fields(row, self.columns.delimiter) else { return false };
        let field = |at: usize| fields[..n].get(at).copied().unwrap_or_default();
        let optional = |at: Option<usize>| at.map(field).unwrap_or_default();
        let message = optional(self.columns.message);
        if message.starts_with(TRANSACTION) {
            return true;
        }
        let times = number(field(self.columns.stamp)).zip(number(field(self.columns.elapsed)));
        let (Some((stamp, elapsed)), Some(is_good)) = (times, truth(field(self.columns.success))) else { return false };
        let code = field(self.columns.code);
        let how = match number(code).and_then(|code| u16::try_from(code).ok()) {
            Some(status @ 100..=399) if !is_good => Ended::Unwanted(status),
            Some(status @ 100..=599) => Ended::Status(status),
            _ if is_good => Ended::Good,
            _ if code.starts_with(NO_RESPONSE) && has(code, b"Timeout") => Ended::Late,
            _ if code.starts_with(NO_RESPONSE) => Ended::Broken,
            _ => Ended::Bad,
        };
        self.tally.ended(how, 1);
        let (from, length) = (stamp.saturating_mul(NS_PER_MS), elapsed.saturating_mul(NS_PER_MS));
        self.tally.lasted(from, from.saturating_add(length));
        if matches!(how, Ended::Broken | Ended::Late) {
            self.tally.reason(code);
            self.tally.reason(message);
        } else {
            self.tally.latency(length as f64);
            if let Some(bytes) = number(optional(self.columns.bytes)) {
                self.bytes = (self.bytes.0 + bytes as f64, self.bytes.1 + 1);
            }
        }
        self.threads = number(optional(self.columns.threads)).map_or(self.threads, |n| self.threads.max(n as f64));
        self.note_url(optional(self.columns.url));
        true
    }

    fn note_url(&mut self, url: &[u8]) {
        // Samples that are no requests have `null`.
        if url.is_empty() || url == b"null" || self.has_several_urls {
            return;
        }
        self.has_several_urls = self.url.as_ref().is_some_and(|known| known != url);
        match &self.url {
            None => self.url = Some(url.to_vec()),
            Some(_) if self.has_several_urls => self.url = None,
            Some(_) => {}
        }
    }
}

fn truth(field: &[u8]) -> Option<bool> {
    match field {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

impl Fold for Rows {
    fn line(&mut self, line: &[u8]) -> bool {
        let has_odd_quotes = line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        if self.open.is_empty() {
            if has_odd_quotes {
                self.open.extend_from_slice(line);
                return true;
            }
            // Where a run was appended to another, the header comes again.
            return line.starts_with(b"timeStamp") || self.row(line);
        }
        if self.open.len() + line.len() > SAMPLE_LINE_MAX {
            self.open = Vec::new();
            return false;
        }
        self.open.push(b' ');
        self.open.extend_from_slice(line);
        if !has_odd_quotes {
            return true;
        }
        let row = std::mem::take(&mut self.open);
        self.row(&row)
    }

    fn finish(self: Box<Self>, mut claims: Claims) -> Result<Claims, Unreadable> {
        claims.unread_lines += u64::from(!self.open.is_empty());
        // Its threads wait for their answers.
        claims.mode = Some(Mode::Closed);
        self.tally.put(&mut claims);
        claims.put(Figure::Connections, Some(self.threads).filter(|threads| *threads > 0.0), None);
        claims.put(Figure::Resolution, Some(NS_PER_MS as f64), None);
        let (bytes, n) = self.bytes;
        claims.put(Figure::ResponseBytes, (n > 0).then(|| bytes / n as f64), None);
        claims.url = self.url.map(|url| String::from_utf8_lossy(&url).into_owned());
        require(claims, &[(Figure::Responses, "samples"), (Figure::Duration, "`timeStamp` in ms")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_be_quoted() {
        let (n, found) = fields(b"1,\"a, \"\"b\"\"\",,true", b',').unwrap();
        assert_eq!(found[..n], [&b"1"[..], b"a, \"\"b\"\"", b"", b"true"]);
        assert!(fields(&[b','; COLUMNS_MAX], b',').is_none());
    }
}
