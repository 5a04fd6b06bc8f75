//! Descriptors, ports, queues and tables of connections, held against the load that is planned.

use super::{Machine, ask, count_on, fine, judged, remedy, row, unavailable};
use model::human::{count, plural};
use model::{CheckRow, CheckState, Evidence, GaugeObserved, LISTENER_DROPS, Load};

/// Descriptors beside one for each connection and thread; what the engine asks for.
const SPARE_DESCRIPTORS: u64 = 64;
/// Part of the ports that may be in use: the search for a free one becomes slow before the last is taken.
const PORTS_SHARE: f64 = 0.8;
/// Time for which the port of a closed connection is held (TIME_WAIT).
const HELD_S: f64 = 60.0;
/// The same where the kernel takes such ports again (net.ipv4.tcp_tw_reuse).
const REUSED_S: f64 = 1.0;
/// Time for which a closed connection is tracked.
const TRACKED_S: f64 = 120.0;

pub(super) fn rows(machine: &Machine<'_>) -> Vec<CheckRow> {
    let mut rows = vec![descriptors(machine)];
    if machine.plan.target.address.tcp().is_some() {
        rows.push(ports(machine));
        if machine.is_target_here {
            rows.extend([accept_queue(machine), half_open(machine)]);
        }
        rows.push(tracked(machine));
    }
    rows
}

fn descriptors(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "open files";
    // The soft limit is raised when a load begins.
    let Some(hard) = machine.fact("limits", "max_open_files").and_then(|both| both.split(' ').nth(1)) else {
        return unavailable("CL-06", WHAT, machine.why("limits"));
    };
    let connections = connections(machine);
    let needed = connections + u64::from(machine.plan.threads) + SPARE_DESCRIPTORS;
    let (has, limit) = match hard.parse::<u64>() {
        Ok(limit) => (limit >= needed, count(limit)),
        Err(_) => (true, hard.to_owned()),
    };
    let needs = plural(connections, "connection");
    if has {
        return fine("CL-06", WHAT, format!("{limit} may be open, enough for {needs}"));
    }
    let mut evidence = machine.evidence();
    evidence.connections.requested = machine.plan.load.connections();
    evidence.cohort.failures.insert("connect.fds_exhausted".to_owned(), 1);
    let found = format!("{needs} need {} descriptors, and {limit} may be open", count(needed));
    row("CL-06", WHAT, CheckState::Invalid, found, remedy("CL-06", &evidence))
}

fn ports(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "local ports";
    let Some(ports) = local_ports(machine) else { return unavailable("CL-07", WHAT, machine.why("sysctl")) };
    let held_s = match machine.fact("sysctl", "net/ipv4/tcp_tw_reuse") {
        Some("1") => REUSED_S,
        Some("2") if machine.is_target_here => REUSED_S,
        _ => HELD_S,
    };
    let enough_per_s = PORTS_SHARE * ports as f64 / held_s;
    let has = format!("{} ports", count(ports));
    let lasting =
        format!("{has}, each held for up to {held_s} s: enough for {} connections/s", count(enough_per_s as u64));
    if connections(machine) > ports {
        let found = format!("{has} for {}", plural(connections(machine), "connection"));
        return row("CL-07", WHAT, CheckState::Invalid, found, ports_remedy(machine));
    }
    match (machine.plan.keepalive, machine.plan.load) {
        (true, _) => fine("CL-07", WHAT, format!("{has} for {}", plural(connections(machine), "connection"))),
        (false, Load::Closed { .. }) => {
            let found = format!("{lasting}; how many a closed loop opens is not known beforehand");
            row("CL-07", WHAT, CheckState::Note, found, ports_remedy(machine))
        }
        (false, Load::Open { rate_per_s, .. }) if rate_per_s <= enough_per_s => fine("CL-07", WHAT, lasting),
        // No more than a warning: nothing is held here when the server is the first to close.
        (false, Load::Open { rate_per_s, .. }) => {
            let found = format!("{lasting}, and {} are planned", count(rate_per_s as u64));
            row("CL-07", WHAT, CheckState::Warning, found, ports_remedy(machine))
        }
    }
}

