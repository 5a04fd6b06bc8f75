//! Where a target listens: a TCP port, or a Unix socket whose file it makes and takes away again.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use model::Address;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};

use net::address;

/// A socket that accepts.
pub(super) struct Listener {
    pub(super) socket: OwnedFd,
    /// With the port that was taken.
    pub(super) address: Address,
    /// Of a Unix socket.
    pub(super) file: Option<SocketFile>,
}

/// The file of a Unix socket. Removed with this value, unless another has taken its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            // What cannot be removed stays, and is replaced by the next who listens there.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// True if other machines may reach what listens there.
#[must_use]
pub fn is_beyond_loopback(address: &Address) -> bool {
    address.tcp().is_some_and(|address| !address.ip().to_canonical().is_loopback())
}

/// Listens on `address`. The file of a Unix socket that nobody listens on any more is replaced.
pub(super) fn listen(address: &Address, backlog: u32) -> io::Result<Listener> {
    let listener = match address {
        Address::Tcp(address) => {
            let listener = TcpListener::bind(address)?;
            let address = Address::Tcp(listener.local_addr()?);
            let socket = OwnedFd::from(listener);
            // Accepted connections inherit this.
            sockopt::set_tcp_nodelay(&socket, true)?;
            Listener { socket, address, file: None }
        }
        Address::Unix(path) => {
            address::kernel(address)
                .map_err(|_| io::Error::other("the path of a Unix socket has at most 108 bytes"))?;
            let socket = match bind(address) {
                Err(Errno::ADDRINUSE) => {
                    remove_stale(path)?;
                    bind(address)
                }
                outcome => outcome,
            }?;
            let file = Some(SocketFile { path: path.clone(), identity: identity(path)? });
            Listener { socket, address: address.clone(), file }
        }
    };
    rustix::net::listen(&listener.socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    rustix::io::ioctl_fionbio(&listener.socket, true)?;
    Ok(listener)
}

fn bind(address: &Address) -> Result<OwnedFd, Errno> {
    let address = address::kernel(address)?;
    let socket = address::stream(&address, SocketFlags::empty())?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// Removes the file of a Unix socket that nobody listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let taken = |why| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return taken("a file that is no socket is there");
    }
    let address = address::kernel(&Address::Unix(path.into()))?;
    match rustix::net::connect(address::stream(&address, SocketFlags::NONBLOCK)?, &address) {
        Err(Errno::CONNREFUSED) => {}
        // A full queue is a server's too.
        Ok(()) | Err(Errno::AGAIN) => return taken("another server listens there"),
        Err(error) => return Err(error.into()),
    }
    fs::remove_file(path)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::is_beyond_loopback;

    #[test]
    fn wildcards_and_other_addresses_are_beyond_loopback() {
        for (address, beyond) in [
            ("127.0.0.1:80", false),
            ("127.9.9.9:0", false),
            ("[::1]:80", false),
            ("[::ffff:127.0.0.1]:80", false),
            ("unix:/run/target.sock", false),
            ("0.0.0.0:80", true),
            ("[::]:80", true),
            ("192.0.2.1:80", true),
            ("[::ffff:192.0.2.1]:80", true),
        ] {
            assert_eq!(is_beyond_loopback(&address.parse().expect("an address")), beyond, "{address}");
        }
    }
}
