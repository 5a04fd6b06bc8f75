//! `server-status?auto` of Apache httpd.

use super::{figures, status};
use model::ServerStatus;

const KNOWN: [(&str, &str); 8] = [
    ("BusyWorkers", "workers_busy"),
    ("IdleWorkers", "workers_idle"),
    ("Total Accesses", "requests"),
    ("ReqPerSec", "requests_per_s"),
    ("DurationPerReq", "duration_per_request_ms"),
    ("ConnsTotal", "connections"),
    ("ConnsAsyncKeepAlive", "connections_keepalive"),
    ("ConnsAsyncWriting", "connections_writing"),
];

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    text.contains("BusyWorkers:").then(|| figures(text, &KNOWN)).and_then(|found| status("apache", found))
}
