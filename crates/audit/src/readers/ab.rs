//! ApacheBench 2.x: `Server Software:` to the table of percentages.

use super::{Keeps, TextReader, Tool, require};
use crate::Unreadable;
use crate::asked::{Flags, Style, Unit, flag};
use crate::claim::{Claims, Figure, Mode};
use crate::reason::Reason;
use crate::scan::{after, number};
use crate::text::Text;
use model::Redacted;

pub(super) const TOOL: Tool = Tool {
    name: "ab",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: None,
    keeps: Keeps::Told(|claims| Some(claims.get(Figure::KeptAlive).is_some_and(|n| n > 0.0))),
    called: &[],
    flags: FLAGS,
};

const FLAGS: Flags = Flags {
    style: Style::Getopt,
    flags: &[
        flag(&["-c"], Figure::Connections, Unit::Number),
        flag(&["-n"], Figure::Planned, Unit::Number),
        flag(&["-t"], Figure::DurationAsked, Unit::Time),
        flag(&["-s"], Figure::Timeout, Unit::Time),
    ],
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Concurrency Level:"),
    ends: |line| line.starts_with("Requests per second:"),
    leads: |line| {
        let heads = ["This is ApacheBench", "Copyright ", "Licensed to", "Benchmarking ", "Completed ", "Finished "];
        heads.iter().chain(&["Server ", "SSL/TLS", "TLS ", "Document "]).any(|head| line.starts_with(head))
    },
    so_far: None,
    parts: None,
    read,
};

/// ab gives up on a response after this, unless told otherwise.
const TIMEOUT_NS: f64 = 30e9;
/// ab prints whole milliseconds.
const RESOLUTION_NS: f64 = 1e6;
/// Labels whose first word is the figure, with what it counts in.
const LABELS: [(&str, Figure, f64); 7] = [
    ("Concurrency Level:", Figure::Connections, 1.0),
    ("Time taken for tests:", Figure::Duration, 1e9),
    ("Complete requests:", Figure::Planned, 1.0),
    ("Non-2xx responses:", Figure::BadStatus, 1.0),
    ("Keep-Alive requests:", Figure::KeptAlive, 1.0),
    ("Requests per second:", Figure::Throughput, 1.0),
    ("Document Length:", Figure::BodyBytes, 1.0),
];
/// A few that failed in other ways change nothing.
const ALL_SHARE: f64 = 0.99;
/// Lines that hold nothing to be judged.
const KNOWN: [&str; 20] = [
    "This is ApacheBench",
    "Copyright ",
    "Licensed to",
    "Benchmarking ",
    "Completed ",
    "Finished ",
    "Server ",
    "TLS Server Name:",
    "Failed requests:",
    "Write errors:",
    "Total ",
    "Transfer rate:",
    "Connection Times (ms)",
    "min  mean",
    "Connect:",
    "Processing:",
    "Waiting:",
    "Percentage of",
    "WARNING: ",
    "Time per request:",
];

/// Where the requests went, which ab prints in pieces.
#[derive(Default)]
struct Server {
    host: Option<String>,
    port: Option<u16>,
    is_tls: bool,
}

impl Server {
    /// The URL of `path`; the port stands in it unless it is that of the scheme.
    fn url(&self, path: &str) -> Option<String> {
        let host = self.host.as_deref()?;
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        let (scheme, default) = if self.is_tls { ("https", 443) } else { ("http", 80) };
        let port = self.port.filter(|port| *port != default).map_or_else(String::new, |port| format!(":{port}"));
        Some(format!("{scheme}://{host}{port}{path}"))
    }
}

/// True if bad statuses and empty responses together are all there were: either the page is good and half of the answers are
/// bad and empty, or the first answer was bad already and the others were closed connections, which have no status.
fn may_overlap(claims: &Claims, wrong_size: f64, html_bytes: Option<f64>) -> bool {
    let get = |figure| claims.get(figure).unwrap_or(0.0);
    let (bad, all) = (get(Figure::BadStatus), get(Figure::Planned));
    let are_empty = html_bytes.is_some_and(|bytes| bytes <= get(Figure::BodyBytes) * (all - wrong_size).max(0.0));
    bad > 0.0 && wrong_size > 0.0 && are_empty && bad + wrong_size >= ALL_SHARE * all
}

