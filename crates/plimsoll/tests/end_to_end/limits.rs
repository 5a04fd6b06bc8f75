//! What stops a server, of servers whose limit is known.

use crate::support::{Decider, Program, Target, close_to, count, decide, installed, number, plimsoll, shell, text};
use lab::decide::watch;
use serde_json::Value;
use std::collections::BTreeSet;

/// Long enough for status pages to be read once in the window.
const WINDOW: [&str; 6] = ["-d", "1200ms", "--warmup", "400ms", "--json", "-q"];

/// The record of a run with these arguments, and its limiter.
#[track_caller]
pub(crate) fn limited(program: Program) -> (Value, Value) {
    let ended = program.run();
    let record = ended.json();
    let limiter = record["limiter"].clone();
    (record, limiter)
}

pub(crate) fn run(args: &[&str]) -> Program {
    plimsoll(["run"].iter().chain(args).chain(&WINDOW))
}

/// The same with a window (`-d`) of its own, and before other programs where this user may: whoever keeps the CPUs busy
/// hides what the server waits for.
pub(crate) fn run_first(args: &[&str]) -> Program {
    // A niceness would count among the processes of one session only, and each server has its own.
    let script = "if chrt -r 1 true 2>/dev/null; then set -- chrt -r 1 \"$@\"; fi; exec \"$@\"";
    let first = ["-c", script, "bash", env!("CARGO_BIN_EXE_plimsoll"), "run", "--warmup", "400ms", "--json", "-q"];
    Program::new("bash", first.iter().chain(args))
}

/// Decides by the limiter of a run.
pub(crate) fn decide_limiter(program: impl Fn() -> Program, check: impl Fn(&Value)) {
    decide(|| limited(program()), |(_, limiter)| check(limiter));
}

/// 3 workers of 40 ms make 75/s, and 6 make 150/s: slow enough that a busy machine makes little difference. Behind Apache
/// there is no other setting to hold against it.
#[test]
fn a_pool_is_named_and_twice_as_many_workers_do_twice_as_much() {
    let serve = "php-fpm front=apache children=3 sleep=40ms";
    let args = ["run", "--serve", serve, "-c", "18", "-d", "1200ms", "--warmup", "100ms", "--confirm", "--json"];
    let measure = || {
        let ended = plimsoll(args).run();
        (ended.json(), ended)
    };
    // What it tries for the confirmation has no account in its record.
    decide(
        || watch(measure),
        |watched| {
            let (record, ended) = &watched.value;
            let limiter = &record["limiter"];
            assert_eq!(text(limiter, "name"), "worker-pool-limited", "{limiter:#}");
            let tried = &limiter["confirmation"];
            assert_eq!(text(limiter, "confidence"), "confirmed", "{tried:#}");
            assert_eq!((text(tried, "setting"), count(tried, "from"), count(tried, "to")), ("children", 3, 6));
            close_to(number(tried, "ratio.value"), 2.0, 0.25, "effect");
            assert!(number(tried, "ratio.low") <= number(tried, "ratio.value"), "{tried:#}");
            assert_eq!(tried["control"], Value::Null, "nothing else can be changed");
            let blocks = tried["blocks"].as_array().expect("a list");
            let orders: BTreeSet<String> = blocks.iter().map(|block| block["order"].to_string()).collect();
            assert!(blocks.len() == 6 && orders.len() > 1, "{orders:?}");
            assert!(ended.run_directory().join("confirm/6-after/events.jsonl").exists());
            assert!(ended.stderr.contains("confirming 6/6  after "), "{}", ended.stderr);
        },
    );
}

