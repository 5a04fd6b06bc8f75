//! Workers whose occupation is known: by arithmetic, by what they were told to wait for, or because they have nothing to do.

use crate::support::{
    Decider, Ended, Nginx, Program, close_to, count, decide, decide_watched, installed, number, plimsoll, serve, shell,
    text, wait_for,
};
use serde_json::Value;
use stack::{Running, Spec};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// Workers of the pool, enough of them that few looks are many samples, and how long each request keeps one.
const CHILDREN: u32 = 16;
const SLEEP_S: f64 = 0.02;
const POOL: &str = "php-fpm: pool www";

fn run(target: &[&str], load: &[&str]) -> Program {
    plimsoll(["run"].iter().chain(target).chain(load).chain(&["--warmup", "500ms", "-q"]))
}

/// A pool of workers in a record.
#[track_caller]
fn pool<'a>(record: &'a Value, name: &str) -> &'a Value {
    let pools = record["observed"]["pools"].as_array().expect("a list");
    let found = pools.iter().find(|pool| pool["name"] == name);
    found.unwrap_or_else(|| panic!("no {name:?} in {pools:#?}, {:#}", record["observed"]["unavailable"]))
}

/// The share in which the workers waited for something.
fn blocked(pool: &Value, on: &str) -> f64 {
    pool["blocked"][on].as_f64().unwrap_or_default()
}

/// The record of a run that may be too short to be valid, and all that it left.
#[track_caller]
fn recorded(program: Program) -> (Value, Ended) {
    let ended = program.run();
    let record = serde_json::from_str(&ended.recorded("run.json"));
    (record.unwrap_or_else(|error| panic!("{error}: {ended:?}")), ended)
}

#[track_caller]
fn record(program: Program) -> Value {
    recorded(program).0
}

#[test]
fn children_of_php_fpm_are_occupied_as_long_as_their_requests_take() {
    let serve = format!("php-fpm children={CHILDREN} sleep=20ms");
    let children = f64::from(CHILDREN);
    let decider = Decider::new();
    for connections in ["4", "8", "24"] {
        let measure = || recorded(run(&["--serve", &serve], &["-c", connections, "-d", "3s"]));
        decider.decide(connections, measure, |(record, ended)| {
            let pool = pool(record, POOL);
            assert_eq!((count(pool, "workers_max"), number(pool, "workers_mean")), (u64::from(CHILDREN), children));
            let occupancy = number(pool, "occupancy");
            let parts: f64 = pool["blocked"].as_object().expect("shares").values().filter_map(Value::as_f64).sum();
            close_to(parts + number(pool, "running") + number(pool, "runnable"), occupancy, 1e-6, "the parts of it");
            close_to(number(pool, "idle"), 1.0 - occupancy, 1e-6, "the rest");
            let told = ended.stdout.contains(&format!("{POOL}, {CHILDREN} workers: "));
            assert_eq!(told, occupancy >= 0.5, "{}", ended.stdout);
            let front = self::pool(record, "nginx: worker process");
            assert_eq!(front["blocked"], serde_json::json!({}), "an event loop is idle while others work: {front:#}");
            assert!(record["observed"]["seconds"][1]["pools"][POOL].as_f64() > Some(0.0), "a point of the chart");
            // X S / W: each good response has kept one worker for as long as it slept. What it ran besides, and how long
            // it had to wait for a CPU and for nginx, depends on who else is on this machine.
            let expected = number(record, "goodput_per_s.value") * SLEEP_S / children;
            close_to(blocked(pool, "sleep"), expected, 0.1, &format!("at {connections} connections, {pool:#}"));
        });
    }
}

/// A site of one page that anybody may read.
fn site(page: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("index.php"), page).expect("a file");
    set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("our own directory");
    directory
}

/// A database, and its process. It is nobody, as is the site, which reaches its socket.
#[track_caller]
fn database() -> (Running, i32) {
    let database = serve(&Spec::parse("mariadb user=nobody").expect("it is known"));
    let pid = database.processes().next().expect("it runs").1;
    (database, pid)
}

