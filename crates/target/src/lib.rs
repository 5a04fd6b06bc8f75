//! The built-in target: a small, exact HTTP/1.1 server to measure against.
//!
//! One thread accepts and hands each connection to the worker with the fewest; each worker has an epoll loop of
//! its own (`worker`) and answers (`answer`) from memory that is bounded by named constants. What a request
//! asks for is read by `route`; `pool`, `faults`, `random` and `timers` are arithmetic without clock or threads.
//!
//! No client is trusted: how long it may keep a connection is in `deadlines`, how many connections it may have in
//! `clients`, and who may choose how long the server is busy in `guard`.

mod accept;
mod answer;
mod body;
mod certificate;
mod clients;
mod connection;
mod deadlines;
mod faults;
mod guard;
mod listen;
mod log;
mod page;
mod pool;
mod query;
mod random;
mod route;
mod site;
mod slab;
mod stats;
mod timers;
mod worker;

use std::fs::OpenOptions;
use std::hash::RandomState;
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use model::Address;
use rustix::fs::OFlags;
use rustix::time::Timespec;
use thiserror::Error;
use wire::tls::{ConfigError, ServerConfig};

use accept::{Acceptor, Mailbox};
use clients::Clients;
use clock::Clock;
use faults::{ErrorShare, FaultState};
use listen::SocketFile;
use log::StopSignal;
use pool::PoolQueue;
use stats::WorkerStats;
use worker::Worker;

pub use certificate::Certificate;
pub use deadlines::Deadlines;
pub use faults::{Break, Faults, LIMIT_MAX, Limit, Ramp, SLEEP_MAX_NS};
pub use guard::{Guard, TOKEN_MAX_BYTES, TOKEN_MIN_BYTES, Token, TokenError};
pub use listen::is_beyond_loopback;
pub use route::{BYTES_MAX, CHUNK_MAX, CPU_MAX_NS, SIGMA_MAX, SLOW_BODY_MAX_NS};

/// Most worker threads.
pub const WORKERS_MAX: u32 = 256;
/// Most virtual workers of a [`Pool`], and most that wait for one.
pub const POOL_MAX: u32 = 1_000_000;
/// How long clients usually have for a handshake; ns.
pub const HANDSHAKE_MAX_NS: u64 = 10 * model::NS_PER_S;
/// Longest wait in a stall before looking whether the server is to stop; ns.
const STALL_SLICE_NS: u64 = 20_000_000;

/// What a target serves and how.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetConfig {
    /// Where to listen; port 0 takes a free one, and the file of a Unix socket is removed at the end.
    pub listen: Address,
    /// How to speak TLS; none: not at all.
    pub tls: Option<Tls>,
    /// Worker threads, 1 to [`WORKERS_MAX`].
    pub workers: u32,
    /// CPUs the workers are pinned to, round robin; empty pins none.
    pub cpus: Vec<u32>,
    /// Connections the kernel completes before they are accepted (it takes at most `net.core.somaxconn`).
    pub backlog: u32,
    /// Connections at a time; those beyond are closed at once.
    pub max_connections: u32,
    /// Connections at a time of one client address; those beyond are closed at once.
    pub max_per_client: u32,
    /// How long clients may keep the server waiting.
    pub deadlines: Deadlines,
    /// Who may use what keeps the server busy.
    pub guard: Guard,
    /// Stalls of the whole server.
    pub stall: Option<Stall>,
    /// Share of otherwise good answers (status below 400) that are 500 instead, 0 to 1.
    pub error_share: f64,
    /// Further faults.
    pub faults: Faults,
    /// What answers `/pool`.
    pub pool: Option<Pool>,
    /// Where `/` redirects to (302) instead of showing the landing page.
    pub redirect: Option<String>,
    /// File that stalls and arrivals are appended to, as JSON lines stamped on `CLOCK_MONOTONIC`.
    pub log: Option<PathBuf>,
}

