//! A user for one server alone: a number that no account, no process and no other state directory has. Servers of one user can
//! read and end each other, and so could a page that has broken out of its browser.
//!
//! The user has no name. Whatever needs one fails, and is run as a user of the machine instead (`user` of a server).

use crate::account::{self, Account};
use crate::error::StackError;
use crate::state;
use procfs::process::all_processes;
use rustix::process::geteuid;
use rustls::crypto::ring;
use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The numbers that systemd keeps for dynamic users, and no distribution gives to an account (systemd.exec(5), `DynamicUser`).
const NUMBERS: RangeInclusive<u32> = 61_184..=65_519;

/// The user that was asked for; else one of its own where root may become one, or as [`Account::choose`] decides.
pub(crate) fn choose(asked: Option<&str>) -> Result<Option<Account>, StackError> {
    if asked.is_some() || !geteuid().is_root() {
        return Account::choose(asked);
    }
    // Nothing is made yet: a program that is missing leaves nothing behind.
    let base = if state::has_base() { Some(state::base()?) } else { None };
    match own(&taken(base.as_deref()), random()).filter(|own| account::may_become(own.uid)) {
        Some(own) => Ok(Some(own)),
        None => Account::choose(None),
    }
}

/// The first free one from a random one on, so that two plimsolls which look at the same time hardly choose the same.
fn own(taken: &BTreeSet<u32>, random: u32) -> Option<Account> {
    let count = NUMBERS.end() - NUMBERS.start() + 1;
    let mut all = (0..count).map(|n| NUMBERS.start() + (random % count + n) % count);
    let number = all.find(|number| !taken.contains(number))?;
    Some(Account { name: number.to_string(), group: number.to_string(), uid: number, gid: number })
}

/// Without random numbers two plimsolls choose the same more often, and that is all.
fn random() -> u32 {
    let mut bytes = [0; 4];
    let _ = ring::default_provider().secure_random.fill(&mut bytes);
    u32::from_ne_bytes(bytes)
}

/// Numbers that belong to somebody: an account or a group, a process, or a state directory in `base` whose server has ended.
fn taken(base: Option<&Path>) -> BTreeSet<u32> {
    let listed = ["/etc/passwd", "/etc/group"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let mut taken: BTreeSet<u32> = listed.iter().flat_map(|text| numbers(text)).collect();
    let processes = all_processes().into_iter().flatten().flatten();
    taken.extend(processes.filter_map(|process| process.status().ok()).flat_map(|s| [s.ruid, s.euid, s.suid, s.fuid]));
    let directories = base.and_then(|base| fs::read_dir(base).ok()).into_iter().flatten().flatten();
    taken.extend(directories.filter_map(|entry| entry.metadata().ok()).map(|found| found.gid()));
    taken
}

/// The third field of each line: that of the number in both files.
fn numbers(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_somebody_has_is_not_given_out() {
        let [first, last] = [*NUMBERS.start(), *NUMBERS.end()];
        let at = |taken: &[u32], random| own(&taken.iter().copied().collect(), random).map(|own| own.uid);
        assert_eq!(at(&[], 0), Some(first));
        assert_eq!(at(&[first, first + 1], 0), Some(first + 2));
        assert_eq!(at(&[last], last - first), Some(first), "it begins again at the first");
        assert_eq!(at(&NUMBERS.collect::<Vec<_>>(), 7), None);
        assert!(at(&[], u32::MAX).is_some_and(|uid| NUMBERS.contains(&uid)));
    }

    #[test]
    fn accounts_groups_processes_and_directories_have_their_numbers() {
        assert_eq!(numbers("root:x:0:0:root:/root:/bin/sh\nbroken\nshop:x:61200:100::/:/bin/sh\n"), [0, 61_200]);
        let base = tempfile::tempdir().expect("a directory");
        let directory = base.path().join("nginx-1");
        fs::create_dir(&directory).expect("a directory in it");
        if geteuid().is_root() {
            std::os::unix::fs::chown(&directory, None, Some(61_300)).expect("root may");
        }
        let taken = taken(Some(base.path()));
        assert!(taken.contains(&0) && taken.contains(&geteuid().as_raw()), "root and we");
        assert_eq!(taken.contains(&61_300), geteuid().is_root());
    }
}
