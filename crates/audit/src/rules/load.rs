//! LD-03, LD-04 and LD-05 for outputs of other tools: load model, duration, resolution.

use super::{AuditRule, Check};
use crate::claim::QUANTILES;
use crate::{Figure, Mode, Subject};
use judge::text::{list, round_up};
use judge::{Fires, Outcome};
use model::human::{count, time};
use model::{FindingState, QUANTILE_TAIL_MIN, is_quantile_known};

const INVALID_NS: f64 = 5e9;
const BOUND_NS: f64 = 30e9;
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
pub(super) const SHORT: AuditRule = AuditRule {
    id: "LD-04",
    title: None,
    detects: "The run was too short, or had too few requests for a printed quantile.",
    fires: &[
        Fires::invalid("The run was shorter than 5 s."),
        Fires::bound("The run was shorter than 30 s, or fewer than 100 requests are beyond a printed quantile."),
    ],
    remarks: "Of the 30 s, 1 % may be missing.",
    data: "duration of the run, responses",
    check: Check::Any(short),
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
    let Some(ns) = claims.get(Figure::Duration) else {
        return Outcome::Unchecked("duration not in the output");
    };
    let n = claims.get(Figure::Responses).unwrap_or(0.0);
    let few: Vec<_> =
        QUANTILES.iter().filter(|(figure, q, ..)| claims.get(*figure).is_some() && !is_quantile_known(n, *q)).collect();
    let by_time = match ns {
        ns if ns < INVALID_NS => {
            Some((FindingState::Invalid, format!("only {} of the required 5 s: chance decides", time(ns))))
        }
        ns if ns < BOUND_NS * 0.99 => {
            Some((FindingState::Bound, format!("only {} of the advised 30 s: rare events may be missing", time(ns))))
        }
        _ => None,
    };
    let few_names: Vec<_> = few.iter().map(|(_, _, name, _)| (*name).to_owned()).collect();
    let (state, message) = match (by_time, few_names.as_slice()) {
        (None, []) => return Outcome::Pass,
        (Some(found), []) => found,
        (Some((state, message)), names) => (state, format!("{message}; too few requests for {}", list(names))),
        (None, names) => (FindingState::Bound, format!("{} requests are too few for {}", count(n as u64), list(names))),
    };
    let wanted = few.last().map_or(0.0, |(_, q, ..)| QUANTILE_TAIL_MIN / (1.0 - q));
    let seconds = if n > 0.0 { (wanted / n * ns / 1e9).max(BOUND_NS / 1e9) } else { BOUND_NS / 1e9 };
    let remedy = format!("measure {} s or longer", round_up(seconds));
    let mut figures = vec![("duration_ns".to_owned(), ns), ("n".to_owned(), n)];
    figures.extend(few.iter().map(|(_, q, _, key)| (format!("{key}_tail_n"), n * (1.0 - q))));
    Outcome::fired(SHORT.id, state, message, remedy, figures.iter().map(|(key, value)| (key.as_str(), *value)))
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
