//! Takes samples through perf_event, of what runs and of threads that leave their CPU: an event of each with its ring buffer
//! for each CPU, emptied by a thread of its own.

use super::journal::{Journal, Take};
use super::stacks::{Kind, Names, Recorded, Stacks};
use super::switches::{Switches, thread_and_time};
use super::waits::Waits;
use model::{FORMAT_SAMPLES, SamplesAdded, SamplesBegun};
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, Clock, ReadFormat, SampleFlag, Sampler};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;

/// Samples a second on each CPU: not a divisor of the rate at which anything else is woken.
pub const FREQUENCY_HZ: u32 = 99;
/// Sampling pauses after so many readings of the rings, for a random time below that: where a server is asked without a pause
/// and all its responses take the same time, the samples would stay in step with them, and meet some part of a response each
/// time, or never. The kernel goes on with what was left until the next sample, and pauses are no time in which was sampled.
const PAUSE_AFTER: u32 = 5;
const PAUSE_BELOW: Duration = Duration::from_millis(2);
/// At most 127 addresses a sample, so that it takes more than two seconds to fill.
const RING_BYTES: usize = 256 * 1024;
/// Time between two readings of the rings. Meanwhile that of switches takes 100 of the longest samples.
const READ_EVERY: Duration = Duration::from_millis(20);
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
/// Differs from one start of the machine to the next.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Why nothing can be sampled.
#[derive(Debug, Error)]
pub enum Unprofiled {
    /// The kernel asks for more rights.
    #[error(
        "the kernel lets this user not sample all CPUs (kernel.perf_event_paranoid is {0}): run as root, or give the \
         program the right with setcap cap_perfmon+ep, or set sysctl kernel.perf_event_paranoid=0"
    )]
    Permission(String),
    /// The kernel has no such event: a container's filter, or a kernel without it.
    #[error("the kernel has no perf_event here ({0}): a container may forbid it; run where the kernel allows it")]
    Unsupported(io::Error),
    /// The thread that reads the samples could not be started.
    #[error("cannot start the thread that reads the samples: {0}")]
    Thread(io::Error),
}

/// Samples all CPUs while it is switched on.
#[derive(Debug)]
pub struct Profiler {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<Stacks>>,
}

struct Shared {
    rings: Mutex<Rings>,
    ended: AtomicBool,
}

/// One of each kind for each CPU.
struct Rings {
    running: Vec<Sampler>,
    /// Or why there are none.
    switches: Result<Vec<Switches>, String>,
    is_on: bool,
}

impl Rings {
    /// Time for which they have been switched on; ns.
    fn sampled_ns(&mut self) -> u64 {
        let on = self.running.iter_mut().filter_map(|ring| ring.read_full().ok()?.time_enabled()).max();
        on.unwrap_or_default().as_nanos() as u64
    }

    fn switch_on(&mut self) {
        self.is_on = true;
        self.go_on();
        self.switches.iter_mut().flatten().for_each(Switches::switch_on);
    }

    fn switch_off(&mut self) {
        self.is_on = false;
        self.pause();
        self.switches.iter_mut().flatten().for_each(Switches::switch_off);
    }

    /// Takes no samples of what runs.
    fn pause(&mut self) {
        // An event of a CPU that has gone offline since cannot be switched; the others can.
        self.running.iter_mut().for_each(|ring| drop(ring.disable()));
    }

