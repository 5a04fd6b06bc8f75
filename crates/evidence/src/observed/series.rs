//! Time series by second: one column for each figure of each thing, so that names are kept once.

use super::{ratio, share};
use model::{
    ENDED_CHILDREN, NS_PER_S, ObservedSecond, ProcessFigures, Sample, SeriesFigure, SeriesObserved, ServerObserved,
    ServerThreadObserved, ServerUse, Sockets,
};
use std::collections::BTreeMap;

/// Things a figure is told of by themselves; further ones share the column [`FURTHER`].
const COLUMNS_MAX: usize = 24;
const FURTHER: &str = "further";
/// Threads that are told: those that kept a CPU busiest.
const THREADS_TOLD_MAX: usize = 16;
/// Threads of a group that are kept of each sample, the busiest: twice as many, as others may be so over the window.
const THREADS_KEPT_MAX: usize = 2 * THREADS_TOLD_MAX;

/// The columns of a window. A value that is missing at the end of a column is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeriesSum {
    columns: BTreeMap<(SeriesFigure, String), Vec<Option<f32>>>,
    /// Of each sample of threads, in the order of the samples.
    threads: Vec<ThreadBusy>,
}

/// Share of its time that a thread was on a CPU in the seconds from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ThreadBusy {
    tid: i32,
    first: u32,
    last: u32,
    busy: f32,
}

impl SeriesSum {
    /// Adds a sample, which is the last of `seconds`.
    pub(super) fn add(&mut self, sample: &Sample, seconds: &[ObservedSecond]) {
        let Some((at, second)) = seconds.iter().enumerate().next_back() else { return };
        let servers = sample.server.iter().map(|server| ("server", server));
        let companions = sample.companions.iter().map(|(label, companion)| (label.as_str(), companion));
        for (label, group) in servers.chain(companions) {
            for process in &group.processes {
                self.add_process(&process_name(label, &process.name), &process.figures, at, second.length_ns);
            }
            self.add_threads(group, sample.to_ns, seconds);
        }
        if let Some(generator) = sample.load_generator() {
            let name = SeriesObserved::GENERATOR;
            self.put(SeriesFigure::CpuCores, name, at, ratio(generator.cpu_ns, second.length_ns));
            for thread in generator.threads.iter().take(COLUMNS_MAX) {
                let name = format!("{name}: {}", thread.name);
                self.put(SeriesFigure::ThreadBusy, &name, at, ratio(thread.cpu_ns, second.length_ns));
            }
        }
        if let Some(machine) = &sample.machine {
            let cores = share(machine.total.softirq_ns, &machine.total) * machine.cpus.len() as f64;
            self.put(SeriesFigure::CpuCores, SeriesObserved::INTERRUPTS, at, cores);
        }
        if let Some(others) = &sample.others {
            let used = ProcessFigures::of(others.processes.iter().chain(&others.undecided));
            let cores = ratio(used.cpu_ns, sample.to_ns.saturating_sub(others.from_ns));
            for at in since(seconds, others.from_ns)..seconds.len() {
                self.put(SeriesFigure::CpuCores, SeriesObserved::OTHERS, at, cores);
            }
        }
        if let Some(sockets) = &sample.sockets {
            self.add_sockets(sockets, at);
        }
        self.add_network(sample, at, second.length_ns);
    }

    fn add_process(&mut self, name: &str, process: &ProcessFigures, at: usize, length_ns: u64) {
        self.put(SeriesFigure::CpuCores, name, at, ratio(process.cpu_ns, length_ns));
        // Children that have ended had no memory any more at the sample.
        if process.count > 0 {
            self.put(SeriesFigure::RssBytes, name, at, process.rss_bytes as f64);
            if let Some(pss_bytes) = process.pss_bytes {
                self.put(SeriesFigure::PssBytes, name, at, pss_bytes as f64);
            }
        }
    }

