//! Limiters of servers that nobody prepared: each was missed, or another was named.

use super::*;

/// Node on CPU 0 of two at 96 %: "CPUs it may use are 52 % busy", and two processes were to double the rate.
#[test]
fn a_server_pinned_by_taskset_is_measured_by_its_own_cpus() {
    let mut evidence = run();
    let machine = seen(&mut evidence).machine.as_mut().unwrap();
    (machine.cpus, machine.busy_mean) = (2, 0.52);
    (machine.cpu_busy_mean, machine.cpu_shares) = (vec![0.96, 0.08], vec![CpuShares::default(); 2]);
    let node = server(&mut evidence);
    (node.cpu_cores, node.cpus, node.threads) = (0.96, vec![0], vec![thread("node", 1, 0.96)]);
    let limiter = of(&evidence);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("cpu-limited", "server CPUs"), "{limiter:#?}");
    assert!(limiter.says.starts_with("the 1 CPU available to the server (of 2) is 96 % busy"), "{}", limiter.says);
    assert!(limiter.says.contains("more processes or workers on them would not help"), "{}", limiter.says);
    assert_eq!(limiter.prediction, None, "another CPU is of no use to one thread");
    let mut processes = evidence.clone();
    server(&mut processes).threads = vec![thread("node", 1, 0.48), thread("node", 2, 0.48)];
    assert_eq!(of(&processes).prediction.unwrap().setting.as_deref(), Some("CPU affinity (taskset, cpuset)"));
    // Where all its threads together are just below, one of them is no event loop that a second process would help.
    seen(&mut evidence).machine.as_mut().unwrap().cpu_busy_mean[0] = 0.88;
    assert_ne!(of(&evidence).name, "single-thread-limited");
}

/// Eight workers of Apache keep eight of 32 connections: told as 0.03 % failures and "a longer timeout".
#[test]
fn connections_that_are_never_served_are_starved() {
    let starved = |answered, starved| {
        let mut evidence = run();
        evidence.latency.response.p99_ns = 13_000_000;
        evidence.connections.fairness = Some(model::Fairness {
            connections: answered + starved,
            answered,
            starved,
            starved_ns: Some(30 * NS_PER_S),
            quiet_ns: Some(0),
            responses: 30_000,
            squares: 30_000 * 30_000 / answered.max(1),
        });
        seen(&mut evidence).pools = vec![pool("apache2", 8.0, 1.0, 0.3, &[("client load_generator", 0.7)])];
        of(&evidence)
    };
    let limiter = starved(8, 24);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("starved", "apache2 workers"), "{limiter:#?}");
    let begins = "8 of 32 connections were served, 24 never (each waited at least 30.0 s), with the CPUs 20 % busy";
    assert!(limiter.says.starts_with(begins), "{}", limiter.says);
    assert_eq!(limiter.evidence["fairness_index"], 0.25);
    assert_eq!(
        (limiter.next, limiter.prediction),
        (None, None),
        "who is never served waits for a connection that ends"
    );
    assert_ne!(starved(20, 0).name, "starved");
    // The CPUs may be busy with those that are served: these are what limits the rate, and the rest is a finding (ER-05).
    let mut busy = run();
    seen(&mut busy).machine.as_mut().unwrap().busy_mean = 1.0;
    server(&mut busy).cpu_cores = 3.9;
    assert_eq!(of(&busy).name, "cpu-limited");
    busy.connections.fairness = Some(model::Fairness {
        connections: 32,
        answered: 8,
        starved: 24,
        starved_ns: Some(30 * NS_PER_S),
        quiet_ns: Some(0),
        responses: 30_000,
        squares: 30_000 * 30_000 / 8,
    });
    busy.latency.response.p99_ns = 13_000_000;
    assert_eq!(of(&busy).name, "cpu-limited");
    // SQLite's writers behind connections that are closed after each response: no worker keeps one.
    busy.plan.keepalive = false;
    assert_eq!(of(&busy).name, "cpu-limited");
    assert_ne!(starved(0, 20).name, "starved", "where nobody is served the server is slow, or down");
}

