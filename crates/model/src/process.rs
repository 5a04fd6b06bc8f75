//! Processes at a sample and over several of them. What is known of a process stands once, in [`PROCESS_FIGURES`].

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the figure of several processes comes from that of each, and that of several samples from that of each. It is known
/// only where it is known of each process that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// What was used since the sample before: the sum of all processes, and of all samples.
    Used,
    /// What there is at the sample: the sum of all processes, and the largest of the samples.
    Level,
    /// That of the process that is nearest to its limit of descriptors, at the sample at which it was nearest.
    Nearest,
}

/// What is known of a figure of processes before any is read.
#[derive(Clone, Copy, Debug)]
pub struct ProcessFigure {
    /// Its name in samples and in `plimsoll observe`, with its unit.
    pub name: &'static str,
    /// Its name in a run's `observed.server.processes[]`; none when that has no such field.
    pub recorded: Option<&'static str>,
    /// Its name for Prometheus, without the prefix; times are in seconds there.
    pub metric: &'static str,
    /// What it is, in words.
    pub words: &'static str,
    /// How it is summed.
    pub fold: Fold,
    /// Its value; none when that is not known.
    pub value: fn(&ProcessFigures) -> Option<u64>,
}

/// Makes the types and the sums of figures from a line for each: its name with its unit, its type, its [`Fold`], its name for
/// Prometheus, `as` its name in a run's record, and what it is. A new one is an `Option`, as older records do not have it.
macro_rules! process_figures {
    ($($(#[$attribute:meta])* $name:ident: $type:ty, $fold:ident, $metric:literal $(as $recorded:ident)?, $words:literal;)*) => {
        /// Figures of a process, or of several together, as [`ProcessFigure::fold`] says.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct ProcessFigures {
            $($(#[$attribute])* #[doc = $words] pub $name: $type,)*
        }

        /// Processes of one name over a window: of what was used the sum of its samples, of levels the largest.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct ProcessObserved {
            /// Name.
            pub name: String,
            /// Most at a time.
            pub count: u32,
            /// CPU time per time.
            pub cpu_cores: f64,
            /// CPU time per complete response; null without responses, and where it is less than the kernel counts. ns.
            pub cpu_ns_per_request: Option<f64>,
            $($(#[serde(default)] #[doc = $words] pub $recorded: $type,)?)*
        }

        /// All figures of a process.
        pub const PROCESS_FIGURES: &[ProcessFigure] = &[$(ProcessFigure {
            name: stringify!($name),
            recorded: [$(Some(stringify!($recorded)),)? None][0],
            metric: $metric,
            words: $words,
            fold: Fold::$fold,
            value: |figures| figures.$name.into(),
        },)*];

        impl ProcessFigures {
            /// `self` and `one` as `fold` puts two values together.
            fn folded(&self, one: &Self, fold: impl Fn(Fold, Option<u64>, Option<u64>) -> Option<u64>) -> Self {
                Self { $($name: Amount::of(fold(Fold::$fold, self.$name.into(), one.$name.into())),)* }
            }
        }

        impl ProcessObserved {
            /// What `process` was over a window, given its CPU time per time and per complete response (ns).
            #[must_use]
            pub fn new(process: &ProcessUse, cpu_cores: f64, cpu_ns_per_request: Option<f64>) -> Self {
                let ProcessUse { name, figures } = process;
                let count = u32::try_from(figures.count).unwrap_or(u32::MAX);
                Self {
                    name: name.clone(), count, cpu_cores, cpu_ns_per_request,
                    $($($recorded: figures.$name,)?)*
                }
            }
        }
    };
}

process_figures! {
    count: u64, Level, "processes", "Processes";
    cpu_ns: u64, Used, "cpu_seconds", "User and system time of all threads, ended ones included";
    rss_bytes: u64, Level, "resident_memory_bytes" as rss_bytes_max,
        "Resident memory; what processes share counts for each";
    #[serde(default)]
    vms_bytes: u64, Level, "virtual_memory_bytes" as vms_bytes_max, "Address space";
    #[serde(default)]
    threads: u64, Level, "threads", "Threads";
    pss_bytes: Option<u64>, Level, "proportional_memory_bytes" as pss_bytes_max,
        "Resident memory in which shared pages count in parts";
    fds: Option<u64>, Nearest, "open_fds" as fds_max, "Descriptors of the process nearest to its limit";
    fds_limit: Option<u64>, Nearest, "max_fds" as fds_limit, "The limit of that process";
}

/// The type of a figure.
trait Amount {
    fn of(value: Option<u64>) -> Self;
}

impl Amount for u64 {
    fn of(value: Option<u64>) -> Self {
        value.unwrap_or(0)
    }
}

impl Amount for Option<u64> {
    fn of(value: Option<u64>) -> Self {
        value
    }
}

/// The sum, if both are known.
fn sum(all: Option<u64>, one: Option<u64>) -> Option<u64> {
    all.zip(one).map(|(all, one)| all + one)
}

impl ProcessFigures {
    /// Those of all these processes at a sample.
    #[must_use]
    pub fn of<'a>(processes: impl IntoIterator<Item = &'a ProcessUse>) -> Self {
        let mut all = Self::default();
        processes.into_iter().for_each(|process| all.add_process(&process.figures));
        all
    }

    /// Adds those of other processes at the same sample.
    pub fn add_process(&mut self, one: &Self) {
        self.add(one, sum);
    }

    /// Adds those of the same processes at another sample.
    pub fn add_sample(&mut self, one: &Self) {
        self.add(one, Option::max);
    }

    fn add(&mut self, one: &Self, levels: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) {
        let (is_none, is_gone, is_nearer) = (self.count == 0, one.count == 0, one.is_nearer_than(self));
        *self = self.folded(one, |fold, all, one| match fold {
            Fold::Nearest if is_nearer => one,
            Fold::Nearest => all,
            // Processes that have ended have no level, and of what they used only the CPU time is known.
            Fold::Level if is_gone => all,
            Fold::Level if is_none => one,
            Fold::Level => levels(all, one),
            Fold::Used if is_none || is_gone => sum(all, one).or(all).or(one),
            Fold::Used => sum(all, one),
        });
    }

    /// What was used since they were as in `before`, and what there is now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        before.folded(self, |fold, before, now| match fold {
            Fold::Used => now.zip(before).map(|(now, before)| now.saturating_sub(before)),
            Fold::Level | Fold::Nearest => now,
        })
    }

    /// The same of a process that has just begun.
    #[must_use]
    pub fn at_begin(&self) -> Self {
        self.folded(self, |fold, _, now| if fold == Fold::Used { Some(0) } else { now })
    }

    /// What is not known here is taken from `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.folded(other, |_, here, other| here.or(other))
    }

    /// True if `other` is farther from its limit of descriptors, or that is not known.
    fn is_nearer_than(&self, other: &Self) -> bool {
        let fullness = |it: &Self| it.fds.zip(it.fds_limit).map(|(fds, limit)| fds as f64 / limit.max(1) as f64);
        fullness(self) > fullness(other)
    }
}

/// Processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Name of the process; `NAME` with [`ENDED_CHILDREN`] for children of it that came and went between two samples.
    pub name: String,
    /// Their figures.
    #[serde(flatten)]
    pub figures: ProcessFigures,
}

/// Behind the name of a process for its children that came and went between two samples.
pub const ENDED_CHILDREN: &str = " (ended children)";

/// The processes that listen on the target's port, or were asked for by name or number, and their descendants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerUse {
    /// By name of the process, in its order.
    pub processes: Vec<ProcessUse>,
    /// Processes that ended and whose last CPU time nobody can tell, since no process of the server waited for them.
    pub ended_unaccounted: u64,
    /// Processes that were there at the sample before and have ended, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ended: BTreeMap<String, u64>,
    /// Their threads; none in the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadsUse>,
}

impl ServerUse {
    /// Adds another sample of them, but for its threads.
    pub fn add_sample(&mut self, other: &Self) {
        let Self { processes, ended_unaccounted, ended, threads: _ } = other;
        add_processes(&mut self.processes, processes);
        self.ended_unaccounted += ended_unaccounted;
        ended.iter().for_each(|(name, n)| *self.ended.entry(name.clone()).or_default() += n);
    }
}

/// What threads used since they were looked at before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadsUse {
    /// The sample before that had threads; ns since the clock of the run started.
    pub from_ns: u64,
    /// Those that were there at both samples, or began between them; none at a sample that was left out.
    pub threads: Vec<ServerThread>,
    /// CPUs that those of them that ran may run on, by the last look.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

/// What one thread used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerThread {
    /// Process.
    pub pid: i32,
    /// Thread; that of the process for its first.
    pub tid: i32,
    /// Name of the thread.
    pub name: String,
    /// Time in programs, in steps of 10 ms; ns.
    pub user_ns: u64,
    /// Time in the kernel, in steps of 10 ms; ns.
    pub system_ns: u64,
    /// Time it could have run, but no CPU was free; none when the kernel does not tell. ns.
    pub wait_ns: Option<u64>,
    /// Times it stopped by itself, to wait for something.
    pub voluntary_switches: u64,
    /// Times it was stopped for another.
    pub involuntary_switches: u64,
}

