//! Name of the host of a database or status page, looked up within a deadline: a resolver that hangs must not hold up the end
//! of a load.

use crate::settings::status_source::Place;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// Addresses of a host that are tried.
const TRIED_MAX: usize = 4;

/// Finds the addresses of a host.
type Resolver = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// One place of a database.
pub(super) enum Lookup {
    Tcp(Names),
    Unix(Place),
}

impl Lookup {
    pub(super) fn new(place: &Place) -> Self {
        match place {
            Place::Tcp(host, port) => Self::Tcp(Names::new(host, *port)),
            Place::Unix(_) => Self::Unix(place.clone()),
        }
    }

    /// Where to connect to, in this order, by address.
    ///
    /// # Errors
    /// If the host has no address, or none was found within `timeout`. The next call goes on waiting for the same answer.
    pub(super) fn places(&mut self, timeout: Duration) -> io::Result<Vec<Place>> {
        let by_address = |address: SocketAddr| Place::Tcp(address.ip().to_string(), address.port());
        match self {
            Self::Unix(place) => Ok(vec![place.clone()]),
            Self::Tcp(names) => Ok(names.addresses(timeout)?.into_iter().map(by_address).collect()),
        }
    }
}

/// A host, and the thread that looks its name up: there is never more than one, however long the resolver takes, and none for
/// an address.
#[derive(Debug)]
pub(super) struct Names {
    host: String,
    port: u16,
    resolver: Resolver,
    pending: Option<Receiver<io::Result<Vec<SocketAddr>>>>,
}

impl Names {
    /// A host without the brackets of an address.
    pub(super) fn new(host: &str, port: u16) -> Self {
        Self { host: host.to_owned(), port, resolver: resolve, pending: None }
    }

    /// What to connect to, in this order; at most [`TRIED_MAX`].
    ///
    /// # Errors
    /// As those of [`Lookup::places`].
    pub(super) fn addresses(&mut self, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, self.port)]);
        }
        let answer = self.pending.take().unwrap_or_else(|| start(self.resolver, self.host.clone(), self.port));
        match answer.recv_timeout(timeout) {
            Ok(found) => Ok(found?.into_iter().take(TRIED_MAX).collect()),
            Err(RecvTimeoutError::Timeout) => {
                self.pending = Some(answer);
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("its name cannot be looked up: no thread")),
        }
    }
}

/// Starts a thread that ends when the resolver does; nobody waits for it. Without one the answer's line is closed.
fn start(resolver: Resolver, host: String, port: u16) -> Receiver<io::Result<Vec<SocketAddr>>> {
    let (told, answer) = channel();
    let look_up = move || {
        // Whoever asked may have gone.
        let _ = told.send(resolver(&host, port));
    };
    let _ = Builder::new().name("lookup".into()).spawn(look_up);
    answer
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SHORT: Duration = Duration::from_millis(1);
    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);

    /// A resolver whose name server never answers.
    fn hang(_: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        LOOKUPS.fetch_add(1, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    }

    #[test]
    fn a_resolver_that_hangs_is_not_waited_for_and_not_asked_again() {
        let mut names = Names { resolver: hang, ..Names::new("db.example", 3306) };
        for _ in 0..5 {
            assert_eq!(names.addresses(SHORT).unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert!(LOOKUPS.load(Ordering::SeqCst) <= 1);
    }

    #[test]
    fn addresses_and_sockets_are_found_at_once_and_without_a_thread() {
        let mut names = Names { resolver: |_, _| panic!("an address is looked up"), ..Names::new("::1", 7000) };
        assert_eq!(names.addresses(SHORT).unwrap(), ["[::1]:7000".parse().unwrap()]);
        let mut tcp = Lookup::new(&Place::Tcp("::1".into(), 7000));
        assert_eq!(tcp.places(SHORT).unwrap(), [Place::Tcp("::1".into(), 7000)]);
        let socket = Place::Unix("/run/db.sock".into());
        assert_eq!(Lookup::new(&socket).places(SHORT).unwrap(), [socket]);
    }
}
