//! `plimsoll agent`: the other end of `--client`, on a connection to the coordinator, one of it, or on stdin and stdout; and the
//! manifest of the agents in a cluster.

use crate::agent_side::serve::serve;
use crate::agents::connect::caller::call;
use crate::agents::connect::certificate::{Identity, Side};
use crate::agents::connect::token::Token;
use crate::agents::connect::waiting::wait_for_coordinator;
use crate::agents::identity::identity;
use crate::agents::kubernetes::manifest;
use crate::cli::clients::AgentArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::settings::clients;
use agent::Agent;
use model::{Duration, NS_PER_S};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Time for which an agent tries to reach its coordinator, or waits for it.
const WAIT: Duration = Duration { ns: 30 * NS_PER_S };

pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, CommandError> {
    let wait = args.wait.unwrap_or(WAIT);
    match (&args.manifest, &args.connect, args.listen) {
        (Some(address), ..) => printer::data(&manifest(address, args.wait.unwrap_or(clients::WAIT))?),
        (_, Some(address), _) => connected(address, args, wait),
        (_, _, Some(port)) => waited_for(port, args, wait),
        // Who has a stream to it can run any program here.
        (None, None, None) => {
            let own = identity()?;
            serve(io::stdin(), io::stdout(), |now_ns| Agent::that_serves(own, now_ns))
        }
    }
    .map(|()| Exit::Fine)
}

fn connected(address: &str, args: &AgentArgs, wait: Duration) -> Result<(), CommandError> {
    let (token, own) = (Token::of_agent(args.token_file.as_deref())?, identity()?);
    let (from, to) = call(address, &token, &own.build, std::time::Duration::from_nanos(wait.ns))?;
    printer::note(&format!("connected to the coordinator at {address}"));
    serve(from, to, |now_ns| Agent::new(own, now_ns))
}

/// Serves the coordinator that has the certificate of `--coordinator`, once it connects to a port of the loopback.
fn waited_for(port: u16, args: &AgentArgs, wait: Duration) -> Result<(), CommandError> {
    let wrong = |why: String| CommandError::usage(format!("agent on port {port} of 127.0.0.1: {why}"));
    let text = args.coordinator.as_deref().unwrap_or_default();
    let coordinator = text.parse().map_err(|why: String| CommandError::usage(format!("--coordinator {why}")))?;
    let own = identity()?;
    let certificate = Identity::random(Side::Agent).map_err(wrong)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| wrong(error.to_string()))?;
    // The coordinator reads it in the output of the container, and takes no other program for this agent.
    printer::note(&certificate.fingerprint().announcement());
    let (from, to) = wait_for_coordinator(listener, &certificate, coordinator, wait).map_err(wrong)?;
    serve(from, to, |now_ns| Agent::new(own, now_ns))
}
