//! Results of the engine in virtual time against arithmetic.

use super::*;

pub(super) fn near(what: &str, measured: u64, truth_ms: f64, tolerance: f64) {
    let measured_ms = measured as f64 / 1e6;
    let off = (measured_ms - truth_ms).abs();
    assert!(off <= tolerance * truth_ms, "{what}: {measured_ms} ms, truth {truth_ms} ms");
}

#[test]
fn a_stall_is_seen_by_every_request_it_delays() {
    // 200 ms in every second at 1,000/s: 20 % of the requests wait, evenly between 0 and 200 ms.
    for connections in [64, 256, 1024] {
        let mut sim = Sim::open(Arrivals::Constant, 1000.0, connections, 10);
        sim.window_ns = (NS_PER_S, 11 * NS_PER_S);
        let seen = sim.run(stalling(200_000_000));
        assert_eq!(seen.cohort.counts.planned, 10_000);
        assert_eq!(seen.cohort.counts.good, 10_000);
        assert!(seen.latency.response.quantile(0.5) < 10_000, "p50 {}", seen.latency.response.quantile(0.5));
        near("p90", seen.latency.response.quantile(0.9), 100.0, 0.02);
        near("p99", seen.latency.response.quantile(0.99), 190.0, 0.02);
        near("max", seen.latency.response.summary().max_ns, 200.0, 0.02);
    }
}

#[test]
fn a_request_without_a_free_connection_is_blocked_not_slipped() {
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 64, 10);
    sim.window_ns = (NS_PER_S, 11 * NS_PER_S);
    let seen = sim.run(stalling(200_000_000));
    // 64 of 200 requests of each stall find a connection; the rest wait for one, the first 136 ms.
    near("blocked max", seen.latency.slip_blocked.summary().max_ns, 136.0, 0.02);
    assert_eq!(seen.latency.slip_client.summary().max_ns, 0, "virtual time has no lateness of its own");
    near("service max", seen.latency.service.summary().max_ns, 200.0, 0.02);
    near("response max", seen.latency.response.summary().max_ns, 200.0, 0.02);
}

/// Quantiles .5, .95, .99, .999 in ms.
fn quantiles(histogram: &MergedHistogram) -> [f64; 4] {
    [0.5, 0.95, 0.99, 0.999].map(|q| histogram.quantile(q) as f64 / 1e6)
}

#[test]
fn coordinated_omission_table() {
    // One worker, 1 ms exponential service, frozen 1 s after every 20 s of work, 200 requests/s: the published
    // table. Arithmetic: a request x s into a freeze waits 1 - x s and behind 0.2 x s of work, so the slowest 5 %
    // (1.05 s of arrivals in a period of 21 s) begin at 0.16 s.
    let freezing = |seed| freezing_queue(1e6, NS_PER_S, 21 * NS_PER_S, seed);
    let seconds = 4000;
    let check = |row: &str, measured: [f64; 4], table: [f64; 4]| {
        for (m, t) in measured.iter().zip(table) {
            assert!((m - t).abs() <= 0.10 * t, "{row}: measured {measured:?} ms, table {table:?} ms");
        }
    };
    let open = |arrivals, connections, seconds, seed| {
        let mut sim = Sim::open(arrivals, 200.0, connections, seconds);
        sim.timeout_ns = 60 * NS_PER_S;
        sim.pace = Pace::Open(Schedule::new(arrivals, 200.0, seed).cursor(Share { index: 0, of: 1 }));
        sim.run(freezing(seed))
    };
    // Poisson arrivals make the 95th percentile, which lies on a steep part, need more of them.
    let poisson = std::thread::scope(|scope| {
        let parts: Vec<_> =
            [3, 4].into_iter().map(|seed| scope.spawn(move || open(Arrivals::Poisson, 1000, 12_000, seed))).collect();
        let mut response = MergedHistogram::new();
        parts.into_iter().for_each(|part| response.add(&part.join().expect("it ends").latency.response));
        response
    });
    check("open, Poisson", quantiles(&poisson), [0.95, 149.0, 818.0, 985.0]);
    let constant = open(Arrivals::Constant, 1000, seconds, 3);
    check("open, constant", quantiles(&constant.latency.response), [0.77, 161.0, 835.0, 986.0]);

    // One paced connection: what its service times say is the uncorrected row ...
    let paced = open(Arrivals::Constant, 1, seconds, 3);
    check("one paced connection", quantiles(&paced.latency.service), [0.70, 3.0, 4.6, 7.1]);
    // ... and with the intended interval put back in, the corrected one.
    let mut corrected = MergedHistogram::new();
    for (value, n) in paced.latency.service.buckets() {
        for _ in 0..n {
            let mut left = value;
            corrected.record(left);
            while left >= 2 * 5_000_000 {
                left -= 5_000_000;
                corrected.record(left);
            }
        }
    }
    check("the same, corrected", quantiles(&corrected), [0.75, 5.9, 792.0, 981.0]);
    // The response times of the same single connection need no repair.
    let [_, _, p99, p999] = quantiles(&paced.latency.response);
    assert!((p99 - 835.0).abs() < 83.5 && (p999 - 986.0).abs() < 98.6, "p99 {p99} ms, p99.9 {p999} ms");

    let closed = Sim::closed(10, seconds / 10).run(freezing(3));
    check("closed, full throttle", quantiles(&closed.latency.response), [9.7, 15.7, 18.9, 24.0]);
}