    /// Takes samples of what runs.
    fn go_on(&mut self) {
        self.running.iter_mut().for_each(|ring| drop(ring.enable()));
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Shared {
    fn rings(&self) -> MutexGuard<'_, Rings> {
        // Rings are whole between any two calls, whoever panicked.
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses, if it samples at all; who switches it on or off does not wait for the end.
    fn pause(&self, random: &mut SplitMix64) {
        {
            let mut rings = self.rings();
            if !rings.is_on {
                return;
            }
            rings.pause();
        }
        std::thread::sleep(PAUSE_BELOW.mul_f64(f64::from(random.next_u32()) / f64::from(u32::MAX)));
        let mut rings = self.rings();
        if rings.is_on {
            rings.go_on();
        }
    }
}

impl Profiler {
    /// Gets everything ready, switched off. `thread_cpu_ns` is the CPU time of the thread that calls it; `take` writes down
    /// what is sampled, while it is.
    pub fn new(thread_cpu_ns: fn() -> u64, take: Option<Take>) -> Result<Self, Unprofiled> {
        let cpus = online_cpus();
        let running = cpus.iter().copied().map(ring).collect::<io::Result<Vec<_>>>().map_err(refused)?;
        if running.is_empty() {
            return Err(Unprofiled::Unsupported(io::Error::other("no CPU is listed")));
        }
        let switches = cpus.iter().copied().map(Switches::new).collect::<io::Result<_>>();
        let rings = Rings { running, switches: switches.map_err(|error| error.to_string()), is_on: false };
        let shared = Arc::new(Shared { rings: Mutex::new(rings), ended: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let read = move || {
            let mut stacks = if take.is_some() { Stacks::written_down() } else { Stacks::default() };
            let (mut waits, mut journal) = (Waits::default(), take.map(|take| Journal::new(take, READ_EVERY)));
            let (mut random, mut readings) = (SplitMix64::seed_from_u64(0), 0);
            loop {
                // Looked at first, so that the last round finds all there is.
                let ended = theirs.ended.load(Ordering::Acquire);
                let mut rings = theirs.rings();
                rings.running.iter_mut().for_each(|ring| empty(ring, &mut stacks));
                rings.switches.iter_mut().flatten().for_each(|of_cpu| of_cpu.empty(&mut waits, &mut stacks));
                let is_due = journal.as_mut().is_some_and(Journal::is_due);
                let due_ns = is_due.then(|| rings.sampled_ns());
                drop(rings);
                waits.settle(&mut stacks);
                if let Some((journal, sampled_ns)) = journal.as_mut().zip(due_ns) {
                    let reader_cpu_ns = thread_cpu_ns();
                    journal.tell(SamplesAdded { sampled_ns, reader_cpu_ns, ..stacks.take_new() });
                }
                if ended {
                    waits.finish(&mut stacks);
                    stacks.reader_cpu_ns = thread_cpu_ns();
                    return stacks;
                }
                std::thread::sleep(READ_EVERY);
                readings += 1;
                if readings % PAUSE_AFTER == 0 {
                    theirs.pause(&mut random);
                }
            }
        };
        let reader = std::thread::Builder::new().name("profile".into()).spawn(read).map_err(Unprofiled::Thread)?;
        Ok(Self { shared, reader: Some(reader) })
    }

    /// The first line of what is written down, without who is looked at.
    #[must_use]
    pub fn begun(&self) -> SamplesBegun {
        let rings = self.shared.rings();
        SamplesBegun {
            format: FORMAT_SAMPLES.into(),
            boot_id: boot_id(),
            pid: std::process::id(),
            cpus: rings.running.len() as u32,
            no_waits: rings.switches.as_ref().err().cloned(),
            ..SamplesBegun::default()
        }
    }

    /// Begins to sample.
    pub fn switch_on(&self) {
        self.shared.rings().switch_on();
    }

    /// Stops sampling; what is in the rings stays.
    pub fn switch_off(&self) {
        self.shared.rings().switch_off();
    }

    /// Everything that was sampled.
    #[must_use]
    pub fn finish(mut self) -> Recorded {
        self.switch_off();
        self.shared.ended.store(true, Ordering::Release);
        let stacks = self.reader.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let mut rings = self.shared.rings();
        let no_waits = rings.switches.as_ref().err().cloned();
        let (sampled_ns, cpus) = (rings.sampled_ns(), rings.running.len() as u32);
        Recorded { stacks, no_waits, sampled_ns, cpus, own: std::process::id(), names: Names::Running }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
    }
}

impl Recorded {
    /// Samples of all processes for as long as `wait` takes.
    pub fn during(thread_cpu_ns: fn() -> u64, wait: impl FnOnce()) -> Result<Self, Unprofiled> {
        let profiler = Profiler::new(thread_cpu_ns, None)?;
        profiler.switch_on();
        wait();
        Ok(profiler.finish())
    }
}

/// The event of one CPU, with its ring, switched off.
fn ring(cpu: usize) -> io::Result<Sampler> {
    let sample = SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME | SampleFlag::CALLCHAIN;
    Builder::new(Software::CPU_CLOCK)
        .any_pid()
        .one_cpu(cpu)
        .include_kernel()
        .sample_frequency(FREQUENCY_HZ.into())
        .sample(sample)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED)
        // Who starts whom and what processes are called, so that those are known too that end before a sample.
        .task(true)
        .comm(true)
        // These end with thread and time.
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .enabled(false)
        .build()?
        .sampled(RING_BYTES)
}

/// Takes all records out of a ring.
fn empty(ring: &mut Sampler, stacks: &mut Stacks) {
    while let Some(record) = ring.next_record() {
        match record.parse_record() {
            Ok(Record::Sample(sample)) => {
                stacks.add(Kind::Running, sample.pid().unwrap_or(0), sample.callchain().unwrap_or(&[]), 1)
            }
            Ok(Record::Lost(lost)) => stacks.lost += lost.lost,
            Ok(Record::LostSamples(lost)) => stacks.lost += lost.lost,
            Ok(Record::Fork(fork)) => stacks.tree.forked(fork.pid, fork.ppid),
            // That of a process, not of one of its threads.
            Ok(Record::Comm(comm)) if comm.pid == comm.tid => {
                let told_ns = thread_and_time(&record.to_contiguous()).map_or(0, |(_, time_ns)| time_ns);
                stacks.tree.named(comm.pid, &comm.comm, told_ns);
                stacks.maps.forget(comm.pid);
            }
            // Ends of processes, and throttling, which is rarer than one in the thousands of samples it needs.
            Ok(_) => {}
            Err(_) => stacks.lost += 1,
        }
    }
}

/// The kernel's name for this start of the machine; empty where it has none.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned()
}

/// What the kernel's refusal means.
fn refused(error: io::Error) -> Unprofiled {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let paranoid = std::fs::read_to_string(PARANOID).unwrap_or_default();
            Unprofiled::Permission(if paranoid.is_empty() { "unknown".into() } else { paranoid.trim().into() })
        }
        _ => Unprofiled::Unsupported(error),
    }
}

/// CPUs that are switched on, from a list such as `0-3,5`.
fn online_cpus() -> Vec<usize> {
    parse_cpus(&std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default())
}

fn parse_cpus(list: &str) -> Vec<usize> {
    let span = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    };
    list.trim().split(',').filter_map(span).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse_cpus("0-1\n"), [0, 1]);
        assert_eq!(parse_cpus("0,2-4,7\n"), [0, 2, 3, 4, 7]);
        assert_eq!(parse_cpus(""), [0; 0]);
    }

    #[test]
    fn a_refusal_says_what_to_set() {
        let text = refused(io::Error::from(io::ErrorKind::PermissionDenied)).to_string();
        let set = ["perf_event_paranoid is ", "cap_perfmon", "kernel.perf_event_paranoid=0"];
        assert!(set.iter().all(|words| text.contains(words)) && text.lines().count() == 1, "{text}");
        assert!(refused(io::Error::from_raw_os_error(2)).to_string().contains("no perf_event here"));
    }
}
