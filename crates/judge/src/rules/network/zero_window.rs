//! NE-10: zero TCP receive windows.

use crate::facts::kernel::{FOREIGN, has_foreign_traffic, share, tcp, whose};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

/// Part of the responses; large bodies close a window now and then without harm.
const WARNING_SHARE: f64 = 0.01;
const COUNT_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "NE-10",
    title: "zero TCP windows",
    detects: "A slow reader with a full receive window stopped the sender.",
    fires: &[Fires::warning("Receive windows were closed at least 10 times, and more than once per 100 responses.")],
    remarks: "",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("tcp", "TCPToZeroWindowAdv"), ("tcp", "TCPFromZeroWindowAdv")],
            any: true,
            unknown: "kernel does not count zero windows",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if has_foreign_traffic(evidence) {
        return Outcome::Unchecked(FOREIGN);
    }
    let names = ["TCPToZeroWindowAdv", "TCPFromZeroWindowAdv"];
    let Some(closed) = names.iter().filter_map(|name| tcp(evidence, name)).max() else {
        return Outcome::UNMET;
    };
    let share = share(closed, evidence.flow.completed);
    if share <= WARNING_SHARE || closed < COUNT_MIN {
        return Outcome::Pass;
    }
    let message = format!(
        "a receive window closed {} times, {} of the responses: one end reads too slowly and the other waits {}",
        count(closed),
        percent(share),
        whose(evidence)
    );
    let remedy = "check for a busy client (CL-01), a server slow to read bodies, or small buffers (net.ipv4.tcp_rmem)"
        .to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [("closed", closed as f64), ("share", share)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, set_counter, state};

    #[test]
    fn windows_are_held_against_the_responses() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "TCPToZeroWindowAdv", 10_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "TCPToZeroWindowAdv", 10_001);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        evidence.flow.completed = 9;
        set_counter(&mut evidence, "tcp", "TCPToZeroWindowAdv", 9);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }
}
