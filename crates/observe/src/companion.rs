//! Processes that were asked for: by name, by number, by place in the tree, by where they listen, or by control group.

use crate::control_group;
use crate::cpu_accounting::Seen;
use crate::files::Files;
use crate::group::Group;
use crate::listener::Listener;
use crate::listening::{Listening, Unfound};
use crate::processes::{self, Present};
use crate::selector::{Parent, ProcessSelector, SelectError, is_named};
use crate::socket_owners::SocketOwners;
use crate::sockets::SocketTable;
use model::{Address, ServerUse, Sockets};
use std::collections::BTreeSet;

/// More processes of one name than a companion may have at its first sample: the name says too little.
const FOUND_MAX: usize = 2000;
/// Generations that are followed: more than any server has, and an end should the kernel's numbers form a ring.
const GENERATIONS_MAX: usize = 64;

/// What was asked for, at the sample before.
#[derive(Debug)]
pub(crate) struct Companion {
    wanted: ProcessSelector,
    /// Of one that is known by where it listens.
    endpoint: Option<Door>,
    group: Group,
    /// Of one that was found by its sockets: its processes, without their descendants.
    roots: BTreeSet<i32>,
}

/// Where it listens.
#[derive(Debug)]
struct Door {
    listener: Listener,
    socket_owners: SocketOwners,
    table: SocketTable,
    /// At this sample.
    listening: Result<Listening, Unfound>,
}

impl Companion {
    pub(crate) fn new(wanted: ProcessSelector) -> Self {
        let listener = match &wanted {
            ProcessSelector::Port(port) => Some(Listener::on_port(*port)),
            ProcessSelector::Behind(address) => Some(Listener::new(address.clone(), true)),
            _ => None,
        };
        Self { wanted, endpoint: listener.map(Door::new), group: Group::default(), roots: BTreeSet::new() }
    }

    /// One that nobody has asked for: processes behind the server, to be named by [`connect`](Self::connect). The descendants of
    /// those of them that stand `alone` do not belong to it.
    pub(crate) fn connected(label: String, alone: BTreeSet<i32>) -> Self {
        Self { group: Group::standing_alone(alone), ..Self::new(ProcessSelector::Connected { label }) }
    }

    /// From now on these processes belong to it too.
    pub(crate) fn connect(&mut self, pid: i32) {
        self.roots.insert(pid);
    }

    /// True if nobody has asked for it.
    pub(crate) const fn is_connected(&self) -> bool {
        matches!(self.wanted, ProcessSelector::Connected { .. })
    }

    pub(crate) fn label(&self) -> String {
        self.wanted.label()
    }

    pub(crate) const fn group(&self) -> &Group {
        &self.group
    }

    /// Looks where it listens, which comes before the sample of processes; whether all of these have to be looked at.
    pub(crate) fn listen(&mut self) -> bool {
        let Some(endpoint) = &mut self.endpoint else { return false };
        endpoint.listening = endpoint.listener.sample(&mut endpoint.table);
        endpoint.listening.as_ref().is_ok_and(|listening| endpoint.socket_owners.is_stranger_to(listening))
    }

    /// Counts from now on.
    pub(crate) fn start(&mut self, present: &Present, taken: &BTreeSet<i32>, now_ns: u64) {
        if self.find(present, taken).is_ok() {
            self.group.start(present, now_ns);
        }
    }

    /// What it used since the sample before; none for a part that is the server itself.
    pub(crate) fn sample(
        &mut self,
        present: &Present,
        taken: &BTreeSet<i32>,
        now_ns: u64,
    ) -> Result<Option<ServerUse>, SelectError> {
        match (self.find(present, taken), self.group.is_empty(), &self.wanted) {
            (_, false, _) => Ok(Some(self.group.sample(present, now_ns))),
            (Err(SelectError::OfServer), true, ProcessSelector::Part { .. } | ProcessSelector::Connected { .. }) => {
                Ok(None)
            }
            (found, true, _) => found.map(|()| None),
        }
    }

