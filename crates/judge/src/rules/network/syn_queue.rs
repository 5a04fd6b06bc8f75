//! NE-02: full SYN queue.

use crate::facts::kernel::{Lost, has_connected, own_drops, tcp, whose};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::Evidence;
use model::human::{count, percent};

pub(crate) const RULE: Rule = Rule {
    id: "NE-02",
    title: "SYN queue full",
    detects: "Too many connections were half open, so that some were dropped or answered with a SYN cookie.",
    fires: &[
        Fires::invalid(
            "At least 10 connection attempts, and more than 0.01 % of them, were dropped from a full SYN queue.",
        ),
        Fires::warning("At least one connection attempt was dropped or answered with a SYN cookie."),
    ],
    remarks: "It counts only if the load itself opened connections in the window.",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("tcp", "SyncookiesSent"), ("tcp", "TCPReqQFullDoCookies")],
            any: true,
            unknown: "kernel does not count SYN cookies and drops",
        }),
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("tcp", "TCPReqQFullDrop")],
            any: false,
            unknown: "kernel does not count SYN cookies and drops",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let cookies = [tcp(evidence, "SyncookiesSent"), tcp(evidence, "TCPReqQFullDoCookies")].into_iter().flatten().max();
    let (Some(cookies), Some(dropped)) = (cookies, tcp(evidence, "TCPReqQFullDrop")) else {
        return Outcome::UNMET;
    };
    // What this server's sockets did not drop, those of others did.
    let dropped = own_drops(evidence).map_or(dropped, |own| dropped.min(own));
    // Without a connection of its own in the window the load was in none of these queues.
    if cookies + dropped == 0 || !has_connected(evidence) {
        return Outcome::Pass;
    }
    let Lost { attempts, share, state } = Lost::of(evidence, dropped);
    let means = if dropped > 0 {
        format!(
            "{} connection attempts ({}) were dropped and retried after 1 s or longer",
            count(dropped),
            percent(share)
        )
    } else {
        "these lose TCP options and cost server time".to_owned()
    };
    let message = format!("the SYN queue was full: {} SYN cookies sent; {means} {}", count(cookies), whose(evidence));
    let remedy =
        "raise the server's backlog, net.core.somaxconn and net.ipv4.tcp_max_syn_backlog above the connections opened \
         at once, or open fewer (-c)"
            .to_owned();
    let figures = [("cookies", cookies as f64), ("dropped", dropped as f64), ("attempts", attempts as f64)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter};
    use model::FindingState;

    #[test]
    fn cookies_warn_and_drops_invalidate() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "SyncookiesSent", 500);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "this load has not connected in the window");
        evidence.flow.opened = 1;
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Warning);
        set_counter(&mut evidence, "tcp", "TCPReqQFullDrop", 9);
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Warning);
        set_counter(&mut evidence, "tcp", "TCPReqQFullDrop", 10);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("500 SYN cookies sent; 10 connection attempts"), "{}", found.message);
    }
}
