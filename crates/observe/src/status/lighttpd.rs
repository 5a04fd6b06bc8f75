//! `server-status?auto` of lighttpd.

use super::{figures, status};
use model::ServerStatus;

const KNOWN: [(&str, &str); 3] =
    [("BusyServers", "connections_busy"), ("IdleServers", "connections_idle"), ("Total Accesses", "requests")];

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    text.contains("BusyServers:").then(|| figures(text, &KNOWN)).and_then(|found| status("lighttpd", found))
}
