//! Which processes are asked for, in words: by name, number, place in the tree, where they listen, or control group.
//!
//! Beside a load each process counts in one place, so that all add up to the machine; in `plimsoll observe`
//! selections may overlap. A name of several unrelated trees is refused for `--server`: their sum would mean nothing.

use crate::cpu_accounting::Seen;
use crate::listening::Unfound;
use model::Address;
use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use thiserror::Error;

/// The kernel keeps this much of a process's name.
const NAME_MAX_BYTES: usize = 15;
/// What stands between a name and the process above it.
const UNDER: &str = " under ";
/// Examples of what may be written.
const FORMS: &str =
    "mariadbd, 4711, :8080, unix:/run/app.sock, cgroup:/system.slice/app.service or 'php-fpm under supervisord'";

/// Processes that are watched, always with their descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSelector {
    /// All of this name. A version may follow it: `php-fpm` is `php-fpm8.2` too.
    Name(String),
    /// The process of this number.
    Process(i32),
    /// A process that was started together with the server: unless it is the server itself.
    Part {
        /// What it is shown by.
        label: String,
        /// Its number.
        pid: i32,
    },
    /// Processes behind the server, which were found by their sockets.
    Connected {
        /// What they are shown by.
        label: String,
    },
    /// All of this name that descend from a process.
    Under {
        /// Their name.
        name: String,
        /// The process above them.
        parent: Parent,
    },
    /// Whoever listens on this TCP port, whatever the address.
    Port(u16),
    /// Whoever gets the connections to this address.
    Behind(Address),
    /// All in this control group and in those below it.
    Cgroup(String),
}

/// A process that others descend from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// All of this name.
    Name(String),
    /// The process of this number.
    Process(i32),
}

/// A text that names no processes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseSelectorError {
    /// Nothing, or a number that no process can have.
    #[error("is neither the name of a process nor its number; write for example {FORMS}")]
    Nothing,
    /// A colon without a port.
    #[error("names no port; write for example :8080")]
    Port,
    /// A path that is none.
    #[error("names no path; it begins with /, as in {0}")]
    Path(&'static str),
    /// A name without the process above it, or the other way round.
    #[error("has to be NAME under NAME or NAME under PID, as in 'php-fpm under supervisord'")]
    Under,
}

/// Why nothing is known of processes that are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectError {
    /// No process of that number.
    #[error("no process {0} runs on this machine")]
    Gone(i32),
    /// Processes that were found by their sockets.
    #[error("its processes have ended")]
    Ended,
    /// No process of that name.
    #[error("no process on this machine is named {0:?}; ps -A -o comm lists their names")]
    NoName(String),
    /// None of that name descends from that process.
    #[error("no process named {name:?} runs under {parent}; ps -A -o pid,ppid,comm shows who is whose child")]
    NotUnder {
        /// The name.
        name: String,
        /// Who should be above.
        parent: String,
    },
    /// More than can be watched.
    #[error("{found} processes are named {name:?}, more than can be watched; give the number of the one that is meant")]
    TooMany {
        /// The name.
        name: String,
        /// How many.
        found: usize,
    },
    /// Several where one is meant.
    #[error(
        "{found} processes named {name:?} have nothing to do with each other: {matches}; select one by its number or by \
         the port it listens on (:8080), or those below another: '{name} under PARENT'"
    )]
    Several {
        /// The name.
        name: String,
        /// How many.
        found: usize,
        /// Some of them, in words.
        matches: String,
    },
    /// No such control group.
    #[error("there is no control group {0:?} below /sys/fs/cgroup; cat /proc/PID/cgroup names those of a process")]
    NoCgroup(String),
    /// A control group without processes.
    #[error("no process is in the control group {0:?}")]
    EmptyCgroup(String),
    /// Others have them already.
    #[error("its processes belong to the server and are shown there")]
    OfServer,
    /// Nobody listens, or not where it can be seen.
    #[error("{0}")]
    Unfound(String),
}

impl From<Unfound> for SelectError {
    fn from(unfound: Unfound) -> Self {
        Self::Unfound(unfound.to_string())
    }
}

