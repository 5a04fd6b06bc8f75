//! Bottleneck of a server: possible limits, checked in priority order, each with its evidence.
//!
//! All are checked. The first with evidence is the limiter; the distance of the other resources from their own ceilings
//! gives the next limit, and so the predicted gain of removing this one. Nothing is named where a fault of the client
//! or of the responses (rules CL and ER) made the number invalid: then the server was not what was measured.
//!
//! The laws are in [`laws`]; each check has its thresholds in a file of its own.

pub mod confirm;
mod detectors;
mod hints;
mod input;
pub mod laws;
mod links;
mod pools;
mod possible;
mod signal;
mod utilisation;

use crate::facts::OCCUPIED;
use crate::facts::disturbed::is_disturbed;
use crate::facts::saturation::peak_index;
use crate::judge_run;
use crate::need;
use detectors::{DETECTORS, is_inferred_from_curve};
use input::{CPUS, LimiterInput, Shape};
use model::human::rate;
use model::{
    Confidence, Evidence, FindingState, Limiter, LimiterContext, NextLimiter, Prediction, SweepEvidence, Utilisation,
    Verdict,
};
use pools::{BUILT_IN_THREADS, is_built_in_thread};
use signal::{Detection, Signal};
use utilisation::{utilisations, utilisations_after};

/// Name without a limit: a fault of client or responses.
pub const NOT_A_SERVER_LIMIT: &str = "not-a-server-limit";
/// Name without a limit: the load was too small.
pub const NOT_SATURATED: &str = "not-saturated";
/// Name of a limit that was not found.
pub const UNKNOWN: &str = "unknown";

/// Resources that are named as used most.
const TOLD_MAX: usize = 3;
/// The ceiling of what is used less is far beyond anything that was measured.
const USED_MIN: f64 = 0.01;
/// A resource in use to this share is near its ceiling.
const NEAR: f64 = 0.9;
/// A pool of slots that a curve fits is no limit where a resource allows no more than the plateau and this share: a fit may be off
/// by as much.
const FIT_MIN: f64 = 0.1;
/// A smaller gain is none: no prediction is that exact.
const GAIN_MIN: f64 = 0.05;
/// A point with less than this share of the highest goodput is past what the server can do.
const PLATEAU: f64 = 0.9;

/// Limiter of the server at one load; `verdict` is that of the run.
#[must_use]
pub fn limiter_of_run(evidence: &Evidence, verdict: &Verdict, context: &LimiterContext) -> Limiter {
    limiter(&LimiterInput::new(evidence, context, Shape::default()), verdict)
}

/// Limiter of the server in a sweep, at the highest load of its plateau that nothing is wrong with. None without points.
#[must_use]
pub fn limiter_of_sweep(sweep: &SweepEvidence, context: &LimiterContext) -> Option<Limiter> {
    let peak = peak_index(&sweep.points)?;
    let highest_per_s = sweep.points[peak].goodput_per_s;
    let verdicts: Vec<Verdict> = sweep.points.iter().map(|point| judge_run(&point.evidence)).collect();
    let on_plateau = |at: &usize| sweep.points[*at].goodput_per_s >= PLATEAU * highest_per_s;
    let at = (peak..sweep.points.len()).rev().filter(on_plateau).find(|at| faults(&verdicts[*at]).is_empty());
    let at = at.unwrap_or(peak);
    let input = LimiterInput::new(&sweep.points[at].evidence, context, Shape::of(sweep, at));
    Some(Limiter { load: Some(sweep.points[at].load), ..limiter(&input, &verdicts[at]) })
}

/// Resources of the server and the share of each that is in use, of CPUs whoever uses them: rule SA-05 looks whether any is
/// used up.
pub(crate) fn used(evidence: &Evidence, context: &LimiterContext) -> Vec<(String, f64)> {
    let input = LimiterInput::new(evidence, context, Shape::default());
    let busy = input.server_cpus().map(|cpus| cpus.busy);
    let share = |used: &Utilisation| busy.filter(|_| used.resource == CPUS).unwrap_or(used.share);
    utilisations(&input).into_iter().map(|used| (used.resource.clone(), share(&used))).collect()
}

/// True if `limiter` names a limit of the server.
#[must_use]
pub fn names_a_limit(limiter: &Limiter) -> bool {
    ![NOT_A_SERVER_LIMIT, NOT_SATURATED, UNKNOWN].contains(&limiter.name.as_str())
}

