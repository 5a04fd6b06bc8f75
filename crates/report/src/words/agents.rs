//! Agents of loads from other machines, and on the server's, in words.

use crate::visible;
use crate::words::fact::{About, Fact, Tone};
use crate::words::{STOPPED, interrupted, thresholds};
use model::{AgentRecord, Environment, LostAgent, NS_PER_S, RunRecord, human, is_quantile_known};
use std::collections::BTreeSet;

/// Most agents that are named; all are in the record.
const LINES_MAX: usize = 16;
/// The label of an agent whose loss ended a measurement.
const LOST: &str = "agent lost";

/// The other machines that took part in `loads`: that of the server, the way to it, and those the loads came from.
pub(crate) fn machines<'a>(
    environment: &Environment,
    loads: impl Iterator<Item = &'a RunRecord> + Clone,
) -> impl Iterator<Item = Fact> {
    let facts = [
        ("server's machine", server_host(environment)),
        ("bandwidth", bandwidth(environment)),
        ("agents", origin(loads)),
    ];
    facts.into_iter().filter_map(|(label, text)| Fact::known(About::Machines, label, text))
}

/// Where loads came from; none if from the machine itself.
fn origin<'a>(loads: impl Iterator<Item = &'a RunRecord> + Clone) -> Option<String> {
    let agents = loads.clone().next().map(|load| &load.agents).filter(|agents| !agents.is_empty())?;
    let machines: BTreeSet<&str> = agents.iter().map(|agent| agent.host.as_str()).collect();
    let mut names: Vec<String> = agents.iter().take(LINES_MAX).map(|agent| visible::line(&agent.name).into()).collect();
    if agents.len() > LINES_MAX {
        names.push(format!("{} more", agents.len() - LINES_MAX));
    }
    let (agents, machines) =
        [(agents.len(), "agent"), (machines.len(), "machine")].map(|(n, what)| human::plural(n as u64, what)).into();
    let apart = loads.filter_map(|load| apart_ns(&load.agents)).max();
    let apart = apart.map_or_else(String::new, |ns| format!("; starts at most {} apart", human::time(ns as f64)));
    Some(format!("load from {agents} on {machines}: {}{apart}", names.join(", ")))
}

/// The machine of the server, if an agent observed it there.
fn server_host(environment: &Environment) -> Option<String> {
    let host = environment.server_host.as_ref()?;
    let (name, machine) = (visible::line(&host.name), visible::line(&host.host));
    let (cpus, error) = (human::plural(host.cpus.into(), "CPU"), human::time(host.clock_error_ns as f64));
    Some(format!("observed by the agent {name} on {machine} ({cpus}), its clock at most {error} off"))
}

/// What was probed of the path to the server before the load; none where nobody wanted it.
fn bandwidth(environment: &Environment) -> Option<String> {
    let bandwidth = environment.bandwidth.as_ref()?;
    if let Some(why) = &bandwidth.unavailable {
        return Some(format!("not known: {}", visible::line(why)));
    }
    let ways = [("to", bandwidth.to_server), ("from", bandwidth.from_server)].map(|(way, probed)| match probed {
        Some(probed) => format!("{} {way} the server", human::bit_rate(probed.bit_per_s as f64)),
        None => format!("too little {way} the server to tell"),
    });
    let through = bandwidth.interface.as_ref().map_or_else(String::new, |name| {
        let mtu = bandwidth.mtu_bytes.map_or_else(String::new, |mtu| format!(" (MTU {mtu})"));
        format!(", its interface {}{mtu}", visible::line(name))
    });
    let trip =
        bandwidth.round_trip_ns.map_or_else(String::new, |ns| format!(", round trip {}", human::time(ns as f64)));
    Some(format!("{} and {}{trip}{through}; probed before the load", ways[0], ways[1]))
}

/// The agent whose loss has ended a measurement.
pub(crate) fn lost(lost: Option<&LostAgent>) -> Option<Fact> {
    lost.map(|lost| Fact::new(About::Load, LOST, lost_text(lost)).with_tone(Tone::Unsure))
}

fn lost_text(lost: &LostAgent) -> String {
    let when = match lost.at_ns {
        Some(at_ns) => format!("{:.1} s after the start of its last load", at_ns as f64 / NS_PER_S as f64),
        None => "before the next load".to_owned(),
    };
    format!("{} {when}: {}", visible::line(&lost.name), visible::line(&lost.why))
}

/// Why a run is not the load that was planned; none of one that is.
pub(crate) fn shortfall(record: &RunRecord) -> Option<Fact> {
    if let Some(aborted) = &record.aborted {
        let text = format!("{}; this is what was measured", thresholds::why_aborted(aborted));
        return Some(Fact::new(About::Load, "ended early", text).with_tone(Tone::Bad));
    }
    let Some(LostAgent { name, at_ns, why }) = record.agent_lost.as_ref().filter(|_| record.interrupted) else {
        return interrupted(record.interrupted, format!("{STOPPED}; this is what was measured"));
    };
    let when = at_ns.map_or_else(
        || "before the start".to_owned(),
        |at_ns| format!("{:.1} s after the start", at_ns as f64 / NS_PER_S as f64),
    );
    let rest = match has_run_its_time(record) {
        true => "the load went on without it to the end of its time",
        false => "the load ended then",
    };
    let text = format!("{} {when}: {}; {rest}", visible::line(name), visible::line(why));
    Some(Fact::new(About::Load, LOST, text).with_tone(Tone::Unsure))
}

