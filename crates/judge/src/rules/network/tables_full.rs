//! NE-09: connection tables near their limits.

use crate::facts::client_machine;
use crate::facts::kernel::{gauge, share, tcp};
use crate::facts::ports::{PortsHeld, server_out_of_ports};
use crate::text::list;
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const NOTE_SHARE: f64 = 0.5;
const WARNING_SHARE: f64 = 0.8;
const INVALID_SHARE: f64 = 0.95;

pub(crate) const RULE: Rule = Rule {
    id: "NE-09",
    title: "connection tables full",
    detects: "A table of connections was nearly full, or many local ports were held in TIME_WAIT.",
    fires: &[
        Fires::invalid("The table of tracked connections was more than 95 % full."),
        Fires::warning(
            "The table of tracked connections was more than 80 % full; more than 80 % of the client's local ports \
             were held in TIME_WAIT; the kernel ended TIME_WAIT early; or at least 90 % of the local ports of the \
             server's machine were held, while at least 1 % of the responses had a status from 500 to 504.",
        ),
        Fires::note("More than 50 % of the client's local ports were held in TIME_WAIT."),
    ],
    remarks: "CL-07 reports a client that ran out of local ports.",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("tcp", "TCPTimeWaitOverflow")],
            any: false,
            unknown: "kernel does not count TIME_WAIT sockets ended early",
        }),
        Need::LocalPorts,
        Need::Requests,
        Need::WhereKnown(&[Need::CONNTRACK]),
    ],
    conditions: "",
    check: Check::Run(check),
};

/// Something wrong with a table: how bad, what it means, what to do.
type Fault = (FindingState, String, String);

