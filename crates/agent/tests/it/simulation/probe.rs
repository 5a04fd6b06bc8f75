//! A probe of the bandwidth between two agents, as messages.

use agent::bandwidth::{ProbeServed, Probed, Received};
use agent::message::{OfAgent, OfCoordinator};
use agent::testing::{identity, plan, probe, whom};
use agent::{Agent, Fleet, FleetEvent, Gone, ObserverEvent, OnLoss, Order, RemoteObserver, Report, frame};
use model::NS_PER_S;

const RECEIVED: Received =
    Received { bytes: 60_000_000, duration_ns: NS_PER_S, late_bytes: 30_000_000, late_ns: NS_PER_S / 2 };

/// Both coordinators and their agents, who have said hello.
fn greeted() -> (Fleet, Agent, RemoteObserver, Agent) {
    let (mut client, mut server) = (Agent::new(identity(), 0), Agent::new(identity(), 0));
    let mut fleet = Fleet::new(["ssh://a".to_owned()], identity(), OnLoss::End);
    let mut observer = RemoteObserver::new("ssh://s".into(), identity());
    fleet.attach(0, 0);
    observer.attach(0);
    fleet.on_bytes(0, &client.take_output(), 0, 0);
    observer.on_bytes(&server.take_output(), 0, 0);
    assert_eq!(fleet.take_event(), Some(FleetEvent::Greeted));
    assert!(matches!(observer.take_event(), Some(ObserverEvent::Greeted(_))));
    (fleet, client, observer, server)
}

fn message(message: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(frame::write(&mut bytes, &serde_json::to_vec(message).expect("a message"), frame::OF_AGENT_MAX));
    bytes
}

#[test]
fn the_server_listens_the_client_connects_and_both_tell_what_they_received() {
    let (mut fleet, mut client, mut observer, mut server) = greeted();
    let (serve, parts) = probe();
    observer.serve_probe(serve.clone());
    server.on_bytes(&observer.take_output(), 0, 0).expect("the protocol");
    assert_eq!(server.take_order(), Some(Order::ServeProbe(Box::new(serve))));
    server.on_report(Report::ServingProbe { port: 40_000 }, 0);
    observer.on_bytes(&server.take_output(), 0, 0);
    assert_eq!(observer.take_event(), Some(ObserverEvent::ServingProbe { port: 40_000 }));

    fleet.probe(parts.clone());
    client.on_bytes(&fleet.take_output(0), 0, 0).expect("the protocol");
    assert_eq!(client.take_order(), Some(Order::Probe(Box::new(parts[0].clone()))));
    let probed = Probed { received: RECEIVED, round_trip_ns: 120_000 };
    client.on_report(Report::Probed(Box::new(probed)), 0);
    fleet.on_bytes(0, &client.take_output(), 0, 0);
    assert_eq!(fleet.take_event(), Some(FleetEvent::Probed { agent: 0, outcome: Ok(probed) }));

    let served = ProbeServed { received: RECEIVED, interface: Some("eth0".into()), mtu_bytes: Some(1500) };
    server.on_report(Report::ProbeServed(Box::new(served.clone())), 0);
    observer.on_bytes(&server.take_output(), 0, 0);
    assert_eq!(observer.take_event(), Some(ObserverEvent::ProbeServed(Ok(served))));
    assert_eq!(RECEIVED.throughput().map(|rate| rate.bit_per_s), Some(480_000_000));

    // Loads go on as ever.
    observer.observe(whom(std::net::SocketAddr::from(([10, 0, 0, 1], 80))), 0);
    server.on_bytes(&observer.take_output(), 0, 0).expect("the protocol");
    assert!(matches!(server.take_order(), Some(Order::Observe(_))));
    fleet.begin(&plan(8, 1), &agent::segment::divide(&[2], 8).expect("enough connections"), 0);
    client.on_bytes(&fleet.take_output(0), 0, 0).expect("the protocol");
    assert!(matches!(client.take_order(), Some(Order::Load { .. })));
}

