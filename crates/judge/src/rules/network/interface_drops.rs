//! NE-07: packets dropped by the network interface.

use crate::facts::kernel::{Harm, LOOPBACK, carrier, least_drops, share};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.00001;
const INVALID_SHARE: f64 = 0.0001;
/// An interface also drops what is not for it: a few packets a second of protocols that nobody speaks.
const WARNING_MIN: u64 = 30;
const INVALID_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "NE-07",
    title: "interface drops packets",
    detects: "The network interface, or the queue in front of it, dropped packets.",
    fires: &[
        Fires::invalid(
            "The interface of the load dropped at least 100 packets, and more than 0.01 % of all, and TCP had to \
             send again.",
        ),
        Fires::warning(
            "The interface of the load dropped at least 30 packets, and more than 0.001 % of all, and TCP had to \
             send again.",
        ),
        Fires::note("The interface of the load dropped as many packets, but TCP hardly had to send again."),
    ],
    remarks: "These numbers of packets are for windows of up to 30 s; in longer ones they grow with the time. TCP \
              had to send again if at least 20 segments were retransmitted, and a tenth as many as packets were \
              dropped. Where no kernel counts that, the state is WARNING at most.",
    applies: Applies::Tcp,
    needs: &[Need::Window, Need::Interfaces, Need::Requests, Need::WhereKnown(&[Need::RETRANSMISSIONS])],
    conditions: "an interface that carried as much as the load",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some((name, counters)) = carrier(evidence) else {
        return Outcome::Unchecked("no observed interface carried the load");
    };
    let sum = |names: &[&str]| -> u64 { names.iter().filter_map(|name| counters.get(*name)).sum() };
    let lost = sum(&["received_dropped", "received_errors", "received_fifo_errors", "sent_dropped", "sent_errors"]);
    let packets = sum(&["received_packets", "sent_packets"]);
    let share = share(lost, packets + lost);
    let state = match share {
        s if s > INVALID_SHARE && lost >= least_drops(evidence, INVALID_MIN) => FindingState::Invalid,
        s if s > WARNING_SHARE && lost >= least_drops(evidence, WARNING_MIN) => FindingState::Warning,
        _ => return Outcome::Pass,
    };
    let harm = Harm::of(evidence, lost);
    let message = format!(
        "{name} dropped {} of {} packets ({}); {}",
        count(lost),
        count(packets + lost),
        percent(share),
        harm.says()
    );
    Outcome::fired(
        RULE.id,
        harm.state(state),
        message,
        remedy(name),
        [("dropped", lost as f64), ("packets", packets as f64), ("share", share)],
    )
}

fn remedy(name: &str) -> String {
    match name {
        // It has neither rings nor a driver: what it drops did not fit into the queue of the CPU that receives.
        LOOPBACK => "raise net.core.netdev_max_backlog, or open connections less quickly; look for a netem rule (tc \
                     qdisc show dev lo)"
            .to_owned(),
        _ => format!(
            "check its counters (ethtool -S {name}; tc -s qdisc show dev {name}), enlarge its rings (ethtool -G)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, seen_there, set_counter, state};

    #[test]
    fn only_the_interface_of_the_load_counts_and_only_with_enough() {
        for (dropped, expected) in
            [(29, None), (30, None), (40, Some(FindingState::Warning)), (401, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "nic/lo", "received_dropped", dropped);
            set_counter(&mut evidence, "nic/lo", "received_packets", 4_000_000 - 1_000_000);
            set_counter(&mut evidence, "nic/lo", "sent_packets", 900_000);
            set_counter(&mut evidence, "tcp", "RetransSegs", 50);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{dropped}");
        }
        let mut evidence = clean_run();
        set_counter(&mut evidence, "nic/eth1", "received_dropped", 100_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "it has carried nothing");
        evidence.observed.as_mut().expect("seen").counters.remove("nic/lo");
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    /// One foreign packet a second in 5 minutes: INVALID, and in 30 s nothing.
    #[test]
    fn what_an_interface_drops_of_others_is_no_more_in_a_long_window() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "nic/lo", "received_dropped", 300);
        set_counter(&mut evidence, "nic/lo", "received_packets", 400_000);
        set_counter(&mut evidence, "nic/lo", "sent_packets", 400_000);
        set_counter(&mut evidence, "tcp", "RetransSegs", 300);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        evidence.measured_ns *= 11;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// An interface that lost responses was said to have carried no load: it receives the requests only.
    #[test]
    fn drops_of_the_servers_interface_are_seen_from_its_own_side() {
        let mut evidence = clean_run();
        seen_there(&mut evidence);
        let counters = &mut evidence.observed.as_mut().expect("seen").counters;
        counters.remove("nic/lo");
        let received = evidence.flow.bytes_received;
        let figures = [("received_bytes", received / 10), ("sent_bytes", received), ("sent_packets", 1_000_000)];
        figures.into_iter().for_each(|(name, n)| set_counter(&mut evidence, "nic/eth0", name, n));
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "nic/eth0", "sent_dropped", 200);
        set_counter(&mut evidence, "tcp", "RetransSegs", 200);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.remedy.contains("ethtool -S eth0"), "{}", found.remedy);
    }

    /// nginx with 10,000 connections: INVALID, "retransmissions cause the tail latency", of 2 retransmissions of 3.2 million
    /// segments; and the remedy for `lo` was ethtool.
    #[test]
    fn drops_that_nobody_misses_are_a_note() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "nic/lo", "received_dropped", 8_300);
        set_counter(&mut evidence, "nic/lo", "received_packets", 3_200_000);
        set_counter(&mut evidence, "nic/lo", "sent_packets", 3_200_000);
        set_counter(&mut evidence, "tcp", "RetransSegs", 2);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.ends_with("TCP sent only 2 segments again, so the drops have hardly delayed this load"));
        assert!(!found.remedy.contains("ethtool"), "{}", found.remedy);
        set_counter(&mut evidence, "tcp", "RetransSegs", 829);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note), "fewer than a tenth of the drops");
        set_counter(&mut evidence, "tcp", "RetransSegs", 830);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        evidence.observed.as_mut().expect("seen").counters.remove("tcp");
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning), "nobody counts what was sent again");
    }

    /// An agent on the server's machine counts what the server sends again, and not what the client does.
    #[test]
    fn what_the_client_has_to_send_again_is_harm_as_well() {
        let mut evidence = clean_run();
        seen_there(&mut evidence);
        set_counter(&mut evidence, "nic/lo", "received_dropped", 8_300);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        let client = evidence.client_machine.as_mut().expect("it is seen").counters.entry("tcp".into()).or_default();
        client.extend([("RetransSegs".to_owned(), 5_000), ("TCPLossProbes".to_owned(), 0)]);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
    }
}
