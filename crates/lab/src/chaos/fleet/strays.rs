//! Files and sockets that have no place on a machine of an agent.

use procfs::net::{TcpNetEntries, TcpState};
use procfs::{FromBufReadSI, current_system_info};
use std::fs::{read_dir, remove_dir_all};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The folder that agents may leave, below the home directory or the folder of caches, and the program in it.
const PRIVATE: &str = "plimsoll/agents";
const PROGRAM: &str = "plimsoll";
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;
/// Files deeper than this are told by their directory.
const DEPTH_MAX: usize = 6;
/// What the script in the place of ssh leaves in a home.
const NUMBERS: &str = "pid";

/// Removes the copies of the program, so that they are sent again, unless they are to stay.
pub(super) fn forget_copies(caches: &[PathBuf], is_new: bool) -> Result<(), String> {
    for cache in caches.iter().filter(|_| is_new) {
        match remove_dir_all(cache.join(PROGRAM)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("cannot remove the copies in {}: {error}", cache.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Files in a home or a folder of caches, but for the documented copy of the program. Who is killed while it takes the copy in
/// leaves what had come.
pub(super) fn files(home: &Path, was_killed: bool) -> Vec<String> {
    let mut found = Vec::new();
    list(home, DEPTH_MAX, &mut found);
    let is_stray = |file: &&PathBuf| file.strip_prefix(home).is_ok_and(|below| !is_documented(below, was_killed));
    found.iter().filter(is_stray).map(|file| format!("left file {}", file.display())).collect()
}

fn list(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 {
            list(&entry.path(), depth - 1, found);
        } else {
            found.push(entry.path());
        }
    }
}

fn is_documented(below: &Path, may_be_part: bool) -> bool {
    let copy = below.strip_prefix(".cache").unwrap_or(below).strip_prefix(PRIVATE);
    let is_sum = |name: &str| name.len() == DIGITS && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    let words = copy.ok().and_then(Path::to_str).and_then(|copy| copy.split_once('/'));
    let is_part = |file: &str| may_be_part && file.strip_prefix(PROGRAM).is_some_and(|rest| rest.starts_with('.'));
    words.is_some_and(|(sum, file)| is_sum(sum) && (file == PROGRAM || is_part(file))) || below == Path::new(NUMBERS)
}

/// Addresses of the listening sockets in a table such as `/proc/net/tcp`.
pub(super) fn listening(table: &str) -> Result<Vec<SocketAddr>, String> {
    let all = TcpNetEntries::from_buf_read(table.as_bytes(), current_system_info());
    let TcpNetEntries(all) = all.map_err(|error| format!("cannot read sockets: {error}"))?;
    Ok(all.into_iter().filter(|entry| entry.state == TcpState::Listen).map(|entry| entry.local_address).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn the_documented_copy_may_stay_and_nothing_beside_it() {
        let home = tempfile::tempdir().expect("a directory");
        for cache in [".cache", "."] {
            let folder = home.path().join(cache).join(PRIVATE).join("a0".repeat(32));
            create_dir_all(&folder).expect("our own directory");
            write(folder.join("plimsoll"), "").expect("our own directory");
        }
        write(home.path().join("pid"), "7\n").expect("our own directory");
        assert_eq!(files(home.path(), false), Vec::<String>::new());
        let part = home.path().join(".cache").join(PRIVATE).join("a0".repeat(32)).join("plimsoll.77");
        write(&part, "").expect("our own directory");
        assert_eq!(files(home.path(), true), Vec::<String>::new(), "nobody could remove it");
        write(home.path().join("other"), "").expect("our own directory");
        let mut strays = files(home.path(), false);
        strays.sort();
        let expected = [&part, &home.path().join("other")].map(|path| format!("left file {}", path.display()));
        assert_eq!(strays, expected);
        assert_eq!(forget_copies(&[home.path().join(".cache"), "/nowhere".into()], true), Ok(()));
        assert!(!part.exists());
        assert_eq!(files("/nowhere".as_ref(), false), Vec::<String>::new());
    }

    #[test]
    fn sockets_that_listen_are_found_among_others() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n   \
                     1: 0100007F:1F91 0100007F:8AE2 01 00000000:00000000 00:00000000 00000000 0 0 8 1\n";
        assert_eq!(listening(table), Ok(vec!["127.0.0.1:8080".parse().expect("an address")]));
    }
}
