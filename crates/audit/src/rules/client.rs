//! CL-01, CL-05, CL-06, CL-07, CL-14 and NE-09 for outputs of other tools: limits of the client.

use super::{AuditRule, Check};
use crate::{Figure, Mode, Subject};
use judge::{Fires, Outcome};
use model::FindingState;
use model::human::{count, percent, plural, rate, time};

/// Share of its one CPU above which a client may have been saturated.
const BUSY_SHARE: f64 = 0.9;
/// Share of the offered rate that must have been reached; Nighthawk's.
const REACHED_SHARE: f64 = 0.99;
/// Shares of the mean latency that are the client's own: a warning, and invalid.
const OWN_WAIT_SHARE: f64 = 0.1;
const OWN_WAIT_INVALID_SHARE: f64 = 0.5;
/// A rate so far above the offered one is no rounding.
const EXCEEDED_SHARE: f64 = 1.1;
/// Of a rate of which less was reached nothing can be said.
const MISSED_SHARE: f64 = 0.5;
/// Share of the connections that were busy on average from which on they are the limit, and below which they are not.
const ALL_BUSY: f64 = 0.9;
const FEW_BUSY: f64 = 0.2;
/// Share of the due requests that may stay away before the load is another one.
const DROPPED_INVALID_SHARE: f64 = 0.1;
/// Connections that threads do not share out evenly are no fault below this share.
const UNEVEN_SHARE: f64 = 0.05;
/// Descriptors a process needs beside its connections and one epoll instance for each thread.
const SPARE_FDS: u64 = 64;
/// Standard input, output and error.
const STANDARD_FDS: u64 = 3;
/// Local ports by default on Linux: 32768 to 60999.
const DEFAULT_PORTS: f64 = 28_232.0;
/// Shares of them in TIME_WAIT that are a note, a warning and invalid.
const PORTS_HELD: [f64; 3] = [0.5, 0.8, 0.95];

pub(super) const BUSY: AuditRule = AuditRule {
    id: "CL-01",
    title: None,
    detects: "The client saturated its CPU, so that the server may be able to do more.",
    fires: &[Fires::bound("The client used at least 90 % of its one CPU, and the offered rate was not reached.")],
    remarks: "As httperf polls, it takes all of its CPU at any rate.",
    data: "CPU use of the client, which only httperf prints",
    check: Check::Output(busy),
};
pub(super) const OWN_WAIT: AuditRule = AuditRule {
    id: "CL-03",
    title: None,
    detects: "The latencies are partly the client's own, as it looked up names and connected within them.",
    fires: &[
        Fires::invalid("More than half of the mean latency is the time for names and connections."),
        Fires::warning("More than 10 % of the mean latency is the time for names and connections."),
    ],
    remarks: "",
    data: "mean time for names and connections, which only hey has in its response times",
    check: Check::Output(own_wait),
};
pub(super) const OFFERED: AuditRule = AuditRule {
    id: "CL-05",
    title: None,
    detects: "The offered rate was not reached, or it was exceeded.",
    fires: &[
        Fires::invalid("Less than half of the offered rate was reached, or more than 110 % of it."),
        Fires::bound("Less than 99 % of the offered rate was reached."),
    ],
    remarks: "Nighthawk uses the threshold of 99 %. The offered rate may stand in the command line alone.",
    data: "requested and reached rate",
    check: Check::Output(offered),
};
pub(super) const CONNECTIONS: AuditRule = AuditRule {
    id: "CL-06",
    title: None,
    detects: "Fewer connections were open than requested, or the client ran out of file descriptors.",
    fires: &[
        Fires::invalid(
            "The tool ran out of file descriptors, a requested connection could not be opened, more than 5 % \
             of them are missing, or the limit of open files is too low for them.",
        ),
        Fires::note("Up to 5 % of the connections are missing, as the load threads open equal numbers."),
    ],
    remarks: "",
    data: "connections requested and failed; better with --nofile",
    check: Check::Output(connections),
};
pub(super) const PORTS: AuditRule = AuditRule {
    id: "CL-07",
    title: None,
    detects: "The client ran out of local ports.",
    fires: &[Fires::invalid("The tool was refused a local port at least once.")],
    remarks: "",
    data: "address errors, which only httperf prints",
    check: Check::Output(ports),
};
pub(super) const DROPPED: AuditRule = AuditRule {
    id: "CL-14",
    title: None,
    detects: "Requests or iterations were due and never started.",
    fires: &[
        Fires::invalid("More than 10 % of the requests or iterations were never started."),
        Fires::bound("At least one request or iteration was never started."),
    ],
    remarks: "",
    data: "dropped iterations of k6, unsent requests of h2load, Nighthawk and zrk",
    check: Check::Output(dropped),
};
pub(super) const TIME_WAIT: AuditRule = AuditRule {
    id: "NE-09",
    title: None,
    detects: "Local ports were held in TIME_WAIT.",
    fires: &[
        Fires::invalid("More than 95 % of the local ports were held in TIME_WAIT."),
        Fires::warning("More than 80 % of the local ports were held in TIME_WAIT."),
        Fires::note("More than 50 % of the local ports were held in TIME_WAIT."),
    ],
    remarks: "Linux has 28,232 local ports by default.",
    data: "`ss -s` (--ss)",
    check: Check::Output(time_wait),
};

