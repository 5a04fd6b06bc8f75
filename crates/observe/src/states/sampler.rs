//! The thread that samples the workers, at moments that no rhythm of theirs can fall into step with.

use super::Clocks;
use super::fold::Fold;
use super::poll::{Poller, Tree};
use crate::files::Missing;
use model::StatesUse;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// One sample in each such time, at a random moment in it: at even intervals a server that is asked at even intervals too
/// would be seen in the same moment of each request.
const EVERY: Duration = Duration::from_millis(100);
/// Niceness of the samples: a load thread on the same CPU that has something to send goes before a sample, which would otherwise
/// hold it up for a millisecond ten times a second. Not the idle class, as beside a full load there would be no samples.
const NICE: i32 = 10;
/// Why a pool is not told.
const DENIED: &str = "what its threads wait for (/proc/PID/syscall) is shown to root only, and to the user of a process \
                      unless kernel.yama.ptrace_scope forbids it; run plimsoll as root";

/// Looks at workers until it is dropped.
#[derive(Debug)]
pub(crate) struct StateSampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    fold: Mutex<Fold>,
    orders: Mutex<Orders>,
    /// New orders, of which only the end is worth waking for.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Orders {
    tree: Option<Tree>,
    ended: bool,
}

impl StateSampler {
    /// Looks at the processes of `tree` from now on.
    pub(crate) fn start(tree: Tree, clocks: Clocks) -> io::Result<Self> {
        let orders = Mutex::new(Orders { tree: Some(tree), ended: false });
        let shared = Arc::new(Shared { orders, ..Shared::default() });
        let theirs = Arc::clone(&shared);
        let look = move || sample_until_ended(&theirs, clocks);
        let thread = std::thread::Builder::new().name("states".into()).spawn(look)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What was seen since the last time, and why some of it cannot be told; from now on the processes of `tree` are
    /// looked at. None without a sample since.
    pub(crate) fn fetch(&self, tree: Tree) -> (Option<StatesUse>, Vec<(String, Missing)>) {
        hold(&self.shared.orders).tree = Some(tree);
        let (states, open) = hold(&self.shared.fold).fetch();
        let untold = open.into_iter().map(|pool| (format!("pools/{pool}"), Missing::Because(DENIED))).collect();
        ((states.looks > 0).then_some(states), untold)
    }
}

impl Drop for StateSampler {
    fn drop(&mut self) {
        hold(&self.shared.orders).ended = true;
        self.shared.ended.notify_all();
        // A thread that has panicked has said so, and leaves nothing behind.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn sample_until_ended(shared: &Shared, clocks: Clocks) {
    // Of this thread alone, as Linux has it. Who is not allowed to stand back samples all the same.
    let _ = rustix::process::setpriority_process(None, NICE);
    let mut looker = Poller::new(clocks);
    let mut random = SplitMix64::seed_from_u64(0);
    let mut rest = Duration::ZERO;
    loop {
        let moment = EVERY.mul_f64(f64::from(random.next_u32()) / f64::from(u32::MAX));
        let Some(tree) = shared.wait(rest + moment) else { return };
        rest = EVERY - moment;
        let before_ns = (clocks.thread_cpu_ns)();
        let mut fold = hold(&shared.fold);
        if let Some(tree) = tree {
            looker.refresh(&tree, &mut fold);
        }
        looker.sample(&mut fold);
        fold.sampled((clocks.thread_cpu_ns)() - before_ns);
    }
}

impl Shared {
    /// Waits that long; the processes of now if they have been told, and none at the end.
    fn wait(&self, time: Duration) -> Option<Option<Tree>> {
        let orders = hold(&self.orders);
        let waited = self.ended.wait_timeout_while(orders, time, |orders| !orders.ended);
        let (mut orders, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (!orders.ended).then(|| orders.tree.take())
    }
}

/// Sums and orders are whole between any two calls, whoever panicked.
fn hold<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
