//! LD-04: measurement too short.

use crate::facts::quantiles;
use crate::facts::saturation::peak_index;
use crate::need::LEAST_NS;
use crate::text::place;
use crate::text::{list, round_up};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use evidence::{SampleBearing, sample_bearing};
use model::human::{count, percent, plural, time};
use model::{
    Basis, Evidence, Finding, FindingState, NS_PER_S, QUANTILE_TAIL_MIN, Quantile, Stop, SweepEvidence,
    is_quantile_known,
};
use stats::BATCHES_MIN;

const INVALID_NS: u64 = 5 * NS_PER_S;
const ADVISED_NS: u64 = 30 * NS_PER_S;
/// What takes time from a measurement, and what is to be done where nobody can end it.
const DISTURBERS: &str = "what disturbs this machine (rules CL-08, CL-09, EN-01 and EN-03 name it)";
const QUIETER: &str = "measure in a quieter period";
/// Nobody measures one load longer for a quantile.
const LONGEST_S: f64 = 3600.0;
/// Responses that came one after the other, below which a number of requests says nothing: as few as batches of an interval.
const ROUNDS_MIN: f64 = BATCHES_MIN as f64;
/// Half of the interval, relative to the rate, from which on not even its first digit is known.
const HALF_MAX: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    id: "LD-04",
    title: "too short",
    detects: "There was too little time for the goodput, or there were too few requests for a quantile.",
    fires: &[
        Fires::invalid(
            "All windows together were shorter than 5 s; with a number of requests (-n), each connection also had \
             fewer than 10 responses one after the other.",
        ),
        Fires::bound(
            "A quantile up to p99 is not shown, since fewer than 100 requests are beyond it; or a number of requests \
             took less than 5 s, and the rate is not known to within 50 %.",
        ),
        Fires::warning(
            "The numbers rest on less than 5 s of undisturbed time in a longer window; or a number of requests took \
             less than 5 s, and the rate is known to within 50 %.",
        ),
        Fires::note(
            "All windows together were shorter than 30 s, or a quantile above p99 is not shown, since fewer than 100 \
             requests are beyond it.",
        ),
    ],
    remarks: "In a sweep the loads up to the peak count, and a missing p99 is a NOTE. How well a rate is known \
              follows from the spread of the service times (Student's t) and from the requests in flight (Little's \
              law); 10 is also the least number of batches for batch means.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan, Need::WhereKnown(&[Need::ResponseTimes])],
    conditions: "",
    check: Check::Both { run: check, sweep: check_sweep },
};

/// What is to be said of a plan before its load where so many windows of this length are too short for any result.
#[must_use]
pub fn planned_too_short(window_ns: u64, iterations: u64) -> Option<String> {
    let iterations = iterations.max(1);
    let planned = match iterations {
        1 => seconds(window_ns),
        _ => format!("{} in {}", seconds(window_ns), plural(iterations, "iteration")),
    };
    let enough_s = INVALID_NS.div_ceil(iterations).div_ceil(NS_PER_S);
    (window_ns.saturating_mul(iterations) < INVALID_NS).then(|| {
        format!(
            "{planned} is below the {} that rule {} requires, so the result will be INVALID; use -d {enough_s}s or more",
            seconds(INVALID_NS),
            RULE.id
        )
    })
}

