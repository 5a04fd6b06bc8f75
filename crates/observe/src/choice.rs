//! Check of a process selector before it is watched: it must match one process tree.

use crate::companion::Companion;
use crate::cpu_accounting::Seen;
use crate::files::Files;
use crate::processes::{Present, Processes};
use crate::selector::{ProcessSelector, SelectError};
use model::Redacted;
use std::collections::BTreeSet;

/// Matches of a name that are told.
const TOLD_MAX: usize = 5;
/// Characters of a command that are told.
const COMMAND_MAX: usize = 40;

/// The processes that are meant, without their descendants.
///
/// # Errors
/// If there are none, they cannot be seen, or a name is that of several which have nothing to do with each other.
pub fn select(wanted: &ProcessSelector) -> Result<BTreeSet<u32>, SelectError> {
    let mut companion = Companion::new(wanted.clone());
    companion.listen();
    let present = Processes::default().sample(&BTreeSet::new(), true, None);
    let met: BTreeSet<i32> = companion.met(&present)?.into_iter().collect();
    match wanted {
        ProcessSelector::Name(name) => one_tree(name, &met, &present)?,
        ProcessSelector::Process(_)
        | ProcessSelector::Part { .. }
        | ProcessSelector::Connected { .. }
        | ProcessSelector::Under { .. }
        | ProcessSelector::Port(_)
        | ProcessSelector::Behind(_)
        | ProcessSelector::Cgroup(_) => {}
    }
    Ok(met.into_iter().map(i32::cast_unsigned).collect())
}

/// Fails unless all that are met descend from one of them.
fn one_tree(name: &str, met: &BTreeSet<i32>, present: &Present) -> Result<(), SelectError> {
    let is_below = |seen: &Seen| {
        let above = std::iter::successors(present.all.get(&seen.ppid), |above| present.all.get(&above.ppid));
        above.take(met.len() + present.all.len()).any(|above| met.contains(&above.pid))
    };
    let tops: Vec<&Seen> = met.iter().filter_map(|pid| present.all.get(pid)).filter(|seen| !is_below(seen)).collect();
    if tops.len() < 2 {
        return Ok(());
    }
    let mut told: Vec<String> = tops.iter().take(TOLD_MAX).map(|seen| in_words(seen, present)).collect();
    if tops.len() > TOLD_MAX {
        told.push(format!("and {} more", tops.len() - TOLD_MAX));
    }
    Err(SelectError::Several { name: name.to_owned(), found: tops.len(), matches: told.join(", ") })
}

/// `812 of systemd (nginx -g daemon off;)`.
fn in_words(seen: &Seen, present: &Present) -> String {
    let parent = present.all.get(&seen.ppid).map_or_else(String::new, |parent| format!(" of {}", parent.name));
    let command = Files::default().text(&format!("/proc/{}/cmdline", seen.pid)).unwrap_or_default();
    let command = Redacted::command(command.split_terminator('\0')).join(" ");
    let command: String = command.chars().take(COMMAND_MAX).collect();
    format!("{}{parent} ({command})", seen.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silent_port::silent_port;

    fn present(processes: &[(i32, i32, &str)]) -> Present {
        let seen =
            |&(pid, ppid, name): &(i32, i32, &str)| (pid, Seen { pid, ppid, name: name.into(), ..Seen::default() });
        Present { all: processes.iter().map(seen).collect(), ..Present::default() }
    }

    #[test]
    fn masters_and_their_workers_are_one_and_strangers_are_several() {
        // Numbers above the largest that Linux gives out.
        let [a, b, c, d] = [5_000_001, 5_000_002, 5_000_003, 5_000_004];
        let all = present(&[(1, 0, "init"), (a, 1, "nginx"), (b, a, "sh"), (c, b, "nginx"), (d, 1, "nginx")]);
        assert_eq!(one_tree("nginx", &[a, c].into(), &all), Ok(()));
        let Err(SelectError::Several { found, matches, .. }) = one_tree("nginx", &[a, c, d].into(), &all) else {
            panic!("they are two")
        };
        assert_eq!((found, matches.as_str()), (2, "5000001 of init (), 5000004 of init ()"));
    }

    #[test]
    fn who_is_not_there_cannot_be_chosen() {
        assert_eq!(select(&ProcessSelector::Process(5_000_000)), Err(SelectError::Gone(5_000_000)));
        let (_socket, port) = silent_port();
        assert!(select(&ProcessSelector::Port(port)).unwrap_err().to_string().contains("nothing listens on TCP port"));
        // Another user's process may be hidden; one of our own is not.
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert_eq!(select(&ProcessSelector::Process(child.id().cast_signed())), Ok([child.id()].into()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