#[test]
fn an_answer_to_a_probe_that_was_given_up_says_nothing() {
    let (mut fleet, mut client, mut observer, mut server) = greeted();
    let (serve, parts) = probe();
    observer.serve_probe(serve);
    fleet.probe(parts);
    server.on_bytes(&observer.take_output(), 0, 0).expect("the protocol");
    client.on_bytes(&fleet.take_output(0), 0, 0).expect("the protocol");
    // Answers are on their way when the coordinator gives up and goes on.
    server.on_report(Report::ServingProbe { port: 9 }, 0);
    client.on_report(Report::NotProbed { why: "no".into() }, 0);
    let (late, late_too) = (server.take_output(), client.take_output());
    observer.end_probe();
    fleet.end_probe();
    observer.observe(whom(std::net::SocketAddr::from(([10, 0, 0, 1], 80))), 0);
    observer.on_bytes(&late, 0, 0);
    fleet.on_bytes(0, &late_too, 0, 0);
    assert_eq!((observer.take_event(), fleet.take_event()), (None, None));
    // The agent says no more of it either.
    server.on_bytes(&observer.take_output(), 0, 0).expect("the protocol");
    let orders: Vec<_> = std::iter::from_fn(|| server.take_order()).collect();
    assert!(matches!(orders[..], [Order::ServeProbe(_), Order::Done, Order::Observe(_)]), "{orders:?}");
    let _ = server.take_output();
    server.on_report(Report::ProbeServed(Box::default()), 0);
    assert!(server.take_output().is_empty());
}

#[test]
fn an_agent_that_is_lost_or_lies_is_no_figure() {
    let impossible = Received { late_bytes: RECEIVED.bytes + 1, ..RECEIVED };
    let wrong = "it sent figures of a probe that nobody can have measured";
    let (mut fleet, _, mut observer, _) = greeted();
    let (serve, parts) = probe();
    observer.serve_probe(serve.clone());
    fleet.probe(parts.clone());
    let probed = Probed { received: impossible, round_trip_ns: 1 };
    fleet.on_bytes(0, &message(&OfAgent::Probed(Box::new(probed))), 0, 0);
    assert_eq!(fleet.take_event(), Some(FleetEvent::Probed { agent: 0, outcome: Err(wrong.into()) }));
    let served = ProbeServed { received: impossible, ..ProbeServed::default() };
    observer.on_bytes(&message(&OfAgent::ProbeServed(Box::new(served))), 0, 0);
    let Some(ObserverEvent::Failed(error)) = observer.take_event() else { panic!("it lies") };
    assert!(error.to_string().contains(wrong), "{error}");

    let (_, _, mut observer, _) = greeted();
    observer.serve_probe(serve.clone());
    for port in [9, 10] {
        observer.on_bytes(&message(&OfAgent::ServingProbe { port }), 0, 0);
    }
    assert_eq!(observer.take_event(), Some(ObserverEvent::ServingProbe { port: 9 }));
    assert!(matches!(observer.take_event(), Some(ObserverEvent::Failed(_))), "a probe has one port");

    let (mut fleet, _, mut observer, _) = greeted();
    fleet.probe(parts);
    fleet.on_end(0, "its stream ended", 0);
    let outcome = Err("its stream ended".to_owned());
    assert_eq!(fleet.take_event(), Some(FleetEvent::Probed { agent: 0, outcome }));
    // The part of a client from the agent of the server.
    observer.serve_probe(serve);
    let probed = Probed { received: RECEIVED, round_trip_ns: 1 };
    observer.on_bytes(&message(&OfAgent::Probed(Box::new(probed))), 0, 0);
    assert!(matches!(observer.take_event(), Some(ObserverEvent::Failed(_))));
}

#[test]
fn a_probe_without_bounds_is_refused_by_the_agent() {
    let (serve, parts) = probe();
    let refused = |order: OfCoordinator| {
        let mut agent = Agent::new(identity(), 0);
        let bytes = [frame::PREAMBLE, &message(&order)].concat();
        let refused = agent.on_bytes(&bytes, 0, 0).expect_err("it has no bounds");
        assert!(matches!(refused, Gone::Message(_)) && agent.take_order().is_none(), "{refused}");
    };
    for connections in [0, u32::MAX] {
        let (mut serve, mut part) = (serve.clone(), parts[0].clone());
        (serve.connections, part.connections) = (connections, connections);
        refused(OfCoordinator::ServeProbe(Box::new(serve)));
        refused(OfCoordinator::Probe(Box::new(part)));
    }
    refused(OfCoordinator::Probe(Box::new(agent::bandwidth::ProbeMessage { bytes_max: u64::MAX, ..parts[0].clone() })));
}
