//! Servers on raw sockets: one thread that accepts, and one for each connection.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Accepts until this value goes.
pub(crate) struct Accepting {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Accepting {
    /// `serve` has each connection, on a thread of its own.
    pub(crate) fn start(
        listener: TcpListener,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let (address, is_over) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let (serve, ends) = (Arc::new(serve), Arc::clone(&is_over));
        let accept = move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        };
        Ok(Self { address, is_over, thread: Some(std::thread::spawn(accept)) })
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Ends the wait for the next connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}
