//! Where the load comes from, and where the server is observed: this machine, or others.

use crate::agents::host::Host;
use crate::agents::remote::{AGREE_NS, RemoteOptions, too_few};
use crate::agents::ssh::Ssh;
use crate::cli::clients::{ClientArgs, LossArg};
use crate::cli::observe::ObserverArgs;
use crate::exit::CommandError;
use crate::session::server_host::ServerHostOptions;
use crate::settings::connect_override::Detour;
use crate::settings::draft::Draft;
use crate::settings::selectors::Selectors;
use agent::OnLoss;
use model::Warmup;

/// Other machines that take part in a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Machines {
    /// Those that generate the load; none: this one.
    pub(crate) clients: Option<RemoteOptions>,
    /// The one where the server is observed; none: this one.
    pub(crate) server: Option<ServerHostOptions>,
}

impl Machines {
    /// This one alone.
    pub(crate) const HERE: Self = Self { clients: None, server: None };

    /// Those of the flags. The smallest load has so many connections, by a flag.
    pub(crate) fn new(
        args: &ClientArgs,
        observer: &ObserverArgs,
        warmup: Warmup,
        smallest: (&str, u32),
    ) -> Result<Self, CommandError> {
        Ok(Self { clients: remote(args, warmup, smallest)?, server: server_host(args, observer)? })
    }
}

/// The machines of `--client`; none without it. The smallest load has so many connections, by a flag.
fn remote(
    args: &ClientArgs,
    warmup: Warmup,
    (flag, connections): (&str, u32),
) -> Result<Option<RemoteOptions>, CommandError> {
    if args.client.is_empty() {
        return Ok(None);
    }
    if warmup == Warmup::Auto {
        return Err(CommandError::usage(
            "--warmup auto is for one machine: several would not agree when it ends; write a time",
        ));
    }
    let hosts = Host::list(&args.client)?;
    if (connections as usize) < hosts.len() {
        return Err(too_few(flag, connections, hosts.len()));
    }
    Ok(Some(RemoteOptions { hosts, ssh: Ssh::new(args.ssh.as_deref())?, on_loss: on_loss(args) }))
}

/// The machine of `--server-host`; none without it.
fn server_host(args: &ClientArgs, observer: &ObserverArgs) -> Result<Option<ServerHostOptions>, CommandError> {
    let Some(text) = &args.server_host else { return Ok(None) };
    Ok(Some(ServerHostOptions {
        host: Host::parse("--server-host", text)?,
        ssh: Ssh::new(args.ssh.as_deref())?,
        on_loss: on_loss(args),
        server: observer.server.clone(),
        observe: observer.observe.clone(),
        is_probed: args.probe_bandwidth,
    }))
}

/// What is looked at from here.
pub(crate) fn selectors(args: &ClientArgs, observer: &ObserverArgs) -> Result<Selectors, CommandError> {
    if args.server_host.is_some() { Selectors::of_pages(observer) } else { Selectors::read(observer) }
}

/// The address of `--server-ip` in the place of the URL's host.
pub(crate) fn direct(args: &ClientArgs, mut draft: Draft) -> Draft {
    draft.detour = args.server_ip.map(Detour::ServerIp).or(draft.detour);
    draft
}

const fn on_loss(args: &ClientArgs) -> OnLoss {
    match args.on_agent_loss {
        LossArg::End => OnLoss::End,
        LossArg::Continue => OnLoss::Continue,
    }
}

/// About how long a load takes before it starts, beyond what one of this machine does; ns.
pub(crate) const fn agree_ns(args: &ClientArgs) -> u64 {
    if args.client.is_empty() { 0 } else { AGREE_NS }
}
