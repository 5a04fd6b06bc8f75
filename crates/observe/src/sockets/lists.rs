//! Who is connected to whom: listening sockets, connections, and the ends of a Unix socket.

use super::{Asked, End, SocketTable, request};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetResponseHeader, StateFlags};
use netlink_packet_sock_diag::unix::nlas::UnixDiagName;
use netlink_packet_sock_diag::unix::{self, ShowFlags, UnixRequest, UnixResponse};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;

/// One end of a TCP connection on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) inode: u64,
    pub(crate) here: SocketAddr,
    pub(crate) there: SocketAddr,
}

/// The accepted end of a connection over a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnixConnection {
    /// Where it was accepted.
    pub(crate) at: String,
    /// The socket of who connected.
    pub(crate) client: u64,
}

impl SocketTable {
    /// Every socket that listens for TCP, and where.
    pub(crate) fn listening_anywhere(&mut self) -> io::Result<Vec<(u64, SocketAddr)>> {
        let mut found = Vec::new();
        self.each_family(StateFlags::LISTEN, |socket| found.push((u64::from(socket.inode), here(&socket))))?;
        Ok(found)
    }

    /// Both ends of every TCP connection that a process holds, as far as they are here.
    pub(crate) fn connections(&mut self) -> io::Result<Vec<Connection>> {
        let begun = StateFlags::ESTABLISHED | StateFlags::SYN_SENT;
        let ending = StateFlags::FIN_WAIT1 | StateFlags::FIN_WAIT2 | StateFlags::CLOSING;
        let left = StateFlags::CLOSE_WAIT | StateFlags::LAST_ACK;
        let mut found = Vec::new();
        self.each_family(begun | ending | left, |socket| {
            // Those that no process holds any more have no number.
            if socket.inode == 0 {
                return;
            }
            let there = SocketAddr::new(socket.socket_id.destination_address, socket.socket_id.destination_port);
            found.push(Connection { inode: socket.inode.into(), here: here(&socket), there });
        })?;
        Ok(found)
    }

    /// Every Unix socket that listens, and at which path.
    pub(crate) fn listening_by_path(&mut self) -> io::Result<Vec<(u64, String)>> {
        let mut found = Vec::new();
        let asked = ask(unix::StateFlags::LISTEN, 0, ShowFlags::NAME);
        self.each(Asked::all(SockDiagMessage::UnixRequest(asked)), |socket: UnixResponse| {
            found.extend(name(&socket).map(|name| (socket.header.inode.into(), name)));
        })?;
        Ok(found)
    }

    /// The accepted end of every connection over a Unix socket that has a name.
    pub(crate) fn unix_connections(&mut self) -> io::Result<Vec<UnixConnection>> {
        let mut found = Vec::new();
        let asked = ask(unix::StateFlags::ESTABLISHED, 0, ShowFlags::NAME | ShowFlags::PEER);
        self.each(Asked::all(SockDiagMessage::UnixRequest(asked)), |socket: UnixResponse| {
            let client = socket.peer().filter(|peer| *peer != 0);
            found.extend(client.zip(name(&socket)).map(|(client, at)| UnixConnection { at, client: client.into() }));
        })?;
        Ok(found)
    }

    /// Where a Unix socket is bound, and the socket at its other end; none when it is no Unix socket.
    pub(crate) fn unix(&mut self, inode: u64) -> io::Result<Option<(Option<String>, Option<u64>)>> {
        let Ok(number) = u32::try_from(inode) else { return Ok(None) };
        let asked = ask(unix::StateFlags::all(), number, ShowFlags::NAME | ShowFlags::PEER);
        let mut found = None;
        let asked = Asked { is_one: true, ..Asked::all(SockDiagMessage::UnixRequest(asked)) };
        match self.each(asked, |socket: UnixResponse| {
            // A socket that has not been accepted yet has no number.
            found = Some((name(&socket), socket.peer().filter(|peer| *peer != 0).map(u64::from)));
        }) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(|()| found),
        }
    }

    /// Hands over the TCP sockets in `states` of both families.
    fn each_family(&mut self, states: StateFlags, mut take: impl FnMut(InetResponseHeader)) -> io::Result<()> {
        for ipv6 in [false, true] {
            match self.each(request(ipv6, states.clone(), ExtensionFlags::empty(), 0, End::Server), &mut take) {
                // A kernel without IPv6 has none there.
                Err(error) if ipv6 && error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

const fn here(socket: &InetResponseHeader) -> SocketAddr {
    SocketAddr::new(socket.socket_id.source_address, socket.socket_id.source_port)
}

fn ask(state_flags: unix::StateFlags, inode: u32, show_flags: ShowFlags) -> UnixRequest {
    UnixRequest { state_flags, inode, show_flags, cookie: [0xff; 8] }
}

/// The path that a socket is bound to; abstract names begin with `@`, as others print them.
fn name(socket: &UnixResponse) -> Option<String> {
    match socket.name()? {
        UnixDiagName::Pathname(path) => Some(path.to_string_lossy().into_owned()),
        UnixDiagName::Abstract(name) => {
            Some(format!("@{}", String::from_utf8_lossy(name).trim_end_matches('\0').replace('\0', "@")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    /// The number of a socket of this process.
    fn inode(socket: &impl std::os::fd::AsFd) -> u64 {
        rustix::fs::fstat(socket).unwrap().st_ino
    }

    #[test]
    fn both_ends_of_a_connection_over_tcp_are_listed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut table = SocketTable::default();
        assert!(table.listening_anywhere().unwrap().contains(&(inode(&listener), address)));
        let all = table.connections().unwrap();
        let local = client.local_addr().unwrap();
        assert!(all.contains(&Connection { inode: inode(&client), here: local, there: address }), "{all:?}");
        assert!(all.contains(&Connection { inode: inode(&server), here: address, there: local }), "{all:?}");
        assert_eq!(table.unix(inode(&client)).unwrap(), None, "that is no Unix socket");
    }

    #[test]
    fn a_unix_socket_has_its_path_and_its_other_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        let path = path.to_str().unwrap().to_owned();
        let mut table = SocketTable::default();
        assert!(table.listening_by_path().unwrap().contains(&(inode(&listener), path.clone())));
        assert_eq!(table.unix(inode(&client)).unwrap(), Some((None, Some(inode(&server)))));
        assert_eq!(table.unix(inode(&server)).unwrap(), Some((Some(path.clone()), Some(inode(&client)))));
        let expected = UnixConnection { at: path, client: inode(&client) };
        assert!(table.unix_connections().unwrap().contains(&expected));
    }
}