#[test]
fn response_times_of_a_queue_are_those_of_its_formula() {
    // M/M/1 at half of its rate: the response time is exponential with mean 1 / (2,000/s - 1,000/s).
    let sim = Sim::open(Arrivals::Poisson, 1000.0, 1000, 150);
    let seen = sim.run(freezing_queue(500_000.0, 0, NS_PER_S, 5));
    assert!(seen.cohort.counts.good > 140_000, "{}", seen.cohort.counts.good);
    for (q, truth_ms) in [(0.5, 2.0_f64.ln()), (0.9, 10.0_f64.ln()), (0.99, 100.0_f64.ln())] {
        near("quantile of M/M/1", seen.latency.response.quantile(q), truth_ms, 0.05);
    }
}

#[test]
fn a_pool_is_measured_as_arithmetic_has_it() {
    // 5 workers, 5 ms: 1,000/s; with 20 users the response takes 20 ms (Little).
    let seen = Sim::closed(20, 10).run(pool(5, 5_000_000));
    let per_s = seen.flow.good as f64 / 10.0;
    assert!((per_s - 1000.0).abs() <= 2.0, "{per_s}/s");
    near("p50", seen.latency.response.quantile(0.5), 20.0, 0.01);
    let outstanding = seen.flow.outstanding_ns as f64 / 10e9;
    assert!((outstanding - 20.0).abs() < 0.01, "outstanding {outstanding}");
}

#[test]
fn past_its_capacity_a_server_gets_no_credit_for_late_answers() {
    // 1,000/s offered to a pool that holds 500/s: goodput is what came out in the window.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 100_000, 4);
    sim.timeout_ns = 60 * NS_PER_S;
    let seen = sim.run(pool(5, 10_000_000));
    assert!((seen.flow.good as f64 / 4.0 - 500.0).abs() < 3.0, "{}", seen.flow.good);
    // Every request is followed to its end, and the last ones waited 4 s.
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good), (4000, 4000));
    near("max", seen.latency.response.summary().max_ns, 4000.0, 0.02);
}

