//! Whose socket answers at a port: where it is another user's, that user has taken the place of the server, before it came or
//! between two of its starts, and would be measured, and be sent credentials, in its place.

use procfs::ProcError;
use procfs::net::{TcpNetEntry, TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};
use std::net::{IpAddr, SocketAddr};

/// Ancestors of a process that are looked at.
const ANCESTORS_MAX: usize = 64;

/// The user, if any, who listens at `address` and is neither `uid`, whom the server runs as, nor root, with a socket that no
/// descendant of the process `keeper` has: a server may have become another user by itself.
///
/// Nobody where the kernel does not tell.
pub(super) fn stranger(address: SocketAddr, uid: u32, keeper: i32) -> Option<u32> {
    let listening = |entries: Result<Vec<TcpNetEntry>, ProcError>| {
        let at = move |entry: &TcpNetEntry| entry.state == TcpState::Listen && answers(entry.local_address, address);
        entries.unwrap_or_default().into_iter().filter(at)
    };
    let strange = |entry: &TcpNetEntry| ![0, uid].contains(&entry.uid);
    let mut strangers = listening(tcp()).chain(listening(tcp6())).filter(strange);
    strangers.find(|entry| !descendant_has(keeper, entry.inode)).map(|entry| entry.uid)
}

/// True if a socket that listens at `local` takes connections to `address`.
fn answers(local: SocketAddr, address: SocketAddr) -> bool {
    let ip = match local.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip => ip,
    };
    local.port() == address.port() && (ip.is_unspecified() || ip == address.ip())
}

fn descendant_has(keeper: i32, inode: u64) -> bool {
    let has = |process: &Process| {
        let mut descriptors = process.fd().into_iter().flatten().flatten();
        descriptors.any(|descriptor| matches!(descriptor.target, FDTarget::Socket(found) if found == inode))
    };
    all_processes().into_iter().flatten().flatten().any(|process| has(&process) && descends(process.pid, keeper))
}

fn descends(pid: i32, keeper: i32) -> bool {
    let parent = |pid: &i32| Process::new(*pid).and_then(|process| process.stat()).ok().map(|stat| stat.ppid);
    std::iter::successors(Some(pid), parent).take(ANCESTORS_MAX).any(|ancestor| ancestor == keeper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{geteuid, getpid};
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_listener_of_another_user_is_found_unless_the_server_has_it() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let (own, other) = (geteuid().as_raw(), geteuid().as_raw() + 1);
        let nobody_else = 1 << 30;
        assert_eq!(stranger(address, own, nobody_else), None, "it is the server's");
        assert_eq!(stranger(address, other, getpid().as_raw_nonzero().get()), None, "the server has become another");
        // Root may take any place.
        let expected = Some(own).filter(|uid| *uid != 0);
        assert_eq!(stranger(address, other, nobody_else), expected);
        drop(listener);
        assert_eq!(stranger(address, other, nobody_else), None, "nobody listens");
    }

    #[test]
    fn a_socket_answers_at_its_address_and_one_without_an_address_everywhere() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for (local, answers_there) in [
            ("127.0.0.1:80", true),
            ("0.0.0.0:80", true),
            ("[::]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("127.0.0.2:80", false),
            ("127.0.0.1:81", false),
            ("[::1]:80", false),
        ] {
            assert_eq!(answers(at(local), at("127.0.0.1:80")), answers_there, "{local}");
        }
    }
}
