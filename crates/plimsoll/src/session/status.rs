//! Reads what servers say of themselves, once a second, beside the load: status pages and counters of databases.
//!
//! Each has a thread of its own: one that hangs must not delay the ticks, nor the others, nor the end.

mod ask;
mod deadline;
mod encryption;
mod lookup;
mod page;
mod socket;

use crate::lock::hold;
use crate::settings::status_source::Source;
use ask::Asker;
use clock::{Clock, monotonic_ns};
use model::{Event, Phase, StatusLook, Tick};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Between an answer and the next question.
const EVERY: Duration = Duration::from_secs(1);
/// The same for who has answered before and now does not: a server that has no connection left for its own page, just when
/// its counters tell most.
const AGAIN: Duration = Duration::from_millis(150);
/// How long the load waits for the first answers, from before it.
const FIRST_PATIENCE: Duration = Duration::from_millis(250);
/// Questions after the load, while connections are still being closed.
const LAST_TRIES: usize = 3;
/// How long the end waits for last answers: one that hangs says so within its deadlines, and one that trickles never.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// How often a thread looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Looks at pages until it is dropped.
pub(crate) struct StatusPages {
    /// What has come since it was last asked for.
    fresh: Arc<Mutex<Vec<StatusLook>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl StatusPages {
    /// Begins to look, beside a load with that clock; returns when all have been asked once, or soon.
    pub(crate) fn watch<'a>(sources: impl Iterator<Item = &'a Source>, clock: &Arc<OnceLock<Clock>>) -> Self {
        let (fresh, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let threads = sources.filter_map(|source| {
            let (asked, looks, stop) = (source.clone(), Arc::clone(&fresh), Arc::clone(&stop));
            let clock = Arc::clone(clock);
            let watching = Builder::new().name("status".into()).spawn(move || watch(&asked, &looks, &clock, &stop));
            // A page that nobody can ask says why, as one that does not answer does.
            watching
                .map_err(|error| hold(&fresh).push(unasked(source, format!("no thread can ask it: {error}"), 0)))
                .ok()
        });
        let threads: Vec<_> = threads.collect();
        let pages = Self { fresh, stop, threads };
        let mut waited = Duration::ZERO;
        while pages.fresh().len() < pages.threads.len() && waited < FIRST_PATIENCE {
            std::thread::sleep(LOOK_UP / 10);
            waited += LOOK_UP / 10;
        }
        pages
    }

    /// What was said before the load, with its begin, and what is said after it, with its end.
    pub(crate) fn around(&mut self, event: &Event) -> Option<Event> {
        let (at_ns, phase) = match event {
            Event::Started { .. } => (0, Phase::Warmup),
            Event::Ended { at_ns, .. } => {
                self.finish();
                (*at_ns, Phase::Drain)
            }
            _ => return None,
        };
        self.taken(at_ns, phase)
    }

    fn fresh(&self) -> MutexGuard<'_, Vec<StatusLook>> {
        hold(&self.fresh)
    }

    fn taken(&self, at_ns: u64, phase: Phase) -> Option<Event> {
        let looks = std::mem::take(&mut *self.fresh());
        (!looks.is_empty()).then_some(Event::Status { at_ns, phase, looks })
    }

    /// Waits for the last answers. Threads that still wait for one then end with the program.
    fn finish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let begin_ns = monotonic_ns();
        let is_over = || u128::from(monotonic_ns() - begin_ns) > LAST_PATIENCE.as_nanos();
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && !is_over() {
                std::thread::sleep(LOOK_UP / 10);
            }
        }
    }

    /// What has come until a tick; none when nothing has.
    pub(crate) fn until(&self, tick: &Tick) -> Option<Event> {
        self.taken(tick.to_ns, tick.phase)
    }
}

impl Drop for StatusPages {
    fn drop(&mut self) {
        self.finish();
    }
}

fn watch(source: &Source, fresh: &Mutex<Vec<StatusLook>>, clock: &OnceLock<Clock>, stop: &AtomicBool) {
    let mut asker = Asker::new(source);
    let mut has_answered = false;
    let mut look = || {
        let look = look(&mut asker, source, clock);
        let is_answer = look.status.is_some();
        hold(fresh).push(look);
        is_answer
    };
    while !stop.load(Ordering::Relaxed) {
        let is_answer = look();
        let pause = if has_answered && !is_answer { AGAIN } else { EVERY };
        has_answered |= is_answer;
        let mut waited = Duration::ZERO;
        while waited < pause && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK_UP);
            waited += LOOK_UP;
        }
    }
    // Who has never answered is not asked for a last word.
    for _ in 0..if has_answered { LAST_TRIES } else { 0 } {
        if look() {
            return;
        }
        std::thread::sleep(LOOK_UP);
    }
}

