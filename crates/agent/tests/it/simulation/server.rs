//! A coordinator and the agent that has a server.

use super::sim::BEGIN_NS;
use agent::limits::SERVE_NS;
use agent::message::{OfAgent, OfCoordinator, PlanMessage};
use agent::segment::divide;
use agent::testing::{identity, plan, start_server};
use agent::{Agent, FleetError, Gone, Order, RemoteServer, Report, ServerEvent, ServerOrder, ServerRuns, frame};
use model::NS_PER_S;

/// Both ends, which have greeted each other.
fn greeted() -> (RemoteServer, Agent) {
    let (mut server, mut agent) =
        (RemoteServer::new("ssh://s".into(), identity()), Agent::that_serves(identity(), BEGIN_NS));
    server.attach(BEGIN_NS);
    server.on_bytes(&agent.take_output(), BEGIN_NS);
    assert!(matches!(server.take_event(), Some(ServerEvent::Greeted(_))));
    (server, agent)
}

/// What the agent is to do after an order.
fn ordered(server: &mut RemoteServer, agent: &mut Agent, order: ServerOrder) -> Option<Order> {
    server.order(order, BEGIN_NS);
    agent.on_bytes(&server.take_output(), BEGIN_NS, BEGIN_NS).expect("it keeps to the protocol");
    agent.take_order()
}

/// What the coordinator makes of what the agent says.
fn told(server: &mut RemoteServer, agent: &mut Agent, report: Report) -> Option<ServerEvent> {
    agent.on_report(report, BEGIN_NS);
    server.on_bytes(&agent.take_output(), BEGIN_NS);
    server.take_event()
}

fn runs() -> ServerRuns {
    ServerRuns { url: "http://192.0.2.1:80/".into(), warnings: vec!["two\nlines".into()], ..ServerRuns::default() }
}

#[test]
fn a_server_is_started_restarted_and_looked_at_by_orders() {
    let (mut server, mut agent) = greeted();
    let start = ServerOrder::Start(Box::new(start_server()));
    assert_eq!(ordered(&mut server, &mut agent, start), Some(Order::StartServer(Box::new(start_server()))));
    for (order, expected) in [
        (None, None),
        (Some(ServerOrder::Restart), Some(Order::RestartServer)),
        (Some(ServerOrder::Check), Some(Order::CheckServer)),
    ] {
        if let Some(order) = order {
            assert_eq!(ordered(&mut server, &mut agent, order), expected);
        }
        let event = told(&mut server, &mut agent, Report::ServerRuns(Box::new(runs())));
        let Some(ServerEvent::Runs(runs)) = event else { panic!("{event:?}") };
        assert_eq!(runs.warnings, ["two"], "a line");
    }
    assert_eq!(ordered(&mut server, &mut agent, ServerOrder::Check), Some(Order::CheckServer));
    let ended = Report::Failed { is_target: true, why: "nginx has ended".into() };
    let error = FleetError::Agent { name: "ssh://s".into(), why: "nginx has ended".into(), is_target: true };
    assert_eq!(told(&mut server, &mut agent, ended), Some(ServerEvent::Failed(error)));
    assert!(server.is_lost());
}

/// One that connects, or is waited for on a port, obeys whoever has a token or the port: that is for load alone.
#[test]
fn an_agent_that_is_not_reached_through_ssh_starts_no_server() {
    let (mut server, mut agent) = greeted();
    let mut other = Agent::new(identity(), BEGIN_NS);
    server.order(ServerOrder::Start(Box::new(start_server())), BEGIN_NS);
    let orders = server.take_output();
    let refused = Err(Gone::Message("an order about a server that it may not start, or has not"));
    assert_eq!(other.on_bytes(&orders, BEGIN_NS, BEGIN_NS), refused);
    assert_eq!(other.take_order(), None);
    agent.on_bytes(&orders, BEGIN_NS, BEGIN_NS).expect("one that may");
    assert_eq!(agent.on_bytes(&orders[frame::PREAMBLE.len()..], BEGIN_NS, BEGIN_NS), refused, "a second");
}

