//! NE-06: overflow of the kernel's receive queues.

use crate::facts::kernel::{FOREIGN, Harm, counter, has_foreign_traffic, share, whose};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent, plural};
use model::{Evidence, FindingState};

const INVALID_SHARE: f64 = 0.0001;
const INVALID_MIN: u64 = 10;
const SQUEEZED_SHARE: f64 = 0.01;
const SQUEEZED_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "NE-06",
    title: "kernel receive queue overflows",
    detects: "The kernel dropped or deferred packets before any program saw them.",
    fires: &[
        Fires::invalid(
            "The kernel dropped at least 10 packets, and more than 0.01 % of all, and TCP had to send again.",
        ),
        Fires::warning(
            "The kernel dropped at least one packet, and TCP had to send again; or it ran out of time at least 100 \
             times, for more than 1 % of the packets.",
        ),
        Fires::note("The kernel dropped at least one packet, but TCP hardly had to send again."),
    ],
    remarks: "TCP had to send again if at least 20 segments were retransmitted, and a tenth as many as packets were \
              dropped. Where no kernel counts that, the state is WARNING at most.",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("softnet", "processed"), ("softnet", "dropped"), ("softnet", "squeezed")],
            any: false,
            unknown: "no softnet_stat from the kernel",
        }),
        Need::Requests,
        Need::WhereKnown(&[Need::RETRANSMISSIONS]),
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let [Some(processed), Some(dropped), Some(squeezed)] =
        ["processed", "dropped", "squeezed"].map(|name| counter(evidence, "softnet", name))
    else {
        return Outcome::UNMET;
    };
    if has_foreign_traffic(evidence) {
        return Outcome::Unchecked(FOREIGN);
    }
    let (dropped_share, squeezed_share) = (share(dropped, processed + dropped), share(squeezed, processed));
    let is_squeezed = squeezed_share > SQUEEZED_SHARE && squeezed >= SQUEEZED_MIN;
    let harm = Harm::of(evidence, dropped);
    let state = match dropped {
        0 if !is_squeezed => return Outcome::Pass,
        0 => FindingState::Warning,
        n if n >= INVALID_MIN && dropped_share > INVALID_SHARE => harm.state(FindingState::Invalid),
        _ => harm.state(FindingState::Warning),
    };
    let (message, remedy) = if dropped > 0 {
        (
            format!(
                "the kernel's receive queues dropped {} ({}) {}; {}",
                plural(dropped, "packet"),
                percent(dropped_share),
                whose(evidence),
                harm.says()
            ),
            "raise net.core.netdev_max_backlog, or spread the packets over more CPUs (receive queues, RPS)",
        )
    } else {
        (
            format!(
                "the kernel ran out of time for received packets {} times ({} of the packets) {}",
                count(squeezed),
                percent(squeezed_share),
                whose(evidence)
            ),
            "raise net.core.netdev_budget and netdev_budget_usecs, or spread the packets over more CPUs",
        )
    };
    let figures = [("dropped", dropped as f64), ("squeezed", squeezed as f64), ("processed", processed as f64)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter, state};

    #[test]
    fn drops_and_squeezes_are_told_apart() {
        for (dropped, squeezed, expected) in [
            (0, 99, None),
            (0, 80_001, Some(FindingState::Warning)),
            (1, 0, Some(FindingState::Warning)),
            (801, 0, Some(FindingState::Invalid)),
        ] {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "softnet", "processed", 8_000_000);
            set_counter(&mut evidence, "softnet", "dropped", dropped);
            set_counter(&mut evidence, "softnet", "squeezed", squeezed);
            set_counter(&mut evidence, "tcp", "RetransSegs", 100);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{dropped}, {squeezed}");
            if dropped == 0 && squeezed > 100 {
                assert!(finding(judged(&RULE, &evidence)).message.starts_with("the kernel ran out of time"));
            }
        }
    }

    /// 10,000 connections: the burst of their handshakes did not fit, and 2 of 3.2 million segments were sent again.
    #[test]
    fn packets_that_nobody_misses_are_a_note() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "softnet", "processed", 6_400_000);
        set_counter(&mut evidence, "softnet", "dropped", 8_300);
        set_counter(&mut evidence, "tcp", "RetransSegs", 2);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.contains("TCP sent only 2 segments again"), "{}", found.message);
        set_counter(&mut evidence, "tcp", "RetransSegs", 8_300);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        set_counter(&mut evidence, "softnet", "squeezed", 80_001);
        set_counter(&mut evidence, "softnet", "dropped", 0);
        set_counter(&mut evidence, "tcp", "RetransSegs", 0);
        assert_eq!(
            state(&judged(&RULE, &evidence)),
            Some(FindingState::Warning),
            "time that ran out lengthens what waits"
        );
    }
}
