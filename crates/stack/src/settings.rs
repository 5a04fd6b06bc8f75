//! Settings that all servers share: typed, with the same names on the command line, in a text such as
//! `nginx workers=2` and in a file.

use crate::error::StackError;
use crate::topology::usable_cpus;
use model::{ByteSize, Count};
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

/// Bytes of the file that is served when nothing is said.
const FILE_BYTES: u64 = 1024;
/// A larger file would fill the state directory, or our memory.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 30;
/// Connections that a worker may hold when nothing is said.
const WORKER_CONNECTIONS: u32 = 4096;
/// Length of the accept queue when nothing is said; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// Settings of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// Address of this machine that it listens at.
    pub address: Ipv4Addr,
    /// TCP port of that address; 0: any that is free.
    pub port: u16,
    /// Worker processes or threads, as the server counts them.
    pub workers: u32,
    /// Connections that one worker may hold.
    pub worker_connections: u32,
    /// True if connections stay open after an answer.
    pub keepalive: bool,
    /// Requests after which a connection is closed; none: as many as the server can count.
    pub keepalive_requests: Option<u32>,
    /// True if each request is logged to a file.
    pub access_log: bool,
    /// True if it speaks TLS, with a certificate of its own.
    pub tls: bool,
    /// True if text is compressed for who asks for it.
    pub gzip: bool,
    /// True if files are sent by the kernel.
    pub sendfile: bool,
    /// Length of the accept queue.
    pub backlog: u32,
    /// Bytes of the file that is served.
    pub file_size: u64,
    /// A directory that is served instead of the file.
    pub root: Option<PathBuf>,
    /// What is asked for to see that it answers, and what is measured.
    pub path: String,
    /// The server's configuration, instead of a generated one. `{address}`, `{port}`, `{state}` and `{root}` are filled in.
    pub config: Option<PathBuf>,
    /// The server's program, instead of the installed one.
    pub binary: Option<PathBuf>,
    /// A shell command that makes the program first.
    pub build: Option<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// What stands before the program's command line, such as `numactl --membind=0`.
    pub wrapper: Vec<String>,
    /// CPUs it may use; empty: the half that is not the load's. `all` are those that this process may use.
    pub cpus: Vec<u32>,
    /// User that it runs as when root starts it; its build too, if it is named.
    pub user: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST,
            port: 0,
            workers: 1,
            worker_connections: WORKER_CONNECTIONS,
            keepalive: true,
            keepalive_requests: None,
            access_log: false,
            tls: false,
            gzip: false,
            sendfile: true,
            backlog: BACKLOG,
            file_size: FILE_BYTES,
            root: None,
            path: "/".into(),
            config: None,
            binary: None,
            build: None,
            env: Vec::new(),
            wrapper: Vec::new(),
            cpus: Vec::new(),
            user: None,
        }
    }
}

/// Settings that only some servers have; all others are everyone's.
pub(crate) const SPECIAL: [&str; 11] = [
    "workers",
    "worker-connections",
    "keepalive",
    "keepalive-requests",
    "access-log",
    "tls",
    "gzip",
    "sendfile",
    "backlog",
    "file-size",
    "root",
];