/// gunicorn gthread, puma and waitress: no limiter, or "4 CPUs instead of 2".
#[test]
fn threads_of_an_interpreter_that_share_one_cpu_wait_for_its_lock() {
    let with = |program: &str, shares: &[f64], own: &[u32]| {
        let mut evidence = run();
        seen(&mut evidence).machine.as_mut().unwrap().busy_mean = 0.97;
        let threads =
            (0..).zip(shares).map(|(n, busy)| ServerThreadObserved { pid: 1, ..thread(program, 1 + n, *busy) });
        let group = server(&mut evidence);
        (group.threads, group.cpus, group.cpu_cores) = (threads.collect(), own.to_vec(), shares.iter().sum());
        of(&evidence)
    };
    let limiter = with("gunicorn", &[0.05, 0.25, 0.27, 0.24, 0.26], &[]);
    assert_eq!(limiter.name, "interpreter-lock-limited", "{limiter:#?}");
    let begins = "5 threads of gunicorn use 1.07 CPUs together, of 4: CPython's global interpreter lock";
    assert!(limiter.says.starts_with(begins), "{}", limiter.says);
    assert_eq!(limiter.prediction.unwrap().change, "2 gunicorn processes instead of 1");
    assert!(with("puma 6.0.2", &[0.5, 0.5], &[]).says.contains("Ruby's global VM lock"));
    assert_ne!(with("nginx", &[0.5, 0.5], &[]).name, "interpreter-lock-limited", "it has no such lock");
    assert_ne!(with("gunicorn", &[0.95, 0.05], &[]).name, "interpreter-lock-limited", "one thread does it all");
    assert_ne!(with("gunicorn", &[0.2, 0.2], &[]).name, "interpreter-lock-limited", "they wait for something else");
    assert_ne!(with("gunicorn", &[0.5, 0.5], &[0]).name, "interpreter-lock-limited", "one CPU is all it has");
    // A process for each CPU, as is recommended: "more processes help", and there was no CPU for one.
    let mut full = run();
    seen(&mut full).machine.as_mut().unwrap().busy_mean = 0.97;
    let threads = (0..16).map(|n| ServerThreadObserved { pid: 1 + n / 4, ..thread("gunicorn", 1 + n, 0.23) });
    let group = server(&mut full);
    (group.threads, group.cpus, group.cpu_cores) = (threads.collect(), Vec::new(), 3.68);
    assert_eq!(of(&full).name, "cpu-limited");
}

/// A sweep up to 32 connections of a server that answers four requests at a time, with everything idle.
pub(super) fn four_slots() -> SweepEvidence {
    let loads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0];
    let mut sweep = clean_sweep(&loads.map(|n: f64| (n, 100.0 * n.min(4.0))));
    for point in &mut sweep.points {
        let evidence = run();
        point.evidence = Evidence { latency: point.evidence.latency.clone(), ..evidence };
        point.evidence.flow.good = (point.goodput_per_s * SECONDS) as u64;
        point.evidence.outstanding.mean = point.load;
    }
    sweep
}

/// A curve of knee 4.0 and 10.9 ms behind a proxy's limit, and nothing said but `unknown`.
#[test]
fn a_curve_of_four_slots_with_everything_idle_is_a_limit_of_requests_at_a_time() {
    let mut sweep = four_slots();
    for point in &mut sweep.points {
        point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
        server(&mut point.evidence).processes[0].name = "haproxy".into();
    }
    let limiter = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_eq!(limiter.name, "concurrency-limited (inferred)", "{limiter:#?}");
    assert!(limiter.confidence <= Confidence::Medium, "nothing was seen at its limit");
    assert!(limiter.says.starts_with("the curve is that of 4 slots of 10.0 ms each"), "{}", limiter.says);
    assert!(limiter.says.contains("HAProxy: maxconn of a server line"), "{}", limiter.says);
    assert!((limiter.prediction.unwrap().expected_per_s - 800.0).abs() < 8.0);
    // With busy CPUs a bend is no limit of requests at a time.
    for point in &mut sweep.points {
        server(&mut point.evidence).cpu_cores = 3.0;
        seen(&mut point.evidence).machine.as_mut().unwrap().busy_mean = 0.8;
    }
    let busy = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert_ne!(busy.name, "concurrency-limited (inferred)");
}