fn busy(subject: Subject<'_>) -> Outcome {
    let Some(share) = subject.claims.get(Figure::ClientCpu) else {
        return Outcome::Unchecked("the tool does not print its CPU use");
    };
    if share < BUSY_SHARE {
        return Outcome::Pass;
    }
    // httperf polls, and takes all of its CPU at any rate: only a missed one shows that it had too little.
    let reached = subject.claims.get(Figure::RateSent).or_else(|| subject.claims.get(Figure::Throughput));
    let offered = subject.claims.get(Figure::RateOffered).filter(|rate| *rate > 0.0).zip(reached);
    if offered.is_some_and(|(offered, reached)| reached >= REACHED_SHARE * offered) {
        return Outcome::Pass;
    }
    let message = format!("the client used {} of its one CPU: the server may be able to do more", percent(share));
    let remedy = "repeat with a multi-threaded client (plimsoll run -R, wrk2)".to_owned();
    Outcome::fired(BUSY.id, FindingState::Bound, message, remedy, [("client_cpu_share", share)])
}

fn own_wait(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let both = claims.get(Figure::ConnectMean).zip(claims.get(Figure::LatencyMean).filter(|mean| *mean > 0.0));
    let Some((connect, mean)) = both else {
        return Outcome::Unchecked("time for names and connections not in the output");
    };
    let share = connect / mean;
    let state = match share {
        s if s <= OWN_WAIT_SHARE => return Outcome::Pass,
        s if s <= OWN_WAIT_INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "{} of the mean latency ({} of {}) is the time to look up the name and to connect, and not the server's answer",
        percent(share),
        time(connect),
        time(mean)
    );
    let remedy = "keep connections open, warm up first, or use the address instead of the name".to_owned();
    let figures = [("connect_ns", connect), ("mean_ns", mean), ("share", share)];
    Outcome::fired(OWN_WAIT.id, state, message, remedy, figures)
}

