//! The `unsafe` of this crate: the program's own text leaves memory when a phase is over that needed it, what a signal does, and
//! descriptors that were inherited.

#![allow(
    unsafe_code,
    reason = "`madvise`, signal handlers and descriptors by number are unsafe by their contracts; see the blocks"
)]

use clock::monotonic_ns;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{Advice, madvise};
use std::os::fd::{BorrowedFd, RawFd};

/// Descriptors that are looked for one by one, where they are not listed.
const FD_LOOKED_FOR_MAX: RawFd = 1024;

/// Has `action` called with the time of each signal of this kind; the exit code that it returns, if any, ends the program at
/// once. The action may touch atomics only: it runs between any two instructions of the program.
///
/// # Errors
/// When the kernel does not let this process handle the signal.
pub(crate) fn on_signal(
    signal: i32,
    action: impl Fn(u64) -> Option<i32> + Send + Sync + 'static,
) -> std::io::Result<()> {
    let handler = move || {
        if let Some(code) = action(monotonic_ns()) {
            signal_hook::low_level::exit(code);
        }
    };
    // SAFETY: a handler may only do what is safe between any two instructions of any thread. `monotonic_ns` is `clock_gettime`
    // and `exit` is `_exit`, both of which POSIX lists as safe there; the actions of this crate (`interrupt`) use atomics. None
    // of them allocates, locks or unwinds.
    unsafe { signal_hook::low_level::register(signal, handler) }.map(drop)
}

/// Keeps what this program was started with open, but for stdin, stdout and stderr, from whatever it starts itself: servers,
/// browsers and commands have no business with a file that the caller has open, such as a lock or a secret of a script.
///
/// To be called before anything is started, and not in a process that was handed descriptors for its own children.
pub(crate) fn keep_inherited_descriptors() {
    // Without /proc they are looked for where programs usually have them.
    let listed = std::fs::read_dir("/proc/self/fd").map(|entries| {
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect::<Vec<RawFd>>()
    });
    for number in listed.unwrap_or_else(|_| (3..FD_LOOKED_FOR_MAX).collect()).into_iter().filter(|number| *number > 2) {
        // SAFETY: the descriptor is only borrowed for these two calls, which close nothing, and with a number that is not open
        // the kernel returns EBADF.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        // The one that listed them is gone by now.
        let _ = fcntl_getfd(descriptor).and_then(|flags| fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC));
    }
}

/// Lets the kernel take the pages of programs and libraries that this process has used so far out of its memory; those that
/// are used again come back from the page cache, which costs a fault of a microsecond each.
///
/// What begins a load (arguments, fingerprint, probe, TLS) and what judges it are most of the code, and run once: without
/// this their pages stay, and are the larger part of the memory of a load.
pub(crate) fn forget_used_text() {
    // Where the kernel does not tell, they stay.
    let maps = Process::myself().and_then(|own| own.maps());
    maps.into_iter().flatten().filter(is_text).for_each(|map| forget(&map));
}

/// True if nobody writes to it, and nobody did: code, and the begin of a file with its constants. What follows the code may
/// have been relocated before it became read-only.
fn is_text(map: &MemoryMap) -> bool {
    let is_file = matches!(map.pathname, MMapPath::Path(_)) && map.inode != 0;
    let (may, must_not) = (map.perms, MMPermissions::WRITE | MMPermissions::SHARED);
    is_file
        && !may.intersects(must_not)
        && may.contains(MMPermissions::READ)
        && (may.contains(MMPermissions::EXECUTE) || map.offset == 0)
}

fn forget(map: &MemoryMap) {
    let (from, to) = map.address;
    let Ok(length) = usize::try_from(to - from) else { return };
    let from = std::ptr::with_exposed_provenance_mut(from as usize);
    // SAFETY: the range is one mapping of this process, as the kernel told. It is a private mapping of a file that cannot
    // be written to and never was (`is_text`), so each page of it is the file's: after this call the same bytes are read
    // from there at the next use, by whichever thread, and no object of Rust's has changed.
    let _ = unsafe { madvise(from, length, Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_pages() -> u64 {
        Process::myself().and_then(|own| own.statm()).expect("the kernel tells").shared
    }

    #[test]
    fn what_the_caller_has_open_is_not_handed_on() {
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let handed_on = rustix::io::dup(&file).expect("one more");
        assert_eq!(fcntl_getfd(&handed_on), Ok(FdFlags::empty()), "a child would have it");
        keep_inherited_descriptors();
        assert_eq!(fcntl_getfd(&handed_on), Ok(FdFlags::CLOEXEC));
        assert_eq!(fcntl_getfd(std::io::stderr()).map(|flags| flags.contains(FdFlags::CLOEXEC)), Ok(false));
    }

    #[test]
    fn used_text_leaves_memory_and_comes_back() {
        // Code and constants of the largest part of this program are used once.
        let words = std::hint::black_box(include_str!("../../../docs/reference/results.md"));
        let before = words.bytes().map(u64::from).sum::<u64>();
        let used = file_pages();
        forget_used_text();
        assert!(file_pages() < used, "{} of {used} pages stayed", file_pages());
        assert_eq!(words.bytes().map(u64::from).sum::<u64>(), before);
    }

    #[test]
    fn what_may_have_been_written_to_stays() {
        let maps = Process::myself().and_then(|own| own.maps()).expect("the kernel tells");
        let own = std::env::current_exe().expect("a program");
        let of_program = maps.into_iter().filter(|map| map.pathname == MMapPath::Path(own.clone()));
        let (text, rest): (Vec<_>, Vec<_>) = of_program.partition(is_text);
        assert!(text.iter().any(|map| map.perms.contains(MMPermissions::EXECUTE)), "{text:?}");
        let relocated = rest.iter().filter(|map| !map.perms.contains(MMPermissions::WRITE));
        assert!(relocated.count() > 0, "relocations that became read-only are not text: {rest:?}");
    }
}