fn ports_remedy(machine: &Machine<'_>) -> Option<String> {
    let mut evidence = machine.evidence();
    evidence.cohort.failures.insert("connect.ports_exhausted".to_owned(), 1);
    remedy("CL-07", &evidence)
}

/// The longest accept queue that a server on this machine may have.
fn accept_queue(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "somaxconn";
    let Some(most) = machine.number("sysctl", "net/core/somaxconn") else {
        return unavailable("NE-01", WHAT, machine.why("sysctl"));
    };
    let queue = format!("{} may wait to be accepted by a server here", plural(most, "connection"));
    if connections(machine) <= most {
        return fine("NE-01", WHAT, queue);
    }
    let found = format!("{queue}, and {} are opened at once", count(connections(machine)));
    row("NE-01", WHAT, CheckState::Warning, found, queue_remedy(machine.evidence()))
}

/// What NE-01 advises when connections found the accept queue full.
pub(super) fn queue_remedy(mut evidence: Evidence) -> Option<String> {
    for ([part, name], n) in [(["tcp", "ListenDrops"], 1), (LISTENER_DROPS, 1), (["tcp", "TCPDeferAcceptDrop"], 0)] {
        count_on(&mut evidence, part, name, n);
    }
    evidence.flow.opened = 1;
    remedy("NE-01", &evidence)
}

fn half_open(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "SYN queue";
    let name = |name| machine.number("sysctl", name);
    let (Some(most), Some(cookies)) = (name("net/ipv4/tcp_max_syn_backlog"), name("net/ipv4/tcp_syncookies")) else {
        return unavailable("NE-02", WHAT, machine.why("sysctl"));
    };
    let queue = format!("{} may be half open", plural(most, "connection"));
    match cookies {
        0 if connections(machine) > most => {
            let mut evidence = machine.evidence();
            for (name, value) in [("SyncookiesSent", 0), ("TCPReqQFullDrop", 1)] {
                count_on(&mut evidence, "tcp", name, value);
            }
            evidence.flow.opened = 1;
            let found = format!("{queue}, and {} are opened at once", count(connections(machine)));
            row("NE-02", WHAT, CheckState::Warning, found, remedy("NE-02", &evidence))
        }
        0 => fine("NE-02", WHAT, queue),
        _ => fine("NE-02", WHAT, format!("{queue}, and cookies are sent beyond that")),
    }
}

fn tracked(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "conntrack";
    let [now, limit] = ["connections", "connections_limit"].map(|name| machine.gauge("conntrack", name));
    let (Some(now), Some(limit)) = (now, limit) else {
        return unavailable("NE-09", WHAT, machine.unseen("conntrack").unwrap_or_else(|| machine.why("sysctl")));
    };
    let planned = match machine.plan.load {
        Load::Open { rate_per_s, .. } if !machine.plan.keepalive => (rate_per_s * TRACKED_S) as u64,
        Load::Open { .. } | Load::Closed { .. } => connections(machine),
    };
    let found = format!("{} of {} tracked, and {} planned", count(now), plural(limit, "connection"), count(planned));
    let mut evidence = machine.evidence();
    count_on(&mut evidence, "tcp", "TCPTimeWaitOverflow", 0);
    let observed = evidence.observed.get_or_insert_default();
    // Ports that closed connections hold now are free by then.
    observed.sockets = Some(Default::default());
    for (part, name, value) in [
        ("conntrack", "connections", now + planned),
        ("conntrack", "connections_limit", limit),
        ("ports", "local_ports", local_ports(machine).unwrap_or(1)),
    ] {
        let gauge = GaugeObserved { mean: value as f64, max: value, min: value };
        observed.gauges.entry(part.to_owned()).or_default().insert(name.to_owned(), gauge);
    }
    judged("NE-09", WHAT, found, ask("NE-09", &evidence))
}

fn local_ports(machine: &Machine<'_>) -> Option<u64> {
    let mut ends = machine.fact("sysctl", "net/ipv4/ip_local_port_range")?.split(' ').map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (high + 1).checked_sub(low)
}

fn connections(machine: &Machine<'_>) -> u64 {
    machine.plan.load.connections().into()
}
