//! NE-01: full accept queue.

use crate::facts::kernel::{Lost, all_drops, has_connected, own_drops, whose};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::Evidence;
use model::human::{count, percent, plural};

pub(crate) const RULE: Rule = Rule {
    id: "NE-01",
    title: "accept queue full",
    detects: "The server's accept queue was full, which delayed connections.",
    fires: &[
        Fires::invalid("At least 10 connection attempts, and more than 0.01 % of them, found the accept queue full."),
        Fires::warning("At least one connection attempt found the accept queue full."),
    ],
    remarks: "It counts only if the load itself opened connections in the window. Linux sends a SYN again after 1, 3 \
              and 7 s.",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("listener", "dropped_connects"), ("tcp", "ListenOverflows"), ("tcp", "ListenDrops")],
            any: true,
            unknown: "kernel does not count full accept queues",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let own = own_drops(evidence);
    let known = own.or_else(|| all_drops(evidence));
    let Some(dropped) = known else { return Outcome::UNMET };
    // Without a connection of its own in the window the load was in none of these queues.
    if dropped == 0 || !has_connected(evidence) {
        return Outcome::Pass;
    }
    let Lost { attempts, share, state } = Lost::of(evidence, dropped);
    let (queue, whose) = match own {
        Some(_) => ("the server's", String::new()),
        None => ("an", format!(" {}", whose(evidence))),
    };
    let message = format!(
        "{queue} accept queue was full {}, {} of the connection attempts: retries after >= 1 s raise latency{whose}",
        if dropped == 1 { "once".to_owned() } else { format!("{} times", count(dropped)) },
        percent(share)
    );
    let figures = [("dropped", dropped as f64), ("attempts", attempts as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy(evidence), figures)
}

fn remedy(evidence: &Evidence) -> String {
    let sockets = evidence.observed.as_ref().and_then(|seen| seen.sockets.as_ref());
    let wanted = u64::from(evidence.plan.load.connections());
    let queue = match sockets.and_then(|sockets| sockets.accept_backlog) {
        Some(backlog) if backlog >= wanted => format!(
            "the server's queue already holds {}: check other servers' queues (ss -ltn), or make the server accept \
             faster",
            count(backlog)
        ),
        now => format!(
            "make the accept queue hold {}{} (nginx: listen ... backlog={wanted}; capped by net.core.somaxconn)",
            plural(wanted, "connection"),
            now.map_or_else(String::new, |backlog| format!(" instead of {}", count(backlog)))
        ),
    };
    if evidence.plan.keepalive {
        return format!("{queue}, and keep connections open");
    }
    format!("{queue}, or omit --no-keepalive if users keep connections open")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::kernel::ELSEWHERE;
    use crate::testing;
    use crate::testing::{clean_run, finding, judged, set_counter};
    use model::FindingState;

    #[test]
    fn one_in_ten_thousand_decides_and_a_handful_only_warns() {
        for (dropped, accepted, state) in [
            (1, 0, FindingState::Warning),
            (9, 20, FindingState::Warning),
            (10, 20, FindingState::Invalid),
            (30, 299_970, FindingState::Warning),
            (31, 299_969, FindingState::Invalid),
        ] {
            let mut evidence = clean_run();
            set_counter(&mut evidence, "tcp", "ListenDrops", dropped);
            set_counter(&mut evidence, "tcp", "PassiveOpens", accepted);
            assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "this load has not connected in the window");
            evidence.flow.opened = 1;
            assert_eq!(finding(judged(&RULE, &evidence)).state, state, "{dropped} of {accepted}");
        }
    }

    /// HAProxy and Varnish were INVALID for the queue of another server on the machine.
    #[test]
    fn the_full_queue_of_another_server_is_not_held_against_this_one() {
        let mut evidence = clean_run();
        evidence.flow.opened = 64;
        set_counter(&mut evidence, "tcp", "ListenOverflows", 594);
        set_counter(&mut evidence, "listener", "dropped_connects", 0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "listener", "dropped_connects", 20);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("the server's accept queue was full 20 times"), "{}", found.message);
        assert!(!found.message.contains("counted together"), "{}", found.message);
    }

    /// Apache defers accepting until a request is there, which the kernel counts with the drops of its socket: INVALID for 50 %
    /// of the connection attempts, and none was lost.
    #[test]
    fn handshakes_that_wait_for_their_request_are_no_drops() {
        let mut evidence = clean_run();
        evidence.flow.opened = 1_397;
        let mut with = |deferred, of_all| {
            set_counter(&mut evidence, "listener", "dropped_connects", 1_397);
            set_counter(&mut evidence, "tcp", "TCPDeferAcceptDrop", deferred);
            set_counter(&mut evidence, "tcp", "ListenDrops", of_all);
            judged(&RULE, &evidence)
        };
        assert_eq!(with(1_397, 0), Outcome::Pass);
        assert_eq!(with(0, 0), Outcome::Pass, "all sockets together dropped none");
        assert_eq!(with(1_397, 594), Outcome::Pass, "those were another server's");
        let found = finding(with(1_377, 20));
        assert!(found.message.starts_with("the server's accept queue was full 20 times"), "{}", found.message);
    }

    #[test]
    fn the_remedy_knows_the_queue_and_the_flags() {
        let mut evidence = testing::run("NE-01");
        let found = finding(judged(&RULE, &evidence));
        assert!(
            found.remedy.contains("hold 64 connections instead of 8 (") && found.remedy.contains("--no-keepalive"),
            "{found:?}"
        );
        evidence.plan.keepalive = true;
        assert!(!finding(judged(&RULE, &evidence)).remedy.contains("--no-keepalive"));
        evidence.observed.as_mut().and_then(|seen| seen.sockets.as_mut()).expect("seen").accept_backlog = Some(511);
        assert!(finding(judged(&RULE, &evidence)).remedy.starts_with("the server's queue already holds 511"));
    }

    #[test]
    fn a_server_elsewhere_has_a_kernel_nobody_looked_at() {
        let mut evidence = testing::run("NE-01");
        evidence.plan.target.address = "192.0.2.1:80".parse().expect("an address");
        let observed = evidence.observed.as_mut().expect("it was looked at");
        (observed.server, observed.sockets) = (None, None);
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked(ELSEWHERE));
        evidence.plan.target.address = "unix:/run/web.sock".parse().expect("an address");
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }
}
