//! The way that packets take to the target.

use super::Facts;
use crate::netlink::{Line, Question};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::{Protocol, SocketFlags, SocketType, netdevice};
use std::io;
use std::net::IpAddr;

/// The part of netlink that tells them.
const ROUTES: Option<Protocol> = None;

/// Interface, own address and router, as the kernel chooses them.
pub(super) fn route(to: IpAddr) -> io::Result<Facts> {
    let facts = chosen(to)?.attributes;
    let facts = facts.iter().filter_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(("interface", name(*index).ok()?)),
        RouteAttribute::PrefSource(address) => Some(("source", ip(address)?.to_string())),
        RouteAttribute::Gateway(address) => Some(("gateway", ip(address)?.to_string())),
        _ => None,
    });
    Ok(facts.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// True if what is sent to `to` stays on this machine, as it is an address of its own. That a socket can be bound to it says
/// nothing: where `net.ipv4.ip_nonlocal_bind` is set, any address can.
pub(super) fn ends_here(to: IpAddr) -> bool {
    chosen(to.to_canonical()).is_ok_and(|route| is_local(&route))
}

fn is_local(route: &RouteMessage) -> bool {
    route.header.kind == RouteType::Local
}

/// The route that the kernel chooses.
fn chosen(to: IpAddr) -> io::Result<RouteMessage> {
    let mut found = None;
    let question = Question::of_one(RouteNetlinkMessage::GetRoute(asked(to)));
    Line::new(ROUTES).ask(&question, &mut |route: RouteMessage| found = Some(route))?;
    found.ok_or_else(|| io::Error::other("the kernel tells no route"))
}

fn asked(to: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    (message.header.address_family, message.header.destination_prefix_length) = match to {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    message.attributes.push(RouteAttribute::Destination(to.into()));
    message
}

const fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some(IpAddr::V4(*ip)),
        RouteAddress::Inet6(ip) => Some(IpAddr::V6(*ip)),
        _ => None,
    }
}

fn name(index: u32) -> io::Result<String> {
    let any =
        rustix::net::socket_with(rustix::net::AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Ok(netdevice::index_to_name(any, index)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};

    #[test]
    fn the_way_to_this_machine_is_the_loopback_interface() {
        let facts = route(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!((facts["interface"].as_str(), facts["source"].as_str()), ("lo", "127.0.0.1"));
        assert_eq!(facts.get("gateway"), None);
    }

    #[test]
    fn an_address_of_another_machine_is_not_local_where_any_may_be_bound() {
        let of = |kind| {
            let mut route = RouteMessage::default();
            route.header.kind = kind;
            is_local(&route)
        };
        assert!(of(RouteType::Local));
        for other in [RouteType::Unicast, RouteType::Broadcast, RouteType::Multicast, RouteType::Unspec] {
            assert!(!of(other), "{other:?}");
        }
        for (to, expected) in
            [("127.0.0.1", true), ("127.9.9.9", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false)]
        {
            assert_eq!(ends_here(to.parse().expect("an address")), expected, "{to}");
        }
    }

    /// Nothing is sent: connecting a datagram socket only chooses the way.
    #[test]
    fn the_way_is_that_of_a_socket_that_is_connected() {
        let to = IpAddr::from([192, 0, 2, 1]);
        let connected = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect((to, 9)).map(|()| socket));
        match (connected, route(to)) {
            (Ok(socket), Ok(facts)) => assert_eq!(facts["source"], socket.local_addr().unwrap().ip().to_string()),
            (Err(one), Err(other)) => assert_eq!(one.raw_os_error(), other.raw_os_error()),
            (one, other) => panic!("{one:?}, {other:?}"),
        }
    }
}