fn check(evidence: &Evidence) -> Outcome {
    let n = evidence.latency.response.n;
    let withheld = withheld(evidence);
    let undisturbed_ns = little_undisturbed_ns(evidence);
    let by_time = match (by_time(evidence.measured_ns), undisturbed_ns) {
        (Some((FindingState::Invalid, _)), _) if is_counted(evidence) => {
            Some((by_count(sample_bearing(evidence)), count_part(evidence)))
        }
        (_, Some(ns)) => Some((FindingState::Warning, undisturbed_part(evidence, ns))),
        (by_time, None) => by_time,
    };
    let by_quantile = match withheld.first() {
        None => None,
        Some((lowest, _)) if *lowest > Quantile::P99 => Some(FindingState::Note),
        Some(_) => Some(FindingState::Bound),
    };
    let Some(state) = by_time.as_ref().map(|(state, _)| *state).max(by_quantile) else { return Outcome::Pass };
    let names: Vec<_> = withheld.iter().map(|(quantile, _)| quantile.to_string()).collect();
    let message = match &by_time {
        Some((_, short)) if names.is_empty() => short.clone(),
        Some((_, short)) => format!("{short}; {} not shown", list(&names)),
        None => {
            let requests = if n == 1 { "request is" } else { "requests are" };
            format!("{} {requests} too few for {}, not shown", count(n), list(&names))
        }
    };
    let little = undisturbed_ns.map(|ns| (evidence, ns));
    let time_s = time_s(by_time.is_some(), little);
    let mut figures = vec![("measured_ns".to_owned(), evidence.measured_ns as f64), ("n".to_owned(), n as f64)];
    figures.extend(undisturbed_ns.map(|ns| ("undisturbed_ns".to_owned(), ns as f64)));
    figures.extend(withheld.iter().map(|(quantile, tail_n)| (quantile.tail_figure(), *tail_n)));
    Outcome::Fired(Finding {
        rule: RULE.id.to_owned(),
        state,
        message,
        remedy: fitting(
            little.is_some() || is_mostly_set_aside(evidence),
            remedy(evidence, time_s, &those_of_known_times(evidence, &withheld)),
        ),
        evidence: figures.into_iter().collect(),
    })
}

/// The quantiles that are not shown, where it is known how long they would take.
fn those_of_known_times(evidence: &Evidence, withheld: &[(Quantile, f64)]) -> Vec<Quantile> {
    withheld.iter().filter(|_| is_rate_known(evidence)).map(|(quantile, _)| *quantile).collect()
}

/// True if the rate says how long a number of requests takes: that of milliseconds says nothing of hours.
const fn is_rate_known(evidence: &Evidence) -> bool {
    evidence.measured_ns >= LEAST_NS || matches!(evidence.plan.stop, Stop::Count { .. })
}

/// The undisturbed time that the numbers rest on, where it is shorter than a window may be and the window is not; ns.
fn little_undisturbed_ns(evidence: &Evidence) -> Option<u64> {
    let seen = evidence.disturbance.as_ref().filter(|seen| seen.basis == Basis::Clean)?;
    (evidence.measured_ns >= INVALID_NS && seen.clean_ns < INVALID_NS).then_some(seen.clean_ns)
}

/// True if more of the window was set aside than the numbers rest on, so that requests are missing too.
fn is_mostly_set_aside(evidence: &Evidence) -> bool {
    evidence.disturbance.as_ref().is_some_and(|seen| seen.basis == Basis::Clean && seen.set_aside_ns > seen.clean_ns)
}

fn undisturbed_part(evidence: &Evidence, undisturbed_ns: u64) -> String {
    format!(
        "the numbers rest on only {} of undisturbed time, of {} measured: chance may decide",
        time(undisturbed_ns as f64),
        time(evidence.measured_ns as f64)
    )
}

/// True if so many requests were asked for, and not a time.
const fn is_counted(evidence: &Evidence) -> bool {
    matches!(evidence.plan.stop, Stop::Count { .. }) && evidence.iterations == 1
}

/// Invalid by what was asked for alone: the spread of few response times is chance, and the same command would be invalid one
/// time and not the next.
fn by_count(SampleBearing { rounds, half }: SampleBearing) -> FindingState {
    match half {
        _ if rounds < ROUNDS_MIN => FindingState::Invalid,
        Some(half) if half <= HALF_MAX => FindingState::Warning,
        _ => FindingState::Bound,
    }
}

