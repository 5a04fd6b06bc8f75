//! Other ways to find a capacity, for comparison.

use super::server::Server;

/// Answer of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) value_per_s: f64,
    pub(super) low_per_s: f64,
    pub(super) high_per_s: f64,
}

/// Loads of the exhaustive sweep, how often each is measured, and for how long.
const SWEEP_LOADS: usize = 26;
const SWEEP_REPEATS: usize = 3;
const SWEEP_S: f64 = 30.0;
/// Trials of the others.
const TRIAL_S: f64 = 10.0;

/// Sweep over a decade that holds the capacity, every load three times: the highest load that held in most of its trials,
/// and the next.
pub(super) fn exhaustive_sweep(server: &mut Server, from_per_s: f64) -> Answer {
    let factor = 10.0_f64.powf(1.0 / (SWEEP_LOADS - 1) as f64);
    let loads: Vec<f64> = (0..SWEEP_LOADS).map(|i| from_per_s * factor.powf(i as f64)).collect();
    let held: Vec<bool> = loads
        .iter()
        .map(|load| (0..SWEEP_REPEATS).filter(|_| server.plain_trial(*load, SWEEP_S)).count() * 2 > SWEEP_REPEATS)
        .collect();
    let low = held.iter().rposition(|held| *held).unwrap_or(0);
    let high = (low + 1).min(SWEEP_LOADS - 1);
    Answer { value_per_s: (loads[low] * loads[high]).sqrt(), low_per_s: loads[low], high_per_s: loads[high] }
}

/// Doubling, then bisection between hard bounds, one trial each, until they are as near as wanted.
pub(super) fn doubling_and_bisection(server: &mut Server, start_per_s: f64, width: f64) -> Answer {
    let (mut low, mut high) = (start_per_s, start_per_s);
    if server.plain_trial(start_per_s, TRIAL_S) {
        high *= 2.0;
        while server.plain_trial(high, TRIAL_S) {
            (low, high) = (high, high * 2.0);
        }
    } else {
        low /= 2.0;
        while !server.plain_trial(low, TRIAL_S) {
            (low, high) = (low / 2.0, low);
        }
    }
    while high / low - 1.0 > width {
        let middle = (low * high).sqrt();
        if server.plain_trial(middle, TRIAL_S) { low = middle } else { high = middle }
    }
    Answer { value_per_s: (low * high).sqrt(), low_per_s: low, high_per_s: high }
}

/// Nighthawk's adaptive load controller (`step_controller_impl.cc`): factor 2 up to the first failure, then arithmetic
/// bisection until two loads in a row differ by less than 1 %, one trial each; then one testing trial. It gives up where its
/// first load fails.
pub(super) fn nighthawk(server: &mut Server, start_per_s: f64) -> Option<Answer> {
    if !server.plain_trial(start_per_s, TRIAL_S) {
        return None;
    }
    let (mut low, mut high) = (start_per_s, 2.0 * start_per_s);
    while server.plain_trial(high, TRIAL_S) {
        (low, high) = (high, 2.0 * high);
    }
    let (mut last, mut current) = (high, f64::midpoint(low, high));
    while (current / last - 1.0).abs() >= 0.01 {
        if server.plain_trial(current, TRIAL_S) {
            low = current
        } else {
            high = current
        }
        last = current;
        current = f64::midpoint(low, high);
    }
    server.plain_trial(current, TRIAL_S);
    Some(Answer { value_per_s: current, low_per_s: low, high_per_s: high })
}
