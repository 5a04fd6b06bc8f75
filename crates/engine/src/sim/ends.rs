//! Connections and requests that end otherwise than in good order, in virtual time.

use super::*;

/// Each slot of an open loop was connected once in a turn of its thread, ten thousand times a second.
#[test]
fn connections_that_are_closed_as_soon_as_they_open_are_opened_again_with_growing_pauses() {
    let mut sim = Sim::open(Arrivals::Constant, 10.0, 4, 10);
    sim.closes_after_ns = Some(50_000);
    let seen = sim.run(|_| Answer::Never);
    assert_eq!(seen.cohort.planned, 100);
    // In 10 s each of four is opened 80 times after pauses of 128 ms, and for each request that was sent on one and lost.
    assert!((100..600).contains(&seen.connects), "{} connections", seen.connects);
    // One that is of use is opened again at once.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 1, 1);
    sim.closes_after_ns = Some(5_500_000);
    let seen = sim.run(|now| Answer::At(now + 10_000));
    assert_eq!((seen.cohort.planned, seen.cohort.failed()), (1000, 0), "{:?}", seen.cohort.failures);
    assert_eq!(seen.latency.slip_blocked.summary().max_ns, 0);
}