/// What a number of requests bears that was over in a short time.
fn count_part(evidence: &Evidence) -> String {
    let bearing @ SampleBearing { rounds, half } = sample_bearing(evidence);
    let n = evidence.latency.response.n;
    let facts = format!("{} in {}", plural(n, "request"), time(evidence.measured_ns as f64));
    match half {
        Some(half) if by_count(bearing) == FindingState::Warning => format!(
            "{facts} bear a rate within {} by their count and spread; what the server does at other times is not in it",
            percent(half)
        ),
        _ if rounds < ROUNDS_MIN => format!(
            "{facts}, {:.1} one after the other on each connection, of the required {ROUNDS_MIN}: chance decides",
            rounds
        ),
        _ => format!("{facts} differ so much that the rate is not known to {}: chance decides", percent(HALF_MAX)),
    }
}

/// A sweep claims its goodput: too short a window invalidates it, too little undisturbed time is a warning, and a quantile that
/// is not shown a note.
fn check_sweep(sweep: &SweepEvidence) -> Outcome {
    let Some(peak) = peak_index(&sweep.points) else {
        return Outcome::UNMET;
    };
    let up_to_peak = sweep.points[..=peak].iter().map(|point| point.evidence.measured_ns);
    let measured_ns = up_to_peak.min().unwrap_or(0);
    let little = sweep.points[..=peak].iter().enumerate();
    let little = little.filter_map(|(i, point)| Some((i, little_undisturbed_ns(&point.evidence)?)));
    let little = little.min_by_key(|(_, ns)| *ns);
    let by_time = match (by_time(measured_ns), little) {
        (Some((FindingState::Note, _)) | None, Some((i, ns))) => {
            let short = undisturbed_part(&sweep.points[i].evidence, ns);
            Some((FindingState::Warning, format!("at {}: {short}", place(sweep, i))))
        }
        (by_time, _) => by_time.map(|(state, short)| (state, format!("each load had {short}"))),
    };
    let is_without_p99 =
        |evidence: &Evidence| withheld(evidence).iter().any(|(quantile, _)| *quantile == Quantile::P99);
    let without_p99: Vec<_> = sweep.points.iter().map(|p| &p.evidence).filter(|e| is_without_p99(e)).collect();
    let mut parts = Vec::new();
    let mut state = FindingState::Note;
    let little = little.map(|(i, ns)| (&sweep.points[i].evidence, ns));
    let time_s = time_s(by_time.is_some(), little);
    if let Some((by_time, short)) = by_time {
        state = by_time;
        parts.push(short);
    }
    if !without_p99.is_empty() {
        parts.push(format!("no p99 at {} of {}", without_p99.len(), plural(sweep.points.len() as u64, "load")));
    }
    if parts.is_empty() {
        return Outcome::Pass;
    }
    let slowest = without_p99.iter().min_by_key(|evidence| evidence.latency.response.n);
    let advised_by = slowest.copied().unwrap_or(&sweep.points[peak].evidence);
    let is_disturbed = little.is_some() || is_mostly_set_aside(advised_by);
    let remedy = fitting(is_disturbed, remedy(advised_by, time_s, slowest.map(|_| Quantile::P99).as_slice()));
    let figures = [("measured_ns", measured_ns as f64), ("points_without_p99", without_p99.len() as f64)];
    Outcome::fired(RULE.id, state, parts.join("; "), remedy, figures)
}

/// A time that was planned, as it is written.
fn seconds(ns: u64) -> String {
    if ns.is_multiple_of(NS_PER_S) { format!("{} s", ns / NS_PER_S) } else { time(ns as f64) }
}

/// Quantiles with too few requests beyond them, and how many these are; the lowest first.
fn withheld(evidence: &Evidence) -> Vec<(Quantile, f64)> {
    let n = evidence.latency.response.n as f64;
    let few = quantiles(evidence).into_iter().filter(|quantile| !is_quantile_known(n, quantile.share()));
    few.map(|quantile| (quantile, n * (1.0 - quantile.share()))).collect()
}

