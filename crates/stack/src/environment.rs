//! Environment of a server: what is set for it, and what of ours passes. Credentials of ours are not on the list.

use crate::layout::Process;
use crate::place::Place;
use crate::servers::is_command;
use crate::spec::Spec;
use std::path::Path;

/// Variables of ours that a command gets where they are set. The setting `env` gives it others.
pub const PASSED_VARIABLES: [&str; 11] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "NODE_PATH",
    "JAVA_HOME",
];
/// Variables that are set for a command: folders of its own, its port, and the program of plimsoll.
pub const SET_VARIABLES: [&str; 4] = ["HOME", "TMPDIR", "PORT", "PLIMSOLL"];

/// What a build needs beyond a command, to find its compilers and what they keep.
const PASSED_TO_BUILD: [&str; 13] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "CARGO_HOME",
    "RUSTUP_HOME",
];
/// Where programs are when PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Variables = Vec<(String, String)>;

/// Environment of a process of a server, completely. Of ours a server that plimsoll knows gets PATH alone.
pub(crate) fn of_process(process: &Process, spec: &Spec, place: &Place) -> Variables {
    let passed: &[&str] = if is_command(spec) { &PASSED_VARIABLES } else { &PASSED_VARIABLES[..1] };
    let mut variables = basis(&place.dir);
    variables.extend(chosen(passed, own));
    variables.extend(process.env.iter().chain(&spec.settings.env).cloned());
    variables
}

/// Environment of the build of a server, completely. `dir` is its state directory; `as_caller` says that it runs as we do,
/// with our home.
pub(crate) fn of_build(spec: &Spec, dir: &Path, as_caller: bool) -> Variables {
    let mut variables = basis(dir);
    variables.extend(chosen(&PASSED_VARIABLES, own));
    if as_caller {
        variables.extend(chosen(&PASSED_TO_BUILD, own));
    }
    variables.extend(spec.settings.env.iter().cloned());
    variables
}

/// Environment of a program that is no server, completely: folders of its own, and of ours PATH alone.
pub(crate) fn of_helper(dir: &Path) -> Variables {
    let mut variables = basis(dir);
    variables.extend(chosen(&PASSED_VARIABLES[..1], own));
    variables
}

/// What stands before all else; later values of the same name replace it.
fn basis(dir: &Path) -> Variables {
    let below = |folder: &str| dir.join(folder).display().to_string();
    let set = [
        ("PATH", DEFAULT_PATH.to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("HOME", below("home")),
        ("TMPDIR", below("tmp")),
    ];
    set.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The variables of the list that are set.
fn chosen(names: &[&str], value: impl Fn(&str) -> Option<String>) -> Variables {
    names.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

/// A variable of ours; none when it is not set, or no text.
fn own(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_ours_do_not_pass() {
        let ours = |name: &str| Some(format!("the {name} of ours"));
        let all = chosen(&PASSED_VARIABLES, ours);
        let all_of_build = chosen(&PASSED_TO_BUILD, ours);
        for (name, _) in all.iter().chain(&all_of_build) {
            let sign = ["TOKEN", "PASSW", "SECRET", "KEY", "AUTH", "CRED", "COOKIE", "SESSION", "PROXY", "PLIMSOLL"];
            assert!(!sign.iter().any(|sign| name.contains(sign)), "{name}");
        }
        let only_tz = |name: &str| (name == "TZ").then(|| "UTC".to_owned());
        assert_eq!(chosen(&["TZ", "LANG"], only_tz), [("TZ".to_owned(), "UTC".to_owned())]);
    }

    #[test]
    fn a_server_gets_nothing_that_is_not_on_the_list() {
        let of = |text: &str| {
            let spec = Spec::parse(text).expect("known");
            let place = Place::example(&spec.settings, "/opt/plimsoll".into()).expect("a place");
            let layout = (spec.server.layout)(&spec, &place).expect("it can be");
            of_process(&layout.services[0].process, &spec, &place)
        };
        for (text, more) in [("env=MARK=1 -- sh {port}", &["MARK"][..]), ("target env=MARK=1", &["MARK"])] {
            for (name, _) in of(text) {
                let is_known = [&PASSED_VARIABLES[..], &SET_VARIABLES, more].concat().contains(&name.as_str());
                assert!(is_known, "{text} gets {name}");
            }
        }
        let value = |name: &str| of("port=81 -- sh").into_iter().rev().find(|(set, _)| set == name).map(|(_, v)| v);
        assert_eq!(value("PORT").as_deref(), Some("81"));
        assert_eq!(value("PLIMSOLL").as_deref(), Some("/opt/plimsoll"));
        assert_eq!(value("HOME").as_deref(), Some("/tmp/plimsoll-state/home"));
    }
}
