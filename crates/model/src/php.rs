//! PHP functions of a server, as its own sampler has seen them: the `php` object of a profile.

use serde::{Deserialize, Serialize};

/// Clock of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhpClock {
    /// CPU time of the worker: what waits is not sampled.
    #[default]
    Cpu,
    /// Real time: waiting counts like running.
    Real,
}

/// Samples of the requests that ended in the time that was profiled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhpProfiled {
    /// What the samples were taken by.
    pub clock: PhpClock,
    /// Time of that clock between two samples of a request; ns.
    pub sample_ns: u64,
    /// Samples.
    pub samples: u64,
    /// Lines of the server's files that are no stack, not whole, or too many.
    pub left_out: u64,
    /// True if a file of the server was full, so that requests are missing.
    pub is_full: bool,
    /// Functions that were innermost most often.
    pub functions: Vec<PhpFunction>,
}

/// A PHP function, or the code of a file outside functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhpFunction {
    /// Name with its class, `{closure:FILE(LINE)}`, or path of a file.
    pub name: String,
    /// Samples that had it innermost: in itself, and in what it called of PHP's own functions.
    pub self_samples: u64,
    /// Share of the samples.
    pub self_share: f64,
    /// Samples with it anywhere in the stack.
    pub total_samples: u64,
    /// Share of the samples.
    pub total_share: f64,
}

impl PhpClock {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Cpu => "CPU time",
            Self::Real => "real time",
        }
    }
}
