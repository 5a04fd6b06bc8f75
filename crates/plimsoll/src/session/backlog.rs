//! Backlog of an open loop while it runs: a load that is surely above the capacity is ended early.

use engine::marks::SliceMarks;
use engine::run::Control;
use model::{Event, Load, NS_PER_S, Phase, Plan, Tick};
use stats::runs_away;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S * 9 / 10;
/// Less of the window so far is undisturbed: the backlog may be the doing of others, and the load goes on.
const CLEAN_SHARE_MIN: f64 = 0.9;

/// Watches the backlog of one load.
pub(crate) struct BacklogWatch {
    rate_per_s: f64,
    /// Ends the load.
    enough: Arc<AtomicBool>,
    marks: Arc<SliceMarks>,
    /// Begin of the window; ns.
    begin_ns: Option<u64>,
    /// Requests in flight, and due and not sent, second by second.
    backlog: Vec<f64>,
    pub(crate) ran_away: bool,
}

impl BacklogWatch {
    /// Watches the load of `plan`, which `control` acts on; in a closed loop there is nothing to watch.
    pub(crate) fn new(plan: &Plan, control: &Control) -> Self {
        let rate_per_s = match plan.load {
            Load::Open { rate_per_s, .. } => rate_per_s,
            Load::Closed { .. } => f64::INFINITY,
        };
        Self {
            rate_per_s,
            enough: Arc::clone(&control.enough),
            marks: Arc::clone(&control.marks),
            begin_ns: None,
            backlog: Vec::new(),
            ran_away: false,
        }
    }

    /// Takes in what has happened, and ends the load when its backlog runs away.
    pub(crate) fn follow(&mut self, event: &Event) {
        let Event::Tick(tick) = event else { return };
        if tick.phase != Phase::Measure || !self.rate_per_s.is_finite() {
            return;
        }
        let begin_ns = *self.begin_ns.get_or_insert(tick.from_ns);
        self.backlog.extend(backlog(tick, self.rate_per_s));
        let is_undisturbed = self.marks.clean_share(begin_ns, tick.to_ns) >= CLEAN_SHARE_MIN;
        if is_undisturbed && runs_away(&self.backlog, self.rate_per_s, 1.0) {
            self.ran_away = true;
            self.enough.store(true, Ordering::Relaxed);
        }
    }
}

/// Requests in flight at the end of a tick, and those that were due and not sent; none of a piece of a second.
fn backlog(tick: &Tick, rate_per_s: f64) -> Option<f64> {
    let length_ns = tick.to_ns.saturating_sub(tick.from_ns);
    let in_flight = || tick.flow.outstanding_ns as f64 / length_ns as f64;
    (length_ns >= TICK_MIN_NS).then(|| in_flight() + rate_per_s * tick.late_ns as f64 / NS_PER_S as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Cohort, Flow, Histograms, SourceId};

    fn tick(second: u64, in_flight: u64, late_ns: u64) -> Event {
        Event::Tick(Box::new(Tick {
            source: SourceId::LOCAL,
            agents: Vec::new(),
            phase: if second == 0 { Phase::Warmup } else { Phase::Measure },
            from_ns: second * NS_PER_S,
            to_ns: (second + 1) * NS_PER_S,
            flow: Flow { outstanding_ns: in_flight * NS_PER_S, ..Flow::default() },
            cohort: Cohort::default(),
            threads: Vec::new(),
            response_p50_ns: 0,
            response_p99_ns: 0,
            late_ns,
            sends_ns: Vec::new(),
            slices: Vec::new(),
            histograms: Histograms::default(),
            set_aside: Histograms::default(),
        }))
    }

    fn watch(control: &Control) -> BacklogWatch {
        BacklogWatch {
            rate_per_s: 1_000.0,
            enough: Arc::clone(&control.enough),
            marks: Arc::clone(&control.marks),
            begin_ns: None,
            backlog: Vec::new(),
            ran_away: false,
        }
    }

    /// Seconds of the window after which the load is ended, of 8 that add 200 requests each.
    fn ended_after(control: &Control) -> Option<u64> {
        let mut watch = watch(control);
        // In flight as many as there are connections, the others wait for one.
        let ended = (0..=8).find(|second| {
            watch.follow(&tick(*second, 64, second * NS_PER_S / 5));
            control.enough.load(Ordering::Relaxed)
        });
        assert_eq!(watch.ran_away, ended.is_some());
        ended
    }

    #[test]
    fn a_backlog_that_runs_away_ends_the_load_after_a_few_seconds() {
        assert_eq!(ended_after(&Control::default()), Some(4));
    }

    #[test]
    fn a_backlog_that_may_be_the_doing_of_others_does_not() {
        let control = Control::default();
        control.marks.keep();
        (10..90).step_by(2).for_each(|slice| control.marks.mark(slice));
        assert_eq!(ended_after(&control), None);
        let earlier = Control::default();
        (0..10).for_each(|slice| earlier.marks.mark(slice));
        assert_eq!(ended_after(&earlier), Some(4), "that was the warm-up");
    }

    #[test]
    fn a_level_backlog_goes_on_to_the_end() {
        let control = Control::default();
        let mut watch = watch(&control);
        (0..60).for_each(|second| watch.follow(&tick(second, 30 + 9 * (second % 3), 0)));
        assert!(!watch.ran_away && !control.enough.load(Ordering::Relaxed));
        assert_eq!(watch.backlog.len(), 59, "without the warm-up");
    }
}
