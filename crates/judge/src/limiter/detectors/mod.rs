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
use model::Setting;
use std::collections::BTreeMap;

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

/// Result of a check.
pub(super) enum Detection {
    /// It is not this.
    Clear,
    /// It is this.
    Found(Box<Signal>),
    /// The figures are missing; why.
    Unchecked(&'static str),
}

/// The evidence for a limit.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) name: &'static str,
    pub(super) resource: String,
    pub(super) says: String,
    /// Share in use, where it is a matter of shares.
    pub(super) share: Option<f64>,
    /// True if something waits in front of it.
    pub(super) queue: bool,
    pub(super) ceiling_per_s: Option<f64>,
    pub(super) evidence: BTreeMap<String, f64>,
    pub(super) change: Option<Change>,
    /// True if it follows from a shape alone, and nothing was seen at its limit.
    pub(super) is_inferred: bool,
    /// True if it keeps the other resources from showing what they can do, so that no next limit is known.
    pub(super) hides_next: bool,
    /// Other resources that are in use only because of this one, with their ceilings without it; per second.
    pub(super) freed: BTreeMap<String, f64>,
    /// Other names of the resource, under which it is looked at once more, such as the pool of the only worker that a thread is.
    pub(super) also: Vec<String>,
    /// Waiting that ends with this limit, which no ceiling of another resource may count.
    pub(super) relief: Relief,
}

/// Waiting that ends when a limit is out of the way. Workers that wait for the limit are occupied, and threads that wait for a
/// CPU are not free: neither says anything of what they could do without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Relief {
    /// Nothing that is observed waits for it.
    Nothing,
    /// Threads that could run, and have no CPU.
    Cpu,
    /// Workers that wait for these.
    Waits(Vec<Wait>),
    /// Workers may wait for it, and what they wait for does not say so.
    #[default]
    Unknown,
}

/// Something that workers wait for, by the name it has among their waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wait {
    pub(super) on: String,
    /// Only workers of this program; none: those of all.
    pub(super) of: Option<String>,
    /// Part of the wait in which it works on the request, which remains; ns, none where that is not known.
    pub(super) service_ns: Option<f64>,
}

impl Relief {
    /// Of what serves one request after the other in this time, by each of its names.
    pub(super) fn of_server(names: &[&str], service_ns: Option<f64>) -> Self {
        let wait = |name: &&str| Wait { on: (*name).to_owned(), of: None, service_ns };
        Self::Waits(names.iter().map(wait).collect())
    }
}

/// Change that would raise it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) words: String,
    pub(super) setting: Option<String>,
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
    /// Effect on the ceiling.
    pub(super) factor: f64,
}

impl Signal {
    /// True if it follows from the shape of the curve alone.
    pub(super) fn is_inferred_from_curve(&self) -> bool {
        self.name == concurrency::NAME
    }
}

impl Detection {
    fn hit(signal: Signal) -> Self {
        Self::Found(Box::new(signal))
    }
}

impl Change {
    /// Twice of `what`, of which there are `n`, by a setting where one is known.
    fn twice(what: &str, n: f64, setting: Option<&Setting>) -> Self {
        let from = setting.map_or(n, |setting| setting.value as f64);
        let to = setting.map_or(2.0 * n, |setting| (2 * setting.value).min(setting.max) as f64);
        let factor = to / from.max(f64::MIN_POSITIVE);
        Self {
            words: format!("{:.0} {what} instead of {n:.0}", n * factor),
            setting: setting.map(|setting| setting.native.clone()),
            from: Some(from),
            to: Some(to),
            factor,
        }
    }
}

fn figures<const N: usize>(all: [(&str, f64); N]) -> BTreeMap<String, f64> {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
