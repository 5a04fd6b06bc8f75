//! RP-07, RP-08 and RP-10: match of command and result, 1/throughput as latency, credentials.

use super::{AuditRule, Check};
use crate::asked::Typed;
use crate::commands::{long_flags, url};
use crate::scan::number;
use crate::{Claims, Figure, Subject};
use judge::text::list;
use judge::{Fires, Outcome};
use model::FindingState;
use model::human::{count, plural, rate, time};

/// A time this close to 1/throughput is computed from it.
const SAME: f64 = 0.005;
/// What is typed and printed may differ by rounding.
const SAME_TYPED: f64 = 0.01;
/// A run takes longer than was asked for by its last responses, or less by its start.
const MEASURED_OFF: f64 = 0.1;
const MEASURED_OFF_NS: f64 = 2e9;
/// Flags that httperf echoes and a load depends on.
const ECHOED: [&str; 9] =
    ["server", "server-name", "port", "uri", "rate", "num-conns", "num-calls", "method", "wsesslog"];
/// Of these: what it prints whenever it was given.
const ALWAYS_ECHOED: [&str; 4] = ["server", "server-name", "uri", "wsesslog"];

pub(super) const COMMAND: AuditRule = AuditRule {
    id: "RP-07",
    title: Some("command and output differ"),
    detects: "The command line does not match the output.",
    fires: &[Fires::invalid("The output lacks an option of the command line, or has another value of it.")],
    remarks: "Requests, time, connections, threads, rate and URL are compared, as far as both have them. A run that may \
              end for another reason may be shorter.",
    data: "command line above the output, and something that it asks for in the output",
    check: Check::Output(command),
};
pub(super) const INTERVAL: AuditRule = AuditRule {
    id: "RP-08",
    title: Some("1/throughput called latency"),
    detects: "The inverse of the throughput is shown as time per request, which is no latency.",
    fires: &[
        Fires::invalid("In every row of a table the time per request is 1/throughput, to within 0.5 %."),
        Fires::note("The output prints a time per request across all concurrent requests."),
    ],
    remarks: "",
    data: "throughput and time per request at more than one connection",
    check: Check::Any(interval),
};
pub(super) const SECRET: AuditRule = AuditRule {
    id: "RP-10",
    title: Some("credentials in a result"),
    detects: "A saved result contains credentials.",
    fires: &[Fires::warning("The text contains at least one secret.")],
    remarks: "",
    data: "the text",
    check: Check::Any(secret),
};

fn command(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let command = claims.command.as_deref().unwrap_or_default();
    if command.is_empty() && claims.typed.is_empty() {
        return Outcome::Unchecked("no command line above the output");
    }
    let differing = match claims.echo.as_deref() {
        Some(echo) => Some(echoed(command, echo)),
        None => printed(subject, command),
    };
    let Some(differing) = differing else {
        return Outcome::Unchecked("nothing that the command asks for is in the output");
    };
    if differing.is_empty() {
        return Outcome::Pass;
    }
    let message = format!("command and result do not match: {}", list(&differing));
    let remedy = "run the command again and keep command and output together".to_owned();
    Outcome::fired(COMMAND.id, FindingState::Invalid, message, remedy, [("differing", differing.len() as f64)])
}

/// Flags that were typed and are missing or different in what the tool printed of its own command line.
fn echoed(command: &str, echo: &str) -> Vec<String> {
    let shown = long_flags(echo);
    let typed = long_flags(command).into_iter().filter(|(name, _)| ECHOED.contains(&name.as_str()));
    let differs = |(name, value): (String, String)| match shown.iter().find(|(shown, _)| *shown == name) {
        None if ALWAYS_ECHOED.contains(&name.as_str()) => Some(format!("--{name} was given but is not in the result")),
        Some((_, shown)) if !same_value(shown, &value) => Some(format!("--{name} was given another value")),
        _ => None,
    };
    typed.filter_map(differs).collect()
}

/// True if two values are the same, number by number: `1000,0` and `1000,0.000` are.
fn same_value(one: &str, other: &str) -> bool {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(',').collect(), other.split(',').collect());
    let same = |(a, b): (&&str, &&str)| a == b || number(a).is_some_and(|a| number(b) == Some(a));
    one.len() == other.len() && one.iter().zip(&other).all(same)
}

/// What was typed and is printed otherwise; none where nothing is both.
fn printed(subject: Subject<'_>, command: &str) -> Option<Vec<String>> {
    let claims = subject.claims;
    let figures = claims.typed.iter().filter_map(|typed| differs(subject, typed));
    let typed_url = url(command).and_then(|url| place(&url));
    let url = typed_url.zip(claims.url.as_deref().filter(|_| claims.is_url_printed).and_then(place));
    let of_url = url.map(|(typed, shown)| (typed != shown).then(|| "another URL was given".to_owned()));
    let all: Vec<Option<String>> = figures.chain(of_url).collect();
    (!all.is_empty()).then(|| all.into_iter().flatten().collect())
}

