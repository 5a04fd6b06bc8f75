//! Connections and requests that end otherwise than in good order, in virtual time.

use super::tests::{four_streams, near};
use super::*;
use crate::window::UNDECIDED_NS;

/// Each slot of an open loop was connected once in a turn of its thread, ten thousand times a second.
#[test]
fn connections_that_are_closed_as_soon_as_they_open_are_opened_again_with_growing_pauses() {
    let mut sim = Sim::open(Arrivals::Constant, 10.0, 4, 10);
    sim.closes_after_ns = Some(50_000);
    let seen = sim.run(|_| Answer::Never);
    assert_eq!(seen.cohort.counts.planned, 100);
    // In 10 s each of four is opened 80 times after pauses of 128 ms, and for each request that was sent on one and lost.
    assert!((100..600).contains(&seen.connects), "{} connections", seen.connects);
    // One that is of use is opened again at once.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 1, 1);
    sim.closes_after_ns = Some(5_500_000);
    let seen = sim.run(|now| Answer::At(now + 10_000));
    assert_eq!((seen.cohort.counts.planned, seen.cohort.failed()), (1000, 0), "{:?}", seen.cohort.failures);
    assert_eq!(seen.latency.slip_blocked.summary().max_ns, 0);
}

/// Of ten requests one is never answered, two take 30 ms, one fails at once, and six take 1 ms.
#[test]
fn the_objective_counts_good_responses_within_its_time_and_none_that_failed_fast() {
    let met = |slo_ns: Option<u64>| {
        let mut n = 0;
        let mut sim = Sim::open(Arrivals::Constant, 100.0, 500, 10);
        (sim.timeout_ns, sim.slo_ns) = (NS_PER_S, slo_ns);
        let seen = sim.run(move |now| {
            n += 1;
            match n % 10 {
                0 => Answer::Never,
                1 | 2 => Answer::At(now + 30_000_000),
                3 => Answer::CloseAt(now + 1_000),
                _ => Answer::At(now + 1_000_000),
            }
        });
        assert_eq!(seen.cohort.counts.planned, 1000);
        (seen.cohort.counts.within_slo, seen.cohort.counts.slo_share(slo_ns))
    };
    assert_eq!(met(None), (0, None));
    assert_eq!(met(Some(20_000_000)), (600, Some(0.6)));
    assert_eq!(met(Some(NS_PER_S)), (800, Some(0.8)));
}

/// Of 64 requests that were answered every 20 ms, with a timeout of 1 s, most "timed out" after less, and were told as fast.
#[test]
fn what_is_pipelined_behind_a_timeout_is_no_timeout_before_its_own_deadline() {
    let mut sim = Sim::closed(1, 10);
    (sim.pipeline, sim.timeout_ns) = (4, NS_PER_S);
    // Of four the first is answered; the one that follows it then is out for half a second when the others time out.
    let mut n = 0;
    let seen = sim.run(move |now| {
        n += 1;
        if n % 5 == 1 { Answer::At(now + NS_PER_S / 2) } else { Answer::Never }
    });
    let c = &seen.cohort;
    assert_eq!(c.failures.keys().collect::<Vec<_>>(), ["first_byte.abandoned", "first_byte.timeout"]);
    assert!((9..=10).contains(&c.failures["first_byte.abandoned"]), "{:?}", c.failures);
    assert_eq!((c.counts.planned, c.counts.censored), (c.counts.good + c.failed(), c.failures["first_byte.timeout"]));
    assert_eq!(seen.latency.response.count(), c.counts.completed + c.counts.censored);
    assert_eq!(at_least(&seen.latency.response, NS_PER_S * 9 / 10), c.counts.censored, "each after its whole time");
}

/// It was forgotten, as nothing more was due then; the request of the time that was added waited for it until its timeout.
#[test]
fn a_slot_that_closed_before_the_end_serves_the_time_that_is_added() {
    let mut sim = Sim::open(Arrivals::Constant, 1.0, 1, 10);
    sim.prolonged_ns = Some(NS_PER_S / 2);
    let seen = sim.run(|now| Answer::AtThenClose(now + 1_000_000));
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good), (11, 11), "{:?}", seen.cohort.failures);
    assert_eq!(seen.flow.grown, 0);
}

/// What was sent between the begin of the window and the thread's next look at it was not planned, and yet counted as good.
#[test]
fn a_window_decided_while_a_thread_was_busy_counts_each_request_once_or_not_at_all() {
    for quota in [None, Some(1000)] {
        let mut sim = Sim::closed(10, 1);
        sim.quota = quota;
        sim.window_ns = (UNDECIDED_NS, UNDECIDED_NS);
        // When the 101st responses come, and no tick ends.
        let start_ns = NS_PER_S + 10_000_000;
        sim.decided_ns = Some((start_ns, if quota.is_none() { start_ns + NS_PER_S } else { UNDECIDED_NS }));
        let seen = sim.run(|now| Answer::At(now + 10_000_000));
        assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.sent), (1000, 1000), "{quota:?}");
        assert_eq!((seen.cohort.counts.good, seen.latency.response.count()), (1000, 1000), "{quota:?}");
    }
}