    /// The sockets of where it listens; none for one that is known otherwise.
    pub(crate) fn sockets(&mut self) -> Option<Result<Sockets, Unfound>> {
        let endpoint = self.endpoint.as_mut()?;
        let listening = endpoint.listening.as_ref().ok()?;
        Some(match &self.wanted {
            ProcessSelector::Behind(Address::Unix(_)) => Ok(listening.accept_only()),
            _ => endpoint.listener.sockets(&mut endpoint.table, Some(listening)),
        })
    }

    /// Takes in the processes that have joined, and the descendants of all members.
    fn find(&mut self, present: &Present, taken: &BTreeSet<i32>) -> Result<(), SelectError> {
        let met = self.met(present);
        let all = met.iter().flatten().copied();
        let (elsewhere, mut found): (Vec<i32>, Vec<i32>) = all.partition(|pid| taken.contains(pid));
        let outcome = match &self.wanted {
            ProcessSelector::Name(name) if found.len() > FOUND_MAX => {
                Err(SelectError::TooMany { name: name.clone(), found: std::mem::take(&mut found).len() })
            }
            _ if found.is_empty() && !elsewhere.is_empty() => Err(SelectError::OfServer),
            _ => met.map(drop),
        };
        self.group.adopt(found, present, taken);
        outcome
    }

    /// The processes that are meant by themselves and not as descendants, at least one unless some are watched already.
    pub(crate) fn met(&mut self, present: &Present) -> Result<Vec<i32>, SelectError> {
        if let Some(endpoint) = &mut self.endpoint {
            return endpoint.met(present, &self.group);
        }
        let own = std::process::id().cast_signed();
        let all = |is_met: &dyn Fn(&Seen) -> bool, unmet: SelectError| {
            let met = present.all.values().filter(|seen| seen.pid != own && is_met(seen));
            some(met.map(|seen| seen.pid).collect(), unmet)
        };
        match &self.wanted {
            ProcessSelector::Process(pid) | ProcessSelector::Part { pid, .. } => {
                all(&|seen| seen.pid == *pid, SelectError::Gone(*pid))
            }
            ProcessSelector::Connected { .. } => all(&|seen| self.roots.contains(&seen.pid), SelectError::Ended),
            ProcessSelector::Name(name) => all(&|seen| is_named(seen, name), SelectError::NoName(name.clone())),
            ProcessSelector::Under { name, parent } => {
                let unmet = SelectError::NotUnder { name: name.clone(), parent: parent.to_string() };
                all(&|seen| is_named(seen, name) && descends_from(seen, parent, present), unmet)
            }
            ProcessSelector::Cgroup(path) => {
                let members = control_group::processes(&Files::default(), path)?;
                all(&|seen| members.contains(&seen.pid), SelectError::EmptyCgroup(path.clone()))
            }
            // These have an endpoint.
            ProcessSelector::Port(_) | ProcessSelector::Behind(_) => Ok(Vec::new()),
        }
    }
}

impl Door {
    fn new(listener: Listener) -> Self {
        Self {
            listener,
            socket_owners: SocketOwners::default(),
            table: SocketTable::default(),
            listening: Err(Unfound::Resting),
        }
    }

    /// Who holds its sockets and is not in `group` yet.
    fn met(&mut self, present: &Present, group: &Group) -> Result<Vec<i32>, SelectError> {
        let listening = self.listening.as_ref().map_err(Unfound::clone)?;
        let found = self.socket_owners.find(present, listening, group);
        if !found.is_empty() || !group.is_empty() {
            return Ok(found);
        }
        some(self.socket_owners.known(), self.socket_owners.unfound(listening).into())
    }
}

fn some(found: Vec<i32>, unmet: SelectError) -> Result<Vec<i32>, SelectError> {
    if found.is_empty() { Err(unmet) } else { Ok(found) }
}

