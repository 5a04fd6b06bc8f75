//! Requests of which only a part queues: the slow one of several backends. The same curve looks like that of a pool.

use super::{Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use model::human::{percent, time};

/// With busier CPUs the slow ones may be those that wait for one.
const CPUS_BUSY: f64 = 0.7;
/// The slow kind takes this multiple of what it took at the first load, and as much more than the fast kind does.
const GROWN: f64 = 2.0;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some([alone, now]) = input.shape.kinds else {
        return Detection::Unchecked("a sweep with two kinds of service times at its first load is needed");
    };
    let cpus_used = input.server_cpus().map_or(0.0, |cpus| cpus.used);
    let slow = now.slow_ns / alone.slow_ns;
    let fast = now.fast_ns / alone.fast_ns;
    // A mix of requests has kinds of its own.
    let is_mixed = input.evidence.cohort.mix.len() > 1;
    if input.shape.flat != Some(true) || is_mixed || cpus_used >= CPUS_BUSY || slow < GROWN || slow < GROWN * fast {
        return Detection::Clear;
    }
    Detection::hit(Signal {
        name: "slow-backend (inferred)",
        resource: "slow kind of responses".to_owned(),
        says: format!(
            "the responses are of two kinds, as they were at the first load: {} take about {} (first {}), and the others about \
             {}; only the slow ones queue. A slow one of several backends is possible, or a limit that only some requests \
             meet; measure the backends one by one",
            percent(now.slow_share),
            time(now.slow_ns),
            time(alone.slow_ns),
            time(now.fast_ns)
        ),
        queue: true,
        evidence: figures([
            ("slow_share", now.slow_share),
            ("slow_ns", now.slow_ns),
            ("fast_ns", now.fast_ns),
            ("slow_alone_ns", alone.slow_ns),
            ("fast_alone_ns", alone.fast_ns),
        ]),
        is_inferred: true,
        hides_next: true,
        ..Signal::default()
    })
}
