//! Paths and queries to plans.

use super::*;
use crate::random::generator;
use proptest::prelude::*;
use rand_core::Rng;

const MS: u64 = 1_000_000;

#[test]
fn every_endpoint_is_found_with_its_parameters() {
    let body = |fill, size, chunk| Route::Body { fill, size, chunk };
    for (target, expected) in [
        ("/", Route::Landing),
        ("/?x=1", Route::Landing),
        ("/index.html", Route::Landing),
        ("/bytes/0", body(Fill::Pattern, 0, None)),
        ("/bytes/64KiB?x=1&chunked", body(Fill::Pattern, 65_536, Some(BYTES_CHUNK))),
        ("/bytes/1GiB?chunked=0", body(Fill::Pattern, BYTES_MAX, None)),
        ("/zero", body(Fill::Zero, 2048, None)),
        ("/zero?size=1MiB", body(Fill::Zero, 1 << 20, None)),
        ("/urandom", body(Fill::Random { seed: 1 }, 2048, None)),
        ("/urandom?size=3&seed=9", body(Fill::Random { seed: 9 }, 3, None)),
        ("/download", body(Fill::Zero, 20_480, None)),
        ("/download?chunk_size=3", body(Fill::Zero, 30, Some(3))),
        ("/download?size=10&chunk_size=3", body(Fill::Zero, 10, Some(3))),
        ("/sleep", Route::Sleep { delay_ns: NS_PER_S }),
        ("/sleep?time=20ms", Route::Sleep { delay_ns: 20 * MS }),
        ("/sleep?time=0.5", Route::Sleep { delay_ns: 500 * MS }),
        ("/sleep?time=60s", Route::Sleep { delay_ns: SLEEP_MAX_NS }),
        ("/sleep?dist=exp&mean=5ms", Route::SleepDrawn { dist: Dist::Exponential { mean_ns: 5 * MS }, seed: 1 }),
        (
            "/sleep?dist=uniform&min=1ms&max=9ms&seed=4",
            Route::SleepDrawn { dist: Dist::Uniform { min_ns: MS, max_ns: 9 * MS }, seed: 4 },
        ),
        (
            "/sleep?dist=lognormal&mean=5ms&sigma=0.5",
            Route::SleepDrawn { dist: Dist::Lognormal { mean_ns: 5 * MS, sigma: 0.5 }, seed: 1 },
        ),
        ("/status/204", Route::Status(204)),
        ("/cpu?us=500", Route::Cpu { burn_ns: 500_000 }),
        ("/cpu?us=10M", Route::Cpu { burn_ns: CPU_MAX_NS }),
        ("/pool?r=1", Route::Pool),
        ("/upload", Route::Upload { expect: None }),
        ("/upload?expect=5kB", Route::Upload { expect: Some(5_000) }),
        ("/stats", Route::Stats),
    ] {
        assert_eq!(plan(target), Ok(Plan { route: expected, faults: AnswerFaults::default() }), "{target}");
    }
}

#[test]
fn every_endpoint_takes_faults() {
    let faults = AnswerFaults { delay_ns: 50 * MS, body_bytes_per_s: Some(1_024), broken: Some(Break::Half) };
    for path in ["/", "/bytes/10", "/sleep", "/pool", "/upload", "/status/200", "/urandom"] {
        let target = format!("{path}?first_byte=50ms&body_rate=1KiB&fault=half");
        assert_eq!(plan(&target).map(|plan| plan.faults), Ok(faults), "{target}");
    }
    for (name, broken) in
        [("reset", Break::Reset), ("half", Break::Half), ("drop", Break::Drop), ("wrong-size", Break::WrongSize)]
    {
        assert_eq!(plan(&format!("/zero?fault={name}")).map(|plan| plan.faults.broken), Ok(Some(broken)));
    }
}

#[test]
fn what_keeps_the_server_busy_for_as_long_as_a_client_likes_is_guarded() {
    for (target, guarded) in [
        ("/", false),
        ("/bytes/1GiB", false),
        ("/zero?size=1&x=fault", false),
        ("/upload", false),
        ("/stats", false),
        ("/status/200", false),
        ("/cpu?us=0", true),
        ("/sleep", true),
        ("/sleep?dist=exp&mean=1ms", true),
        ("/pool", true),
        ("/zero?first_byte=1ms", true),
        ("/zero?%66irst_byte=1ms", true),
        ("/zero?body_rate=1MiB", true),
        ("/stats?fault=drop", true),
    ] {
        assert_eq!(plan(target).map(|plan| plan.is_guarded()), Ok(guarded), "{target}");
    }
}

