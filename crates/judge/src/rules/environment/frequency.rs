//! EN-02: changes of the CPU frequency.

use crate::facts::kernel::{counter, gauge};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const NOTE_RANGE: f64 = 0.03;
const WARNING_RANGE: f64 = 0.10;

pub(crate) const RULE: Rule = Rule {
    id: "EN-02",
    title: "CPU frequency changed",
    detects: "CPUs were throttled by heat, or ran at different frequencies.",
    fires: &[
        Fires::warning("A CPU was throttled by heat, or the mean frequency of the CPUs varied by more than 10 %."),
        Fires::note("The mean frequency of the CPUs varied by more than 3 %."),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("frequency", "mean_hz"), ("throttling", "core_throttles")],
            any: true,
            unknown: "neither CPU frequency nor thermal throttling available",
        }),
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let (frequency, throttles) =
        (gauge(evidence, "frequency", "mean_hz"), counter(evidence, "throttling", "core_throttles"));
    let range = frequency.map_or(0.0, |hz| (hz.max - hz.min) as f64 / hz.max.max(1) as f64);
    let throttles = throttles.unwrap_or(0);
    let state = match range {
        _ if throttles > 0 => FindingState::Warning,
        r if r > WARNING_RANGE => FindingState::Warning,
        r if r > NOTE_RANGE => FindingState::Note,
        _ => return Outcome::Pass,
    };
    let message = if throttles > 0 {
        format!("CPUs were thermally throttled {} times: runs are not repeatable", count(throttles))
    } else {
        format!("the mean CPU frequency varied by {}: seconds and runs differ", percent(range))
    };
    let remedy =
        "fix the frequency (cpupower frequency-set -g performance, turbo off), let the machine cool, and repeat"
            .to_owned();
    Outcome::fired(RULE.id, state, message, remedy, [("throttles", throttles as f64), ("frequency_range", range)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, set_counter, state};

    #[test]
    fn heat_and_a_wide_range_warn() {
        let range = |min| {
            let mut evidence = clean_run();
            let gauges = &mut evidence.observed.as_mut().expect("seen").gauges;
            let hz = gauges.get_mut("frequency").and_then(|part| part.get_mut("mean_hz")).expect("a frequency");
            (hz.min, hz.max) = (min, 3_000_000_000);
            evidence
        };
        assert_eq!(judged(&RULE, &range(2_950_000_000)), Outcome::Pass);
        assert_eq!(state(&judged(&RULE, &range(2_800_000_000))), Some(FindingState::Note));
        assert_eq!(state(&judged(&RULE, &range(2_000_000_000))), Some(FindingState::Warning));
        let mut hot = clean_run();
        set_counter(&mut hot, "throttling", "core_throttles", 1);
        assert_eq!(state(&judged(&RULE, &hot)), Some(FindingState::Warning));
        let observed = hot.observed.as_mut().expect("seen");
        observed.counters.remove("throttling");
        observed.gauges.remove("frequency");
        assert!(matches!(judged(&RULE, &hot), Outcome::Unchecked(_)));
    }
}
