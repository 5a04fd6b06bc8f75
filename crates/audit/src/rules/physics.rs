//! PH-01, PH-02 and PH-08 for outputs of other tools: plausibility of the figures.

use super::{AuditRule, Check};
use crate::facts::is_broken;
use crate::scan::flag;
use crate::{Figure, Mode, Subject};
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
/// Tools that print a mean which they have not computed from connections and rate.
const OWN_MEAN: [&str; 6] = ["wrk", "hey", "oha", "bombardier", "autocannon", "fortio"];

pub(super) const LITTLE: AuditRule = AuditRule {
    id: "PH-01",
    title: None,
    detects: "Rate, latency and connections contradict Little's law.",
    fires: &[
        Fires::invalid(
            "Rate times mean latency is more than 15 % below the open connections, and no failure explains it.",
        ),
        Fires::warning(
            "Rate times mean latency is more than 5 % below the open connections, or, in an output of wrk, more than \
             5 % above them.",
        ),
    ],
    remarks: "To its latencies wrk adds synthetic samples.",
    data: "open connections, throughput, measured mean latency, closed loop without pauses",
    check: Check::Output(little),
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
            "Rate times time is more than 10 % off the requests, or the run took less than 1 % of the requested \
             time.",
        ),
        Fires::warning("The run took less than half of the requested time."),
    ],
    remarks: "",
    data: "requests, time and rate, and the requested duration",
    check: Check::Output(clock),
};

fn little(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
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
    if claims.mode != Some(Mode::Closed) || claims.get(Figure::RateOffered).is_some() || has_pauses(subject) {
        return Outcome::Unchecked("connections may idle between requests");
    }
    if claims.get(Figure::Resolution).is_some_and(|step| mean < STEPS_MIN * step) {
        return Outcome::Unchecked("latencies printed too coarsely");
    }
    let in_flight = throughput * mean / 1e9;
    let off = (in_flight - connections) / connections;
    let state = match off.abs() {
        o if o <= WARNING_OFF => return Outcome::Pass,
        // wrk adds made-up samples to its latencies, and others can have several requests out on a connection.
        _ if off > 0.0 && claims.tool != "wrk" => {
            return Outcome::Unchecked("connections may have had several requests in flight");
        }
        _ if off > 0.0 => FindingState::Warning,
        o if o <= INVALID_OFF => FindingState::Warning,
        _ if subject.facts.failed.is_some_and(|failed| failed > 0.0) => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let why = match claims.tool {
        "wrk" if off > 0.0 => ": wrk adds synthetic samples for pauses",
        _ if subject.facts.failed.is_some_and(|failed| failed > 0.0) => ": connections were lost to errors",
        _ => "",
    };
    let message = format!(
        "rate times mean latency gives {in_flight:.0} requests in flight on {} connections, {} off{why}",
        count(connections as u64),
        percent(off.abs())
    );
    let remedy = "do not attribute mean and quantiles to the server".to_owned();
    let figures = [("in_flight", in_flight), ("connections", connections), ("off", off)];
    Outcome::fired(LITTLE.id, state, message, remedy, figures)
}

/// A rate for each worker, or a script that may wait.
fn has_pauses(subject: Subject<'_>) -> bool {
    let command = subject.claims.command.as_deref();
    let has = |names: &[&str]| command.is_some_and(|command| flag(command, names).is_some());
    match subject.claims.tool {
        "hey" | "oha" => has(&["-q"]),
        "wrk" => has(&["-s", "--script"]),
        // Their outputs do not tell of a limit.
        "bombardier" => command.is_none() || has(&["-r", "--rate"]),
        "autocannon" => command.is_none() || has(&["-r", "-R", "--connectionRate", "--overallRate"]),
        _ => false,
    }
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
    let all = get(Figure::Duration).zip(get(Figure::Throughput)).zip(get(Figure::Responses));
    let Some(((ns, throughput), responses)) = all else {
        return Outcome::Unchecked("no requests, time or rate");
    };
    let attempted = subject.facts.attempted.unwrap_or(responses);
    let counted = throughput * ns / 1e9;
    // Tools differ in whether failures count.
    let of_the_rate = get(Figure::InRate);
    let fits = of_the_rate
        .map_or_else(|| vec![responses, attempted], |n| vec![n])
        .iter()
        .any(|n| (counted - n).abs() <= SAME * n.max(1.0));
    let asked = get(Figure::DurationAsked).filter(|asked| ns < STOPPED_SHARE * asked);
    let (state, message) = match asked {
        Some(asked) if is_broken(ns, asked) => {
            (FindingState::Invalid, format!("{} requested, {} measured: the clock is wrong", time(asked), time(ns)))
        }
        Some(asked) => (FindingState::Warning, format!("stopped after {} of the requested {}", time(ns), time(asked))),
        None if fits => return Outcome::Pass,
        None => (
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
    let remedy = "measure again".to_owned();
    let figures = [("duration_ns", ns), ("throughput_per_s", throughput), ("responses", responses)];
    Outcome::fired(CLOCK.id, state, message, remedy, figures)
}