/// Whether a flag is another in the output, where that tells; what it says then.
fn differs(subject: Subject<'_>, typed: &Typed) -> Option<Option<String>> {
    let claims = subject.claims;
    let is_typed = |figure| claims.typed.iter().any(|one| one.figure == figure);
    match (claims.tool, typed.figure) {
        // Its -t sets -n anew, unless that stands behind it.
        ("ab", Figure::Planned) if is_typed(Figure::DurationAsked) => return None,
        // It follows redirects, each of which is one more.
        ("siege", Figure::Planned) if claims.get(Figure::Redirects).is_some_and(|n| n > 0.0) => return None,
        // At a rate it prints one client, whatever was asked for.
        ("loadtest", Figure::Connections) if is_typed(Figure::RateOffered) => return None,
        _ => {}
    }
    let shown = match typed.figure {
        // Their outputs have no words for it: as many as were counted, or as long as it took.
        Figure::Planned => {
            claims.printed(typed.figure).or_else(|| subject.facts.attempted.filter(|_| ends_by(claims, typed)))?
        }
        Figure::DurationAsked => {
            let asked = claims.printed(typed.figure);
            asked.or_else(|| claims.printed(Figure::Duration).filter(|_| ends_by(claims, typed)))?
        }
        figure => claims.printed(figure)?,
    };
    let exact = claims.printed(typed.figure).is_some();
    let slack = match typed.figure {
        // Tools share requests out evenly among their connections.
        Figure::Planned => SAME_TYPED * typed.value + claims.get(Figure::Connections).unwrap_or(0.0),
        // What vegeta prints is how long it attacked.
        Figure::DurationAsked if !exact || claims.tool == "vegeta" => {
            MEASURED_OFF * typed.value + MEASURED_OFF_NS + interval_ns(claims)
        }
        _ => SAME_TYPED * typed.value,
    };
    let is_same = (typed.value - shown).abs() <= slack;
    let in_words = |value: f64| match typed.figure {
        Figure::DurationAsked | Figure::Timeout => time(value),
        Figure::RateOffered => rate(value),
        _ => count(value as u64),
    };
    let message =
        || format!("{} asks for {}, and the output has {}", typed.name, in_words(typed.value), in_words(shown));
    Some((!is_same).then(message))
}

/// Time between two requests of a rate: the last one is sent so long before the end.
fn interval_ns(claims: &Claims) -> f64 {
    claims.get(Figure::RateOffered).filter(|rate| *rate > 0.0).map_or(0.0, |rate| 1e9 / rate)
}

/// True if nothing else that was typed can have ended the run before.
fn ends_by(claims: &Claims, typed: &Typed) -> bool {
    let ends = |figure| matches!(figure, Figure::Planned | Figure::DurationAsked);
    claims.typed.iter().filter(|one| ends(one.figure)).all(|one| one.figure == typed.figure)
}

/// Host, port and path of a URL; none of one that a shell computes.
fn place(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://").filter(|(_, rest)| !rest.contains('$'))?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/');
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    Some(format!("{}/{path}", host.strip_suffix(port).unwrap_or(&host)))
}

fn interval(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    if let Some(ns) = claims.get(Figure::Interval) {
        let message = format!(
            "{} \"across all concurrent requests\" is 1/throughput, not a latency{}",
            time(ns),
            claims.get(Figure::LatencyMean).map_or_else(String::new, |mean| format!("; the mean is {}", time(mean)))
        );
        let remedy = "quote it as a rate".to_owned();
        return Outcome::fired(INTERVAL.id, FindingState::Note, message, remedy, [("interval_ns", ns)]);
    }
    let rows: Vec<_> = claims.table.iter().filter(|row| row.load > 1.0 && row.throughput_per_s > 0.0).collect();
    let timed: Vec<_> = rows.iter().filter_map(|row| Some((*row, row.time_ns?))).collect();
    let Some((last, time_at_last)) = timed.last() else {
        return Outcome::Unchecked("no time per request at more than one connection");
    };
    if claims.over_rate {
        return Outcome::Unchecked("connections unknown");
    }
    let inverse = |row: &crate::Row| 1e9 / row.throughput_per_s;
    let same = timed.iter().filter(|(row, ns)| (ns / inverse(row) - 1.0).abs() < SAME).count();
    if same < timed.len() {
        return Outcome::Pass;
    }
    let mean = last.load * inverse(last);
    let message = format!(
        "the time per request is 1/throughput in every row: the latency at {} is {}, not {}",
        plural(last.load as u64, "connection"),
        time(mean),
        time(*time_at_last)
    );
    let remedy = "replace the column by measured latencies, or omit it".to_owned();
    let figures = [("rows", timed.len() as f64), ("latency_ns", mean), ("claimed_ns", *time_at_last)];
    Outcome::fired(INTERVAL.id, FindingState::Invalid, message, remedy, figures)
}

fn secret(subject: Subject<'_>) -> Outcome {
    if subject.secrets == 0 {
        return Outcome::Pass;
    }
    let message = format!("the result contains {}", plural(subject.secrets, "secret"));
    let secrets = count(subject.secrets);
    let remedy = format!("change {} and redact {}", if secrets == "1" { "it" } else { "them" }, "the saved file");
    Outcome::fired(SECRET.id, FindingState::Warning, message, remedy, [("secrets", subject.secrets as f64)])
}
