//! LD-03, LD-04 and LD-05 for outputs of other tools: load model, duration, resolution.

use super::{AuditRule, Check};
use crate::claim::QUANTILES;
use crate::{Claims, Figure, Mode, Subject};
use judge::text::{list, round_up};
use judge::{Fires, Outcome};
use model::human::{count, plural, time};
use model::{FindingState, QUANTILE_TAIL_MIN, is_quantile_known};

const INVALID_NS: f64 = 5e9;
const BOUND_NS: f64 = 30e9;
/// The highest quantile that is quoted as a matter of course.
const QUOTED_MAX: f64 = 0.99;
/// Requests beyond a quantile below which it is one of these requests, and no quantile.
const WORTHLESS_TAIL: f64 = 10.0;
/// A latency of such a share of the run is that of a queue that grew all the time.
const BACKLOG_SHARE: f64 = 0.2;
/// Largest latency of a queue that grows, by the mean; without noise it is twice that.
const GROWN: f64 = 1.3;
/// Share of the offered requests from which on it is seen whether they have queued up.
const MISSING_SHARE: f64 = 0.05;
/// How far the longest latency may be from the time that they would take.
const MISSING_OFF: f64 = 0.7;
/// Steps of a latency that are coarse, as a share of it.
const STEP_SHARE: f64 = 0.02;

pub(super) const CLOSED: AuditRule = AuditRule {
    id: "LD-03",
    title: None,
    detects: "The latencies are those of a closed loop, which are easily mistaken for what independent users see.",
    fires: &[Fires::note("The tool put on a closed loop.")],
    remarks: "",
    data: "load model, from tool and command",
    check: Check::Output(closed),
};
/// Fewer requests are no measurement, however long it took.
const FEWEST: f64 = 10.0;
/// Nobody measures for longer to know a quantile: more load is the way.
const PATIENCE_S: f64 = 3600.0;

pub(super) const SHORT: AuditRule = AuditRule {
    id: "LD-04",
    title: None,
    detects: "The run was too short, or had too few requests for a printed quantile.",
    fires: &[
        Fires::invalid(
            "The run was shorter than 5 s, or fewer than 10 requests are beyond a printed quantile up to the 99th \
             percentile.",
        ),
        Fires::bound("The run was shorter than 30 s, or fewer than 100 requests are beyond a printed quantile."),
    ],
    remarks: "Of the 30 s, 1 % may be missing.",
    data: "duration of the run, responses",
    check: Check::Any(short),
};
pub(super) const BACKLOG: AuditRule = AuditRule {
    id: "ST-02",
    title: None,
    detects: "An open loop was above the server's capacity, so that requests queued up all the time.",
    fires: &[Fires::invalid("The mean latency, or else the median, is more than a fifth of the run's length.")],
    remarks: "",
    data: "open loop, mean or median latency, duration of the run",
    check: Check::Output(backlog),
};
pub(super) const COARSE: AuditRule = AuditRule {
    id: "LD-05",
    title: None,
    detects: "Latencies are printed in coarse steps.",
    fires: &[Fires::warning("The steps are more than 2 % of the median latency, or of the mean.")],
    remarks: "",
    data: "resolution of the tool",
    check: Check::Output(coarse),
};

fn closed(subject: Subject<'_>) -> Outcome {
    match subject.claims.mode {
        None => Outcome::Unchecked("load model not in the output"),
        Some(Mode::Open) => Outcome::Pass,
        Some(Mode::Closed) => {
            let message = "closed loop: independent users would wait longer".to_owned();
            let remedy = "use an open loop (plimsoll run -R)".to_owned();
            Outcome::fired(CLOSED.id, FindingState::Note, message, remedy, [])
        }
    }
}