impl ProcessSelector {
    /// Reads a number, a name, `pid:N`, `name:NAME`, `NAME under PARENT`, `:PORT`, `ADDRESS:PORT`, `unix:PATH` or `cgroup:PATH`.
    ///
    /// # Errors
    /// If it is none of them: what is wrong with it, to be said after the text.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        let text = text.trim();
        let front = |front: &str| text.strip_prefix(front).map(str::trim);
        if let Some(number) = front("pid:") {
            return number_of(number).and_then(|pid| pid.map(Self::Process).ok_or(ParseSelectorError::Nothing));
        }
        if let Some(name) = front("name:") {
            return name_of(name).map(Self::Name);
        }
        if let Some(path) = front("cgroup:") {
            let wrong = ParseSelectorError::Path("cgroup:/system.slice/app.service");
            return if path.starts_with('/') { Ok(Self::Cgroup(path.to_owned())) } else { Err(wrong) };
        }
        if let Some(path) = front("unix:") {
            let wrong = ParseSelectorError::Path("unix:/run/app.sock");
            return if path.starts_with('/') { Ok(Self::Behind(Address::Unix(path.into()))) } else { Err(wrong) };
        }
        if let Some((name, parent)) = text.split_once(UNDER) {
            return Self::under(name, parent);
        }
        if let Some(port) = front(":") {
            let port = port.parse().ok().filter(|port| *port > 0);
            return port.map(Self::Port).ok_or(ParseSelectorError::Port);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return if address.port() == 0 { Err(ParseSelectorError::Port) } else { Ok(Self::Behind(address.into())) };
        }
        number_of(text)?.map_or_else(|| name_of(text).map(Self::Name), |pid| Ok(Self::Process(pid)))
    }

    fn under(name: &str, parent: &str) -> Result<Self, ParseSelectorError> {
        let wrong = |_| ParseSelectorError::Under;
        let name = name_of(name).map_err(wrong)?;
        let parent = match number_of(parent.trim()).map_err(wrong)? {
            Some(pid) => Parent::Process(pid),
            None => Parent::Name(name_of(parent).map_err(wrong)?),
        };
        Ok(Self::Under { name, parent })
    }

    /// What it is shown by.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Name(label) | Self::Part { label, .. } | Self::Connected { label } => label.clone(),
            Self::Process(pid) => pid.to_string(),
            Self::Under { name, parent } => format!("{name}{UNDER}{parent}"),
            Self::Port(port) => format!(":{port}"),
            Self::Behind(address) => address.to_string(),
            Self::Cgroup(path) => format!("cgroup:{path}"),
        }
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Process(pid) => write!(f, "{pid}"),
        }
    }
}

/// True if a process has the name that is asked for.
pub(crate) fn is_named(seen: &Seen, name: &str) -> bool {
    let kept = name.char_indices().take_while(|(at, c)| at + c.len_utf8() <= NAME_MAX_BYTES).count();
    let kept: String = name.chars().take(kept).collect();
    seen.name.strip_prefix(&kept).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
}

/// The number of a process; none for what is no number.
fn number_of(text: &str) -> Result<Option<i32>, ParseSelectorError> {
    match text.parse::<i64>() {
        Ok(number) => {
            let pid = i32::try_from(number).ok().filter(|pid| *pid > 0);
            pid.map(Some).ok_or(ParseSelectorError::Nothing)
        }
        Err(_) => Ok(None),
    }
}

fn name_of(text: &str) -> Result<String, ParseSelectorError> {
    let text = text.trim();
    // Of a path the kernel keeps the last part; its own threads have names with a slash in them.
    let name = if text.starts_with('/') { Path::new(text).file_name().and_then(OsStr::to_str) } else { Some(text) };
    let name = name.unwrap_or_default();
    if name.is_empty() { Err(ParseSelectorError::Nothing) } else { Ok(name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_and_shown_as_it_is_written() {
        let address = |text: &str| ProcessSelector::Behind(text.parse().unwrap());
        let under = |name: &str, parent| ProcessSelector::Under { name: name.into(), parent };
        for (text, wanted) in [
            ("mariadbd", ProcessSelector::Name("mariadbd".into())),
            ("7up", ProcessSelector::Name("7up".into())),
            ("kworker/0:1", ProcessSelector::Name("kworker/0:1".into())),
            ("4711", ProcessSelector::Process(4711)),
            (":8080", ProcessSelector::Port(8080)),
            ("127.0.0.1:80", address("127.0.0.1:80")),
            ("[::1]:80", address("[::1]:80")),
            ("unix:/run/app.sock", address("unix:/run/app.sock")),
            ("cgroup:/a/b.service", ProcessSelector::Cgroup("/a/b.service".into())),
            ("php under 77", under("php", Parent::Process(77))),
            ("php-fpm under run parts", under("php-fpm", Parent::Name("run parts".into()))),
        ] {
            assert_eq!(ProcessSelector::parse(text), Ok(wanted), "{text}");
            assert_eq!(ProcessSelector::parse(text).unwrap().label(), text);
        }
        assert_eq!(ProcessSelector::parse("pid:12"), Ok(ProcessSelector::Process(12)));
        assert_eq!(ProcessSelector::parse("name:12"), Ok(ProcessSelector::Name("12".into())));
        assert_eq!(ProcessSelector::parse("/usr/sbin/nginx"), Ok(ProcessSelector::Name("nginx".into())));
    }

    #[test]
    fn what_names_no_process_is_refused() {
        for text in ["0", "-4", "99999999999", "", "  ", "pid:0", "pid:x", "name:", "/"] {
            assert_eq!(ProcessSelector::parse(text), Err(ParseSelectorError::Nothing), "{text:?}");
        }
        for text in [":", ":0", ":99999", ":http", "127.0.0.1:0"] {
            assert_eq!(ProcessSelector::parse(text), Err(ParseSelectorError::Port), "{text:?}");
        }
        for text in ["cgroup:", "cgroup:relative", "unix:", "unix:relative"] {
            assert!(matches!(ProcessSelector::parse(text), Err(ParseSelectorError::Path(_))), "{text:?}");
        }
        for text in ["a under 0", "a under / ", "/ under b"] {
            assert_eq!(ProcessSelector::parse(text), Err(ParseSelectorError::Under), "{text:?}");
        }
    }
}