/// Sixteen workers in front of a pooler with four connections were all occupied, and twice as many connections were to buy nothing.
#[test]
fn workers_that_are_occupied_by_waiting_for_slots_do_not_bound_what_more_slots_buy() {
    let mut sweep = four_slots();
    for point in &mut sweep.points {
        seen(&mut point.evidence).pools = vec![pool("gunicorn", 16.0, 1.0, 0.02, &[("pgbouncer", 0.98)])];
    }
    let limiter = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
    assert!(limiter.says.contains("behind gunicorn, whose workers wait for pgbouncer"), "{}", limiter.says);
    let expected_per_s = limiter.prediction.unwrap().expected_per_s;
    assert!((expected_per_s - 800.0).abs() < 8.0, "{expected_per_s}");
}

/// 363/s at 43.9 ms for two writes without TCP_NODELAY was `not-saturated`; 208 ms and 1.00 s had no word.
#[test]
fn time_that_passes_for_a_timer_of_tcp_is_named_with_the_timer() {
    let at = |ms: u64, others_ms: u64, delayed: u64| {
        let mut evidence = run();
        evidence.service_bins.fill(0);
        let bin = |ms: u64| (ms * 1_000_000 / model::SERVICE_BIN_NS) as usize;
        evidence.service_bins[bin(ms)] = 9_000;
        evidence.service_bins[bin(others_ms)] += 900;
        crate::testing::set_counter(&mut evidence, "tcp", "DelayedACKs", delayed);
        of(&evidence)
    };
    let nagle = at(44, 1, 9_000);
    assert_eq!((nagle.name.as_str(), nagle.confidence), ("timer-limited", Confidence::Low), "{nagle:#?}");
    assert!(nagle.says.contains("that is the delayed ACK of TCP (40 ms)"), "{}", nagle.says);
    assert!(nagle.says.contains("TCP_NODELAY"), "{}", nagle.says);
    assert_eq!(at(44, 1, 40).name, NOT_SATURATED, "no acknowledgement was delayed");
    assert!(at(208, 1, 0).says.contains("TCP_CORK"));
    assert_eq!(at(208, 196, 0).name, "timer-limited", "a few others beside it");
    assert_eq!(at(150, 1, 0).name, NOT_SATURATED, "no timer fits");
    let mut sleeping = run();
    sleeping.service_bins.fill(0);
    sleeping.service_bins[52] = 9_000;
    seen(&mut sleeping).pools = vec![pool("app", 20.0, 0.9, 0.1, &[("sleep", 0.8)])];
    assert_ne!(of(&sleeping).name, "timer-limited", "its workers sleep by themselves");
}

/// One response of 15 took 210 ms beside a program that took the CPUs for as long, and was `timer-limited`.
#[test]
fn a_stall_that_lasts_as_long_as_a_timer_is_none() {
    let of_requests = |delayed: u64| {
        let mut evidence = run();
        evidence.service_bins.fill(0);
        evidence.service_bins[0] = 14;
        evidence.service_bins[(210_000_000 / model::SERVICE_BIN_NS) as usize] = delayed;
        let slots = crate::facts::slots(&evidence) as u64;
        (of(&evidence).name, slots)
    };
    let (name, slots) = of_requests(1);
    assert_ne!(name, "timer-limited");
    assert_ne!(of_requests(2 * slots).0, "timer-limited", "two stalls of all that were in flight");
    assert_eq!(of_requests(2 * slots + 1).0, "timer-limited");
}

/// "32 connections can request at most 32,000,000,000/s (each response takes 0 ns)".
#[test]
fn a_server_with_room_that_answered_nothing_has_no_time_of_a_response() {
    let mut evidence = run();
    evidence.latency.response.mean_ns = 0.0;
    assert_eq!(of(&evidence).says, "20 connections leave it room: a higher rate needs more");
}

