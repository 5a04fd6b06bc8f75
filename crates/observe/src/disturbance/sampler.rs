//! The thread that keeps the account: a reading shortly after the end of each slice.

use super::foreign::{Foreign, ForeignUse};
use super::reading::{Reader, Totals, Watched};
use super::taken::{Places, Taking};
use crate::backends::Backends;
use crate::states::Clocks;
use model::{NS_PER_S, SLICE_NS, SliceAccount};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The kernel brings its figures up to date within a tick, of 4 ms on most machines.
const AFTER_NS: u64 = 500_000;
/// All processes are looked at once in so many slices, so that who used CPU time is known when it is asked for.
const FOREIGN_EVERY: u64 = 10;
/// Times that it is asked at once who is behind the server when strangers use CPU time; after that once in so many.
const BACKENDS_AT_ONCE: u32 = 30;
const BACKENDS_EVERY: u32 = 10;
/// How often the thread looks whether the load's clock has started.
const LOOK_UP: Duration = Duration::from_millis(1);

/// Takes what was taken in slices, and the slice before which all is decided. Called once a slice, on the sampler's thread.
pub type Publish = Box<dyn FnMut(&[SliceAccount], u64) + Send>;

/// Reads the clock of the load; none before it has started. ns
pub type LoadClock = Box<dyn Fn() -> Option<u64> + Send>;

/// What the account is about.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// CPUs of the load threads, and of the server.
    pub(crate) client_cpus: Vec<u32>,
    pub(crate) server_cpus: Vec<u32>,
    /// Numbers of the load threads.
    pub(crate) load_threads: Vec<i32>,
    /// Of the load that runs at the same time, on other CPUs: what they use is none of this account's business.
    pub(crate) other_load_threads: Vec<i32>,
    pub(crate) watched: Watched,
    /// Who is found to be behind the server.
    pub(crate) backends: Backends,
    /// The server's quota before the first load.
    pub(crate) quota_at_begin_ns: Option<u64>,
}

/// Keeps the account until it is dropped.
#[derive(Debug)]
pub(crate) struct DisturbanceSampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    orders: Mutex<Orders>,
    /// Waits end early for this only.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Orders {
    watched: Watched,
    ended: bool,
}

impl DisturbanceSampler {
    /// Begins with the slice in which the load's clock is once it has started.
    pub(crate) fn start(setup: Setup, clocks: Clocks, clock: LoadClock, publish: Publish) -> io::Result<Self> {
        let orders = Mutex::new(Orders { watched: setup.watched.clone(), ended: false });
        let shared = Arc::new(Shared { orders, ..Shared::default() });
        let theirs = Arc::clone(&shared);
        let keep = move || keep_account(&theirs, &setup, clocks, &clock, publish);
        let thread = std::thread::Builder::new().name("account".into()).spawn(keep)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// From now on these are no strangers.
    pub(crate) fn watch(&self, watched: Watched) {
        hold(&self.shared.orders).watched = watched;
    }
}

impl Drop for DisturbanceSampler {
    fn drop(&mut self) {
        hold(&self.shared.orders).ended = true;
        self.shared.ended.notify_all();
        // A thread that has panicked has said so, and leaves nothing behind.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn keep_account(shared: &Shared, setup: &Setup, clocks: Clocks, clock: &LoadClock, mut publish: Publish) {
    let Some(first_ns) = shared.wait_for(clock) else { return };
    let now_ns = || clock().unwrap_or(first_ns);
    let mut reader =
        Reader::new(setup.load_threads.clone(), clocks.process_cpu_ns).without(setup.other_load_threads.clone());
    let (mut totals, mut foreign) = (Totals::default(), Foreign::default());
    let places = Places {
        client: setup.client_cpus.clone(),
        server: setup.server_cpus.clone(),
        threads: setup.load_threads.len(),
        quota_at_begin_ns: setup.quota_at_begin_ns,
    };
    let mut taking = Taking::new(places, model::slice_of(first_ns));
    reader.read(first_ns, &setup.watched, &mut totals);
    foreign.look();
    let (mut slices, mut asked) = (0, 0);
    loop {
        let due_ns = (taking.until() + 1) * SLICE_NS + AFTER_NS;
        let Some(watched) = shared.wait(Duration::from_nanos(due_ns.saturating_sub(now_ns()))) else { return };
        let at_ns = now_ns();
        if at_ns < due_ns - AFTER_NS {
            continue;
        }
        let watched = with_backends(watched, &setup.backends);
        let reading = reader.read(at_ns, &watched, &mut totals);
        let server_cpus = taking.server_cpus().to_vec();
        let asked_before = asked;
        let accounts = taking.next(&reading, || {
            asked += 1;
            foreign_use(&mut foreign, watched, &setup.backends, &server_cpus, asked)
        });
        publish(&accounts, taking.until());
        slices += 1;
        if asked == asked_before && slices % FOREIGN_EVERY == 0 {
            foreign.look();
        }
    }
}

/// What strangers used. Whoever seems to be one may be behind the server by now, which is looked up before it is told.
fn foreign_use(
    foreign: &mut Foreign,
    watched: Watched,
    backends: &Backends,
    server_cpus: &[u32],
    asked: u32,
) -> ForeignUse {
    let used = foreign.look();
    let suspects = used.foreign(&watched);
    let is_due = asked <= BACKENDS_AT_ONCE || asked.is_multiple_of(BACKENDS_EVERY);
    let has_found = !suspects.is_empty() && is_due && backends.look(&watched.pids, &suspects);
    let watched = if has_found { with_backends(watched, backends) } else { watched };
    used.of(&watched, server_cpus)
}

/// With those who were found to be behind the server since the last sample.
fn with_backends(mut watched: Watched, backends: &Backends) -> Watched {
    let found = backends.found();
    watched.pids.extend(found.iter().map(|backend| backend.pid));
    watched.pids.sort_unstable();
    watched.pids.dedup();
    watched
}

impl Shared {
    /// Waits until the clock has started, and reads it; none at the end.
    fn wait_for(&self, clock: &LoadClock) -> Option<u64> {
        loop {
            if let Some(now_ns) = clock() {
                return Some(now_ns);
            }
            self.wait(LOOK_UP)?;
        }
    }

    /// Waits that long; the processes of now, and none at the end.
    fn wait(&self, time: Duration) -> Option<Watched> {
        let orders = hold(&self.orders);
        let waited = self.ended.wait_timeout_while(orders, time, |orders| !orders.ended);
        let (orders, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!orders.ended).then(|| orders.watched.clone())
    }
}

/// Orders are whole between any two calls, whoever panicked.
fn hold<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

const _: () = assert!(SLICE_NS * FOREIGN_EVERY == NS_PER_S, "once a second");
