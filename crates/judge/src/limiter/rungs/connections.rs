//! Limits of connections and descriptors.

use super::{Look, Signal, figures};
use crate::limiter::scene::Scene;
use model::human::count;

/// A process with this share of its descriptors, or a machine of its tracked connections, has none to spare (NE-09).
const USED_UP: f64 = 0.95;

pub(super) fn look(scene: &Scene<'_>) -> Look {
    if !scene.sees_server() && scene.evidence.status.is_empty() {
        return Look::Unchecked("neither descriptors nor a status page of the server were seen");
    }
    let dropped =
        dropped(scene).map(|(what, n)| (what, format!("{} connections were turned away", count(n as u64)), n));
    let Some((what, says, figure)) = dropped.or_else(|| descriptors(scene)).or_else(|| tracked(scene)) else {
        return Look::Clear;
    };
    Look::hit(Signal {
        name: "connection-limited",
        says: format!("{what}: {says}"),
        resource: what,
        queue: true,
        evidence: figures([("turned_away_or_used", figure)]),
        ..Signal::default()
    })
}

/// Connections that a server says it has turned away: by which limit, and how many.
fn dropped(scene: &Scene<'_>) -> Option<(String, f64)> {
    scene.evidence.status.iter().find_map(|page| {
        let grown = |name: &str| page.figures.get(name).map(|figure| figure.last - figure.first);
        let (what, n) = match page.server.as_deref()? {
            "nginx" => ("worker_connections of nginx", grown("accepted")? - grown("handled")?),
            "redis" => ("maxclients of redis", grown("connections_rejected")?),
            "target" => ("max-connections of the target", grown("connections_refused")?),
            _ => return None,
        };
        (n > 0.0).then(|| (what.to_owned(), n))
    })
}

fn descriptors(scene: &Scene<'_>) -> Option<(String, String, f64)> {
    let processes = scene.groups().flat_map(|(_, group)| &group.processes);
    let mut full = processes.filter_map(|process| {
        let (used, limit) = (process.fds_max?, process.fds_limit?);
        let share = used as f64 / limit.max(1) as f64;
        let says = format!("{} of {} are in use", count(used), count(limit));
        (share >= USED_UP).then(|| (format!("open files of {}", process.name), says, share))
    });
    full.next()
}

fn tracked(scene: &Scene<'_>) -> Option<(String, String, f64)> {
    let gauges = scene.observed()?.gauges.get("conntrack")?;
    let (used, limit) = (gauges.get("connections")?.max, gauges.get("connections_limit")?.max);
    let share = used as f64 / limit.max(1) as f64;
    let says = format!("{} of {} are in use", count(used), count(limit));
    (share >= USED_UP).then(|| ("connections tracked by the kernel (nf_conntrack)".to_owned(), says, share))
}