/// True if a process is below another.
fn descends_from(seen: &Seen, parent: &Parent, present: &Present) -> bool {
    // In samples that leave other processes out those above may not be there.
    let look = |pid: i32| present.all.get(&pid).cloned().or_else(|| processes::seen(pid));
    let above = std::iter::successors(look(seen.ppid), |above| look(above.ppid));
    above.take(GENERATIONS_MAX).any(|above| match parent {
        Parent::Process(pid) => above.pid == *pid,
        Parent::Name(name) => is_named(&above, name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are above the largest that Linux gives out: this process is none of them.
    fn present(processes: &[(i32, i32, &str)]) -> Present {
        let seen =
            |&(pid, ppid, name): &(i32, i32, &str)| (pid, Seen { pid, ppid, name: name.into(), ..Seen::default() });
        Present { all: processes.iter().map(seen).collect(), ..Present::default() }
    }

    #[track_caller]
    fn pids(wanted: &str, processes: &[(i32, i32, &str)]) -> Result<Vec<i32>, SelectError> {
        let mut companion = Companion::new(ProcessSelector::parse(wanted).unwrap());
        companion.sample(&present(processes), &[5_000_009].into(), 1).map(|_| companion.group.pids())
    }

    #[test]
    fn names_may_be_followed_by_a_version_and_be_cut_by_the_kernel() {
        let all = [
            (5_000_002, 1, "php-fpm8.2"),
            (5_000_003, 5_000_002, "sh"),
            (5_000_004, 1, "php-fpm-exporte"),
            (5_000_005, 1, "mariadbd"),
            (5_000_006, 1, "maria"),
        ];
        assert_eq!(pids("php-fpm", &all), Ok(vec![5_000_002, 5_000_003]), "and descendants of any name");
        assert_eq!(pids("php-fpm-exporter", &all), Ok(vec![5_000_004]));
        assert_eq!(pids("maria", &all), Ok(vec![5_000_006]));
        assert_eq!(pids("5000005", &all), Ok(vec![5_000_005]));
    }

    #[test]
    fn names_below_a_process_are_told_from_the_same_elsewhere() {
        let all = [
            (5_000_020, 1, "run"),
            (5_000_021, 5_000_020, "sh"),
            (5_000_022, 5_000_021, "php"),
            (5_000_023, 5_000_022, "helper"),
            (5_000_030, 1, "php"),
            (5_000_031, 5_000_030, "php"),
        ];
        assert_eq!(pids("php under 5000020", &all), Ok(vec![5_000_022, 5_000_023]), "at any depth, and with its own");
        assert_eq!(pids("php under run", &all), Ok(vec![5_000_022, 5_000_023]));
        assert_eq!(pids("php under php", &all), Ok(vec![5_000_031]));
        let none = pids("php under sh2", &all);
        assert_eq!(none, Err(SelectError::NotUnder { name: "php".into(), parent: "sh2".into() }));
    }

    #[test]
    fn what_is_not_there_has_its_reason() {
        let all = [(5_000_002, 1, "nginx"), (5_000_009, 1, "redis")];
        assert_eq!(pids("5000007", &all), Err(SelectError::Gone(5_000_007)));
        assert_eq!(pids("mysqld", &all), Err(SelectError::NoName("mysqld".into())));
        assert_eq!(pids("redis", &all), Err(SelectError::OfServer), "it is taken");
        assert_eq!(pids("cgroup:/no/such", &all), Err(SelectError::NoCgroup("/no/such".into())));
        let crowd: Vec<_> = (0..=FOUND_MAX as i32).map(|n| i32::MAX - n).map(|pid| (pid, 1, "sh")).collect();
        assert!(matches!(pids("sh", &crowd), Err(SelectError::TooMany { found, .. }) if found == FOUND_MAX + 1));
    }

    #[test]
    fn a_part_that_is_the_server_itself_is_left_to_it() {
        let part = |pid| Companion::new(ProcessSelector::Part { label: "nginx".into(), pid });
        let now = present(&[(5_000_009, 1, "nginx"), (5_000_002, 1, "php-fpm")]);
        assert_eq!(part(5_000_009).sample(&now, &[5_000_009].into(), 1), Ok(None));
        assert!(part(5_000_002).sample(&now, &[5_000_009].into(), 1).unwrap().is_some());
        assert_eq!(part(5_000_007).sample(&now, &[5_000_009].into(), 1), Err(SelectError::Gone(5_000_007)));
    }

    #[test]
    fn the_own_process_is_no_companion() {
        let own = std::process::id().cast_signed();
        assert_eq!(pids(&own.to_string(), &[(own, 1, "observe")]), Err(SelectError::Gone(own)));
    }
}