#[test]
fn what_is_due_and_cannot_be_sent_is_late_and_sends_are_kept_as_they_went() {
    // 1,000/s on 10 connections of a pool that holds 500/s: each second half a second's requests more are due.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 10, 4);
    sim.timeout_ns = 60 * NS_PER_S;
    let seen = sim.run(pool(5, 10_000_000));
    let sends = |seen: &Seen| seen.ticks.iter().flat_map(|tick| tick.sends_ns.clone()).collect::<Vec<_>>();
    for (second, tick) in seen.ticks[..4].iter().enumerate() {
        near("late", tick.late_ns, 500.0 * (second + 1) as f64, 0.05);
    }
    // All that is sent in the 2 s in which 2,000 are due goes at the pool's pace.
    assert!(sends(&seen).len().abs_diff(1000) < 20, "{}", sends(&seen).len());
    let in_time = Sim::open(Arrivals::Constant, 1000.0, 10, 4).run(pool(5, 1_000_000));
    assert!(in_time.ticks.iter().all(|tick| tick.late_ns == 0));
    let sends = sends(&in_time);
    assert!(sends.len() == 2000 && sends.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000), "{}", sends.len());
}

#[test]
fn unanswered_requests_are_kept_as_censored_values() {
    let mut n = 0;
    let mut sim = Sim::open(Arrivals::Constant, 100.0, 500, 10);
    sim.timeout_ns = NS_PER_S;
    let seen = sim.run(move |now| {
        n += 1;
        if n % 10 == 0 { Answer::Never } else { Answer::At(now + 1_000_000) }
    });
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good, seen.cohort.counts.censored), (1000, 900, 100));
    assert_eq!(seen.cohort.failures.get("first_byte.timeout"), Some(&100));
    assert_eq!(seen.latency.response.count(), 1000);
    let p99 = seen.latency.response.quantile(0.99);
    assert!((NS_PER_S..NS_PER_S * 11 / 10).contains(&p99), "noticed soon after the timeout: {p99} ns");
}

#[test]
fn requests_that_find_no_connection_in_time_are_given_up_and_counted() {
    let mut sim = Sim::open(Arrivals::Constant, 100.0, 1, 5);
    sim.timeout_ns = NS_PER_S;
    let seen = sim.run(|_| Answer::Never);
    assert_eq!(seen.cohort.counts.planned, 500);
    assert_eq!(seen.cohort.counts.censored, 500, "{:?}", seen.cohort.failures);
    assert!(seen.cohort.counts.sent < 10, "one connection carries one request a second");
    assert_eq!(seen.latency.response.count(), 500);
}

#[test]
fn a_count_is_met_exactly() {
    for (connections, quota) in [(1, 1), (10, 3), (10, 1000)] {
        let mut sim = Sim::closed(connections, 1);
        sim.window_ns = (0, u64::MAX);
        sim.quota = Some(quota);
        let seen = sim.run(pool(4, 1_000_000));
        assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good), (quota, quota));
        assert_eq!(seen.arrivals.len() as u64, quota);
    }
}

/// A warm-up of two seconds had sent 118,219 orders to a shop.
#[test]
fn a_bounded_warm_up_sends_so_many_and_rests_until_the_window() {
    for mut sim in [Sim::closed(4, 1), Sim::open(Arrivals::Constant, 100.0, 10, 1)] {
        let is_closed = matches!(sim.pace, Pace::Closed);
        sim.window_ns = (2 * NS_PER_S, 3 * NS_PER_S);
        sim.warmup_quota = Some(20);
        let seen = sim.run(pool(4, 1_000_000));
        let (before, of_window): (Vec<u64>, Vec<u64>) =
            seen.arrivals.iter().copied().partition(|at| *at < 2 * NS_PER_S);
        assert_eq!(before.len(), 20, "closed: {is_closed}");
        assert_eq!(of_window.len() as u64, seen.cohort.counts.planned);
        assert_eq!(seen.cohort.counts.good, if is_closed { 4_000 } else { 100 });
        assert!(of_window[0] < 2 * NS_PER_S + 10_000_000, "the first is sent as the window begins");
    }
}

#[test]
fn a_count_begins_after_the_warm_up() {
    let mut sim = Sim::open(Arrivals::Constant, 100.0, 10, 1);
    sim.window_ns = (2 * NS_PER_S, u64::MAX);
    sim.quota = Some(50);
    let seen = sim.run(pool(4, 1_000_000));
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good, seen.arrivals.len()), (50, 50, 250));
}