impl Settings {
    /// Sets `key` to `value`; false when there is no such setting.
    ///
    /// # Errors
    /// If the value cannot be one of this setting's.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<bool, StackError> {
        match key {
            "address" => self.address = address(key, value)?,
            "port" => self.port = within(key, value, 0, 65_535)? as u16,
            "workers" => self.workers = within(key, value, 1, 1024)? as u32,
            "worker-connections" => self.worker_connections = connections(key, value, open_files())?,
            "keepalive" => self.keepalive = switch(key, value)?,
            "keepalive-requests" => self.keepalive_requests = Some(within(key, value, 1, 1_000_000_000)? as u32),
            "access-log" => self.access_log = switch(key, value)?,
            "tls" => self.tls = switch(key, value)?,
            "gzip" => self.gzip = switch(key, value)?,
            "sendfile" => self.sendfile = switch(key, value)?,
            "backlog" => self.backlog = within(key, value, 1, 65_535)? as u32,
            "file-size" => self.file_size = size(key, value)?,
            "root" => self.root = Some(value.into()),
            "path" => self.path = path(value)?,
            "config" => self.config = Some(value.into()),
            "binary" => self.binary = Some(value.into()),
            "build" => self.build = Some(value.into()),
            "env" => self.env.push(variable(value)?),
            "wrapper" => self.wrapper = words(key, value)?,
            "cpus" => self.cpus = cpus(key, value)?,
            "user" => self.user = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// `key=value` that cannot be, with an example of what can.
pub(crate) fn wrong(key: &str, value: &str, may_be: &str) -> StackError {
    StackError::Wrong(format!("{key}={value}: {key} is {may_be}"))
}

pub(crate) fn within(key: &str, value: &str, min: u64, max: u64) -> Result<u64, StackError> {
    let parsed = Count::from_str(value).ok().map(|count| count.0).filter(|n| (min..=max).contains(n));
    parsed.ok_or_else(|| wrong(key, value, &format!("a number from {min} to {max}")))
}

pub(crate) fn switch(key: &str, value: &str) -> Result<bool, StackError> {
    match value {
        "on" | "true" | "yes" => Ok(true),
        "off" | "false" | "no" => Ok(false),
        _ => Err(wrong(key, value, "on or off")),
    }
}

pub(crate) fn size(key: &str, value: &str) -> Result<u64, StackError> {
    let parsed = ByteSize::from_str(value).ok().map(|size| size.0).filter(|n| *n <= FILE_BYTES_MAX);
    parsed.ok_or_else(|| wrong(key, value, "a size up to 1GiB, such as 100, 10kB or 64KiB"))
}

/// Not every server says when it gets fewer descriptors than it needs.
fn connections(key: &str, value: &str, open_files: u64) -> Result<u32, StackError> {
    let asked = within(key, value, 1, 1_000_000)?;
    if descriptors(asked) <= open_files {
        return Ok(asked as u32);
    }
    let most = open_files.saturating_sub(descriptors(0)) / 2;
    Err(wrong(key, value, &format!("at most {most} here: the limit of open files is {open_files} (ulimit -Hn)")))
}

/// What a worker with that many connections may need: for each also a file or a connection to a server behind it.
pub(crate) const fn descriptors(connections: u64) -> u64 {
    connections * 2 + 64
}

fn open_files() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// One that others connect to: they cannot to "any".
fn address(key: &str, value: &str) -> Result<Ipv4Addr, StackError> {
    let parsed = value.parse().ok().filter(|address: &Ipv4Addr| !address.is_unspecified());
    parsed.ok_or_else(|| wrong(key, value, "an IPv4 address of the machine that the server runs on, such as 10.0.0.10"))
}

fn path(value: &str) -> Result<String, StackError> {
    let usable = value.starts_with('/') && value.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(value.to_owned()) } else { Err(wrong("path", value, "a path such as /index.html")) }
}

fn variable(value: &str) -> Result<(String, String), StackError> {
    let pair = value.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| wrong("env", value, "NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn words(key: &str, value: &str) -> Result<Vec<String>, StackError> {
    shlex::split(value).ok_or_else(|| wrong(key, value, "a command line; a quotation mark is not closed"))
}

/// `0,2-3`, rising and each once, or `all`.
fn cpus(key: &str, value: &str) -> Result<Vec<u32>, StackError> {
    let bad = || wrong(key, value, "all, or a list such as 0 or 0,2-3");
    if value == "all" {
        return usable_cpus().ok_or_else(|| wrong(key, value, "a list: the kernel does not tell which CPUs there are"));
    }
    let mut cpus = Vec::new();
    for part in value.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
        if first > last || last >= rustix::thread::CpuSet::MAX_CPU as u32 {
            return Err(bad());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        match settings.set(key, value) {
            Ok(true) => Ok(settings),
            Ok(false) => Err("unknown".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn values_have_types() {
        assert_eq!(set("workers", "2").expect("a number").workers, 2);
        assert_eq!(set("file-size", "64KiB").expect("a size").file_size, 65_536);
        assert_eq!(set("cpus", "3,0-1").expect("a list").cpus, [0, 1, 3]);
        assert_eq!(Some(set("cpus", "all").expect("a word").cpus), usable_cpus());
        assert_eq!(set("wrapper", "numactl '--membind=0'").expect("words").wrapper, ["numactl", "--membind=0"]);
        assert_eq!(set("env", "A=b=c").expect("a pair").env, [("A".to_owned(), "b=c".to_owned())]);
        assert!(set("tls", "on").expect("a switch").tls);
    }

    #[test]
    fn wrong_values_say_what_may_be() {
        for (key, value, part) in [
            ("workers", "0", "from 1 to 1024"),
            ("workers", "two", "from 1 to 1024"),
            ("tls", "maybe", "on or off"),
            ("cpus", "3-1", "all, or a list such as"),
            ("cpus", "both", "all, or a list such as"),
            ("cpus", "0-99999999", "a list such as"),
            ("file-size", "1TB", "up to 1GiB"),
            ("path", "index.html", "a path such as"),
            ("env", "A", "NAME=VALUE"),
            ("wrapper", "perf 'stat", "not closed"),
        ] {
            let message = set(key, value).expect_err(value);
            assert!(message.starts_with(&format!("{key}={value}: ")) && message.contains(part), "{message}");
        }
        assert_eq!(set("worker", "1").expect_err("no such setting"), "unknown");
    }

    #[test]
    fn more_connections_than_open_files_are_refused() {
        assert_eq!(connections("worker-connections", "9968", 20_000).expect("they fit"), 9968);
        let error = connections("worker-connections", "9969", 20_000).expect_err("one more").to_string();
        assert!(error.contains("at most 9968 here: the limit of open files is 20000"), "{error}");
    }

    #[test]
    fn special_settings_exist() {
        for key in SPECIAL {
            let value = if key == "root" { "/" } else { "1" };
            let known = Settings::default().set(key, value);
            assert!(!matches!(known, Ok(false)), "{key}");
        }
    }
}
