//! NE-05: delayed acknowledgements.

use super::modes::heap;
use crate::facts::disturbed::rests_on_disturbed;
use crate::facts::kernel::{share, tcp};
use crate::facts::stopped::stopped;
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

/// The least time for which Linux delays an acknowledgement (`TCP_DELACK_MIN`, 40 ms, rounded up to its next tick but one,
/// which is up to 50 ms with 100 ticks a second), and a little more for the way; ms.
const DELAY_MS: (u64, u64) = (40, 52);

pub(crate) const RULE: Rule = Rule {
    id: "NE-05",
    title: "delayed acknowledgements",
    detects: "Responses were delayed by 40 ms, because Nagle's algorithm waits for a delayed acknowledgement.",
    fires: &[Fires::warning(
        "At least 10 service times are from 40 to 52 ms, more than 5 times as many as on either side, and the \
             kernel delayed acknowledgements for at least half of them.",
    )],
    remarks: "Linux delays an acknowledgement for 40 ms or more (TCP_DELACK_MIN).",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("tcp", "DelayedACKs")],
            any: false,
            unknown: "kernel does not count delayed acknowledgements",
        }),
        Need::ServiceHistogram,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(delayed) = tcp(evidence, "DelayedACKs") else {
        return Outcome::UNMET;
    };
    if rests_on_disturbed(evidence) {
        return Outcome::Unchecked("too little undisturbed time");
    }
    // Stops of 50 ms are no delayed acknowledgements, and lie at the same place.
    if stopped(evidence).is_some() {
        return Outcome::Unchecked("something stops the server, which delays responses as well");
    }
    let n = match heap(evidence, DELAY_MS.0, DELAY_MS.1) {
        Some(n) if 2 * delayed >= n => n,
        _ => return Outcome::Pass,
    };
    let share = share(n, evidence.latency.service.n);
    let message = format!(
        "{} requests ({}) took 40 to 52 ms, Linux's delayed-ACK time: Nagle's algorithm, unless the server waits that \
         long",
        count(n),
        percent(share)
    );
    let remedy =
        "enable TCP_NODELAY on the server (nginx: tcp_nodelay on), or write headers and body at once".to_owned();
    let figures = [("at_40_ms", n as f64), ("share", share), ("delayed_acks", delayed as f64)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{clean_run, judged, set_counter, state, stopped_pool};
    use model::{Basis, Disturbance, NS_PER_S, SERVICE_BIN_NS};

    /// With 250 ticks a second 44.0 ms were the usual, and beyond where the rule looked.
    #[test]
    fn a_tick_more_than_40_ms_is_the_same_delay() {
        for at_ms in [40, 44, 48, 51] {
            let mut evidence = testing::run("NE-05");
            evidence.service_bins.fill(0);
            evidence.service_bins[(at_ms * NS_PER_S / 1000 / SERVICE_BIN_NS) as usize] = 90_000;
            assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning), "{at_ms} ms");
        }
    }

    /// A quota on the client stops it for 40 to 80 ms, again and again.
    #[test]
    fn a_client_without_a_cpu_is_no_delayed_acknowledgement() {
        let mut evidence = testing::run("NE-05");
        let whole = Disturbance { basis: Basis::Whole, set_aside_ns: NS_PER_S, ..Disturbance::default() };
        evidence.disturbance = Some(whole.clone());
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.disturbance = Some(Disturbance { basis: Basis::Clean, ..whole });
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }

    /// A Go program that was stopped and continued each 50 ms: "enable TCP_NODELAY on the server".
    #[test]
    fn a_server_that_is_stopped_is_no_delayed_acknowledgement() {
        let mut evidence = testing::run("NE-05");
        evidence.observed.as_mut().expect("seen").pools = vec![stopped_pool(0.48)];
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.observed.as_mut().expect("seen").pools = vec![stopped_pool(0.04)];
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }

    #[test]
    fn it_takes_both_the_heap_and_the_acknowledgements() {
        let both = testing::run("NE-05");
        assert_eq!(state(&judged(&RULE, &both)), Some(FindingState::Warning));
        let mut acks_only = clean_run();
        set_counter(&mut acks_only, "tcp", "DelayedACKs", 100_000);
        assert_eq!(judged(&RULE, &acks_only), Outcome::Pass);
        let mut heap_only = both;
        set_counter(&mut heap_only, "tcp", "DelayedACKs", 40);
        assert_eq!(judged(&RULE, &heap_only), Outcome::Pass);
    }
}
