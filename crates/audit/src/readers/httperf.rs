//! httperf 0.9: its echoed command line, then `Total:` to `Errors:`.

use super::{Keeps, TextReader, Tool, require};
use crate::Unreadable;
use crate::asked::Flags;
use crate::claim::{Claims, Figure, Mode};
use crate::scan::{flag, number, word_after};
use crate::{commands, text::Text};

pub(super) const TOOL: Tool = Tool {
    name: "httperf",
    text: Some(TEXT),
    json: None,
    csv: None,
    samples: None,
    keeps: Keeps::Told(|claims| Some(claims.get(Figure::Responses)? > 1.5 * claims.get(Figure::ConnectionsOpened)?)),
    called: &[],
    // Its echo tells what was asked for.
    flags: Flags::NONE,
};

const TEXT: TextReader = TextReader {
    fits: |_| true,
    begins: |line| line.starts_with("Total: connections "),
    ends: |line| line.starts_with("Errors: fd-unavail "),
    leads: |line| line.starts_with("httperf ") || line.starts_with("Maximum connect burst"),
    so_far: None,
    parts: None,
    read,
};

/// Lines that hold nothing to be judged.
const KNOWN: [&str; 12] = [
    "httperf",
    "Maximum connect burst",
    "Connection length",
    "Request size",
    "Reply rate",
    "Net I/O",
    "Session",
    "Errors:",
    "Connection time [ms]:",
    "Reply size",
    "Request rate:",
    "CPU time",
];

fn read(text: &Text, mut claims: Claims) -> Result<Claims, Unreadable> {
    for (n, line) in text.lines() {
        let known = line_of(&mut claims, line, Some(n)) || KNOWN.iter().any(|known| line.starts_with(known));
        claims.unread_lines += u64::from(!known);
    }
    let echo = text.lines().find(|(_, line)| line.starts_with("httperf --client=")).map(|(_, line)| line.to_owned());
    claims.command = commands::typed_before(text, "httperf", "httperf --client=");
    let said = echo.as_deref().or(claims.command.as_deref()).unwrap_or_default().to_owned();
    let rate = flag(&said, &["--rate"]).and_then(number);
    claims.mode = Some(if rate.is_some_and(|rate| rate > 0.0) { Mode::Open } else { Mode::Closed });
    claims.put(Figure::RateOffered, rate.filter(|rate| *rate > 0.0), None);
    if claims.mode == Some(Mode::Closed) {
        // One connection after the other.
        claims.put(Figure::Connections, Some(1.0), None);
    }
    let [server, port, uri] = ["--server", "--port", "--uri"].map(|name| flag(&said, &[name]));
    claims.url = server.map(|server| format!("http://{server}:{}{}", port.unwrap_or("80"), uri.unwrap_or("/")));
    claims.echo = echo;
    if let (Some(replies), Some(ns)) =
        (claims.get(Figure::Responses), claims.get(Figure::Duration).filter(|ns| *ns > 0.0))
    {
        // The printed request rate is what was sent.
        claims.put(Figure::Throughput, Some(replies / ns * 1e9), None);
    }
    require(
        claims,
        &[
            (Figure::Responses, "`Total: connections N requests N replies N`"),
            (Figure::Duration, "`test-duration`"),
            (Figure::BadStatus, "`Reply status:`"),
            (Figure::Broken, "`Errors: total`"),
        ],
    )
}

fn line_of(claims: &mut Claims, line: &str, n: Option<u64>) -> bool {
    let of = |label: &str| word_after(line, label).and_then(number);
    if line.starts_with("Total: connections ") {
        claims.put(Figure::ConnectionsOpened, of("connections "), n);
        claims.put(Figure::Responses, of("replies "), n);
        claims.put(Figure::Duration, of("test-duration ").map(|s| s * 1e9), n);
    } else if line.starts_with("Connection rate: ") {
        claims.put(Figure::RateSent, of("Connection rate: "), n);
    } else if line.starts_with("Reply time [ms]: response") {
        let parts = of("response ").zip(of("transfer "));
        claims.put(Figure::LatencyMean, parts.map(|(first, rest)| (first + rest) * 1e6), n);
    } else if line.starts_with("Reply size [B]:") {
        claims.put(Figure::BodyBytes, of("content "), n);
        claims.put(Figure::ResponseBytes, of("(total "), n);
    } else if let Some(statuses) = line.strip_prefix("Reply status: ") {
        let class = |name: &str| statuses.split_whitespace().find_map(|word| number(word.strip_prefix(name)?));
        claims.put(Figure::Redirects, class("3xx="), n);
        claims.put(Figure::BadStatus, class("4xx=").zip(class("5xx=")).map(|(client, server)| client + server), n);
    } else if line.starts_with("CPU time [s]:") {
        claims.put(
            Figure::ClientCpu,
            word_after(line, "total ").and_then(|w| number(w.strip_suffix('%')?)).map(|p| p / 100.0),
            n,
        );
    } else if line.starts_with("Errors: total ") {
        claims.put(Figure::Broken, of("total "), n);
        claims.put(Figure::Timeouts, of("client-timo "), n);
    } else if line.starts_with("Errors: fd-unavail ") {
        claims.put(Figure::NoFds, of("fd-unavail "), n);
        claims.put(Figure::NoPorts, of("addrunavail "), n);
    } else {
        return false;
    }
    true
}
