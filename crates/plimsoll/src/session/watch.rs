//! Looks at machine, server and generator after each tick of a load: on the thread that collects the ticks, which
//! carries no load, and on the load's own time axis.
//!
//! What takes the samples is a [`Sampler`], of this process or of the agent on the server's machine: see `server_host`.

use crate::lock::hold;
use clock::{Clock, monotonic_ns, process_cpu_ns, thread_cpu_ns};
use engine::marks::SliceMarks;
use engine::run::Control;
use model::{Address, Event, Phase, Sample, SliceAccount, Tick};
use observe::{Backends, Clocks, Observer, ProcessSelector, TakenFingerprint};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Looks at a machine without load: so many that the processes of a busy one are seen, of which not each sample tells all.
const LOOKS: usize = 5;
/// Time between them.
const LOOK: Duration = Duration::from_millis(200);

/// What has a reason of its own in the record when nobody looks.
const PARTS: [&str; 7] = ["generator", "kernel", "machine", "others", "pools", "server", "sockets"];

/// Reason why nothing is known of the load generator.
pub(crate) const LOAD_ELSEWHERE: &str = "the load comes from agents on other machines, which tell of their own";

/// Processes that are watched.
pub(crate) struct Watched {
    /// Where the server is reached.
    pub(crate) address: Address,
    /// True if it can be on this machine.
    pub(crate) is_here: bool,
    /// None: whoever listens there.
    pub(crate) server: Option<ProcessSelector>,
    /// What it calls itself, where it was asked: the `Server` of its answers.
    pub(crate) product: Option<String>,
    /// Beside it.
    pub(crate) companions: Vec<ProcessSelector>,
    /// Who is found to be behind the server, kept from one load to the next.
    pub(crate) backends: Backends,
    /// Processes of another server that is measured at the same time.
    pub(crate) neighbours: Vec<i32>,
    /// True if that has the same CPUs, and its turns are between those of this one.
    pub(crate) takes_turns: bool,
    /// True if the load comes from this machine.
    pub(crate) is_load_here: bool,
    /// True if an account is kept of what others take from client and server: who carries the load elsewhere is not told which
    /// time is disturbed here.
    pub(crate) keeps_account: bool,
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

    /// Processes of the server and of its companions, if they are on this machine; empty when they are not known.
    pub(crate) fn server_processes(&self) -> Vec<i32> {
        self.observer().server_pids()
    }

    /// What is to be told before a load on a server that `is_seen`: that it was recognised, and to a user without root what cannot
    /// be seen of it, with what helps.
    pub(crate) fn notes(&self, recognised: Option<String>, is_seen: bool) -> impl Iterator<Item = String> + use<> {
        let asks = is_seen && !rustix::process::geteuid().is_root();
        let unseen = if asks { self.observer().unseen() } else { None };
        recognised.filter(|_| is_seen).into_iter().chain(unseen.map(|unseen| format!("note: {unseen}")))
    }

    /// What takes samples of them, which finds them first: that takes a moment.
    pub(crate) fn sampler(&self) -> Sampler {
        Sampler { observer: Box::new(self.observer()) }
    }

    fn observer(&self) -> Observer {
        let (address, is_here) = (self.address.clone(), self.is_here);
        let observer = match &self.server {
            Some(server) => Observer::with_server(address, is_here, server, &self.companions),
            None => Observer::new(address, is_here, &self.companions),
        };
        observer.knowing(&self.backends).of_product(self.product.as_deref())
    }
}

const CLOCKS: Clocks = Clocks { thread_cpu_ns, process_cpu_ns, monotonic_ns };

/// Samples of this machine beside a load.
pub(crate) struct Sampler {
    observer: Box<Observer>,
}

impl Sampler {
    /// The first sample, from which the others count.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.observer.start(now_ns);
        self.observer.watch_states(CLOCKS);
    }

    /// What happened since the one before, and what it has cost to find out.
    pub(crate) fn sample(&mut self, now_ns: u64, phase: Phase) -> Sample {
        let before_ns = thread_cpu_ns();
        let sample = self.observer.sample(now_ns, phase);
        Sample { look_cpu_ns: Some(thread_cpu_ns() - before_ns), ..sample }
    }
}

