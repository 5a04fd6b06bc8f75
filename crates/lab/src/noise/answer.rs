//! The answer of a sweep, read from its JSON, beside the truth.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::Value;

use super::case::Case;
use stats::median;

/// What the pool of the built-in server can do: 4 workers of 2 ms each.
pub(super) const TRUTH_PER_S: f64 = 2000.0;
/// Peak and knee may be so far from those of the quiet machine.
const OFF_MAX: f64 = 0.02;
/// A bound may be beyond the truth by this, as a count of some seconds is.
const BOUND_SLACK: f64 = 0.01;
/// Time in parts of the planned time.
const TIME_MAX: f64 = 1.5;
/// Up to this share the result has to be close to the quiet one; above it a bound that holds is enough.
const CLOSE_SHARE_MAX: f64 = 0.3;
/// One in so many may miss what is asked at small shares.
const MISSES_ONE_IN: usize = 20;

/// State of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Valid,
    Bound,
    Invalid,
}

/// What a sweep says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) state: State,
    /// Rules that made it invalid.
    pub(super) invalid_by: BTreeSet<String>,
    pub(super) peak_per_s: Option<f64>,
    pub(super) knee: Option<f64>,
    /// Least and most that the server holds, as far as it is bounded.
    pub(super) low_per_s: Option<f64>,
    pub(super) high_per_s: Option<f64>,
    /// CPUs of the server, and of the load generator.
    pub(super) server_cpus: Vec<u32>,
    pub(super) client_cpus: Vec<u32>,
}

impl Answer {
    pub(super) fn read(json: &Value) -> Result<Self> {
        let state = match json.pointer("/verdict/state").and_then(Value::as_str) {
            Some("valid") => State::Valid,
            Some("bound") => State::Bound,
            Some("invalid") => State::Invalid,
            other => anyhow::bail!("the verdict's state is {other:?}"),
        };
        let findings = json.pointer("/verdict/findings").and_then(Value::as_array).context("no findings")?;
        let invalid = findings.iter().filter(|finding| finding["state"] == "invalid");
        let number = |path: &str| json.pointer(path).and_then(Value::as_f64);
        Ok(Self {
            state,
            invalid_by: invalid.filter_map(|finding| finding["rule"].as_str().map(str::to_owned)).collect(),
            peak_per_s: number("/peak/goodput_per_s"),
            knee: number("/knee/load"),
            low_per_s: number("/capacity/low"),
            high_per_s: number("/capacity/high"),
            server_cpus: cpus(json, "/environment/served/cpus"),
            client_cpus: cpus(json, "/points/0/plan/cpus"),
        })
    }

    /// True if the bounds hold the truth; a valid result has none and has to be close to it.
    fn holds(&self) -> bool {
        let Some(peak) = self.peak_per_s else { return false };
        match self.state {
            State::Valid => off(peak, TRUTH_PER_S).abs() <= OFF_MAX,
            State::Bound => {
                let low = self.low_per_s.unwrap_or(peak);
                let high = self.high_per_s.unwrap_or(f64::INFINITY);
                low <= TRUTH_PER_S * (1.0 + BOUND_SLACK) && high >= TRUTH_PER_S * (1.0 - BOUND_SLACK)
            }
            State::Invalid => false,
        }
    }
}

fn cpus(json: &Value, path: &str) -> Vec<u32> {
    let list = json.pointer(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|cpu| u32::try_from(cpu.as_u64()?).ok()).collect()
}

/// How far `value` is from `from`, as a share of it.
pub(super) fn off(value: f64, from: f64) -> f64 {
    value / from - 1.0
}

/// What the quiet machine gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) peak_per_s: f64,
    pub(super) knee: f64,
    pub(super) planned_s: f64,
}

/// Sweeps of the quiet machine, in the order of their time, and how long each took; s.
///
/// How soon a machine wakes up changes with what else its host does: within an hour by 5 % of the time of a request, and so of the
/// knee. A try is therefore held to the sweeps just before and after it.
#[derive(Debug, Default)]
pub(super) struct Quiet(Vec<(Answer, f64)>);

