//! What a rule has to know of a load, and why it may not be known: the driver asks before the rule is checked.
//!
//! A need is data, so that one value makes the catalogue's text, the reason of a rule that is not checked, and the test that
//! each rule says the same from what it needs alone. What a rule merely uses where it is there is no need.

use crate::facts::bandwidth::links;
use crate::facts::counted::counted;
use crate::facts::database;
use crate::facts::descriptors::descriptors;
use crate::facts::kernel::{ELSEWHERE, is_one_machine, is_server_seen, is_tcp, pages};
use crate::facts::{client_cpus, client_machine, observed, server_cpus};
use model::{ALL_ELSEWHERE, Evidence, NOT_OBSERVED, NS_PER_S, Observed, Request, SweepEvidence};
use stats::RUNS_MIN;
use std::borrow::Cow;

/// The loads that a rule has something to say of. Of any other it passes, whatever is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// Every load.
    Always,
    /// Loads with a schedule.
    OpenLoop,
    /// Loads whose connections wait for their responses.
    ClosedLoop,
    /// Loads over TCP, not over a Unix socket.
    Tcp,
    /// Loads over TLS.
    Tls,
    /// Loads with a request that may change what the server stores.
    Writing,
    /// Loads whose client and server are on one machine.
    OneMachine,
    /// Loads whose client and server are on machines of their own.
    TwoMachines,
    /// Loads that several agents generated.
    Agents,
}

/// Something that has to be known of a load before a rule is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A window of 1 s or more, which is long enough for counters and samples.
    Window,
    /// The plan of the load: load model, requests, timeouts, connections.
    Plan,
    /// What became of the requests, in all and second by second.
    Requests,
    /// At least one complete response.
    Responses,
    /// At least one request that was planned in the window.
    PlannedRequests,
    /// Response times.
    ResponseTimes,
    /// Service times.
    ServiceTimes,
    /// Delays between the scheduled and the actual send.
    SendDelays,
    /// Waits for a free connection.
    ConnectionWaits,
    /// Histogram of the service times.
    ServiceHistogram,
    /// Instants at which requests were sent.
    SendTimes,
    /// Connections requested and established.
    Connections,
    /// Attempts to connect, by how they ended.
    ConnectionAttempts,
    /// TLS handshakes.
    Handshakes,
    /// CPU time of each load thread.
    LoadThreads,
    /// Responses to the probe.
    Probe,
    /// Connect times of the probe.
    ConnectTimes,
    /// CPU times of a machine.
    Machine(Whose),
    /// CPU time of all processes of the observed machine.
    AllProcesses,
    /// Processes of the server.
    Server,
    /// Processes that are neither server nor client.
    OtherProcesses,
    /// CPUs that client and server may use.
    Affinity,
    /// Scheduler statistics of each load thread.
    SchedulerStatistics,
    /// Page faults of the client.
    PageFaults,
    /// Open files of the server's processes.
    Descriptors,
    /// Figures of a kernel.
    Kernel(Kernel),
    /// Control group of the server or of the client: its CPU quota and how often that stopped it.
    ControlGroup(Whose),
    /// Network interfaces of the observed machine.
    Interfaces,
    /// Sockets and local ports of the client.
    LocalPorts,
    /// Status page of one of these servers; the reason if there is none, which begins with "no ".
    StatusPage(&'static [&'static str], &'static str),
    /// Status page that counts requests.
    RequestCount,
    /// Status of MariaDB or MySQL.
    Database,
    /// Clock source of the client's kernel.
    Clock,
    /// Fingerprint, taken before and after the load.
    Fingerprints,
    /// A sweep of at least two loads.
    Loads,
    /// A sweep with enough iterations of a load.
    Iterations,
    /// Bytes and speed of the client's network interfaces.
    LinkSpeeds,
    /// What the path carries, by `--probe-bandwidth`.
    Bandwidth,
    /// What makes the answer sharper where it is known; never lacking.
    WhereKnown(&'static [Self]),
    /// One of these; the reason if there is none.
    OneOf(&'static [Self], &'static str),
}

/// The machine that a need is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of the server.
    Servers,
    /// That of the load generator.
    Clients,
    /// The server's where it is observed, else the client's.
    Observed,
}

/// Figures of a kernel, as they are named in [`Observed::counters`] and [`Observed::gauges`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The machine.
    pub whose: Whose,
    /// Part and name of each.
    pub figures: &'static [(&'static str, &'static str)],
    /// True if one of them is enough.
    pub any: bool,
    /// The reason if they are not there.
    pub unknown: &'static str,
}

