//! A port of the loopback on which nobody listens, for tests.

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// The port, and the socket that is bound to it: as long as that is open, no other test or program can listen there.
pub(crate) fn silent_port() -> (OwnedFd, u16) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = getsockname(&socket).expect("its address");
    let port = SocketAddrV4::try_from(address).expect("of IPv4").port();
    (socket, port)
}
