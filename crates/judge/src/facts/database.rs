//! Connections of a MariaDB or MySQL, by its own status.

use super::kernel::growth;
use model::{Evidence, LOGIN_REFUSED, StatusRecord};

/// Connections of a MariaDB or MySQL in the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connections {
    /// Refused for lack of a free one.
    pub(crate) refused: f64,
    /// Open, as a mean over the samples; includes the connection that samples.
    pub(crate) used_mean: f64,
    /// Open at most.
    pub(crate) used_max: f64,
    /// As many as it allows (max_connections), where it says so.
    pub(crate) limit: Option<f64>,
}

/// Of the database that refused most; none when no status of one was read.
pub(crate) fn connections(evidence: &Evidence) -> Option<Connections> {
    let all = evidence.status.iter().filter_map(of_page);
    all.max_by(|a, b| a.refused.total_cmp(&b.refused))
}

fn of_page(page: &StatusRecord) -> Option<Connections> {
    let figure = |name: &str| page.figures.get(name).filter(|_| page.server.as_deref() == Some("mysql"));
    let refused = figure("connections_refused").and_then(|_| growth(page, "connections_refused"))?;
    // The most since it was started would be another day, unless it has grown.
    let grown = figure("connections_max").filter(|most| most.last > most.first).map_or(0.0, |most| most.last);
    let connected = figure("threads_connected");
    Some(Connections {
        refused,
        used_mean: connected.map_or(0.0, |connected| connected.mean),
        used_max: connected.map_or(0.0, |connected| connected.max).max(grown),
        limit: figure("connections_limit").map(|limit| limit.last).filter(|limit| *limit > 0.0),
    })
}

/// Why no status of a database is known; none if one is.
pub(crate) fn lacking(evidence: &Evidence) -> Option<&'static str> {
    if connections(evidence).is_some() {
        return None;
    }
    let asked = evidence.status.iter().filter(|page| page.url.starts_with("mysql"));
    let reasons: Vec<&str> = asked.filter_map(|page| page.reason.as_deref()).collect();
    Some(match reasons.as_slice() {
        [] => "no status of MariaDB or MySQL",
        [why, ..] if why.starts_with(LOGIN_REFUSED) => "MariaDB or MySQL refused the login (status in run.json)",
        _ => "status of MariaDB or MySQL not readable (status in run.json)",
    })
}