/// Window below which counters of machine, kernel and processes, busy shares and rates say nothing; ns.
///
/// The kernel counts CPU time in steps of 10 ms, samples of machine and processes are a second apart, and what others do on the
/// machine comes and goes within a second. In a window of milliseconds such figures are those of a neighbour or of one step of
/// a counter, and the same command has other findings each time.
pub(crate) const LEAST_NS: u64 = NS_PER_S;
/// Why a rule is not checked that needs a longer window.
pub(crate) const TOO_SHORT: &str = "the window is shorter than 1 s";
/// Methods that change nothing in the server.
const SAFE: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];
/// Part of the kernel figures that are those of TCP.
const TCP: &str = "tcp";
/// Why a rule about a sweep without loads is not checked.
pub(crate) const NO_LOADS: &str = "the sweep has no points";

impl Applies {
    /// True if the rule has something to say of this load, as far as its plan tells; the reason where the plan is not known.
    pub(crate) fn to(self, evidence: &Evidence) -> Result<bool, &'static str> {
        let by_plan = |is_so: bool| Need::Plan.lacking(evidence).map_or(Ok(is_so), Err);
        match self {
            Self::Always => Ok(true),
            Self::OpenLoop => by_plan(!evidence.plan.load.is_closed()),
            Self::ClosedLoop => by_plan(evidence.plan.load.is_closed()),
            Self::Tls => by_plan(evidence.plan.tls.is_some()),
            Self::Writing => {
                let is_safe = |request: &Request| SAFE.contains(&request.method.as_str());
                by_plan(!evidence.plan.requests.iter().all(is_safe))
            }
            Self::Tcp => Ok(is_tcp(evidence)),
            Self::OneMachine => Ok(is_one_machine(evidence)),
            Self::TwoMachines => Ok(!is_one_machine(evidence)),
            Self::Agents => Ok(evidence.agents.len() > 1),
        }
    }

    /// The loads in words; none if they are all.
    pub(crate) const fn text(self) -> Option<&'static str> {
        match self {
            Self::Always => None,
            Self::OpenLoop => Some("an open loop"),
            Self::ClosedLoop => Some("a closed loop"),
            Self::Tcp => Some("a load over TCP"),
            Self::Tls => Some("a load over TLS"),
            Self::Writing => Some("requests with other methods than GET, HEAD, OPTIONS and TRACE"),
            Self::OneMachine => Some("client and server on one machine"),
            Self::TwoMachines => Some("a remote server"),
            Self::Agents => Some("several agents"),
        }
    }
}

impl Need {
    /// Retransmissions of the observed kernel.
    pub(crate) const RETRANSMISSIONS: Self = Self::Kernel(Kernel {
        whose: Whose::Observed,
        figures: &[("tcp", "RetransSegs"), ("tcp", "TCPLossProbes"), ("tcp", "TCPOrigDataSent")],
        any: false,
        unknown: "kernel does not count retransmissions",
    });
    /// Table of tracked connections of the observed kernel.
    pub(crate) const CONNTRACK: Self = Self::Kernel(Kernel {
        whose: Whose::Observed,
        figures: &[("conntrack", "connections"), ("conntrack", "connections_limit")],
        any: false,
        unknown: "no connection tracking",
    });

