//! The status page of a pool of php-fpm, as text or as JSON.
//!
//! On a Unix socket it always says a queue of 0; the accept queue of the socket itself is then the one to look at.

use super::{figures, status};
use model::ServerStatus;
use serde_json::Value;

const KNOWN: [(&str, &str); 10] = [
    ("accepted conn", "accepted"),
    ("listen queue", "listen_queue"),
    ("max listen queue", "listen_queue_max"),
    ("listen queue len", "listen_queue_limit"),
    ("idle processes", "processes_idle"),
    ("active processes", "processes_active"),
    ("total processes", "processes"),
    ("max active processes", "processes_active_max"),
    ("max children reached", "max_children_reached"),
    ("slow requests", "slow_requests"),
];

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    let found = match serde_json::from_str::<Value>(text) {
        Ok(json) => {
            json.get("process manager")?;
            KNOWN.iter().filter_map(|(theirs, ours)| Some((*ours, json.get(theirs)?.as_f64()?))).collect()
        }
        Err(_) if text.contains("process manager:") => figures(text, &KNOWN),
        Err(_) => return None,
    };
    status("php-fpm", found)
}
