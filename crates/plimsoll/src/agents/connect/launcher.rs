//! Agents that others start (`--client connect://N`): they come to an address of the coordinator.

use super::certificate;
use super::gathering::Gathering;
use super::token::{TOKEN_VARIABLE, TokenSource};
use crate::agents::identity::identity;
use crate::agents::launcher::{Launcher, START_NS, Stream};
use crate::exit::CommandError;
use clock::monotonic_ns;
use model::{Duration, NS_PER_S, human};
use rustls::ServerConnection;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

/// Begin of the names of its agents.
pub(crate) const SCHEME: &str = "connect://";

/// Where agents come to, and how they prove that they are.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    pub(crate) agents: usize,
    pub(crate) listen: SocketAddr,
    /// Within this time.
    pub(crate) wait: Duration,
    pub(crate) token: TokenSource,
    /// File of the token, if it is in one.
    pub(crate) token_file: Option<PathBuf>,
}

/// Waits for agents.
pub(crate) struct ConnectLauncher {
    gathering: Arc<Gathering>,
    meeting: Meeting,
    prefix: &'static str,
    /// `HOST:PORT` for the command line of an agent.
    address: String,
    until_ns: u64,
}

impl ConnectLauncher {
    /// Listens. Its agents are named by the prefix and a number.
    pub(crate) fn new(meeting: Meeting, prefix: &'static str) -> Result<Self, CommandError> {
        let wrong = |why: &dyn std::fmt::Display| {
            CommandError::usage(format!("cannot listen for agents on {} (--agents-listen): {why}", meeting.listen))
        };
        let token = meeting.token.token()?;
        let config = certificate::coordinator(&token, &identity()?.build).map_err(|why| wrong(&why))?;
        let listener = TcpListener::bind(meeting.listen).map_err(|error| wrong(&error))?;
        let address = listener.local_addr().map_err(|error| wrong(&error))?;
        let begin = Arc::new(move || ServerConnection::new(Arc::clone(&config)).map(Into::into));
        let gathering = Gathering::start(listener, begin, meeting.agents, prefix).map_err(|error| wrong(&error))?;
        let until_ns = monotonic_ns().saturating_add(meeting.wait.ns);
        Ok(Self { gathering, meeting, prefix, address: reached(address), until_ns })
    }

    /// `HOST:PORT` for the command line of an agent.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// True if all agents have connected.
    pub(crate) fn is_complete(&self) -> bool {
        self.gathering.count() >= self.meeting.agents
    }

    /// None come any more, for this reason.
    pub(crate) fn give_up(&self, why: &str) {
        self.gathering.close(why);
    }
}

impl Launcher for ConnectLauncher {
    fn names(&self) -> Vec<String> {
        (1..=self.meeting.agents).map(|number| format!("{}{number}", self.prefix)).collect()
    }

    fn connect(&self, agent: usize) -> Result<Stream, String> {
        let Meeting { agents, wait, .. } = &self.meeting;
        let (n, address) = (human::plural(*agents as u64, "agent"), &self.address);
        let late = |came| {
            format!(
                "it did not connect to {address} within {wait}, {came} of {n} did; is it started, and does it reach this \
                 address? --agents-wait waits longer"
            )
        };
        let (from, to, carrier) = self.gathering.take(agent, self.until_ns, late)?;
        Ok(Stream { from: Box::new(from), to: Box::new(to), carrier })
    }

    fn state(&self) -> String {
        let wanted = human::plural(self.meeting.agents as u64, "agent");
        let left_s = self.until_ns.saturating_sub(monotonic_ns()) / NS_PER_S;
        format!("waiting for {wanted}, {} connected, {left_s} s left", self.gathering.count())
    }

    fn instructions(&self) -> Option<String> {
        let Meeting { agents, wait, token_file, .. } = &self.meeting;
        let (agents, address) = (human::plural(*agents as u64, "agent"), &self.address);
        let (condition, option) = match token_file {
            Some(file) => {
                let file = file.display().to_string();
                let quoted = shlex::try_quote(&file).map_or_else(|_| file.clone(), |quoted| quoted.into_owned());
                (format!("with a copy of {file}"), format!(" --token-file {quoted}"))
            }
            None => (format!("with {TOKEN_VARIABLE} set as it is here"), String::new()),
        };
        Some(format!(
            "waiting {wait} for {agents}; start each with this command, {condition}:\n  plimsoll agent --connect \
             {address}{option}"
        ))
    }

    fn take_notes(&self) -> Vec<String> {
        self.gathering.take_notes()
    }

    fn timeout_ns(&self) -> u64 {
        self.meeting.wait.ns.saturating_add(START_NS)
    }

    fn close(&self) {
        self.give_up("nobody waits for it any more");
    }
}

impl Drop for ConnectLauncher {
    fn drop(&mut self) {
        self.close();
    }
}

/// The address as an agent on another machine writes it.
fn reached(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        return format!("{node}:{}", address.port());
    }
    address.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::token::Token;
    use super::*;

    #[test]
    fn the_command_names_an_address_and_no_token() {
        let token = Token::random().expect("a token");
        let listen = "127.0.0.1:0".parse().expect("an address");
        let (wait, known) = (Duration { ns: 5 * NS_PER_S }, TokenSource::Known(token.clone()));
        let meeting = Meeting { agents: 2, listen, wait, token: known, token_file: None };
        let launcher = ConnectLauncher::new(meeting, SCHEME).expect("it listens");
        let text = launcher.instructions().expect("a command");
        assert!(text.contains("waiting 5s for 2 agents") && text.contains(TOKEN_VARIABLE), "{text}");
        assert!(text.ends_with(&format!("plimsoll agent --connect {}", launcher.address())), "{text}");
        assert!(!text.contains(token.secret()), "{text}");
        assert_eq!(launcher.names(), ["connect://1", "connect://2"]);
        launcher.close();
        assert_eq!(launcher.connect(0).err().as_deref(), Some("nobody waits for it any more"));
        assert!(!reached("0.0.0.0:7777".parse().expect("an address")).contains("0.0.0.0"));
    }
}