/// Its workers are arithmetic: no process waits in them.
#[test]
fn the_pool_of_the_target_is_named_by_its_own_page() {
    let args = ["run", "--serve", "target pool=5 pool-time=40ms", "-c", "30", "-d", "2s", "--warmup", "400ms"];
    decide_limiter(
        || plimsoll(args.iter().chain(&["--json", "-q"])),
        |limiter| {
            assert_eq!(
                (text(limiter, "name"), text(limiter, "resource")),
                ("worker-pool-limited", "pool workers of the built-in server")
            );
            assert_eq!(text(limiter, "prediction.change"), "10 pool workers of the built-in server instead of 5");
            assert!(number(limiter, "evidence.queue_min") > 15.0, "{limiter:#}");
            let ceiling = number(limiter, "ceiling_per_s");
            assert!((90.0..=132.0).contains(&ceiling), "5 workers of 40 ms: {ceiling}");
        },
    );
}

/// A server that plimsoll does not know, with a number of workers in its command line.
#[test]
fn a_pool_of_gunicorn_is_named_with_the_flag_of_its_command_line() {
    installed("gunicorn", "gunicorn");
    let app = b"import time\ndef app(environ, start):\n    time.sleep(0.02)\n    \
                start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";
    let serve = "-- gunicorn -w 3 app:app -b 127.0.0.1:{port}";
    decide_limiter(
        || run(&["--serve", serve, "--no-keepalive", "-c", "12"]).with_file("app.py", app),
        |limiter| {
            assert_eq!((text(limiter, "name"), text(limiter, "resource")), ("worker-pool-limited", "gunicorn workers"));
            assert!(text(limiter, "says").contains("waiting on sleep"), "{limiter:#}");
            assert_eq!((text(limiter, "prediction.setting"), number(limiter, "prediction.to")), ("-w", 6.0));
        },
    );
}

#[test]
fn a_pool_of_php_is_named_over_both_sockets() {
    let decider = Decider::new();
    for socket in ["unix", "tcp"] {
        let serve = format!("php-fpm children=3 sleep=20ms socket={socket}");
        let measure = || limited(run(&["--serve", &serve, "-c", "12"]));
        decider.decide(socket, measure, |(_, limiter)| {
            assert_eq!(text(limiter, "name"), "worker-pool-limited", "{limiter:#}");
            assert!(text(limiter, "resource").starts_with("php-fpm"), "{limiter:#}");
            assert_eq!(text(limiter, "prediction.setting"), "pm.max_children");
            let ceiling = number(limiter, "ceiling_per_s");
            assert!((90.0..=155.0).contains(&ceiling), "3 workers of 20 ms and a little: {ceiling}");
        });
    }
}

#[test]
fn a_busy_cpu_is_named_with_what_it_does() {
    let serve = "nginx workers=2 cpus=0 gzip=on file-size=300KiB";
    decide_limiter(
        || run(&["--serve", serve, "-c", "16", "-H", "Accept-Encoding: gzip"]),
        |limiter| {
            assert_eq!(
                (text(limiter, "name"), text(limiter, "resource")),
                ("cpu-limited", "server CPUs"),
                "{limiter:#}"
            );
            assert!(text(limiter, "says").starts_with("the 1 CPU available to the server"), "{limiter:#}");
            assert!(text(limiter, "says").contains("nginx uses "), "{limiter:#}");
        },
    );
}

/// A server that burns CPU time in one thread, for any number of connections.
const ONE_THREAD: &str = "\
import asyncio, sys, time
async def serve(reader, writer):
    try:
        while await reader.readuntil(b'\\r\\n\\r\\n'):
            end = time.thread_time() + 0.004
            while time.thread_time() < end: pass
            writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    except (asyncio.IncompleteReadError, ConnectionError): pass
    writer.close()
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', int(sys.argv[1]))
    async with server: await server.serve_forever()
asyncio.run(main())
";