#[test]
fn warm_up_is_not_in_the_figures() {
    let mut sim = Sim::closed(4, 1);
    sim.window_ns = (3 * NS_PER_S, 5 * NS_PER_S);
    // Slow until the third second.
    let seen = sim.run(|now| Answer::At(now + if now < 3 * NS_PER_S { 100_000_000 } else { 1_000_000 }));
    near("max", seen.latency.response.summary().max_ns, 1.0, 0.01);
    assert!((seen.flow.good as f64 / 2.0 - 4000.0).abs() < 5.0);
    let phases: Vec<_> = seen.ticks.iter().map(|t| (t.phase, t.from_ns, t.to_ns)).collect();
    let s = NS_PER_S;
    assert_eq!(
        phases[..5],
        [
            (Phase::Warmup, 0, s),
            (Phase::Warmup, s, 2 * s),
            (Phase::Warmup, 2 * s, 3 * s),
            (Phase::Measure, 3 * s, 4 * s),
            (Phase::Measure, 4 * s, 5 * s)
        ]
    );
}

#[test]
fn the_server_sees_constant_arrivals_evenly() {
    let seen = Sim::open(Arrivals::Constant, 10_000.0, 256, 2).run(|now| Answer::At(now + 300_000));
    assert_eq!(seen.arrivals.len(), 20_000);
    assert!(seen.arrivals.windows(2).all(|w| w[1] - w[0] == 100_000));
}

#[test]
fn connections_the_server_closes_are_opened_again() {
    let mut n = 0;
    let server = move |now| {
        n += 1;
        if n % 100 == 0 { Answer::AtThenClose(now + 1_000_000) } else { Answer::At(now + 1_000_000) }
    };
    let seen = Sim::closed(8, 2).run(server);
    assert_eq!(seen.cohort.failed(), 0);
    assert!((seen.flow.good as f64 - 16_000.0).abs() < 20.0);
    assert_eq!(seen.connects, 8 + seen.flow.good / 100);
}

#[test]
fn idle_connections_opened_on_an_earlier_clock_are_not_overdue() {
    let mut sim = Sim::open(Arrivals::Constant, 100.0, 8, 1);
    sim.opened_ns = 20 * NS_PER_S;
    let seen = sim.run(|now| Answer::At(now + 1_000_000));
    assert_eq!((seen.cohort.counts.good, seen.connects), (100, 8));
}

#[test]
fn without_keepalive_every_request_has_its_own_connection() {
    let mut sim = Sim::closed(8, 1);
    sim.keepalive = false;
    let seen = sim.run(|now| Answer::AtThenClose(now + 1_000_000));
    assert_eq!(seen.connects, seen.arrivals.len() as u64, "the ones opened early are used first");
    assert_eq!(seen.cohort.failed(), 0);
}

#[test]
fn a_connection_lost_before_the_answer_is_a_failure_by_phase_and_kind() {
    let seen = Sim::closed(2, 1).run(|now| Answer::CloseAt(now + 10_000_000));
    let failures: Vec<_> = seen.cohort.failures.keys().map(String::as_str).collect();
    assert_eq!(failures, ["first_byte.closed"]);
    assert_eq!(seen.cohort.counts.good, 0);
    assert_eq!(seen.cohort.counts.planned, seen.cohort.failed());
}

#[test]
fn a_server_that_refuses_is_retried_with_growing_pauses() {
    let mut sim = Sim::closed(1, 10);
    sim.keepalive = false;
    sim.accepts = false;
    let seen = sim.run(|now| Answer::AtThenClose(now + 1_000_000));
    assert_eq!(seen.cohort.counts.good, 1, "the connection opened early");
    let refused = seen.cohort.failures["connect.refused"];
    assert!((50..200).contains(&refused), "{refused} attempts in 10 s");
}

