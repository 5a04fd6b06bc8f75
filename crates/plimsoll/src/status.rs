//! Reads what servers say of themselves, once a second, beside the load: status pages and counters of databases.
//!
//! Each has a thread of its own: one that hangs must not delay the ticks, nor the others.

mod ask;
mod source;

pub(crate) use source::Source;

use ask::Asker;
use engine::clock::monotonic_ns;
use model::{Event, StatusLook, Tick};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between an answer and the next question.
const EVERY: Duration = Duration::from_secs(1);
/// The same for who has answered before and now does not: a server that has no connection left for its own page, just when
/// its counters tell most.
const AGAIN: Duration = Duration::from_millis(150);
/// How often a thread looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Looks at pages until it is dropped.
pub(crate) struct StatusPages {
    /// What has come since it was last asked for.
    fresh: Arc<Mutex<Vec<StatusLook>>>,
    /// When the clock of the load started, on the clock of this machine; 0 before that. ns
    started_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl StatusPages {
    pub(crate) fn watch<'a>(sources: impl Iterator<Item = &'a Source>) -> Self {
        let (fresh, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let started_ns = Arc::new(AtomicU64::new(0));
        let threads = sources.map(|source| {
            let (source, fresh, stop) = (source.clone(), Arc::clone(&fresh), Arc::clone(&stop));
            let started_ns = Arc::clone(&started_ns);
            std::thread::spawn(move || watch(&source, &fresh, &started_ns, &stop))
        });
        let threads = threads.collect();
        Self { fresh, started_ns, stop, threads }
    }

    /// The clock of the load starts with the connections open.
    pub(crate) fn start_after(&self, event: &Event) {
        if let Event::Connected { .. } = event {
            self.started_ns.store(monotonic_ns(), Ordering::Relaxed);
        }
    }

    /// What has come until a tick; none when nothing has.
    pub(crate) fn until(&self, tick: &Tick) -> Option<Event> {
        let looks = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        (!looks.is_empty()).then_some(Event::Status { at_ns: tick.to_ns, phase: tick.phase, looks })
    }
}

impl Drop for StatusPages {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that has panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn watch(source: &Source, fresh: &Mutex<Vec<StatusLook>>, started_ns: &AtomicU64, stop: &AtomicBool) {
    let mut asker = Asker::new(source);
    let mut has_answered = false;
    while !stop.load(Ordering::Relaxed) {
        let asked_ns = monotonic_ns();
        let (status, reason) = match asker.ask() {
            Ok(status) => (Some(status), None),
            Err(reason) => (None, Some(reason)),
        };
        let started_ns = started_ns.load(Ordering::Relaxed);
        let at_ns = (started_ns > 0).then(|| monotonic_ns().saturating_sub(started_ns));
        let took_ns = monotonic_ns() - asked_ns;
        let pause = if has_answered && status.is_none() { AGAIN } else { EVERY };
        has_answered |= status.is_some();
        let look = StatusLook { url: source.url.clone(), status, reason, at_ns, took_ns };
        fresh.lock().unwrap_or_else(PoisonError::into_inner).push(look);
        let mut waited = Duration::ZERO;
        while waited < pause && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_UP);
            waited += LOOK_UP;
        }
    }
}
