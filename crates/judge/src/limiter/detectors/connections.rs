//! Limits of connections and descriptors.

use super::{Change, Detection, Signal, figures};
use crate::facts::OCCUPIED;
use crate::facts::closes::Closes;
use crate::facts::database;
use crate::facts::descriptors;
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use crate::limiter::pools::pools;
use model::human::{count, percent};

/// A process with this share of its descriptors, or a machine of its tracked connections, has none to spare (NE-09).
const USED_UP: f64 = 0.95;

/// A database whose connections are in use to this share, and which refuses more, has none to spare.
const CONNECTED: f64 = 0.7;
/// The setting of MariaDB and MySQL.
const MAX_CONNECTIONS: &str = "max_connections";

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    if !input.sees_server() && input.evidence.status.is_empty() {
        return Detection::Unchecked("neither file descriptors nor a status page of the server");
    }
    let dropped = dropped(input).map(|(what, n)| (what, format!("{} connections were refused", count(n as u64)), n));
    if let (None, Some(signal)) = (&dropped, of_database(input)) {
        return Detection::hit(signal);
    }
    let Some((what, says, figure)) = dropped.or_else(|| descriptors(input)).or_else(|| tracked(input)) else {
        return Detection::Clear;
    };
    Detection::hit(Signal {
        name: "connection-limited",
        says: format!("{what}: {says}"),
        resource: what,
        queue: true,
        evidence: figures([("turned_away_or_used", figure)]),
        ..Signal::default()
    })
}

/// The limit behind new connections that are closed before they have served anything; none if the server does not do that.
pub(in crate::limiter) fn turned_away(input: &LimiterInput<'_>) -> Option<Signal> {
    if Closes::of(input.evidence) != Some(Closes::AtOnce) {
        return None;
    }
    let counted = dropped(input).map(|(what, n)| (what, format!("{} connections were refused", count(n as u64))));
    let is_inferred = counted.is_none();
    let (resource, says) = counted.unwrap_or_else(|| {
        let opened = count(input.evidence.flow.opened);
        let says =
            format!("most of the {opened} connections that were opened were closed before they served a request");
        ("connections of the server".to_owned(), says)
    });
    Some(Signal {
        name: "connection-limited",
        says: format!("{resource}: {says}"),
        resource,
        queue: true,
        evidence: figures([("opened", input.evidence.flow.opened as f64)]),
        is_inferred,
        ..Signal::default()
    })
}

/// Connections that a server says it has turned away: by which limit, and how many.
fn dropped(input: &LimiterInput<'_>) -> Option<(String, f64)> {
    input.evidence.status.iter().find_map(|page| {
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

/// Share of its connections that a database uses which refuses more; none when it refuses none, or has some to spare.
pub(super) fn database_full(input: &LimiterInput<'_>) -> Option<(f64, f64)> {
    let database = database::connections(input.evidence).filter(|database| database.refused > 0.0)?;
    let limit = database.limit?;
    let share = (database.used_mean / limit).min(1.0);
    (share >= CONNECTED).then_some((limit, share))
}

fn of_database(input: &LimiterInput<'_>) -> Option<Signal> {
    let refused = database::connections(input.evidence)?.refused;
    let (limit, share) = database_full(input)?;
    let n = count(limit as u64);
    // Whoever works on a request holds one of them; without this limit as many requests would be under way as workers.
    let full = pools(input).into_iter().filter(|pool| pool.occupancy >= OCCUPIED && pool.workers > limit);
    let freed = full
        .filter(|pool| !pool.is_per_connection())
        .map(|pool| (pool.resource(), input.per_s * pool.workers / (limit * share)));
    let what = format!("{MAX_CONNECTIONS} of the database");
    let change = Change::twice("connections to the database", limit, None);
    Some(Signal {
        name: "connection-limited",
        says: format!(
            "{what}: {} of {n} are in use on average, and {} more were refused",
            percent(share),
            count(refused as u64)
        ),
        resource: what,
        share: Some(share),
        queue: true,
        ceiling_per_s: laws::ceiling_per_s(input.per_s, share),
        evidence: figures([("refused", refused), ("connections_limit", limit), ("used_share", share)]),
        change: Some(Change { setting: Some(MAX_CONNECTIONS.to_owned()), ..change }),
        freed: freed.collect(),
        ..Signal::default()
    })
}

fn descriptors(input: &LimiterInput<'_>) -> Option<(String, String, f64)> {
    let nearest = descriptors::descriptors(input.evidence)?;
    // A server that keeps a reserve closes connections before all are in use.
    let is_full = nearest.share >= USED_UP || nearest.closes && nearest.are_short();
    let says = format!("{} of {} are in use", count(nearest.open), count(nearest.limit));
    is_full.then(|| (format!("open files of {}", nearest.program), says, nearest.share))
}

fn tracked(input: &LimiterInput<'_>) -> Option<(String, String, f64)> {
    let gauges = input.observed()?.gauges.get("conntrack")?;
    let (used, limit) = (gauges.get("connections")?.max, gauges.get("connections_limit")?.max);
    let share = used as f64 / limit.max(1) as f64;
    let says = format!("{} of {} are in use", count(used), count(limit));
    (share >= USED_UP).then(|| ("connections tracked by the kernel (nf_conntrack)".to_owned(), says, share))
}