#[test]
fn every_planned_request_ends_in_exactly_one_count() {
    let mut n = 0;
    let mut sim = Sim::open(Arrivals::Poisson, 500.0, 20, 20);
    sim.timeout_ns = NS_PER_S;
    let seen = sim.run(move |now| {
        n += 1;
        match n % 17 {
            0 => Answer::Never,
            5 => Answer::CloseAt(now + 3_000_000),
            9 => Answer::AtThenClose(now + 2_000_000),
            _ => Answer::At(now + 10_000_000),
        }
    });
    let c = &seen.cohort;
    assert_eq!(c.counts.planned, c.counts.good + c.failed(), "{c:?}");
    assert_eq!(c.counts.completed, c.counts.good);
    assert_eq!(seen.latency.response.count(), c.counts.completed + c.counts.censored);
}

/// Every 20th answer has another body of the right size.
fn one_in_twenty_wrong() -> impl FnMut(u64) -> Answer {
    let mut n = 0_u64;
    move |now| {
        n += 1;
        if n.is_multiple_of(20) { Answer::WrongAt(now + 1_000_000) } else { Answer::At(now + 1_000_000) }
    }
}

#[test]
fn wrong_bodies_are_found_in_the_share_that_is_looked_at() {
    let ok_hash = 0x08b0_5d07_b556_6bef; // FNV-1a of "ok"
    for (kind, text, hash) in [("contract.body", Some("ok"), None), ("contract.hash", None, Some(ok_hash))] {
        let mut sim = Sim::closed(10, 4);
        sim.contract = Contract { body_text: text.map(Into::into), body_hash: hash, ..sim.contract };
        let seen = sim.run(one_in_twenty_wrong());
        let c = &seen.cohort;
        // 40,000 answers; 17 and 20 have no common factor, so one in 340 is both wrong and looked at.
        assert_eq!(
            (c.counts.completed, c.counts.body_checked),
            (40_000, 40_000_u64.div_ceil(model::BODY_SAMPLE_EVERY))
        );
        assert!(c.failures[kind].abs_diff(40_000 / 340) <= 1, "{:?}", c.failures);
        assert_eq!(c.counts.good + c.failures[kind], c.counts.completed);
        assert_eq!(seen.flow.failed, c.failures[kind]);
    }
}

/// Half of the answers were error pages of the same size, and nobody looked.
#[test]
fn bodies_other_than_the_probes_are_counted_and_are_good() {
    let mut sim = Sim::closed(10, 4);
    sim.contract = Contract { usual_hash: Some(0x08b0_5d07_b556_6bef), ..sim.contract };
    let every = sim.contract.compared_every();
    let seen = sim.run(one_in_twenty_wrong());
    let c = &seen.cohort;
    assert_eq!((c.counts.completed, c.counts.good, c.counts.body_checked), (40_000, 40_000, 0));
    assert_eq!(c.counts.bodies_compared, 40_000_u64.div_ceil(every));
    assert!(
        c.counts.bodies_other > 0
            && c.counts.bodies_other.abs_diff(c.counts.bodies_compared / 20) <= 1 + c.counts.bodies_compared / 40,
        "{c:?}"
    );
}

#[test]
fn bodies_that_hold_what_is_asked_for_are_silent() {
    let mut sim = Sim::open(Arrivals::Poisson, 1000.0, 20, 4);
    sim.contract = Contract { body_text: Some("ok".into()), ..sim.contract };
    let seen = sim.run(|now| Answer::At(now + 1_000_000));
    assert_eq!(seen.cohort.failed(), 0, "{:?}", seen.cohort.failures);
    assert_eq!(seen.cohort.counts.body_checked, seen.cohort.counts.completed.div_ceil(model::BODY_SAMPLE_EVERY));
    let unasked = Sim::closed(4, 1).run(one_in_twenty_wrong());
    assert_eq!((unasked.cohort.failed(), unasked.cohort.counts.body_checked), (0, 0));
}

