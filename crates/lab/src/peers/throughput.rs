//! Closed loop at full speed: requests per second, client CPU per request and memory, all tools in turn.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::client::{self, Cost};
use super::lab::Lab;
use super::server::{Counts, Server};
use super::tools::{Closed, Mode, Tool};
use super::{RUN_OVERHEAD_S, Settings};
use crate::progress::Progress;
use crate::usage::machine_cpu_s;

/// Connections of the case that shows memory and large ready sets.
const MANY_CONNECTIONS: u32 = 1024;

/// A case to be measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// What `--only` calls it.
    pub(super) key: &'static str,
    what: &'static str,
    server: Kind,
    mode: Mode,
    /// None: as many as the settings say.
    connections: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Null,
    Nginx,
}

pub(super) const PLANS: [Plan; 5] = [
    Plan::new("keep-alive", "Null server, keep-alive", Kind::Null, Mode::KeepAlive, None),
    Plan::new("many", "Null server, keep-alive", Kind::Null, Mode::KeepAlive, Some(MANY_CONNECTIONS)),
    Plan::new("nginx", "nginx, keep-alive", Kind::Nginx, Mode::KeepAlive, None),
    Plan::new("close", "nginx, connection per request", Kind::Nginx, Mode::Close, None),
    Plan::new("tls", "nginx, TLS 1.3, keep-alive", Kind::Nginx, Mode::Tls, None),
];

/// One case, measured.
pub(super) struct Case {
    /// The plan's.
    pub(super) key: &'static str,
    pub(super) name: String,
    pub(super) connections: u32,
    pub(super) mode: Mode,
    /// One for each tool, in the tools' order.
    pub(super) outcomes: Vec<(Tool, Outcome)>,
    /// Cores that neither the clients nor the server used, on average over each round.
    pub(super) others_cores: Vec<f64>,
}

/// What came of a tool in a case.
pub(super) enum Outcome {
    /// A load for each round.
    Measured(Vec<Load>),
    /// Why not.
    Missing(String),
}

/// One finished load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// As the server counted them.
    pub(super) counts: Counts,
    pub(super) cost: Cost,
}

impl Load {
    /// CPU time of the client per request that the server answered, in µs.
    pub(super) fn cpu_us_per_request(&self) -> f64 {
        self.cost.cpu_s * 1e6 / self.counts.requests as f64
    }

    /// Requests that the server answered per second of the client's life.
    pub(super) fn per_s(&self) -> f64 {
        self.counts.requests as f64 / self.cost.wall_s
    }
}

impl Case {
    /// The loads of a tool, if it was measured.
    pub(super) fn loads(&self, tool: Tool) -> Option<&[Load]> {
        self.outcomes.iter().find_map(|(of, outcome)| match outcome {
            Outcome::Measured(loads) if *of == tool => Some(loads.as_slice()),
            _ => None,
        })
    }
}

impl Plan {
    const fn new(key: &'static str, what: &'static str, server: Kind, mode: Mode, connections: Option<u32>) -> Self {
        Self { key, what, server, mode, connections }
    }

    /// How long the case will take, for the forecast.
    pub(super) fn expected_s(&self, settings: &Settings) -> f64 {
        let load = self.load("", settings);
        let tools = Tool::ALL.iter().filter(|tool| tool.path().is_some() && tool.closed(&load).is_ok()).count();
        (tools * settings.rounds) as f64 * (f64::from(settings.seconds) + RUN_OVERHEAD_S)
    }

    fn load<'a>(&self, url: &'a str, settings: &Settings) -> Closed<'a> {
        let connections = self.connections.unwrap_or(settings.connections);
        Closed { url, connections, seconds: settings.seconds, mode: self.mode }
    }

    /// All rounds, every tool against the same running server.
    pub(super) fn measure(&self, lab: &Lab, settings: &Settings, progress: &mut Progress) -> Result<Case> {
        let server = match self.server {
            Kind::Null => Server::null()?,
            Kind::Nginx => Server::nginx(lab, self.mode == Mode::Tls)?,
        };
        let load = self.load(&server.url, settings);
        let mut outcomes: Vec<(Tool, Outcome)> = Tool::ALL.iter().map(|&tool| (tool, possible(tool, &load))).collect();
        let mut others_cores = Vec::new();
        let name = format!("{}, {} connections", self.what, load.connections);
        for round in 0..settings.rounds {
            progress.say(&format!("{name}: round {} of {}", round + 1, settings.rounds));
            let label = format!("{}-round{}", self.key, round + 1);
            // Forwards and backwards in turn, so that drift of the machine favours nobody.
            if round % 2 == 1 {
                outcomes.reverse();
            }
            others_cores.push(self::round(lab, &server, &load, &label, &mut outcomes, progress)?);
            if round % 2 == 1 {
                outcomes.reverse();
            }
        }
        Ok(Case { key: self.key, name, connections: load.connections, mode: self.mode, outcomes, others_cores })
    }
}

