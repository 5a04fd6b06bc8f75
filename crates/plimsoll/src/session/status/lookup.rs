//! Name of a database's host, looked up within a deadline: a resolver that hangs must not hold up the end of a load.

use crate::settings::status_source::Place;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// Addresses of a host that are tried.
const TRIED_MAX: usize = 4;

/// Finds the addresses of a host.
type Resolver = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// One place, and the thread that looks its name up: there is never more than one, however long the resolver takes.
pub(super) struct Lookup {
    place: Place,
    resolver: Resolver,
    pending: Option<Receiver<io::Result<Vec<SocketAddr>>>>,
}

impl Lookup {
    pub(super) fn new(place: &Place) -> Self {
        Self { place: place.clone(), resolver: resolve, pending: None }
    }

    /// Where to connect to, in this order, by address.
    ///
    /// # Errors
    /// If the host has no address, or none was found within `timeout`. The next call goes on waiting for the same answer.
    pub(super) fn places(&mut self, timeout: Duration) -> io::Result<Vec<Place>> {
        let Place::Tcp(host, port) = &self.place else { return Ok(vec![self.place.clone()]) };
        let answer = self.pending.take().unwrap_or_else(|| start(self.resolver, host.clone(), *port));
        match answer.recv_timeout(timeout) {
            Ok(found) => {
                let by_address = |address: SocketAddr| Place::Tcp(address.ip().to_string(), address.port());
                Ok(found?.into_iter().take(TRIED_MAX).map(by_address).collect())
            }
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
        let place = Place::Tcp("db.example".into(), 3306);
        let mut lookup = Lookup { resolver: hang, ..Lookup::new(&place) };
        for _ in 0..5 {
            assert_eq!(lookup.places(SHORT).unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert!(LOOKUPS.load(Ordering::SeqCst) <= 1);
    }

    #[test]
    fn addresses_and_sockets_are_found_at_once() {
        let long = Duration::from_secs(60);
        let mut lookup = Lookup::new(&Place::Tcp("::1".into(), 7000));
        assert_eq!(lookup.places(long).unwrap(), [Place::Tcp("::1".into(), 7000)]);
        let socket = Place::Unix("/run/db.sock".into());
        assert_eq!(Lookup::new(&socket).places(SHORT).unwrap(), [socket]);
    }
}
