//! Servers on loopback as any client reaches them: free ports, a certificate, and waiting for them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Between two looks whether a server listens.
const POLL: Duration = Duration::from_millis(20);

/// Two ports that are free now.
pub(crate) fn free_ports() -> Result<[u16; 2]> {
    // Both at once, so that they differ.
    let listeners = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
    Ok([listeners[0].local_addr()?.port(), listeners[1].local_addr()?.port()])
}

/// Waits until a server listens on all of these ports, for so long at most.
pub(crate) fn await_ports(server: &mut Child, ports: &[u16], limit: Duration) -> Result<()> {
    let started = Instant::now();
    while !ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()) {
        if let Some(status) = server.try_wait()? {
            bail!("it has ended with {status}");
        }
        ensure!(started.elapsed() < limit, "it does not listen within {} s", limit.as_secs());
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Writes a self-signed certificate (ECDSA, P-256) and its key, as `cert.pem` and `key.pem`.
pub(crate) fn write_certificate(folder: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).context("making a certificate")?;
    std::fs::write(folder.join("cert.pem"), made.cert.pem())?;
    Ok(std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem())?)
}

/// The response to GET on a connection of its own, with its head.
pub(crate) fn get(address: &str, path: &str, timeout: Duration) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(timeout))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

#[cfg(test)]
mod tests {
    use super::free_ports;

    #[test]
    fn two_free_ports_are_two() {
        let [one, other] = free_ports().unwrap();
        assert_ne!(one, other);
    }
}
