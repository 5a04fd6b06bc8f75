//! System call of a thread: the line of `/proc/PID/task/TID/syscall`.

use syscalls::Sysno;

/// A thread at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It ran, or could have.
    Running,
    /// It waited in the kernel.
    Waiting(Call),
}

/// A call into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// As the kernel names it; [`NO_CALL`] outside of any, as in a page fault.
    pub(super) name: &'static str,
    pub(super) arguments: [u64; 6],
    /// Where the thread's stack ends.
    pub(super) stack: u64,
}

/// The name of waiting in the kernel without having called it.
pub(super) const NO_CALL: &str = "-";

/// Understands the line; none when it is of another form.
pub(super) fn parse(line: &str) -> Option<Doing> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if first == "running" {
        return Some(Doing::Running);
    }
    let number: i64 = first.parse().ok()?;
    if number < 0 {
        return Some(Doing::Waiting(Call { name: NO_CALL, arguments: [0; 6], stack: 0 }));
    }
    let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = next()?;
    }
    let stack = next()?;
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    Some(Doing::Waiting(Call { name: known.map_or("unknown call", |known| known.name()), arguments, stack }))
}

impl Call {
    /// An argument that is a descriptor.
    pub(super) const fn descriptor(&self, at: usize) -> i32 {
        self.arguments[at] as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_the_line_are_told_apart() {
        assert_eq!(parse("running\n"), Some(Doing::Running));
        let outside = Call { name: NO_CALL, arguments: [0; 6], stack: 0 };
        assert_eq!(parse("-1 0x7ffe0 0x7f001\n"), Some(Doing::Waiting(outside)));
        for broken in ["", "x", "3 0x1 0x2", "3 1 2 3 4 5 6"] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn the_call_of_a_thread_that_waits_has_its_name_and_descriptor() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (told, tell) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            told.send((rustix::thread::gettid().as_raw_pid(), std::os::fd::AsRawFd::as_raw_fd(&listener))).unwrap();
            drop(listener.accept());
        });
        let (tid, fd) = tell.recv().unwrap();
        let line = || std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).unwrap();
        let call = std::iter::repeat_with(|| parse(&line()).unwrap()).find_map(|doing| match doing {
            Doing::Waiting(call) if call.name.starts_with("accept") => Some(call),
            _ => None,
        });
        assert_eq!(call.unwrap().descriptor(0), fd);
        drop(std::net::TcpStream::connect(address));
        waiting.join().unwrap();
    }
}
