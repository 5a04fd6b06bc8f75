//! Closed loop at full speed: requests per second, client CPU per request and memory, beside wrk.

use std::time::Instant;

use anyhow::Result;

use super::Settings;
use super::client::{Closed, Load, floor, plimsoll, wrk};
use super::lab::{Lab, machine_cpu_s};
use super::server::Server;

/// Connections of the case that shows memory and large ready sets.
const MANY_CONNECTIONS: u32 = 1024;

/// One case, measured.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) rounds: Vec<Round>,
}

/// All clients once, back to back, against the same running server.
pub(super) struct Round {
    pub(super) wrk: Load,
    pub(super) plimsoll: Load,
    /// The bare epoll loop, where the case keeps its connections.
    pub(super) floor: Option<Load>,
    /// Cores that neither the clients nor the server used, on average over the round.
    pub(super) others_cores: f64,
}

#[derive(Clone, Copy)]
enum Kind {
    Null,
    Nginx,
}

/// Runs all cases, one server at a time.
pub(super) fn measure(lab: &Lab, settings: &Settings) -> Result<Vec<Case>> {
    let ordinary = settings.connections;
    let plan = [
        (Kind::Null, "null server, keep-alive", ordinary, false),
        (Kind::Null, "null server, keep-alive", MANY_CONNECTIONS, false),
        (Kind::Nginx, "nginx, keep-alive", ordinary, false),
        (Kind::Nginx, "nginx, connection per request", ordinary, true),
    ];
    let mut cases = Vec::new();
    for (number, (kind, what, connections, close)) in plan.into_iter().enumerate() {
        let name = format!("{what}, {connections} connections");
        eprintln!("{name}: {} rounds of {} s", settings.rounds, settings.seconds);
        let server = match kind {
            Kind::Null => Server::null(lab)?,
            Kind::Nginx => Server::nginx(lab)?,
        };
        let mut rounds = Vec::new();
        for index in 0..settings.rounds {
            let label = format!("case{}-round{}", number + 1, index + 1);
            let load = Closed { label: &label, url: &server.url, connections, seconds: settings.seconds, close };
            rounds.push(round(lab, &server, &load, index % 2 == 1)?);
        }
        cases.push(Case { name, rounds });
    }
    Ok(cases)
}

/// One round. The order alternates so that neither tool always runs on the warmer machine.
fn round(lab: &Lab, server: &Server, load: &Closed<'_>, plimsoll_first: bool) -> Result<Round> {
    let started = Instant::now();
    let (machine_before, server_before) = (machine_cpu_s()?, server.cpu_s());
    let (wrk, plimsoll) = if plimsoll_first {
        let plimsoll = plimsoll(lab, load)?;
        (wrk(lab, load)?, plimsoll)
    } else {
        (wrk(lab, load)?, plimsoll(lab, load)?)
    };
    let floor = if load.close { None } else { Some(floor(lab, load)?) };
    let machine_s = machine_cpu_s()? - machine_before;
    let clients_s = wrk.cost.cpu_s + plimsoll.cost.cpu_s + floor.as_ref().map_or(0.0, |floor| floor.cost.cpu_s);
    let others_s = machine_s - clients_s - (server.cpu_s() - server_before);
    let others_cores = (others_s / started.elapsed().as_secs_f64()).max(0.0);
    Ok(Round { wrk, plimsoll, floor, others_cores })
}
