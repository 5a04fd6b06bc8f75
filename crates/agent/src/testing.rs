//! Promises of both ends on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::agent::Agent;
use crate::fleet::{Fleet, FleetEvent, OnLoss};
use crate::message::{Hello, PROTOCOL};
use crate::segment::divide;
use model::{Event, Load, NS_PER_S, Plan, Stop, Target};

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

/// Feeds `data` to both ends, cut where its first bytes say: no panic, no endless loop, bounded output, and the same is seen
/// however the bytes were cut.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz(data: &[u8]) {
    let (cuts, stream) = data.split_at(data.len().min(4));
    assert_eq!(of_agent(stream, &[]), of_agent(stream, cuts), "the cuts of the bytes changed what the coordinator saw");
    assert_eq!(of_coordinator(stream, &[]), of_coordinator(stream, cuts), "the cuts changed what the agent saw");
}

/// The pieces of `stream`; their lengths come from `cuts`, over and over.
fn pieces<'a>(stream: &'a [u8], cuts: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = stream;
    let mut lengths = cuts.iter().map(|cut| usize::from(*cut) + 1).cycle();
    std::iter::from_fn(move || {
        let length = lengths.next().unwrap_or(rest.len()).min(rest.len());
        let (piece, more) = rest.split_at(length);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What a coordinator with a load makes of bytes of its only agent.
fn of_agent(stream: &[u8], cuts: &[u8]) -> Vec<String> {
    let mut fleet = Fleet::new(["a".to_owned()], identity(), OnLoss::End);
    let mut seen = Vec::new();
    fleet.attach(0, 0);
    fleet.on_bytes(0, &Agent::new(identity(), 0).take_output(), 0, 0);
    let parts = divide(&[2], 8).expect("enough connections");
    fleet.begin(&plan(8, 1), &parts, NS_PER_S);
    for piece in pieces(stream, cuts) {
        fleet.on_bytes(0, piece, NS_PER_S, NS_PER_S);
        while let Some(event) = fleet.take_event() {
            if let FleetEvent::Load(Event::AgentLost { why, .. }) = &event {
                assert!(!why.contains(char::is_control), "{why:?}");
            }
            seen.push(format!("{event:?}"));
        }
        assert!(fleet.take_output(0).len() < 1 << 20);
    }
    fleet.on_end(0, "its stream ended", 2 * NS_PER_S);
    while let Some(event) = fleet.take_event() {
        seen.push(format!("{event:?}"));
    }
    seen
}

/// What an agent makes of bytes of its coordinator.
fn of_coordinator(stream: &[u8], cuts: &[u8]) -> Vec<String> {
    let mut agent = Agent::new(identity(), 0);
    let mut seen = Vec::new();
    for piece in pieces(stream, cuts) {
        let outcome = agent.on_bytes(piece, NS_PER_S, NS_PER_S);
        while let Some(order) = agent.take_order() {
            seen.push(format!("{order:?}"));
        }
        let _ = agent.take_output();
        if let Err(gone) = outcome {
            seen.push(gone.to_string());
            break;
        }
    }
    seen
}