/// Turns ticks into samples.
pub(crate) enum Watch {
    On {
        sampler: Sampler,
        /// The load's, once it has begun.
        clock: Arc<OnceLock<Clock>>,
        /// Which time is disturbed, for those who carry the load.
        marks: Arc<SliceMarks>,
        /// What the account says and no event has told yet.
        pending: Arc<Mutex<Pending>>,
        /// The server's CPU quota before the first load.
        quota_at_begin_ns: Option<u64>,
        is_load_here: bool,
        keeps_account: bool,
    },
    /// Nobody looks; the reason, until it is said.
    Off { unsaid: Option<&'static str> },
}

impl Watch {
    /// Finds the processes that are watched, which takes a moment. The load is the one that `control` acts on; a CPU quota of
    /// the server counts as one of its limits when it is that of before the first load, which `quota` knows once it was asked.
    pub(crate) fn new(watched: &Watched, control: &Control, quota: &OnceCell<Option<u64>>) -> Self {
        let observer = watched.observer();
        let observer = match control.part {
            0 => observer,
            part => observer.beside_another(part, watched.neighbours.clone(), watched.takes_turns),
        };
        let quota_at_begin_ns = *quota.get_or_init(|| observer.server_quota_ns());
        let (clock, marks) = (Arc::clone(&control.clock), Arc::clone(&control.marks));
        let Watched { is_load_here, keeps_account, .. } = *watched;
        let sampler = Sampler { observer: Box::new(observer) };
        let pending = Arc::default();
        Self::On { sampler, clock, marks, pending, quota_at_begin_ns, is_load_here, keeps_account }
    }

    /// Looks at nothing, for a reason.
    pub(crate) const fn off(why: &'static str) -> Self {
        Self::Off { unsaid: Some(why) }
    }

    /// Starts when the load does.
    pub(crate) fn start_after(&mut self, event: &Event) {
        let Self::On { sampler, clock, marks, pending, quota_at_begin_ns, is_load_here, keeps_account } = self else {
            return;
        };
        if !starts_with(event, *is_load_here) {
            return;
        }
        // The clock of a load of this machine starts next.
        sampler.begin(clock.get().map_or(0, Clock::now_ns));
        if !*keeps_account {
            return;
        }
        let load_clock = Arc::clone(clock);
        let load_clock = Box::new(move || load_clock.get().map(Clock::now_ns));
        let publish = publish(Arc::clone(marks), Arc::clone(pending));
        if sampler.observer.watch_disturbance(CLOCKS, load_clock, *quota_at_begin_ns, publish).is_ok() {
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
            Self::Off { unsaid } => unseen(tick, unsaid.take()?),
            Self::On { sampler, clock, is_load_here, .. } => {
                let sample = sampler.sample(clock.get()?.now_ns(), tick.phase);
                if *is_load_here { sample } else { without_load(sample) }
            }
        };
        Some(Event::Observed(Box::new(sample)))
    }
}

/// True if a load starts with this event: that of this machine once the connections are open; agents compare their clocks then,
/// and agree on the start.
pub(crate) const fn starts_with(event: &Event, is_load_here: bool) -> bool {
    match event {
        Event::Connected { .. } => is_load_here,
        Event::AgentsStarted { .. } => !is_load_here,
        _ => false,
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

/// Of a load from elsewhere this process knows nothing but its ticks.
fn without_load(mut sample: Sample) -> Sample {
    sample.generator = None;
    sample.unavailable.insert("generator".to_owned(), LOAD_ELSEWHERE.to_owned());
    sample
}

/// Says that nobody looked at a tick, nor will.
fn unseen(tick: &Tick, why: &str) -> Sample {
    let unavailable = PARTS.map(|part| (part.to_owned(), why.to_owned())).into();
    Sample { unavailable, ..Sample::empty(tick.phase, tick.to_ns, tick.to_ns) }
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

    /// Clocks are compared for a second and more between both, which the first sample had in it.
    #[test]
    fn samples_begin_when_agents_have_started_and_not_when_they_are_connected() {
        let connected =
            Event::Connected { requested: 1, established: 1, took_ns: 1, fruitless: Default::default(), tls: None };
        let started = Event::AgentsStarted { agents: Vec::new() };
        let begins = |is_load_here| [&connected, &started].map(|event| starts_with(event, is_load_here));
        assert_eq!([begins(true), begins(false)], [[true, false], [false, true]]);
    }

    #[test]
    fn what_is_asked_for_twice_is_watched_once() {
        let asked = ["mariadbd", "php-fpm", "77"].map(|text| ProcessSelector::parse(text).unwrap());
        let all = companions([("nginx", 5), ("php-fpm", 6)], &asked);
        let labels: Vec<_> = all.iter().map(ProcessSelector::label).collect();
        assert_eq!(labels, ["nginx", "php-fpm", "mariadbd", "77"]);
        assert_eq!(all[1], ProcessSelector::Part { label: "php-fpm".into(), pid: 6 });
    }
}
