//! Stream sockets by address, TCP or Unix.

use model::Address;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, ipproto, sockopt};
use std::os::unix::ffi::OsStrExt;

/// The address as the kernel takes it. Fails when the path of a Unix socket is too long for it. One that begins with `@` is no
/// path, but a name in the abstract namespace, as `ss` and `/proc/net/unix` write it; a file of such a name is `./@name`.
pub fn kernel(address: &Address) -> Result<SocketAddrAny, Errno> {
    match address {
        Address::Tcp(address) => Ok((*address).into()),
        Address::Unix(path) => match path.as_os_str().as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddrUnix::new_abstract_name(name).map(Into::into),
            None => SocketAddrUnix::new(path.as_path()).map(Into::into),
        },
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, connect, listen};

    /// "There is no such socket" was said of one that was there: a file of its name was looked for.
    #[test]
    fn a_name_with_an_at_sign_is_in_the_abstract_namespace() {
        let name = format!("@plimsoll-test-{}", std::process::id());
        let address = kernel(&Address::Unix(name.into())).expect("a short name");
        let server = stream(&address, SocketFlags::empty()).expect("a socket");
        bind(&server, &address).expect("nobody else has the name");
        listen(&server, 1).expect("it listens");
        let client = stream(&address, SocketFlags::empty()).expect("a socket");
        assert_eq!(connect(&client, &address), Ok(()));
        let path = kernel(&Address::Unix("./@plimsoll-no-such-file".into())).expect("a short path");
        assert_eq!(connect(stream(&path, SocketFlags::empty()).expect("a socket"), &path), Err(Errno::NOENT));
        assert!(kernel(&Address::Unix(format!("@{}", "x".repeat(108)).into())).is_err());
    }
}
