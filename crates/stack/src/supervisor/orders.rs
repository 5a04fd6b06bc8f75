//! Messages between plimsoll and the supervisor.

use crate::layout::Stop;
use crate::standing::Standing;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// To the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Start a process.
    Start(Launch),
    /// End one and all it has started.
    Stop {
        /// Which.
        name: String,
    },
    /// Leave the state directory when all has ended.
    KeepState,
    /// Keep the servers when who gives the orders is gone; none: not any more.
    Leave(Option<Box<Standing>>),
}

/// From the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// A process runs.
    Started {
        /// Which.
        name: String,
        /// Its number.
        pid: i32,
    },
    /// It has made its state directory, and keeps it.
    Ready,
    /// A process cannot be started.
    Failed {
        /// Which.
        name: String,
        /// Why not.
        why: String,
    },
    /// A process has ended by itself, and what it had started was ended.
    Ended {
        /// Which.
        name: String,
        /// With what exit code, or by which signal.
        how: How,
    },
    /// An order to end is carried out.
    Stopped {
        /// Which.
        name: String,
        /// It did not go when it was asked to.
        killed: bool,
    },
    /// The servers stay when who gives the orders goes.
    Left,
    /// A log had grown too long and was emptied.
    LogCut {
        /// Its path, without control characters.
        path: String,
    },
    /// What the servers have started and cannot be ended.
    Unended {
        /// The numbers of these processes.
        pids: Vec<i32>,
    },
    /// The file system of the state directory was full, and all was ended.
    DiskFull,
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A process, completely.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Its environment, completely.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) dir: PathBuf,
    /// Where its stdout and stderr go.
    pub(crate) output: PathBuf,
    /// User and group to become.
    pub(crate) account: Option<(u32, u32)>,
    /// Empty: all.
    pub(crate) cpus: Vec<u32>,
    /// True if it gets the descriptors 3 and 4 that the supervisor was started with.
    pub(crate) has_pipes: bool,
    pub(crate) stop: Stop,
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => {
                let name = signal_hook::low_level::signal_name(*signal).unwrap_or("an unknown signal");
                write!(f, "was ended by {name}")
            }
        }
    }
}