fn limiter(input: &LimiterInput<'_>, verdict: &Verdict) -> Limiter {
    if input.evidence.measured_ns < need::LEAST_NS {
        return none(UNKNOWN, format!("it is not looked for: {}", need::TOO_SHORT));
    }
    let mut utilisations = utilisations(input);
    let (found, unchecked) = detect(input);
    let faults = faults(verdict);
    let turned_away =
        detectors::connections::turned_away(input).filter(|_| faults.iter().all(|rule| rule.starts_with("ER-")));
    let mut limiter = match (turned_away, chosen(input, found)) {
        // A limit of the server, whatever that has made of its responses: ER-01 says so too.
        (Some(signal), _) => named(input, &signal),
        _ if !faults.is_empty() => none(NOT_A_SERVER_LIMIT, blamed(&faults) + &hints::of_faults(input.evidence)),
        (None, Some(limiter)) => limiter,
        (None, None) => match detectors::load::not_saturated(input, &utilisations) {
            Some(says) => none(NOT_SATURATED, says),
            None => possible::undecided(input, detectors::load::unknown(input, &utilisations)),
        },
    };
    utilisations.truncate(TOLD_MAX);
    limiter.utilisations = utilisations;
    limiter.unchecked = unchecked;
    limiter
}

/// All limits with evidence, in priority order, and those that could not be checked with the reason.
fn detect(input: &LimiterInput<'_>) -> (Vec<Signal>, Vec<String>) {
    let (mut found, mut unchecked) = (Vec::new(), Vec::new());
    for (name, look) in DETECTORS {
        match look(input) {
            Detection::Clear => {}
            Detection::Unchecked(why) => unchecked.push(format!("{name}: {why}")),
            Detection::Found(signal) => found.push(*signal),
        }
    }
    (found, unchecked)
}

/// The first limit that something is gained from removing, or the one that keeps the others from gaining anything. What follows
/// from the shape of the curve alone gives way to a resource that is nearly full and allows no more than the plateau.
fn chosen(input: &LimiterInput<'_>, found: Vec<Signal>) -> Option<Limiter> {
    let lenient = input.with_nearly_full();
    let nearly_full = || if input.shape.flat == Some(true) { detect(&lenient).0 } else { Vec::new() };
    let first = found.first();
    if first.is_none_or(is_inferred_from_curve) {
        let most_per_s = first.and_then(|first| first.ceiling_per_s).map_or(f64::INFINITY, |fit| fit * (1.0 + FIT_MIN));
        let nearly_full = nearly_full();
        let explains = |signal: &&Signal| {
            !signal.is_inferred && signal.share.is_some() && signal.ceiling_per_s.is_some_and(|own| own < most_per_s)
        };
        if let Some(signal) = nearly_full.iter().find(explains) {
            return Some(named(&lenient, signal));
        }
    }
    let mut first = None;
    for signal in &found {
        let limiter = named(input, signal);
        // What tells of itself (connections dropped, or never served) is there whatever it costs.
        let is_of_shares = signal.share.is_some() || is_inferred_from_curve(signal);
        let Some(next) = in_the_way(input, &limiter).filter(|_| is_of_shares) else { return Some(limiter) };
        let all = nearly_full();
        let is_next = |other: &&Signal| is_same(&other.resource, next) && other.name != signal.name;
        if let Some(other) = found.iter().chain(&all).find(is_next) {
            return Some(named(&lenient, other));
        }
        // What the curve alone suggests, and the next ceiling contradicts, is nothing.
        if !is_inferred_from_curve(signal) {
            first = first.or(Some(limiter));
        }
    }
    first
}

/// Name of the next limit, where that is within its error of what is reached already: then removing this one gains nothing.
fn in_the_way<'a>(input: &LimiterInput<'_>, limiter: &'a Limiter) -> Option<&'a str> {
    let next = limiter.next.as_ref()?;
    let reached_per_s = limiter.ceiling_per_s.unwrap_or(input.clean_per_s);
    (next.ceiling_per_s < reached_per_s * (1.0 + GAIN_MIN)).then_some(next.name.as_str())
}

/// Ids of the findings that say it was not the server: faults of client or answers.
#[must_use]
pub fn faults(verdict: &Verdict) -> Vec<&str> {
    let is_fault = |rule: &str, state| {
        // A saturated client makes throughput a bound, which is no figure of the server either.
        (rule.starts_with("CL-") || rule.starts_with("ER-")) && state == FindingState::Invalid
            || rule == "CL-01" && state >= FindingState::Bound
    };
    let findings = verdict.findings.iter().filter(|finding| is_fault(&finding.rule, finding.state));
    findings.map(|finding| finding.rule.as_str()).collect()
}

fn blamed(faults: &[&str]) -> String {
    let who = match faults.iter().any(|rule| rule.starts_with("CL-")) {
        true => "the load generator",
        false => "wrong responses",
    };
    format!("{who} determined the result ({}): fix that first", faults.join(", "))
}

fn none(name: &str, says: String) -> Limiter {
    Limiter { name: name.to_owned(), says, ..Limiter::default() }
}

