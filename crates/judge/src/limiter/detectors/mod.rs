//! The limiter's checks, one file each, in priority order.

mod backlog;
mod concurrency;
pub(super) mod connections;
mod cpu;
mod disk;
mod interpreter;
pub(super) mod load;
mod lock;
mod memory;
pub(super) mod network;
mod one_at_a_time;
mod one_core;
mod own_cpus;
mod paced;
mod path;
mod pool;
pub(super) mod quota;
mod rate;
mod slow_backend;
mod starved;
mod stopped;
mod timer;
mod turns;
mod upstream;

use super::input::LimiterInput;
use super::signal::{Change, Detection, Relief, Signal, Wait, figures};

/// Workers that wait for one thing for this share of their occupied time wait for that.
const WAITS: f64 = 0.5;

/// A limit and how it is looked for.
type Rung = (&'static str, fn(&LimiterInput<'_>) -> Detection);

pub(super) const DETECTORS: [Rung; 23] = [
    ("stopped processes", stopped::look),
    ("network", network::look),
    ("CPU quota", quota::look),
    ("interpreter lock", interpreter::look),
    ("CPU", cpu::look),
    ("one core", one_core::look),
    ("CPUs of one program", own_cpus::look),
    ("connections served", starved::look),
    ("worker pool", pool::look),
    ("upstream", upstream::look),
    ("lost packets", network::look_for_loss),
    ("connections", connections::look),
    ("accept backlog", backlog::look),
    ("disk", disk::look),
    ("memory", memory::look),
    ("lock", lock::look),
    ("paced connections", paced::look),
    ("timer", timer::look),
    ("threads at a time", one_at_a_time::look),
    ("slow backend", slow_backend::look),
    ("rate of requests", rate::look),
    ("requests at a time", concurrency::look),
    ("path between the machines", path::look),
];

/// True if it follows from the shape of the curve alone.
pub(super) fn is_inferred_from_curve(signal: &Signal) -> bool {
    signal.name == concurrency::NAME
}
