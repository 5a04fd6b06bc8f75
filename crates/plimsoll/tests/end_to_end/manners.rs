//! What servers do on a raw socket, well or badly: all of it is understood, or named by rule and remedy.

use lab::manners::{Clients, MANNERS, Server};

#[test]
fn what_servers_do_is_understood_or_named() {
    let clients = Clients::new(env!("CARGO_BIN_EXE_plimsoll").as_ref()).expect("a folder");
    let mut wrong = Vec::new();
    for manner in &MANNERS {
        let server = Server::start(manner).expect("a free port");
        let made = clients.plimsoll(manner, &server).unwrap_or_else(|error| panic!("{}: {error:#}", manner.name));
        if !made.is_expected {
            wrong.push(format!("{} {:?}: {}", manner.name, manner.outcome, made.words));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
