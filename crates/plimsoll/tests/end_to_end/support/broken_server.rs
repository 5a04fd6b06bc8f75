//! A server that does to each connection what a test says, with literal bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// No peer is silent for longer.
const SILENCE: Duration = Duration::from_secs(20);

/// One thread that accepts, and one a connection. Ends with this value.
pub(crate) struct BrokenServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    connections: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

/// One connection, seen from the server.
pub(crate) struct Peer {
    stream: TcpStream,
    /// Which connection of the server it is, from 0.
    pub(crate) index: usize,
    unread: Vec<u8>,
}

impl BrokenServer {
    /// Runs `script` on each connection; when it returns, the connection is closed.
    pub(crate) fn start(script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::start_for(usize::MAX, script)
    }

    /// The same for `connections` connections; then it does not listen any more.
    pub(crate) fn start_for(connections: usize, script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        let accept = std::thread::spawn(move || accepting.accept(&listener, connections, &Arc::new(script)));
        Self { address, shared, threads: vec![accept] }
    }

    /// Answers every request with `answer`, and closes after the first.
    pub(crate) fn saying(answer: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::start(move |peer| {
            if peer.request().is_some() {
                peer.send(answer.as_ref());
            }
        })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Closes the listener and all connections at once, as a server that dies does.
    pub(crate) fn die(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Ends the wait of `accept`.
        drop(TcpStream::connect(self.address));
        for thread in self.threads.drain(..) {
            thread.join().expect("a script does not panic");
        }
        for stream in self.shared.open.lock().expect("a script does not panic").drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for BrokenServer {
    fn drop(&mut self) {
        if !self.threads.is_empty() && !std::thread::panicking() {
            self.die();
        }
    }
}

impl Shared {
    fn accept<F: Fn(&mut Peer) + Send + Sync + 'static>(&self, listener: &TcpListener, n: usize, script: &Arc<F>) {
        for stream in listener.incoming().take(n) {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let index = self.connections.fetch_add(1, Ordering::Relaxed);
            let kept = stream.try_clone().expect("a descriptor");
            stream.set_read_timeout(Some(SILENCE)).expect("a socket option");
            stream.set_nodelay(true).expect("a socket option");
            self.open.lock().expect("a script does not panic").push(kept);
            let script = Arc::clone(script);
            std::thread::spawn(move || {
                let mut peer = Peer { stream, index, unread: Vec::new() };
                script(&mut peer);
                // The clone that `die` needs would keep it open.
                let _ = peer.stream.shutdown(Shutdown::Both);
            });
        }
    }
}

impl Peer {
    /// The next request, head and body; none when the client has closed or the server has died.
    pub(crate) fn request(&mut self) -> Option<String> {
        loop {
            if let Some(end) = request_end(&self.unread) {
                let request: Vec<u8> = self.unread.drain(..end).collect();
                return Some(String::from_utf8_lossy(&request).into_owned());
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(n) => self.unread.extend_from_slice(&buffer[..n]),
            }
        }
    }

    /// Sends bytes; whether the client took them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Says nothing until the client closes.
    pub(crate) fn hold(&mut self) {
        while self.request().is_some() {}
    }
}

/// Where the first request ends, if it is complete.
fn request_end(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let body: usize = length.map_or(0, |text| text.trim().parse().expect("a length"));
    (bytes.len() >= head + body).then_some(head + body)
}
