//! The process that reads program files and their debug information, which whoever runs a program has written. It has no
//! rights, little memory and little time, so that a file can take nothing but its own names away.

use super::exchange::{
    ADDRESSES_MAX, ANSWER_NAMES_MAX_BYTES, Answer, NAME_MAX_BYTES, NAMES_MAX, Of, Question, receive, send,
};
use blazesym::Pid;
use blazesym::symbolize::source::{Elf, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer};
use procfs::process::MMapPath;
use rustix::fs::{Gid, Uid};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, geteuid, set_dumpable_behavior, set_parent_process_death_signal,
    setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_name, set_no_new_privs, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

/// Memory of its own; bytes. Files that it maps do not count.
const MEMORY_MAX_BYTES: u64 = 1 << 30;
/// CPU time after which the kernel ends it; s. Whoever asks waits less.
const CPU_MAX_S: u64 = 300;
/// Descriptors: its socket, the file of a question, and the files with debug information that belong to it.
const FILES_MAX: u64 = 64;
/// Users that no system gives out (<https://systemd.io/UIDS-GIDS>, "unused"), from which each process takes one of its own: what
/// runs as `nobody` could trace it and end it.
const OWN_USERS: u32 = 1_900_000_000;
/// A container may have no other user than this one.
const NOBODY: u32 = 65_534;

/// Answers questions on stdin, which is a socket, until it is closed. `main` of the process.
#[must_use]
pub fn read_names() -> ExitCode {
    let answered = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).and_then(|socket| {
        match confine() {
            Ok(()) => send(&socket, &Answer::Ready, None)?,
            Err(error) => return send(&socket, &Answer::Refused(error.to_string()), None),
        }
        answer_all(&socket)
    });
    if answered.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Gives up all rights, and sets the limits.
fn confine() -> io::Result<()> {
    let limit = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, FILES_MAX)?;
    limit(Resource::Cpu, CPU_MAX_S)?;
    limit(Resource::Data, MEMORY_MAX_BYTES)?;
    // Where memory runs out all the same, the kernel takes this process first. Where that cannot be said, the limit stands.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    set_name(c"plimsoll-names")?;
    set_no_new_privs(true)?;
    if geteuid().is_root() {
        become_nobody();
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // Others of the same user may not look into its memory. A change of the user has ended both, so that they come last.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Becomes a user that owns nothing. Root of a container whose only user it is stays, and is an ordinary user outside.
fn become_nobody() {
    let own = OWN_USERS + std::process::id();
    let becomes = |id: u32| {
        let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
        set_thread_groups(&[])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)
    };
    let _ = becomes(own).or_else(|_| becomes(NOBODY));
}

fn answer_all(socket: &UnixStream) -> io::Result<()> {
    let mut file = None;
    while let Some((question, sent)) = receive::<Question>(socket, || Ok(None))? {
        let Question { of, addresses } = question;
        if addresses.len() > ADDRESSES_MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        if of == Of::NewFile {
            // The one before is closed, with all that was read of it.
            file = sent.map(|sent| (sent, Symbolizer::builder().enable_demangling(false).build()));
        }
        let names = match (of, &file) {
            (Of::Vdso, _) => of_vdso(&addresses),
            (_, Some((file, symbolizer))) => of_file(symbolizer, file, &addresses),
            (_, None) => vec![Vec::new(); addresses.len()],
        };
        send(socket, &Answer::Names(names), None)?;
    }
    Ok(())
}

fn of_file(symbolizer: &Symbolizer, file: &OwnedFd, offsets: &[u64]) -> Vec<Vec<String>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let found = symbolizer.symbolize(&Source::Elf(Elf::new(path)), Input::FileOffset(offsets));
    names(&found.unwrap_or_default(), offsets.len())
}

/// All processes have the same.
fn of_vdso(offsets: &[u64]) -> Vec<Vec<String>> {
    let maps = procfs::process::Process::myself().and_then(|own| own.maps()).into_iter().flatten();
    let begin = maps.into_iter().find(|map| map.pathname == MMapPath::Vdso).map(|map| map.address.0);
    let addresses: Vec<u64> = offsets.iter().map(|offset| begin.unwrap_or(0).saturating_add(*offset)).collect();
    let mut own = Process::new(Pid::Slf);
    own.perf_map = false;
    let found = begin.and_then(|_| {
        Symbolizer::new()
            .symbolize(&Source::Process(own), Input::AbsAddr(&addresses))
            .map(|found| names(&found, offsets.len()))
            .ok()
    });
    found.unwrap_or_else(|| vec![Vec::new(); offsets.len()])
}

/// The names of each address, within the bounds of an answer.
fn names(found: &[Symbolized<'_>], addresses: usize) -> Vec<Vec<String>> {
    let mut left_bytes = ANSWER_NAMES_MAX_BYTES;
    let mut all: Vec<Vec<String>> = found
        .iter()
        .map(|found| match found {
            Symbolized::Sym(symbol) => within(&mut left_bytes, of_symbol(symbol)),
            Symbolized::Unknown(_) => Vec::new(),
        })
        .collect();
    all.resize_with(addresses, Vec::new);
    all
}

fn of_symbol(symbol: &Sym<'_>) -> Vec<String> {
    let inlined = symbol.inlined.iter().map(|inlined| &*inlined.name);
    let names = std::iter::once(&*symbol.name).chain(inlined).take(NAMES_MAX);
    names
        .map(|name| {
            let mut name = demangled(name);
            name.truncate(name.floor_char_boundary(NAME_MAX_BYTES));
            name
        })
        .collect()
}

/// A name as it stands in the source.
///
/// What does not begin as the mangled names of C++ and Rust do is such a name already: `f` and `Ss` are functions of C, and a
/// demangler that is asked for them answers with types of C++.
fn demangled(name: &str) -> String {
    let is_mangled = ["_Z", "__Z", "_R"].iter().any(|prefix| name.starts_with(prefix));
    let of_rust = || rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
    let of_cpp = || cpp_demangle::Symbol::new(name).ok()?.demangle().ok();
    is_mangled.then(|| of_rust().or_else(of_cpp)).flatten().unwrap_or_else(|| name.to_owned())
}

/// The names, unless there is no room for them in the answer.
fn within(left_bytes: &mut usize, names: Vec<String>) -> Vec<String> {
    match left_bytes.checked_sub(names.iter().map(String::len).sum()) {
        Some(left) => {
            *left_bytes = left;
            names
        }
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::demangled;

    /// Functions of C that were called `f` and `Ss` stood in profiles as `float` and `std::string`.
    #[test]
    fn names_of_c_stay_and_those_of_other_languages_are_read() {
        for (name, shown) in [
            ("f", "f"),
            ("Ss", "Ss"),
            ("v", "v"),
            ("_start", "_start"),
            ("_Z3foov", "foo()"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_Znot mangled", "_Znot mangled"),
        ] {
            assert_eq!(demangled(name), shown);
        }
    }
}
