//! Who listens at an address, on a port or at a path: the sockets, and the processes that hold them.

use crate::listening::{Listening, Unfound};
use crate::sockets::SocketTable;
use model::{Address, Sockets};
use netlink_packet_sock_diag::inet::InetResponse;
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::unix::UnixResponse;
use procfs::process::{FDTarget, Process};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Holds the sockets of services it will start; its other children are no part of the server.
const SOCKET_KEEPER: &str = "systemd";

/// Looks for what listens somewhere.
#[derive(Debug)]
pub(crate) struct Listener {
    place: Place,
    is_here: bool,
}

#[derive(Debug)]
enum Place {
    At(Address),
    /// On whatever address.
    Port(u16),
}

impl Listener {
    pub(crate) const fn new(address: Address, is_here: bool) -> Self {
        Self { place: Place::At(address), is_here }
    }

    /// Of all addresses of this machine.
    pub(crate) const fn on_port(port: u16) -> Self {
        Self { place: Place::Port(port), is_here: true }
    }

    /// True if it can be on this machine.
    pub(crate) const fn is_here(&self) -> bool {
        self.is_here
    }

    /// Where packets to it go; none of a port on whatever address, or a Unix socket.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        match &self.place {
            Place::At(address) => Some(address.tcp()?.ip()),
            Place::Port(_) => None,
        }
    }

    /// Its sockets by state; of the server's ends only when there is a listener.
    pub(crate) fn sockets(&self, table: &mut SocketTable, listening: Option<&Listening>) -> Result<Sockets, Unfound> {
        match &self.place {
            Place::At(address) => table.count(address, listening),
            Place::Port(port) => table.count_on_port(*port, listening),
        }
    }

    /// The sockets that listen now.
    pub(crate) fn sample(&self, table: &mut SocketTable) -> Result<Listening, Unfound> {
        if !self.is_here {
            return Err(Unfound::Elsewhere);
        }
        let found = match &self.place {
            Place::At(Address::Tcp(address)) => select(*address, &table.listening(address.port())?),
            Place::At(Address::Unix(path)) => gather(path, &table.listening_at(path)?),
            Place::Port(port) => {
                let all = table.listening(*port)?;
                let first = all.first().map(|first| (first.header.socket_id.source_address, *port).into());
                first.and_then(|address| join(address, &all.iter().collect::<Vec<_>>()))
            }
        };
        found.ok_or_else(|| match &self.place {
            Place::At(address) => Unfound::NoListener(address.clone()),
            Place::Port(port) => Unfound::NoPort(*port),
        })
    }
}

/// Of the sockets that listen on a port those that get the connections to `address`: the most specific ones.
fn select(address: SocketAddr, sockets: &[InetResponse]) -> Option<Listening> {
    let wanted = address.ip().to_canonical();
    let rank = |socket: &InetResponse| match socket.header.socket_id.source_address {
        ip if ip.to_canonical() == wanted => Some(0),
        ip if ip.is_unspecified() && ip.is_ipv4() == wanted.is_ipv4() => Some(1),
        IpAddr::V6(ip) if ip.is_unspecified() => Some(2),
        _ => None,
    };
    let best = sockets.iter().filter_map(rank).min()?;
    join(address, &sockets.iter().filter(|socket| rank(socket) == Some(best)).collect::<Vec<_>>())
}

/// All of these sockets together.
fn join(address: SocketAddr, chosen: &[&InetResponse]) -> Option<Listening> {
    let first = chosen.first()?;
    Some(Listening {
        address: address.into(),
        inodes: chosen.iter().map(|socket| u64::from(socket.header.inode)).collect(),
        dropped: chosen.iter().map(|socket| Some((u64::from(socket.header.inode), dropped(socket)?))).collect(),
        uid: first.header.uid,
        is_ipv6: first.header.socket_id.source_address.is_ipv6(),
        accept_queue: chosen.iter().map(|socket| u64::from(socket.header.recv_queue)).sum(),
        accept_backlog: chosen.iter().map(|socket| u64::from(socket.header.send_queue)).sum(),
        accept_fullest: chosen.iter().map(|socket| fullness(socket)).fold(0.0, f64::max),
    })
}

/// Connections waiting on a listening socket, in parts of those that may: the kernel puts both where other sockets have
/// the bytes of their queues.
fn fullness(socket: &InetResponse) -> f64 {
    f64::from(socket.header.recv_queue) / f64::from(socket.header.send_queue.max(1))
}

