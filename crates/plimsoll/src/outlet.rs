//! Who gets the events of a load beside its evidence: each on a thread of its own, so that a disk or a terminal that stalls
//! changes no measurement. What they get is redacted: it is written down or shown.

use crate::exit::CommandError;
use model::{Event, Redacted};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};

/// Events that may wait for one of them: some minutes of a load.
const WAITING_MAX: usize = 1024;

/// Takes events as they come.
pub(crate) trait Sink: Send {
    /// Name of its thread.
    const NAME: &'static str;

    fn take(&mut self, event: &Redacted<Event>);

    /// So many events came while it was stalled, and were dropped.
    fn missed(&mut self, _events: u64) {}
}

/// The way to a sink.
pub(crate) struct Outlet {
    to: SyncSender<Arc<Redacted<Event>>>,
    missed: SyncSender<u64>,
    dropped: u64,
}

impl Outlet {
    /// Starts the thread of `sink`, which ends with the outlet, when it has taken what waits for it.
    pub(crate) fn start<'scope, S: Sink>(
        scope: &'scope Scope<'scope, '_>,
        sink: &'scope mut S,
    ) -> Result<Self, CommandError> {
        let (to, events) = sync_channel(WAITING_MAX);
        let (missed, told) = sync_channel(1);
        Builder::new()
            .name(S::NAME.into())
            .spawn_scoped(scope, move || serve(sink, &events, &told))
            .map_err(|error| CommandError::usage(format!("cannot start a thread: {error}")))?;
        Ok(Self { to, missed, dropped: 0 })
    }

    /// Hands an event on, unless too many wait already.
    pub(crate) fn send(&mut self, event: &Arc<Redacted<Event>>) {
        self.dropped += u64::from(self.to.try_send(Arc::clone(event)).is_err());
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // There is room for one, and this is the only one.
        let _ = self.missed.try_send(self.dropped);
    }
}

fn serve(sink: &mut impl Sink, events: &Receiver<Arc<Redacted<Event>>>, told: &Receiver<u64>) {
    events.iter().for_each(|event| sink.take(&event));
    if let Some(missed) = told.try_recv().ok().filter(|missed| *missed > 0) {
        sink.missed(missed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Stalls at its first event until it is let go.
    struct Stalled {
        go: Receiver<()>,
        taken: u64,
        missed: u64,
    }

    impl Sink for Stalled {
        const NAME: &'static str = "stalled";

        fn take(&mut self, _: &Redacted<Event>) {
            if self.taken == 0 {
                self.go.recv().unwrap();
            }
            self.taken += 1;
        }

        fn missed(&mut self, events: u64) {
            self.missed = events;
        }
    }

    #[test]
    fn a_sink_that_stalls_holds_nobody_up_and_is_told_what_it_missed() {
        let (go, stalled) = channel();
        let mut sink = Stalled { go: stalled, taken: 0, missed: 0 };
        let sent = WAITING_MAX as u64 + 500;
        std::thread::scope(|scope| {
            let mut outlet = Outlet::start(scope, &mut sink).unwrap();
            let event = Arc::new(Redacted::new(Event::Ended { at_ns: 0, interrupted: false }));
            (0..sent).for_each(|_| outlet.send(&event));
            go.send(()).unwrap();
        });
        assert_eq!(sink.taken + sink.missed, sent);
        assert!((499..=500).contains(&sink.missed), "{}", sink.missed);
    }
}
