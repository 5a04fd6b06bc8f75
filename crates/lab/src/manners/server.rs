//! A server that does what a row of the table says, with literal bytes on a raw socket.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::table::{Manner, Step};
use crate::accepting::Accepting;

/// No client is silent for longer.
const SILENCE: Duration = Duration::from_secs(10);
/// What comes later comes with a read of its own.
const MOMENT: Duration = Duration::from_millis(5);
const READ_BYTES: usize = 64 * 1024;

/// Ends with this value, and its connections too.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<Accepting>,
}

#[derive(Default)]
struct Shared {
    connections: AtomicU64,
    /// By number, so that the server can end them.
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

impl Server {
    /// Starts it on a free port of loopback.
    ///
    /// # Errors
    /// If there is none.
    pub fn start(manner: &'static Manner) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_threads = Arc::clone(&shared);
        let accepting =
            Accepting::start(TcpListener::bind("127.0.0.1:0")?, move |stream| of_threads.have(&stream, manner))?;
        Ok(Self { address: accepting.address, shared, accepting: Some(accepting) })
    }

    /// Its only page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Connections so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting = None;
        for stream in self.shared.open().values() {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn have(&self, stream: &TcpStream, manner: &Manner) {
        let Ok(kept) = stream.try_clone() else { return };
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        self.open().insert(number, kept);
        // A client that goes away ends it as well.
        let _ = serve(stream, manner);
        // What the client has sent and nobody has read makes this close a reset.
        self.open().remove(&number);
    }
}

/// Does what the row says on each request, until either side closes.
fn serve(mut stream: &TcpStream, manner: &Manner) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut requests = Requests { unread: Vec::new() };
    while let Some(body_bytes) = requests.head(stream)? {
        if !manner.is_early {
            requests.skip(stream, body_bytes)?;
        }
        for step in manner.steps {
            match *step {
                Step::Say(text) => stream.write_all(text.as_bytes())?,
                Step::Drip(text) => text.bytes().try_for_each(|byte| stream.write_all(&[byte]))?,
                Step::Repeat(text, times) => stream.write_all(text.repeat(times).as_bytes())?,
                Step::Later(text) => {
                    std::thread::sleep(MOMENT);
                    stream.write_all(text.as_bytes())?;
                }
                Step::EndWriting => stream.shutdown(Shutdown::Write)?,
                Step::Close => return Ok(()),
            }
        }
        if manner.is_early {
            requests.skip(stream, body_bytes)?;
        }
    }
    Ok(())
}

/// Reads requests, as far as it matters where they end.
struct Requests {
    unread: Vec<u8>,
}

impl Requests {
    /// Takes the next head; the length of the body behind it, or none at the end.
    fn head(&mut self, stream: &TcpStream) -> std::io::Result<Option<usize>> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.unread.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
                return Ok(Some(length.and_then(|text| text.trim().parse().ok()).unwrap_or(0)));
            }
            if !self.read(stream)? {
                return Ok(None);
            }
        }
    }

    /// Takes a body.
    fn skip(&mut self, stream: &TcpStream, mut bytes: usize) -> std::io::Result<()> {
        loop {
            let taken = bytes.min(self.unread.len());
            self.unread.drain(..taken);
            bytes -= taken;
            if bytes == 0 || !self.read(stream)? {
                return Ok(());
            }
        }
    }

    /// False at the end of the stream.
    fn read(&mut self, mut stream: &TcpStream) -> std::io::Result<bool> {
        let mut buffer = vec![0; READ_BYTES];
        let n = stream.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..n]);
        Ok(n > 0)
    }
}
