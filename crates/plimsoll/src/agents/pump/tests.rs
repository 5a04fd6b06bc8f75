//! Stubs of agents: some say one text without end, and none ends by itself.

use super::*;
use model::NS_PER_S;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Agents that say one text over and over, or nothing, and do not end by themselves.
struct Stubs {
    agents: usize,
    text: &'static [u8],
    /// Reads of all.
    reads: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
}

impl Stubs {
    fn new(agents: usize, text: &'static [u8]) -> Self {
        Self { agents, text, reads: Arc::default(), ended: Arc::default() }
    }
}

impl Launcher for Stubs {
    fn names(&self) -> Vec<String> {
        vec![String::new(); self.agents]
    }

    fn connect(&self, _: usize) -> Result<Stream, String> {
        let from = Box::new(Mouth { text: self.text, reads: Arc::clone(&self.reads) });
        Ok(Stream { from, to: Box::new(io::sink()), carrier: Arc::new(Stubborn(Arc::clone(&self.ended))) })
    }

    fn state(&self) -> String {
        String::new()
    }
}

struct Mouth {
    text: &'static [u8],
    reads: Arc<AtomicU64>,
}

impl Read for Mouth {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() {
            std::thread::park();
        }
        self.reads.fetch_add(1, Ordering::Relaxed);
        out[..self.text.len()].copy_from_slice(self.text);
        Ok(self.text.len())
    }
}

/// Has to be ended by force.
struct Stubborn(Arc<AtomicU64>);

impl Carrier for Stubborn {
    fn end(&self, until_ns: u64) {
        std::thread::sleep(Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())));
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn why(&self) -> String {
        String::new()
    }
}

/// Takes its time for each piece, and loses the first agent if it is told to.
#[derive(Clone, Default)]
struct Slow {
    attached: Arc<AtomicU64>,
    pieces: Arc<AtomicU64>,
    loses_first: bool,
}

impl Protocol for Slow {
    type Order = ();
    type Event = ();

    fn attach(&mut self, _: usize, _: u64) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    fn on_bytes(&mut self, _: usize, _: &[u8], _: u64, _: u64) {
        std::thread::sleep(Duration::from_millis(5));
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }

    fn on_end(&mut self, _: usize, _: &str, _: u64) {}

    fn on_order(&mut self, (): (), _: u64) {}

    fn on_time(&mut self, _: u64) {}

    fn deadline_ns(&self) -> u64 {
        u64::MAX
    }

    fn take_output(&mut self, _: usize) -> Vec<u8> {
        Vec::new()
    }

    fn take_event(&mut self) -> Option<()> {
        None
    }

    fn is_lost(&self, agent: usize) -> bool {
        self.loses_first && agent == 0
    }
}

/// Waits until a count is reached.
#[track_caller]
fn reaches(count: &AtomicU64, wanted: u64) {
    let began_ns = monotonic_ns();
    while count.load(Ordering::Relaxed) < wanted {
        assert!(monotonic_ns() < began_ns + 60 * NS_PER_S, "{count:?} of {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn agents_that_do_not_end_hold_the_end_up_together_and_not_one_after_the_other() {
    let (stubs, slow) = (Stubs::new(16, b""), Slow::default());
    let ended = Arc::clone(&stubs.ended);
    let pump = Pump::start(Arc::new(stubs), slow.clone(), |()| ()).expect("threads");
    reaches(&slow.attached, 16);
    let began_ns = monotonic_ns();
    drop(pump);
    assert_eq!(ended.load(Ordering::Relaxed), 16);
    assert!(monotonic_ns() < began_ns + 16 * NS_PER_S, "2 s for all, not for each");
}

#[test]
fn an_agent_that_never_stops_talking_waits_for_the_protocol() {
    let (stubs, slow) = (Stubs::new(1, b"more"), Slow::default());
    let reads = Arc::clone(&stubs.reads);
    let pump = Pump::start(Arc::new(stubs), slow.clone(), |()| ()).expect("threads");
    for wanted in [10, 50] {
        reaches(&slow.pieces, wanted);
        // One is in hand at either end.
        let (read, handled) = (reads.load(Ordering::Relaxed), slow.pieces.load(Ordering::Relaxed));
        assert!(read <= handled + PIECES_MAX as u64 + 2, "{read} read, {handled} handled");
    }
    drop(pump);
}

#[test]
fn a_lost_agent_is_cut_off_while_the_others_go_on() {
    let (stubs, slow) = (Stubs::new(2, b""), Slow { loses_first: true, ..Slow::default() });
    let ended = Arc::clone(&stubs.ended);
    let pump = Pump::start(Arc::new(stubs), slow, |()| ()).expect("threads");
    reaches(&ended, 1);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(ended.load(Ordering::Relaxed), 1, "the other is there");
    drop(pump);
}
