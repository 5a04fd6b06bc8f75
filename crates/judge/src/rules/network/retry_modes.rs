//! NE-04: service times that cluster at TCP's retransmission timers.

use super::modes::heap;
use crate::facts::kernel::{FOREIGN, has_foreign_traffic, recovered_by_probes, tcp, whose};
use crate::text::list;
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::count;
use model::{Evidence, FindingState};

/// Where Linux's timers put what they delay: least time to send again, and to send the first and second SYN again; ms.
const TIMERS: [(u64, u64, &str); 3] =
    [(200, 220, "0.20 to 0.22 s"), (1_000, 1_100, "1.0 to 1.1 s"), (3_000, 3_300, "3.0 to 3.3 s")];

pub(crate) const RULE: Rule = Rule {
    id: "NE-04",
    title: "latencies cluster at TCP timeouts",
    detects: "Service times cluster where TCP sends a lost segment or SYN again.",
    fires: &[Fires::warning(
        "At least 10 service times are from 200 to 220 ms, from 1.0 to 1.1 s or from 3.0 to 3.3 s: more than 5 \
             times as many as on either side, and at most twice as many as there were TCP timeouts.",
    )],
    remarks: "There Linux's timers send again what was lost: a segment, the first SYN and the second one.",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("tcp", "TCPTimeouts"), ("tcp", "TCPSynRetrans")],
            any: false,
            unknown: "kernel does not count TCP timeouts",
        }),
        Need::ServiceHistogram,
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if has_foreign_traffic(evidence) {
        return Outcome::Unchecked(FOREIGN);
    }
    let [Some(timeouts), Some(syns)] = ["TCPTimeouts", "TCPSynRetrans"].map(|name| tcp(evidence, name)) else {
        return Outcome::UNMET;
    };
    // A SYN that is sent again is a timeout as well.
    let timers = timeouts.max(syns) + recovered_by_probes(evidence);
    let heaps = TIMERS.iter().filter_map(|(from, to, name)| Some((heap(evidence, *from, *to)?, *name)));
    let heaps: Vec<_> = heaps.filter(|(n, _)| *n <= 2 * timers).collect();
    if heaps.is_empty() {
        return Outcome::Pass;
    }
    let places: Vec<_> = heaps.iter().map(|(n, name)| format!("{} at {name}", count(*n))).collect();
    let message = format!(
        "service times cluster at TCP's timers ({}), with {} timeouts: retransmission, not server work {}",
        list(&places),
        count(timers),
        whose(evidence)
    );
    let remedy = "fix what drops segments (NE-01, NE-02, NE-03, NE-06, NE-07) and measure again".to_owned();
    let delayed: u64 = heaps.iter().map(|(n, _)| n).sum();
    let figures = [("delayed", delayed as f64), ("timeouts", timeouts as f64), ("syn_retransmitted", syns as f64)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{clean_run, judged, set_counter, state};

    #[test]
    fn it_takes_both_the_heap_and_the_timeouts() {
        let both = testing::run("NE-04");
        assert_eq!(state(&judged(&RULE, &both)), Some(FindingState::Warning));
        let mut heap_only = both.clone();
        set_counter(&mut heap_only, "tcp", "TCPTimeouts", 3);
        set_counter(&mut heap_only, "tcp", "TCPSynRetrans", 0);
        assert_eq!(judged(&RULE, &heap_only), Outcome::Pass, "a server that sleeps for a second");
        let mut timeouts_only = clean_run();
        set_counter(&mut timeouts_only, "tcp", "TCPTimeouts", 1_000);
        assert_eq!(judged(&RULE, &timeouts_only), Outcome::Pass);
        let mut broad = both;
        broad.service_bins[..500].fill(100);
        assert_eq!(judged(&RULE, &broad), Outcome::Pass, "no heap among as many others");
    }
}
