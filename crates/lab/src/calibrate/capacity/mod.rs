//! Brackets against capacities that are known, beside other ways to find a capacity.

mod others;
mod server;
#[cfg(test)]
mod tests;

use super::random::Random;
use super::section::{Section, percent, quantile};
use crate::markdown::{Page, Table};
use model::NS_PER_S;
use others::{Answer, doubling_and_bisection, exhaustive_sweep, nighthawk};
use server::Server;
use stats::{CapacityOutcome, CapacityResult, CapacitySearch, CapacitySettings, CapacityTimes};

/// Noise of the capacity from trial to trial.
const NOISES: [f64; 3] = [0.005, 0.02, 0.05];
/// Width that is asked for.
const WIDTH: f64 = 0.03;
/// Window time of a sweep of 26 loads, 3 times 30 s each; s.
const SWEEP_S: f64 = 26.0 * 3.0 * 30.0;
/// Share of the brackets that are to hold the truth.
const HOLDING: std::ops::RangeInclusive<f64> = 0.95..=1.0;

/// A server, and the first load that is tried on it.
fn server(noise: f64, seed: u64) -> (Server, f64) {
    let mut random = Random::new(seed ^ 0x5eed);
    let capacity_per_s = 5_000.0 * 20.0_f64.powf(random.uniform());
    (Server::new(capacity_per_s, noise, seed), about_half(capacity_per_s, &mut random))
}

/// About half of a capacity, as a closed loop says.
fn about_half(capacity_per_s: f64, random: &mut Random) -> f64 {
    capacity_per_s * 0.5 * (0.3 * random.normal()).exp()
}

/// A search to its end, as `plimsoll capacity` makes it.
fn found(mut trial: impl FnMut(f64, u64) -> CapacityOutcome, start_per_s: f64, times: CapacityTimes) -> CapacityResult {
    let (from_per_s, to_per_s) = (10.0, 1e6);
    let settings = CapacitySettings { from_per_s, to_per_s, start_per_s, width: WIDTH, times, seed: 1 };
    let mut search = CapacitySearch::new(settings);
    while let Some(asked) = search.next() {
        search.apply(&trial(asked.load_per_s, asked.duration_ns));
    }
    search.result()
}

/// Of many runs.
#[derive(Debug, Default)]
struct Tally {
    runs: f64,
    holding_truth: f64,
    near: f64,
    errors: Vec<f64>,
    widths: Vec<f64>,
    spent_s: f64,
    trials: f64,
}

impl Tally {
    fn add(&mut self, answer: Answer, capacity_per_s: f64, spent_s: f64, trials: usize) {
        let Answer { value_per_s, low_per_s, high_per_s } = answer;
        let error = (value_per_s / capacity_per_s - 1.0).abs();
        self.runs += 1.0;
        self.holding_truth += f64::from(low_per_s <= capacity_per_s && capacity_per_s <= high_per_s);
        self.near += f64::from(error <= 0.03);
        self.errors.push(error);
        self.widths.push(high_per_s / low_per_s - 1.0);
        self.spent_s += spent_s;
        self.trials += trials as f64;
    }

    fn summary(&mut self) -> Summary {
        Summary {
            holding_truth: self.holding_truth / self.runs,
            near: self.near / self.runs,
            error_p50: quantile(&mut self.errors, 0.5),
            error_p95: quantile(&mut self.errors, 0.95),
            width: stats::mean(&self.widths),
            spent_s: self.spent_s / self.runs,
            trials: self.trials / self.runs,
        }
    }
}

/// Means over the runs.
#[derive(Clone, Copy, Debug)]
struct Summary {
    /// Share of the runs whose bracket holds the capacity.
    holding_truth: f64,
    /// Share of the runs whose value is within 3 % of it.
    near: f64,
    /// Error of the value that half of the runs stay below, and 95 %.
    error_p50: f64,
    error_p95: f64,
    width: f64,
    spent_s: f64,
    trials: f64,
}

/// What a search answered; its value is where all trials together put the capacity.
fn answer(result: &CapacityResult) -> Option<Answer> {
    Some(Answer {
        value_per_s: result.estimate_per_s?.value,
        low_per_s: result.low_per_s?,
        high_per_s: result.high_per_s?,
    })
}

fn searched(noise: f64, runs: u64) -> Summary {
    other(noise, runs, |server, start_per_s| {
        let trial = |load_per_s, duration_ns| server.trial(load_per_s, duration_ns);
        answer(&found(trial, start_per_s, CapacityTimes::default()))
    })
}