/// True if the window is as long as it was planned.
fn has_run_its_time(record: &RunRecord) -> bool {
    let each_ns = record.measured_ns / u64::from(record.iterations.max(1));
    record.plan.stop.duration_ns().is_some_and(|planned_ns| each_ns >= planned_ns)
}

/// Columns of [`rows`].
pub(crate) const HEADER: [&str; 10] =
    ["agent", "machine", "load threads", "sent", "answered", "failed", "p50", "p99", "CPUs busy", "lost"];

/// One row for each agent: what it did in the window.
pub(crate) fn rows(record: &RunRecord) -> Vec<Vec<String>> {
    let row = |agent: &AgentRecord| {
        let of = |count: fn(&model::AgentWindow) -> u64| {
            agent.window.as_ref().map_or_else(|| "-".to_owned(), |window| human::count(count(window)))
        };
        let [p50, p99] = quantiles(agent);
        let (name, host) = (visible::line(&agent.name).into(), visible::line(&agent.host).into());
        let lost = agent.lost.as_ref().map_or_else(String::new, |loss| {
            format!("after {:.1} s: {}", loss.at_ns as f64 / NS_PER_S as f64, visible::line(&loss.why))
        });
        let counts = [of(|it| it.sent), of(|it| it.completed), of(|it| it.failed)];
        let busy = busy(agent).unwrap_or_else(|| "-".to_owned());
        [name, host, agent.threads.to_string()].into_iter().chain(counts).chain([p50, p99, busy, lost]).collect()
    };
    record.agents.iter().map(row).collect()
}

/// Median and 99th percentile of the response time, as far as its requests bear them: by the rule of those of the whole load.
fn quantiles(agent: &AgentRecord) -> [String; 2] {
    let times = &agent.response_ns;
    [(0.5, times.p50), (0.99, times.p99)].map(|(q, ns)| match is_quantile_known(times.n as f64, q) {
        true => human::time(ns as f64),
        false => "-".to_owned(),
    })
}

/// Share of the time in which the CPUs of its machine were busy; none where it did not tell.
fn busy(agent: &AgentRecord) -> Option<String> {
    let machine = agent.machine.as_ref()?.machine.as_ref()?;
    Some(human::percent(machine.busy_mean))
}

/// How far apart the starts of two agents can be; none of one agent; ns.
fn apart_ns(agents: &[AgentRecord]) -> Option<u64> {
    let mut errors: Vec<u64> = agents.iter().map(|agent| agent.start_error_ns).collect();
    errors.sort_unstable_by(|a, b| b.cmp(a));
    if let [first, second, ..] = errors[..] { Some(first.saturating_add(second)) } else { None }
}

/// Each agent of a load, up to a number of them.
pub(crate) fn each(record: &RunRecord) -> impl Iterator<Item = Fact> {
    record.agents.iter().take(LINES_MAX).map(|agent| Fact::new(About::Agent, "agent", line(agent)))
}

fn line(agent: &AgentRecord) -> String {
    let (name, host) = (visible::line(&agent.name), visible::line(&agent.host));
    let threads = human::plural(agent.threads.into(), "load thread");
    let (sent, [p50, p99]) = (human::plural(agent.sent(), "request"), quantiles(agent));
    let lost = agent.lost.as_ref().map_or_else(String::new, |loss| {
        let after_s = loss.at_ns as f64 / NS_PER_S as f64;
        format!("; lost after {after_s:.1} s: {}", visible::line(&loss.why))
    });
    let busy = busy(agent).map_or_else(String::new, |busy| format!(", CPUs {busy} busy"));
    format!("{name} ({host}): {threads}, {sent}, p50 {p50}, p99 {p99}{busy}{lost}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{AgentLoss, AgentStart, AgentWindow, Quantiles, SourceId};

    #[test]
    fn a_loss_that_ended_a_measurement_is_told_with_its_load() {
        let mut one = LostAgent { name: "ssh://b".into(), at_ns: Some(3_200_000_000), why: "w\x1b".into() };
        assert_eq!(lost_text(&one), "ssh://b 3.2 s after the start of its last load: w\\u001b");
        one.at_ns = None;
        assert_eq!(lost_text(&one), "ssh://b before the next load: w\\u001b");
    }

    #[test]
    fn a_lost_agent_is_told_with_its_reason() {
        let (source, name, host) = (SourceId(1), "ssh://b".into(), "b\x1b[2J".into());
        let mut agent = AgentRecord::begun(&AgentStart {
            source,
            name,
            host,
            cpus: 2,
            threads: 2,
            established: 8,
            offset_ns: 5,
            offset_error_ns: 100_000,
            round_trip_ns: None,
            late_ns: 20_000,
        });
        assert_eq!(agent.start_error_ns, 120_000);
        // The warm-up, which no other line of a result has in it, was told with the window.
        (agent.flow.sent, agent.window) = (9_000, Some(AgentWindow { sent: 5_000, ..AgentWindow::default() }));
        agent.response_ns = Quantiles { n: 5_000, p50: 80_000, p99: 1_360_000, ..Quantiles::default() };
        agent.lost = Some(AgentLoss { at_ns: 3_200_000_000, why: "nothing came from it for 5 s".into() });
        let line = line(&agent);
        let figures = "2 load threads, 5,000 requests, p50 80.0 µs, p99 -; lost";
        assert!(line.contains(figures) && !line.contains('\x1b'), "50 requests beyond the p99 are too few: {line}");
        assert!(line.ends_with("; lost after 3.2 s: nothing came from it for 5 s"), "{line}");
    }
}
