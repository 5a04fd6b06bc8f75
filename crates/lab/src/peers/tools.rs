//! The tools: names, where they come from, and the command line of each for each kind of load.

use std::path::PathBuf;
use std::process::Command;

use super::floor;
use crate::install;
use xtask::{packages, workspace};

/// Requests per second asked for.
pub(super) const RATE_PER_S: u32 = 10_000;

/// Most requests that `ab` keeps a place for per second of a window: more than any server here answers.
const AB_REQUESTS_PER_S: u32 = 400_000;
/// Connections of the tools whose rate is set per connection.
const PACED_CONNECTIONS: u32 = 50;
/// Requests per connection where httperf, which paces connections, stands in for an open loop of requests.
const HTTPERF_CALLS: u32 = 10;
/// httperf watches its sockets by `select`.
const HTTPERF_CONNECTIONS_MAX: u32 = 1000;
/// GNU timeout's exit code for a program that it ended in time: what has no window of its own ends like this.
pub(super) const ENDED_BY_TIMEOUT: i32 = 124;

/// A load generator, or the bare loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    BareLoop,
    Wrk,
    Plimsoll,
    H2load,
    Ab,
    Httperf,
    Hey,
    Siege,
    Oha,
    Rewrk,
}

/// How a closed loop uses its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One after the other on open connections.
    KeepAlive,
    /// A connection for each request.
    Close,
    /// As `KeepAlive`, encrypted.
    Tls,
}

/// One closed-loop load.
pub(super) struct Closed<'a> {
    pub(super) url: &'a str,
    pub(super) connections: u32,
    pub(super) seconds: u32,
    pub(super) mode: Mode,
}

/// What to type.
#[derive(Debug, PartialEq)]
pub(super) struct Invocation {
    pub(super) arguments: Vec<String>,
    /// Exit codes that mean "measured".
    pub(super) accepted: &'static [i32],
    /// The tool has no window and is ended after this.
    pub(super) stop_after_s: Option<u32>,
}

impl Invocation {
    fn new(line: &str) -> Self {
        Self { arguments: words(line), accepted: &[0], stop_after_s: None }
    }
}

