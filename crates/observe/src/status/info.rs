//! `INFO` of Redis.

use super::{figures, status};
use model::ServerStatus;

const KNOWN: [(&str, &str); 9] = [
    ("connected_clients", "clients_connected"),
    ("blocked_clients", "clients_blocked"),
    ("used_memory", "memory_bytes"),
    ("instantaneous_ops_per_sec", "operations_per_s"),
    ("total_commands_processed", "commands"),
    ("rejected_connections", "connections_rejected"),
    ("evicted_keys", "keys_evicted"),
    ("keyspace_hits", "keyspace_hits"),
    ("keyspace_misses", "keyspace_misses"),
];

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    text.contains("redis_version:").then(|| figures(text, &KNOWN)).and_then(|found| status("redis", found))
}
