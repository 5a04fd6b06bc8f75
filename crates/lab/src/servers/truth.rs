//! What a server does as others see it: curl, and a raw socket for what curl hides.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

/// How long a body is awaited that may not come.
const WAIT: Duration = Duration::from_millis(200);

/// What curl got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Truth {
    /// 0 where it got no response.
    pub(super) status: u16,
    pub(super) bytes: u64,
    /// True if the second of two requests took the connection of the first.
    pub(super) is_kept: bool,
}

/// Asks twice, in one call.
pub(super) fn curl(url: &str, options: &[&str]) -> Result<Truth> {
    let mut command = Command::new("curl");
    command.args(["-sSk", "-m", "5", "-w", "%{http_code} %{size_download} %{num_connects}\n"]).args(options);
    let output = command.args(["-o", "/dev/null", url, "-o", "/dev/null", url]).stdin(Stdio::null()).output();
    Ok(read(&String::from_utf8_lossy(&output.context("cannot start curl")?.stdout)))
}

/// Of two lines `status bytes connects`.
fn read(said: &str) -> Truth {
    let mut lines = said.lines().map(|line| line.split_whitespace().filter_map(|word| word.parse::<u64>().ok()));
    let (Some(mut first), second) = (lines.next(), lines.next()) else { return Truth::default() };
    let (status, bytes) = (first.next().unwrap_or(0) as u16, first.next().unwrap_or(0));
    Truth { status, bytes, is_kept: second.and_then(|mut second| second.nth(2)) == Some(0) }
}

/// True if a body comes behind the head of a response to HEAD.
pub(super) fn has_body_after_head(port: u16, path: &str) -> Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(WAIT))?;
    write!(stream, "HEAD {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")?;
    let mut answer = Vec::new();
    // What was read before the timeout stays.
    let _ = stream.take(1 << 20).read_to_end(&mut answer);
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n");
    Ok(end.is_some_and(|end| answer.len() > end + 4))
}

#[cfg(test)]
mod tests {
    use super::{Truth, read};

    #[test]
    fn two_lines_tell_of_reuse() {
        assert_eq!(read("200 64 1\n200 64 0\n"), Truth { status: 200, bytes: 64, is_kept: true });
        assert_eq!(read("200 64 1\n200 64 1\n"), Truth { status: 200, bytes: 64, is_kept: false });
        assert_eq!(read("000 0 0\n"), Truth::default());
        assert_eq!(read(""), Truth::default());
    }
}