/// Processes that are neither server, companion nor load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OthersUse {
    /// The sample before that had them; ns since the clock of the run started.
    pub from_ns: u64,
    /// Those that used CPU time, by name.
    pub processes: Vec<ProcessUse>,
    /// Those of which this user cannot see whether they work for the server, by name: none of `processes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<ProcessUse>,
}

impl OthersUse {
    /// Adds another sample of them; the begin stays.
    pub fn add_sample(&mut self, other: &Self) {
        let Self { from_ns: _, processes, undecided } = other;
        add_processes(&mut self.processes, processes);
        add_processes(&mut self.undecided, undecided);
    }
}

/// Adds another sample to `sum`, each process to those of its name.
pub fn add_processes(sum: &mut Vec<ProcessUse>, sample: &[ProcessUse]) {
    for process in sample {
        match sum.binary_search_by(|known| known.name.cmp(&process.name)) {
            Ok(at) => sum[at].figures.add_sample(&process.figures),
            Err(at) => sum.insert(at, process.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(count: u64, cpu_ns: u64, rss_bytes: u64, pss_bytes: Option<u64>) -> ProcessFigures {
        ProcessFigures { count, cpu_ns, rss_bytes, pss_bytes, ..ProcessFigures::default() }
    }

    #[test]
    fn levels_are_summed_over_processes_and_the_largest_over_time() {
        let ended_children = figures(0, 7, 0, None);
        let mut all = ended_children;
        [figures(1, 10, 30, Some(3)), ended_children, figures(2, 20, 40, Some(4))]
            .iter()
            .for_each(|one| all.add_process(one));
        assert_eq!(all, figures(3, 44, 70, Some(7)));
        all.add_sample(&figures(4, 5, 60, Some(9)));
        assert_eq!(all, figures(4, 49, 70, Some(9)));
        all.add_process(&figures(1, 0, 1, None));
        assert_eq!(all.pss_bytes, None, "known of all or not at all");
    }

    #[test]
    fn descriptors_are_those_of_the_process_nearest_to_its_limit() {
        let holds = |fds, fds_limit| ProcessFigures { fds, fds_limit, ..figures(1, 0, 0, None) };
        let all = [(None, None), (Some(1_000), Some(1_024)), (Some(5_000), Some(1 << 20)), (Some(9_000), None)];
        let (mut of_processes, mut of_samples) = (ProcessFigures::default(), ProcessFigures::default());
        for (fds, limit) in all {
            of_processes.add_process(&holds(fds, limit));
            of_samples.add_sample(&holds(fds, limit));
        }
        assert_eq!((of_processes.fds, of_processes.fds_limit), (Some(1_000), Some(1_024)));
        assert_eq!((of_samples.fds, of_samples.fds_limit), (Some(1_000), Some(1_024)));
    }

    #[test]
    fn what_is_used_counts_from_the_sample_before_or_from_the_begin() {
        let (before, now) = (figures(1, 100, 50, Some(5)), figures(1, 130, 40, None));
        assert_eq!(now.since(&before), figures(1, 30, 40, None));
        assert_eq!(now.since(&before.at_begin()), now);
        assert_eq!(now.or(&before).pss_bytes, Some(5));
    }

    /// Also as they were written before some of the figures were there.
    #[test]
    fn a_process_is_read_back_as_it_was_written() {
        let process = ProcessUse { name: "nginx".into(), figures: figures(2, 3, 4, Some(5)) };
        let text = r#"{"name":"nginx","count":2,"cpu_ns":3,"rss_bytes":4,"vms_bytes":0,"threads":0,"pss_bytes":5,"fds":null,"fds_limit":null}"#;
        assert_eq!(serde_json::to_string(&process).expect("JSON"), text);
        assert_eq!(serde_json::from_str::<ProcessUse>(text).ok().as_ref(), Some(&process));
        let old = r#"{"name":"nginx","count":2,"cpu_ns":3,"rss_bytes":4}"#;
        let of_old = ProcessUse { figures: figures(2, 3, 4, None), ..process };
        assert_eq!(serde_json::from_str::<ProcessUse>(old).ok(), Some(of_old));
    }

    /// Places that the compiler does not name: the pages that say what there is.
    #[test]
    fn each_figure_stands_in_the_pages() {
        let (observe, results) =
            (include_str!("../../../docs/reference/observe.md"), include_str!("../../../docs/reference/results.md"));
        for figure in PROCESS_FIGURES {
            let is_told = |page: &str, name: &str| page.contains(&format!("`{name}`"));
            assert!(
                is_told(observe, figure.name),
                "docs/reference/observe.md has no `{}`: {}",
                figure.name,
                figure.words
            );
            let is_recorded = figure.recorded.is_none_or(|name| is_told(results, name));
            assert!(is_recorded, "docs/reference/results.md has no `{}`", figure.recorded.unwrap_or_default());
        }
    }
}
