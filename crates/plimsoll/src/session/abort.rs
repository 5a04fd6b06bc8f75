//! Ends a load early once a condition of `--abort-if` holds.

use engine::run::Control;
use judge::abort::AbortWatch;
use judge::threshold::Threshold;
use model::{Aborted, Event, Plan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Puts the conditions to one load.
pub(crate) struct AbortObserver {
    watch: AbortWatch,
    /// Ends the load.
    enough: Arc<AtomicBool>,
    /// The condition that has ended it; `None` while it runs.
    pub(crate) aborted: Option<Aborted>,
}

impl AbortObserver {
    /// Watches the load of `plan`, which `control` acts on.
    pub(crate) fn new(conditions: Vec<Threshold>, plan: &Plan, control: &Control) -> Self {
        Self { watch: AbortWatch::new(conditions, plan), enough: Arc::clone(&control.enough), aborted: None }
    }

    /// Takes in what has happened. What comes of the load after its end was ordered changes nothing any more.
    pub(crate) fn follow(&mut self, event: &Event) {
        if let (Event::Tick(tick), None) = (event, &self.aborted)
            && let Some(aborted) = self.watch.follow(tick)
        {
            self.aborted = Some(aborted);
            self.enough.store(true, Ordering::Relaxed);
        }
    }
}
