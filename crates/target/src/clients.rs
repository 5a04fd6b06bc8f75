//! Open connections by client address, in a table of fixed size.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counters. Clients that fall on the same one share its bound; the key of the hash is secret, so that nobody can
/// choose whose bound to share.
const SLOTS: usize = 4096;
/// Bits of an IPv6 address that stand for one client: a host gets 64 bits to choose addresses from.
const V6_PREFIX_BITS: u32 = 64;

/// Connections that each client has, and how many it may have.
#[derive(Debug)]
pub(super) struct Clients {
    keys: RandomState,
    open: Box<[AtomicU32]>,
    most: u32,
}

/// Where a connection is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(usize);

impl Clients {
    pub(super) fn new(most: u32) -> Self {
        Self { keys: RandomState::new(), open: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(), most }
    }

    /// Counts a connection; none when its client has as many as it may. Clients of a Unix socket have no address and
    /// count as one.
    pub(super) fn enter(&self, client: Option<IpAddr>) -> Option<Slot> {
        let slot = Slot((self.keys.hash_one(client.map(network)) % SLOTS as u64) as usize);
        let open = &self.open[slot.0];
        // Only the acceptor adds: what is below the bound now is not above it afterwards.
        if open.load(Relaxed) >= self.most {
            return None;
        }
        open.fetch_add(1, Relaxed);
        Some(slot)
    }

    /// A connection that was counted is closed.
    pub(super) fn leave(&self, slot: Slot) {
        self.open[slot.0].fetch_sub(1, Relaxed);
    }
}

/// What stands for a client: its address, or of IPv6 the part that it cannot choose.
fn network(client: IpAddr) -> u128 {
    match client.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits() >> (u128::BITS - V6_PREFIX_BITS) << (u128::BITS - V6_PREFIX_BITS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_has_all_it_may_have_keeps_out_only_itself() {
        let clients = Clients::new(2);
        let one: Option<IpAddr> = Some("192.0.2.1".parse().unwrap());
        let first = clients.enter(one).unwrap();
        assert!(clients.enter(one).is_some());
        assert_eq!(clients.enter(one), None);
        // One of them could share the counter, all of them cannot.
        assert!((2..10).any(|last| clients.enter(Some(IpAddr::from([192, 0, 2, last]))).is_some()));
        clients.leave(first);
        assert!(clients.enter(one).is_some());
        assert_eq!(clients.enter(one), None);
    }

    #[test]
    fn clients_are_told_apart_by_what_they_cannot_choose() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