/// A connection that gets a megabyte a second.
#[test]
fn a_rate_that_every_connection_is_held_to_is_paced() {
    let with_cpu = |cpu_ns: f64, p99_ns: u64, body: u64| {
        let mut evidence = run();
        seen(&mut evidence).server.as_mut().expect("seen").cpu_ns_per_request = Some(cpu_ns);
        let service = &mut evidence.latency.service;
        (service.mean_ns, service.p50_ns, service.p99_ns) = (1e9, 1_000_000_000, p99_ns);
        evidence.flow.bytes_received = evidence.flow.completed * body;
        evidence.probe = None;
        evidence.service_bins.fill(0);
        evidence.service_bins[240..265].fill(100);
        of(&evidence)
    };
    let with = |p99_ns, body| with_cpu(1e6, p99_ns, body);
    let paced = with(1_010_000_000, 1 << 20);
    assert_eq!(paced.name, "paced", "{paced:#?}");
    assert!(paced.says.contains("limit_rate"), "{}", paced.says);
    assert_eq!(with(1_400_000_000, 1 << 20).name, NOT_SATURATED, "some take much longer");
    assert_eq!(with(1_010_000_000, 500).name, NOT_SATURATED, "a small body is sent at once");
    // A page of WordPress for one visitor took 113 ms, and as much CPU time of one of two CPUs.
    assert_eq!(with_cpu(0.9e9, 1_010_000_000, 1 << 20).name, NOT_SATURATED, "it is computed all the time");
}

/// A stack of root that was measured by another user: nginx had 1 % of two CPUs, PHP and its database the rest. The limiter was a
/// rate of each connection ("with the CPUs 99.8 % busy").
#[test]
fn cpus_that_are_full_of_programs_that_may_work_for_the_server_are_the_limit_and_no_rate_is() {
    let with = |name: &str, cpu_cores, may_belong| {
        let mut evidence = run();
        let observed = seen(&mut evidence);
        let machine = observed.machine.as_mut().unwrap();
        (machine.cpus, machine.busy_mean) = (2, 0.99);
        (machine.cpu_busy_mean, machine.cpu_shares) = (vec![0.99; 2], vec![CpuShares::default(); 2]);
        let other = vec![model::OtherObserved { name: name.into(), cpu_cores }];
        observed.others = Some(match may_belong {
            true => model::OthersObserved { undecided: other, ..model::OthersObserved::default() },
            false => model::OthersObserved { cpu_cores, processes: other, ..model::OthersObserved::default() },
        });
        let server = observed.server.as_mut().expect("seen");
        (server.cpu_cores, server.cpu_ns_per_request) = (0.02, Some(1e6));
        let service = &mut evidence.latency.service;
        (service.mean_ns, service.p50_ns, service.p99_ns) = (1e9, 1_000_000_000, 1_010_000_000);
        evidence.flow.bytes_received = evidence.flow.completed << 20;
        evidence.outstanding.mean = 64.0;
        evidence.probe = None;
        of(&evidence)
    };
    let php = with("php-fpm8.2", 1.9, true);
    assert_eq!((php.name.as_str(), php.confidence), ("cpu-limited", Confidence::Medium), "{php:#?}");
    let says = "; this user cannot see whether php-fpm8.2 works for this server (run as root, or --observe php-fpm8.2)";
    assert!(php.says.contains("php-fpm8.2 uses 1.90") && php.says.ends_with(says), "{}", php.says);
    let ended = with("php-fpm8.2 (ended children)", 1.9, true);
    assert!(ended.says.ends_with("--observe php-fpm8.2)"), "{}", ended.says);
    for name in ["cc1plus", "php-fpm8.2", "python3", "node"] {
        let foreign = with(name, 1.9, false);
        assert!(!["cpu-limited", "paced"].contains(&foreign.name.as_str()), "{foreign:#?}");
    }
}

/// Starman's master on its pipe was a pool of one that is occupied, Varnish's main thread one that sleeps.
#[test]
fn a_helper_that_nobody_wakes_is_no_worker_that_is_occupied() {
    let with = |runs_per_s, on| {
        let mut evidence = run();
        let helper = pool("cache-main", 1.0, 1.0, 0.0001, &[(on, 0.9999)]);
        seen(&mut evidence).pools = vec![PoolObserved { runs_per_s: Some(runs_per_s), ..helper }];
        of(&evidence)
    };
    for on in ["pipe", "sleep", "select"] {
        let idle = with(2.0, on);
        assert_eq!(idle.name, NOT_SATURATED, "{idle:#?}");
        assert!(idle.utilisations.iter().all(|used| used.resource != "cache-main workers"), "{idle:#?}");
    }
    assert_eq!(with(1_000.0, "sleep").name, "worker-pool-limited", "one that is woken for each response");
}

