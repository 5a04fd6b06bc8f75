//! The search against goals that a broken statistic misses.

use super::*;

const RUNS: u64 = 1000;

/// The bracket holds the capacity, in a tenth of the time of the sweep, and is as wide as the noise makes it.
#[track_caller]
fn holds_the_truth(noise: f64, width_max: f64, near_min: f64) {
    let summary = searched(noise, RUNS);
    assert!(summary.holding_truth >= 0.95, "{summary:?}");
    assert!(summary.width <= width_max && summary.near >= near_min, "{summary:?}");
    assert!(summary.spent_s <= SWEEP_S / 10.0, "{summary:?}");
}

#[test]
fn a_quiet_server_is_bracketed() {
    holds_the_truth(0.005, 0.05, 0.99);
}

#[test]
fn a_server_with_noise_of_2_percent_is_bracketed() {
    holds_the_truth(0.02, 0.075, 0.97);
}

#[test]
fn a_server_with_noise_of_5_percent_is_bracketed() {
    holds_the_truth(0.05, 0.12, 0.9);
}

#[test]
fn noise_costs_trials() {
    let (quiet, noisy) = (searched(0.005, 60), searched(0.05, 60));
    assert!(noisy.trials > 1.1 * quiet.trials && noisy.width > 1.5 * quiet.width, "{quiet:?} {noisy:?}");
}

#[test]
fn other_searches_take_longer_or_miss_the_truth() {
    for noise in [0.005, 0.02, 0.05] {
        let runs = 200;
        let ours = searched(noise, runs);
        let decade = |start_per_s: f64| start_per_s * 2.0 / 10.0_f64.sqrt() / 1.5;
        let sweep = other(noise, runs, |server, start| Some(exhaustive_sweep(server, decade(start))));
        let bisection = other(noise, runs, |server, start| Some(doubling_and_bisection(server, start, WIDTH)));
        let nighthawk = other(noise, runs, nighthawk);
        let all = format!("{noise}: {ours:?} {sweep:?} {bisection:?} {nighthawk:?}");
        assert!(sweep.spent_s > 10.0 * ours.spent_s && sweep.error_p95 > ours.error_p95, "{all}");
        assert!(bisection.holding_truth < ours.holding_truth, "{all}");
        if noise > 0.01 {
            assert!(bisection.holding_truth < 0.9 && nighthawk.error_p95 > 1.2 * ours.error_p95, "{all}");
        }
    }
}

#[test]
fn more_time_makes_it_narrower_and_the_search_says_about_how_much() {
    let (mut first, mut second, mut asked_s) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..60 {
        let run = |times: CapacityTimes| {
            let (mut server, start_per_s) = server(0.05, seed);
            found(|load_per_s, duration_ns| server.trial(load_per_s, duration_ns), start_per_s, times)
        };
        let times = CapacityTimes::default();
        let short = run(times);
        let Some(more) = short.more else { continue };
        asked_s.push(more.ns as f64 / NS_PER_S as f64);
        let long = run(CapacityTimes { budget_ns: times.budget_ns + more.ns, ..times });
        let width =
            |result: &CapacityResult| result.high_per_s.zip(result.low_per_s).map(|(high, low)| high / low - 1.0);
        first.extend(width(&short));
        second.extend(width(&long));
    }
    assert!(first.len() > 40, "most brackets are wider than wanted: {}", first.len());
    let (first, second) = (stats::mean(&first), stats::mean(&second));
    assert!(second < 0.8 * first && second < 2.0 * WIDTH, "{first} {second} after {:?}", stats::mean(&asked_s));
}
