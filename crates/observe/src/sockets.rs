//! Sockets as the kernel lists them (`sock_diag`), filtered by port or state in the kernel: many times cheaper than
//! `/proc/net/tcp`, which lists every socket of the machine as text.

mod lists;

use crate::listening::{Listening, Unfound};
use crate::netlink::{Line, Question};
use model::{Address, Sockets};
use netlink_packet_core::Parseable;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, InetResponseHeader, SocketId, StateFlags,
};
use netlink_packet_sock_diag::unix::{self, ShowFlags, UnixRequest, UnixResponse};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::net::netlink;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

pub(crate) use lists::{Connection, UnixConnection};

/// Sockets that may be listed each second. Each costs the kernel almost a microsecond, so that more of them are looked
/// at only every few seconds, and sampling stays below half a percent of a CPU.
const EACH_SECOND_MAX: u64 = 1_000;
/// State names by the kernel's number.
const STATES: [&str; 13] = [
    "other",
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "syn_recv",
];

/// The kernel's list of sockets.
#[derive(Debug)]
pub(crate) struct SocketTable {
    line: Line,
    /// Looks to leave out, after one at very many sockets.
    resting: u64,
}

impl Default for SocketTable {
    fn default() -> Self {
        Self { line: Line::new(Some(netlink::SOCK_DIAG)), resting: 0 }
    }
}

/// The end of a connection that has the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Server,
    Client,
    Both,
}

impl SocketTable {
    /// Sockets of the port of `address` by state; of the server's ends only when there is a listener.
    pub(crate) fn count(&mut self, address: &Address, listening: Option<&Listening>) -> Result<Sockets, Unfound> {
        let address = address.tcp().ok_or(Unfound::Stateless)?;
        if self.resting > 0 {
            self.resting -= 1;
            return Err(Unfound::Resting);
        }
        let (server, client) = match listening {
            // The kernel walks its whole table for each question, which is most of the cost of a sample.
            Some(listening) if listening.is_ipv6 == address.is_ipv6() => {
                let [server, client] = self.states(address, End::Both, address.is_ipv6())?;
                (Some(server), client)
            }
            Some(listening) => {
                let [server, _] = self.states(address, End::Server, listening.is_ipv6)?;
                let [_, client] = self.states(address, End::Client, address.is_ipv6())?;
                (Some(server), client)
            }
            None => {
                let [_, client] = self.states(address, End::Client, address.is_ipv6())?;
                (None, client)
            }
        };
        Ok(self.told(server, client, listening))
    }

    /// The same of a port on whatever address, IPv4 and IPv6.
    pub(crate) fn count_on_port(&mut self, port: u16, listening: Option<&Listening>) -> Result<Sockets, Unfound> {
        if self.resting > 0 {
            self.resting -= 1;
            return Err(Unfound::Resting);
        }
        let (mut server, mut client) = (BTreeMap::new(), BTreeMap::new());
        for ipv6 in [false, true] {
            let any = SocketAddr::from(([0, 0, 0, 0], port));
            let [servers, clients] = match self.states(any, End::Both, ipv6) {
                // A kernel without IPv6 has no sockets there.
                Err(Unfound::Kernel(_)) if ipv6 => continue,
                other => other?,
            };
            for (sum, more) in [(&mut server, servers), (&mut client, clients)] {
                more.into_iter().for_each(|(state, n)| *sum.entry(state).or_default() += n);
            }
        }
        Ok(self.told(listening.map(|_| server), client, listening))
    }

    fn told(
        &mut self,
        server: Option<BTreeMap<String, u64>>,
        client: BTreeMap<String, u64>,
        listening: Option<&Listening>,
    ) -> Sockets {
        self.resting = client.values().chain(server.iter().flatten().map(|(_, n)| n)).sum::<u64>() / EACH_SECOND_MAX;
        Sockets { server, client, ..listening.map(Listening::accept_only).unwrap_or_default() }
    }

    /// Every listening socket of `port`, with its account of memory, which has what it dropped.
    pub(crate) fn listening(&mut self, port: u16) -> Result<Vec<InetResponse>, Unfound> {
        let mut found = Vec::new();
        for ipv6 in [false, true] {
            let asked = request(ipv6, StateFlags::LISTEN, ExtensionFlags::SKMEMINFO, port, End::Server);
            match self.each(asked, |socket| found.push(socket)) {
                // A kernel without IPv6 has no listeners there.
                Err(error) if ipv6 && error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => {}
                other => other?,
            }
        }
        Ok(found)
    }

    /// Every Unix socket that listens at `path`.
    pub(crate) fn listening_at(&mut self, path: &Path) -> Result<Vec<UnixResponse>, Unfound> {
        // Told by the file, as a server may have bound it by another path.
        let name = path.to_str().and_then(|path| path.strip_prefix('@'));
        let is_it = match name {
            // It has no file.
            Some(name) => unix::nlas::Nla::Name(unix::nlas::UnixDiagName::Abstract(name.as_bytes().to_owned())),
            None => unix::nlas::Nla::Vfs(file_of(path)?),
        };
        let asked = UnixRequest {
            state_flags: unix::StateFlags::LISTEN,
            inode: 0,
            show_flags: ShowFlags::VFS | ShowFlags::NAME | ShowFlags::RQLEN,
            cookie: [0xff; 8],
        };
        let mut found = Vec::new();
        self.each(Asked::all(SockDiagMessage::UnixRequest(asked)), |socket: UnixResponse| {
            if socket.nlas.contains(&is_it) {
                found.push(socket);
            }
        })?;
        Ok(found)
    }

