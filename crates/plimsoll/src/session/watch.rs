//! Looks at machine, server and generator after each tick of a load: on the thread that collects the ticks, which
//! carries no load, and on the load's own time axis.

use clock::{Clock, monotonic_ns, process_cpu_ns, thread_cpu_ns};
use engine::marks::SliceMarks;
use engine::run::Control;
use model::{Address, Event, KernelFigures, NOT_OBSERVED, Phase, Sample, SliceAccount, SourceId, Tick};
use observe::{Clocks, Observer, ProcessSelector, TakenFingerprint};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Looks at a machine without load: so many that the processes of a busy one are seen, of which not each sample tells all.
const LOOKS: usize = 5;
/// Time between them.
const LOOK: Duration = Duration::from_millis(200);

/// What has a reason of its own in the record when nobody looks.
const PARTS: [&str; 7] = ["generator", "kernel", "machine", "others", "pools", "server", "sockets"];

/// Processes that are watched.
pub(crate) struct Watched {
    /// Where the server is reached.
    pub(crate) address: Address,
    /// True if it can be on this machine.
    pub(crate) is_here: bool,
    /// None: whoever listens there.
    pub(crate) server: Option<ProcessSelector>,
    /// Beside it.
    pub(crate) companions: Vec<ProcessSelector>,
    /// Processes of another server that is measured at the same time.
    pub(crate) neighbours: Vec<i32>,
    /// True if the load comes from this machine.
    pub(crate) is_load_here: bool,
}

impl Watched {
    /// What happens on this machine for a moment in which no load runs, look by look.
    pub(crate) fn idle(&self) -> Vec<Sample> {
        let mut observer = self.observer();
        let clock = Clock::start();
        observer.start(clock.now_ns());
        let look = |_| {
            std::thread::sleep(LOOK);
            observer.sample(clock.now_ns(), Phase::Measure)
        };
        (0..LOOKS).map(look).collect()
    }

    /// What this machine is, and the programs of server and companions.
    pub(crate) fn fingerprint(&self) -> TakenFingerprint {
        TakenFingerprint::new(observe::fingerprint(&self.observer()))
    }

    /// CPUs that the server and its companions may use, if they are on this machine; empty when that is not known.
    pub(crate) fn server_cpus(&self) -> Vec<u32> {
        self.observer().server_cpus()
    }

    fn observer(&self) -> Observer {
        let (address, is_here) = (self.address.clone(), self.is_here);
        match &self.server {
            Some(server) => Observer::with_server(address, is_here, server, &self.companions),
            None => Observer::new(address, is_here, &self.companions),
        }
    }
}

/// Turns ticks into samples.
pub(crate) enum Watch {
    On {
        observer: Box<Observer>,
        /// The load's, once it has begun.
        clock: Arc<OnceLock<Clock>>,
        /// Which time is disturbed, for those who carry the load.
        marks: Arc<SliceMarks>,
        /// What the account says and no event has told yet.
        pending: Arc<Mutex<Pending>>,
        /// The server's CPU quota before the first load.
        quota_at_begin_ns: Option<u64>,
        is_load_here: bool,
    },
    /// Nobody looks, which is said once.
    Off { is_said: bool },
}

impl Watch {
    /// Finds the processes that are watched, which takes a moment. The load is the one that `control` acts on; a CPU quota of
    /// the server counts as one of its limits when it is that of before the first load, which `quota` knows once it was asked.
    pub(crate) fn new(watched: &Watched, control: &Control, quota: &OnceCell<Option<u64>>) -> Self {
        let observer = watched.observer();
        let observer = match control.part {
            0 => observer,
            part => observer.beside_another(part, watched.neighbours.clone()),
        };
        let observer = Box::new(observer);
        let quota_at_begin_ns = *quota.get_or_init(|| observer.server_quota_ns());
        let (clock, marks) = (Arc::clone(&control.clock), Arc::clone(&control.marks));
        let is_load_here = watched.is_load_here;
        Self::On { observer, clock, marks, pending: Arc::default(), quota_at_begin_ns, is_load_here }
    }

    /// Looks at nothing.
    pub(crate) const fn off() -> Self {
        Self::Off { is_said: false }
    }

    /// Starts once the connections are open: the next thing the engine does is to start the clock of the load.
    pub(crate) fn start_after(&mut self, event: &Event) {
        let (Event::Connected { .. }, Self::On { observer, clock, marks, pending, quota_at_begin_ns, is_load_here }) =
            (event, self)
        else {
            return;
        };
        observer.start(0);
        let clocks = Clocks { thread_cpu_ns, process_cpu_ns, monotonic_ns };
        observer.watch_states(clocks);
        // Who carries the load elsewhere is not told which time is disturbed here.
        if !*is_load_here {
            return;
        }
        let load_clock = Arc::clone(clock);
        let load_clock = Box::new(move || load_clock.get().map(Clock::now_ns));
        let publish = publish(Arc::clone(marks), Arc::clone(pending));
        if observer.watch_disturbance(clocks, load_clock, *quota_at_begin_ns, publish).is_ok() {
            marks.keep();
        }
    }