    /// Why the evidence of a load does not have it; none if it has.
    pub(crate) fn lacking(self, evidence: &Evidence) -> Option<&'static str> {
        let latency = &evidence.latency;
        let generator = observed(evidence).and_then(|seen| seen.generator.as_ref());
        let lacking = match self {
            Self::Window => unless(evidence.measured_ns >= LEAST_NS, TOO_SHORT),
            Self::Plan | Self::Requests => evidence.load_unknown,
            Self::Responses => unless(evidence.cohort.counts.completed > 0, "no complete response"),
            Self::PlannedRequests => {
                unless(evidence.cohort.counts.planned > 0, "no request planned in the measurement window")
            }
            Self::ResponseTimes => unless(latency.response.n > 0, "no response time recorded"),
            Self::ServiceTimes => unless(latency.service.n > 0, "no service time recorded"),
            Self::SendDelays => unless(latency.slip_client.n > 0, "no send delay recorded"),
            Self::ConnectionWaits => unless(latency.slip_blocked.n > 0, "connection wait not recorded"),
            Self::ServiceHistogram => unless(!evidence.service_bins.is_empty(), "no histogram of service times"),
            Self::SendTimes => unless(!evidence.sends_ns.is_empty(), "too few send times"),
            Self::Connections => unless(evidence.connections.requested > 0, "number of requested connections unknown"),
            Self::ConnectionAttempts => {
                unless(evidence.connections.attempts.is_some(), "attempts to connect not counted")
            }
            Self::Handshakes => unless(evidence.tls.is_some(), "no TLS handshake completed"),
            Self::LoadThreads => {
                let is_known = evidence.threads.iter().any(|thread| thread.wall_ns > 0);
                unless(is_known, "CPU time of the load threads unknown")
            }
            Self::Probe => unless(evidence.probe.is_some(), "the target was not probed"),
            Self::ConnectTimes => unless(has_connect_time(evidence), "connect time unknown"),
            Self::Clock => unless(has_clock(evidence), "clock source of this machine unknown"),
            Self::Fingerprints => unless(evidence.changes.is_some(), "fingerprint taken only once"),
            Self::Machine(whose) => machine(evidence, whose),
            Self::AllProcesses => {
                let accounted = observed(evidence).and_then(|seen| seen.machine.as_ref()?.accounted_share);
                unless(accounted.is_some(), "not all processes of this machine monitored")
            }
            Self::Server => server(evidence),
            Self::OtherProcesses => other_processes(evidence),
            Self::Affinity => {
                let are_known = !client_cpus(evidence).is_empty() && !server_cpus(evidence).is_empty();
                unless(are_known, "CPUs that client and server may use unknown")
            }
            Self::SchedulerStatistics => {
                let are_known = generator.is_some_and(|generator| !generator.threads.is_empty());
                unless(are_known, "scheduler statistics of the load threads unknown")
            }
            Self::PageFaults => {
                let are_known = generator.is_some_and(|generator| generator.major_faults.is_some());
                unless(are_known, "page faults of the client unknown")
            }
            Self::Descriptors => open_files(evidence),
            Self::Kernel(kernel) => kernel.lacking(evidence),
            Self::ControlGroup(whose) => control_group(evidence, whose),
            Self::Interfaces => unless(has_interface(evidence), "network interfaces not monitored"),
            Self::LocalPorts => unless(has_local_ports(evidence), "sockets or local port range unknown"),
            Self::StatusPage(servers, none) => unless(pages(evidence, servers).next().is_some(), none),
            Self::RequestCount => unless(counted(evidence).is_some(), "no status page with a request count"),
            Self::Database => database::lacking(evidence),
            Self::LinkSpeeds => unless(!links(evidence).is_empty(), "speed of this machine's interfaces unknown"),
            Self::Bandwidth => unless(evidence.bandwidth.is_some(), "no --probe-bandwidth"),
            Self::WhereKnown(_) => None,
            Self::Loads => Some("only one load measured"),
            Self::Iterations => Some("fewer than 6 iterations of each load"),
            Self::OneOf(needs, none) => unless(needs.iter().any(|need| need.lacking(evidence).is_none()), none),
        };
        lacking.map(|why| match self.source() {
            Source::Load => evidence.load_unknown.unwrap_or(why),
            // Nobody looked at anything: that says more than which part of it is missing.
            Source::Beside | Source::Client => not_observed(evidence).unwrap_or(why),
            Source::Sweep => why,
        })
    }

    /// Why no load of a sweep has it; none if one has.
    pub(crate) fn lacking_in_sweep(self, sweep: &SweepEvidence) -> Option<&'static str> {
        let is_there = match self {
            Self::Loads => sweep.points.len() >= 2,
            Self::Iterations => sweep.points.iter().any(|point| point.iterations_per_s.len() >= RUNS_MIN),
            _ => sweep.points.iter().any(|point| self.lacking(&point.evidence).is_none()),
        };
        if is_there { None } else { sweep.points.first().and_then(|point| self.lacking(&point.evidence)) }
    }

    /// True of what is seen on the machine of the load generator: of a load from agents, on each of theirs.
    pub(crate) fn is_of_client(self) -> bool {
        self.source() == Source::Client
    }

    fn source(self) -> Source {
        self.described().0
    }

    /// It in words.
    pub(crate) fn text(self) -> Cow<'static, str> {
        self.described().1
    }

    /// Where it comes from, and what it is in words.
    fn described(self) -> (Source, Cow<'static, str>) {
        let of_load = |text: &'static str| (Source::Load, Cow::Borrowed(text));
        let of_client = |text: &'static str| (Source::Client, Cow::Borrowed(text));
        let beside = |text: &'static str| (Source::Beside, Cow::Borrowed(text));
        let of_sweep = |text: &'static str| (Source::Sweep, Cow::Borrowed(text));
        match self {
            Self::Window => of_sweep("a window of 1 s or more"),
            Self::Plan => of_load("plan of the load"),
            Self::Requests => of_load("requests and responses, by outcome and by second"),
            Self::Responses => of_load("responses"),
            Self::PlannedRequests => of_load("planned requests"),
            Self::ResponseTimes => of_load("response times"),
            Self::ServiceTimes => of_load("service times"),
            Self::SendDelays => of_load("send delays"),
            Self::ConnectionWaits => of_load("connection waits"),
            Self::ServiceHistogram => of_load("histogram of service times"),
            Self::SendTimes => of_load("send times of up to 2,000 requests"),
            Self::Connections => of_load("connections requested and established"),
            Self::ConnectionAttempts => of_load("attempts to connect, by how they ended"),
            Self::Handshakes => of_load("TLS handshakes"),
            Self::LoadThreads => of_load("CPU time of each load thread"),
            Self::Probe => of_load("responses to the probe"),
            Self::ConnectTimes => of_load("connect times of the probe"),
            Self::Clock => beside("clock source of the client's kernel"),
            Self::Fingerprints => beside("fingerprint of machine and server programs, taken twice"),
            Self::Machine(whose) => (whose.source(), format!("CPU times of {} machine", whose.words()).into()),
            Self::AllProcesses => beside("CPU time of all processes of the observed machine"),
            Self::Server => beside("processes of the server"),
            Self::OtherProcesses => beside("CPU time of all processes of the server's machine"),
            Self::Affinity => beside("CPUs that client and server may use"),
            Self::SchedulerStatistics => of_client("scheduler statistics of each load thread"),
            Self::PageFaults => of_client("page faults of the client"),
            Self::Descriptors => beside("file descriptors of the server's processes (readable by their user and root)"),
            Self::Kernel(kernel) => (kernel.whose.source(), kernel.text().into()),
            Self::ControlGroup(whose) => (whose.source(), format!("control group of {}", whose.owner()).into()),
            Self::Interfaces => beside("network interfaces of the observed machine"),
            Self::LocalPorts => of_client("sockets and local port range of the client's machine"),
            Self::StatusPage(_, none) => beside(none.trim_start_matches("no ")),
            Self::RequestCount => beside("status page with a request count"),
            Self::Database => beside("status of MariaDB or MySQL (SHOW GLOBAL STATUS, max_connections)"),
            Self::Loads => of_sweep("a sweep of two or more loads"),
            Self::Iterations => of_sweep("a sweep with six or more iterations of a load"),
            Self::LinkSpeeds => of_client("bytes and speed of the client's network interfaces"),
            Self::Bandwidth => beside("bandwidth of the path (--probe-bandwidth)"),
            Self::WhereKnown(needs) => {
                let texts: Vec<Cow<'static, str>> = needs.iter().map(|need| need.text()).collect();
                (Source::Sweep, format!("where known, {}", texts.join(" and ")).into())
            }
            Self::OneOf(needs, _) => {
                let texts: Vec<Cow<'static, str>> = needs.iter().map(|need| need.text()).collect();
                (needs.first().map_or(Source::Load, |need| need.source()), texts.join(", or ").into())
            }
        }
    }
}