    /// Sockets by state: the server's ends and the clients'.
    fn states(&mut self, address: SocketAddr, end: End, ipv6: bool) -> Result<[BTreeMap<String, u64>; 2], Unfound> {
        let all_but_listening = StateFlags::all().difference(StateFlags::LISTEN);
        let mut counts = [[0; STATES.len()]; 2];
        let asked = request(ipv6, all_but_listening, ExtensionFlags::empty(), address.port(), end);
        self.each(asked, |socket: InetResponseHeader| {
            let state = STATES.get(usize::from(socket.state)).map_or(0, |_| usize::from(socket.state));
            counts[usize::from(socket.socket_id.source_port != address.port())][state] += 1;
        })?;
        Ok(counts.map(|counts| {
            let mut named = BTreeMap::new();
            for (name, n) in STATES.iter().zip(counts).filter(|(_, n)| *n > 0) {
                *named.entry((*name).to_owned()).or_default() += n;
            }
            named
        }))
    }

    /// Hands over every socket that the kernel lists for a request.
    fn each<T: Parseable<[u8]>>(&mut self, asked: Asked, mut take: impl FnMut(T)) -> io::Result<()> {
        let mut question = if asked.is_one { Question::of_one(asked.request) } else { Question::of_all(asked.request) };
        if let Some(port) = asked.either_port {
            append_filter(&mut question.bytes, port);
        }
        self.line.ask(&question, &mut take)
    }
}

/// A question to the kernel.
struct Asked {
    request: SockDiagMessage,
    /// The port that one of the ends must have, where either may.
    either_port: Option<u16>,
    /// True if it is of one socket, to which the answer is one message.
    is_one: bool,
}

impl Asked {
    /// All sockets that the request names.
    const fn all(request: SockDiagMessage) -> Self {
        Self { request, either_port: None, is_one: false }
    }
}

fn request(ipv6: bool, states: StateFlags, extensions: ExtensionFlags, port: u16, end: End) -> Asked {
    let mut socket_id = if ipv6 { SocketId::new_v6() } else { SocketId::new_v4() };
    match end {
        End::Server => socket_id.source_port = port,
        End::Client => socket_id.destination_port = port,
        End::Both => {}
    }
    let family = if ipv6 { AF_INET6 } else { AF_INET };
    let request = InetRequest { family, protocol: IPPROTO_TCP, extensions, states, socket_id };
    let either_port = (end == End::Both).then_some(port);
    Asked { either_port, ..Asked::all(SockDiagMessage::InetRequest(request)) }
}

/// Adds a program that the kernel runs for each socket: whether its own port or that of its peer is `port`.
fn append_filter(message: &mut Vec<u8>, port: u16) {
    // Each step is an operation, how far to go on if it holds, and how far if it does not; comparisons are followed by
    // the port. A socket is taken when the end is reached, and left out when it is passed (linux/inet_diag.h).
    const BYTECODE: u16 = 1;
    const JUMP: u8 = 1;
    const SOURCE_GE: u8 = 2;
    const SOURCE_LE: u8 = 3;
    const PEER_GE: u8 = 4;
    const PEER_LE: u8 = 5;
    let compare = |operation, no: u16| [(operation, 8, no), (0, 0, port)];
    let steps = [
        compare(SOURCE_GE, 20),
        compare(SOURCE_LE, 12),
        [(JUMP, 4, 20), (PEER_GE, 8, 20)],
        [(0, 0, port), (PEER_LE, 8, 12)],
    ];
    let mut program: Vec<(u8, u8, u16)> = steps.concat();
    program.push((0, 0, port));
    let length = 4 + 4 * program.len() as u16;
    message.extend(length.to_ne_bytes());
    message.extend(BYTECODE.to_ne_bytes());
    for (operation, yes, no) in program {
        message.extend([operation, yes]);
        message.extend(no.to_ne_bytes());
    }
    let whole = message.len() as u32;
    message[..4].copy_from_slice(&whole.to_ne_bytes());
}

/// The file of a Unix socket as the kernel names it: inode and device, the latter in a form of its own.
fn file_of(path: &Path) -> io::Result<unix::nlas::Vfs> {
    let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::INO | StatxFlags::MNT_ID)?;
    // A subvolume of btrfs has a device of its own, which is none of the disk's; the kernel's list has the file system.
    let mounted = if stat.stx_dev_major == 0 { mounted(stat.stx_mnt_id) } else { None };
    let (major, minor) = mounted.unwrap_or((stat.stx_dev_major, stat.stx_dev_minor));
    let bytes = [(stat.stx_ino as u32).to_ne_bytes(), (major << 20 | minor).to_ne_bytes()].concat();
    unix::nlas::Vfs::parse(&bytes).map_err(io::Error::other)
}

/// Major and minor number of the file system of a mount.
fn mounted(id: u64) -> Option<(u32, u32)> {
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    let mount = mounts.into_iter().find(|mount| u64::try_from(mount.mnt_id) == Ok(id))?;
    let (major, minor) = mount.majmin.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_at_very_many_sockets_is_followed_by_a_rest() {
        let mut table = SocketTable { resting: 1, ..SocketTable::default() };
        let address = Address::from(SocketAddr::from(([127, 0, 0, 1], 9)));
        assert_eq!(table.count(&address, None), Err(Unfound::Resting));
        assert_eq!(table.count(&address, None).map(|sockets| sockets.server), Ok(None));
        assert_eq!(table.resting, 0, "few sockets need no rest");
    }
}