fn short(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    // A wrong clock says nothing of the length.
    let rate = claims.get(Figure::Throughput).filter(|rate| *rate > 0.0);
    let by_rate = || Some(claims.get(Figure::InRate).or_else(|| claims.get(Figure::Responses))? / rate? * 1e9);
    let ns = claims.get(Figure::Duration).or_else(by_rate).filter(|_| !subject.facts.clock_is_broken);
    let Some(n) = claims.get(Figure::Responses) else {
        return ns.map_or(Outcome::Unchecked("neither duration nor responses in the output"), |ns| of_time(ns, 0.0));
    };
    let is_known = |q: f64| is_quantile_known(n, q);
    let few: Vec<_> =
        QUANTILES.iter().filter(|(figure, q, ..)| claims.get(*figure).is_some() && !is_known(*q)).collect();
    // A p99.9 is printed by tools whether or not anybody asked; a p99 is what is quoted.
    let is_worthless = few.iter().any(|(_, q, ..)| *q <= QUOTED_MAX && n * (1.0 - q) < WORTHLESS_TAIL);
    let by_time = ns.and_then(by_time);
    let few_names: Vec<_> = few.iter().map(|(_, _, name, _)| (*name).to_owned()).collect();
    let are_few = |names: &[String]| {
        let verb = if n == 1.0 { "is" } else { "are" };
        format!("{} {verb} too few for {}", plural(n as u64, "request"), list(names))
    };
    let (state, message) = match (by_time, few_names.as_slice()) {
        (None, []) if ns.is_none() => return Outcome::Unchecked("duration not in the output"),
        (None, []) if n >= FEWEST || n == 0.0 => return Outcome::Pass,
        (None, []) => (FindingState::Invalid, String::new()),
        (Some(found), []) => found,
        (Some((state, message)), names) => (state, format!("{message}; {}", are_few(names))),
        (None, names) => (FindingState::Bound, are_few(names)),
    };
    let (state, message) = if n > 0.0 && n < FEWEST {
        (FindingState::Invalid, format!("{}: chance decides", are_few(&["any figure".to_owned()])))
    } else {
        (state, message)
    };
    let state = if is_worthless { FindingState::Invalid } else { state };
    let wanted = few.last().map_or(0.0, |(_, q, ..)| QUANTILE_TAIL_MIN / (1.0 - q));
    let needed_s = ns.map(|ns| if n > 0.0 { wanted / n * ns / 1e9 } else { 0.0 }.max(BOUND_NS / 1e9));
    let remedy = match needed_s.filter(|seconds| *seconds <= PATIENCE_S) {
        Some(seconds) => measure_for(seconds),
        None => format!("send {} requests or more", count(wanted.ceil() as u64)),
    };
    let mut figures: Vec<_> = ns.map(|ns| ("duration_ns".to_owned(), ns)).into_iter().collect();
    figures.push(("n".to_owned(), n));
    figures.extend(few.iter().map(|(_, q, _, key)| (format!("{key}_tail_n"), n * (1.0 - q))));
    Outcome::fired(SHORT.id, state, message, remedy, figures.iter().map(|(key, value)| (key.as_str(), *value)))
}

/// What a run is too short for, by its time alone.
fn by_time(ns: f64) -> Option<(FindingState, String)> {
    match ns {
        ns if ns < INVALID_NS => {
            Some((FindingState::Invalid, format!("only {} of the required 5 s: chance decides", time(ns))))
        }
        ns if ns < BOUND_NS * 0.99 => {
            Some((FindingState::Bound, format!("only {} of the advised 30 s: rare events may be missing", time(ns))))
        }
        _ => None,
    }
}

fn of_time(ns: f64, n: f64) -> Outcome {
    let Some((state, message)) = by_time(ns) else { return Outcome::Pass };
    let remedy = measure_for(BOUND_NS / 1e9);
    Outcome::fired(SHORT.id, state, message, remedy, [("duration_ns", ns), ("n", n)])
}

fn measure_for(seconds: f64) -> String {
    format!("measure {} s or longer", round_up(seconds))
}

fn backlog(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    if claims.mode != Some(Mode::Open) {
        return Outcome::Unchecked("no open loop, or load model unknown");
    }
    let typical = claims.get(Figure::LatencyMean).or_else(|| claims.get(Figure::LatencyP50));
    let length = claims.get(Figure::DurationAsked).or_else(|| claims.get(Figure::Duration));
    let Some((typical, length)) = typical.zip(length).filter(|_| !subject.facts.clock_is_broken) else {
        return Outcome::Unchecked("no typical latency, or no duration");
    };
    // In a queue that grows, the last response takes twice as long as the mean; from a slow server all take the same.
    let grows = claims.get(Figure::LatencyMax).is_none_or(|max| max >= GROWN * typical);
    if !grows || (typical <= BACKLOG_SHARE * length && !is_all_that_is_missing(claims, length)) {
        return Outcome::Pass;
    }
    let message = format!(
        "the mean latency is {} in a run of {}: requests queued up, and the latencies only reflect the run length",
        time(typical),
        time(length)
    );
    let remedy = "offer less than the rate that was reached".to_owned();
    let figures = [("latency_ns", typical), ("duration_ns", length)];
    Outcome::fired(BACKLOG.id, FindingState::Invalid, message, remedy, figures)
}

/// True if the longest latency is as long as the requests would take that were due and not sent in time: they waited.
fn is_all_that_is_missing(claims: &Claims, length: f64) -> bool {
    let reached = claims.get(Figure::RateSent).or_else(|| claims.get(Figure::Throughput));
    let Some(missing) = claims.get(Figure::RateOffered).zip(reached).map(|(offered, reached)| 1.0 - reached / offered)
    else {
        return false;
    };
    let queued = missing * length;
    let is_it = |max: f64| queued > 0.0 && (MISSING_OFF..=1.0 / MISSING_OFF).contains(&(max / queued));
    missing > MISSING_SHARE && claims.get(Figure::LatencyMax).is_some_and(is_it)
}

fn coarse(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let Some(step) = claims.get(Figure::Resolution) else {
        return Outcome::Unchecked("resolution of the latencies unknown");
    };
    let typical = claims.get(Figure::LatencyP50).or_else(|| claims.get(Figure::LatencyMean));
    let Some(typical) = typical else {
        return Outcome::Unchecked("no typical latency in the output");
    };
    if step <= STEP_SHARE * typical {
        return Outcome::Pass;
    }
    let message = format!("latencies of about {} are printed in steps of {}", time(typical), time(step));
    let remedy = "use a client with finer resolution".to_owned();
    Outcome::fired(COARSE.id, FindingState::Warning, message, remedy, [("step_ns", step), ("typical_ns", typical)])
}