fn offered(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let reached = claims.get(Figure::RateSent).or_else(|| claims.get(Figure::Throughput));
    let Some((offered, reached)) = claims.get(Figure::RateOffered).filter(|rate| *rate > 0.0).zip(reached) else {
        return Outcome::Unchecked("no offered rate in the output");
    };
    if subject.facts.clock_is_broken {
        return Outcome::Unchecked("the clock of the tool is wrong, and the rate with it");
    }
    let figures = [("offered_per_s", offered), ("reached_per_s", reached)];
    if reached > EXCEEDED_SHARE * offered {
        let message =
            format!("{} was reached where {} was asked for: another load was measured", rate(reached), rate(offered));
        let remedy = match claims.tool {
            "wrk2" => "give each thread a rate of at least one per second (-R at least as many as -t)".to_owned(),
            _ => "find out which rate the tool took; the latencies are those of the higher one".to_owned(),
        };
        return Outcome::fired(OFFERED.id, FindingState::Invalid, message, remedy, figures);
    }
    if reached >= REACHED_SHARE * offered {
        return Outcome::Pass;
    }
    let held_back = held_back(subject, reached);
    let why = held_back.as_ref().map_or("", |(why, _)| why.as_str());
    let message = format!("only {} of the offered {} was reached{why}", rate(reached), rate(offered));
    // Whoever missed half of it has measured another load than the one that was meant.
    let state = if reached < MISSED_SHARE * offered { FindingState::Invalid } else { FindingState::Bound };
    let remedy =
        held_back.map_or_else(|| "lower the rate until server and client sustain it".to_owned(), |(_, what)| what);
    Outcome::fired(OFFERED.id, state, message, remedy, figures)
}

/// What held a closed loop back, by Little's law: connections that were all busy, or a client that left them idle.
fn held_back(subject: Subject<'_>, reached: f64) -> Option<(String, String)> {
    let claims = subject.claims;
    let is_closed = claims.mode == Some(Mode::Closed);
    let connections = claims.get(Figure::Connections).filter(|n| is_closed && *n > 0.0)?;
    let (mean, offered) = claims.get(Figure::LatencyMean).zip(claims.get(Figure::RateOffered))?;
    let busy = reached * mean / 1e9;
    let named = || plural(connections as u64, "connection");
    match busy / connections {
        share if share >= ALL_BUSY => {
            let most = connections / mean * 1e9;
            let needed = (offered * mean / 1e9).ceil() as u64;
            let why = format!(": {} with a response time of {} can do {} at most", named(), time(mean), rate(most));
            Some((why, format!("open {} or more, or lower the rate", plural(needed, "connection"))))
        }
        share if share <= FEW_BUSY => {
            let why = format!(
                ": on average {} of {} were busy, so that the client itself held back",
                decimals(busy),
                named()
            );
            Some((why, "lower the rate to what the client can send, or use more or another client".to_owned()))
        }
        _ => None,
    }
}

/// Few decimals of a small number.
fn decimals(n: f64) -> String {
    if n < 10.0 { format!("{n:.1}") } else { count(n as u64) }
}

fn connections(subject: Subject<'_>) -> Outcome {
    let claims = subject.claims;
    let no_fds = claims.get(Figure::NoFds);
    let threads = claims.get(Figure::Threads).unwrap_or(1.0) as u64;
    if let Some(n) = no_fds.filter(|n| *n > 0.0) {
        let message = format!("out of file descriptors {}: not the requested load", plural(n as u64, "time"));
        let remedy = "raise the open-file limit (ulimit -n), or use a client without httperf's FD_SETSIZE".to_owned();
        return Outcome::fired(CONNECTIONS.id, FindingState::Invalid, message, remedy, [("fds_exhausted", n)]);
    }
    let Some((requested, established)) = subject.facts.connections else {
        return too_few_files(subject, threads)
            .or_else(|| no_fds.map(|_| Outcome::Pass))
            .unwrap_or(Outcome::Unchecked("number of open connections not in the output"));
    };
    if established >= requested {
        return too_few_files(subject, threads).unwrap_or(Outcome::Pass);
    }
    let errors = claims.get(Figure::ConnectErrors).unwrap_or(0.0);
    let limit = established + threads + STANDARD_FDS;
    let why = if errors == 0.0 {
        format!("{} threads open equal numbers", count(threads))
    } else if limit.is_power_of_two() || subject.context.nofile == Some(limit) {
        format!(
            "{} could not be opened; {} + {threads} threads + {STANDARD_FDS} is exactly a limit of {} open files",
            count(errors as u64),
            count(established),
            count(limit)
        )
    } else {
        format!("{} could not be opened", count(errors as u64))
    };
    let message = format!("only {} of {} connections were open: {why}", count(established), count(requested));
    let needed = requested.saturating_add(threads + SPARE_FDS);
    let remedy = if errors == 0.0 {
        format!("use a multiple of the threads, or report it as -c {established}")
    } else {
        format!("raise the limits of client and server (ulimit -n {needed}), or report it as -c {established}")
    };
    let figures = [("requested", requested as f64), ("established", established as f64), ("connect_errors", errors)];
    let missing = (requested - established) as f64 / requested.max(1) as f64;
    let state = if errors == 0.0 && missing <= UNEVEN_SHARE { FindingState::Note } else { FindingState::Invalid };
    Outcome::fired(CONNECTIONS.id, state, message, remedy, figures)
}

