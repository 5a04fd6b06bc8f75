//! `plimsoll agent`: the other end of `--client`, on a connection to the coordinator, one of it, or on stdin and stdout.

use crate::agent_side::serve::serve;
use crate::agents::connect::caller::call;
use crate::agents::connect::token::Token;
use crate::agents::identity::identity;
use crate::agents::launcher::ended_until;
use crate::cli::clients::AgentArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use agent::Agent;
use clock::monotonic_ns;
use model::Duration;
use rustix::process::geteuid;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

/// Files that container engines put into their containers.
const CONTAINER_MARKS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];
/// Variable that every container of Kubernetes has.
const KUBERNETES: &str = "KUBERNETES_SERVICE_HOST";

pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, CommandError> {
    match (&args.connect, args.listen) {
        (Some(address), _) => connected(address, args),
        (None, Some(port)) => waited_for(port, args.wait),
        // Who has a stream to it can run any program here.
        (None, None) => {
            let own = identity()?;
            serve(io::stdin(), io::stdout(), |now_ns| Agent::that_serves(own, now_ns))
        }
    }
    .map(|()| Exit::Fine)
}

fn connected(address: &str, args: &AgentArgs) -> Result<(), CommandError> {
    let (token, own) = (Token::of_agent(args.token_file.as_deref())?, identity()?);
    let (from, to) = call(address, &token, &own.build, std::time::Duration::from_nanos(args.wait.ns))?;
    printer::note(&format!("connected to the coordinator at {address}"));
    serve(from, to, |now_ns| Agent::new(own, now_ns))
}

/// Serves the first who connects to a port of the loopback within a time.
fn waited_for(port: u16, wait: Duration) -> Result<(), CommandError> {
    let wrong = |why: String| CommandError::usage(format!("agent on port {port} of 127.0.0.1: {why}"));
    if geteuid().is_root() && !is_container(|mark| Path::new(mark).exists(), std::env::var_os(KUBERNETES).is_some()) {
        return Err(wrong(
            "whoever connects first would use the rights of root, as every user of this machine can; run it in a container or \
             as another user, or use --connect, which asks for a token"
                .to_owned(),
        ));
    }
    let own = identity()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| wrong(error.to_string()))?;
    let socket = accept(&listener, wait).map_err(|error| wrong(error.to_string()))?;
    let socket = socket.ok_or_else(|| wrong(format!("no coordinator came within {wait}")))?;
    // Nobody else is waited for.
    drop(listener);
    let halves = socket.set_nodelay(true).and_then(|()| socket.try_clone());
    serve(halves.map_err(|error| wrong(error.to_string()))?, socket, |now_ns| Agent::new(own, now_ns))
}

/// True if nobody else is expected on the loopback of this process.
fn is_container(exists: impl Fn(&str) -> bool, is_pod: bool) -> bool {
    is_pod || CONTAINER_MARKS.iter().any(|mark| exists(mark))
}

/// The first connection; none within the time.
fn accept(listener: &TcpListener, wait: Duration) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    let until_ns = monotonic_ns().saturating_add(wait.ns);
    let accepted = ended_until(until_ns, || match listener.accept() {
        Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => None,
        accepted => Some(accepted),
    });
    accepted.transpose().map(|accepted| accepted.map(|(socket, _)| socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_known_by_the_mark_of_its_engine_or_by_its_cluster() {
        assert!(!is_container(|_| false, false));
        assert!(is_container(|_| false, true));
        for mark in CONTAINER_MARKS {
            assert!(is_container(|path| path == mark, false), "{mark}");
        }
    }
}
