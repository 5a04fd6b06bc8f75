//! Where CPU time went: the `profile` object of a record.

use crate::{NS_PER_S, PhpProfiled};
use serde::{Deserialize, Serialize};

/// What a sampler saw on the CPUs of this machine. Shares are of the samples that are told, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profiled {
    /// The kernel's event whose overflows are the samples.
    pub event: String,
    /// Samples per second on each CPU.
    pub frequency_hz: u32,
    /// How long it sampled; ns.
    pub sampled_ns: u64,
    /// CPUs that were sampled.
    pub cpus: u32,
    /// Samples that are told.
    pub samples: u64,
    /// Samples of CPUs that had nothing to do; not among `samples`.
    pub idle_samples: u64,
    /// Samples that were taken and not kept, by the kernel or here.
    pub lost_samples: u64,
    /// Share with a function's name at the innermost frame.
    pub symbol_share: f64,
    /// Share with a function's name there, or at least the file that the code is from.
    pub resolved_share: f64,
    /// Share inside the kernel.
    pub kernel_share: f64,
    /// Share in soft interrupts, whoever was interrupted: most of what the network costs.
    pub softirq_share: f64,
    /// CPU time of the sampler itself, in all CPU time of the machine; what the kernel needs to take a sample is not in
    /// it.
    pub reader_share: f64,
    /// The load under which it sampled: connections, or requests per second; null outside a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Good responses per second while it sampled; null when there was no load of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_per_s: Option<f64>,
    /// Goodput while it sampled, relative to the same load without: -0.02 is 2 % less. Null where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_change: Option<f64>,
    /// CPU time that one sample stands for, for each good response while it sampled; null where there is none. us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_us_per_good_request: Option<f64>,
    /// By process, the one with the most samples first.
    pub processes: Vec<ProfiledProcess>,
    /// The functions that were innermost most often.
    pub functions: Vec<ProfiledFunction>,
    /// PHP functions, where the server is a stack that samples them; null elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub php: Option<Box<PhpProfiled>>,
    /// What would make more of it readable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// Processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledProcess {
    /// Name, as it stands first in the folded stacks.
    pub name: String,
    /// What it has to do with the load.
    pub role: ProcessRole,
    /// Processes of this name that were seen running.
    pub count: u32,
    /// Samples.
    pub samples: u64,
    /// Share of the samples.
    pub share: f64,
    /// Share of its samples with a function's name at the innermost frame.
    pub symbol_share: f64,
    /// Share of its samples with a function's name there, or at least the file that the code is from.
    pub resolved_share: f64,
    /// Share of its samples that are inside the kernel.
    pub kernel_share: f64,
    /// Share of its samples that are in soft interrupts.
    pub softirq_share: f64,
    /// CPU time for each good response; null without good responses. us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_good_request: Option<f64>,
}

/// What a process has to do with the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRole {
    /// The server, or what was asked for.
    Server,
    /// A companion of the server: what it hands requests to, such as PHP or a database.
    Companion,
    /// The program that measures.
    Own,
    /// No process at all: interrupts of CPUs that had nothing to do.
    Interrupts,
    /// Somebody else's.
    #[default]
    Other,
}

impl ProcessRole {
    /// True for what answers the requests.
    #[must_use]
    pub const fn is_serving(self) -> bool {
        matches!(self, Self::Server | Self::Companion)
    }
}

/// A function that was innermost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledFunction {
    /// Its name; `[FILE]` when only the file is known. The kernel's end in `_[k]`.
    pub name: String,
    /// The process it ran in.
    pub process: String,
    /// Samples that had it innermost.
    pub samples: u64,
    /// Share of the samples.
    pub share: f64,
}

impl Profiled {
    /// CPU time that one sample stands for; us.
    #[must_use]
    pub fn sample_us(&self) -> f64 {
        1e6 / f64::from(self.frequency_hz.max(1))
    }

    /// Time of its own clock that one sample of PHP functions stands for, for each good response while it sampled; us. None
    /// where a file of samples was full: there are good responses then that have none.
    #[must_use]
    pub fn php_sample_us_per_good(&self) -> Option<f64> {
        let php_us = self.php.as_ref().filter(|php| !php.is_full)?.sample_ns as f64 / 1e3;
        self.sample_us_per_good_request.map(|us| us / self.sample_us() * php_us)
    }

    /// Relates CPU time to the load under which it sampled.
    pub fn relate(&mut self, goodput_per_s: f64) {
        let good = goodput_per_s * self.sampled_ns as f64 / NS_PER_S as f64;
        let sample_us = (good > 0.0).then(|| self.sample_us() / good);
        self.goodput_per_s = Some(goodput_per_s);
        self.sample_us_per_good_request = sample_us;
        for process in &mut self.processes {
            process.cpu_us_per_good_request = sample_us.map(|us| process.samples as f64 * us);
        }
    }
}

/// Result of `plimsoll profile --json`, and its `profile.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// [`crate::FORMAT_PROFILE`].
    pub format: String,
    /// What was looked at, such as `port 8080`.
    pub scope: String,
    /// What was seen.
    pub profile: Profiled,
    /// Where it ran.
    pub environment: crate::Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// True if it ended before its time.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_related_to_the_good_responses_of_the_same_time() {
        let process = ProfiledProcess { samples: 198, ..ProfiledProcess::default() };
        let mut profiled =
            Profiled { frequency_hz: 99, sampled_ns: 4 * NS_PER_S, processes: vec![process], ..Profiled::default() };
        // 2 s of CPU in 4 s, with 1,000 responses in each.
        profiled.relate(1_000.0);
        let us = profiled.processes[0].cpu_us_per_good_request.unwrap();
        assert!((us - 500.0).abs() < 1e-9, "{us}");
        assert_eq!(profiled.php_sample_us_per_good(), None);
        profiled.php = Some(Box::new(PhpProfiled { sample_ns: 10_000_000, ..PhpProfiled::default() }));
        // 10 ms, of 4,000 responses.
        let us = profiled.php_sample_us_per_good().unwrap();
        assert!((us - 2.5).abs() < 1e-9, "{us}");
        profiled.php = profiled.php.map(|php| Box::new(PhpProfiled { is_full: true, ..*php }));
        assert_eq!(profiled.php_sample_us_per_good(), None, "a file of samples was full");
        profiled.relate(0.0);
        assert_eq!((profiled.processes[0].cpu_us_per_good_request, profiled.sample_us_per_good_request), (None, None));
    }
}