#[test]
fn who_waits_for_a_database_is_told_to() {
    installed("/usr/lib/php/20220829/mysqli.so", "php8.2-mysql");
    let (database, pid) = database();
    let socket = database.dir().join("run/mysqld.sock");
    let page = format!(
        "<?php $db = mysqli_connect(null, 'root', '', null, null, '{}'); \
         echo mysqli_query($db, 'SELECT SLEEP(0.02)')->num_rows;",
        socket.display()
    );
    let site = site(&page);
    let serve = format!("php-fpm children=4 user=nobody root={}", site.path().display());
    let observe = pid.to_string();
    let args = ["-c", "2", "-d", "3s", "--observe", &observe, "--profile"];
    decide(
        || recorded(run(&["--serve", &serve], &args)),
        |(record, ended)| {
            let pool = pool(record, POOL);
            // The database itself: its threads that have a connection wait for the time to pass, each at a place of its own.
            let threads = self::pool(record, "mariadbd: connections");
            assert!(blocked(threads, "condition") > 0.2, "{threads:#}");
            assert!(
                ended.recorded("off-cpu.svg").contains("mariadbd") && ended.recorded("report.html").contains("Off-CPU")
            );
            // The same waits as stacks, for each response.
            let folded = ended.recorded("off-cpu.folded");
            let of_pool =
                folded.lines().filter(|line| line.starts_with(&format!("{POOL};")) && line.contains(";mariadbd "));
            let ns: f64 = of_pool.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
            let goodput = number(record, "goodput_per_s.value");
            close_to(ns, blocked(pool, "mariadbd") * 4.0 / goodput * 1e9, 0.01, &folded);
            // And as functions, from the switches of threads: each response takes one such wait.
            let stacks = ended.recorded("off-cpu-stacks.folded");
            let of_php = stacks.lines().filter(|line| line.starts_with("php-fpm8.2;") && line.contains("poll"));
            let ns: f64 = of_php.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
            assert!((0.95 * SLEEP_S..1.2 * SLEEP_S).contains(&(ns / 1e9)), "{ns} ns: {stacks}");
            // It takes as long as the database sleeps, and at most as long as the response.
            let service_s = number(record, "latency_ns.service.mean") / 1e9;
            let waited_s = blocked(pool, "mariadbd") * 4.0 / goodput;
            assert!(
                (0.8 * SLEEP_S..1.2 * service_s).contains(&waited_s),
                "{waited_s} s, service {service_s} s: {pool:#}"
            );
        },
    );
}

#[test]
fn workers_that_are_replaced_are_counted_and_followed() {
    decide_watched(|| {
        let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 2);
        let url = nginx.url("/small");
        let started = plimsoll(["run", &url, "-c", "4", "-d", "4s", "--warmup", "0s", "-q"]).start();
        started.wait_for_events("observed", 1);
        shell(&format!("kill -HUP {}", nginx.pid())).run().exits(0);
        let ended = started.end();
        let record: Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
        let pool = pool(&record, "nginx: worker process");
        assert!(count(pool, "begun") >= 2 && count(pool, "ended") >= 2, "{pool:#}");
        let seconds = record["observed"]["seconds"].as_array().expect("a list");
        // Two workers, and what the server had of CPUs: nobody but them has any. A look may have no second of its own.
        let worked = |second: &Value| {
            second["pools"]["nginx: worker process"].as_f64() > Some(0.4 * number(second, "server_cores"))
        };
        assert!(seconds.iter().skip(2).any(worked), "the new ones work: {seconds:#?}");
    });
}

/// One request at a time, each of 30 ms, on a connection of its own.
const SINGLE: &str = "
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.03)
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'ok')
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(('127.0.0.1', {port}), Handler)
server.serve_forever()
";

