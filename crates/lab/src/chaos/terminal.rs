//! The other side of a terminal: who reads what a program shows there, and types ^S and ^Q.

use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use std::fs::File;
use std::io::{self, Read, Write};

/// A terminal; it hangs up with this value.
pub(super) struct Terminal {
    master: File,
}

impl Terminal {
    /// A terminal and the line to it.
    pub(super) fn open() -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        unlockpt(&master)?;
        let line = ioctl_tiocgptpeer(&master, flags)?;
        // There need not be anything to read.
        fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
        Ok((Self { master: File::from(master) }, line))
    }

    /// Takes in what is shown, as a terminal does.
    pub(super) fn show(&mut self) {
        let mut shown = [0; 4096];
        while self.master.read(&mut shown).is_ok_and(|length| length > 0) {}
    }

    /// ^S: nothing more is taken from whoever writes to it.
    pub(super) fn stop(&mut self) -> io::Result<()> {
        self.master.write_all(b"\x13")
    }

    /// ^Q.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.master.write_all(b"\x11")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::fcntl_getfl;
    use std::time::Duration;

    /// True once a byte is taken, or is not: what is typed takes effect a moment later.
    fn comes_to(line: &mut File, is_taken: bool) -> bool {
        within_a_second(|| match line.write_all(b"x") {
            Ok(()) => is_taken,
            Err(error) => !is_taken && error.kind() == io::ErrorKind::WouldBlock,
        })
    }

    fn within_a_second(mut comes: impl FnMut() -> bool) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            comes()
        })
    }

    #[test]
    fn a_terminal_that_is_stopped_takes_nothing_until_it_goes_on() {
        let (mut terminal, line) = Terminal::open().expect("a terminal");
        fcntl_setfl(&line, fcntl_getfl(&line).expect("its flags") | OFlags::NONBLOCK).expect("our own line");
        let mut line = File::from(line);
        terminal.stop().expect("it takes what is typed");
        assert!(comes_to(&mut line, false));
        terminal.resume().expect("it takes what is typed");
        assert!(comes_to(&mut line, true));
        terminal.show();
        drop(terminal);
        // A process that another test starts at that moment has the terminal as well, until it is another program.
        let has_hung_up =
            |line: &mut File| line.write(b"x").is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock);
        assert!(within_a_second(|| has_hung_up(&mut line)));
    }
}
