//! LD-03: latency of a closed loop.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState, NS_PER_S};

/// Share of the measured goodput that is advised as a first open-loop rate: busy but not saturated.
const ADVISED_SHARE: f64 = 0.7;

pub(crate) const RULE: Rule = Rule {
    id: "LD-03",
    title: "closed-loop latency",
    detects: "The latencies are those of a closed loop, which are easily mistaken for what independent users see.",
    fires: &[Fires::note("The load was a closed loop.")],
    remarks: "",
    applies: Applies::ClosedLoop,
    needs: &[Need::Plan],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let message = "closed loop: independent users would wait longer".to_owned();
    let goodput_per_s = evidence.flow.good as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    let rate = two_digits(goodput_per_s * ADVISED_SHARE);
    let remedy = if rate == 0 { "use an open loop (run -R)".to_owned() } else { format!("try -R {rate}") };
    let connections = evidence.plan.load.connections();
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("connections", connections.into())])
}

/// `value` rounded down to two leading digits.
fn two_digits(value: f64) -> u64 {
    let step = 10f64.powf((value.max(1.0).log10().floor() - 1.0).max(0.0));
    ((value / step).floor() * step) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged};

    #[test]
    fn always_a_note_in_a_closed_loop() {
        let found = finding(judged(&RULE, &clean_run()));
        assert_eq!(found.state, FindingState::Note);
        assert_eq!((found.remedy.as_str(), found.evidence["connections"]), ("try -R 23000", 64.0));
    }

    #[test]
    fn never_in_an_open_loop() {
        assert_eq!(judged(&RULE, &clean_open_run()), Outcome::Pass);
    }
}
