//! A terminal of a known width, and what a program shows on it.

use anyhow::{Context, Result, bail};
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, ExitStatus};

/// How wide a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// What a terminal has that nobody has made wider.
    Usual,
    /// Room for all columns of the widest table.
    Wide,
}

impl Width {
    fn columns(self) -> u16 {
        match self {
            Self::Usual => 80,
            Self::Wide => 100,
        }
    }
}

/// What a program shows on a terminal of this width, and how it ended.
pub(super) fn shown(mut command: Command, width: Width) -> Result<(String, ExitStatus)> {
    let (mut terminal, line) = open(width).context("opening a terminal")?;
    let mut child =
        command.stdout(line).spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    // It holds the line, and the terminal would never hang up.
    drop(command);
    let mut shown = Vec::new();
    let mut part = [0; 4096];
    loop {
        match terminal.read(&mut part) {
            Ok(0) => break,
            Ok(length) => shown.extend_from_slice(&part[..length]),
            // The last program has closed the line.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => bail!("reading from a terminal: {error}"),
        }
    }
    let status = child.wait()?;
    Ok((String::from_utf8_lossy(&shown).replace("\r\n", "\n"), status))
}

/// A terminal and the line to it.
fn open(width: Width) -> io::Result<(File, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags)?;
    unlockpt(&terminal)?;
    let line = ioctl_tiocgptpeer(&terminal, flags)?;
    tcsetwinsize(&line, Winsize { ws_row: 50, ws_col: width.columns(), ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((File::from(terminal), line))
}

#[cfg(test)]
mod tests {
    use super::{Width, shown};
    use std::process::Command;

    #[test]
    fn all_that_a_program_shows_is_read_and_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "stty size <&1; seq 3000; exit 4"]);
        let (text, status) = shown(command, Width::Usual).unwrap();
        assert!(text.starts_with("50 80\n1\n2\n") && text.ends_with("\n2999\n3000\n"), "{text}");
        assert_eq!(status.code(), Some(4));
    }
}