/// "network-limited" at 200/s, which was all that was offered, of a server that does 57,000.
#[test]
fn segments_sent_again_below_saturation_are_no_limit() {
    let lossy = |rate_per_s| {
        named_after(|evidence| {
            evidence.plan.load = Load::Open { rate_per_s, arrivals: model::Arrivals::Constant, connections: 20 };
            count(evidence, "tcp", "RetransSegs", 2_400);
            count(evidence, "tcp", "TCPLossProbes", 0);
        })
    };
    assert_eq!(lossy(1_000.0), NOT_SATURATED, "it holds what is asked of it");
    assert_eq!(lossy(2_000.0), "network-limited");
    let probes = named_after(|evidence| {
        count(evidence, "tcp", "RetransSegs", 2_400);
        count(evidence, "tcp", "TCPLossProbes", 2_400);
    });
    assert_eq!(probes, NOT_SATURATED, "probes for nothing are no loss");
}

/// "was 0 % full and 594 connections found it so": they had found another server's.
#[test]
fn an_accept_queue_that_was_never_full_is_no_limit() {
    let overflown = |own: Option<u64>, fullest: f64| {
        let mut evidence = run();
        count(&mut evidence, "tcp", "ListenOverflows", 594);
        if let Some(own) = own {
            crate::testing::set_counter(&mut evidence, "listener", "dropped_connects", own);
        }
        seen(&mut evidence).sockets.as_mut().unwrap().accept_fullest_max = Some(fullest);
        of(&evidence)
    };
    assert_eq!(overflown(None, 0.0).name, NOT_SATURATED);
    assert_eq!(overflown(Some(0), 0.0).name, NOT_SATURATED);
    let between = overflown(Some(300), 0.0);
    assert_eq!(between.name, "accept-backlog-limited");
    assert!(
        between.says.starts_with("the accept queue (511 places) dropped 300 connection attempts between samples"),
        "{}",
        between.says
    );
    assert!(overflown(Some(300), 1.0).says.contains("was full and dropped 300"));
    // Tomcat with maxConnections 12 and 16 connections: its four threads bound the rate, and two connections were kept out.
    assert_eq!(overflown(Some(8), 1.0).name, NOT_SATURATED);
}

/// unicorn with 2 workers of 20 ms, a backlog of 4 and a connection for each request: 98/s from 2 connections on, 9 of 510
/// attempts dropped at 32, and "accept-backlog-limited, high"; a backlog of 1,024 changed nothing.
#[test]
fn an_accept_queue_that_overflows_beyond_the_knee_does_not_limit() {
    let sweep = |first: f64| {
        let mut sweep = four_slots();
        for point in &mut sweep.points {
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            overflow(&mut point.evidence, if point.load >= first { 30 * point.load as u64 } else { 0 });
        }
        limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
    };
    let beyond = sweep(6.0);
    assert_eq!(beyond.name, "concurrency-limited (inferred)", "{beyond:#?}");
    let below = sweep(4.0);
    assert_eq!(below.name, "accept-backlog-limited", "{below:#?}");
}

/// A Go program, pinned, that was stopped and continued each 50 ms: "worker-pool-limited (high confidence): the only worker is
/// occupied 100 % of the time", and two workers were to double it.
#[test]
fn a_server_that_something_stops_is_no_worker_that_is_occupied() {
    let with = |share| {
        let mut evidence = run();
        server(&mut evidence).threads = vec![thread("gosrv", 1, 1.0 - share)];
        seen(&mut evidence).pools = vec![crate::testing::stopped_pool(share)];
        of(&evidence)
    };
    let limiter = with(0.48);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("stopped", "gosrv"), "{limiter:#?}");
    assert!(limiter.says.starts_with("something stops gosrv for 48 % of the time (it runs 52 %)"), "{}", limiter.says);
    assert_eq!((limiter.next, limiter.prediction, limiter.ceiling_per_s), (None, None, None));
    assert_eq!(with(0.02).name, "single-thread-limited", "someone looked once");
    // One that rests on purpose serves nothing.
    let mut resting = run();
    seen(&mut resting).pools = vec![crate::testing::stopped_pool(1.0)];
    assert_ne!(of(&resting).name, "stopped");
}

