//! A server that counts the requests it has read, and that may reset every second connection as soon as it is accepted.

use rustix::net::sockopt::set_socket_linger;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

pub(crate) struct CountingServer {
    address: SocketAddr,
    seen: Arc<Mutex<BTreeMap<String, u64>>>,
    over: Arc<AtomicBool>,
}

impl CountingServer {
    pub(crate) fn start() -> Self {
        Self::with(false)
    }

    /// Resets the second connection, the fourth, and so on.
    pub(crate) fn resetting() -> Self {
        Self::with(true)
    }

    fn with(resets: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (seen, over) = (Arc::new(Mutex::new(BTreeMap::new())), Arc::new(AtomicBool::new(false)));
        let (counted, is_over) = (Arc::clone(&seen), Arc::clone(&over));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                if resets && number % 2 == 1 {
                    // What is closed with it is reset.
                    set_socket_linger(&stream, Some(Duration::ZERO)).expect("a socket of ours");
                    continue;
                }
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || serve(stream, &counted));
            }
        });
        Self { address, seen, over }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Requests that were read whole, by method.
    pub(crate) fn seen(&self) -> BTreeMap<String, u64> {
        self.seen.lock().expect("no thread has panicked").clone()
    }

    /// All of them.
    pub(crate) fn count(&self) -> u64 {
        self.seen().values().sum()
    }
}

impl Drop for CountingServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Ends the wait for the next.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(stream: TcpStream, seen: &Mutex<BTreeMap<String, u64>>) {
    let mut reader = BufReader::new(stream);
    while let Some(method) = request(&mut reader) {
        *seen.lock().expect("no thread has panicked").entry(method).or_default() += 1;
        if reader.get_mut().write_all(ANSWER).is_err() {
            return;
        }
    }
}

/// Reads a request with its body; its method, or none at the end.
fn request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut method, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        method = method.or_else(|| line.split(' ').next().map(ToOwned::to_owned));
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    method
}