/// What the page says now.
fn look(asker: &mut Asker, source: &Source, clock: &OnceLock<Clock>) -> StatusLook {
    let asked_ns = monotonic_ns();
    let (status, reason) = match asker.ask() {
        Ok(status) => (Some(status), None),
        Err(reason) => (None, Some(reason)),
    };
    let at_ns = clock.get().map(Clock::now_ns);
    StatusLook { url: source.url.to_string(), status, reason, at_ns, took_ns: monotonic_ns() - asked_ns }
}

/// That nothing was said, and why.
fn unasked(source: &Source, reason: String, took_ns: u64) -> StatusLook {
    StatusLook { url: source.url.to_string(), status: None, reason: Some(reason), at_ns: None, took_ns }
}

/// What each says when it is asked once, without a load.
pub(crate) fn ask_once(sources: &[Source]) -> Vec<StatusLook> {
    let once = |source: &Source| {
        let (tell, told) = channel();
        let asked = source.clone();
        let ask = move || tell.send(look(&mut Asker::new(&asked), &asked, &OnceLock::new()));
        match Builder::new().name("status".into()).spawn(ask) {
            Ok(_) => told.recv_timeout(LAST_PATIENCE).unwrap_or_else(|_| {
                unasked(source, "its answer has no end".to_owned(), LAST_PATIENCE.as_nanos() as u64)
            }),
            Err(error) => unasked(source, format!("no thread can ask it: {error}"), 0),
        }
    };
    sources.iter().map(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    /// The load is over, and its end waits for what they say.
    #[test]
    fn a_database_that_trickles_holds_up_no_end() {
        let folder = tempfile::tempdir().unwrap();
        // Each begins an answer, and sends a byte of it in less time than any wait.
        let begins: [(&str, &[u8]); 2] = [("redis", b"$100000000\r\n"), ("mysql", b"\xff\xff\x0f\x00")];
        let sources = begins.map(|(scheme, begin)| {
            let path = folder.path().join(scheme);
            let listener = UnixListener::bind(&path).unwrap();
            std::thread::spawn(move || {
                for mut client in listener.incoming().flatten() {
                    let _ = client.write_all(begin);
                    while client.write_all(b"x").is_ok() {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
            });
            Source::of_started(&format!("{scheme}+unix://{}", path.display())).unwrap()
        });
        let mut pages = StatusPages::watch(sources.iter(), &Arc::new(OnceLock::new()));
        // It ends; without a limit it never would.
        pages.finish();
        assert!(pages.threads.is_empty() && pages.fresh().iter().all(|look| look.status.is_none()));
        let looks = ask_once(&sources);
        assert!(looks.len() == 2 && looks.iter().all(|look| look.reason.is_some()), "{looks:?}");
    }

    /// A packet of MySQL's protocol.
    fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
        [&[payload.len() as u8, 0, 0, number], payload].concat()
    }

    /// The rows it had sent too many of were answered with a reason, but the rest of them was read, for ever.
    #[test]
    fn a_database_that_floods_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floods");
        let listener = UnixListener::bind(&path).unwrap();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let capabilities = b"12345678\0\xff\xf7\x21\x02\0\xff\x80\x15\0\0\0\0\0\0\0\0\0abcdefghijkl\0";
            let greeting = [b"\x0a5.5.5\0\x01\0\0\0", &capabilities[..], b"mysql_native_password\0"].concat();
            client.write_all(&packet(0, &greeting)).unwrap();
            let mut login = [0; 4096];
            assert!(client.read(&mut login).unwrap() > 0);
            client.write_all(&packet(2, b"\0\0\0\x02\0\0\0")).unwrap();
            assert!(client.read(&mut login).unwrap() > 0);
            let column = b"\x03def\0\0\0\x01a\0\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0";
            let columns = [packet(1, b"\x02"), packet(2, column), packet(3, column), packet(4, b"\xfe\0\0\x02\0")];
            client.write_all(&columns.concat()).unwrap();
            let flood: Vec<u8> = (5..=255).chain(0..5).flat_map(|n| packet(n, b"\x01a\x017")).collect();
            while client.write_all(&flood).is_ok() {}
            // The client has gone.
            tell.send(()).unwrap();
        });
        let source = Source::of_started(&format!("mysql+unix://{}", path.display())).unwrap();
        let looks = ask_once(&[source]);
        assert!(looks[0].reason.as_ref().is_some_and(|reason| reason.contains("more than 10000 rows")), "{looks:?}");
        told.recv_timeout(LAST_PATIENCE).unwrap();
    }
}
