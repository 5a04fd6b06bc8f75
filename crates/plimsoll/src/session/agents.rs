//! Agents of a session: those that generate its load, and the one that observes its server. Sessions of one measurement share
//! them, so that all its loads come from the same agents.

use crate::agents::remote::Agents;
use crate::agents::server_place::{ServePlace, ServerHostOptions};
use crate::agents::source::RemoteOptions;
use crate::exit::{CommandError, Exit};
use crate::output::progress::Progress;
use crate::session::bandwidth;
use crate::session::server_host::{ObservedThere, ServerHost};
use crate::settings::clients::Machines;
use model::{Address, Bandwidth, SessionEvent};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where a session has its agents from.
#[derive(Clone, Copy)]
pub(crate) enum AgentsFrom<'a> {
    /// It has none: this machine generates the load and observes the server.
    None,
    /// They are started on these machines.
    Start(&'a Machines),
    /// They are those of another session.
    Share(&'a SessionAgents),
}

impl AgentsFrom<'_> {
    /// Where servers are started that are measured; none: on this machine.
    pub(super) fn serve_place(&self) -> Option<&ServePlace> {
        match self {
            Self::None => None,
            Self::Start(machines) => machines.server.as_ref()?.place.as_ref(),
            Self::Share(others) => others.place.as_ref(),
        }
    }

    /// A target that does not answer here, with the reason why it could not be that of other machines either.
    pub(super) fn with_loopback(&self, error: CommandError, host: &str) -> CommandError {
        let is_loopback = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let has_none = match self {
            Self::None => true,
            Self::Start(Machines { clients, server }) => clients.is_none() && server.is_none(),
            Self::Share(others) => others.load.is_none() && others.server.is_none(),
        };
        if has_none || !is_loopback || error.exit != Exit::Target {
            return error;
        }
        let message = format!(
            "{host} is each machine's own, but --client and --server-host are other machines: write an address of the server that \
             they reach; on this machine: {}",
            error.message
        );
        CommandError { message, ..error }
    }

    /// True if the load comes from other machines, and no agent observes the server.
    pub(super) fn are_for_load_alone(&self) -> bool {
        match self {
            Self::None => false,
            Self::Start(Machines { clients, server }) => clients.is_some() && server.is_none(),
            Self::Share(others) => others.load.is_some() && others.server.is_none(),
        }
    }
}

/// The agents; they end with the last session that has them.
#[derive(Clone, Default)]
pub(crate) struct SessionAgents {
    /// Those that generate the load, if this machine does not.
    pub(super) load: Option<Arc<Agents>>,
    /// The one on the server's machine, if the server is not observed from here.
    pub(super) server: Option<ObservedThere>,
    /// Where servers are started that are measured; none: on this machine.
    place: Option<ServePlace>,
    /// What was probed between both before the first load.
    pub(super) bandwidth: Option<Bandwidth>,
}

impl SessionAgents {
    /// Agents for a session whose target is at `address`, with these processes if it was started on another machine.
    pub(super) fn new(
        from: AgentsFrom<'_>,
        address: &Address,
        parts: &[(String, i32)],
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        match from {
            AgentsFrom::None => Ok(Self::default()),
            AgentsFrom::Start(Machines { clients, server }) => {
                let load = clients.as_ref().map(|remote| start_agents(remote, address, stop, progress)).transpose()?;
                let is_probed = server.as_ref().is_some_and(|host| host.is_probed);
                let place = server.as_ref().and_then(|host| host.place.clone());
                let there = server.as_ref().map(|host| observe_there(host, address, parts, stop, progress));
                let server = there.transpose()?;
                let bandwidth = match (&server, address.tcp()) {
                    (Some(server), Some(address)) if is_probed => {
                        Some(bandwidth::probe(load.as_ref(), server.host(), address.ip(), stop, progress)?)
                    }
                    _ => None,
                };
                Ok(Self { load: load.map(Arc::new), server, place, bandwidth })
            }
            AgentsFrom::Share(others) => others.for_another(address, parts, stop),
        }
    }