    fn add_threads(&mut self, group: &ServerUse, to_ns: u64, seconds: &[ObservedSecond]) {
        let Some(used) = &group.threads else { return };
        let length_ns = to_ns.saturating_sub(used.from_ns);
        let (first, last) = (since(seconds, used.from_ns) as u32, seconds.len() as u32 - 1);
        let mut threads: Vec<_> = used.threads.iter().collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.user_ns + thread.system_ns));
        self.threads.extend(threads.into_iter().take(THREADS_KEPT_MAX).map(|thread| {
            let busy = ratio(thread.user_ns + thread.system_ns, length_ns) as f32;
            ThreadBusy { tid: thread.tid, first, last, busy }
        }));
    }

    fn add_sockets(&mut self, sockets: &Sockets, at: usize) {
        for (state, n) in sockets.server.as_ref().unwrap_or(&sockets.client) {
            self.put(SeriesFigure::Sockets, state, at, *n as f64);
        }
        if let Some(waiting) = sockets.accept_queue {
            self.put(SeriesFigure::AcceptQueue, "", at, waiting as f64);
        }
    }

    fn add_network(&mut self, sample: &Sample, at: usize, length_ns: u64) {
        for (part, counters) in &sample.kernel.counters {
            let Some(name) = part.strip_prefix("nic/") else { continue };
            let moved =
                [("received_bytes", SeriesFigure::ReceivedBytesPerS), ("sent_bytes", SeriesFigure::SentBytesPerS)];
            for (counter, figure) in moved {
                if let Some(n) = counters.get(counter) {
                    self.put(figure, name, at, ratio(*n, length_ns) * NS_PER_S as f64);
                }
            }
        }
    }

    /// Adds `value` to what the second `at` of a column has.
    fn put(&mut self, figure: SeriesFigure, of: &str, at: usize, value: f64) {
        let mut key = (figure, of.to_owned());
        if !self.columns.contains_key(&key) && self.columns.keys().filter(|key| key.0 == figure).count() >= COLUMNS_MAX
        {
            FURTHER.clone_into(&mut key.1);
        }
        let column = self.columns.entry(key).or_default();
        if column.len() <= at {
            column.resize(at + 1, None);
        }
        column[at] = Some(column[at].unwrap_or(0.0) + value as f32);
    }

    /// Adds the columns of another window behind `seconds` of this one.
    pub(super) fn merge(&mut self, other: &Self, seconds: usize) {
        for ((figure, of), column) in &other.columns {
            for (i, value) in column.iter().enumerate() {
                if let Some(value) = value {
                    self.put(*figure, of, seconds + i, f64::from(*value));
                }
            }
        }
        let later = |thread: &ThreadBusy| {
            let (first, last) = (thread.first + seconds as u32, thread.last + seconds as u32);
            ThreadBusy { first, last, ..*thread }
        };
        self.threads.extend(other.threads.iter().map(later));
    }

    /// The columns, and those of the threads of `groups` that kept a CPU busiest.
    pub(super) fn observed<'a>(&self, groups: impl Iterator<Item = &'a ServerObserved>) -> Vec<SeriesObserved> {
        let columns = self.columns.iter().map(|((figure, of), values)| SeriesObserved {
            figure: *figure,
            of: of.clone(),
            values: values.clone(),
        });
        let mut threads: Vec<&ServerThreadObserved> = groups.flat_map(|group| &group.threads).collect();
        threads.sort_by(|a, b| (b.user_mean + b.system_mean).total_cmp(&(a.user_mean + a.system_mean)));
        columns.chain(threads.into_iter().take(THREADS_TOLD_MAX).map(|thread| self.thread(thread))).collect()
    }

    fn thread(&self, thread: &ServerThreadObserved) -> SeriesObserved {
        let mut values = Vec::new();
        for look in self.threads.iter().filter(|look| look.tid == thread.tid) {
            values.resize(look.first as usize, None);
            values.resize(look.last as usize + 1, Some(look.busy));
        }
        SeriesObserved { figure: SeriesFigure::ThreadBusy, of: format!("{} ({})", thread.name, thread.tid), values }
    }
}

/// The first of the seconds that began at `from_ns` or later, or else the last: what was seen since is of all of them.
fn since(seconds: &[ObservedSecond], from_ns: u64) -> usize {
    let later = seconds.iter().rev().take_while(|second| second.from_ns > from_ns).count();
    let first = seconds.len() - later;
    // The sample before was at the very beginning of a second.
    let at_begin = later > 0 && first > 0 && seconds[first - 1].from_ns == from_ns;
    if at_begin { first - 1 } else { first.min(seconds.len() - 1) }
}