/// Why ab ended without a result.
pub(super) fn not_finished(text: &Text) -> Option<Unreadable> {
    let is_ab =
        text.lines().any(|(_, line)| line.starts_with("This is ApacheBench") || line.starts_with("Benchmarking "));
    let said = |(_, line): (u64, &str)| {
        let error = line.find("apr_").map(|at| &line[at..]);
        error.or_else(|| line.starts_with("Test aborted after").then_some(line)).map(str::to_owned)
    };
    let reason = text.lines().filter_map(said).last().filter(|_| is_ab)?;
    let remedy = Reason::of(&reason).map_or(
        "ab stops at the first error of a connection; -r lets it go on, and -s sets its timeout",
        Reason::remedy,
    );
    let reason = Redacted::text(&format!("{reason}; {remedy}")).into_inner();
    Some(Unreadable::NotStarted { tool: "ab", reason })
}

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    claims.mode = Some(Mode::Closed);
    let mut wrong_size = 0.0;
    let mut html_bytes = None;
    let mut server = Server::default();
    for (n, line) in text.lines() {
        let first = |label: &str| after(line, label).and_then(|rest| rest.split_whitespace().next());
        let known = LABELS.iter().find(|(label, ..)| line.starts_with(label));
        if let Some((label, figure, scale)) = known {
            claims.put(*figure, first(label).and_then(number).map(|value| value * scale), Some(n));
        } else if line.starts_with("(Connect: ") {
            let of = |label: &str| crate::scan::word_after(line, label).and_then(number).unwrap_or(0.0);
            wrong_size = of("Length: ");
            // One request can be counted in several of them.
            let complete = claims.get(Figure::Planned).unwrap_or(f64::INFINITY);
            let broken = of("Connect: ") + of("Receive: ") + of("Exceptions: ");
            claims.put(Figure::Broken, Some(broken.min(complete)), Some(n));
        } else if let Some(path) = after(line, "Document Path:") {
            claims.url = Some(path.to_owned());
        } else if let Some(host) = after(line, "Server Hostname:") {
            server.host = Some(host.to_owned());
        } else if let Some(port) = after(line, "Server Port:") {
            server.port = port.parse().ok();
        } else if line.starts_with("HTML transferred:") {
            html_bytes = first("HTML transferred:").and_then(number);
        } else if line.starts_with("SSL/TLS Protocol:") {
            server.is_tls = true;
        } else if line.starts_with("Time per request:") {
            let figure = if line.contains("across all") { Figure::Interval } else { Figure::LatencyMean };
            claims.put(figure, first("Time per request:").and_then(number).map(|ms| ms * 1e6), Some(n));
        } else if !quantile(&mut claims, line, n) && !KNOWN.iter().any(|known| line.starts_with(known)) {
            claims.unread_lines += 1;
        }
    }
    claims.put(Figure::Resolution, Some(RESOLUTION_NS), None);
    claims.put(Figure::BadStatus, Some(0.0), None);
    claims.put(Figure::Broken, Some(0.0), None);
    let bad = claims.get(Figure::BadStatus).unwrap_or(0.0);
    // A bad status usually comes with another body, and is then counted as a wrong length too.
    claims.put(Figure::WrongSize, Some((wrong_size - bad).max(0.0)), None);
    let complete = claims.get(Figure::Planned);
    claims.may_overlap = may_overlap(&claims, wrong_size, html_bytes);
    claims.put(Figure::Responses, complete.map(|n| (n - claims.get(Figure::Broken).unwrap_or(0.0)).max(0.0)), None);
    claims.url = claims.url.map(|path| server.url(&path).unwrap_or(path));
    claims.put_usual(Figure::Timeout, TIMEOUT_NS);
    require(
        claims,
        &[
            (Figure::Connections, "`Concurrency Level:`"),
            (Figure::Duration, "`Time taken for tests:`"),
            (Figure::Planned, "`Complete requests:`"),
            (Figure::Throughput, "`Requests per second:`"),
        ],
    )
}

/// `  99%     28` and `100%     35 (longest request)`, and the row of total times.
fn quantile(claims: &mut Claims, line: &str, n: u64) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (figure, value) = match words.as_slice() {
        ["50%", value] => (Figure::LatencyP50, value),
        ["75%", value] => (Figure::LatencyP75, value),
        ["90%", value] => (Figure::LatencyP90, value),
        ["95%", value] => (Figure::LatencyP95, value),
        ["99%", value] => (Figure::LatencyP99, value),
        ["100%", value, "(longest", "request)"] => (Figure::LatencyMax, value),
        ["66%" | "80%" | "98%", value] => return number(value).is_some(),
        ["Total:", min, ..] => (Figure::LatencyMin, min),
        _ => return false,
    };
    claims.put(figure, number(value).map(|ms| ms * 1e6), Some(n));
    true
}
