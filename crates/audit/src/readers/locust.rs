//! Locust: the row `Aggregated` of its tables on the console, with its report of errors, and of the `_stats.csv` of `--csv`.

use super::{Keeps, TextReader, Tool, add_failed, quantile, require, status_in};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::scan::number;
use crate::text::Text;

pub(super) const TOOL: Tool = Tool {
    name: "locust",
    text: Some(TEXT),
    json: None,
    csv: Some(read),
    samples: None,
    keeps: Keeps::Always,
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-u", "--users"], Figure::Connections, Unit::Number),
        // Of versions before 1.
        flag(&["-c", "--clients"], Figure::Connections, Unit::Number),
        flag(&["-t", "--run-time"], Figure::DurationAsked, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.contains("Starting Locust"),
    ends: |_| false,
    leads: |line| is_head(line) || line.starts_with("---") || line.contains("%) "),
    so_far: Some(|line| row(line).map(|row| row.requests)),
    parts: None,
    read: read_text,
};

/// Below 100 ms Locust rounds to whole ms, above to two digits.
const RESOLUTION_NS: f64 = 1e6;
/// Figures behind the failures.
const CELLS_MAX: usize = 6;
/// Shares of failures are printed in hundredths of a percent.
const SHARE_ROUNDED: f64 = 0.006;
/// In errors of requests that were not answered.
const UNANSWERED: [&str; 8] = [
    "ConnectionError",
    "ConnectionRefused",
    "ConnectionReset",
    "ConnectionAborted",
    "RemoteDisconnected",
    "Timeout",
    "timed out",
    "ChunkedEncodingError",
];
/// The names of a column since version 1 and before it, figure, scale.
const COLUMNS: [([&str; 2], Figure, f64); 12] = [
    (["Request Count", "# requests"], Figure::InRate, 1.0),
    (["Failure Count", "# failures"], Figure::BadOrBroken, 1.0),
    (["Average Response Time", "Average response time"], Figure::LatencyMean, 1e6),
    (["Min Response Time", "Min response time"], Figure::LatencyMin, 1e6),
    (["Max Response Time", "Max response time"], Figure::LatencyMax, 1e6),
    (["Average Content Size"; 2], Figure::BodyBytes, 1.0),
    (["Requests/s"; 2], Figure::Throughput, 1.0),
    (["50%"; 2], Figure::LatencyP50, 1e6),
    (["75%"; 2], Figure::LatencyP75, 1e6),
    (["90%"; 2], Figure::LatencyP90, 1e6),
    (["99%"; 2], Figure::LatencyP99, 1e6),
    (["99.9%"; 2], Figure::LatencyP999, 1e6),
];

/// None when it is no such file.
pub(super) fn read(text: &Text, mut claims: Claims) -> Option<Result<Claims, Unreadable>> {
    let (_, head) = text.lines().next()?;
    let csv = |line: &str| -> Option<csv::StringRecord> {
        csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes()).records().next()?.ok()
    };
    let columns = csv(head)?;
    let place = |names: [&str; 2]| columns.iter().position(|column| names.contains(&column));
    let is_locust = matches!(columns.get(0), Some("Type" | "Method")) && place(COLUMNS[0].0).is_some();
    is_locust.then(|| {
        claims.mode = Some(Mode::Closed);
        let total = text
            .lines()
            .find_map(|(n, line)| csv(line).filter(|row| row.get(1).is_some_and(is_total)).map(|row| (n, row)));
        if let Some((n, row)) = total {
            for (names, figure, scale) in COLUMNS {
                let cell = place(names).and_then(|at| row.get(at));
                claims.put(figure, cell.and_then(number).map(|value| value * scale), Some(n));
            }
        }
        let [requests, failures, rate] =
            [Figure::InRate, Figure::BadOrBroken, Figure::Throughput].map(|figure| claims.get(figure));
        let length = requests.zip(rate.filter(|rate| *rate > 0.0));
        claims.put(Figure::Duration, length.map(|(n, per_s)| n / per_s * 1e9), None);
        // Whether a failure is one of the status or of the connection stands in `_failures.csv`.
        let responses = requests.zip(failures).map(|(requests, failures)| (requests - failures).max(0.0));
        claims.put(Figure::Responses, responses, None);
        claims.put(Figure::BadStatus, Some(0.0), None);
        claims.put(Figure::Broken, Some(0.0), None);
        claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
        let needed = [
            (Figure::InRate, "row `Aggregated`, `Request Count`"),
            (Figure::BadOrBroken, "`Failure Count`"),
            (Figure::Throughput, "`Requests/s`"),
        ];
        require(claims, &needed)
    })
}

/// The row of all requests of a table. `cells` are behind the failures: average, minimum, maximum and median in ms, requests
/// per second, and failures per second since version 1; versions before 0.10 have the requests per second alone.
struct Row {
    requests: f64,
    failures: f64,
    cells: Vec<f64>,
}

