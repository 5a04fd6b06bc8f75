//! A port of the loopback at which nobody listens.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddr};

/// Keeps the port from others as long as it lives: one that was merely closed may be the next that another test gets.
pub(crate) struct ClosedPort {
    _bound: OwnedFd,
    pub(crate) address: String,
}

impl ClosedPort {
    pub(crate) fn bind() -> Self {
        let bound = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address: SocketAddr = getsockname(&bound).expect("it is bound").try_into().expect("an address");
        Self { _bound: bound, address: address.to_string() }
    }
}