/// Connection attempts that a listening socket has dropped; none when the kernel does not tell.
fn dropped(socket: &InetResponse) -> Option<u64> {
    socket.nlas.iter().find_map(|told| match told {
        Nla::MemInfo(memory) => Some(u64::from(memory.drops)),
        _ => None,
    })
}

/// The sockets that listen at a path, of which there is one in practice.
fn gather(path: &Path, sockets: &[UnixResponse]) -> Option<Listening> {
    if sockets.is_empty() {
        return None;
    }
    let queue = |socket: &UnixResponse| {
        let waiting = socket.number_of_pending_connection().map(u64::from);
        waiting.zip(socket.max_number_of_pending_connection().map(u64::from)).unwrap_or_default()
    };
    let queues: Vec<(u64, u64)> = sockets.iter().map(queue).collect();
    Some(Listening {
        address: Address::Unix(path.into()),
        inodes: sockets.iter().map(|socket| u64::from(socket.header.inode)).collect(),
        dropped: None,
        uid: owner(path)?,
        is_ipv6: false,
        accept_queue: queues.iter().map(|(waiting, _)| waiting).sum(),
        accept_backlog: queues.iter().map(|(_, backlog)| backlog).sum(),
        accept_fullest: queues.iter().map(|(n, of)| *n as f64 / (*of).max(1) as f64).fold(0.0, f64::max),
    })
}

/// Who bound a Unix socket: whoever made its file. An abstract name has none, and is taken to be of our own user: its processes
/// are looked for among all that can be seen.
fn owner(path: &Path) -> Option<u32> {
    let is_abstract = path.to_str().is_some_and(|path| path.starts_with('@'));
    if is_abstract { Some(rustix::process::geteuid().as_raw()) } else { Some(rustix::fs::stat(path).ok()?.st_uid) }
}

/// True if a process holds one of the sockets; none when that is not shown.
pub(crate) fn holds(pid: i32, inodes: &BTreeSet<u64>) -> Option<bool> {
    let process = Process::new(pid).ok()?;
    let mut fds = process.fd().ok()?.flatten();
    let held = fds.any(|fd| matches!(fd.target, FDTarget::Socket(inode) if inodes.contains(&inode)));
    Some(held && process.stat().is_ok_and(|stat| stat.comm != SOCKET_KEEPER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_sock_diag::inet::{InetResponseHeader, SocketId};

    fn socket(ip: &str, inode: u32) -> InetResponse {
        let source_address: IpAddr = ip.parse().unwrap();
        let id = if source_address.is_ipv4() { SocketId::new_v4() } else { SocketId::new_v6() };
        let socket_id = SocketId { source_address, source_port: 80, ..id };
        let header = InetResponseHeader {
            family: 2,
            state: 10,
            timer: None,
            socket_id,
            recv_queue: 3,
            send_queue: 511,
            uid: 33,
            inode,
        };
        InetResponse { header, nlas: Default::default() }
    }

    #[track_caller]
    fn chosen(address: &str, sockets: &[InetResponse]) -> Vec<u64> {
        select(address.parse().unwrap(), sockets).map_or_else(Vec::new, |found| found.inodes.into_iter().collect())
    }

    #[test]
    fn the_most_specific_listeners_get_the_connections() {
        let all = [
            socket("127.0.0.1", 1),
            socket("0.0.0.0", 2),
            socket("0.0.0.0", 3),
            socket("::", 4),
            socket("::ffff:10.0.0.1", 5),
        ];
        assert_eq!(chosen("127.0.0.1:80", &all), [1]);
        assert_eq!(chosen("127.0.0.2:80", &all), [2, 3]);
        assert_eq!(chosen("10.0.0.1:80", &all), [5]);
        assert_eq!(chosen("127.0.0.1:80", &all[3..]), [4]);
        assert_eq!(chosen("[::1]:80", &all), [4]);
        assert_eq!(chosen("[::1]:80", &all[..3]), [0; 0]);
        let found = select("127.0.0.2:80".parse().unwrap(), &all).unwrap();
        assert_eq!((found.uid, found.accept_queue, found.is_ipv6), (33, 6, false));
        assert_eq!((found.accept_backlog, found.accept_fullest), (2 * 511, 3.0 / 511.0));
        assert!(select("127.0.0.1:80".parse().unwrap(), &all[3..]).unwrap().is_ipv6);
    }
}