#[test]
fn a_pipeline_of_eight_brings_eight_times_as_much_over_a_long_line() {
    // 10 ms there and back, a server that takes no time: 100/s for each request that is out.
    let mut sim = Sim::closed(1, 10);
    sim.pipeline = 8;
    let seen = sim.run(|now| Answer::At(now + 10_000_000));
    assert_eq!((seen.cohort.counts.good, seen.cohort.failed()), (8_000, 0));
    near("p50", seen.latency.response.quantile(0.5), 10.0, 0.001);
    assert_eq!(seen.sends, 1_000, "what one read answers is asked again with one write");
}

#[test]
fn what_was_pipelined_behind_a_close_is_sent_again_and_counted_once() {
    let mut sim = Sim::closed(4, 10);
    (sim.pipeline, sim.quota) = (8, Some(5_000));
    let mut served = 0;
    let seen = sim.run(move |now| {
        served += 1;
        if served % 10 == 0 { Answer::AtThenClose(now + 1_000_000) } else { Answer::At(now + 1_000_000) }
    });
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.sent, seen.cohort.counts.good), (5_000, 5_000, 5_000));
    assert!(seen.arrivals.len() > 5_500, "{} arrivals", seen.arrivals.len());
    assert_eq!(seen.cohort.failed(), 0);
}

#[test]
fn everything_pipelined_on_a_broken_connection_has_failed() {
    let mut sim = Sim::closed(1, 10);
    (sim.pipeline, sim.quota) = (4, Some(400));
    let mut served = 0;
    let seen = sim.run(move |now| {
        served += 1;
        if served % 100 == 0 { Answer::CloseAt(now + 1_000_000) } else { Answer::At(now + 1_000_000) }
    });
    assert_eq!(seen.cohort.counts.good + seen.cohort.failed(), 400);
    assert_eq!(seen.cohort.failures.keys().collect::<Vec<_>>(), ["first_byte.closed"]);
    assert!((4..=16).contains(&seen.cohort.failed()), "{:?}", seen.cohort.failures);
}

/// One connection with four streams.
pub(super) fn four_streams() -> Sim {
    Sim { protocol: Protocol::FastCgi, pipeline: 4, ..Sim::closed(1, 10) }
}

#[test]
fn a_response_that_takes_long_holds_up_no_other_stream() {
    let mut served = 0;
    let seen = four_streams().run(move |now| {
        served += 1;
        Answer::At(now + if served % 10 == 0 { 10_000_000 } else { 1_000_000 })
    });
    // 1.9 ms on average; in the order of the requests it would be at most four in 10 ms of every ten.
    near("goodput", seen.cohort.counts.good, 10.0 * 4.0 / 0.0019 / 1e6, 0.02);
    assert_eq!((seen.cohort.failed(), seen.connects), (0, 1));
}

#[test]
fn a_request_that_is_never_answered_fails_alone_where_streams_are_apart() {
    let mut sim = four_streams();
    sim.timeout_ns = 100_000_000;
    let mut served = 0;
    let seen = sim.run(move |now| {
        served += 1;
        if served % 1_000 == 0 { Answer::Never } else { Answer::At(now + 1_000_000) }
    });
    assert_eq!(seen.cohort.failures.keys().collect::<Vec<_>>(), ["first_byte.timeout"]);
    assert_eq!(
        (seen.cohort.failed(), seen.cohort.counts.good + seen.cohort.failed()),
        (seen.aborts, seen.cohort.counts.planned)
    );
    assert!((20..=40).contains(&seen.aborts), "{}", seen.aborts);
    assert_eq!(seen.connects, 1, "the connection goes on");
}

/// Marks for a run of which the slices of `disturbed` are disturbed.
fn marked(disturbed: impl IntoIterator<Item = u64>) -> Arc<SliceMarks> {
    let marks = SliceMarks::default();
    marks.keep();
    disturbed.into_iter().for_each(|slice| marks.mark(slice));
    marks.publish(1000);
    Arc::new(marks)
}

