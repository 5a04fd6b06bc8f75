//! Stream sockets by address, TCP or Unix.

use model::Address;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt};

/// The address as the kernel takes it. Fails when the path of a Unix socket is too long for it.
pub fn kernel(address: &Address) -> Result<SocketAddrAny, Errno> {
    match address {
        Address::Tcp(address) => Ok((*address).into()),
        Address::Unix(path) => SocketAddrUnix::new(path.as_path()).map(Into::into),
    }
}

/// A stream socket for `address`; one for TCP sends without delay.
pub fn stream(address: &SocketAddrAny, flags: SocketFlags) -> Result<OwnedFd, Errno> {
    let family = address.address_family();
    let protocol = if family == AddressFamily::UNIX { None } else { Some(ipproto::TCP) };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags | SocketFlags::CLOEXEC, protocol)?;
    if protocol.is_some() {
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    Ok(socket)
}
