//! Reads the status pages of the server under test, once a second, beside the load.
//!
//! Each page has a thread of its own: a page that hangs must not delay the ticks, nor the other pages.

use engine::clock::monotonic_ns;
use model::{Event, StatusLook, Tick};
use rustls::crypto::aws_lc_rs;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::TlsConfig;

/// A page that takes longer says nothing this time.
const PATIENCE: Duration = Duration::from_millis(900);
/// Between an answer and the next question.
const EVERY: Duration = Duration::from_secs(1);
/// How often a thread looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(50);
/// A status page is no longer than this.
const PAGE_MAX_BYTES: u64 = 1 << 20;

/// Looks at pages until it is dropped.
pub(crate) struct StatusPages {
    /// What has come since it was last asked for.
    fresh: Arc<Mutex<Vec<StatusLook>>>,
    /// When the clock of the load started, on the clock of this machine; 0 before that. ns
    started_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl StatusPages {
    pub(crate) fn watch(urls: &[String]) -> Self {
        let (fresh, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let started_ns = Arc::new(AtomicU64::new(0));
        let threads = urls.iter().map(|url| {
            let (url, fresh, stop) = (url.clone(), Arc::clone(&fresh), Arc::clone(&stop));
            let started_ns = Arc::clone(&started_ns);
            std::thread::spawn(move || watch(&url, &fresh, &started_ns, &stop))
        });
        let threads = threads.collect();
        Self { fresh, started_ns, stop, threads }
    }

    /// The clock of the load starts with the connections open.
    pub(crate) fn start_after(&self, event: &Event) {
        if let Event::Connected { .. } = event {
            self.started_ns.store(monotonic_ns(), Ordering::Relaxed);
        }
    }

    /// What has come until a tick; none when nothing has.
    pub(crate) fn until(&self, tick: &Tick) -> Option<Event> {
        let looks = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        (!looks.is_empty()).then_some(Event::Status { at_ns: tick.to_ns, phase: tick.phase, looks })
    }
}

impl Drop for StatusPages {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that has panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn watch(url: &str, fresh: &Mutex<Vec<StatusLook>>, started_ns: &AtomicU64, stop: &AtomicBool) {
    let agent = agent();
    while !stop.load(Ordering::Relaxed) {
        let asked_ns = monotonic_ns();
        let read = fetch(&agent, url).and_then(|text| observe::status::read(&text));
        let (status, reason) = match read {
            Ok(status) => (Some(status), None),
            Err(reason) => (None, Some(reason)),
        };
        let started_ns = started_ns.load(Ordering::Relaxed);
        let at_ns = (started_ns > 0).then(|| monotonic_ns().saturating_sub(started_ns));
        let took_ns = monotonic_ns() - asked_ns;
        let look = StatusLook { url: url.to_owned(), status, reason, at_ns, took_ns };
        fresh.lock().unwrap_or_else(PoisonError::into_inner).push(look);
        let mut waited = Duration::ZERO;
        while waited < EVERY && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_UP);
            waited += LOOK_UP;
        }
    }
}

fn agent() -> Agent {
    // Our own server's certificate is its own; what it says of itself is no secret.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let tls = TlsConfig::builder().disable_verification(true).unversioned_rustls_crypto_provider(provider).build();
    let config = Agent::config_builder().tls_config(tls).proxy(None).timeout_global(Some(PATIENCE)).max_redirects(0);
    Agent::new_with_config(config.build())
}

fn fetch(agent: &Agent, url: &str) -> Result<String, String> {
    let mut answer = agent.get(url).call().map_err(|error| error.to_string())?;
    let mut text = String::new();
    let body = answer.body_mut().as_reader();
    body.take(PAGE_MAX_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}