#[test]
fn a_server_of_one_thread_is_occupied_by_one_request_at_a_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("single.py");
    let python = installed("python3", "python3-minimal");
    let port = free_port();
    std::fs::write(&script, SINGLE.replace("{port}", &port.to_string())).expect("a file");
    let server = Program::new(python, [script.to_str().expect("UTF-8")]).start();
    let up = wait_for(std::time::Duration::from_secs(10), || {
        // Closed at once: it serves one connection at a time.
        std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop)
    });
    assert!(up.is_some(), "it listens");
    let url = format!("http://127.0.0.1:{port}/");
    let load = |rate: &[&str]| record(run(&[&url, "--no-keepalive"], &[&["-d", "3s"], rate].concat()));
    decide(
        || load(&["-c", "1"]),
        |record| {
            let pool = &record["observed"]["pools"][0];
            assert!(text(pool, "program").starts_with("python3") && count(pool, "workers_max") == 1, "{pool:#}");
            assert!(blocked(pool, "sleep") > 0.6, "{pool:#}");
            // What a response takes beside its sleep is the server's work too, more on a slow CPU.
            let expected = number(record, "goodput_per_s.value") * number(record, "latency_ns.service.mean") / 1e9;
            close_to(number(pool, "occupancy"), expected, 0.1, &format!("{expected}: {pool:#}"));
        },
    );
    // 3 % and chance: a look finds it occupied or not.
    decide(
        || load(&["-R", "1", "-c", "1"]),
        |idle| {
            let pool = &idle["observed"]["pools"][0];
            assert!(number(pool, "idle") > 0.5, "{pool:#}");
        },
    );
    drop(server);
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// Who looks gets a CPU just when a worker has gone to sleep, and never sees it run.
#[test]
fn an_event_loop_on_a_busy_machine_is_occupied_as_long_as_it_runs() {
    let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 2);
    let measure = || record(run(&[&nginx.url("/small")], &["-c", "8", "-d", "2s"]));
    decide(measure, |record| {
        let pool = pool(record, "nginx: worker process");
        let cores = number(&record["observed"]["server"], "cpu_cores");
        close_to(number(pool, "running"), cores / 2.0, 0.1, &format!("{cores} CPUs for two workers: {pool:#}"));
        assert!(number(pool, "occupancy") >= number(pool, "running"), "{pool:#}");
    });
}

#[test]
fn a_server_with_next_to_nothing_to_do_is_idle() {
    let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 2);
    let measure = || record(run(&[&nginx.url("/small")], &["-R", "10", "-c", "2", "-d", "2s"]));
    decide(measure, |record| {
        let pool = pool(record, "nginx: worker process");
        assert!(number(pool, "occupancy") < 0.05 && number(pool, "idle") > 0.95, "{pool:#}");
        assert!(count(pool, "samples") >= 20, "two workers, ten times a second: {pool:#}");
        let sampler = &record["observed"]["pools_sampler"];
        assert!(number(sampler, "cpu_ns_per_look") > 1_000.0 && count(sampler, "looks") >= 10, "{sampler:#}");
    });
}

#[test]
fn a_pool_tells_of_its_queue_and_its_workers() {
    decide_watched(|| {
        let serve = "php-fpm children=2 sleep=20ms socket=tcp";
        let args = ["run", "--serve", serve, "-c", "8", "-d", "3s", "--warmup", "1s", "--json", "-q"];
        let record = plimsoll(args).run().json();
        let page = &record["status"][0];
        assert_eq!(text(page, "server"), "php-fpm", "{page:#}");
        assert!(count(page, "looks") >= 2, "{page:#}");
        // 8 are out at any time, and 2 of them are being worked on, or 1 for the moment in which a worker takes its next; the
        // one that asks has a socket of its own.
        assert_eq!(number(page, "figures.processes.max"), 2.0);
        assert!(number(page, "figures.processes_active.mean") >= 1.0, "{page:#}");
        let queue = number(page, "figures.listen_queue.mean");
        assert!((4.0..=7.0).contains(&queue), "{page:#}");
    });
}