#[test]
fn one_thread_on_several_cpus_is_named() {
    // Nobody may not read a test's folder.
    let user = if rustix::process::geteuid().is_root() { "user=root " } else { "" };
    let serve = format!("{user}cpus=0-1 -- python3 burn.py {{port}}");
    let program = || run(&["--serve", &serve, "-c", "8"]);
    decide_limiter(
        || program().with_file("burn.py", ONE_THREAD.as_bytes()),
        |limiter| {
            assert_eq!(text(limiter, "name"), "single-thread-limited", "{limiter:#}");
            assert!(text(limiter, "resource").starts_with("thread python"), "{limiter:#}");
            assert!(number(limiter, "ceiling_per_s") < 260.0, "4 ms each: {limiter:#}");
        },
    );
}

/// Compressing keeps its event loop busy; the other CPU has room for the load and for a second worker.
#[test]
fn one_worker_of_nginx_on_two_cpus_is_one_core_and_a_second_one_is_foretold() {
    let serve = "nginx workers=1 cpus=0-1 gzip=on file-size=300KiB";
    decide_limiter(
        || run(&["--serve", serve, "-c", "8", "-H", "Accept-Encoding: gzip"]),
        |limiter| {
            assert_eq!((text(limiter, "name"), text(limiter, "resource")), ("single-thread-limited", "thread nginx"));
            let prediction = &limiter["prediction"];
            assert_eq!(
                (text(prediction, "setting"), number(prediction, "to")),
                ("worker_processes", 2.0),
                "{limiter:#}"
            );
            // Twice as much at most, or what both CPUs can do together with the load generator.
            let bought = number(prediction, "expected_per_s") / number(limiter, "ceiling_per_s");
            assert!((1.1..=2.0).contains(&bought), "{bought} times: {limiter:#}");
        },
    );
}

#[test]
fn one_thread_of_the_target_is_one_core_and_no_pool_of_one() {
    let target = Target::start(&["--workers", "1"]);
    // Before other programs, where this user may.
    shell(&format!("chrt -a -r -p 1 {} || :", target.pid())).run().exits(0);
    decide_limiter(
        || run(&[&target.url("/cpu?us=2000"), "-c", "8"]),
        |limiter| {
            assert_eq!(
                (text(limiter, "name"), text(limiter, "resource")),
                ("single-thread-limited", "thread target-0")
            );
            assert!(number(limiter, "ceiling_per_s") < 520.0, "2 ms each: {limiter:#}");
        },
    );
}

#[test]
fn the_only_worker_of_a_pool_is_called_that() {
    decide_limiter(
        || run_first(&["--serve", "php-fpm children=1 sleep=20ms", "-c", "6", "-d", "1200ms"]),
        |limiter| {
            assert_eq!(
                (text(limiter, "name"), text(limiter, "prediction.setting")),
                ("worker-pool-limited", "pm.max_children")
            );
            assert!(text(limiter, "says").starts_with("the only worker (php-fpm"), "{limiter:#}");
        },
    );
}

#[test]
fn a_server_with_room_has_no_limiter_and_a_sweep_says_so() {
    let serve = "target pool=50 pool-time=20ms";
    decide_limiter(|| run(&["--serve", serve, "-c", "5"]), |limiter| assert!(limiter.is_null(), "{limiter:#}"));
    let short = ["--to", "2", "--points", "2", "--iterations", "1", "-d", "1200ms", "--json"];
    let sweep = || plimsoll(["sweep", "--serve", serve].iter().chain(&short)).run().json();
    decide(sweep, |sweep| assert_eq!(text(sweep, "limiter.name"), "not-saturated", "{:#}", sweep["limiter"]));
}

#[test]
fn what_cannot_be_confirmed_is_told() {
    let serve =
        ["run", "--serve", "target", "-R", "50", "-c", "8", "-d", "300ms", "--warmup", "0s", "--json", "--confirm"];
    let why = text(&plimsoll(serve).run().json(), "limiter.confirmation_unavailable").to_owned();
    assert!(why.contains("is not a limit that can be raised"), "{why}");
    // Its settings are those of whoever started it.
    plimsoll(["run", "http://127.0.0.1:1/", "--confirm"]).run().fails(2, &["[URL]", "--confirm"]);
}
