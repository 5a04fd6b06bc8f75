//! `/stats` of the built-in target.

use super::status;
use model::ServerStatus;
use serde_json::Value;

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    let json: Value = serde_json::from_str(text).ok()?;
    let workers = json.get("workers")?.as_array()?;
    let sum = |name: &str| workers.iter().map(|worker| worker.get(name)?.as_f64()).sum::<Option<f64>>();
    let mut figures = vec![
        ("requests", sum("requests")?),
        ("connections_open", sum("open")?),
        ("connections_refused", json.get("refused_connections")?.as_f64()?),
    ];
    if let Some(pool) = json.get("pool") {
        let of = |name: &str| pool.get(name)?.as_f64();
        figures.extend([
            ("pool_workers", of("workers")?),
            ("pool_busy", of("busy")?),
            ("pool_waiting", of("waiting")?),
        ]);
    }
    status("target", figures)
}