/// Tomcat with 4 threads of 10 ms and 10 connections let in: "starved (high confidence): each of its workers keeps one
/// connection; 20 workers instead of 10: 780/s", and 388/s with as many connections.
#[test]
fn connections_that_are_never_served_do_not_explain_a_curve_that_bent_before() {
    let sweep = |answered: u64| {
        let mut sweep = four_slots();
        for point in &mut sweep.points {
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            let starved = (point.load as u64).saturating_sub(answered);
            let connections = point.load as u64;
            let answered = connections - starved;
            let starved_ns = Some(30 * NS_PER_S);
            let fairness = model::Fairness { connections, answered, starved, starved_ns, ..model::Fairness::default() };
            point.evidence.connections.fairness = Some(fairness);
        }
        limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
    };
    let bent = sweep(10);
    assert_eq!(bent.name, "concurrency-limited (inferred)", "{bent:#?}");
    let starved = sweep(4);
    assert_eq!((starved.name.as_str(), starved.next, starved.prediction), ("starved", None, None), "{}", starved.says);
    assert!(starved.says.contains("something lets no more connections in than these"), "{}", starved.says);
}

/// Sixteen clients of 10 ms each: what is said of a limit of requests at a time goes by what was seen.
#[test]
fn places_to_look_at_are_those_that_this_load_has_shown() {
    let says = |mutate: &dyn Fn(&mut Evidence)| {
        let mut sweep = four_slots();
        for point in &mut sweep.points {
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            server(&mut point.evidence).processes[0].name = "nginx".into();
            server(&mut point.evidence).threads.clear();
            mutate(&mut point.evidence);
        }
        let limiter = limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap();
        assert_eq!(limiter.name, "concurrency-limited (inferred)", "{limiter:#?}");
        limiter.says
    };
    assert!(
        says(&|_| {}).ends_with(
            "look whether one of these is set: nginx: max_conns of an upstream server, limit_conn, keepalive"
        )
    );
    // redis-server was 99.5 % busy, and nginx's max_conns was named.
    let redis = says(&|evidence| {
        let other = model::OtherObserved { name: "redis-server".into(), cpu_cores: 0.98 };
        let processes = vec![other];
        seen(evidence).others = Some(model::OthersObserved { cpu_cores: 0.98, processes, undecided: Vec::new() });
    });
    assert!(redis.contains("look at redis-server first, which uses 0.98 CPUs, as much as one thread can"), "{redis}");
    assert!(!redis.contains("max_conns"), "{redis}");
    // A table was locked in MariaDB, and nginx's max_conns and php-fpm's children were named.
    let database = says(&|evidence| {
        seen(evidence).pools = vec![pool("php-fpm", 8.0, 0.9, 0.1, &[("mariadbd", 0.8)])];
    });
    assert!(database.contains("whose workers wait for mariadbd; look at locks in mariadbd (SHOW FULL"), "{database}");
    assert!(!database.contains("max_conns") && !database.contains("max_children"), "{database}");
    // Node looked up names: two of the four threads of libuv do.
    let node = says(&|evidence| server(evidence).processes[0].name = "node".into());
    // The four processes of PostgreSQL that PgBouncer has were a pool, of which twice as many were advised.
    let bouncer = says(&|evidence| {
        let database = pool("postgres", 4.0, 1.0, 0.04, &[("condition", 0.94)]);
        seen(evidence).pools = vec![database, pool("gunicorn", 16.0, 0.97, 0.02, &[("pgbouncer", 0.93)])];
    });
    let place = "behind gunicorn, whose workers wait for pgbouncer; look at pgbouncer: default_pool_size";
    assert!(bouncer.contains(place), "{bouncer}");
    // Where the threads are not told apart it may as well be the sockets of an agent: only the threads were named.
    assert!(node.contains("UV_THREADPOOL_SIZE") && node.contains("maxSockets"), "{node}");
    let sleeps = says(&|evidence| seen(evidence).pools = vec![pool("gunicorn", 8.0, 0.9, 0.1, &[("sleep", 0.8)])]);
    assert!(sleeps.contains("a lock that is asked for again and again"), "{sleeps}");
    let libuv = |occupancy| {
        says(&move |evidence| {
            server(evidence).processes[0].name = "node".into();
            let of_libuv = PoolObserved { name: "node: libuv-worker".into(), ..pool("node", 4.0, occupancy, 0.0, &[]) };
            seen(evidence).pools = vec![of_libuv];
        })
    };
    assert!(libuv(0.5).contains("UV_THREADPOOL_SIZE"));
    assert!(libuv(0.0).contains("maxSockets"), "{}", libuv(0.0));
}