/// TLS at the server's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Who the server is.
    pub certificate: Certificate,
    /// A connection whose handshake takes longer is closed; ns.
    pub handshake_ns: u64,
}

/// Stalls of the whole server: nothing is read, written or accepted during
/// `[k * every_ns, k * every_ns + length_ns)` since the start, k = 1, 2, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// From the begin of a stall to the begin of the next; ns.
    pub every_ns: u64,
    /// Length of a stall, below `every_ns`; ns.
    pub length_ns: u64,
}

/// A pool of virtual workers in front of a bounded first-come-first-served queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Requests served at a time, 1 to [`POOL_MAX`].
    pub workers: u32,
    /// Service time of each; ns.
    pub service_ns: u64,
    /// Requests that may wait, up to [`POOL_MAX`]; further ones are answered 503.
    pub queue: u32,
}

/// Why a target does not start or did not run to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// As configured.
        address: Address,
        /// The reason.
        source: io::Error,
    },
    /// Certificate or key are of no use.
    #[error("cannot speak TLS with this certificate and key: {source}")]
    Certificate {
        /// The reason.
        #[from]
        source: ConfigError,
    },
    /// A setting is outside its range.
    #[error("{setting} has to be {expected}")]
    Setting {
        /// Field of [`TargetConfig`].
        setting: &'static str,
        /// What it may be.
        expected: String,
    },
    /// A CPU this process may not run on.
    #[error("cannot pin a worker to CPU {cpu}: this process may not run there")]
    Cpu {
        /// As configured.
        cpu: u32,
    },
    /// The log cannot be opened or written.
    #[error("cannot write the log {path}: {source}")]
    Log {
        /// As configured.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The kernel refused what a thread needs.
    #[error("the built-in server cannot run: {source}")]
    Run {
        /// The reason.
        #[from]
        source: io::Error,
    },
    /// A thread ended on an error, and the others with it.
    #[error("the built-in server has ended: its thread {thread} failed: {source}")]
    Thread {
        /// Its name.
        thread: String,
        /// The reason.
        source: io::Error,
    },
}

impl Default for TargetConfig {
    /// One worker on a free port of loopback, without faults, pool or log.
    fn default() -> Self {
        Self {
            listen: Address::Tcp((Ipv4Addr::LOCALHOST, 0).into()),
            tls: None,
            workers: 1,
            cpus: Vec::new(),
            backlog: 4096,
            max_connections: 65_536,
            max_per_client: 65_536,
            deadlines: Deadlines::default(),
            guard: Guard::Open,
            stall: None,
            error_share: 0.0,
            faults: Faults::default(),
            pool: None,
            redirect: None,
            log: None,
        }
    }
}

/// Starts a target; it serves once this returns.
pub fn start(config: TargetConfig) -> Result<Running, TargetError> {
    check(&config)?;
    let tls = config.tls.as_ref().map(|tls| tls.certificate.server_config()).transpose()?;
    let listener = listen::listen(&config.listen, config.backlog)
        .map_err(|source| TargetError::Bind { address: config.listen.clone(), source })?;
    let log = config.log.clone().map(|path| open_log(&path).map(|file| (path, file))).transpose()?;
    let shared = Arc::new(Shared::new(config, listener.address, tls)?);
    let acceptor = Acceptor::new(listener.socket, Arc::clone(&shared))?;
    let workers = (0..shared.mailboxes.len()).map(|index| Worker::new(index, Arc::clone(&shared)));
    let workers = workers.collect::<io::Result<Vec<_>>>()?;

    let stop = Arc::new(StopSignal::default());
    let mut running = Running { shared, stop, threads: Vec::new(), log: None, _file: listener.file };
    for (index, worker) in workers.into_iter().enumerate() {
        running.threads.push(spawn(&running.shared, format!("target-{index}"), move || worker.run())?);
    }
    running.threads.push(spawn(&running.shared, "target-accept".into(), move || acceptor.run())?);
    if let Some((path, file)) = log {
        let (shared, stop) = (Arc::clone(&running.shared), Arc::clone(&running.stop));
        let write = move || log::run(&shared, &stop, BufWriter::new(file));
        running.log = Some((path, spawn(&running.shared, "target-log".into(), write)?));
    }
    Ok(running)
}