fn possible(tool: Tool, load: &Closed<'_>) -> Outcome {
    match tool.closed(load) {
        Err(reason) => Outcome::Missing(reason.to_owned()),
        Ok(_) if tool.path().is_none() => Outcome::Missing("could not be installed".to_owned()),
        Ok(_) => Outcome::Measured(Vec::new()),
    }
}

/// One round of all tools that are still in the case; returns the cores that others used meanwhile.
fn round(
    lab: &Lab,
    server: &Server,
    load: &Closed<'_>,
    label: &str,
    outcomes: &mut [(Tool, Outcome)],
    progress: &mut Progress,
) -> Result<f64> {
    let started = Instant::now();
    let (machine_before, server_before) = (machine_cpu_s()?, server.cpu_s());
    let mut clients_s = 0.0;
    for (tool, outcome) in outcomes {
        let Outcome::Measured(loads) = outcome else { continue };
        match client::outcome_of(*tool, measured(lab, server, load, *tool, label))? {
            Ok(load) => {
                clients_s += load.cost.cpu_s;
                loads.push(load);
            }
            Err(reason) => {
                eprintln!("  {} leaves the case: {reason}", tool.name());
                *outcome = Outcome::Missing(reason);
            }
        }
        progress.did(f64::from(load.seconds) + RUN_OVERHEAD_S);
    }
    let others_s = machine_cpu_s()? - machine_before - clients_s - (server.cpu_s() - server_before);
    Ok((others_s / started.elapsed().as_secs_f64()).max(0.0))
}

/// One tool, counted by the server. A second try tells what a tool cannot do from a hiccup of the machine.
fn measured(lab: &Lab, server: &Server, load: &Closed<'_>, tool: Tool, label: &str) -> Result<Load> {
    let invocation = tool.closed(load).map_err(anyhow::Error::msg)?;
    let label = format!("{label}-{}", tool.name().replace(' ', "-"));
    let once = || -> Result<Load> {
        server.settle()?;
        let before = server.counts()?;
        let cost = client::run(lab, tool, &label, &invocation, load.seconds)?.cost;
        let counts = server.counts()?.since(before);
        is_as_asked(counts, load).context("not the load that was asked for")?;
        Ok(Load { counts, cost })
    };
    once().or_else(|error| {
        eprintln!("  {} once more: {error:#}", tool.name());
        once()
    })
}

/// True if the load was of the kind that was asked for, as far as the server's counts show it.
fn is_as_asked(counts: Counts, load: &Closed<'_>) -> Result<()> {
    let Counts { connections, requests } = counts;
    let asked = u64::from(load.connections);
    if requests == 0 {
        bail!("the server saw no request");
    }
    match load.mode {
        Mode::Close if connections * 10 < requests * 9 => {
            bail!("{requests} requests came on {connections} connections instead of one each");
        }
        Mode::KeepAlive | Mode::Tls if connections * 10 < asked * 9 => {
            bail!("{connections} connections were opened instead of {asked}");
        }
        Mode::KeepAlive | Mode::Tls if connections > asked && connections * 10 > requests * 9 => {
            bail!("connections were not kept: {connections} for {requests} requests");
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::Cost;
    use super::super::server::Counts;
    use super::super::tools::{Closed, Mode};
    use super::{Load, PLANS, is_as_asked};

    fn check(mode: Mode, connections: u64, requests: u64) -> bool {
        let load = Closed { url: "", connections: 64, seconds: 3, mode };
        is_as_asked(Counts { connections, requests }, &load).is_ok()
    }

    #[test]
    fn the_load_must_be_the_one_asked_for() {
        assert!(check(Mode::KeepAlive, 64, 400_000));
        assert!(check(Mode::KeepAlive, 64, 70), "a slow server is no fault of the client");
        assert!(!check(Mode::KeepAlive, 32, 400_000), "half of the connections are missing");
        assert!(!check(Mode::Tls, 40_000, 40_000), "a connection for each request");
        assert!(check(Mode::Tls, 10_000, 40_000), "the page says how many requests came on each");
        assert!(check(Mode::Close, 40_000, 40_001));
        assert!(!check(Mode::Close, 64, 40_000), "connections were kept");
        assert!(!check(Mode::KeepAlive, 64, 0));
    }

    #[test]
    fn cost_is_shared_out_over_what_the_server_counted() {
        let cost = Cost { wall_s: 4.0, cpu_s: 2.0, peak_kib: 1 };
        let load = Load { counts: Counts { connections: 64, requests: 400_000 }, cost };
        assert!((load.cpu_us_per_request() - 5.0).abs() < 1e-9);
        assert!((load.per_s() - 100_000.0).abs() < 1e-9);
    }

    #[test]
    fn cases_can_be_told_apart() {
        let keys: std::collections::BTreeSet<_> = PLANS.iter().map(|plan| plan.key).collect();
        assert_eq!(keys.len(), PLANS.len());
    }
}
