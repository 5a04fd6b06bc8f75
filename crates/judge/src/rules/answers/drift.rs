//! ER-13: cost per request that drifts.

use crate::facts::observed;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState, NS_PER_S};

/// Twice what is to be seen: CPU time of a request varies by some percent by itself.
const CHANGE: f64 = 0.10;
/// CPU time comes in steps of 10 ms.
const CPU_MIN_S: f64 = 1.0;
const SECONDS_MIN: usize = 15;

pub(crate) const RULE: Rule = Rule {
    id: "ER-13",
    title: "cost per request drifts",
    detects: "Requests changed their data, as POSTs that fill a table do, so that later ones cost more or less.",
    fires: &[Fires::warning(
        "The CPU time of server and companions per response changed by more than 10 % from the first to the last \
             third of the window, with the second third in between.",
    )],
    remarks: "",
    applies: Applies::Writing,
    needs: &[Need::Requests, Need::Plan, Need::Server],
    conditions: "one window of at least 15 s, with at least 1 s of the server's CPU time in each third",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.iterations > 1 || evidence.seconds.len() < SECONDS_MIN {
        return Outcome::Unchecked("no single window of 15 s");
    }
    let third = evidence.seconds.len() / 3;
    let begin = evidence.seconds[0].from_ns;
    let end = evidence.seconds.last().map_or(0, |last| last.from_ns + last.length_ns);
    let (second_from, last_from) =
        (evidence.seconds[third].from_ns, evidence.seconds[evidence.seconds.len() - third].from_ns);
    let thirds = [(begin, second_from), (second_from, last_from), (last_from, end)];
    let [Some(first_ns), Some(second_ns), Some(last_ns)] = thirds.map(|(from, to)| work(evidence, from, to)) else {
        return Outcome::Unchecked("too little CPU time of the server");
    };
    let change = last_ns / first_ns - 1.0;
    // What grows grows all the time; a CPU that others slow down comes and goes.
    let has_direction = (second_ns > first_ns) == (last_ns > second_ns);
    if change.abs() <= CHANGE || !has_direction {
        return Outcome::Pass;
    }
    let grew = if change > 0.0 { "more" } else { "less" };
    let message = format!(
        "a request cost {} of CPU time at the start and {} at the end, {} {grew}: the workload changes its data",
        time(first_ns),
        time(last_ns),
        percent(change.abs())
    );
    let remedy = "restore the data before each measurement, or use read-only requests".to_owned();
    let figures = [("first_cpu_ns", first_ns), ("last_cpu_ns", last_ns), ("change", change)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// CPU time of the server and its companions for each response between two instants; none when there is too little of it. ns
fn work(evidence: &Evidence, from_ns: u64, to_ns: u64) -> Option<f64> {
    let inside = |at_ns: u64| (from_ns..to_ns).contains(&at_ns);
    let observed = observed(evidence)?;
    let mut cpu_s = 0.0;
    for second in observed.seconds.iter().filter(|second| inside(second.from_ns)) {
        cpu_s += second.server_cpu_cores()? * second.length_ns as f64 / NS_PER_S as f64;
    }
    let responses: u64 = evidence.seconds.iter().filter(|s| inside(s.from_ns)).map(|s| s.completed).sum();
    (cpu_s >= CPU_MIN_S && responses > 0).then(|| cpu_s * NS_PER_S as f64 / responses as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};
    use model::ObservedSecond;

    /// A POST whose server used `cores(second)`.
    fn posts(cores: impl Fn(usize) -> f64) -> Evidence {
        let mut evidence = clean_run();
        evidence.plan.requests[0].method = "POST".into();
        let seconds = &mut evidence.observed.as_mut().expect("it is observed").seconds;
        seconds.iter_mut().enumerate().for_each(|(i, second)| second.server_cores = Some(cores(i)));
        evidence
    }

    #[test]
    fn posts_that_get_dearer_behind_the_server_warn() {
        let mut evidence = posts(|_| 0.2);
        let seconds = |evidence: &mut Evidence, set: &dyn Fn(usize, &mut ObservedSecond)| {
            let observed = evidence.observed.as_mut().expect("it is observed");
            observed.seconds.iter_mut().enumerate().for_each(|(i, second)| set(i, second));
        };
        seconds(&mut evidence, &|i, second| second.machine_cores = Some(i as f64));
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "what others do is theirs");
        seconds(&mut evidence, &|i, second| second.companions_cores = Some(0.3 + 0.02 * i as f64));
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Warning);
    }

    #[test]
    fn posts_that_get_dearer_warn() {
        let found = finding(judged(&RULE, &posts(|i| 0.5 + 0.02 * i as f64)));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("17.7 µs of CPU time at the start and 29.7 µs at the end"), "{found:?}");
    }

    #[test]
    fn an_even_load_and_one_that_only_reads_pass() {
        assert_eq!(judged(&RULE, &posts(|i| 0.5 + 0.03 * (i % 2) as f64)), Outcome::Pass);
        // Its last third is that of a CPU without a neighbour.
        let seconds = clean_run().seconds.len();
        let disturbed = posts(|i| match 3 * i / seconds {
            0 => 0.58,
            1 => 0.6,
            _ => 0.5,
        });
        assert_eq!(judged(&RULE, &disturbed), Outcome::Pass);
        let mut evidence = posts(|i| 0.5 + 0.02 * i as f64);
        evidence.plan.requests[0].method = "GET".into();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn little_cpu_time_and_short_windows_are_unchecked() {
        assert!(matches!(judged(&RULE, &posts(|_| 0.05)), Outcome::Unchecked(_)));
        let mut evidence = posts(|_| 0.5);
        evidence.seconds.truncate(14);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
