//! Promises of both ends on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::agent::{Agent, Order, Report};
use crate::bandwidth::{Nonce, ProbeMessage, Received, ServeProbe};
use crate::checked::TEXT_MAX;
use crate::error::FleetError;
use crate::fleet::{Fleet, FleetEvent, OnLoss};
use crate::limits::SYNC_PINGS;
use crate::message::{Hello, ObserveMessage, PROTOCOL, StartServer};
use crate::observer::{ObserverEvent, RemoteObserver};
use crate::pods::{self, PodState};
use crate::segment::divide;
use crate::server::{RemoteServer, ServerEvent, ServerOrder};
use crate::shell::{self, Word};
use model::{Address, Event, Load, NS_PER_S, Phase, Plan, Stop, Target};
use serde_json::Value;
use std::iter;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

/// Who both ends are in tests.
#[must_use]
pub fn identity() -> Hello {
    let (version, build, architecture) = ("1.2.3".into(), "ab".repeat(32), "x86_64".into());
    Hello { protocol: PROTOCOL, version, build, architecture, host: "h".into(), boot_id: "b".into(), cpus: 2 }
}

/// A closed loop of so many connections for some seconds, at an address that nobody connects to.
///
/// # Panics
/// Never.
#[must_use]
pub fn plan(connections: u32, seconds: u64) -> Plan {
    let target = Target::at("192.0.2.1:80".parse().expect("an address"));
    Plan::new(target, Load::Closed { connections }, Stop::Duration { duration_ns: seconds * NS_PER_S })
}

/// Whom to observe: who listens at an address.
#[must_use]
pub fn whom(address: impl Into<Address>) -> ObserveMessage {
    let (address, observe, parts) = (address.into(), Vec::new(), Vec::new());
    ObserveMessage { address, server: None, observe, parts, wants_fingerprint: false }
}

/// Feeds `data` to both ends, cut where its first bytes say: no panic, no endless loop, bounded output, and the same is seen
/// however the bytes were cut.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz(data: &[u8]) {
    /// Ends that are far enough to take anything in: that takes longer than what is made of most bytes.
    static BEGUN: LazyLock<Begun> = LazyLock::new(Begun::new);
    let (cuts, stream) = data.split_at(data.len().min(4));
    let seen = |cuts| BEGUN.saw(&pieces(stream, cuts).collect::<Vec<_>>());
    let (whole, cut) = (seen(&[]), seen(cuts));
    // What is no number is not equal to itself, but told in the same way.
    assert!(whole == cut || format!("{whole:?}") == format!("{cut:?}"), "the cuts changed {whole:?} to {cut:?}");
}

/// Longest text that is made of texts of a cluster, each of which may become longer when it is redacted.
const TOLD_CHARS_MAX: usize = 8 * TEXT_MAX;

/// Takes `data` as lines of the shell of a host: no panic; a line that is not meant for the coordinator is none; the reason of a
/// host is one short line; and how an agent has ended is what the last such line says.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_shell(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for line in text.lines() {
        let word = shell::word(line);
        assert!(word.is_none() || line.starts_with(shell::MARK), "{line:?}");
        assert_eq!(shell::word(&format!("{line}\r\n")), word, "{line:?}");
        if let Some(Word::Error(why)) = &word {
            check_told(why);
            assert_eq!(shell::word(&format!("{}error {why}", shell::MARK)), word, "told again it is the same");
        }
    }
    let ended = shell::ended(&text);
    assert_eq!(shell::ended(&format!("{text}\n{}ended 137\n", shell::MARK)), Some(137));
    assert_eq!(shell::ended(&format!("{}ended 7\n{text}", shell::MARK)), ended.or(Some(7)));
}

/// Takes `data` as a pod, or a list of them, as an API server describes it: no panic; its name is that of a pod, and whatever is
/// told of it is one short line.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_pods(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let listed = value["items"].as_array().into_iter().flatten();
    for pod in listed.chain([&value]) {
        let Some((_, state)) = pods::read(pod) else { continue };
        let (name, why) = match &state {
            PodState::Waiting(why) => (None, why.as_ref()),
            PodState::Running(name) => (Some(name), None),
            PodState::Ended { pod, why } => (Some(pod), Some(why)),
        };
        why.into_iter().for_each(|why| check_told(why));
        let is_name = |name: &&String| {
            let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            name.len() < 254 && name.bytes().all(is_part)
        };
        assert!(name.is_none_or(|name| is_name(&name)), "{state:?}");
    }
}