/// What is to be said of so long a window.
fn by_time(measured_ns: u64) -> Option<(FindingState, String)> {
    let measured = time(measured_ns as f64);
    match measured_ns {
        ..INVALID_NS => {
            let required = seconds(INVALID_NS);
            Some((FindingState::Invalid, format!("only {measured} of the required {required}: chance decides")))
        }
        INVALID_NS..ADVISED_NS => {
            let advised = seconds(ADVISED_NS);
            Some((FindingState::Note, format!("only {measured} of the advised {advised}: rare events may be missing")))
        }
        ADVISED_NS.. => None,
    }
}

/// Length that would do where a window was short, or had so `little` undisturbed time; 0 where it was long enough. s
fn time_s(is_short: bool, little: Option<(&Evidence, u64)>) -> f64 {
    let advised_s = if is_short { ADVISED_NS as f64 / NS_PER_S as f64 } else { 0.0 };
    // With as much of it undisturbed as there was.
    let times = |(evidence, ns): (&Evidence, u64)| evidence.measured_ns as f64 / ns.max(1) as f64;
    little.map_or(advised_s, |little| advised_s.max(times(little) * INVALID_NS as f64 / NS_PER_S as f64))
}

/// The length or number of requests that would do: for `time_s`, 0 if the time was long enough, and for one of the `missing`
/// quantiles, which are named from the least rare on: the first that this time does not show. A rarer one can wait until that
/// is seen.
fn remedy(evidence: &Evidence, time_s: f64, missing: &[Quantile]) -> String {
    let seconds = evidence.measured_ns as f64 / NS_PER_S as f64;
    let n = evidence.latency.response.n as f64;
    let per_s = if seconds > 0.0 { n / seconds } else { 0.0 };
    let needed = |quantile: Quantile| (QUANTILE_TAIL_MIN / (1.0 - quantile.share())).round();
    let time_of = |requests: f64| if per_s > 0.0 { requests / per_s } else { 0.0 };
    let is_unseen = |quantile: &&Quantile| time_of(needed(**quantile)) > time_s;
    let quantile = missing.iter().find(is_unseen).or_else(|| missing.last()).copied();
    let requests = quantile.map_or(0.0, needed);
    let quantile_s = time_of(requests);
    let share = f64::from(evidence.iterations.max(1));
    if time_s.max(quantile_s) > LONGEST_S {
        return beyond_an_hour(time_s, quantile, share);
    }
    if let Stop::Count { .. } = evidence.plan.stop {
        let each = round_up((time_s * per_s).max(requests) / share);
        return format!("send more requests (-n {each}) or set a duration (-d 30s)");
    }
    let [time_s, quantile_s] = [time_s, quantile_s].map(|all_s| (all_s / share).ceil() as u64);
    match quantile {
        Some(name) if quantile_s > time_s && time_s > 0 => {
            format!("measure longer: -d {time_s}s, or -d {quantile_s}s to see {name} too")
        }
        Some(name) if quantile_s > time_s => format!("measure longer: -d {quantile_s}s shows {name}"),
        _ => format!("measure longer: -d {}s", time_s.max(quantile_s)),
    }
}

/// Advice that fits the reason: a longer window is of no use by itself where the time was disturbed.
fn fitting(is_disturbed: bool, remedy: String) -> String {
    match is_disturbed {
        false => remedy,
        true if remedy == QUIETER => format!("end {DISTURBERS}, or {QUIETER}"),
        true => format!("end {DISTURBERS}, or {QUIETER}; if neither is possible, {remedy}"),
    }
}