impl Tool {
    pub(super) const ALL: [Self; 10] = [
        Self::BareLoop,
        Self::Wrk,
        Self::Plimsoll,
        Self::H2load,
        Self::Ab,
        Self::Httperf,
        Self::Hey,
        Self::Siege,
        Self::Oha,
        Self::Rewrk,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::BareLoop => "bare loop",
            Self::Wrk => "wrk",
            Self::Plimsoll => "plimsoll",
            Self::H2load => "h2load",
            Self::Ab => "ab",
            Self::Httperf => "httperf",
            Self::Hey => "hey",
            Self::Siege => "siege",
            Self::Oha => "oha",
            Self::Rewrk => "rewrk",
        }
    }

    /// What every comparison needs: a failure of one of these ends the run, one of another is told in its place.
    pub(super) const fn is_essential(self) -> bool {
        matches!(self, Self::BareLoop | Self::Wrk | Self::Plimsoll)
    }

    /// Full path; none when it is not there.
    pub(super) fn path(self) -> Option<PathBuf> {
        match self {
            Self::BareLoop => Some(workspace::release_binary("lab")),
            Self::Plimsoll => Some(workspace::release_binary("plimsoll")),
            Self::Oha | Self::Rewrk => Some(install::crates().join(self.name())).filter(|path| path.is_file()),
            _ => packages::find(self.name()),
        }
    }

    /// Version: of the Debian package, or as the program tells it.
    pub(super) fn version(self) -> String {
        let package = match self {
            Self::BareLoop => return "of this workspace".to_owned(),
            Self::H2load => "nghttp2-client",
            Self::Ab => "apache2-utils",
            Self::Plimsoll | Self::Oha | Self::Rewrk => {
                let Some(path) = self.path() else { return "not here".to_owned() };
                let text = output(Command::new(path).arg("--version"));
                return text.split_whitespace().nth(1).unwrap_or("?").to_owned();
            }
            _ => self.name(),
        };
        package_version(package)
    }

    /// The command line of a closed loop at full speed with one thread, or why the tool cannot make this load.
    pub(super) fn closed(self, load: &Closed<'_>) -> Result<Invocation, &'static str> {
        let Closed { url, connections, seconds, mode } = *load;
        let keeps = match mode {
            Mode::Close => Err("cannot open a connection for each request"),
            Mode::KeepAlive | Mode::Tls => Ok(()),
        };
        let is_close = mode == Mode::Close;
        let on_close = |option| if is_close { option } else { "" };
        let on_tls = |option| if mode == Mode::Tls { option } else { "" };
        Ok(match self {
            Self::BareLoop if mode == Mode::Tls => return Err("speaks no TLS"),
            Self::BareLoop => {
                keeps?;
                Invocation::new(&floor::command_line(url, connections, seconds))
            }
            Self::Wrk => {
                let mut invocation = Invocation::new(&format!("-t1 -c{connections} -d{seconds}s {url}"));
                if is_close {
                    invocation.arguments.extend(["-H".to_owned(), "Connection: close".to_owned()]);
                }
                invocation
            }
            Self::Plimsoll => {
                let (close, insecure) = (on_close("--no-keepalive"), on_tls("-k"));
                plimsoll(&format!("{url} -c {connections} {close} {insecure}"), seconds)
            }
            Self::H2load => {
                keeps?;
                Invocation::new(&format!("--h1 -t1 -c{connections} -D{seconds} {url}"))
            }
            Self::Ab => {
                let keep = if is_close { "" } else { "-k" };
                let most = seconds * AB_REQUESTS_PER_S;
                Invocation::new(&format!("-q {keep} -c {connections} -t {seconds} -n {most} {url}"))
            }
            Self::Httperf if connections > HTTPERF_CONNECTIONS_MAX => {
                return Err("uses `select` with at most 1,024 descriptors");
            }
            Self::Httperf => httperf_closed(load),
            Self::Hey => {
                let close = on_close("-disable-keepalive");
                Invocation::new(&format!("-z {seconds}s -c {connections} {close} {url}"))
            }
            Self::Siege => {
                let rc = if is_close { "siege-close.conf" } else { "siege-keep.conf" };
                // Its clock has whole seconds and strikes up to one early.
                let seconds = seconds + 1;
                Invocation::new(&format!("-R {rc} -b -q -j -c {connections} -t {seconds}S {url}"))
            }
            Self::Oha => {
                let (close, insecure) = (on_close("--disable-keepalive"), on_tls("--insecure"));
                Invocation::new(&format!("{OHA} -z {seconds}s -c {connections} {close} {insecure} {url}"))
            }
            Self::Rewrk => {
                keeps?;
                Invocation::new(&format!("-t 1 -c {connections} -d {seconds}s --pct -h {url}"))
            }
        })
    }

    /// The command line that asks for [`RATE_PER_S`] requests per second; none for tools without a rate.
    pub(super) fn paced(self, url: &str, seconds: u32) -> Option<Invocation> {
        let each = RATE_PER_S / PACED_CONNECTIONS;
        Some(match self {
            Self::Plimsoll => plimsoll(&format!("{url} -R {RATE_PER_S} -c 256 --arrivals constant"), seconds),
            Self::H2load => Invocation::new(&format!("--h1 -t1 -c{PACED_CONNECTIONS} -D{seconds} --rps {each} {url}")),
            Self::Httperf => {
                let rate = RATE_PER_S / HTTPERF_CALLS;
                httperf(url, &format!("--rate {rate} --num-conns {} --num-calls {HTTPERF_CALLS}", rate * seconds))
            }
            Self::Hey => Invocation::new(&format!("-z {seconds}s -c {PACED_CONNECTIONS} -q {each} {url}")),
            Self::Oha => Invocation::new(&format!("{OHA} -z {seconds}s -c 64 -q {RATE_PER_S} {url}")),
            _ => return None,
        })
    }
}

/// A tool under the stall, in the load that shows best what it can tell.
pub(super) struct Stalled {
    pub(super) tool: Tool,
    /// The load, in words.
    pub(super) how: &'static str,
    pub(super) invocation: Invocation,
}

impl Stalled {
    /// Open loops at 1,000 requests/s where there are some, else closed loops at full speed.
    pub(super) fn all(url: &str, seconds: u32) -> Vec<Self> {
        const CLOSED: &str = "closed loop, 64 connections";
        let stalled = |tool, how, invocation| Self { tool, how, invocation };
        let line = |line: String| Invocation::new(&line);
        let most = seconds * AB_REQUESTS_PER_S;
        vec![
            stalled(
                Tool::Plimsoll,
                "open loop, 1,000/s",
                plimsoll(&format!("{url} -R 1000 -c 256 --arrivals constant"), seconds),
            ),
            stalled(Tool::Wrk, CLOSED, line(format!("-t1 -c64 -d{seconds}s --latency {url}"))),
            stalled(
                Tool::H2load,
                "`--rps 20` on 50 connections",
                line(format!("--h1 -t1 -c50 -D{seconds} --rps 20 {url}")),
            ),
            stalled(Tool::Ab, CLOSED, line(format!("-q -k -c 64 -t {seconds} -n {most} {url}"))),
            stalled(
                Tool::Httperf,
                "1,000 connections/s",
                httperf(url, &format!("--rate 1000 --num-conns {} --num-calls 1", 1000 * seconds)),
            ),
            stalled(Tool::Hey, "`-q 20` on 50 connections", line(format!("-z {seconds}s -c 50 -q 20 {url}"))),
            stalled(Tool::Siege, CLOSED, line(format!("-R siege-keep.conf -b -q -j -c 64 -t {seconds}S {url}"))),
            stalled(Tool::Oha, "`-q 1000`", line(format!("{OHA} -z {seconds}s -c 64 -q 1000 {url}"))),
            stalled(
                Tool::Oha,
                "`-q 1000 --latency-correction`",
                line(format!("{OHA} -z {seconds}s -c 64 -q 1000 --latency-correction {url}")),
            ),
            stalled(Tool::Rewrk, CLOSED, line(format!("-t 1 -c 64 -d {seconds}s --pct -h {url}"))),
        ]
    }
}