fn check_told(text: &str) {
    assert!(text.chars().count() <= TOLD_CHARS_MAX && !text.contains(char::is_control), "{text:?}");
}

/// The pieces of `stream`; their lengths come from `cuts`, over and over.
fn pieces<'a>(stream: &'a [u8], cuts: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = stream;
    let mut lengths = cuts.iter().map(|cut| usize::from(*cut) + 1).cycle();
    iter::from_fn(move || {
        let length = lengths.next().unwrap_or(rest.len()).min(rest.len());
        let (piece, more) = rest.split_at(length);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Each end of the protocol, once it awaits bytes.
struct Begun {
    /// With a load on its only agent.
    fleet: Fleet,
    /// With an agent that observes a server.
    observer: RemoteObserver,
    /// With an agent that has been told to start a server.
    server: RemoteServer,
    /// Two whose agents take part in a probe.
    probing: (Fleet, RemoteObserver),
    agent: Agent,
}

/// What each end has made of the same bytes.
#[derive(Debug, PartialEq)]
struct Seen {
    of_agent: Vec<FleetEvent>,
    of_observer: Vec<ObserverEvent>,
    of_server: Vec<ServerEvent>,
    of_probe: (Vec<FleetEvent>, Vec<ObserverEvent>),
    of_coordinator: (Vec<Order>, Option<String>),
}

impl Begun {
    fn new() -> Self {
        let hello = Agent::new(identity(), 0).take_output();
        let fleet = || {
            let mut fleet = Fleet::new(["a".to_owned()], identity(), OnLoss::End);
            fleet.attach(0, 0);
            fleet.on_bytes(0, &hello, 0, 0);
            fleet
        };
        let mut loading = fleet();
        loading.begin(&plan(8, 1), &divide(&[2], 8).expect("enough connections"), NS_PER_S);
        let mut server = RemoteServer::new("a".to_owned(), identity());
        server.attach(0);
        server.on_bytes(&hello, 0);
        server.order(ServerOrder::Start(Box::new(start_server())), NS_PER_S);
        let (serve, parts) = probe();
        let mut probing = (fleet(), RemoteObserver::new("a".to_owned(), identity()));
        probing.1.attach(0);
        probing.1.on_bytes(&hello, 0, 0);
        probing.0.probe(parts);
        probing.1.serve_probe(serve);
        let agent = Agent::that_serves(identity(), 0);
        Self { fleet: loading, observer: sampling(), server, probing, agent }
    }

    fn saw(&self, pieces: &[&[u8]]) -> Seen {
        let (fleet, observer) = self.probing.clone();
        Seen {
            of_agent: of_agent(self.fleet.clone(), pieces),
            of_observer: of_observer(self.observer.clone(), pieces),
            of_server: of_server(self.server.clone(), pieces),
            of_probe: of_probe(fleet, observer, pieces),
            of_coordinator: of_coordinator(self.agent.clone(), pieces),
        }
    }
}

/// What a coordinator with a load makes of bytes of its only agent.
fn of_agent(mut fleet: Fleet, pieces: &[&[u8]]) -> Vec<FleetEvent> {
    let mut seen = Vec::new();
    for piece in pieces {
        fleet.on_bytes(0, piece, NS_PER_S, NS_PER_S);
        seen.extend(iter::from_fn(|| fleet.take_event()));
        assert!(fleet.take_output(0).len() < 1 << 20);
    }
    fleet.on_end(0, "its stream ended", 2 * NS_PER_S);
    seen.extend(iter::from_fn(|| fleet.take_event()));
    for event in &seen {
        if let FleetEvent::Load(Event::AgentLost { why, .. }) = event {
            assert!(!why.contains(char::is_control), "{why:?}");
        }
    }
    seen
}

/// A coordinator that awaits samples of the agent that observes a server.
fn sampling() -> RemoteObserver {
    /// More than it takes to compare clocks.
    const ROUNDS: u32 = 2 * SYNC_PINGS;
    const AWAITED: u32 = 8;
    let (mut observer, mut agent) = (RemoteObserver::new("a".to_owned(), identity()), Agent::new(identity(), 0));
    observer.attach(0);
    observer.on_bytes(&agent.take_output(), 0, 0);
    observer.observe(whom(SocketAddr::from(([192, 0, 2, 1], 80))), NS_PER_S);
    for _ in 0..ROUNDS {
        observer.begin();
        let _ = agent.on_bytes(&observer.take_output(), NS_PER_S, NS_PER_S);
        while let Some(order) = agent.take_order() {
            match order {
                Order::Observe(_) => agent.on_report(Report::Observing(Box::default()), NS_PER_S),
                Order::BeginSamples => agent.on_report(Report::SamplesBegun { at_ns: NS_PER_S }, NS_PER_S),
                _ => {}
            }
        }
        observer.on_bytes(&agent.take_output(), NS_PER_S, NS_PER_S);
    }
    (0..AWAITED).for_each(|_| observer.sample(Phase::Measure));
    let _ = observer.take_output();
    observer
}

/// What a coordinator makes of bytes of the agent that observes a server.
fn of_observer(mut observer: RemoteObserver, pieces: &[&[u8]]) -> Vec<ObserverEvent> {
    let mut seen = Vec::new();
    for piece in pieces {
        observer.on_bytes(piece, NS_PER_S, NS_PER_S);
        seen.extend(iter::from_fn(|| observer.take_event()));
        assert!(observer.take_output().len() < 1 << 20);
    }
    for event in &seen {
        if let ObserverEvent::Failed(FleetError::Lost { why, .. } | FleetError::Agent { why, .. }) = event {
            assert!(!why.contains(char::is_control), "{why:?}");
        }
    }
    seen
}

/// What a coordinator makes of bytes of an agent that has started a server.
fn of_server(mut server: RemoteServer, pieces: &[&[u8]]) -> Vec<ServerEvent> {
    let mut seen = Vec::new();
    for piece in pieces {
        server.on_bytes(piece, NS_PER_S);
        seen.extend(iter::from_fn(|| server.take_event()));
        assert!(server.take_output().len() < 1 << 20);
    }
    for event in &seen {
        match event {
            ServerEvent::Runs(runs) => assert!(!runs.warnings.concat().contains(char::is_control), "{runs:?}"),
            ServerEvent::Failed(FleetError::Lost { why, .. } | FleetError::Agent { why, .. }) => {
                assert!(!why.contains(char::is_control), "{why:?}");
            }
            _ => {}
        }
    }
    seen
}

/// The built-in server at an address that nobody connects to.
#[must_use]
pub fn start_server() -> StartServer {
    StartServer { server: "target".to_owned(), address: Ipv4Addr::new(192, 0, 2, 1) }
}

/// A probe of two agents, one connection each way.
#[must_use]
pub fn probe() -> (ServeProbe, Vec<ProbeMessage>) {
    let at = SocketAddr::from(([192, 0, 2, 1], 40_000));
    let nonce = Nonce::new([5; 16]);
    let parts = ProbeMessage::divide(1, at, nonce);
    (ServeProbe { address: at.ip(), nonce, connections: parts[0].connections }, parts)
}

/// What both coordinators make of bytes of an agent that takes part in a probe: nothing that cannot have been measured.
fn of_probe(mut fleet: Fleet, mut observer: RemoteObserver, pieces: &[&[u8]]) -> (Vec<FleetEvent>, Vec<ObserverEvent>) {
    for piece in pieces {
        fleet.on_bytes(0, piece, NS_PER_S, NS_PER_S);
        observer.on_bytes(piece, NS_PER_S, NS_PER_S);
    }
    fleet.on_end(0, "its stream ended", NS_PER_S);
    let is_possible = |received: Received| assert!(received.is_possible(), "{received:?}");
    let of_fleet: Vec<_> = iter::from_fn(|| fleet.take_event()).collect();
    for event in &of_fleet {
        if let FleetEvent::Probed { outcome: Ok(probed), .. } = event {
            is_possible(probed.received);
        }
    }
    let of_observer: Vec<_> = iter::from_fn(|| observer.take_event()).collect();
    for event in &of_observer {
        if let ObserverEvent::ProbeServed(Ok(served)) = event {
            is_possible(served.received);
        }
    }
    (of_fleet, of_observer)
}

/// What an agent makes of bytes of its coordinator, and why it is gone, if it is.
fn of_coordinator(mut agent: Agent, pieces: &[&[u8]]) -> (Vec<Order>, Option<String>) {
    let mut seen = Vec::new();
    for piece in pieces {
        let outcome = agent.on_bytes(piece, NS_PER_S, NS_PER_S);
        seen.extend(iter::from_fn(|| agent.take_order()));
        let _ = agent.take_output();
        if let Err(gone) = outcome {
            return (seen, Some(gone.to_string()));
        }
    }
    (seen, None)
}
