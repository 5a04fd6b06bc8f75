//! CL-11: full receive buffers of the client.

use crate::facts::kernel::{client_tcp, is_one_machine, share};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

/// Kernel counters of receivers that do not keep up.
const NAMES: [&str; 4] = ["TCPToZeroWindowAdv", "TCPRcvQDrop", "TCPBacklogDrop", "PruneCalled"];
/// Fewer are an accident.
const EVENTS_MIN: u64 = 10;
const SHARE: f64 = 0.01;

pub(crate) const RULE: Rule = Rule {
    id: "CL-11",
    title: "client's receive buffers full",
    detects: "The client's receive buffers were full, so that the server waited for the client.",
    fires: &[
        Fires::invalid(
            "The kernel of a client on a machine of its own counted full receive buffers at least 10 times, and more \
             than once per 100 responses.",
        ),
        Fires::warning("The kernel of a machine with client and server counted as many, which may be of either."),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Clients,
            figures: &[
                ("tcp", "TCPToZeroWindowAdv"),
                ("tcp", "TCPRcvQDrop"),
                ("tcp", "TCPBacklogDrop"),
                ("tcp", "PruneCalled"),
            ],
            any: true,
            unknown: "kernel counters of full receive buffers unavailable",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let counted: Vec<u64> = NAMES.iter().filter_map(|name| client_tcp(evidence, name)).collect();
    let full: u64 = counted.iter().sum();
    let share = share(full, evidence.flow.completed);
    if full < EVENTS_MIN || share <= SHARE {
        return Outcome::Pass;
    }
    let local = is_one_machine(evidence);
    let whose = if local { "of client or server" } else { "of the client" };
    let message = format!(
        "receive buffers {whose} were full {} times, {} of the responses: the sender waited for the reader",
        count(full),
        percent(share)
    );
    let state = if local { FindingState::Warning } else { FindingState::Invalid };
    let remedy = "use more load threads (-t) or a faster client, or raise net.ipv4.tcp_rmem".to_owned();
    Outcome::fired(RULE.id, state, message, remedy, [("full_buffers", full as f64), ("share", share)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, far_away, finding, judged, set_counter};

    #[test]
    fn full_buffers_invalidate_and_on_one_machine_warn() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "TCPRcvQDrop", 20_000);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("of client or server were full 20,000 times, 2.0 %"), "{}", found.message);
        far_away(&mut evidence);
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Invalid);
    }

    #[test]
    fn a_few_pass_and_no_counters_are_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.flow.completed = 100;
        set_counter(&mut evidence, "tcp", "PruneCalled", 9);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.observed.as_mut().expect("it is observed").counters.clear();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