#[test]
fn a_bad_parameter_is_named_with_an_example() {
    for (target, named) in [
        ("/bytes", "SIZE"),
        ("/bytes/", "SIZE"),
        ("/bytes/x", "SIZE"),
        ("/bytes/-1", "SIZE"),
        ("/bytes/1.5", "SIZE"),
        ("/bytes/1025MiB", "SIZE"),
        ("/bytes/99999999999999999999", "SIZE"),
        ("/bytes/1?chunked=maybe", "chunked"),
        ("/zero?size", "size"),
        ("/zero?size=0x10", "size"),
        ("/zero?size=1e6", "size"),
        ("/zero?size=2.7", "size"),
        ("/zero?size=3000000000", "size"),
        ("/zero?size=inf", "size"),
        ("/urandom?size=1&size=2", "size"),
        ("/urandom?seed=-1", "seed"),
        ("/download?chunk_size=0", "chunk_size"),
        ("/download?chunk_size=65537", "chunk_size"),
        ("/download?size=-5", "size"),
        ("/sleep?time=", "time"),
        ("/sleep?time=61s", "time"),
        ("/sleep?time=-1s", "time"),
        ("/sleep?time=1s&dist=exp&mean=1s", "time"),
        ("/sleep?dist=normal", "dist"),
        ("/sleep?dist=exp", "mean"),
        ("/sleep?dist=exp&mean=61s", "mean"),
        ("/sleep?dist=uniform&min=1s", "max"),
        ("/sleep?dist=uniform&min=2s&max=1s", "min"),
        ("/sleep?dist=lognormal&mean=1s", "sigma"),
        ("/sleep?dist=lognormal&mean=1s&sigma=3.1", "sigma"),
        ("/sleep?dist=lognormal&mean=1s&sigma=nan", "sigma"),
        ("/status/", "CODE"),
        ("/status/199", "CODE"),
        ("/status/600", "CODE"),
        ("/status/+200", "CODE"),
        ("/cpu", "us"),
        ("/cpu?us=1.5", "us"),
        ("/cpu?us=10000001", "us"),
        ("/upload?expect=", "expect"),
        ("/pool?first_byte=61s", "first_byte"),
        ("/zero?body_rate=0", "body_rate"),
        ("/zero?size=1GiB&body_rate=1MiB", "body_rate"),
        ("/zero?fault=explode", "fault"),
    ] {
        let Err(RouteError::Parameter(bad)) = plan(target) else { panic!("{target}: {:?}", plan(target)) };
        assert_eq!(bad.parameter, named, "{target}");
        assert!(plan(bad.example).is_ok(), "{}", bad.example);
    }
}

#[test]
fn other_paths_are_unknown() {
    for target in ["/nothing", "//", "/sleep/", "/pool/1", "*", "/stats/x", "/urandomxyz", "/zero/1", "/index.htm"] {
        assert_eq!(plan(target), Err(RouteError::Unknown), "{target}");
    }
}

/// No plan, whatever was asked, costs more than the named bounds.
fn assert_bounded(target: &str) -> bool {
    let Ok(Plan { route, faults }) = plan(target) else { return false };
    assert!(faults.delay_ns <= SLEEP_MAX_NS && faults.body_bytes_per_s != Some(0), "{target}");
    match route {
        Route::Body { size, chunk, .. } => {
            assert!(size <= BYTES_MAX && chunk.is_none_or(|chunk| (1..=PIECE_BYTES).contains(&chunk)), "{target}");
            assert!(faults.body_bytes_per_s.is_none_or(|rate| size / rate <= SLOW_BODY_MAX_NS / NS_PER_S), "{target}");
        }
        Route::Sleep { delay_ns } => assert!(delay_ns <= SLEEP_MAX_NS, "{target}"),
        Route::SleepDrawn { dist, seed } => {
            assert!((0..8).all(|index| dist.draw_ns(seed, index, SLEEP_MAX_NS) <= SLEEP_MAX_NS), "{target}");
        }
        Route::Cpu { burn_ns } => assert!(burn_ns <= CPU_MAX_NS, "{target}"),
        Route::Status(status) => assert!((200..=599).contains(&status), "{target}"),
        Route::Landing | Route::Pool | Route::Upload { .. } | Route::Stats => {}
    }
    true
}

/// Requests put together at random from what a route knows and what it does not.
#[test]
fn thousands_of_random_targets_have_a_bounded_plan_or_a_refusal() {
    const PATHS: [&str; 12] = [
        "/",
        "/bytes/64",
        "/bytes/",
        "/zero",
        "/urandom",
        "/download",
        "/sleep",
        "/status/200",
        "/cpu",
        "/upload",
        "/pool",
        "/x",
    ];
    const NAMES: [&str; 16] = [
        "size",
        "chunk_size",
        "seed",
        "time",
        "dist",
        "mean",
        "min",
        "max",
        "sigma",
        "us",
        "expect",
        "first_byte",
        "body_rate",
        "fault",
        "chunked",
        "%73ize",
    ];
    const VALUES: [&str; 22] = [
        "",
        "0",
        "1",
        "-1",
        "5ms",
        "60s",
        "61s",
        "1e9",
        "inf",
        "NaN",
        "0x10",
        "2.5",
        "64KiB",
        "1GiB",
        "9999999999999",
        "18446744073709551616",
        "exp",
        "uniform",
        "lognormal",
        "half",
        "drop",
        "%00%ff",
    ];
    let mut random = generator(2026, 0);
    let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
    let (mut planned, tries) = (0, 20_000);
    for _ in 0..tries {
        let mut target = PATHS[below(PATHS.len())].to_owned();
        for index in 0..below(5) {
            let equals = if below(20) == 0 { "" } else { "=" };
            let (name, value) = (NAMES[below(NAMES.len())], VALUES[below(VALUES.len())]);
            target.push_str(&format!("{}{name}{equals}{value}", if index == 0 { '?' } else { '&' }));
        }
        planned += usize::from(assert_bounded(&target));
    }
    assert!((tries / 20..tries / 2).contains(&planned), "{planned}: both sides are tried");
}

proptest! {
    #[test]
    fn any_text_has_a_bounded_plan_or_a_refusal(
        target in ".{0,64}", value in "[0-9a-zA-Z.+%-]{0,24}", name in "size|time|us|body_rate|mean|chunk_size",
    ) {
        assert_bounded(&target);
        for path in ["/bytes/9", "/zero", "/download", "/cpu", "/sleep"] {
            assert_bounded(&format!("{path}?{name}={value}"));
            assert_bounded(&format!("{path}?dist=exp&{name}={value}"));
        }
        assert_bounded(&format!("/bytes/{value}"));
    }
}