#[test]
fn stalls_of_the_server_stay_to_the_request_while_disturbed_time_is_cut() {
    // A stall of 200 ms begins each second: 200 of 1,000 requests wait. Disturbed are 300 ms in the middle of each second,
    // where no stall is: all stalls stay.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 256, 10);
    sim.window_ns = (NS_PER_S, 11 * NS_PER_S);
    sim.marks = marked((10..110).filter(|slice| (4..7).contains(&(slice % 10))));
    let seen = sim.run(stalling(200_000_000));
    let mut clean = seen.latency.clone();
    clean.subtract(&seen.set_aside);
    assert_eq!(seen.set_aside.response.count(), 10 * 300, "those scheduled in disturbed time");
    assert_eq!(at_least(&clean.response, 1_000_000), at_least(&seen.latency.response, 1_000_000));
    assert_eq!(at_least(&seen.set_aside.response, 1_000_000), 0);
    assert_eq!((clean.response.count(), clean.slip_client.count()), (7_000, 7_000));
    near("p99 of what is left", clean.response.quantile(0.99), 193.0, 0.02);
}

#[test]
fn a_stall_is_cut_only_with_the_time_it_lies_in() {
    // Of ten stalls three lie in disturbed time: seven are left, with each of their requests.
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 256, 10);
    sim.window_ns = (NS_PER_S, 11 * NS_PER_S);
    sim.marks = marked([20, 21, 50, 51, 80, 81]);
    let seen = sim.run(stalling(200_000_000));
    let mut clean = seen.latency.clone();
    clean.subtract(&seen.set_aside);
    let of_one = at_least(&seen.latency.response, 1_000_000) / 10;
    assert!(of_one >= 198, "{of_one}");
    assert_eq!(at_least(&clean.response, 1_000_000), 7 * of_one);
    assert_eq!(at_least(&seen.set_aside.response, 1_000_000), 3 * of_one);
}

#[test]
fn a_request_in_flight_in_disturbed_time_is_set_aside_whenever_it_ends() {
    // Each takes 250 ms: set aside are those that were out in slice 20, which began in it or up to 250 ms before.
    let mut sim = Sim::closed(10, 5);
    sim.marks = marked([20]);
    let seen = sim.run(|now| Answer::At(now + 250_000_000));
    assert_eq!(seen.set_aside.response.count(), 10 * 2, "those sent at 1.75 s, which end in it, and at 2.0 s");
    let mut quiet = Sim::closed(10, 5);
    quiet.marks = marked([]);
    let quiet = quiet.run(|now| Answer::At(now + 250_000_000));
    assert_eq!((quiet.set_aside.response.count(), quiet.latency.response.count()), (0, seen.latency.response.count()));
}

#[test]
fn slices_hold_all_that_came_and_since_when_the_oldest_was_out() {
    let seen = Sim::closed(4, 2).run(|now| Answer::At(now + 30_000_000));
    let measured: Vec<_> = seen.ticks.iter().filter(|tick| tick.phase == Phase::Measure).collect();
    let slices: Vec<_> = measured.iter().flat_map(|tick| &tick.slices).collect();
    assert_eq!(slices.iter().map(|slice| slice.good).sum::<u64>(), seen.flow.good);
    assert_eq!(slices.iter().map(|slice| slice.completed).sum::<u64>(), seen.flow.completed);
    // What ends first in slice 1 is from 90 ms.
    assert_eq!((slices[1].slice, slices[1].oldest_ns), (1, 90_000_000));
}

#[test]
fn a_window_that_is_prolonged_goes_on_without_a_gap() {
    for pace in ["closed", "open"] {
        let mut sim = match pace {
            "closed" => Sim::closed(4, 2),
            _ => Sim::open(Arrivals::Constant, 400.0, 16, 2),
        };
        sim.prolonged_ns = Some(1_500_000_000);
        let seen = sim.run(|now| Answer::At(now + 10_000_000));
        let measured: Vec<_> = seen.ticks.iter().filter(|tick| tick.phase == Phase::Measure).collect();
        let ns: u64 = measured.iter().map(|tick| tick.to_ns - tick.from_ns).sum();
        assert_eq!(ns, 3_500_000_000, "{pace}");
        // 4 of them at a time, 10 ms each; what was sent in the last 10 ms ends after the window.
        let truth = 400 * 7 / 2;
        assert!(seen.flow.good.abs_diff(truth) <= 4, "{pace}: {}", seen.flow.good);
        assert_eq!(seen.cohort.counts.planned, truth, "{pace}");
    }
}

