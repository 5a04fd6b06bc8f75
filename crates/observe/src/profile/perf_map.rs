//! The list of functions that a just-in-time compiler leaves in `/tmp/perf-PID.map`: a line for each, with where it begins, its
//! length, both hexadecimal, and its name (`tools/perf/Documentation/jit-interface.txt` of Linux).
//!
//! Anyone may write to `/tmp`, so that it is a regular file of the process' own user or none, and it is read line by line.

use procfs::process::Process;
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;

/// Largest list; bytes. Compilers of large programs leave some 10 MB.
const LIST_MAX_BYTES: u64 = 64 << 20;
/// What is read of a line; bytes. The rest of a longer one is passed over.
const LINE_MAX_BYTES: u64 = 4 << 10;

/// Names of the addresses that a process has functions for in its list; none where it has no list.
///
/// # Errors
/// When there is a list that is not read, for a reason.
pub(super) fn names(pid: u32, addresses: &BTreeSet<u64>) -> Result<HashMap<u64, String>, String> {
    match open_list(pid)? {
        Some(list) => find(BufReader::new(list), addresses).map_err(|error| error.to_string()),
        None => Ok(HashMap::new()),
    }
}

/// The list of a process, which calls itself by its number in its own container and sees its own `/tmp`.
fn open_list(pid: u32) -> Result<Option<File>, String> {
    let status = Process::new(pid.cast_signed()).and_then(|process| process.status());
    let Ok(status) = status else { return Ok(None) };
    let own_number =
        status.nspid.as_ref().and_then(|numbers| numbers.last().copied()).unwrap_or_else(|| pid.cast_signed());
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(root) = open(format!("/proc/{pid}/root"), flags, Mode::empty()) else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = format!("tmp/perf-{own_number}.map");
    match openat2(&root, path, flags, Mode::empty(), within) {
        Ok(list) => checked(File::from(list), status.euid).map(Some),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).to_string()),
    }
}

/// The file, if it may be the list of a process of `user`.
fn checked(list: File, user: u32) -> Result<File, String> {
    let about = list.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no regular file".into());
    }
    // Root may have made it for a server that has become another user since.
    if about.uid() != user && about.uid() != 0 {
        return Err(format!("it belongs to user {}, and the process to user {user}", about.uid()));
    }
    if about.len() > LIST_MAX_BYTES {
        return Err(format!("it has more than {LIST_MAX_BYTES} bytes"));
    }
    Ok(list)
}

/// The names of `addresses` in a list. Where code was replaced, the last line is right.
pub(crate) fn find(list: impl BufRead, addresses: &BTreeSet<u64>) -> io::Result<HashMap<u64, String>> {
    let (mut list, mut line) = (list.take(LIST_MAX_BYTES), Vec::new());
    let mut found = HashMap::new();
    while read_line(&mut list, &mut line)? {
        let Some((begin, end, name)) = std::str::from_utf8(&line).ok().and_then(parse) else { continue };
        for address in addresses.range(begin..end) {
            found.insert(*address, name.to_owned());
        }
    }
    Ok(found)
}

/// The begin of the next line, without its end. False where there is none.
fn read_line(list: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if list.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.pop_if(|last| *last == b'\n').is_none() {
        list.skip_until(b'\n')?;
    }
    Ok(true)
}

/// Begin, end and name of a function.
fn parse(line: &str) -> Option<(u64, u64, &str)> {
    let (begin, rest) = line.split_once(' ')?;
    let (length, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok();
    let begin = number(begin)?;
    let end = begin.checked_add(number(length)?)?;
    (begin < end && !name.is_empty()).then_some((begin, end, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn functions_are_found_by_the_addresses_inside_them() {
        let list = "1000 20 first\n0x1020 0x10 second one\n1000 10 replaced\nno line\n2000 0 empty\nffffffffffffffff 5 wraps\n";
        let found =
            find(list.as_bytes(), &BTreeSet::from([0xfff, 0x1000, 0x1018, 0x102f, 0x1030, 0x2000, u64::MAX])).unwrap();
        let name = |address| found.get(&address).map(String::as_str);
        assert_eq!((name(0x1000), name(0x1018), name(0x102f)), (Some("replaced"), Some("first"), Some("second one")));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_and_hides_no_other() {
        let long = "y".repeat(1 << 20);
        let list = format!("1000 10 {long}\n2000 10 next\n");
        let found = find(list.as_bytes(), &BTreeSet::from([0x1000, 0x2000])).unwrap();
        assert!(found[&0x1000].len() < LINE_MAX_BYTES as usize && found[&0x2000] == "next");
        assert!(find(BufReader::new(io::repeat(b'z')), &BTreeSet::new()).unwrap().is_empty());
    }

    #[test]
    fn a_list_is_a_file_of_the_user_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"1000 10 a\n").unwrap();
        let user = file.metadata().unwrap().uid();
        let check = |user| checked(File::open(&path).unwrap(), user).map(drop);
        assert_eq!(check(user), Ok(()));
        if user == 0 {
            chown(&path, Some(12_345), None).unwrap();
            assert_eq!(check(65_534).unwrap_err(), "it belongs to user 12345, and the process to user 65534");
            chown(&path, Some(0), None).unwrap();
        } else {
            assert!(check(user + 1).unwrap_err().contains("belongs to user"));
        }
        file.set_len(LIST_MAX_BYTES + 1).unwrap();
        assert!(check(user).unwrap_err().contains("more than"));
        assert!(checked(File::open(folder.path()).unwrap(), user).unwrap_err().contains("no regular file"));
    }

    /// A measurement of root's hung where another user had made a pipe there.
    #[test]
    fn a_pipe_or_a_link_in_place_of_the_list_holds_nobody_up() {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let remove = || drop(std::fs::remove_file(&path));
        remove();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let of_pipe = names(std::process::id(), &BTreeSet::from([1]));
        remove();
        symlink("/dev/zero", &path).unwrap();
        let of_link = names(std::process::id(), &BTreeSet::from([1]));
        remove();
        assert_eq!(of_pipe.unwrap_err(), "it is no regular file");
        assert!(of_link.is_err(), "no link is followed");
        assert!(names(std::process::id(), &BTreeSet::from([1])).unwrap().is_empty(), "there is no list");
    }
}
