//! Places to look at where so many requests are admitted at a time, or workers wait for locks: those that this load has shown, and
//! settings of the programs that take part only where it has shown none.

use super::input::LimiterInput;
use crate::facts::descriptors::descriptors;
use crate::facts::kernel::share;
use crate::facts::ports::server_out_of_ports;
use crate::text::{list, observable};
use model::human::{count, percent};
use model::{Evidence, OtherObserved, PoolObserved};
use std::ops::RangeInclusive;

/// CPUs that a program of one busy thread uses.
const ONE_THREAD: RangeInclusive<f64> = 0.95..=1.05;
/// Threads of libuv's pool that are occupied for this share of their time take part: name lookups have half of them at most.
const TAKES_PART: f64 = 0.3;
/// Threads of libuv's pool, unless UV_THREADPOOL_SIZE says otherwise.
const LIBUV_THREADS: f64 = 4.0;
/// A thread that is less busy leaves the work to others.
const RESTS: f64 = 0.5;
const LIBUV: &str = "the threads of libuv (UV_THREADPOOL_SIZE, 4 by default, of which name lookups get half)";
/// Of workers that sleep instead of waiting for anything.
const SLEEP: &str =
    "what they sleep for: a delay, or a lock that is asked for again and again (SQLite's busy timeout does)";

/// Programs whose setting is their number of workers and nothing else.
const OF_WORKERS: [&str; 1] = ["php-fpm"];

/// What to look at in a program that workers wait for, by the beginning of its name.
const DEPENDENCIES: [(&str, &str); 8] = [
    (
        "mariadbd",
        "locks in mariadbd (SHOW FULL PROCESSLIST, SHOW ENGINE INNODB STATUS), and the pool of connections to it",
    ),
    ("mysqld", "locks in mysqld (SHOW FULL PROCESSLIST, SHOW ENGINE INNODB STATUS), and the pool of connections to it"),
    ("postgres", "locks in postgres (pg_stat_activity, pg_locks), and the pool of connections to it"),
    ("pgbouncer", "pgbouncer: default_pool_size, max_db_connections"),
    ("redis", "slow commands and scripts of redis-server (SLOWLOG GET), which runs one at a time"),
    ("valkey", "slow commands and scripts of valkey-server (SLOWLOG GET), which runs one at a time"),
    ("memcached", "memcached: its threads (-t) and connections (-c)"),
    ("mongod", "locks in mongod (db.currentOp()), and the pool of connections to it"),
];

/// Settings that bound requests at a time, by the program they are of.
const SETTINGS: [(&str, &str); 14] = [
    ("nginx", "nginx: max_conns of an upstream server, limit_conn, keepalive"),
    ("haproxy", "HAProxy: maxconn of a server line, or of the frontend"),
    ("varnish", "Varnish: max_connections of a backend, thread_pool_max"),
    ("cache-main", "Varnish: max_connections of a backend, thread_pool_max"),
    ("apache2", "Apache: MaxRequestWorkers, or max= of a ProxyPass"),
    ("httpd", "Apache: MaxRequestWorkers, or max= of a ProxyPass"),
    ("lighttpd", "lighttpd: max-procs and max-load of a backend"),
    ("caddy", "Caddy: unhealthy_request_count, max_conns_per_host of reverse_proxy"),
    ("php-fpm", "php-fpm: pm.max_children"),
    ("node", "Node: maxSockets of an agent, or the pool size of a database client"),
    ("java", "Java: threads of the executor, or the pool size of a database client"),
    ("gunicorn", "gunicorn: --workers and --threads, or the pool size of a database client"),
    ("python", "Python: threads of an executor, a semaphore, or the pool size of a database client"),
    ("uvicorn", "uvicorn: --limit-concurrency, the 40 threads of anyio, or the pool size of a database client"),
];

/// Where to look for what admits `slots` requests at a time; `waits_for` is what the workers in front of it wait for.
pub(super) fn of_slots(input: &LimiterInput<'_>, slots: f64, waits_for: Option<&str>) -> String {
    let mut shown: Vec<String> = one_thread(input).iter().map(suspected).collect();
    let dependency = |on: &str| DEPENDENCIES.iter().find(|(program, _)| on.starts_with(program));
    shown.extend(waits_for.and_then(dependency).map(|(_, places)| (*places).to_owned()));
    if waits_for == Some("sleep") {
        shown.push(SLEEP.to_owned());
    }
    let libuv = libuv(input, slots);
    if libuv == Some(true) {
        shown.push(format!("Node: {LIBUV}"));
    }
    if !shown.is_empty() {
        return format!("look at {}", list(&shown));
    }
    let mut settings = settings(input, slots);
    if libuv.is_none() {
        settings.push(format!("Node: {LIBUV}"));
    }
    match settings.as_slice() {
        [] => "look for a connection limit, a pool of workers or database connections, a semaphore".to_owned(),
        known => format!("look whether one of these is set: {}", list(known)),
    }
}

