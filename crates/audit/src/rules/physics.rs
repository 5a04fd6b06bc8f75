//! PH-01, PH-02 and PH-08 for outputs of other tools: plausibility of the figures.

use super::{AuditRule, Check};
use crate::claim::QUANTILES;
use crate::facts::is_broken;
use crate::scan::flag;
use crate::{Claims, Figure, Mode, Row, Subject};
use judge::{Fires, Outcome};
use model::FindingState;
use model::human::{count, percent, rate, time};

const WARNING_OFF: f64 = 0.05;
const INVALID_OFF: f64 = 0.15;
/// Throughput above this multiple of the ceiling is no matter of accuracy.
const CEILING: f64 = 1.05;
/// Means below so many steps of the printed latencies are not known well enough.
const STEPS_MIN: f64 = 20.0;
/// Requests, time and rate of one output may differ by rounding and by how the ends are counted.
const SAME: f64 = 0.1;
/// Less than this share of the time asked for is not how such a run ends by itself.
const STOPPED_SHARE: f64 = 0.5;
/// Usual limits of servers on the requests of a connection: nginx has 1,000, and Apache 100.
const CLOSED_AFTER: [f64; 2] = [100.0, 1_000.0];
/// Requests in flight on each connection from which on a script sends several at once.
const SEVERAL_EACH: f64 = 1.5;
/// Quantiles of one output may differ by how they are rounded: `0.99m` is up to 0.6 s less than it says.
const ROUNDED: f64 = 0.02;
/// Tools that print a mean which they have not computed from connections and rate.
const OWN_MEAN: [&str; 6] = ["wrk", "hey", "oha", "bombardier", "autocannon", "fortio"];

pub(super) const LITTLE: AuditRule = AuditRule {
    id: "PH-01",
    title: None,
    detects: "Rate, latency and connections contradict Little's law.",
    fires: &[
        Fires::invalid(
            "Rate times mean latency is more than 15 % below the open connections; or, in a table, a high quantile is \
             more than 15 % below the mean that connections and rate have.",
        ),
        Fires::warning(
            "Rate times mean latency is more than 5 % below the open connections, or, in an output of wrk, more than \
             5 % above them.",
        ),
    ],
    remarks: "To its latencies wrk adds synthetic samples. With a script it can have several requests in flight on a \
              connection, and the latency is that of all of them.",
    data: "open connections, throughput, measured mean latency, closed loop without pauses",
    check: Check::Any(little),
};
pub(super) const UTILISATION: AuditRule = AuditRule {
    id: "PH-02",
    title: None,
    detects: "The throughput is beyond what the server's CPUs allow.",
    fires: &[Fires::invalid(
        "The throughput is more than 1.05 times what the CPUs allow at the measured CPU time per response.",
    )],
    remarks: "",
    data: "--pidstat with --pidstat-rate, and --cores",
    check: Check::Output(utilisation),
};
pub(super) const CLOCK: AuditRule = AuditRule {
    id: "PH-08",
    title: None,
    detects: "Requests, time and rate contradict each other, as with a wrong clock or an edited output.",
    fires: &[
        Fires::invalid(
            "Rate times time is more than 10 % off the requests; the run took less than 1 % of the requested time, or \
             more than a hundred times as long; a lower quantile is above a higher one; or each connection of h2load \
             had as many requests as servers usually allow.",
        ),
        Fires::warning("The run took less than half of the requested time, or the tool keeps only some results."),
    ],
    remarks: "",
    data: "requests, time and rate, and the requested duration",
    check: Check::Output(clock),
};

