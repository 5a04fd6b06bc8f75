//! A plain HTTP/1.1 client: one request after the other on one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// No response takes longer unless its server hangs.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that is kept.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    request: String,
}

impl Client {
    /// Connects to `address` (host and port) for requests of the path `/`.
    pub(super) fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
        Ok(Self { stream: BufReader::new(stream), request })
    }

    /// Sends a request, and reads the body of its response.
    pub(super) fn get(&mut self) -> Result<Vec<u8>> {
        self.stream.get_mut().write_all(self.request.as_bytes())?;
        let status = self.line()?;
        ensure!(status.split(' ').nth(1) == Some("200"), "the server has answered {status:?}");
        let mut length = None;
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                _ if line.is_empty() => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = Some(value.trim().parse().context("the length of a body")?);
                }
                _ => {}
            }
        }
        let mut body = vec![0; length.context("the response does not say how long its body is")?];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    /// A line of the head without its end.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "the server has closed the connection");
        Ok(line.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Client;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// A server that gives each of these responses to a request.
    fn served(responses: &'static [&'static str]) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for response in responses {
                let mut request = [0; 512];
                let read = stream.read(&mut request).unwrap();
                assert!(request[..read].ends_with(b"\r\n\r\n"));
                stream.write_all(response.as_bytes()).unwrap();
            }
        });
        Client::connect(&address).unwrap()
    }

    #[test]
    fn bodies_are_read_to_their_end_and_the_connection_is_kept() {
        let mut client = served(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none",
            "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nthree",
        ]);
        assert_eq!(client.get().unwrap(), b"one");
        assert_eq!(client.get().unwrap(), b"three");
        assert!(client.get().is_err(), "the server is gone");
    }

    #[test]
    fn what_is_no_good_response_is_an_error() {
        for (response, why) in [
            ("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "the server has answered \"HTTP/1.1 500 Oh\""),
            ("HTTP/1.1 200 OK\r\n\r\n", "the response does not say how long its body is"),
        ] {
            let responses: &'static [&'static str] = Box::leak(Box::new([response]));
            assert_eq!(served(responses).get().unwrap_err().to_string(), why);
        }
    }
}