fn other(noise: f64, runs: u64, search: impl Fn(&mut Server, f64) -> Option<Answer>) -> Summary {
    let mut tally = Tally::default();
    for seed in 0..runs {
        let (mut server, start_per_s) = server(noise, seed);
        // without an answer the truth is in no bracket
        match search(&mut server, start_per_s) {
            Some(answer) => tally.add(answer, server.capacity_per_s, server.spent_s, server.trials),
            None => tally.runs += 1.0,
        }
    }
    tally.summary()
}

/// Searches on servers that say themselves how a trial goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bracketed {
    /// Share of the brackets that hold the truth.
    pub(super) holding: f64,
    /// Width of the bracket, mean.
    pub(super) width: f64,
    /// Error of the value that 95 % stay below.
    pub(super) error_p95: f64,
    /// Time of all trials of a search, mean; s.
    pub(super) spent_s: f64,
}

/// Brackets of a server of this capacity, made anew for each run: a trial by load and duration (ns).
pub(super) fn brackets<Trial: FnMut(f64, u64) -> CapacityOutcome>(
    runs: u64,
    capacity_per_s: f64,
    server: impl Fn(u64) -> Trial,
) -> Bracketed {
    let mut tally = Tally::default();
    for seed in 0..runs {
        let start_per_s = about_half(capacity_per_s, &mut Random::new(seed ^ 0x5eed));
        let result = found(server(seed), start_per_s, CapacityTimes::default());
        match answer(&result) {
            Some(answer) => {
                tally.add(answer, capacity_per_s, result.spent_ns as f64 / NS_PER_S as f64, result.n as usize);
            }
            None => tally.runs += 1.0,
        }
    }
    let Summary { holding_truth: holding, width, error_p95, spent_s, .. } = tally.summary();
    Bracketed { holding, width, error_p95, spent_s }
}

/// Brackets of the search, and of others beside it.
pub(super) fn section(runs: u64) -> Section {
    let mut section = Section::default();
    let mut table = Table::new(COLUMNS);
    for noise in NOISES {
        let ours = searched(noise, runs);
        let what = format!("bracket, noise of {}", percent(noise));
        section.expect(&what, ours.holding_truth, HOLDING, runs);
        if ours.spent_s > SWEEP_S / 10.0 {
            section.missed.push(format!("{what}: {:.0} s, expected at most {:.0} s", ours.spent_s, SWEEP_S / 10.0));
        }
        // a decade that holds the capacity
        let from = |start_per_s: f64| start_per_s * 2.0 / 10.0_f64.sqrt() / 1.5;
        let sweep = other(noise, runs, |server, start| Some(exhaustive_sweep(server, from(start))));
        let bisection = other(noise, runs, |server, start| Some(doubling_and_bisection(server, start, WIDTH)));
        let nighthawk = other(noise, runs, nighthawk);
        let rows = [
            ("`plimsoll capacity`", ours),
            ("sweep", sweep),
            ("doubling and bisection", bisection),
            ("Nighthawk's", nighthawk),
        ];
        for (search, summary) in rows {
            let Summary { holding_truth, near, error_p50, error_p95, width, spent_s, trials } = summary;
            let shares = [holding_truth, width, error_p50, error_p95, near].map(percent);
            let costs = [format!("{trials:.0}"), format!("{spent_s:.0} s")];
            table.texts([percent(noise), search.to_owned()].into_iter().chain(shares).chain(costs));
        }
    }
    section.page = Page::default().section("Capacity").block(TEXT).block(table);
    section
}

const COLUMNS: &str = "noise | search | bracket holds the truth | width | error, half | error, 95 % | within 3 % | \
                       trials | machine time";

const TEXT: &str = "\
Servers of known capacity (5,000 to 100,000/s) that is a little different in each trial (log-normal). Goals of
`plimsoll capacity`: the bracket holds the truth in at least 95 % of the runs, in less than 234 s, a tenth of the
windows of a sweep of 26 loads, three times 30 s each. All searches begin at about half of the capacity.

- *sweep*: a decade in 26 steps of 9.6 %, each load three times for 30 s, by majority; value: middle of the bracket.
- *doubling and bisection*: until the bounds are 3 % apart, one trial of 10 s each.
- *Nighthawk's*: its adaptive load controller (`step_controller_impl.cc`) as simulated here: doubling to the first
  failure, arithmetic bisection until two loads in a row differ by less than 1 %, one trial of 10 s each, then one
  testing trial.

The trials of other searches say without fail whether the server of that trial kept up; those of plimsoll see the
backlog only. Every trial costs 1.5 s of warm-up and rest. *Error*: of the value, below which half and 95 % of the
runs stay; *within 3 %*: share of the runs.
";