/// A thread of the server. However it ends, the others end too, which would serve badly without it.
fn spawn(
    shared: &Arc<Shared>,
    name: String,
    run: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<JoinHandle<io::Result<()>>> {
    let end = EndOfAll(Arc::clone(shared));
    thread::Builder::new().name(name).spawn(move || {
        let _end = end;
        run()
    })
}

/// Ends all threads when it is dropped, in a panic too.
struct EndOfAll(Arc<Shared>);

impl Drop for EndOfAll {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// A target that serves. Dropped, it stops.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    stop: Arc<StopSignal>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    log: Option<(PathBuf, JoinHandle<io::Result<()>>)>,
    _file: Option<SocketFile>,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// The URL of its landing page; over a Unix socket a host that stands for nothing.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/", page::base(self.address(), self.shared.tls.is_some(), ""))
    }

    /// Asks all threads to end; connections are closed, whatever they wait for.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// True if a thread has ended: asked to by [`Running::stop`], or by an error that [`Running::join`] tells.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let log = self.log.iter().map(|(_, thread)| thread);
        self.threads.iter().chain(log).any(JoinHandle::is_finished)
    }

    /// Waits until all threads have ended and the log is complete. Does not ask them to: see [`Running::stop`].
    pub fn join(mut self) -> Result<(), TargetError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), TargetError> {
        let ends = self.threads.drain(..).map(|handle| {
            let thread = handle.thread().name().unwrap_or_default().to_owned();
            end_of(handle).map_err(|source| TargetError::Thread { thread, source })
        });
        // All of them have ended before the log is told to.
        let ends: Vec<Result<(), TargetError>> = ends.collect();
        self.stop.set();
        if let Some((path, thread)) = self.log.take() {
            end_of(thread).map_err(|source| TargetError::Log { path, source })?;
        }
        ends.into_iter().collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        // Whoever wants to know how it ended calls `join`.
        let _ = self.finish();
    }
}

/// A panic in a thread is a bug and goes on here, unless one is going on already.
fn end_of(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|panic| if thread::panicking() { Ok(()) } else { std::panic::resume_unwind(panic) })
}

/// What all threads of a target see.
#[derive(Debug)]
struct Shared {
    config: TargetConfig,
    address: Address,
    tls: Option<ServerConfig>,
    clock: Clock,
    stopping: AtomicBool,
    stats: Vec<WorkerStats>,
    /// Connections closed at once for being too many.
    refused: AtomicU64,
    /// Times that there was no room for a newcomer, whoever it was: workers make some when it changes.
    turned_away: AtomicU64,
    clients: Clients,
    /// Key of hashes that no client may foresee.
    keys: RandomState,
    mailboxes: Vec<Mailbox>,
    /// Ends the acceptor's wait.
    acceptor: rustix::fd::OwnedFd,
    errors: Option<ErrorShare>,
    /// Good answers so far; counted only for `errors`.
    good_answers: AtomicU64,
    faults: FaultState,
    /// Sleeps drawn from a distribution so far.
    sleeps: AtomicU64,
    pool: Option<Mutex<PoolQueue>>,
}

impl Shared {
    fn new(config: TargetConfig, address: Address, tls: Option<ServerConfig>) -> io::Result<Self> {
        Ok(Self {
            address,
            tls,
            clock: Clock::start(),
            stopping: AtomicBool::new(false),
            stats: (0..config.workers).map(|_| WorkerStats::new(config.log.is_some())).collect(),
            refused: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            clients: Clients::new(config.max_per_client),
            keys: RandomState::new(),
            mailboxes: (0..config.workers).map(|_| Mailbox::new()).collect::<io::Result<_>>()?,
            acceptor: accept::wake_handle()?,
            errors: ErrorShare::new(config.error_share),
            good_answers: AtomicU64::new(0),
            pool: config.pool.map(|pool| Mutex::new(PoolQueue::new(pool))),
            faults: FaultState::new(config.faults),
            sleeps: AtomicU64::new(0),
            config,
        })
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        accept::wake(&self.acceptor);
        self.mailboxes.iter().for_each(Mailbox::wake);
    }

