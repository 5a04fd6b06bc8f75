//! Bounds of connections for each client address.

use std::net::Ipv4Addr;

use target::TargetConfig;

use super::client::{Client, connect_from, serve};

/// One host took all places.
#[test]
fn one_client_cannot_take_all_places() {
    let server = serve(TargetConfig { max_per_client: 2, max_connections: 50, workers: 2, ..TargetConfig::default() });
    let mut inside: Vec<Client> = (0..2).map(|_| Client::new(&server)).collect();
    for client in &mut inside {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    for _ in 0..10 {
        assert!(!Client::new(&server).finds_a_place(), "it has two already");
    }
    // The addresses of two clients may share a counter, those of eight do not.
    let from = |last| Client::over(connect_from(&server, Ipv4Addr::new(127, 0, 0, last)));
    assert!((2..10).any(|last| from(last).finds_a_place()));
    assert_eq!(inside[0].get("/bytes/1").status, 200, "those inside stay");
    // Who leaves makes room for another of the same client. A hang here is the failure.
    inside.pop();
    while !Client::new(&server).finds_a_place() {}
}
