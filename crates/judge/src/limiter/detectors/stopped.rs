//! Workers that something stops again and again: a limit that no setting of the server has.

use super::{Detection, Signal, figures};
use crate::facts::stopped::stopped;
use crate::limiter::input::LimiterInput;
use model::human::percent;

/// A server that is stopped for less than this share of its time is limited by what it does in the rest.
const STOPPED: f64 = 0.1;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    if input.observed_pools().next().is_none() {
        return Detection::Unchecked("states of the workers not monitored");
    }
    let Some((pool, share)) = stopped(input.evidence).filter(|(_, share)| *share >= STOPPED) else {
        return Detection::Clear;
    };
    let program = &pool.program;
    Detection::hit(Signal {
        name: "stopped",
        resource: program.clone(),
        says: format!(
            "something stops {program} for {} of the time (it runs {}): look for whoever sends it SIGSTOP (cpulimit, a job \
             control), for a debugger, or for a frozen control group (docker pause)",
            percent(share.min(1.0)),
            percent(pool.running.min(1.0))
        ),
        queue: true,
        evidence: figures([("stopped_share", share), ("running_share", pool.running), ("workers", pool.workers_mean)]),
        hides_next: true,
        ..Signal::default()
    })
}
