//! Queues in virtual time, whose answers are formulas.

use super::capacity::{Bracketed, brackets};
use super::random::Random;
use super::section::{Section, percent};
use crate::markdown::{Page, Table};
use model::{MergedHistogram, NS_PER_S};
use stats::{CapacityOutcome, runs_away};

/// Warm-up before each trial, and rest after it; s.
const WARMUP_S: f64 = 1.0;
const REST_S: f64 = 0.5;
/// How far the 99th percentile of M/M/1 may be off.
const P99_OFF_MAX: f64 = 0.05;
/// Rate of the M/M/1 server; per second.
const SERVED_PER_S: f64 = 2000.0;
/// Workers of the pool, and the time that each takes for a request; s.
const WORKERS: usize = 5;
const WORKS_S: f64 = 0.005;

/// Time that a request takes.
#[derive(Clone, Copy, Debug)]
enum Service {
    /// Exponential, with this mean; s.
    Exponential(f64),
    /// Always this; s.
    Constant(f64),
}

/// Workers behind one queue without a limit, in the order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    free_at_s: Vec<f64>,
    service: Service,
    random: Random,
}

impl Queue {
    fn new(workers: usize, service: Service, seed: u64) -> Self {
        Self { free_at_s: vec![0.0; workers], service, random: Random::new(seed) }
    }

    /// When a request that arrives is answered.
    fn answered_s(&mut self, arrives_s: f64) -> f64 {
        let works_s = match self.service {
            Service::Exponential(mean_s) => self.random.exponential(mean_s),
            Service::Constant(works_s) => works_s,
        };
        let first = (0..self.free_at_s.len()).min_by(|a, b| self.free_at_s[*a].total_cmp(&self.free_at_s[*b]));
        let worker = &mut self.free_at_s[first.unwrap_or(0)];
        *worker = worker.max(arrives_s) + works_s;
        *worker
    }

    /// A trial of an open loop, stopped when its backlog runs away.
    pub(super) fn trial(&mut self, load_per_s: f64, duration_ns: u64) -> CapacityOutcome {
        self.free_at_s.fill(0.0);
        let seconds = (duration_ns / NS_PER_S) as usize;
        let (mut arrives_s, mut arrived, mut good) = (self.random.exponential(1.0 / load_per_s), 0_usize, 0_usize);
        let mut answers_s: Vec<f64> = Vec::new();
        let mut backlog = Vec::new();
        for second in 0..=seconds {
            let end_s = WARMUP_S + second as f64;
            while arrives_s < end_s {
                arrived += 1;
                answers_s.push(self.answered_s(arrives_s));
                arrives_s += self.random.exponential(1.0 / load_per_s);
            }
            let answered = answers_s.iter().filter(|at| **at <= end_s).count();
            if second > 0 {
                good = answered - good_before(&answers_s);
                backlog.push((arrived - answered) as f64);
            }
            if runs_away(&backlog, load_per_s, 1.0) {
                return outcome(backlog, good, true);
            }
        }
        outcome(backlog, good, false)
    }
}

/// Answers in the warm-up.
fn good_before(answers_s: &[f64]) -> usize {
    answers_s.iter().filter(|at| **at <= WARMUP_S).count()
}

fn outcome(backlog: Vec<f64>, good: usize, ran_away: bool) -> CapacityOutcome {
    let seconds = backlog.len() as f64;
    CapacityOutcome {
        conditions: vec![true],
        achieved_per_s: good as f64 / seconds,
        measured_ns: backlog.len() as u64 * NS_PER_S,
        tick_ns: NS_PER_S,
        took_ns: ((WARMUP_S + seconds + REST_S) * NS_PER_S as f64) as u64,
        backlog,
        ran_away,
        ..CapacityOutcome::default()
    }
}

/// 99th percentile of the response times of M/M/1 at half of its rate, over so many requests; s.
fn p99_s(requests: u64, seed: u64) -> f64 {
    let mut queue = Queue::new(1, Service::Exponential(1.0 / SERVED_PER_S), seed);
    let mut arrivals = Random::new(seed ^ 0xa881);
    let mut histogram = MergedHistogram::new();
    let mut now_s = 0.0;
    for _ in 0..requests {
        now_s += arrivals.exponential(2.0 / SERVED_PER_S);
        histogram.record(((queue.answered_s(now_s) - now_s) * NS_PER_S as f64) as u64);
    }
    histogram.quantile(0.99) as f64 / NS_PER_S as f64
}

/// Formulas, and brackets of queues.
pub(super) fn section(runs: u64) -> Section {
    let mut section = Section::default();
    let mut times = Table::new("requests | p99 | by the formula | off");
    let truth_s = 100.0_f64.ln() / (SERVED_PER_S / 2.0);
    for (seed, requests) in [(1, 100_000), (2, 400_000), (3, 1_600_000)] {
        let p99_s = p99_s(requests, seed);
        let off = p99_s / truth_s - 1.0;
        if off.abs() > P99_OFF_MAX {
            section.missed.push(format!("M/M/1, {requests} requests: p99 is off by {}", percent(off)));
        }
        let [p99, truth] = [p99_s, truth_s].map(|s| format!("{:.3} ms", 1e3 * s));
        times.row(&[&requests, &p99, &truth, &format_args!("{:+.1} %", 100.0 * off)]);
    }
    let mut capacities = Table::new(CAPACITIES);
    let queues = [
        ("M/M/1, 0.5 ms on average", 1, Service::Exponential(1.0 / SERVED_PER_S), SERVED_PER_S),
        ("5 workers, 5 ms each", WORKERS, Service::Constant(WORKS_S), WORKERS as f64 / WORKS_S),
    ];
    for (words, workers, service, capacity_per_s) in queues {
        let Bracketed { holding, width, error_p95, spent_s } = brackets(runs, capacity_per_s, |seed| {
            let mut queue = Queue::new(workers, service, seed);
            move |load_per_s, duration_ns| queue.trial(load_per_s, duration_ns)
        });
        section.expect(&format!("bracket, {words}"), holding, 0.95..=1.0, runs);
        let [holding, error, width] = [holding, error_p95, width].map(percent);
        let (capacity, spent) = (format!("{capacity_per_s:.0}/s"), format!("{spent_s:.0} s"));
        capacities.row(&[&words, &capacity, &holding, &error, &width, &spent]);
    }
    section.page = Page::default().section("Queues").block(TIMES).block(times).block(BRACKETS).block(capacities);
    section
}

const TIMES: &str = "\
Response times of M/M/1 (Poisson arrivals, exponential service, one server) at half of its rate, in virtual time,
through the histogram of plimsoll: their 99th percentile is ln(100) / (service rate - arrival rate). Goal: within 5 %.
";

const CAPACITIES: &str =
    "queue | capacity | bracket holds it | error (95 % below) | width of the bracket | machine time";

const BRACKETS: &str = "\
Capacity of queues by the search, with the backlog of each trial as it comes of every single request. Goal: the
bracket holds the truth in at least 95 % of the runs.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_answers_a_thousand_a_second() {
        let mut pool = Queue::new(WORKERS, Service::Constant(WORKS_S), 1);
        let above = pool.trial(1500.0, 6 * NS_PER_S);
        assert!(above.ran_away && (above.achieved_per_s - 1000.0).abs() < 2.0, "{above:?}");
        let below = pool.trial(800.0, 6 * NS_PER_S);
        assert!(!below.ran_away && (below.achieved_per_s - 800.0).abs() < 60.0, "{below:?}");
        assert!(below.backlog.iter().all(|waiting| *waiting < 60.0), "{below:?}");
    }
}