/// php-fpm with one session for all connections: 48/s of 377/s, and no word of sessions.
#[test]
fn locks_of_php_sessions_are_told_as_such() {
    let with = |program: &str, syscall: &str| {
        let mut evidence = run();
        let wait = model::WaitObserved {
            thread: program.into(),
            state: "S".into(),
            syscall: syscall.into(),
            on: "lock".into(),
            share: 0.85,
        };
        seen(&mut evidence).pools =
            vec![PoolObserved { waits: vec![wait], ..pool(program, 8.0, 1.0, 0.1, &[("lock", 0.85)]) }];
        let limiter = of(&evidence);
        assert_eq!(limiter.name, "contention-limited", "{limiter:#?}");
        limiter.says
    };
    assert!(with("php-fpm8.2", "flock").contains("PHP's sessions"), "{}", with("php-fpm8.2", "flock"));
    assert!(with("gunicorn", "flock").ends_with("the locks are those of files (flock)"));
    assert!(!with("php-fpm8.2", "futex").contains("sessions"));
}

/// gunicorn with its access log on a pipe that was read at 20 kB/s: "look for --workers and --threads", and 438/s of two.
#[test]
fn a_pipe_that_is_read_too_slowly_is_the_limit_of_those_who_write() {
    let with = |on: &str| {
        let mut evidence = run();
        seen(&mut evidence).pools = vec![pool("gunicorn", 4.0, 1.0, 0.05, &[(on, 0.93)])];
        of(&evidence)
    };
    let limiter = with("full pipe to logger");
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("upstream-limited", "logger"), "{limiter:#?}");
    let says = "gunicorn workers wait 93 % of their time to write into a pipe that logger empties too slowly";
    assert!(limiter.says.starts_with(says), "{}", limiter.says);
    assert_eq!((limiter.next, limiter.prediction, limiter.ceiling_per_s), (None, None, None));
    assert_eq!(with("full pipe").resource, "reader of a pipe");
    assert_eq!(with("pipe").name, "worker-pool-limited", "who reads from one waits for work of others");
}

/// Go with GOMAXPROCS=1 and a mutex: "one slot ... whose workers wait for sleep", with 1.00 CPUs at each load.
#[test]
fn threads_that_use_one_cpu_together_whatever_the_load_are_named() {
    let with = |shares: &[f64]| {
        let mut sweep = four_slots();
        for point in &mut sweep.points {
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            let threads =
                (0..).zip(shares).map(|(n, busy)| ServerThreadObserved { pid: 1, ..thread("gosrv", 1 + n, *busy) });
            let group = server(&mut point.evidence);
            (group.threads, group.cpu_cores) = (threads.collect(), shares.iter().sum());
        }
        limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
    };
    let limiter = with(&[0.4, 0.35, 0.24]);
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("single-thread-limited", "threads of gosrv"));
    assert!(limiter.says.contains("Go: GOMAXPROCS") && limiter.prediction.is_none(), "{limiter:#?}");
    assert!(limiter.confidence <= Confidence::Medium);
    for others in [&[0.4, 0.3][..], &[0.6, 0.6], &[0.2, 0.01]] {
        assert_eq!(with(others).name, "concurrency-limited (inferred)", "{others:?}");
    }
}

