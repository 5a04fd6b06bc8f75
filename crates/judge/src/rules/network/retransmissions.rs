//! NE-03: TCP retransmissions.

use crate::facts::kernel::{FOREIGN, has_foreign_traffic, is_one_machine, retransmitted, share, tcp, whose};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.001;
const INVALID_SHARE: f64 = 0.01;
/// Fewer are those of any machine with a network.
const COUNT_MIN: u64 = 20;

pub(crate) const RULE: Rule = Rule {
    id: "NE-03",
    title: "TCP retransmissions",
    detects: "Packet loss determined rate and tail latency.",
    fires: &[
        Fires::invalid("At least 20 segments, and more than 1 % of those with data, were retransmitted."),
        Fires::warning("At least 20 segments, and more than 0.1 % of those with data, were retransmitted."),
    ],
    remarks: "The kernel counts segments with data as TCPOrigDataSent. Tail loss probes count only if they recovered \
              a loss.",
    applies: Applies::Tcp,
    needs: &[Need::Window, Need::RETRANSMISSIONS, Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if has_foreign_traffic(evidence) {
        return Outcome::Unchecked(FOREIGN);
    }
    let (Some(again), Some(sent)) = (retransmitted(evidence), tcp(evidence, "TCPOrigDataSent")) else {
        return Outcome::UNMET;
    };
    let share = share(again, sent);
    let state = match share {
        s if s <= WARNING_SHARE || again < COUNT_MIN => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "{} of {} segments were retransmitted ({}): packet loss determines rate and tail latency {}",
        count(again),
        count(sent),
        percent(share),
        whose(evidence)
    );
    let remedy = if is_one_machine(evidence) {
        "on loopback fix full queues (NE-01, NE-02, NE-06), or look for a firewall or netem rule (tc qdisc)"
    } else {
        "check both network interfaces (ethtool -S) and the switch for errors and drops"
    };
    let figures = [("retransmitted", again as f64), ("sent", sent as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, set_counter, state};
    use model::OthersObserved;

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
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{again} of {sent}");
        }
    }

    #[test]
    fn probes_for_nothing_are_no_loss() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "RetransSegs", 50_000);
        set_counter(&mut evidence, "tcp", "TCPLossProbes", 50_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "TCPLossProbeRecovery", 30_000);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
    }

    /// A download over a lossy link beside a load on loopback: its retransmissions were those of the load.
    #[test]
    fn segments_of_other_programs_are_not_held_against_the_load() {
        let with = |sent, cpu_cores| {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "tcp", "RetransSegs", sent / 50);
            set_counter(&mut evidence, "tcp", "TCPOrigDataSent", sent);
            let others = OthersObserved { cpu_cores, ..OthersObserved::default() };
            evidence.observed.as_mut().expect("seen").others = Some(others);
            judged(&RULE, &evidence)
        };
        assert_eq!(with(50_000_000, 0.3), Outcome::Unchecked(FOREIGN));
        assert_eq!(state(&with(50_000_000, 0.01)), Some(FindingState::Invalid), "nobody else ran");
        assert_eq!(state(&with(8_000_000, 0.3)), Some(FindingState::Invalid), "a load with several programs behind it");
    }
}
