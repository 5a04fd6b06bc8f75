//! Samples of a profile as they are written down while they are taken, so that a kill loses no more than the last of them:
//! a line that says whose they are, and one for each second.

use crate::Environment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who took the samples, and what is wanted of them: the first line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplesBegun {
    /// [`crate::FORMAT_SAMPLES`].
    pub format: String,
    /// The kernel's name for this start of the machine: addresses and process IDs mean nothing in another.
    pub boot_id: String,
    /// The process that took them.
    pub pid: u32,
    /// CPUs that were sampled.
    pub cpus: u32,
    /// Why nothing is known of what was waited for, if that is so.
    pub no_waits: Option<String>,
    /// The processes that are the server.
    pub server: BTreeSet<u32>,
    /// Others whose waiting is wanted besides.
    pub companions: BTreeSet<u32>,
    /// True if all other processes are left out.
    pub only_server: bool,
    /// Of a profile without a load.
    pub profile: Option<ProfileBegun>,
}

/// What the record of `plimsoll profile` has beside its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileBegun {
    /// What is looked at, such as `port 8080`.
    pub scope: String,
    /// Where it runs.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
}

/// What about a second of sampling has added. Stacks are numbered in the order in which they came, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplesAdded {
    /// Time for which was sampled, so far; ns.
    pub sampled_ns: u64,
    /// Samples that could not be kept, so far.
    pub lost: u64,
    /// Records of switches that could not be, so far.
    pub lost_waits: u64,
    /// CPU time of the thread that reads them, so far; ns.
    pub reader_cpu_ns: u64,
    /// Processes of which something new is known.
    pub processes: Vec<SampledProcess>,
    /// New stacks.
    pub stacks: Vec<SampledStack>,
    /// Numbers of stacks, and how much more is counted of each: samples, or ns of waiting.
    pub counts: Vec<(u32, u64)>,
}

/// What is known of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledProcess {
    /// Its number.
    pub pid: u32,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose child it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Where its code lies, in rising order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<SampledCode>,
}

/// A piece of memory with code in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledCode {
    /// First address.
    pub begin: u64,
    /// The address behind the last.
    pub end: u64,
    /// Where in its file it begins; bytes.
    pub offset: u64,
    /// Path of its file; none of code that the program has made itself, empty of the kernel's page.
    pub file: Option<String>,
}

/// A stack that has not been seen before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledStack {
    /// True if a thread waited there, false if it ran.
    pub is_waiting: bool,
    /// The process.
    pub pid: u32,
    /// Addresses and the kernel's marks between them, innermost first.
    pub chain: Vec<u64>,
}
