//! Output of `plimsoll observe`: samples without a load.

use crate::{KernelFigures, MachineCpu, OthersUse, ProcessFigures, ProcessUse, Sockets};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One sample, or several in a row as if they were one. Instants are ns since the first sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// [`crate::FORMAT_OBSERVE`].
    pub format: String,
    /// When it was taken: wall-clock time, RFC 3339, UTC.
    pub at: String,
    /// The sample before; ns.
    pub from_ns: u64,
    /// This sample; ns.
    pub to_ns: u64,
    /// CPU time of this machine.
    pub machine: Option<MachineCpu>,
    /// What was asked for and is there, in the order asked.
    pub groups: Vec<GroupObservation>,
    /// All other processes that used CPU time; none in samples that leave them out.
    pub others: Option<OthersUse>,
    /// What the kernel of this machine counts.
    pub kernel: KernelFigures,
    /// CPU time that the sample has cost; ns.
    pub look_cpu_ns: u64,
    /// Why a part is not available, by its name; only where that was not said before.
    pub unavailable: BTreeMap<String, String>,
}

/// Processes that were asked for, with their descendants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupObservation {
    /// As it was asked for.
    pub target: String,
    /// Figures of all of them together: what was used since the sample before, and levels at the sample.
    #[serde(flatten)]
    pub figures: ProcessFigures,
    /// CPU time per time: CPUs kept busy.
    pub cpu_cores: f64,
    /// Threads that could have run, but no CPU was free: their mean number since the sample before that had threads; none
    /// in samples that leave them out.
    pub run_queue_wait: Option<f64>,
    /// Processes that ended and whose last CPU time nobody can tell.
    pub ended_unaccounted: u64,
    /// By name of the process.
    pub processes: Vec<ProcessUse>,
    /// Sockets of one that was asked for by where it listens; of a Unix socket only the accept queue.
    pub sockets: Option<Sockets>,
}
