//! The server of another user, whose sockets this user may not see: told by the port's owner and the name in its answers.
//!
//! A name alone is no evidence. It is taken only for processes that hide their sockets, belong to the user who listens on the
//! target's port, are called what the server calls itself, and are one tree.

use crate::cpu_accounting::Seen;
use crate::listening::Listening;
use crate::processes::Present;
use crate::selector::is_named;
use procfs::process::Process;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Threads of the kernel are children of this process.
const KERNEL_THREADS: i32 = 2;
/// Servers whose processes are not called what they call themselves.
const ALIASES: [(&str, &str); 2] = [("apache", "httpd"), ("openresty", "nginx")];

/// Which processes do not show their sockets, asked once of each.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// With the time that the process began.
    asked: BTreeMap<i32, (u64, bool)>,
}

impl Hidden {
    /// Those of the processes that hide them.
    pub(crate) fn among(&mut self, present: &Present) -> BTreeSet<i32> {
        let mut hidden = BTreeSet::new();
        for seen in present.all.values().filter(|seen| seen.pid != KERNEL_THREADS && seen.ppid != KERNEL_THREADS) {
            let known = self.asked.get(&seen.pid).filter(|(began, _)| *began == seen.began);
            let is_hidden = known.map_or_else(|| hides(seen.pid), |(_, is_hidden)| *is_hidden);
            self.asked.insert(seen.pid, (seen.began, is_hidden));
            if is_hidden {
                hidden.insert(seen.pid);
            }
        }
        self.asked.retain(|pid, _| !present.is_complete || present.all.contains_key(pid));
        hidden
    }
}

/// True if a process does not show its descriptors to this user.
fn hides(pid: i32) -> bool {
    let listed = std::fs::read_dir(format!("/proc/{pid}/fd"));
    listed.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// The first process of the server that calls itself `product`, and listens with these sockets.
pub(crate) fn server(present: &Present, listening: &Listening, product: &str) -> Option<i32> {
    let hidden = Hidden::default().among(present);
    let uid = |pid: i32| Some(Process::new(pid).ok()?.status().ok()?.euid);
    let called = present.all.values().filter(|seen| hidden.contains(&seen.pid) && is_called(seen, product));
    only_tree(&called.collect::<Vec<_>>()).filter(|pid| uid(*pid) == Some(listening.uid))
}

/// True if a process has the name of a server that says `Server: product`.
fn is_called(seen: &Seen, product: &str) -> bool {
    let token: String = product.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
    let token = token.to_lowercase();
    let alias = ALIASES.iter().find(|(product, _)| *product == token).map(|(_, name)| *name);
    !token.is_empty() && [Some(token.as_str()), alias].into_iter().flatten().any(|name| is_named(seen, name))
}

/// The process that all others descend from; none where there are several such.
fn only_tree(called: &[&Seen]) -> Option<i32> {
    let is_top = |seen: &&&Seen| !called.iter().any(|other| other.pid == seen.ppid);
    let mut tops = called.iter().filter(is_top);
    tops.next().filter(|_| tops.next().is_none()).map(|seen| seen.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: i32, ppid: i32, name: &str) -> Seen {
        Seen { pid, ppid, name: name.into(), ..Seen::default() }
    }

    #[test]
    fn a_server_is_called_what_it_calls_itself() {
        let is_called = |name: &str, product: &str| is_called(&seen(7, 1, name), product);
        assert!(is_called("nginx", "nginx/1.22.1") && is_called("nginx", "openresty/1.21"));
        assert!(is_called("apache2", "Apache/2.4.57 (Debian)") && is_called("httpd", "Apache"));
        assert!(is_called("lighttpd", "lighttpd/1.4.69") && is_called("caddy", "Caddy"));
        assert!(!is_called("nginx-agent", "nginx") && !is_called("cron", "nginx") && !is_called("nginx", ""));
    }

    #[test]
    fn of_two_servers_of_one_name_neither_is_taken() {
        let one = [seen(5, 1, "nginx"), seen(6, 5, "nginx"), seen(7, 5, "nginx")];
        let of = |all: &[Seen]| only_tree(&all.iter().collect::<Vec<_>>());
        assert_eq!(of(&one), Some(5));
        assert_eq!(of(&[&one[..], &[seen(8, 1, "nginx")]].concat()), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_shown_is_not_hidden() {
        let own = std::process::id().cast_signed();
        let present = Present { all: [(own, seen(own, 1, "test"))].into(), is_complete: true, ..Present::default() };
        let mut hidden = Hidden::default();
        assert_eq!(hidden.among(&present), BTreeSet::new());
        // As if it had been asked before, and had been another process.
        hidden.asked = [(own, (0, true))].into();
        assert_eq!(hidden.among(&present), [own].into());
        hidden.asked = [(own, (9, true))].into();
        assert_eq!(hidden.among(&present), BTreeSet::new());
    }
}