/// ` Aggregated   9399     0(0.00%)  |   7   7   27   7 | 120.50   0.00`.
fn row(line: &str) -> Option<Row> {
    let (left, right) = line.split_once("%)")?;
    let mut words = left.rsplit(['|', ' ']).filter(|word| !word.is_empty());
    let (failures, share) = words.next()?.split_once('(')?;
    let (failures, share) = (number(failures)?, number(share)?);
    let requests = number(words.next()?)?;
    let name = words.next()?;
    let cells = right.split(['|', ' ']).filter(|word| !word.is_empty()).map_while(number);
    let cells: Vec<f64> = cells.take(CELLS_MAX + 1).collect();
    // Versions before 0.12 do not count failures among the requests; their share tells.
    let is_share_of = |all: f64| (share - 100.0 * failures / all).abs() < SHARE_ROUNDED;
    let is_apart = failures > 0.0 && !is_share_of(requests) && is_share_of(requests + failures);
    let requests = if is_apart { requests + failures } else { requests };
    (is_total(name) && matches!(cells.len(), 1 | 5 | CELLS_MAX)).then_some(Row { requests, failures, cells })
}

/// The name of the row of all requests, in newer and older versions.
fn is_total(name: &str) -> bool {
    name == "Aggregated" || name == "Total"
}

fn is_head(line: &str) -> bool {
    line.contains("# reqs")
}

fn read_text(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut last = None;
    let (mut tables, mut in_errors, mut is_final) = (0, false, false);
    let mut percentiles: Option<Vec<f64>> = None;
    let mut errors: Vec<(&str, f64)> = Vec::new();
    for (n, line) in text.lines() {
        if let Some(row) = row(line) {
            tables += 1;
            last = Some((n, row));
            is_final = false;
        } else if is_head(line) {
            percentiles = line.contains('%').then(|| percentiles_of(line));
            in_errors = false;
        } else if line.starts_with("Response time percentiles") || line.starts_with("Percentage of the requests") {
            is_final = true;
        } else if line.starts_with("Error report") {
            in_errors = true;
        } else if let Some((occurrences, error)) = line.split_once(' ').filter(|_| in_errors) {
            errors.extend(number(occurrences).map(|n| (error, n)));
        } else if let Some(percents) = &percentiles {
            put_percentiles(&mut claims, percents, line, n);
        } else {
            claims.unread_lines += u64::from(!line.contains('%') && !line.starts_with("---") && !line.starts_with('['));
        }
    }
    if let Some((n, row)) = &last {
        put_row(&mut claims, row, *n);
        put_errors(&mut claims, row, &errors);
        // On its way it prints the rate of the last seconds, in its last table that of the whole run.
        if is_final || tables == 1 {
            let length =
                claims.get(Figure::Throughput).filter(|rate| *rate > 0.0).map(|rate| row.requests / rate * 1e9);
            claims.put(Figure::Duration, length, None);
        }
    }
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    let needed = [(Figure::Responses, "row `Aggregated`"), (Figure::Throughput, "`req/s`")];
    require(claims, &needed)
}

/// The percents over the columns of a table; those of `# reqs` and of names are none.
fn percentiles_of(head: &str) -> Vec<f64> {
    let head = head.replace("# reqs", "#reqs");
    let columns = head.split_whitespace().skip_while(|word| !word.ends_with('%') && *word != "#reqs");
    columns.map(|word| number(word.trim_end_matches('%')).unwrap_or(0.0)).collect()
}

fn put_percentiles(claims: &mut Claims, percents: &[f64], line: &str, n: u64) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(values) = words.iter().position(|word| is_total(word)).map(|at| &words[at + 1..]) else { return };
    for (percent, value) in percents.iter().zip(values) {
        if let Some(figure) = quantile(*percent) {
            claims.put(figure, number(value).map(|ms| ms * 1e6), Some(n));
        }
    }
}

fn put_row(claims: &mut Claims, row: &Row, n: u64) {
    let figures = [Figure::LatencyMean, Figure::LatencyMin, Figure::LatencyMax, Figure::LatencyP50];
    let rate = if row.cells.len() == 1 { 0 } else { figures.len() };
    for (figure, ms) in figures.iter().zip(&row.cells[..rate]).filter(|_| row.requests > 0.0) {
        claims.put(*figure, Some(ms * 1e6), Some(n));
    }
    claims.put(Figure::Throughput, row.cells.get(rate).copied(), Some(n));
    claims.put(Figure::InRate, Some(row.requests), None);
}

/// What the report of errors says of the failures; versions and tables without it do not tell which they were.
fn put_errors(claims: &mut Claims, row: &Row, errors: &[(&str, f64)]) {
    let mut untold = row.failures;
    for (error, n) in errors {
        let n = n.min(untold);
        if let Some(status) = status_of(error) {
            add_failed(claims, status, n, None);
        } else if UNANSWERED.iter().any(|words| error.contains(words)) {
            claims.add(Figure::Broken, n, None);
        } else {
            continue;
        }
        untold -= n;
    }
    claims.put(Figure::BadStatus, Some(0.0), None);
    claims.put(Figure::Broken, Some(0.0), None);
    claims.put(Figure::BadOrBroken, Some(untold), None);
    let unanswered = claims.get(Figure::Broken).unwrap_or(0.0) + untold;
    claims.put(Figure::Responses, Some((row.requests - unanswered).max(0.0)), None);
}

/// `HTTPError('503 Server Error: ...')`, and `BadStatusCode('http://h/', code=503)` of its faster client.
fn status_of(error: &str) -> Option<u16> {
    let behind = |mark: &str| error.split_once(mark).map(|(_, rest)| rest);
    let rest = behind("HTTPError('").or_else(|| behind("HTTPError(\"")).or_else(|| behind("code="))?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| status_in(rest)).flatten()
}