/// Advice where the time that would do is no time that anybody measures.
fn beyond_an_hour(time_s: f64, quantile: Option<Quantile>, share: f64) -> String {
    let advised_s = if time_s > LONGEST_S { 0.0 } else { time_s };
    match quantile {
        _ if time_s > LONGEST_S => QUIETER.to_owned(),
        Some(name) if advised_s > 0.0 => {
            format!(
                "measure longer: -d {:.0}s; at this rate {name} would take over an hour",
                (advised_s / share).ceil()
            )
        }
        Some(name) => format!("do without {name}: at this rate it would take over an hour"),
        None => "measure longer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, clean_sweep, finding, judged, judged_sweep, state};
    use model::Disturbance;

    fn run(seconds: u64, n: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.measured_ns = seconds * NS_PER_S;
        evidence.latency.response.n = n;
        evidence
    }

    /// Runs of 2 s, and sweeps of one iteration, were measured to their end before anybody said that they are INVALID.
    #[test]
    fn a_plan_that_can_only_end_invalid_was_started_without_a_word() {
        let of = |seconds: u64, iterations| planned_too_short(seconds * NS_PER_S, iterations);
        assert_eq!(
            of(2, 1).as_deref(),
            Some("2 s is below the 5 s that rule LD-04 requires, so the result will be INVALID; use -d 5s or more")
        );
        assert!(
            of(2, 2).is_some_and(|said| said.starts_with("2 s in 2 iterations") && said.ends_with("-d 3s or more"))
        );
        assert_eq!((of(2, 3), of(5, 1)), (None, None));
        assert!(RULE.fires[0].when.contains("shorter than 5 s"), "the catalogue names the same value");
    }

    #[test]
    fn seconds_decide() {
        assert_eq!(state(&judged(&RULE, &run(30, 1_000_000))), None);
        assert_eq!(state(&judged(&RULE, &run(29, 1_000_000))), Some(FindingState::Note));
        assert_eq!(state(&judged(&RULE, &run(5, 1_000_000))), Some(FindingState::Note));
        assert_eq!(state(&judged(&RULE, &run(4, 1_000_000))), Some(FindingState::Invalid));
    }

    #[test]
    fn requests_beyond_a_quantile_decide_whether_it_is_shown() {
        assert_eq!(judged(&RULE, &run(30, 100_000)), Outcome::Pass);
        let tail = finding(judged(&RULE, &run(30, 50_000)));
        assert_eq!(tail.state, FindingState::Note);
        assert_eq!(tail.evidence.keys().filter(|key| key.ends_with("_tail_n")).count(), 1);

        let tail = finding(judged(&RULE, &run(30, 9_000)));
        assert_eq!(tail.state, FindingState::Bound);
        assert_eq!(tail.message, "9,000 requests are too few for p99 and p99.9, not shown");
        assert_eq!(tail.remedy, "measure longer: -d 34s shows p99");
    }

    #[test]
    fn a_number_of_requests_is_held_to_what_its_count_and_spread_bear() {
        let counted = |n: u64, connections: f64, sd_ns: f64| {
            let mut evidence = run(0, n);
            evidence.measured_ns = 65_000_000;
            evidence.plan.stop = Stop::Count { requests: n };
            evidence.latency.service.n = n;
            evidence.plan.load = model::Load::Closed { connections: connections as u32 };
            (evidence.latency.service.mean_ns, evidence.latency.service_sd_ns) = (1e6, sd_ns);
            evidence
        };
        // 1.984 * 0.5 / sqrt(100): what people type who know ab.
        let few = finding(judged(&RULE, &counted(1_000, 10.0, 0.5e6)));
        assert_eq!(few.state, FindingState::Bound, "p99 is not shown");
        assert!(few.message.starts_with("1,000 requests in 65.0 ms bear a rate within 9.9 % by"), "{few:?}");
        assert!(few.message.ends_with("p99 and p99.9 not shown") && few.remedy.contains("-n 470000"), "{few:?}");
        let many = finding(judged(&RULE, &counted(100_000, 10.0, 0.5e6)));
        assert_eq!(many.state, FindingState::Warning, "{many:?}");
        let once = finding(judged(&RULE, &counted(500, 100.0, 0.5e6)));
        assert_eq!(once.state, FindingState::Invalid);
        assert!(once.message.contains("5.0 one after the other on each connection"), "{once:?}");
        let wild = finding(judged(&RULE, &counted(1_000, 10.0, 5e6)));
        assert_eq!(wild.state, FindingState::Bound, "the next time they may differ less");
        assert!(wild.message.contains("differ so much that the rate is not known to 50 %"), "{wild:?}");
        let mut long_enough = counted(100_000, 10.0, 5e6);
        long_enough.measured_ns = 6 * NS_PER_S;
        assert_eq!(state(&judged(&RULE, &long_enough)), Some(FindingState::Note));
        let mut timed = counted(100_000, 10.0, 0.5e6);
        timed.plan.stop = Stop::Duration { duration_ns: 65_000_000 };
        assert_eq!(state(&judged(&RULE, &timed)), Some(FindingState::Invalid), "a time can be longer");
    }

    /// "-d 133334s to see p99.9", of 1 ms; and of eight runs of `-n 50` five were invalid and three were not.
    #[test]
    fn milliseconds_give_no_hours_and_the_same_command_has_the_same_state() {
        let mut short = run(0, 3);
        short.measured_ns = 4_000_000;
        assert_eq!(finding(judged(&RULE, &short)).remedy, "measure longer: -d 30s");
        let states = [(0.2e6, 4.6), (1e6, 5.0), (2e6, 3.1), (9e6, 4.99)].map(|(sd_ns, mean)| {
            let mut evidence = run(0, 50);
            evidence.measured_ns = 12_500_000;
            (evidence.plan.stop, evidence.plan.load) =
                (Stop::Count { requests: 50 }, model::Load::Closed { connections: 5 });
            (evidence.latency.service.n, evidence.outstanding.mean) = (50, mean);
            (evidence.latency.service.mean_ns, evidence.latency.service_sd_ns) = (1e6, sd_ns);
            finding(judged(&RULE, &evidence)).state
        });
        assert_eq!(states, [FindingState::Bound; 4]);
    }

    #[test]
    fn the_remedy_parts_what_the_verdict_needs_from_what_a_quantile_needs() {
        let short = finding(judged(&RULE, &run(10, 3_000)));
        assert_eq!(
            short.message,
            "only 10.0 s of the advised 30 s: rare events may be missing; p99 and p99.9 not shown"
        );
        assert_eq!(short.remedy, "measure longer: -d 30s, or -d 34s to see p99 too");
    }

    /// "-d 30s, or -d 1743s to see p99.9 too" was said of a page that lacked its p99.
    #[test]
    fn the_remedy_names_the_time_of_the_least_rare_quantile_that_is_missing() {
        let remedy = |seconds: u64, n: u64| finding(judged(&RULE, &run(seconds, n))).remedy;
        assert_eq!(remedy(8, 456), "measure longer: -d 30s, or -d 36s to see p95 too");
        assert_eq!(remedy(8, 1_200), "measure longer: -d 30s, or -d 67s to see p99 too");
        assert_eq!(remedy(30, 1_710), "measure longer: -d 36s shows p95");
        assert_eq!(remedy(30, 456), "measure longer: -d 66s shows p90");
        assert_eq!(remedy(30, 50_000), "measure longer: -d 60s shows p99.9");
    }

    /// "-d 133334s to see p99.9" was advice.
    #[test]
    fn no_time_over_an_hour_is_advised() {
        let remedy = |evidence: &Evidence| finding(judged(&RULE, evidence)).remedy;
        let p90 = "measure longer: -d 30s; at this rate p50 would take over an hour";
        assert_eq!(remedy(&run(20, 1)), p90);
        assert_eq!(remedy(&run(30, 40)), "measure longer: -d 150s shows p50");
        assert_eq!(remedy(&run(3_000, 6_000)), "do without p99: at this rate it would take over an hour");
        let mut counted = run(20, 1);
        counted.plan.stop = Stop::Count { requests: 1 };
        assert_eq!(remedy(&counted), p90);
        assert!(remedy(&undisturbed(1_000_000, 15)).ends_with(", or measure in a quieter period"));
    }

    #[test]
    fn a_sweep_is_judged_once_by_its_time_and_told_of_its_quantiles() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 171.0)]);
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        sweep.points[0].evidence = run(30, 3_000);
        let few = finding(judged_sweep(&RULE, &sweep));
        assert_eq!((few.state, few.message.as_str()), (FindingState::Note, "no p99 at 1 of 3 loads"));
        for point in &mut sweep.points {
            point.evidence = run(6, 3_000);
            point.evidence.iterations = 2;
        }
        let short = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(short.state, FindingState::Note);
        assert_eq!(
            short.message,
            "each load had only 6.00 s of the advised 30 s: rare events may be missing; no p99 at 3 of 3 loads"
        );
        assert_eq!(short.remedy, "measure longer: -d 15s");
        sweep.points.clear();
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }

    /// So much of `seconds` is undisturbed.
    fn undisturbed(clean_ns: u64, seconds: u64) -> Evidence {
        let mut evidence = run(seconds, 1_000_000);
        let set_aside_ns = evidence.measured_ns - clean_ns;
        let seen = Disturbance { basis: Basis::Clean, clean_ns, set_aside_ns, ..Disturbance::default() };
        evidence.disturbance = Some(seen);
        evidence
    }

    /// A goodput of six slices of 100 ms was told as that of 15 s, with a note. Noise is no reason for more than a warning.
    #[test]
    fn undisturbed_time_decides_whether_a_run_was_too_short() {
        let found = finding(judged(&RULE, &undisturbed(600_000_000, 15)));
        assert_eq!(found.state, FindingState::Warning);
        let expected = "the numbers rest on only 600 ms of undisturbed time, of 15.0 s measured: chance may decide";
        assert_eq!(found.message, expected);
        // "Measure longer" alone, of a machine that was busy with something else.
        assert!(found.remedy.starts_with("end what disturbs this machine"), "{}", found.remedy);
        assert!(found.remedy.ends_with("if neither is possible, measure longer: -d 125s"), "{}", found.remedy);
        assert_eq!(found.evidence["undisturbed_ns"], 6e8);
        assert_eq!(state(&judged(&RULE, &undisturbed(4 * NS_PER_S, 60))), Some(FindingState::Warning));
        assert_eq!(state(&judged(&RULE, &undisturbed(5 * NS_PER_S, 15))), Some(FindingState::Note));
        assert_eq!(judged(&RULE, &undisturbed(5 * NS_PER_S, 30)), Outcome::Pass);
        assert_eq!(state(&judged(&RULE, &undisturbed(NS_PER_S, 4))), Some(FindingState::Invalid), "the window itself");
        let mut whole = undisturbed(400_000_000, 15);
        whole.disturbance.as_mut().expect("it is kept").basis = Basis::Whole;
        assert_eq!(state(&judged(&RULE, &whole)), Some(FindingState::Note), "the numbers rest on all of it");
        let mut few = undisturbed(600_000_000, 15);
        few.latency.response.n = 3_000;
        let found = finding(judged(&RULE, &few));
        assert_eq!(found.state, FindingState::Bound, "p99 is not shown");
        assert!(found.message.ends_with("chance may decide; p99 and p99.9 not shown"), "{}", found.message);
    }

    #[test]
    fn undisturbed_time_of_a_load_up_to_the_peak_decides_in_a_sweep() {
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 171.0)]);
        sweep.points[2].evidence = undisturbed(NS_PER_S, 10);
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass, "it is past the peak");
        sweep.points[0].evidence = undisturbed(2 * NS_PER_S, 10);
        let found = finding(judged_sweep(&RULE, &sweep));
        assert_eq!(found.state, FindingState::Warning);
        let expected = "at 1 connection: the numbers rest on only 2.00 s of undisturbed time, of 10.0 s measured";
        assert!(found.message.starts_with(expected), "{}", found.message);
        sweep.points[1].evidence = run(4, 1_000_000);
        assert_eq!(finding(judged_sweep(&RULE, &sweep)).state, FindingState::Invalid);
    }

    #[test]
    fn nothing_measured_is_invalid() {
        assert_eq!(state(&judged(&RULE, &run(0, 0))), Some(FindingState::Invalid));
    }
}