/// The limit of open files, where it was told and is below what was asked for.
fn too_few_files(subject: Subject<'_>, threads: u64) -> Option<Outcome> {
    let nofile = subject.context.nofile?;
    let asked = subject.claims.get(Figure::Connections)? as u64;
    let needed = asked.saturating_add(threads + STANDARD_FDS);
    (needed > nofile).then(|| {
        let message =
            format!("{} connections need {} open files, the limit was {}", count(asked), count(needed), count(nofile));
        let remedy = format!("raise the limit (ulimit -n {})", needed.saturating_add(SPARE_FDS));
        let figures = [("needed", needed as f64), ("nofile", nofile as f64)];
        Outcome::fired(CONNECTIONS.id, FindingState::Invalid, message, remedy, figures)
    })
}

fn ports(subject: Subject<'_>) -> Outcome {
    match subject.claims.get(Figure::NoPorts) {
        None => Outcome::Unchecked("the tool does not print address errors"),
        Some(0.0) => Outcome::Pass,
        Some(n) => {
            let message = format!("out of local ports {}: not the requested load", plural(n as u64, "time"));
            let remedy =
                "keep connections open, widen net.ipv4.ip_local_port_range, or use several addresses".to_owned();
            Outcome::fired(PORTS.id, FindingState::Invalid, message, remedy, [("ports_exhausted", n)])
        }
    }
}

fn dropped(subject: Subject<'_>) -> Outcome {
    match subject.claims.get(Figure::Dropped) {
        None => Outcome::Unchecked("the tool does not print dropped iterations"),
        Some(0.0) => Outcome::Pass,
        Some(n) => {
            let (what, remedy) = match subject.claims.tool {
                // It opens no connection again.
                "h2load" => ("requests were never sent", "let the server keep its connections open"),
                "nighthawk" | "zrk" => ("requests were due but never sent", "lower the rate, or open more connections"),
                _ => ("iterations were due but never started", "lower the rate, or allow more virtual users (maxVUs)"),
            };
            let iterations = subject.claims.get(Figure::Iterations);
            let started = iterations.or(subject.facts.attempted).unwrap_or(0.0);
            let share = n / (n + started).max(1.0);
            let state = if share > DROPPED_INVALID_SHARE { FindingState::Invalid } else { FindingState::Bound };
            let message = format!("{} {what} ({}): the load was not sustained", count(n as u64), percent(share));
            let remedy = remedy.to_owned();
            Outcome::fired(DROPPED.id, state, message, remedy, [("dropped", n), ("share", share)])
        }
    }
}

fn time_wait(subject: Subject<'_>) -> Outcome {
    let Some(sockets) = subject.context.sockets else {
        return Outcome::Unchecked("no `ss -s` given");
    };
    let share = sockets.time_wait as f64 / DEFAULT_PORTS;
    let state = match share {
        s if s <= PORTS_HELD[0] => return Outcome::Pass,
        s if s <= PORTS_HELD[1] => FindingState::Note,
        s if s <= PORTS_HELD[2] => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "{} connections in TIME_WAIT hold {} of the 28,232 default local ports",
        count(sockets.time_wait),
        percent(share)
    );
    let remedy = "keep connections open, or wait a minute between runs".to_owned();
    let figures = [("time_wait", sockets.time_wait as f64), ("share", share)];
    Outcome::fired(TIME_WAIT.id, state, message, remedy, figures)
}
