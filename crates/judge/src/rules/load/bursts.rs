//! LD-06: requests sent in bursts.

use crate::facts::may_part_cpus;
use crate::rules::client::cap;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState};
use stats::dispersion_in;

const DISPERSION: f64 = 3.0;
const SPAN_NS: u64 = 1_000_000;
/// With fewer requests a single pair would be a burst.
const SENDS_MIN: usize = 200;

pub(crate) const RULE: Rule = Rule {
    id: "LD-06",
    title: "requests sent in bursts",
    detects: "An open loop woke up late, or its threads ran in step.",
    fires: &[Fires::warning("The variance of the requests sent per millisecond was more than 3 times their mean.")],
    remarks: "The ratio is 1 for Poisson arrivals and 0 for equal gaps.",
    applies: Applies::OpenLoop,
    needs: &[Need::SendTimes],
    conditions: "at least 200 send times over at least 20 ms",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if cap::fires(evidence) {
        return Outcome::Unchecked("requests waited for connections (CL-15)");
    }
    let spread = dispersion_in(&evidence.sends_ns, SPAN_NS).filter(|_| evidence.sends_ns.len() >= SENDS_MIN);
    let Some(spread) = spread else {
        return Outcome::UNMET;
    };
    if spread <= DISPERSION {
        return Outcome::Pass;
    }
    let message = format!(
        "requests were sent in bursts (variance/mean per millisecond {spread:.1}, scheduled at most 1), which \
         lengthens the server's queues"
    );
    let remedy = match may_part_cpus(evidence) {
        true => "use more load threads (-t), a lower rate, or dedicated CPUs for the client (--cpus)",
        false => "use a lower rate, or another machine for the client",
    };
    let remedy = remedy.to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [("dispersion_1ms", spread)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, judged, state};

    #[test]
    fn bundles_of_ten_are_bursts() {
        let mut evidence = clean_open_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.sends_ns = (0..2000).map(|i| i / 10 * 4_000_000).collect();
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }

    #[test]
    fn a_closed_loop_passes_and_few_instants_are_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.sends_ns.truncate(199);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