/// A process of a group; children that have ended are told with those that live.
fn process_name(label: &str, name: &str) -> String {
    format!("{label}: {}", name.trim_end_matches(ENDED_CHILDREN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{GeneratorUse, KernelFigures, OthersUse, Phase, ProcessUse, ServerThread, ThreadsUse};

    /// The second `at`, in which nginx and its ended children used `cpu_ms` and thread 7 as much since `from_s`.
    fn sample(at: u64, cpu_ms: u64, threads_from_s: Option<u64>) -> Sample {
        let process = |name: &str, count| ProcessUse {
            name: name.into(),
            figures: ProcessFigures { count, cpu_ns: cpu_ms * 1_000_000, rss_bytes: 10, ..ProcessFigures::default() },
        };
        let thread = |tid, user_ns| ServerThread { tid, user_ns, ..ServerThread::default() };
        let threads = |from_s: u64| ThreadsUse {
            from_ns: from_s * NS_PER_S,
            threads: vec![thread(8, 0), thread(7, cpu_ms * 1_000_000)],
            cpus: Vec::new(),
        };
        Sample {
            source: model::SourceId::LOCAL,
            phase: Phase::Measure,
            from_ns: at * NS_PER_S,
            to_ns: (at + 1) * NS_PER_S,
            machine: None,
            server: Some(ServerUse {
                processes: vec![process("nginx", 1), process("nginx (ended children)", 0)],
                threads: threads_from_s.map(threads),
                ..ServerUse::default()
            }),
            generator: Some(GeneratorUse { cpu_ns: NS_PER_S / 2, ..GeneratorUse::default() }),
            sockets: Some(Sockets { client: [("established".to_owned(), 4)].into(), ..Sockets::default() }),
            companions: BTreeMap::new(),
            companion_sockets: BTreeMap::new(),
            others: threads_from_s.map(|from_s| OthersUse {
                from_ns: from_s * NS_PER_S,
                processes: vec![process("cron", 1)],
                ..OthersUse::default()
            }),
            kernel: KernelFigures {
                counters: [("nic/lo".to_owned(), [("sent_bytes".to_owned(), at)].into())].into(),
                ..KernelFigures::default()
            },
            states: None,
            look_cpu_ns: None,
            unavailable: BTreeMap::new(),
        }
    }

    fn sum(samples: &[Sample]) -> SeriesSum {
        let (mut sum, mut seconds) = (SeriesSum::default(), Vec::new());
        for sample in samples {
            let length_ns = sample.to_ns - sample.from_ns;
            seconds.push(ObservedSecond { from_ns: sample.from_ns, length_ns, ..ObservedSecond::default() });
            sum.add(sample, &seconds);
        }
        sum
    }

    fn of(told: &[SeriesObserved], figure: SeriesFigure, of: &str) -> Vec<Option<f32>> {
        told.iter().find(|series| series.figure == figure && series.of == of).expect("it is told").values.clone()
    }

    #[test]
    fn what_was_looked_at_seldom_is_of_all_seconds_since() {
        let sum = sum(&[sample(5, 100, Some(3)), sample(6, 200, None), sample(7, 300, Some(6))]);
        let thread = ServerThreadObserved { tid: 7, name: "nginx".into(), ..ServerThreadObserved::default() };
        let server = ServerObserved { threads: vec![thread], ..ServerObserved::default() };
        let told = sum.observed([&server].into_iter());
        assert_eq!(of(&told, SeriesFigure::CpuCores, "server: nginx"), [Some(0.2), Some(0.4), Some(0.6)]);
        assert_eq!(of(&told, SeriesFigure::CpuCores, "load generator"), [Some(0.5); 3]);
        let since = [Some(0.1 / 3.0), Some(0.15), Some(0.15)];
        assert_eq!(of(&told, SeriesFigure::CpuCores, "all others"), since);
        assert_eq!(of(&told, SeriesFigure::ThreadBusy, "nginx (7)"), since);
        assert_eq!(of(&told, SeriesFigure::RssBytes, "server: nginx"), [Some(10.0); 3]);
        assert_eq!(of(&told, SeriesFigure::Sockets, "established"), [Some(4.0); 3], "the clients' ends");
        assert_eq!(of(&told, SeriesFigure::SentBytesPerS, "lo"), [Some(5.0), Some(6.0), Some(7.0)]);
    }

    #[test]
    fn windows_stand_one_behind_the_other() {
        let (first, second) = ([sample(0, 10, None)], [sample(0, 20, None), sample(1, 30, Some(0))]);
        let mut merged = sum(&first);
        merged.merge(&sum(&second), 1);
        let told = merged.observed(std::iter::empty());
        assert_eq!(of(&told, SeriesFigure::CpuCores, "server: nginx"), [Some(0.02), Some(0.04), Some(0.06)]);
        assert_eq!(of(&told, SeriesFigure::CpuCores, "all others"), [None, Some(0.015), Some(0.015)]);
        assert_eq!((merged.threads[0].first, merged.threads[0].last), (1, 2));
    }

    #[test]
    fn columns_are_bounded() {
        let mut sum = SeriesSum::default();
        for i in 0..40 {
            sum.put(SeriesFigure::Sockets, &i.to_string(), 0, 1.0);
        }
        let told = sum.observed(std::iter::empty());
        assert_eq!(told.len(), COLUMNS_MAX + 1);
        assert_eq!(of(&told, SeriesFigure::Sockets, FURTHER), [Some(16.0)], "nothing is lost");
    }
}
