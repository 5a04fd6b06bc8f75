//! Another machine on which the server runs, or is started.

use crate::agents::host::Host;
use crate::agents::ssh::Ssh;
use agent::OnLoss;
use std::net::Ipv4Addr;

/// Where servers are started that are measured.
#[derive(Clone, Debug)]
pub(crate) struct ServePlace {
    pub(crate) host: Host,
    pub(crate) ssh: Ssh,
    /// Address of that machine at which they listen.
    pub(crate) address: Ipv4Addr,
}

/// Where the server runs, and who it is there.
#[derive(Clone, Debug)]
pub(crate) struct ServerHostOptions {
    pub(crate) host: Host,
    pub(crate) ssh: Ssh,
    pub(crate) on_loss: OnLoss,
    /// `--server` and `--observe`, as they were typed: they name processes of that machine.
    pub(crate) server: Option<String>,
    pub(crate) observe: Vec<String>,
    /// Where servers are started that are measured; none: they run already.
    pub(crate) place: Option<ServePlace>,
    /// True if the bandwidth to that machine is probed.
    pub(crate) is_probed: bool,
}