/// Where something that is known comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The load itself: its plan, and what the load threads counted.
    Load,
    /// What is observed beside the load.
    Beside,
    /// The same of the machine of the load generator.
    Client,
    /// How it was measured: how long, and how often.
    Sweep,
}

impl Whose {
    /// What is observed of the machine; the reason where it is another one.
    fn machine(self, evidence: &Evidence) -> Result<Option<&Observed>, &'static str> {
        match self {
            Self::Servers if !is_server_seen(evidence) => Err(ELSEWHERE),
            Self::Servers | Self::Observed => Ok(observed(evidence)),
            Self::Clients => Ok(client_machine(evidence)),
        }
    }

    const fn source(self) -> Source {
        match self {
            Self::Clients => Source::Client,
            Self::Servers | Self::Observed => Source::Beside,
        }
    }

    const fn owner(self) -> &'static str {
        match self {
            Self::Clients => "the client",
            Self::Servers | Self::Observed => "the server",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Servers => "the server's",
            Self::Clients => "the client's",
            Self::Observed => "the observed",
        }
    }
}

impl Kernel {
    fn lacking(self, evidence: &Evidence) -> Option<&'static str> {
        let seen = match self.whose.machine(evidence) {
            Ok(seen) => seen,
            Err(why) => return Some(why),
        };
        let is_there = |(part, name): &(&str, &str)| {
            let has = |seen: &Observed| {
                seen.counters.get(*part).is_some_and(|counters| counters.contains_key(*name))
                    || seen.gauges.get(*part).is_some_and(|gauges| gauges.contains_key(*name))
            };
            seen.is_some_and(has)
        };
        let are_there = if self.any { self.figures.iter().any(is_there) } else { self.figures.iter().all(is_there) };
        unless(are_there, self.unknown)
    }

    fn text(self) -> String {
        // As records have them; those of TCP are known by their names alone.
        let full = |(part, name): &(&str, &str)| match *part {
            TCP => (*name).to_owned(),
            part => format!("{part}/{name}"),
        };
        let names: Vec<String> = self.figures.iter().map(full).collect();
        let (figures, joined) = match names.split_last() {
            Some((last, [])) => ("figure", last.clone()),
            Some((last, first)) => {
                ("figures", format!("{} {} {last}", first.join(", "), if self.any { "or" } else { "and" }))
            }
            None => ("figures", String::new()),
        };
        format!("kernel {figures} {joined} of {} machine", self.whose.words())
    }
}

