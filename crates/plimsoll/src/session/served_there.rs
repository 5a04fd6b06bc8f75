//! Server under test that an agent on its machine starts: `--serve` with `--server-host`.

use crate::agents::identity::identity;
use crate::agents::launcher::{START_NS, not_there};
use crate::agents::pump::Pump;
use crate::agents::remote::{command_error, no_thread};
use crate::agents::server_place::ServePlace;
use crate::agents::ssh_launcher::SshLauncher;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::output::progress::Progress;
use crate::settings::status_source::Source;
use crate::settings::target_url::TargetUrl;
use agent::limits::{LOST_NS, SERVE_NS};
use agent::{FleetError, RemoteServer, ServerEvent, ServerOrder, ServerRuns, StartServer};
use model::Redacted;
use stack::Spec;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Time within which the loss of an agent shows after that of its server; ns.
const TOLD_NS: u64 = model::NS_PER_S;

/// A server on another machine. It ends with this value, and its agent with it.
pub(super) struct ServedThere {
    pump: Pump<RemoteServer>,
    name: String,
    address: Ipv4Addr,
    spec: Spec,
    pub(super) url: TargetUrl,
    pub(super) runs: ServerRuns,
    /// Why nothing more comes of the agent.
    failed: Option<FleetError>,
}

impl ServedThere {
    /// Starts the agent, and has it start the server.
    pub(super) fn start(
        spec: &Spec,
        place: &ServePlace,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        let ServePlace { host, ssh, address } = place;
        let (name, own) = (host.to_string(), identity()?);
        progress.say(&format!("starting {} on {name}", spec.label));
        let launcher = Arc::new(SshLauncher::new(vec![host.clone()], ssh.clone())?);
        let pump = Pump::start(launcher, RemoteServer::new(name.clone(), own), |_| ()).map_err(no_thread)?;
        let greeted = |event| matches!(event, ServerEvent::Greeted(_)).then_some(());
        let missing = || CommandError::usage(format!("agent {name}: {}", not_there()));
        wait(&pump, START_NS, Some(stop), greeted)?.ok_or_else(missing)?;
        pump.order(ServerOrder::Start(Box::new(StartServer { server: spec.text.clone(), address: *address })));
        let mut runs = answer(&pump, &name, SERVE_NS, Some(stop))?;
        runs.served.label.clone_from(&spec.label);
        let url = measured(&runs, *address, &name)?;
        let (spec, address, failed) = (spec.clone(), *address, None);
        let this = Self { pump, name, address, spec, url, runs, failed };
        this.warn(progress);
        Ok(this)
    }

    /// Has it end the server and start it again, with its data as they were at first.
    pub(super) fn restart(&mut self, stop: &AtomicBool, progress: &Progress) -> Result<(), CommandError> {
        self.order(ServerOrder::Restart, SERVE_NS, Some(stop), progress)
    }

    /// Fails if it does not run as it should.
    pub(super) fn check(&mut self, progress: &Progress) -> Result<(), CommandError> {
        // Also after ^C: that it was gone before is part of the result.
        self.order(ServerOrder::Check, LOST_NS, None, progress)
    }

    /// Why its agent is there no more, and the server with it: a load that was refused may be told before that.
    pub(super) fn failure(&mut self) -> Option<&FleetError> {
        if self.failed.is_none() {
            let failed = |event| Ok(if let ServerEvent::Failed(error) = event { Some(error) } else { None });
            self.failed = self.pump.wait(TOLD_NS, None, failed).ok().flatten();
        }
        self.failed.as_ref()
    }

    fn order(
        &mut self,
        order: ServerOrder,
        within_ns: u64,
        stop: Option<&AtomicBool>,
        progress: &Progress,
    ) -> Result<(), CommandError> {
        if let Some(error) = &self.failed {
            return Err(gone(command_error(error.clone())));
        }
        self.pump.order(order);
        let mut runs = answer(&self.pump, &self.name, within_ns, stop).map_err(gone)?;
        runs.served.label.clone_from(&self.spec.label);
        // The load goes where it was probed.
        if runs.url != self.runs.url {
            measured(&runs, self.address, &self.name)?;
            return Err(CommandError::target(format!("agent {}: its server has moved to another URL", self.name)));
        }
        self.runs = runs;
        self.warn(progress);
        Ok(())
    }

    fn warn(&self, progress: &Progress) {
        self.runs.warnings.iter().for_each(|text| progress.line(&format!("warning: {}: {text}", self.name)));
    }

    pub(super) const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Status pages that are reached from here.
    pub(super) fn status_pages(&self) -> Vec<Source> {
        let is_there = |url: &TargetUrl| url.host == self.address.to_string();
        let pages = self.runs.status.iter().filter(|text| TargetUrl::parse(text).is_ok_and(|url| is_there(&url)));
        pages.filter_map(|url| Source::of_started(url).ok()).collect()
    }
}

/// The URL that the agent tells. It is of the address that was asked for: no agent chooses who is put under load.
fn measured(runs: &ServerRuns, address: Ipv4Addr, name: &str) -> Result<TargetUrl, CommandError> {
    let url = TargetUrl::parse(&runs.url)?;
    match url.host == address.to_string() {
        true => Ok(url),
        false => Err(CommandError::usage(format!(
            "agent {name}: its server answers at {}, not at {address}, where the load is to go",
            Redacted::url(&runs.url)
        ))),
    }
}

/// Of a server that ran, and ended with its agent at the latest: what is measured is gone.
pub(super) fn gone(error: CommandError) -> CommandError {
    if error.exit == Exit::Interrupted { error } else { CommandError { exit: Exit::Target, ..error } }
}

fn answer(
    pump: &Pump<RemoteServer>,
    name: &str,
    within_ns: u64,
    stop: Option<&AtomicBool>,
) -> Result<ServerRuns, CommandError> {
    let runs = |event| if let ServerEvent::Runs(runs) = event { Some(*runs) } else { None };
    let silent = || CommandError::usage(format!("agent {name}: it said nothing of its server in time"));
    wait(pump, within_ns, stop, runs)?.ok_or_else(silent)
}

/// What `take` makes of the first event that it wants; none within the time.
fn wait<T>(
    pump: &Pump<RemoteServer>,
    within_ns: u64,
    stop: Option<&AtomicBool>,
    take: impl Fn(ServerEvent) -> Option<T>,
) -> Result<Option<T>, CommandError> {
    pump.wait(within_ns, stop, |event| match event {
        ServerEvent::Failed(error) => Err(command_error(error)),
        ServerEvent::Note(text) => {
            printer::note(&text);
            Ok(None)
        }
        event => Ok(take(event)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_at_another_address_than_was_asked_for_is_refused() {
        let of = |url: &str| {
            let runs = ServerRuns { url: url.into(), ..ServerRuns::default() };
            measured(&runs, Ipv4Addr::new(192, 0, 2, 1), "ssh://s").map(|url| url.port).map_err(|error| error.message)
        };
        assert_eq!(of("https://192.0.2.1:8443/x"), Ok(8443));
        for other in ["http://192.0.2.2:80/", "http://victim.example/", "fastcgi+unix:/run/a.sock:/index.php", "x"] {
            let message = of(other).expect_err("no agent chooses who is put under load");
            assert!(message.contains("ssh://s") || other == "x", "{message}");
        }
        let user = of("http://192.0.2.1:80@victim.example/").expect_err("a user in front of another host");
        assert!(!user.contains("panicked"), "{user}");
    }
}
