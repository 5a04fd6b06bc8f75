//! What a sample does not show as it was: what differs from run to run or from machine to machine, and tells a reader nothing.
//!
//! The one place of this rule. Figures stay as they were measured.

use std::borrow::Cow;

/// Where the results of a command stand, and the time with which the name of each begins.
const RUNS: &str = "plimsoll-runs/";
const TIME: &str = "2026-01-31T12-00-00";
/// Stands in front of the port of a server that plimsoll has started; these have five digits.
const HOST: &str = "127.0.0.1:";
const PORT: &str = "40000";
/// The machine of whoever makes the samples.
const MACHINE: &str = "host";
/// A URL of a page that leads nowhere here, and the server to which the command goes in its place.
pub(super) const ALIAS: (&str, &str) = ("http://web1.example.com/", "http://127.0.0.1:8080/");

/// The command that is run for one that a page shows.
pub(super) fn command(shown: &str) -> String {
    shown.replace(ALIAS.0, ALIAS.1)
}

/// An output as it is shown, of a command on a machine of this name.
pub(super) fn output(text: &str, command: &str, machine: &str) -> String {
    let text = with_fixed(text, RUNS, TIME, is_time);
    let text = with_fixed(&text, HOST, PORT, |port| port.bytes().all(|byte| byte.is_ascii_digit()));
    let text = without_machine(&text, machine);
    if command.contains(ALIAS.0) { text.replace(ALIAS.1, ALIAS.0) } else { text.into_owned() }
}

/// Puts `fixed` in the place of what follows `prefix` and is as long, where it is such a thing.
fn with_fixed(text: &str, prefix: &str, fixed: &str, is_such: impl Fn(&str) -> bool) -> String {
    let mut parts = text.split(prefix);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(prefix);
        match part.get(..fixed.len()).filter(|begin| is_such(begin)) {
            Some(begin) => shown.push_str(&format!("{fixed}{}", &part[begin.len()..])),
            None => shown.push_str(part),
        }
    }
    shown
}

/// True of `2026-11-29T20-58-28`.
fn is_time(text: &str) -> bool {
    let is_alike = |(one, other): (u8, u8)| if other.is_ascii_digit() { one.is_ascii_digit() } else { one == other };
    text.bytes().zip(TIME.bytes()).all(is_alike)
}

/// The name of the machine, where it stands as a word.
fn without_machine<'a>(text: &'a str, machine: &str) -> Cow<'a, str> {
    let is_part = |character: char| character.is_alphanumeric() || "-_./:".contains(character);
    let is_word = |at: usize| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + machine.len()..].chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(|next| is_part(next) && !".:".contains(next))
    };
    let places: Vec<usize> = text.match_indices(machine).map(|(at, _)| at).filter(|at| is_word(*at)).collect();
    if machine.is_empty() || places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = text.to_owned();
    for at in places.into_iter().rev() {
        shown.replace_range(at..at + machine.len(), MACHINE);
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::{command, output};

    fn shown(text: &str) -> String {
        output(text, "plimsoll run", "vm")
    }

    #[test]
    fn times_and_free_ports_are_always_the_same() {
        let record = "page: plimsoll-runs/2026-11-29T20-58-28-sweep/report.html";
        assert_eq!(shown(record), "page: plimsoll-runs/2026-01-31T12-00-00-sweep/report.html");
        assert_eq!(shown("plimsoll-runs/before and after"), "plimsoll-runs/before and after");
        assert_eq!(shown("http://127.0.0.1:43921/pool"), "http://127.0.0.1:40000/pool");
        assert_eq!(shown("http://127.0.0.1:8080/pool"), "http://127.0.0.1:8080/pool");
    }

    #[test]
    fn the_machine_has_no_name() {
        assert_eq!(shown("on vm (2 CPUs)"), "on host (2 CPUs)");
        assert_eq!(shown("(vm): 1.0 vm; kvm vm-1"), "(host): 1.0 host; kvm vm-1");
    }

    #[test]
    fn an_example_leads_to_a_server_of_this_machine_and_shows_its_own_name() {
        let typed = "plimsoll run http://web1.example.com/";
        assert_eq!(command(typed), "plimsoll run http://127.0.0.1:8080/");
        assert_eq!(output("target http://127.0.0.1:8080/", typed, "vm"), "target http://web1.example.com/");
        assert_eq!(shown("target http://127.0.0.1:8080/"), "target http://127.0.0.1:8080/");
    }
}