impl Quiet {
    pub(super) fn add(&mut self, answer: Answer, wall_s: f64) -> Result<()> {
        answer.peak_per_s.context("a sweep of the quiet machine has found no peak")?;
        answer.knee.context("a sweep of the quiet machine has found no knee")?;
        self.0.push((answer, wall_s));
        Ok(())
    }

    pub(super) fn sweeps(&self) -> &[(Answer, f64)] {
        &self.0
    }

    /// For what was measured after so many of them: means of the last one before and, if there is one, the first one after.
    pub(super) fn beside(&self, before: usize) -> Reference {
        let sweeps = &self.0[before - 1..self.0.len().min(before + 1)];
        let mean = |value: fn(&Answer) -> Option<f64>| {
            median(&sweeps.iter().filter_map(|(answer, _)| value(answer)).collect::<Vec<_>>())
        };
        Reference {
            peak_per_s: mean(|answer| answer.peak_per_s),
            knee: mean(|answer| answer.knee),
            planned_s: self.planned_s(),
        }
    }

    /// Time of a sweep that nothing disturbs: the shortest, as what disturbs one can only make it longer; s.
    pub(super) fn planned_s(&self) -> f64 {
        self.0.iter().map(|(_, wall_s)| *wall_s).fold(f64::INFINITY, f64::min)
    }
}

/// Median; none of nothing.
pub(super) fn middle(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(values))
}

/// One sweep beside noise.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Try {
    pub(super) answer: Answer,
    pub(super) wall_s: f64,
    /// Size of the noise as it came out.
    pub(super) noise_share: f64,
    /// Sweeps of the quiet machine before it; at least 1.
    pub(super) quiet_before: usize,
}

/// True if peak and knee have to be close to the quiet ones, or only to be bounded.
pub(super) fn has_to_be_close(case: Case) -> bool {
    case.share <= CLOSE_SHARE_MAX
}

/// How many of `tries` may miss; an invalid one never may.
pub(super) fn misses_max(case: Case, tries: usize) -> usize {
    if has_to_be_close(case) { tries / MISSES_ONE_IN } else { 0 }
}