/// HAProxy over a server of 2 ms and one of 20 ms: "4 slots of 10.4 ms; look for HAProxy maxconn", of which none was set.
#[test]
fn a_slow_backend_of_two_is_no_pool() {
    let with = |slow_ms: fn(f64) -> f64| {
        let mut sweep = four_slots();
        for point in &mut sweep.points {
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            point.evidence.service_bins.fill(0);
            let slow = (slow_ms(point.load) * 1e6) as u64 / model::SERVICE_BIN_NS;
            (point.evidence.service_bins[0], point.evidence.service_bins[slow as usize]) = (5_000, 5_000);
        }
        limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
    };
    let queues = with(|load| 5.0 * load.max(4.0));
    assert_eq!((queues.name.as_str(), queues.prediction.is_none()), ("slow-backend (inferred)", true), "{queues:#?}");
    assert!(
        queues.says.contains("50 % take about 162 ms (first 22.0 ms), and the others about 2.00 ms"),
        "{}",
        queues.says
    );
    assert_eq!(with(|_| 22.0).name, "concurrency-limited (inferred)", "both are as slow as they were");
    assert_eq!(
        with(|load| if load > 4.0 { 160.0 } else { 1.0 }).name,
        "concurrency-limited (inferred)",
        "one kind at first"
    );
}

/// nginx with limit_req of 100/s and a long queue looks like one slot of 10 ms.
#[test]
fn a_goodput_that_is_the_same_round_number_at_each_load_is_a_rate() {
    let probed = |per_s: fn(f64) -> f64, pools: &[PoolObserved], alone_ns: u64| {
        let mut sweep = clean_sweep(&[1.0, 2.0, 4.0, 8.0, 16.0].map(|load| (load, per_s(load))));
        for point in &mut sweep.points {
            point.evidence = Evidence { latency: point.evidence.latency.clone(), ..run() };
            point.evidence.flow.good = (point.goodput_per_s * SECONDS) as u64;
            point.evidence.outstanding.mean = point.load;
            point.evidence.latency.response.mean_ns = point.load / point.goodput_per_s * 1e9;
            seen(&mut point.evidence).pools = pools.to_vec();
            let fetches = &mut point.evidence.probe.as_mut().unwrap().fetches;
            fetches.iter_mut().for_each(|fetch| fetch.response_ns = alone_ns);
        }
        limiter_of_sweep(&sweep, &LimiterContext::default()).unwrap()
    };
    let with = |per_s, pools: &[PoolObserved]| probed(per_s, pools, 10_000_000);
    let limiter = with(|load| 100.0 + 0.02 * load, &[]);
    assert_eq!(limiter.name, "rate-limited (inferred)", "{limiter:#?}");
    assert_eq!(limiter.prediction.unwrap().change, "a rate of 200/s instead of 100/s");
    assert!(limiter.confidence <= Confidence::Medium);
    assert_ne!(with(|load| 97.7 + 0.02 * load, &[]).name, "rate-limited (inferred)", "nobody sets such a rate");
    assert_ne!(with(|load| 100.0 + 0.2 * load, &[]).name, "rate-limited (inferred)", "it changes with the load");
    // nginx with limit_req of 370/s, which answers the first request in half a millisecond: "something admits 1 at a time".
    let limiter = probed(|load| 370.0 + 0.02 * load, &[], 500_000);
    assert_eq!(limiter.name, "rate-limited (inferred)", "{limiter:#?}");
    assert!(
        limiter.says.contains("answered within 500 µs before the load, in less than the 2.70 ms"),
        "{}",
        limiter.says
    );
    let occupied = [pool("app", 1.0, 0.9, 0.1, &[("sleep", 0.8)])];
    assert_ne!(with(|_| 100.0, &occupied).name, "rate-limited (inferred)", "its worker is what takes the time");
}

/// 99 % of the responses were 502, as nginx had no local port left: "read the server's error log".
#[test]
fn wrong_responses_come_with_their_cause_where_it_was_seen() {
    let mut evidence = run();
    evidence.fail("contract.status", 15_000);
    evidence.cohort.status.insert(429, 15_000);
    assert!(of(&evidence).says.contains("a rate limiter of the server refused"), "{}", of(&evidence).says);
    crate::testing::set_gauge(&mut evidence, "ports", "local_ports", 3_233);
    crate::testing::set_gauge(&mut evidence, "sockstat", "tcp_time_wait", 3_237);
    evidence.cohort.status = [(502, 15_000)].into();
    let limiter = of(&evidence);
    assert_eq!(limiter.name, NOT_A_SERVER_LIMIT);
    assert!(limiter.says.ends_with("no local port left for connections to an upstream (NE-09)"), "{}", limiter.says);
}