fn unless(is_known: bool, why: &'static str) -> Option<&'static str> {
    (!is_known).then_some(why)
}

fn has_connect_time(evidence: &Evidence) -> bool {
    evidence.probe.iter().flat_map(|probe| &probe.fetches).any(|fetch| fetch.connect_ns > 0)
}

fn has_clock(evidence: &Evidence) -> bool {
    let facts = evidence.fingerprint.as_ref().and_then(|fingerprint| fingerprint.facts.get("clock"));
    facts.is_some_and(|facts| facts.contains_key("current_clocksource"))
}

fn has_interface(evidence: &Evidence) -> bool {
    observed(evidence).iter().flat_map(|seen| seen.counters.keys()).any(|part| part.starts_with("nic/"))
}

fn has_local_ports(evidence: &Evidence) -> bool {
    let client = client_machine(evidence).filter(|client| client.sockets.is_some());
    client.and_then(|client| client.gauges.get("ports")?.get("local_ports")).is_some()
}

fn machine(evidence: &Evidence, whose: Whose) -> Option<&'static str> {
    match whose.machine(evidence) {
        Ok(seen) => unless(seen.is_some_and(|seen| seen.machine.is_some()), "CPU times of the machine unknown"),
        Err(why) => Some(why),
    }
}

fn server(evidence: &Evidence) -> Option<&'static str> {
    let why = if is_server_seen(evidence) { "processes of the server not visible" } else { ELSEWHERE };
    unless(observed(evidence).is_some_and(|seen| seen.server.is_some()), why)
}

fn other_processes(evidence: &Evidence) -> Option<&'static str> {
    if !is_server_seen(evidence) {
        return Some(ELSEWHERE);
    }
    let are_seen = observed(evidence).is_some_and(|seen| seen.others.is_some());
    unless(are_seen, "other processes of this machine not monitored")
}

fn open_files(evidence: &Evidence) -> Option<&'static str> {
    if !is_server_seen(evidence) {
        return Some(ELSEWHERE);
    }
    unless(descriptors(evidence).is_some(), "file descriptors of the server's processes not readable")
}

/// Known too if it has no quota: nothing can stop it then.
fn control_group(evidence: &Evidence, whose: Whose) -> Option<&'static str> {
    let (part, why) = match whose {
        Whose::Clients => ("cgroup/generator", "control group of the client unknown"),
        Whose::Servers | Whose::Observed => ("cgroup/server", "control group of the server unknown"),
    };
    let seen = match whose.machine(evidence) {
        Ok(seen) => seen,
        Err(why) => return Some(why),
    };
    let counts = seen.and_then(|seen| seen.counters.get(part)).is_some_and(|it| it.contains_key("throttled_periods"));
    let gauges = seen.and_then(|seen| seen.gauges.get(part));
    unless(counts || gauges.is_some_and(|gauges| !gauges.contains_key("cpu_quota_ns_per_s")), why)
}

/// Why nobody was to look at a load; none if somebody was.
fn not_observed(evidence: &Evidence) -> Option<&'static str> {
    let unavailable = &evidence.observed.as_ref()?.unavailable;
    [NOT_OBSERVED, ALL_ELSEWHERE].into_iter().find(|why| unavailable.values().any(|reason| reason == why))
}

#[cfg(test)]
mod tests;