/// What is wrong with the answer to `case`, in words; nothing when it is right.
pub(super) fn faults(case: Case, quiet: &Quiet, seen: &Try) -> Vec<String> {
    let Try { answer, wall_s, quiet_before, .. } = seen;
    let reference = quiet.beside(*quiet_before);
    if answer.state == State::Invalid {
        return answer.invalid_by.iter().map(|rule| format!("INVALID by {rule}")).collect();
    }
    if !has_to_be_close(case) {
        return if answer.holds() { Vec::new() } else { vec!["its bounds do not hold the truth".to_owned()] };
    }
    let is_far = |value: Option<f64>, from| value.is_none_or(|value| off(value, from).abs() > OFF_MAX);
    let faults = [
        (is_far(answer.peak_per_s, reference.peak_per_s), "peak off"),
        (is_far(answer.knee, reference.knee), "knee off"),
        (*wall_s > TIME_MAX * reference.planned_s, "too long"),
    ];
    faults.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| (*what).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::{Kind, Place};
    use super::*;
    use serde_json::json;

    fn case(share: f64) -> Case {
        Case { kind: Kind::Hog, place: Place::Client, share }
    }

    fn seen(state: State, peak: f64, knee: Option<f64>, wall_s: f64) -> Try {
        let answer = Answer {
            state,
            invalid_by: ["CL-09".to_owned()].into_iter().filter(|_| state == State::Invalid).collect(),
            peak_per_s: Some(peak),
            knee,
            low_per_s: None,
            high_per_s: None,
            server_cpus: vec![0],
            client_cpus: vec![1],
        };
        Try { answer, wall_s, noise_share: 0.2, quiet_before: 1 }
    }

    fn quiet(knees: &[f64]) -> Quiet {
        let mut quiet = Quiet::default();
        for knee in knees {
            quiet.add(seen(State::Valid, 1990.0, Some(*knee), 60.0).answer, 60.0).unwrap();
        }
        quiet
    }

    #[test]
    fn a_sweep_is_read() {
        let json = json!({
            "verdict": { "state": "invalid", "findings": [
                { "rule": "CL-09", "state": "invalid" }, { "rule": "CL-09", "state": "invalid" },
                { "rule": "EN-01", "state": "warning" },
            ]},
            "peak": { "goodput_per_s": 1971.5, "load": 16 },
            "knee": null,
            "capacity": { "value": 1971.5, "low": 1971.5, "high": null },
            "environment": { "served": { "cpus": [0] } },
            "points": [{ "plan": { "cpus": [1] } }],
        });
        let answer = Answer::read(&json).unwrap();
        assert_eq!((answer.state, answer.peak_per_s, answer.knee), (State::Invalid, Some(1971.5), None));
        assert_eq!(answer.invalid_by.into_iter().collect::<Vec<_>>(), ["CL-09"]);
        assert_eq!((answer.low_per_s, answer.high_per_s), (Some(1971.5), None));
        assert_eq!((answer.server_cpus, answer.client_cpus), (vec![0], vec![1]));
        assert!(Answer::read(&json!({})).is_err());
    }

    #[test]
    fn beside_little_noise_the_result_has_to_be_close_and_in_time() {
        let of = |seen: Try| faults(case(0.2), &quiet(&[4.5]), &seen);
        assert_eq!(of(seen(State::Bound, 1960.0, Some(4.45), 80.0)), [""; 0]);
        assert_eq!(of(seen(State::Valid, 1900.0, Some(4.9), 100.0)), ["peak off", "knee off", "too long"]);
        assert_eq!(of(seen(State::Valid, 1990.0, None, 60.0)), ["knee off"]);
        assert_eq!(of(seen(State::Invalid, 1990.0, Some(4.5), 60.0)), ["INVALID by CL-09"]);
    }

    #[test]
    fn beside_much_noise_the_bounds_have_to_hold() {
        let is_right = |seen: &Try| faults(case(0.4), &quiet(&[4.5]), seen).is_empty();
        assert!(is_right(&seen(State::Bound, 900.0, None, 500.0)));
        assert!(is_right(&seen(State::Bound, 2015.0, None, 60.0)));
        assert!(!is_right(&seen(State::Bound, 2100.0, None, 60.0)));
        assert!(!is_right(&seen(State::Valid, 900.0, None, 60.0)), "valid says that it is so much");
        assert!(!is_right(&seen(State::Invalid, 2000.0, None, 60.0)));
        let mut closed = seen(State::Bound, 1500.0, None, 60.0);
        (closed.answer.low_per_s, closed.answer.high_per_s) = (Some(1500.0), Some(1800.0));
        assert!(!is_right(&closed), "the truth is above");
    }

    #[test]
    fn one_in_twenty_may_miss_beside_little_noise_and_none_beside_much() {
        assert_eq!([20, 19, 40].map(|tries| misses_max(case(0.05), tries)), [1, 0, 2]);
        assert_eq!(misses_max(case(0.4), 100), 0);
    }

    #[test]
    fn a_try_is_held_to_the_quiet_sweeps_before_and_after_it() {
        let mut all = quiet(&[4.4, 4.5, 4.2]);
        assert_eq!([1, 2, 3].map(|before| all.beside(before).knee), [4.45, 4.35, 4.2]);
        all.add(seen(State::Valid, 1990.0, Some(4.2), 59.0).answer, 59.0).unwrap();
        assert_eq!(all.beside(1).planned_s, 59.0, "the shortest of all");
        assert!(all.add(seen(State::Valid, 1990.0, None, 60.0).answer, 60.0).is_err());
    }
}
