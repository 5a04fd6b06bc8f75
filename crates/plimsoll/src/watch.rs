//! Looks at machine, server and generator after each tick of a load: on the thread that collects the ticks, which
//! carries no load, and on the load's own time axis.

use crate::target_url::is_local;
use engine::clock::Clock;
use model::{Address, Event};
use observe::Observer;

/// Turns ticks into samples.
pub(crate) struct Watch {
    observer: Observer,
    clock: Option<Clock>,
}

impl Watch {
    /// Finds the server's processes, which takes a moment.
    pub(crate) fn new(address: &Address) -> Self {
        Self { observer: Observer::new(address.clone(), is_local(address)), clock: None }
    }

    /// Starts once the connections are open: the next thing the engine does is to start the clock of the load.
    pub(crate) fn start_after(&mut self, event: &Event) {
        if let Event::Connected { .. } = event {
            self.observer.start(0);
            self.clock = Some(Clock::start());
        }
    }

    /// The sample that belongs to a tick.
    pub(crate) fn look(&mut self, event: &Event) -> Option<Event> {
        let (Event::Tick(tick), Some(clock)) = (event, self.clock) else { return None };
        Some(Event::Observed(Box::new(self.observer.sample(clock.now_ns(), tick.phase))))
    }
}