/// What to look at where workers of `program` wait for locks; empty where nothing more is known than that.
pub(super) fn of_locks(input: &LimiterInput<'_>, program: &str) -> &'static str {
    let flock = |pool: &PoolObserved| {
        let of = |call: Option<&str>| {
            let waits =
                pool.waits.iter().filter(|wait| wait.on == "lock" && call.is_none_or(|call| wait.syscall == call));
            waits.map(|wait| wait.share).sum::<f64>()
        };
        of(None) > 0.0 && of(Some("flock")) > of(None) / 2.0
    };
    let is_php = ["php", "apache2", "httpd"].iter().any(|php| program.starts_with(php));
    let pool = input.observed_pools().find(|pool| pool.program == program && flock(pool));
    match (pool, is_php) {
        (Some(_), true) => {
            "; the locks are those of files (flock), as of PHP's sessions, each of which serves one request at a time: give each \
             connection a session of its own, or call session_write_close early"
        }
        (Some(_), false) => "; the locks are those of files (flock)",
        (None, _) => "",
    }
}

/// What the evidence has of the cause where wrong responses determined the result; empty where it has none.
pub(super) fn of_faults(evidence: &Evidence) -> String {
    /// Too Many Requests.
    const REFUSED: u16 = 429;
    /// Fewer are a client of many that was refused.
    const REFUSED_MIN: f64 = 0.01;
    if server_out_of_ports(evidence).is_some() {
        return "; the server's machine has no local port left for connections to an upstream (NE-09)".to_owned();
    }
    let refused = evidence.cohort.status.get(&REFUSED).copied().unwrap_or(0);
    let refused = share(refused, evidence.cohort.counts.completed);
    if refused >= REFUSED_MIN {
        return format!("; a rate limiter of the server refused {} of the requests (429)", percent(refused));
    }
    let short = descriptors(evidence).filter(|nearest| nearest.closes && nearest.are_short());
    short.map_or_else(String::new, |nearest| {
        let (open, limit) = (count(nearest.open), count(nearest.limit));
        format!(
            "; {} has {open} of {limit} file descriptors open, and may keep the rest in reserve (SV-05)",
            nearest.program
        )
    })
}

/// Programs beside the server that use as much CPU time as one thread can, whoever they work for.
pub(super) fn one_thread<'a>(input: &LimiterInput<'a>) -> Vec<&'a OtherObserved> {
    let observed = input.observed();
    let has_several = observed.and_then(|seen| seen.machine.as_ref()).is_some_and(|machine| machine.cpus > 1);
    let others = observed.and_then(|seen| seen.others.as_ref()).filter(|_| has_several);
    let all = others.into_iter().flat_map(|others| &others.processes);
    all.filter(|other| ONE_THREAD.contains(&other.cpu_cores)).collect()
}

fn suspected(other: &&OtherObserved) -> String {
    format!(
        "{} first, which uses {:.2} CPUs, as much as one thread can (--observe {} tells whether requests wait for it)",
        other.name,
        other.cpu_cores,
        observable(&other.name)
    )
}

/// True if the pool of threads that Node has for files, names and hashes may be what is full; none where its threads are not told
/// from others, and it could be.
fn libuv(input: &LimiterInput<'_>, slots: f64) -> Option<bool> {
    let mut pools = input.observed_pools().filter(|pool| pool.name.ends_with(": libuv-worker")).peekable();
    if pools.peek().is_some() {
        return Some(pools.any(|pool| pool.occupancy >= TAKES_PART));
    }
    let is_node = |name: &str| name == "node" || name == "nodejs";
    let threads = || input.groups().flat_map(|(_, group)| &group.threads);
    let runs_node = input.groups().flat_map(|(_, group)| &group.processes).any(|process| is_node(&process.name));
    let may_be = runs_node && slots <= LIBUV_THREADS && threads().all(|thread| input.wanted(thread) < RESTS);
    if may_be { None } else { Some(false) }
}

/// A pool that is seen to have so many times more workers admits more than the slots.
const MORE: f64 = 1.5;

/// Settings of the programs that are known to be there, and are not seen to admit more than `slots` at a time.
fn settings(input: &LimiterInput<'_>, slots: f64) -> Vec<String> {
    let names: Vec<&str> = input.groups().flat_map(|(_, group)| &group.processes).map(|it| it.name.as_str()).collect();
    let is_wider = |pool: &PoolObserved| pool.workers_mean >= MORE * slots;
    let admits_more =
        |program: &str| input.observed_pools().any(|pool| pool.program.starts_with(program) && is_wider(pool));
    // What bounds its connections to another server is no number of workers.
    let is_there = |program: &str| names.iter().any(|name| name.starts_with(program));
    let is_of_workers = |program: &str| OF_WORKERS.contains(&program);
    let known =
        SETTINGS.iter().filter(|(program, _)| is_there(program) && !(is_of_workers(program) && admits_more(program)));
    let mut told: Vec<String> = known.map(|(_, setting)| (*setting).to_owned()).collect();
    told.dedup();
    told
}
