//! Addresses behind the host of a URL, found once, before anything is measured.

use crate::exit::CommandError;
use crate::typed::shown;
use model::Address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

pub(crate) use input::TargetUrl;

/// All addresses of a host, in the order of the system's resolver.
///
/// `localhost` and the names below it are this machine whatever the resolver knows (RFC 6761, section 6.3): a server on `::1` alone
/// was not found where `/etc/hosts` has `127.0.0.1` alone.
pub(crate) fn resolve(host: &str, port: u16) -> Result<Vec<Address>, CommandError> {
    let known = (host, port).to_socket_addrs().map(Vec::from_iter);
    let all = match known {
        known if is_localhost(host) => with_loopback(known.unwrap_or_default(), port),
        known => known.map_err(|error| {
            CommandError::target(format!("cannot find the host {:?}: {error}; is the name right?", shown(host)))
        })?,
    };
    Ok(all.into_iter().map(Address::Tcp).collect())
}

fn with_loopback(mut known: Vec<SocketAddr>, port: u16) -> Vec<SocketAddr> {
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        if !known.iter().any(|address| address.ip() == ip) {
            known.push(SocketAddr::new(ip, port));
        }
    }
    known
}

fn is_localhost(host: &str) -> bool {
    host.trim_end_matches('.').rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_both_loopback_addresses_whatever_the_resolver_knows() {
        let [v4, v6] = ["127.0.0.1:80", "[::1]:80"].map(|text| text.parse::<SocketAddr>().unwrap());
        assert_eq!(with_loopback(vec![v4], 80), [v4, v6]);
        assert_eq!(with_loopback(vec![v6, v4], 80), [v6, v4]);
        assert_eq!(["localhost", "LocalHost", "shop.localhost", "localhost."].map(is_localhost), [true; 4]);
        assert_eq!(["notlocalhost", "localhost.example", "127.0.0.1"].map(is_localhost), [false; 3]);
    }
}
