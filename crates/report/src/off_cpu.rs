//! Off-CPU time as stacks and a flame graph: pool, thread, state, call, and reason.
//!
//! Made from the samples of workers in a record, or of the switches of threads that a profile has seen, which have
//! functions instead. Waiting for work is no part of them.

use crate::flame;
use crate::record::peak_point;
use crate::visible;
use model::{NS_PER_S, Observed, PoolObserved, Redacted, RunRecord, SweepRecord, WaitObserved};

/// The stacks, and the graph of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffCpu {
    /// One line a stack, with ns for each good response.
    pub folded: String,
    /// The flame graph as SVG.
    pub svg: String,
}

/// Of a run for which a profile was asked for; none when its workers waited for nothing that is known.
#[must_use]
pub fn of_run(record: &RunRecord) -> Option<OffCpu> {
    let asked = record.profile.is_some() || record.profile_unavailable.is_some();
    if asked { graph(record) } else { None }
}

/// Of the peak of a sweep for which a profile was asked for, as it was measured without one.
#[must_use]
pub fn of_sweep(record: &SweepRecord) -> Option<OffCpu> {
    let asked = record.profile.is_some() || record.profile_unavailable.is_some();
    if asked { graph(peak_point(record)?) } else { None }
}

/// Of the switches of threads in a profile of `what`: `folded` is where they waited, in ns, while `good` good responses came,
/// if any were counted. None when they waited nowhere.
#[must_use]
pub fn of_switches(folded: &str, good: Option<f64>, what: &Redacted) -> Option<OffCpu> {
    let scaled = |line: &str| {
        let (stack, ns) = line.rsplit_once(' ')?;
        let ns = ns.parse::<f64>().ok()? / good.unwrap_or(1.0);
        (ns >= 1.0 && ns.is_finite()).then(|| format!("{stack} {ns:.0}\n"))
    };
    let folded: String = folded.lines().filter_map(scaled).collect();
    let title = Redacted::text(&format!("Off-CPU: where threads waited {what}"));
    let svg = flame::waits(&folded, &title, good.is_some())?;
    Some(OffCpu { folded, svg })
}

fn graph(record: &RunRecord) -> Option<OffCpu> {
    let folded = folded(record.observed.as_ref()?, record.goodput_per_s.value);
    let title = Redacted::text(&format!("Off-CPU: what workers waited for under {}", record.plan.target.url));
    Some(OffCpu { svg: flame::waits(&folded, &title, true)?, folded })
}

/// Stacks with the time in which workers waited so for each good response; empty without good responses.
fn folded(observed: &Observed, goodput_per_s: f64) -> String {
    if goodput_per_s <= 0.0 {
        return String::new();
    }
    let line = |pool: &PoolObserved, wait: &WaitObserved| {
        let ns = wait.share * pool.workers_mean * NS_PER_S as f64 / goodput_per_s;
        let frames = [&pool.name, &wait.thread, &wait.state, &wait.syscall, &wait.on];
        // A line is cut into frames at the one and ends at the other.
        let frames = frames.map(|frame| visible::line(&frame.replace(';', ",").replace('\n', " ")).into_owned());
        (ns >= 1.0).then(|| format!("{} {ns:.0}\n", frames.join(";")))
    };
    observed.pools.iter().flat_map(|pool| pool.waits.iter().filter_map(move |wait| line(pool, wait))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_time_for_each_good_response_too() {
        let under = Redacted::text("under http://a/");
        let waits = of_switches("php;main;poll_[k] 5000\nphp;main;lock 90\n", Some(100.0), &under).unwrap();
        assert_eq!(waits.folded, "php;main;poll_[k] 50\n", "what is below a nanosecond is nothing");
        assert!(waits.svg.contains("where threads waited under http://a/"));
        assert_eq!(of_switches("php;main;poll_[k] 5000\n", Some(0.0), &under), None);
        assert!(
            of_switches("php;main;poll_[k] 5000\n", None, &Redacted::text("of process 7"))
                .is_some_and(|waits| !waits.svg.contains("per good"))
        );
    }

    #[test]
    fn waits_are_time_for_each_good_response() {
        let wait = |on: &str, share| {
            let [thread, state, syscall] = ["php-fpm8.2", "S", "poll"].map(str::to_owned);
            WaitObserved { thread, state, syscall, on: on.to_owned(), share }
        };
        let pool = PoolObserved {
            name: "php-fpm: pool a;b".to_owned(),
            workers_mean: 4.0,
            waits: vec![wait("mariadbd", 0.5), wait("sleep", 0.0)],
            ..PoolObserved::default()
        };
        let observed = Observed { pools: vec![pool], ..Observed::default() };
        // Two of four workers at a time, which answer 100 requests a second: 20 ms for each.
        assert_eq!(folded(&observed, 100.0), "php-fpm: pool a,b;php-fpm8.2;S;poll;mariadbd 20000000\n");
        assert_eq!(folded(&observed, 0.0), "");
    }
}