#[test]
fn a_load_that_is_over_waits_for_the_account_of_its_end_and_no_longer() {
    // The account never comes past the first second: a number of requests and a window both end all the same.
    for quota in [Some(500), None] {
        let mut sim = Sim::closed(2, 3);
        sim.quota = quota;
        if quota.is_some() {
            sim.window_ns = (0, crate::window::UNDECIDED_NS);
        }
        let unsure = SliceMarks::default();
        unsure.keep();
        unsure.publish(10);
        sim.marks = Arc::new(unsure);
        let seen = sim.run(|now| Answer::At(now + 10_000_000));
        let end_ns = seen.ticks.last().expect("a tick").to_ns;
        if quota.is_some() {
            assert_eq!(end_ns, 2_500_000_000, "a wait for the account is no part of the window");
        } else {
            assert!((3_000_000_000..=3_400_000_000).contains(&end_ns), "{end_ns}");
        }
    }
}

/// A server with four workers that keep their connections: the other four of eight were told by nothing.
#[test]
fn connections_that_a_server_never_answers_are_counted_with_how_long_they_waited() {
    let sim = Sim::closed(8, 3);
    let mut arrivals = 0_u64;
    // The last four to begin are never answered, the first four after 10 ms each.
    let seen = sim.run(move |now| {
        arrivals += 1;
        if (5..=8).contains(&arrivals) { Answer::Never } else { Answer::At(now + 10_000_000) }
    });
    let fairness = seen.cohort.fairness.expect("they are counted at the end of the window");
    assert_eq!((fairness.connections, fairness.answered, fairness.starved), (8, 4, 4));
    assert_eq!(fairness.responses, seen.flow.completed);
    assert_eq!(fairness.starved_ns, Some(3 * NS_PER_S), "as long as the window, and no answer yet");
    let index = fairness.index().expect("there were responses");
    assert!((index - 0.5).abs() < 0.01, "half of them had all: {index}");
}

#[test]
fn connections_that_share_a_server_evenly_are_fair() {
    let seen = Sim::closed(8, 3).run(|now| Answer::At(now + 10_000_000));
    let fairness = seen.cohort.fairness.expect("they are counted");
    assert_eq!((fairness.connections, fairness.answered, fairness.starved), (8, 8, 0));
    assert!(fairness.index().expect("there were responses") > 0.999);
}

/// `-R 200` opened 256 connections, of which a server with four workers answered four.
#[test]
fn an_open_loop_opens_connections_as_it_needs_them() {
    let mut sim = Sim::open(Arrivals::Constant, 200.0, 256, 10);
    sim.beforehand = Some(1);
    // Each takes 12 ms and they are 5 ms apart: three at a time.
    let seen = sim.run(|now| Answer::At(now + 12_000_000));
    assert_eq!((seen.cohort.counts.planned, seen.cohort.counts.good), (2_000, 2_000));
    assert_eq!((seen.connects, seen.flow.grown), (3, 2));
    assert_eq!(seen.latency.slip_blocked.summary().max_ns, 0, "none had to wait for one");
    assert_eq!(seen.cohort.fairness.expect("they are counted").connections, 3);
}

#[test]
fn an_open_loop_opens_no_more_connections_than_it_may() {
    let mut sim = Sim::open(Arrivals::Constant, 1000.0, 64, 10);
    sim.beforehand = Some(1);
    sim.window_ns = (NS_PER_S, 11 * NS_PER_S);
    let seen = sim.run(stalling(200_000_000));
    assert_eq!(seen.connects, 64);
    near("blocked max", seen.latency.slip_blocked.summary().max_ns, 136.0, 0.02);
}