/// Root's agent would open sockets for whoever comes first that only root may open, such as that of a container engine.
#[test]
fn an_agent_that_is_not_reached_through_ssh_loads_no_socket_and_no_link_of_its_machine() {
    let ordered = |mut agent: Agent, address: &str| {
        let mut plan = plan(8, 1);
        plan.target.address = address.parse().expect("an address");
        let segment = divide(&[1], 8).expect("a part")[0].segment;
        let message = OfCoordinator::Plan(Box::new(PlanMessage::new(plan, segment)));
        let mut bytes = frame::PREAMBLE.to_vec();
        assert!(frame::write(&mut bytes, &serde_json::to_vec(&message).expect("JSON"), 1 << 20));
        agent.on_bytes(&bytes, BEGIN_NS, BEGIN_NS).map(|()| agent.take_order().is_some())
    };
    for address in ["unix:/run/docker.sock", "unix:@engine", "169.254.169.254:80", "[fe80::1]:80"] {
        assert!(ordered(Agent::new(identity(), BEGIN_NS), address).is_err(), "{address}");
        assert_eq!(ordered(Agent::that_serves(identity(), BEGIN_NS), address), Ok(true), "{address}");
    }
    for address in ["127.0.0.1:80", "10.0.0.1:80", "[2001:db8::1]:80"] {
        assert_eq!(ordered(Agent::new(identity(), BEGIN_NS), address), Ok(true), "{address}");
    }
}

/// Turns of no length would divide by zero in the load thread, and nobody orders turns of an agent.
#[test]
fn an_agent_takes_no_load_that_takes_turns() {
    let mut plan = plan(8, 1);
    plan.turns = Some(model::Turns { turn_ns: 0, index: 0, of: 2 });
    let segment = divide(&[1], 8).expect("a part")[0].segment;
    let message = OfCoordinator::Plan(Box::new(PlanMessage::new(plan, segment)));
    let mut bytes = frame::PREAMBLE.to_vec();
    assert!(frame::write(&mut bytes, &serde_json::to_vec(&message).expect("JSON"), 1 << 20));
    let mut agent = Agent::new(identity(), BEGIN_NS);
    let refused = Err(Gone::Message("a plan that does not hold together"));
    assert_eq!(agent.on_bytes(&bytes, BEGIN_NS, BEGIN_NS), refused);
    assert_eq!(agent.take_order(), None);
}

#[test]
fn an_answer_that_nobody_has_ordered_loses_the_agent() {
    let (mut server, mut agent) = greeted();
    let _ = ordered(&mut server, &mut agent, ServerOrder::Start(Box::new(start_server())));
    let is_told = told(&mut server, &mut agent, Report::ServerRuns(Box::default()));
    assert!(matches!(is_told, Some(ServerEvent::Runs(_))));
    let again = told(&mut server, &mut agent, Report::ServerRuns(Box::default()));
    let Some(ServerEvent::Failed(FleetError::Lost { why, .. })) = again else { panic!("{again:?}") };
    assert!(why.contains("no place now"), "{why}");
}

#[test]
fn more_names_than_a_server_has_lose_the_agent() {
    let (mut server, mut agent) = greeted();
    let _ = ordered(&mut server, &mut agent, ServerOrder::Start(Box::new(start_server())));
    let long = ServerRuns { url: "x".repeat(5_000), ..ServerRuns::default() };
    let bytes = serde_json::to_vec(&OfAgent::ServerRuns(Box::new(long))).expect("JSON");
    let mut framed = Vec::new();
    assert!(frame::write(&mut framed, &bytes, 1 << 20));
    server.on_bytes(&framed, BEGIN_NS);
    assert!(matches!(server.take_event(), Some(ServerEvent::Failed(FleetError::Lost { .. }))));
}

#[test]
fn a_server_that_never_answers_is_given_up_while_its_agent_is_alive() {
    let (mut server, mut agent) = greeted();
    let _ = ordered(&mut server, &mut agent, ServerOrder::Start(Box::new(start_server())));
    let mut now_ns = BEGIN_NS;
    while server.take_event().is_none() {
        assert!(now_ns < BEGIN_NS + SERVE_NS + NS_PER_S, "it has an end");
        now_ns += NS_PER_S;
        let _ = agent.on_bytes(&server.take_output(), now_ns, now_ns);
        agent.on_time(now_ns).expect("its coordinator is there");
        server.on_bytes(&agent.take_output(), now_ns);
        server.on_time(now_ns);
    }
    assert!(now_ns >= BEGIN_NS + SERVE_NS, "not before");
    assert!(server.is_lost());
}
