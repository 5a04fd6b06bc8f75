//! NE-03: how much was sent more than once?

use crate::rules::kernel::{is_server_here, is_tcp, recovered_by_probes, share, tcp, whose};
use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.001;
const INVALID_SHARE: f64 = 0.01;
/// Fewer are those of any machine with a network.
const COUNT_MIN: u64 = 20;

pub(crate) const RULE: Rule = Rule {
    id: "NE-03",
    title: "segments sent again",
    detects: "a network that loses segments, so that it and not the server sets rate and tail",
    threshold: "segments sent again / TCPOrigDataSent > 0.1 %: warning; > 1 %: invalid (own thresholds); 20 of them at least; \
                tail loss probes count as far as they made good a loss, as a busy machine sends many for nothing",
    data: "RetransSegs, TCPLossProbes, TCPLossProbeRecovery and TCPOrigDataSent of this kernel",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !is_tcp(evidence) {
        return Outcome::Pass;
    }
    let names = ["RetransSegs", "TCPLossProbes", "TCPOrigDataSent"];
    let [Some(again), Some(probes), Some(sent)] = names.map(|name| tcp(evidence, name)) else {
        return Outcome::Unchecked("the kernel does not count what it sends again");
    };
    let again = again.saturating_sub(probes) + recovered_by_probes(evidence);
    let share = share(again, sent);
    let state = match share {
        s if s <= WARNING_SHARE || again < COUNT_MIN => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "{} of {} segments were sent again ({}): rate and tail are those of a network that loses them {}",
        count(again),
        count(sent),
        percent(share),
        whose(evidence)
    );
    let remedy = if is_server_here(evidence) {
        "nothing is lost on loopback but in full queues: mend NE-01, NE-02 or NE-06 first, or look for a rule of the \
         firewall or of netem (tc qdisc)"
    } else {
        "look for errors and drops of both network interfaces (ethtool -S) and of the switch between, or measure over \
         another way"
    };
    let figures = [("retransmitted", again as f64), ("sent", sent as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, set_counter, state};

    #[test]
    fn shares_decide_and_a_handful_of_few_is_nothing() {
        for (again, sent, expected) in [
            (1_000, 1_000_000, None),
            (1_001, 1_000_000, Some(FindingState::Warning)),
            (10_001, 1_000_000, Some(FindingState::Invalid)),
            (19, 100, None),
        ] {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "tcp", "RetransSegs", again);
            set_counter(&mut evidence, "tcp", "TCPOrigDataSent", sent);
            assert_eq!(state(&check(&evidence)), expected, "{again} of {sent}");
        }
    }

    #[test]
    fn probes_for_nothing_are_no_loss() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "RetransSegs", 50_000);
        set_counter(&mut evidence, "tcp", "TCPLossProbes", 50_000);
        assert_eq!(check(&evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "TCPLossProbeRecovery", 30_000);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Invalid));
    }
}