    /// How far the account has come since it was told last. The last tick comes when that of the window's end is sure.
    pub(crate) fn account(&self, event: &Event) -> Option<Event> {
        let (Event::Tick(_), Self::On { pending, .. }) = (event, self) else { return None };
        let Pending { until_slice, slices } = std::mem::take(&mut *hold(pending));
        (until_slice > 0).then_some(Event::Disturbed { until_slice, slices })
    }

    /// The sample that belongs to a tick.
    pub(crate) fn look(&mut self, event: &Event) -> Option<Event> {
        let Event::Tick(tick) = event else { return None };
        let sample = match self {
            Self::Off { is_said } => (!std::mem::replace(is_said, true)).then(|| unseen(tick))?,
            Self::On { observer, clock, is_load_here, .. } => {
                let before_ns = thread_cpu_ns();
                let sample = observer.sample(clock.get()?.now_ns(), tick.phase);
                let look_cpu_ns = Some(thread_cpu_ns() - before_ns);
                let sample = if *is_load_here { sample } else { without_load(sample) };
                Sample { look_cpu_ns, ..sample }
            }
        };
        Some(Event::Observed(Box::new(sample)))
    }
}

/// The part of the account that no event has told.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    until_slice: u64,
    slices: Vec<SliceAccount>,
}

/// Hands the account to those who carry the load, and keeps it for the next event.
fn publish(marks: Arc<SliceMarks>, pending: Arc<Mutex<Pending>>) -> observe::Publish {
    Box::new(move |slices, until_slice| {
        slices.iter().filter(|slice| slice.worst().is_some()).for_each(|slice| marks.mark(slice.slice));
        marks.publish(until_slice);
        let mut pending = hold(&pending);
        pending.until_slice = until_slice;
        pending.slices.extend_from_slice(slices);
    })
}

/// What is pending is whole between any two calls, whoever panicked.
fn hold(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of a load from elsewhere this process knows nothing but its ticks.
fn without_load(mut sample: Sample) -> Sample {
    let reason = "the load comes from agents on other machines, which are not observed".to_owned();
    sample.generator = None;
    sample.unavailable.insert("generator".to_owned(), reason);
    sample
}

/// Says that nobody looked at a tick, nor will.
fn unseen(tick: &Tick) -> Sample {
    Sample {
        source: SourceId::LOCAL,
        phase: tick.phase,
        from_ns: tick.to_ns,
        to_ns: tick.to_ns,
        machine: None,
        server: None,
        generator: None,
        sockets: None,
        companions: BTreeMap::new(),
        companion_sockets: BTreeMap::new(),
        others: None,
        kernel: KernelFigures::default(),
        states: None,
        look_cpu_ns: None,
        unavailable: PARTS.map(|part| (part.to_owned(), NOT_OBSERVED.to_owned())).into(),
    }
}

/// What the kernel tells of this very moment, which costs next to nothing.
pub(crate) fn sample_now(address: &Address) -> Sample {
    let mut observer = Observer::new(address.clone(), false, &[]);
    observer.start(0);
    observer.sample(0, Phase::Measure)
}

/// The processes that are watched beside those behind the target's port: the `parts` of a server that was started here,
/// and what `--observe` names.
pub(crate) fn companions<'a>(
    parts: impl IntoIterator<Item = (&'a str, i32)>,
    asked: &[ProcessSelector],
) -> Vec<ProcessSelector> {
    let parts = parts.into_iter().map(|(name, pid)| ProcessSelector::Part { label: name.to_owned(), pid });
    distinct(parts.chain(asked.iter().cloned()))
}

/// Without those that are shown by the same name as one before.
pub(crate) fn distinct(all: impl Iterator<Item = ProcessSelector>) -> Vec<ProcessSelector> {
    let mut labels = BTreeSet::new();
    all.filter(|selector| labels.insert(selector.label())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_twice_is_watched_once() {
        let asked = ["mariadbd", "php-fpm", "77"].map(|text| ProcessSelector::parse(text).unwrap());
        let all = companions([("nginx", 5), ("php-fpm", 6)], &asked);
        let labels: Vec<_> = all.iter().map(ProcessSelector::label).collect();
        assert_eq!(labels, ["nginx", "php-fpm", "mariadbd", "77"]);
        assert_eq!(all[1], ProcessSelector::Part { label: "php-fpm".into(), pid: 6 });
    }
}