/// A limiter that was found, the next one, and the predicted gain.
fn named(input: &LimiterInput<'_>, signal: &Signal) -> Limiter {
    let next = next(input, signal).filter(|_| !signal.hides_next);
    let own_per_s = signal.ceiling_per_s.filter(|_| signal.change.is_some());
    let is_no_gain = |next: &&NextLimiter| own_per_s.is_some_and(|own| next.ceiling_per_s < own * (1.0 + GAIN_MIN));
    let gains_nothing = next.as_ref().filter(is_no_gain).map(both).unwrap_or_default();
    let prediction = signal.change.as_ref().zip(signal.ceiling_per_s).and_then(|(change, own_per_s)| {
        let expected_per_s = laws::least(own_per_s * change.factor, next.iter().map(|next| next.ceiling_per_s));
        let off = off(input);
        (expected_per_s >= own_per_s * (1.0 + GAIN_MIN)).then(|| Prediction {
            change: change.words.clone(),
            setting: change.setting.clone(),
            from: change.from,
            to: change.to,
            expected_per_s,
            low_per_s: Some((expected_per_s * (1.0 - off)).max(input.clean_per_s.min(expected_per_s))),
            high_per_s: Some(expected_per_s * (1.0 + off)),
        })
    });
    Limiter {
        name: signal.name.to_owned(),
        confidence: confidence(input, signal),
        resource: signal.resource.clone(),
        says: format!("{}{gains_nothing}", signal.says),
        evidence: signal.evidence.clone(),
        ceiling_per_s: signal.ceiling_per_s,
        next,
        prediction,
        ..Limiter::default()
    }
}

/// What is to be said where the next limit is in the way of any gain.
fn both(next: &NextLimiter) -> String {
    let NextLimiter { name, ceiling_per_s } = next;
    format!(
        "; changing it alone would gain nothing: the next limit ({name}) is at {}, so both have to be raised",
        rate(*ceiling_per_s)
    )
}

/// The least ceiling of the other resources once what `signal` stands for is out of the way.
fn next(input: &LimiterInput<'_>, signal: &Signal) -> Option<NextLimiter> {
    let used = utilisations_after(input, &signal.relief).into_iter().filter(|other| other.share >= USED_MIN);
    let used =
        used.filter(|other| !signal.freed.contains_key(&other.resource) && !signal.also.contains(&other.resource));
    let used = used.filter_map(|other| Some((other.resource, other.ceiling_per_s?)));
    let freed = signal.freed.iter().map(|(resource, ceiling_per_s)| (resource.clone(), *ceiling_per_s));
    let is_beyond = |ceiling_per_s: f64| signal.ceiling_per_s.is_none_or(|own_per_s| ceiling_per_s >= own_per_s);
    let after = used.chain(freed).filter(|(name, ceiling)| !is_same(name, &signal.resource) && is_beyond(*ceiling));
    let least = after.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(NextLimiter { name: least.0, ceiling_per_s: least.1 })
}

/// Share by which a prediction may be off: what `--confirm` counts as met, or more where the goodput itself is less sure.
fn off(input: &LimiterInput<'_>) -> f64 {
    let goodput = evidence::goodput(input.evidence);
    let interval = goodput.low.zip(goodput.high).map_or(0.0, |(low, high)| (high - low) / 2.0);
    confirm::MET.max(interval / goodput.value.max(f64::MIN_POSITIVE))
}

/// True if two resources are one, such as a thread of nginx and the pool of its one worker.
fn is_same(a: &str, b: &str) -> bool {
    fn program(name: &str) -> &str {
        match name.trim_start_matches("thread ").trim_end_matches(" workers") {
            thread if is_built_in_thread(thread) => BUILT_IN_THREADS,
            program => program,
        }
    }
    let (a, b) = (program(a), program(b));
    a.starts_with(b) || b.starts_with(a)
}

/// Confidence by the number of the four signs that are present.
fn confidence(input: &LimiterInput<'_>, signal: &Signal) -> Confidence {
    // What tells of itself (time throttled, connections dropped) has no share that would have to be near its ceiling.
    let near = signal.share.is_none_or(|share| share >= NEAR);
    let signs = [near, signal.queue, input.shape.flat == Some(true), input.shape.grows == Some(true)];
    let found = match signs.into_iter().filter(|sign| *sign).count() {
        4 => Confidence::High,
        2 | 3 => Confidence::Medium,
        _ => Confidence::Low,
    };
    // A resource that is only nearly full is named as nothing else explains the plateau.
    let is_nearly_full = input.full < OCCUPIED && signal.share.is_some_and(|share| share < OCCUPIED);
    let is_less_sure = signal.is_inferred || is_nearly_full;
    let found = if is_less_sure { found.min(Confidence::Medium) } else { found };
    match found {
        Confidence::High if is_taken(input, signal) => Confidence::Medium,
        Confidence::Medium if is_taken(input, signal) => Confidence::Low,
        found => found,
    }
}

/// True if the limit may be lost CPU time: CPUs that look short may be so only because others had them.
fn is_taken(input: &LimiterInput<'_>, signal: &Signal) -> bool {
    ["cpu-limited", "single-thread-limited"].contains(&signal.name) && is_disturbed(input.evidence.disturbance.as_ref())
}

#[cfg(test)]
mod tests;