fn little(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    if !claims.table.is_empty() {
        return little_of_table(&claims.table, claims.over_rate);
    }
    if subject.facts.clock_is_broken {
        return Outcome::Unchecked("the tool's clock was wrong");
    }
    let connections = match subject.facts.connections {
        Some((_, established)) => Some(established as f64),
        None => claims.get(Figure::Connections),
    };
    let Some(connections) = connections.filter(|n| *n > 0.0 && OWN_MEAN.contains(&claims.tool)) else {
        return Outcome::Unchecked("no connections, or no measured mean latency");
    };
    let Some((mean, throughput)) = claims.get(Figure::LatencyMean).zip(claims.get(Figure::Throughput)) else {
        return Outcome::Unchecked("no mean latency, or no throughput");
    };
    if claims.mode != Some(Mode::Closed) || claims.get(Figure::RateOffered).is_some() || may_be_limited(claims) {
        return Outcome::Unchecked("connections may idle between requests");
    }
    if claims.get(Figure::Resolution).is_some_and(|step| mean < STEPS_MIN * step) {
        return Outcome::Unchecked("latencies printed too coarsely");
    }
    let in_flight = throughput * mean / 1e9;
    let off = (in_flight - connections) / connections;
    if has_script(claims) {
        return scripted(in_flight, connections);
    }
    let state = match off.abs() {
        o if o <= WARNING_OFF => return Outcome::Pass,
        // wrk adds made-up samples to its latencies, and others can have several requests out on a connection.
        _ if off > 0.0 && claims.tool != "wrk" => {
            return Outcome::Unchecked("connections may have had several requests in flight");
        }
        _ if off > 0.0 => FindingState::Warning,
        o if o <= INVALID_OFF => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let why = match claims.tool {
        "wrk" if off > 0.0 => ": wrk adds synthetic samples for pauses",
        _ if subject.facts.failed.is_some_and(|failed| failed > 0.0) => ": connections were lost to errors",
        _ => "",
    };
    let message = format!(
        "rate times mean latency gives {} requests in flight on {} connections, {} off{why}",
        count(in_flight.round() as u64),
        count(connections as u64),
        percent(off.abs())
    );
    let remedy = "do not attribute mean and quantiles to the server".to_owned();
    let figures = [("in_flight", in_flight), ("connections", connections), ("off", off)];
    Outcome::fired(LITTLE.id, state, message, remedy, figures)
}

/// True of a tool whose output does not tell of a limit on its rate, where the command is not known either.
fn may_be_limited(claims: &Claims) -> bool {
    matches!(claims.tool, "bombardier" | "autocannon") && claims.command.is_none()
}

/// True if a script of wrk makes the requests: it may wait between them, or send several at once.
fn has_script(claims: &Claims) -> bool {
    let command = claims.command.as_deref().unwrap_or_default();
    claims.tool == "wrk" && flag(command, &["-s", "--script"]).is_some()
}

/// What Little's law says of requests that a script makes.
fn scripted(in_flight: f64, connections: f64) -> Outcome {
    let each = in_flight / connections;
    if each < SEVERAL_EACH {
        return Outcome::Unchecked("a script may wait between its requests");
    }
    let message = format!(
        "the script had about {} requests in flight on each of {} connections: the latency is that of such a batch, and \
         not of a request",
        each.round(),
        count(connections as u64)
    );
    let remedy = "quote the rate alone, or measure latencies without pipelining".to_owned();
    let figures = [("in_flight", in_flight), ("connections", connections)];
    Outcome::fired(LITTLE.id, FindingState::Warning, message, remedy, figures)
}

/// A quantile high up is not below the mean, which is the connections over the rate.
fn little_of_table(rows: &[Row], over_rate: bool) -> Outcome {
    let timed: Vec<_> = rows.iter().filter_map(|row| Some((row, row.high_ns?))).collect();
    if over_rate || timed.is_empty() {
        return Outcome::Unchecked("no connections, or no high quantile in the table");
    }
    let mean_ns = |row: &Row| row.load / row.throughput_per_s.max(f64::MIN_POSITIVE) * 1e9;
    let wrong: Vec<_> = timed.iter().filter(|(row, high_ns)| *high_ns < (1.0 - INVALID_OFF) * mean_ns(row)).collect();
    let Some((row, high_ns)) = wrong.first() else { return Outcome::Pass };
    let message = format!(
        "{} connections at {} have a mean response time of {} by Little's law, and the table has {} for a quantile above \
         it{}",
        count(row.load as u64),
        rate(row.throughput_per_s),
        time(mean_ns(row)),
        time(*high_ns),
        if wrong.len() > 1 { format!(" ({} of {} rows are such)", wrong.len(), timed.len()) } else { String::new() }
    );
    let remedy = "find out how many connections were busy: rate and latencies are not of the same load".to_owned();
    let figures = [("load", row.load), ("mean_ns", mean_ns(row)), ("quantile_ns", *high_ns)];
    Outcome::fired(LITTLE.id, FindingState::Invalid, message, remedy, figures)
}

fn utilisation(subject: Subject<'_>) -> Outcome {
    let context = subject.context;
    let Some((processes, cores)) = context.processes.as_ref().zip(context.cores) else {
        return Outcome::Unchecked("no CPU use of the server (--pidstat), or no --cores");
    };
    let Some((per_s, throughput)) = context.processes_rate_per_s.zip(subject.claims.get(Figure::Throughput)) else {
        return Outcome::Unchecked("no rate during pidstat (--pidstat-rate)");
    };
    let demand_ns = processes.cores_busy / per_s * 1e9;
    if demand_ns <= 0.0 {
        return Outcome::Unchecked("no CPU use in pidstat");
    }
    let ceiling_per_s = f64::from(cores) / demand_ns * 1e9;
    if throughput <= CEILING * ceiling_per_s {
        return Outcome::Pass;
    }
    let message = format!(
        "{} of CPU time per response allow at most {} on {cores} CPUs: {} is different work",
        time(demand_ns),
        rate(ceiling_per_s),
        rate(throughput)
    );
    let remedy = "check the higher figure for errors and cached responses".to_owned();
    let figures =
        [("cpu_ns_per_request", demand_ns), ("ceiling_per_s", ceiling_per_s), ("throughput_per_s", throughput)];
    Outcome::fired(UTILISATION.id, FindingState::Invalid, message, remedy, figures)
}

fn clock(subject: Subject<'_>) -> Outcome {
    let get = |figure| subject.claims.get(figure);
    if let Some(outcome) = unordered(subject.claims) {
        return outcome;
    }
    let all = get(Figure::Duration).zip(get(Figure::Throughput)).zip(get(Figure::Responses));
    let Some(((ns, throughput), responses)) = all else {
        return Outcome::Unchecked("no requests, time or rate");
    };
    let attempted = subject.facts.attempted.unwrap_or(responses);
    let counted = throughput * ns / 1e9;
    let figures = [("duration_ns", ns), ("throughput_per_s", throughput), ("responses", responses)];
    if let Some(kept) = subject.claims.kept_max.filter(|kept| responses >= *kept && counted > responses) {
        let message = format!(
            "{} keeps {} results at most: latencies and statuses are of these, and the printed {} of all {} responses",
            subject.claims.tool,
            count(kept as u64),
            rate(throughput),
            count(counted as u64)
        );
        let remedy = "quote the printed rate".to_owned();
        return Outcome::fired(CLOCK.id, FindingState::Warning, message, remedy, figures);
    }
    if let Some(each) = closed_after(subject.claims, responses) {
        let message = format!(
            "exactly {} requests on each connection: the server closed them then (keepalive_requests), h2load never \
             connects again, and its rate divides by the whole time",
            count(each as u64)
        );
        let remedy = "let the server keep its connections open, or measure with -n".to_owned();
        return Outcome::fired(CLOCK.id, FindingState::Invalid, message, remedy, figures);
    }
    // Tools differ in whether failures count.
    let of_the_rate = get(Figure::InRate);
    let fits = of_the_rate
        .map_or_else(|| vec![responses, attempted], |n| vec![n])
        .iter()
        .any(|n| (counted - n).abs() <= SAME * n.max(1.0));
    let asked = get(Figure::DurationAsked);
    // Whichever is reached first ends a run.
    let has_all = get(Figure::Planned).is_some_and(|planned| attempted >= planned);
    let (state, message) = match asked {
        Some(asked) if is_broken(ns, asked) => (
            FindingState::Invalid,
            format!("{} requested, {} measured: the clock of {} is wrong", time(asked), time(ns), subject.claims.tool),
        ),
        Some(asked) if ns < STOPPED_SHARE * asked && !has_all => {
            (FindingState::Warning, format!("stopped after {} of the requested {}", time(ns), time(asked)))
        }
        _ if fits => return Outcome::Pass,
        _ => (
            FindingState::Invalid,
            format!(
                "{} in {} are {} requests, not {}",
                rate(throughput),
                time(ns),
                count(counted as u64),
                count(of_the_rate.unwrap_or(responses) as u64)
            ),
        ),
    };
    let remedy = match asked.filter(|asked| subject.facts.clock_is_broken && *asked > 0.0) {
        Some(asked) => {
            let by_asked = rate(responses / asked * 1e9);
            format!("by the time that was asked for it is about {by_asked}; measure again with another version or tool")
        }
        None => "measure again".to_owned(),
    };
    Outcome::fired(CLOCK.id, state, message, remedy, figures)
}

/// Requests after which a server closed each connection of h2load, in a run for a time.
fn closed_after(claims: &Claims, responses: f64) -> Option<f64> {
    let connections = claims.get(Figure::Connections).filter(|n| *n > 0.0)?;
    let each = responses / connections;
    let is_limit = CLOSED_AFTER.contains(&each);
    (claims.tool == "h2load" && claims.get(Figure::DurationAsked).is_some() && is_limit).then_some(each)
}

/// Latencies that are not in the order of their quantiles.
fn unordered(claims: &Claims) -> Option<Outcome> {
    let min = claims.get(Figure::LatencyMin).map(|ns| ("the minimum", ns));
    let quantiles = QUANTILES.iter().filter_map(|(figure, _, name, _)| Some((*name, claims.get(*figure)?)));
    let max = claims.get(Figure::LatencyMax).map(|ns| ("the maximum", ns));
    let all: Vec<(&str, f64)> = min.into_iter().chain(quantiles).chain(max).collect();
    let step = claims.get(Figure::Resolution).unwrap_or(0.0);
    let ((lower, low_ns), (higher, high_ns)) = all
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .find(|((_, low), (_, high))| low * (1.0 - ROUNDED) - step > *high)?;
    let message = format!("{lower} is {} and {higher} {}: these are not of one load", time(low_ns), time(high_ns));
    let remedy = "measure again with a client that can be trusted (plimsoll run)".to_owned();
    let figures = [("lower_ns", low_ns), ("higher_ns", high_ns)];
    Some(Outcome::fired(CLOCK.id, FindingState::Invalid, message, remedy, figures))
}
