//! Addresses behind the host of a URL, found once, before anything is measured.

use crate::exit::CommandError;
use model::Address;
use std::net::{IpAddr, ToSocketAddrs};

pub(crate) use input::TargetUrl;

/// All addresses of a host, in the order of the system's resolver.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<Address>, CommandError> {
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|error| CommandError::target(format!("cannot find the host {host:?}: {error}; is the name right?")))?;
    Ok(found.map(Address::Tcp).collect())
}

/// True if `address` belongs to this machine. The unspecified one leads to it, whatever its route says.
pub(crate) fn is_local(address: &Address) -> bool {
    let is_own = |ip: IpAddr| ip.is_unspecified() || observe::is_own_address(ip);
    address.is_each_machines_own() || address.tcp().is_some_and(|tcp| is_own(tcp.ip()))
}