fn check(evidence: &Evidence) -> Outcome {
    let waiting = ports_waiting(evidence);
    let Some(ended_early) = tcp(evidence, "TCPTimeWaitOverflow") else {
        return Outcome::UNMET;
    };
    let Some(waiting) = waiting else {
        return Outcome::UNMET;
    };
    let tracked = tracked(evidence);
    let faults = [
        conntrack(tracked),
        ports(waiting, evidence.plan.keepalive),
        server_out_of_ports(evidence).map(ports_of_server),
        overflow(ended_early),
    ];
    let faults: Vec<Fault> = faults.into_iter().flatten().collect();
    let Some(state) = faults.iter().map(|(state, ..)| *state).max() else { return Outcome::Pass };
    let join = |texts: Vec<String>| list(&texts);
    let message = join(faults.iter().map(|(_, message, _)| message.clone()).collect());
    let remedy = join(faults.into_iter().map(|(.., remedy)| remedy).collect());
    let figures = [
        ("tracked_share", tracked.unwrap_or(0.0)),
        ("time_wait_share", waiting),
        ("time_wait_ended_early", ended_early as f64),
    ];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// Used share of the conntrack table; none without connection tracking.
fn tracked(evidence: &Evidence) -> Option<f64> {
    let [connections, limit] = ["connections", "connections_limit"].map(|name| gauge(evidence, "conntrack", name));
    Some(share(connections?.max, limit?.max))
}

/// Part of the local ports that the client's ends hold in TIME_WAIT.
fn ports_waiting(evidence: &Evidence) -> Option<f64> {
    let sockets = client_machine(evidence)?.sockets.as_ref()?;
    let waiting = sockets.client.get("time_wait").copied().unwrap_or(0);
    Some(share(waiting, gauge(evidence, "ports", "local_ports")?.max))
}

fn conntrack(tracked: Option<f64>) -> Option<Fault> {
    let share = tracked?;
    let state = match share {
        s if s <= WARNING_SHARE => return None,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message =
        format!("the conntrack table was {} full: at its limit new connections are dropped silently", percent(share));
    Some((state, message, "raise net.netfilter.nf_conntrack_max, or exempt the target's port (NOTRACK)".to_owned()))
}

fn ports(share: f64, keepalive: bool) -> Option<Fault> {
    let state = match share {
        s if s <= NOTE_SHARE => return None,
        s if s <= WARNING_SHARE => FindingState::Note,
        _ => FindingState::Warning,
    };
    let message = format!(
        "{} of the client's local ports are held in TIME_WAIT: finding a free one takes longer",
        percent(share)
    );
    let remedy = if keepalive {
        "let the server keep connections open; otherwise widen net.ipv4.ip_local_port_range"
    } else {
        "omit --no-keepalive if users keep connections open; otherwise widen net.ipv4.ip_local_port_range"
    };
    Some((state, message, remedy.to_owned()))
}

/// A proxy, or whoever else connects anew to an upstream.
fn ports_of_server(held: PortsHeld) -> Fault {
    let PortsHeld { waiting, ports, failed } = held;
    let message = format!(
        "the server's machine holds {} sockets in TIME_WAIT beside those of this load, of {} local ports, and {} of the \
         responses are errors of a gateway: a program there (a proxy?) has no port left to connect to its upstream",
        count(waiting),
        count(ports),
        percent(failed)
    );
    let remedy = "let it keep connections to its upstream open (nginx: keepalive in upstream, with proxy_http_version 1.1 and \
                  an empty Connection header; Go: MaxIdleConnsPerHost), or widen net.ipv4.ip_local_port_range there";
    (FindingState::Warning, message, remedy.to_owned())
}

fn overflow(ended_early: u64) -> Option<Fault> {
    let message = format!("the kernel ended TIME_WAIT early for {} connections (too many)", count(ended_early));
    (ended_early > 0).then(|| (FindingState::Warning, message, "raise net.ipv4.tcp_max_tw_buckets".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter, set_gauge, state};

    fn waiting(n: u64) -> Evidence {
        let mut evidence = clean_run();
        let sockets = evidence.observed.as_mut().and_then(|seen| seen.sockets.as_mut()).expect("seen");
        sockets.client.insert("time_wait".to_owned(), n);
        evidence
    }

    #[test]
    fn ports_are_a_note_or_a_warning() {
        for (n, expected) in [(14_116, None), (20_000, Some(FindingState::Note)), (28_232, Some(FindingState::Warning))]
        {
            assert_eq!(state(&judged(&RULE, &waiting(n))), expected, "{n}");
        }
        let mut evidence = waiting(28_232);
        evidence.plan.keepalive = false;
        assert!(finding(judged(&RULE, &evidence)).remedy.starts_with("omit --no-keepalive"));
    }

    /// nginx before an upstream without keepalive, with 3,233 local ports: 99 % of the responses were 502, 3,237 sockets waited,
    /// and only the 4 of the client were looked at.
    #[test]
    fn ports_that_a_proxy_lacks_are_told_apart_from_the_clients() {
        let with = |held: u64, bad: u64| {
            let mut evidence = waiting(4);
            set_gauge(&mut evidence, "ports", "local_ports", 3_233);
            set_gauge(&mut evidence, "sockstat", "tcp_time_wait", held);
            evidence.cohort.status.insert(502, bad);
            judged(&RULE, &evidence)
        };
        let found = finding(with(3_237, 990_000));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("3,233 sockets in TIME_WAIT beside those of this load, of 3,233 local ports"));
        assert!(found.remedy.contains("keepalive in upstream"), "{}", found.remedy);
        assert_eq!(state(&with(3_237, 0)), None, "an upstream that closes holds no port");
        assert_eq!(state(&with(2_000, 990_000)), None, "there are ports left");
    }

    #[test]
    fn tracked_connections_near_their_limit_invalidate() {
        for (n, expected) in [(800, None), (900, Some(FindingState::Warning)), (951, Some(FindingState::Invalid))] {
            let mut evidence = clean_run();
            set_gauge(&mut evidence, "conntrack", "connections", n);
            set_gauge(&mut evidence, "conntrack", "connections_limit", 1_000);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{n}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_and_what_is_not_tracked_is_no_trouble() {
        let mut evidence = waiting(28_232);
        set_counter(&mut evidence, "tcp", "TCPTimeWaitOverflow", 7);
        let found = finding(judged(&RULE, &evidence));
        assert!(
            found.message.contains("100 % of the client's") && found.message.contains("for 7 connections"),
            "{found:?}"
        );
        let mut evidence = clean_run();
        evidence.observed.as_mut().expect("seen").gauges.remove("conntrack");
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.observed.as_mut().expect("seen").gauges.remove("ports");
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