/// Keeps to plain output, and to HTTP/1.1 as the rest does.
const OHA: &str = "--no-tui --output-format json --http-version 1.1";

/// plimsoll with one thread and no warm-up: the whole process is measured, as it is for the others. A short window is
/// not valid to it, but measured.
pub(super) fn plimsoll(options: &str, seconds: u32) -> Invocation {
    let line = format!("run {options} -t 1 -d {seconds}s --warmup 0s --json");
    Invocation { accepted: &[0, 4], ..Invocation::new(&line) }
}

/// httperf has counts, no windows: it gets more to do than it can and is ended when the time is over.
fn httperf_closed(load: &Closed<'_>) -> Invocation {
    let Closed { url, connections, seconds, mode } = *load;
    let calls = seconds * AB_REQUESTS_PER_S;
    let options = match mode {
        // A session opens its next connection when the server has closed the last.
        Mode::Close => format!("--http-version 1.0 --wsess={connections},{calls},0 --rate 10000"),
        Mode::KeepAlive => format!("--num-conns {connections} --num-calls {calls} --rate 10000"),
        Mode::Tls => format!("--ssl --num-conns {connections} --num-calls {calls} --rate 10000"),
    };
    Invocation { accepted: &[ENDED_BY_TIMEOUT], stop_after_s: Some(seconds), ..httperf(url, &options) }
}

/// httperf takes a URL in parts.
fn httperf(url: &str, options: &str) -> Invocation {
    let address = url.split_once("://").map_or(url, |pair| pair.1).trim_end_matches('/');
    let (host, port) = address.split_once(':').unwrap_or((address, "80"));
    Invocation::new(&format!("--server {host} --port {port} --uri / {options}"))
}

/// Version of an installed Debian package.
pub(super) fn package_version(package: &str) -> String {
    let version = output(Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]));
    if version.is_empty() { "?".to_owned() } else { version }
}

fn output(command: &mut Command) -> String {
    command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

/// Splits a command line that holds no quotes.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{Closed, Mode, Tool};

    fn typed(tool: Tool, mode: Mode, connections: u32) -> Result<String, &'static str> {
        let load = Closed { url: "http://127.0.0.1:81/", connections, seconds: 3, mode };
        tool.closed(&load).map(|invocation| invocation.arguments.join(" "))
    }

    #[test]
    fn modes_become_options() {
        let wrk = typed(Tool::Wrk, Mode::Close, 64).unwrap();
        assert_eq!(wrk, "-t1 -c64 -d3s http://127.0.0.1:81/ -H Connection: close");
        assert!(typed(Tool::Plimsoll, Mode::Tls, 64).unwrap().contains(" -k "));
        assert!(!typed(Tool::Plimsoll, Mode::KeepAlive, 64).unwrap().contains("-k"));
        assert!(typed(Tool::Ab, Mode::KeepAlive, 64).unwrap().contains(" -k "));
        assert!(!typed(Tool::Ab, Mode::Close, 64).unwrap().contains("-k"));
        assert!(typed(Tool::Httperf, Mode::Tls, 64).unwrap().starts_with("--server 127.0.0.1 --port 81 --uri / --ssl"));
    }

    #[test]
    fn every_tool_but_the_bare_loop_speaks_tls() {
        for tool in Tool::ALL {
            assert_eq!(typed(tool, Mode::Tls, 64).is_err(), tool == Tool::BareLoop, "{tool:?}");
        }
    }

    #[test]
    fn what_a_tool_cannot_do_has_a_reason() {
        assert!(typed(Tool::H2load, Mode::Close, 64).unwrap_err().contains("each request"));
        assert!(typed(Tool::Httperf, Mode::KeepAlive, 1024).unwrap_err().contains("select"));
        assert!(typed(Tool::Httperf, Mode::KeepAlive, 64).is_ok());
    }

    #[test]
    fn rates_add_up_to_what_is_asked_for() {
        let line = |tool: Tool| tool.paced("http://127.0.0.1:81/", 8).map(|invocation| invocation.arguments.join(" "));
        assert!(line(Tool::Hey).unwrap().contains("-c 50 -q 200"));
        assert!(line(Tool::H2load).unwrap().contains("-c50 -D8 --rps 200"));
        assert!(line(Tool::Httperf).unwrap().contains("--rate 1000 --num-conns 8000 --num-calls 10"));
        assert_eq!(line(Tool::Wrk), None);
    }
}