/// A connection that is open at once and takes `room` bytes more.
struct Narrow {
    room: usize,
    taken: Vec<u8>,
}

impl Transport for Narrow {
    fn connect(&mut self, _conn: usize) -> Result<Opening, FailureKind> {
        Ok(Opening::Done)
    }

    fn send(&mut self, _conn: usize, bytes: &[u8]) -> Result<usize, FailureKind> {
        let n = bytes.len().min(self.room);
        self.room -= n;
        self.taken.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn close(&mut self, _conn: usize) {
        panic!("it goes on");
    }
}

/// A core with one connection of `pipeline` requests, open and under way.
fn started(protocol: Protocol, request: &Request, pipeline: usize, net: &mut Narrow) -> Core {
    let style = Style { protocol, authority: "sim", keepalive: true, streams: pipeline as u32 };
    let source = Source::of(std::slice::from_ref(request), style, Numbering::default(), 1).expect("no template");
    let job = Job {
        worker: 0,
        share: Share { index: 0, of: 1 },
        connections: 1,
        beforehand: 1,
        source: Arc::new(source),
        pipeline,
        pace: Pace::Closed,
        quota: None,
        warmup_quota: None,
        keepalive: true,
        timeout_ns: NS_PER_S,
        slo_ns: None,
    };
    let mut core = Core::new(job, Arc::new(Window::new(0, UNDECIDED_NS)), Arc::default());
    core.open(0, 0, net).expect("it opens at once");
    core.start(0, net);
    core
}

/// It lay there until something else was to be sent, and the application went on with the request.
#[test]
fn a_request_given_up_within_another_is_aborted_right_after_it() {
    const ABORT_OF_FIRST: [u8; 8] = [1, 2, 0, 1, 0, 0, 0, 0];
    let mut net = Narrow { room: usize::MAX, taken: Vec::new() };
    let mut core = started(Protocol::FastCgi, &Request::get("/"), 2, &mut net);
    let length = net.taken.len() / 2;
    // The second is answered, and the socket takes a part of the one that follows it.
    net.room = 5;
    let answer = Due::Record(2).bytes().expect("a record");
    core.on_bytes(0, &answer, NS_PER_S / 2, &mut net);
    // The first times out within that part.
    core.turn(NS_PER_S, &mut net);
    assert_eq!(net.taken.len(), 2 * length + 5);
    net.room = usize::MAX;
    core.on_writable(0, NS_PER_S, &mut net);
    assert_eq!(net.taken[3 * length..], ABORT_OF_FIRST);
}

/// Only the first went out, as if there were no pipeline.
#[test]
fn pipelined_requests_that_are_too_large_for_one_write_all_go_out() {
    let mut net = Narrow { room: usize::MAX, taken: Vec::new() };
    let body = vec![b'x'; 70_000];
    let upload = Request { method: "POST".into(), body_bytes: body.len() as u64, body, ..Request::get("/") };
    started(Protocol::Http1, &upload, 3, &mut net);
    assert!(net.taken.len() > 3 * 70_000, "{}", net.taken.len());
}

/// `-n 1000` at 50,000/s takes 20 ms, and was told as 9,000/s: the wait for the account of disturbed time was in the window.
#[test]
fn a_number_of_requests_is_over_with_the_last_answer_and_not_with_the_account() {
    let mut sim = Sim::closed(4, 1);
    (sim.quota, sim.window_ns) = (Some(1000), (0, UNDECIDED_NS));
    let unsure = SliceMarks::default();
    unsure.keep();
    sim.marks = Arc::new(unsure);
    let seen = sim.run(|now| Answer::At(now + 80_000));
    let measured_ns: u64 = seen.ticks.iter().map(|tick| tick.to_ns - tick.from_ns).sum();
    assert_eq!((seen.cohort.counts.good, measured_ns), (1000, 20_000_000));
}

/// While its last answer was awaited, what would have been due after the last of `-n` was told as a backlog that grows.
#[test]
fn nothing_is_late_behind_the_last_of_a_number_of_requests() {
    let mut sim = Sim::open(Arrivals::Constant, 500.0, 100, 1);
    (sim.quota, sim.window_ns) = (Some(1000), (0, UNDECIDED_NS));
    let mut n = 0;
    let seen = sim.run(move |now| {
        n += 1;
        if n == 1000 { Answer::Never } else { Answer::At(now + 1_000_000) }
    });
    assert!(seen.ticks.len() > 3, "it waits for the last one until its timeout");
    assert!(
        seen.ticks.iter().all(|tick| tick.late_ns < 10_000_000),
        "{:?}",
        seen.ticks.iter().map(|t| t.late_ns).max()
    );
}

/// They were counted when the last request was sent: what was in flight then was told as never answered.
#[test]
fn connections_of_a_number_of_requests_are_counted_with_the_last_answer() {
    let mut sim = Sim::closed(64, 1);
    (sim.quota, sim.window_ns) = (Some(64), (0, UNDECIDED_NS));
    let fairness = sim.run(|now| Answer::At(now + 10_000_000)).cohort.fairness.expect("they are counted");
    assert_eq!((fairness.answered, fairness.starved, fairness.responses), (64, 0, 64));
}

/// A server that stops to answer: 84 % of the rate was told to be what chance had offered, as what found no connection was not
/// counted, and connections were told to be kept from the others.
#[test]
fn requests_that_an_early_end_leaves_without_an_outcome_are_counted_whether_they_were_sent_or_not() {
    let mut sim = Sim::open(Arrivals::Constant, 100.0, 16, 10);
    (sim.beforehand, sim.stopped_ns) = (Some(1), Some(4 * NS_PER_S));
    let seen = sim.run(|now| if now < 3 * NS_PER_S { Answer::At(now + 1_000_000) } else { Answer::Never });
    let counts = seen.cohort.counts;
    assert!((399..=401).contains(&counts.planned), "100/s for four seconds: {counts:?}");
    assert_eq!((counts.sent, counts.good + counts.unfinished), (counts.good + 16, counts.planned), "{counts:?}");
    // They were due evenly over the last second.
    let mean_ns = counts.unfinished_ns / counts.unfinished;
    assert!((490_000_000..=510_000_000).contains(&mean_ns), "{mean_ns}");
    // The client was not late: the wait was for a connection.
    assert!(seen.latency.slip_blocked.summary().p99_ns > 500_000_000 && seen.latency.slip_client.summary().max_ns == 0);
    let fairness = seen.cohort.fairness.expect("they are counted");
    assert_eq!((fairness.answered, fairness.starved), (1, 15));
    let (starved_ns, quiet_ns) =
        (fairness.starved_ns.expect("they wait"), fairness.quiet_ns.expect("one was answered"));
    assert!(quiet_ns > starved_ns, "nobody was answered while they waited: {fairness:?}");
}

#[test]
fn a_load_that_comes_to_its_end_leaves_no_request_without_an_outcome() {
    for sim in [Sim::closed(8, 3), Sim::open(Arrivals::Constant, 100.0, 16, 3)] {
        let seen = sim.run(|now| if now < 2 * NS_PER_S { Answer::At(now + 1_000_000) } else { Answer::Never });
        let counts = seen.cohort.counts;
        assert_eq!((counts.unfinished, counts.unfinished_ns), (0, 0), "{counts:?}");
        assert_eq!(counts.planned, counts.good + counts.censored, "{counts:?}");
    }
}

#[test]
fn the_first_byte_has_a_time_of_its_own() {
    let seen = Sim::closed(4, 10).run(|now| Answer::InPieces(now + 2_000_000, now + 10_000_000));
    let (first_byte, service) = (seen.latency.first_byte.summary(), seen.latency.service.summary());
    near("first byte p50", first_byte.p50_ns, 2.0, 0.001);
    near("first byte max", first_byte.max_ns, 2.0, 0.001);
    near("service p50", service.p50_ns, 10.0, 0.001);
    assert_eq!(first_byte.n, service.n, "each request has both");
    let whole = Sim::closed(4, 10).run(|now| Answer::At(now + 2_000_000));
    assert_eq!(whole.latency.first_byte, whole.latency.service, "they come in one piece");
    let streams = four_streams().run(|now| Answer::At(now + 2_000_000));
    assert_eq!(streams.latency.first_byte, streams.latency.service, "so they do on streams");
}

#[test]
fn of_a_body_that_never_ends_the_first_byte_is_known_and_of_no_answer_it_is_a_lower_bound() {
    let ended = |answer: fn(u64) -> Answer| {
        let mut sim = Sim::closed(1, 10);
        sim.timeout_ns = 100_000_000;
        let seen = sim.run(answer);
        (seen.latency.first_byte.summary(), seen.latency.service.summary())
    };
    let (first_byte, service) = ended(|now| Answer::InPieces(now + 2_000_000, now + 600 * NS_PER_S));
    near("first byte", first_byte.max_ns, 2.0, 0.001);
    assert!(service.min_ns >= 99_900_000, "{service:?}");
    let (first_byte, service) = ended(|_| Answer::Never);
    assert_eq!(first_byte, service);
}
