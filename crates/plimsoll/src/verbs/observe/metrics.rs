//! The figures of now for Prometheus, over HTTP on loopback.

use crate::exit::CommandError;
use crate::lock::hold;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use tiny_http::{Header, Method, Request, Response, Server};

const PATH: &str = "/metrics";

/// Answers until it is dropped.
pub(super) struct Metrics {
    server: Arc<Server>,
    text: Arc<Mutex<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Begins to answer at `address`, with nothing until there is something.
    pub(super) fn serve(address: SocketAddr) -> Result<Self, CommandError> {
        if !address.ip().is_loopback() {
            return Err(CommandError::usage(format!(
                "--prometheus {address} is not an address of loopback, and anybody could read what is there; write \
                 127.0.0.1:{} and let a proxy or Prometheus itself fetch it from there",
                address.port()
            )));
        }
        let server = Server::http(address)
            .map_err(|error| CommandError::usage(format!("--prometheus: cannot listen on {address}: {error}")))?;
        let (server, text) = (Arc::new(server), Arc::new(Mutex::new(String::new())));
        let thread = {
            let (server, text) = (Arc::clone(&server), Arc::clone(&text));
            let work = move || server.incoming_requests().for_each(|request| answer(request, &text));
            Builder::new().name("prometheus".into()).spawn(work)
        };
        let thread =
            thread.map_err(|error| CommandError::usage(format!("--prometheus: cannot start a thread: {error}")))?;
        Ok(Self { server, text, thread: Some(thread) })
    }

    pub(super) fn set(&self, text: String) {
        *hold(&self.text) = text;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // One that has panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn answer(request: Request, text: &Mutex<String>) {
    let path = request.url().split('?').next().unwrap_or_default();
    let response = match (request.method(), path) {
        (Method::Get | Method::Head, PATH) => {
            let text = hold(text).clone();
            let kind = Header::from_bytes("Content-Type", report::CONTENT_TYPE);
            let response = Response::from_string(text);
            match kind {
                Ok(kind) => response.with_header(kind),
                Err(()) => response,
            }
        }
        (Method::Get | Method::Head, _) => {
            Response::from_string(format!("there is only {PATH}\n")).with_status_code(404)
        }
        _ => Response::from_string("there is nothing to change here\n").with_status_code(405),
    };
    // Who asked may have gone.
    let _ = request.respond(response);
}