    /// The same agents for a session with another target.
    fn for_another(&self, address: &Address, parts: &[(String, i32)], stop: &AtomicBool) -> Result<Self, CommandError> {
        if let Some(agents) = &self.load {
            agents.check_target(address)?;
        }
        let server = self.server.as_ref().map(|server| server.another(address, parts, stop)).transpose()?;
        Ok(Self { server, ..self.clone() })
    }

    /// A server that was started on another machine has these processes now.
    pub(super) fn restarted(&mut self, parts: &[(String, i32)]) {
        self.server.iter_mut().for_each(|server| server.restarted(parts));
    }

    /// The agent on the server's machine.
    pub(super) fn server_host(&self) -> Option<&ServerHost> {
        self.server.as_ref().map(ObservedThere::host)
    }

    /// Fails if an agent was lost: the last load is not the one that was planned, and there will be no other.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        self.load.as_ref().map_or(Ok(()), |agents| agents.check())?;
        self.server_host().map_or(Ok(()), ServerHost::check)
    }

    /// The loss of an agent, if that has ended the measurement.
    pub(crate) fn lost(&self) -> Option<SessionEvent> {
        let load = self.load.as_ref().and_then(|agents| agents.lost());
        let lost = load.or_else(|| self.server_host().and_then(ServerHost::lost));
        lost.cloned().map(SessionEvent::AgentLost)
    }
}

/// Starts the agents, which have to reach the target.
fn start_agents(
    remote: &RemoteOptions,
    address: &Address,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<Agents, CommandError> {
    let launcher = remote.source.launcher()?;
    if let Some(text) = launcher.instructions() {
        progress.needed(&text);
    }
    let agents = Agents::start(launcher, remote.on_loss, stop, progress)?;
    agents.check_target(address)?;
    agents.warnings().iter().for_each(|warning| progress.line(&format!("warning: {warning}")));
    Ok(agents)
}

/// Starts the agent on the server's machine, which finds the server.
fn observe_there(
    options: &ServerHostOptions,
    address: &Address,
    parts: &[(String, i32)],
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<ObservedThere, CommandError> {
    progress.say("starting the agent on the server's machine");
    let there = ObservedThere::start(options, address, parts, stop)?;
    if there.host().is_this_machine() {
        progress.line(
            "warning: the agent of --server-host runs on this machine, which is observed without it too; without it disturbed \
             time is set aside",
        );
    }
    Ok(there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::host::Host;
    use crate::agents::source::Source;
    use crate::agents::ssh::Ssh;
    use agent::OnLoss;

    /// `connection refused` was told of an address that no other machine could have reached.
    #[test]
    fn a_loopback_address_that_nobody_answers_is_told_to_be_no_address_for_agents() {
        let others = SessionAgents::default();
        let refused = || CommandError::target("connection refused");
        let told = |from: AgentsFrom<'_>, host: &str| from.with_loopback(refused(), host).message;
        assert_eq!(told(AgentsFrom::None, "127.0.0.1"), "connection refused");
        assert_eq!(told(AgentsFrom::Share(&others), "127.0.0.1"), "connection refused", "there are none");
        let host = Host::parse("--client", "ssh://a").expect("a host");
        let source = Source::Ssh(vec![host], Ssh::new(Some("ssh")).expect("a command"));
        let machines = Machines { clients: Some(RemoteOptions { source, on_loss: OnLoss::End }), server: None };
        for own in ["127.0.0.1", "localhost", "::1"] {
            let message = told(AgentsFrom::Start(&machines), own);
            assert!(message.starts_with(&format!("{own} is each machine's own")), "{message}");
            assert!(message.ends_with("on this machine: connection refused"), "{message}");
        }
        assert_eq!(told(AgentsFrom::Start(&machines), "192.0.2.1"), "connection refused");
    }
}
