//! Processes that were asked for beside the server, by name or by number.

use crate::group::Group;
use crate::ledger::Seen;
use crate::processes::Present;
use model::ServerUse;
use std::collections::BTreeSet;
use thiserror::Error;

/// The kernel keeps this much of a process's name.
const NAME_MAX_BYTES: usize = 15;
/// More processes of one name than a companion may have at its first look: the name says too little.
const FOUND_MAX: usize = 2000;

/// Processes that are watched beside the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of this name, and their descendants. A version may follow it: `php-fpm` is `php-fpm8.2` too.
    Name(String),
    /// The process of this number, and its descendants.
    Process(i32),
    /// A process that was started together with the server, and its descendants: unless they are the server itself.
    Part {
        /// What it is shown by.
        label: String,
        /// Its number.
        pid: i32,
    },
}

impl Wanted {
    /// A number is that of a process, everything else a name. None for a number that no process can have, and for
    /// nothing at all.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse::<i64>() {
            Ok(number) => i32::try_from(number).ok().filter(|pid| *pid > 0).map(Self::Process),
            Err(_) => (!text.trim().is_empty()).then(|| Self::Name(text.to_owned())),
        }
    }

    /// What it is shown by.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Name(label) | Self::Part { label, .. } => label.clone(),
            Self::Process(pid) => pid.to_string(),
        }
    }

    fn is_met_by(&self, seen: &Seen) -> bool {
        match self {
            Self::Process(pid) | Self::Part { pid, .. } => seen.pid == *pid,
            Self::Name(name) => {
                let kept = name.char_indices().take_while(|(at, c)| at + c.len_utf8() <= NAME_MAX_BYTES).count();
                let kept: String = name.chars().take(kept).collect();
                seen.name.strip_prefix(&kept).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
            }
        }
    }
}

/// Why nothing is known of a companion.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unmet {
    #[error("no process {0} runs on this machine")]
    Gone(i32),
    #[error("no process on this machine is named {0:?}; ps -A -o comm lists their names")]
    NoName(String),
    #[error("{found} processes are named {name:?}, more than can be watched; give the number of the one that is meant")]
    TooMany { name: String, found: usize },
    #[error("its processes belong to the server and are shown there")]
    OfServer,
}

/// A companion at the look before.
#[derive(Debug)]
pub(crate) struct Companion {
    wanted: Wanted,
    group: Group,
}

impl Companion {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, group: Group::default() }
    }

    pub(crate) fn label(&self) -> String {
        self.wanted.label()
    }

    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// Counts from now on.
    pub(crate) fn start(&mut self, present: &Present, taken: &BTreeSet<i32>, now_ns: u64) {
        if self.find(present, taken).is_ok() {
            self.group.start(present, now_ns);
        }
    }

    /// What it used since the look before; none for a part that is the server itself.
    pub(crate) fn look(
        &mut self,
        present: &Present,
        taken: &BTreeSet<i32>,
        now_ns: u64,
    ) -> Result<Option<ServerUse>, Unmet> {
        match (self.find(present, taken), self.group.is_empty(), &self.wanted) {
            (_, false, _) => Ok(Some(self.group.look(present, now_ns))),
            (Err(Unmet::OfServer), true, Wanted::Part { .. }) => Ok(None),
            (found, true, _) => found.map(|()| None),
        }
    }

    fn find(&mut self, present: &Present, taken: &BTreeSet<i32>) -> Result<(), Unmet> {
        let own = std::process::id().cast_signed();
        let met = present.all.values().filter(|seen| seen.pid != own && self.wanted.is_met_by(seen));
        let (elsewhere, found): (Vec<i32>, Vec<i32>) = met.map(|seen| seen.pid).partition(|pid| taken.contains(pid));
        if found.len() > FOUND_MAX {
            return Err(Unmet::TooMany { name: self.label(), found: found.len() });
        }
        let unmet = match (&self.wanted, found.is_empty(), elsewhere.is_empty()) {
            (_, false, _) => None,
            (_, true, false) => Some(Unmet::OfServer),
            (Wanted::Process(pid) | Wanted::Part { pid, .. }, true, true) => Some(Unmet::Gone(*pid)),
            (Wanted::Name(name), true, true) => Some(Unmet::NoName(name.clone())),
        };
        self.group.adopt(found, present, taken);
        unmet.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(processes: &[(i32, i32, &str)]) -> Present {
        let seen =
            |&(pid, ppid, name): &(i32, i32, &str)| (pid, Seen { pid, ppid, name: name.into(), ..Seen::default() });
        Present { all: processes.iter().map(seen).collect(), ..Present::default() }
    }

    #[track_caller]
    fn pids(wanted: &str, processes: &[(i32, i32, &str)]) -> Result<Vec<i32>, Unmet> {
        let mut companion = Companion::new(Wanted::parse(wanted).unwrap());
        companion.look(&present(processes), &[9].into(), 1).map(|_| companion.group.pids())
    }

    #[test]
    fn names_may_be_followed_by_a_version_and_be_cut_by_the_kernel() {
        let all = [(2, 1, "php-fpm8.2"), (3, 2, "sh"), (4, 1, "php-fpm-exporte"), (5, 1, "mariadbd"), (6, 1, "maria")];
        assert_eq!(pids("php-fpm", &all), Ok(vec![2, 3]), "and descendants of any name");
        assert_eq!(pids("php-fpm-exporter", &all), Ok(vec![4]));
        assert_eq!(pids("maria", &all), Ok(vec![6]));
        assert_eq!(pids("5", &all), Ok(vec![5]));
    }

    #[test]
    fn what_is_not_there_has_its_reason() {
        let all = [(2, 1, "nginx"), (9, 1, "redis")];
        assert_eq!(pids("7", &all), Err(Unmet::Gone(7)));
        assert_eq!(pids("mysqld", &all), Err(Unmet::NoName("mysqld".into())));
        assert_eq!(pids("redis", &all), Err(Unmet::OfServer), "it is taken");
        let crowd: Vec<_> = (0..=FOUND_MAX as i32).map(|n| i32::MAX - n).map(|pid| (pid, 1, "sh")).collect();
        assert!(matches!(pids("sh", &crowd), Err(Unmet::TooMany { found, .. }) if found == FOUND_MAX + 1));
    }

    #[test]
    fn a_part_that_is_the_server_itself_is_left_to_it() {
        let part = |pid| Companion::new(Wanted::Part { label: "nginx".into(), pid });
        let now = present(&[(9, 1, "nginx"), (2, 1, "php-fpm")]);
        assert_eq!(part(9).look(&now, &[9].into(), 1), Ok(None));
        assert!(part(2).look(&now, &[9].into(), 1).unwrap().is_some());
        assert_eq!(part(7).look(&now, &[9].into(), 1), Err(Unmet::Gone(7)));
    }

    #[test]
    fn a_number_that_no_process_can_have_is_refused() {
        assert_eq!(["0", "-4", "99999999999", "", "  "].map(Wanted::parse), [const { None }; 5]);
        assert_eq!(Wanted::parse("7up"), Some(Wanted::Name("7up".into())));
    }

    #[test]
    fn the_own_process_is_no_companion() {
        let own = std::process::id().cast_signed();
        assert_eq!(pids(&own.to_string(), &[(own, 1, "observe")]), Err(Unmet::Gone(own)));
    }
}