    /// Returns when no stall is going on. Every read, write and accept is preceded by this.
    #[inline]
    fn pass_stall(&self) {
        if let Some(stall) = &self.config.stall {
            self.wait_out(stall);
        }
    }

    fn wait_out(&self, stall: &Stall) {
        loop {
            let now_ns = self.clock.now_ns();
            let Some(interval) = stall.at(now_ns) else { return };
            if self.stopping() {
                return;
            }
            let wait_ns = (interval.end_ns - now_ns).min(STALL_SLICE_NS);
            // Interrupted or not: the clock decides.
            let _ = rustix::thread::nanosleep(&timespec(wait_ns));
        }
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / model::NS_PER_S).cast_signed(), tv_nsec: (ns % model::NS_PER_S).cast_signed() }
}

/// Opens the log. It is no link, which in a directory that others write to could lead anywhere, and no pipe without a reader.
fn open_log(path: &PathBuf) -> Result<std::fs::File, TargetError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path);
    file.map_err(|source| TargetError::Log { path: path.clone(), source })
}

fn check(config: &TargetConfig) -> Result<(), TargetError> {
    let require = |holds: bool, setting, expected: String| {
        if holds { Ok(()) } else { Err(TargetError::Setting { setting, expected }) }
    };
    require((1..=WORKERS_MAX).contains(&config.workers), "workers", format!("1 to {WORKERS_MAX}"))?;
    require((0.0..=1.0).contains(&config.error_share), "error_share", "a share from 0 to 1".into())?;
    require(config.max_connections > 0, "max_connections", "at least 1".into())?;
    require(config.max_per_client > 0, "max_per_client", "at least 1".into())?;
    require(config.deadlines.shortest_ns() > 0, "deadlines", "longer than nothing".into())?;
    if let Some(stall) = &config.stall {
        let holds = 0 < stall.length_ns && stall.length_ns < stall.every_ns;
        require(holds, "stall", "longer than nothing and shorter than its period".into())?;
    }
    if let Some(pool) = &config.pool {
        let holds = (1..=POOL_MAX).contains(&pool.workers) && pool.queue <= POOL_MAX;
        require(holds, "pool", format!("1 to {POOL_MAX} workers and at most {POOL_MAX} waiting"))?;
    }
    config.faults.check().or_else(|expected| require(false, "faults", expected))?;
    if let Some(redirect) = &config.redirect {
        let plain = !redirect.is_empty() && redirect.bytes().all(|byte| byte.is_ascii_graphic());
        require(plain, "redirect", "an address in visible ASCII".into())?;
    }
    if !config.cpus.is_empty() {
        let allowed = rustix::thread::sched_getaffinity(None).map_err(io::Error::from)?;
        let usable = |cpu: u32| cpu < rustix::thread::CpuSet::MAX_CPU as u32 && allowed.is_set(cpu as usize);
        if let Some(cpu) = config.cpus.iter().copied().find(|cpu| !usable(*cpu)) {
            return Err(TargetError::Cpu { cpu });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It went on without the thread that failed until somebody stopped it.
    #[test]
    fn a_thread_that_fails_ends_the_server_with_its_error() {
        let mut running = start(TargetConfig::default()).expect("it starts");
        assert!(!running.has_ended());
        let failing = spawn(&running.shared, "target-9".into(), || Err(io::Error::other("no more memory")));
        running.threads.push(failing.expect("a thread"));
        // A hang here, or in the next line, is the failure.
        while !running.has_ended() {
            thread::yield_now();
        }
        let error = running.join().expect_err("it has failed").to_string();
        assert!(error.contains("target-9") && error.contains("no more memory"), "{error}");
    }
}
