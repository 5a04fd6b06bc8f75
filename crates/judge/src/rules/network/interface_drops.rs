//! NE-07: packets dropped by the network interface.

use crate::facts::kernel::{is_tcp, share};
use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};
use std::collections::BTreeMap;

const WARNING_SHARE: f64 = 0.00001;
const INVALID_SHARE: f64 = 0.0001;
/// An interface also drops what is not for it: a few packets a second of protocols that nobody speaks.
const WARNING_MIN: u64 = 30;
const INVALID_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "NE-07",
    title: "interface drops packets",
    detects: "packets dropped by the network interface or the queue in front of it",
    threshold: "interface that carried the load: > 0.001 % of its packets and >= 30: warning; > 0.01 % and >= 100: \
                invalid (plimsoll defaults)",
    data: "packets, drops and errors of this machine's interfaces",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !is_tcp(evidence) {
        return Outcome::Pass;
    }
    let Some((name, counters)) = carrier(evidence) else {
        return Outcome::Unchecked("no interface of this machine carried the load");
    };
    let sum = |names: &[&str]| -> u64 { names.iter().filter_map(|name| counters.get(*name)).sum() };
    let lost = sum(&["received_dropped", "received_errors", "received_fifo_errors", "sent_dropped", "sent_errors"]);
    let packets = sum(&["received_packets", "sent_packets"]);
    let share = share(lost, packets + lost);
    let state = match share {
        s if s > INVALID_SHARE && lost >= INVALID_MIN => FindingState::Invalid,
        s if s > WARNING_SHARE && lost >= WARNING_MIN => FindingState::Warning,
        _ => return Outcome::Pass,
    };
    let message = format!(
        "{name} dropped {} of {} packets ({}): retransmissions cause the tail latency",
        count(lost),
        count(packets + lost),
        percent(share)
    );
    let remedy =
        format!("check its counters (ethtool -S {name}; tc -s qdisc show dev {name}), enlarge its rings (ethtool -G)");
    Outcome::fired(
        RULE.id,
        state,
        message,
        remedy,
        [("dropped", lost as f64), ("packets", packets as f64), ("share", share)],
    )
}

/// The interface with the most traffic, if it is as much as the load's.
fn carrier(evidence: &Evidence) -> Option<(&str, &BTreeMap<String, u64>)> {
    let parts = &evidence.observed.as_ref()?.counters;
    let interfaces = parts.iter().filter_map(|(part, counters)| Some((part.strip_prefix("nic/")?, counters)));
    let bytes = |counters: &BTreeMap<String, u64>| counters.get("received_bytes").copied().unwrap_or(0);
    let busiest = interfaces.max_by_key(|(_, counters)| bytes(counters))?;
    // Samples and window do not begin and end at the same instants.
    (bytes(busiest.1) > 0 && bytes(busiest.1) >= evidence.flow.bytes_received / 2).then_some(busiest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, set_counter, state};

    #[test]
    fn only_the_interface_of_the_load_counts_and_only_with_enough() {
        for (dropped, expected) in
            [(29, None), (30, None), (40, Some(FindingState::Warning)), (401, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "nic/lo", "received_dropped", dropped);
            set_counter(&mut evidence, "nic/lo", "received_packets", 4_000_000 - 1_000_000);
            set_counter(&mut evidence, "nic/lo", "sent_packets", 900_000);
            assert_eq!(state(&check(&evidence)), expected, "{dropped}");
        }
        let mut evidence = clean_run();
        set_counter(&mut evidence, "nic/eth1", "received_dropped", 100_000);
        assert_eq!(check(&evidence), Outcome::Pass, "it has carried nothing");
        evidence.observed.as_mut().expect("seen").counters.remove("nic/lo");
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
