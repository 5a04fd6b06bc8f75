//! Layout of a server: files, processes in the order of their start, and where it answers.

use model::Request;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that is needed to run a server; made by [`Server::layout`](crate::Server::layout).
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Files below the state directory: relative path and content.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// What runs once, before the first start: name and process.
    pub(crate) provision: Vec<Process>,
    /// What runs once after that, while the first of the services is up: it fills a database.
    pub(crate) fill: Vec<Process>,
    /// What stays running, in the order of starting.
    pub(crate) services: Vec<Service>,
    /// Relative path of what provisioning and running change and a restart sets back.
    pub(crate) data: Option<String>,
    /// Where it answers.
    pub(crate) endpoint: Option<Endpoint>,
    /// What is measured in place of a GET of the endpoint's path; its contract has the status that is good.
    pub(crate) request: Option<Request>,
    /// What the endpoint must give when it is asked for the path that is measured; none: any answer of status 200.
    pub(crate) body: Option<Body>,
    /// Relative path of a file with `user:password` for who uses the server.
    pub(crate) credentials: Option<&'static str>,
    /// Paths at the endpoint where it tells of itself.
    pub(crate) status: Vec<&'static str>,
    /// Relative path of the configuration that `--config` replaces.
    pub(crate) main_config: Option<String>,
    /// What the user should know of what was asked for.
    pub(crate) warnings: Vec<String>,
}

/// End of a page: PHP may fail after status 200 was sent.
pub(crate) const PAGE_END: &str = "</html>";

/// What a page has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// These bytes.
    Is(Vec<u8>),
    /// Any with each of these texts in it.
    Holds(Vec<String>),
}

impl Body {
    /// The end of a page, which it has whatever its content is; none of other bodies.
    pub(crate) fn lasting(&self) -> Option<&str> {
        match self {
            Self::Is(_) => None,
            Self::Holds(texts) => texts.iter().map(String::as_str).find(|text| *text == PAGE_END),
        }
    }
}

/// Where a server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// HTTP.
    Http {
        /// Scheme, address, port and path.
        url: String,
    },
    /// FastCGI on a Unix socket.
    FastCgi {
        /// Socket and script, as `plimsoll run` takes them.
        url: String,
        /// The socket.
        socket: PathBuf,
        /// File of the script.
        script: String,
    },
    /// Something else on a Unix socket.
    Socket {
        /// The socket.
        path: PathBuf,
    },
}

/// One process to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// Added to what every server is given.
    pub(crate) env: Vec<(String, String)>,
    /// It runs as whoever starts it, unless a user is named. For plimsoll itself, which may lie where nobody else can read.
    pub(crate) as_caller: bool,
}

/// A process that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) process: Process,
    pub(crate) ready: Ready,
    pub(crate) stop: Stop,
}

/// How a process is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stop {
    /// As in signal(7).
    pub(crate) signal: i32,
    /// Time it is given before it is killed; ms.
    pub(crate) kill_after_ms: u64,
}

impl Stop {
    /// What most servers understand as: end now, in good order.
    pub(crate) const TERM: Self = Self { signal: 15, kill_after_ms: 3_000 };
    /// For a database, which has to write.
    pub(crate) const SLOW: Self = Self { signal: 15, kill_after_ms: 20_000 };
}

/// How one sees that a service is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// The endpoint of the whole layout answers.
    Endpoint,
    /// Another page than the endpoint's answers with status 200.
    Page(String),
    /// A TCP port of loopback takes connections.
    Port(u16),
    /// A Unix socket takes connections.
    Socket(PathBuf),
    /// A Unix socket says `+PONG` to `PING`.
    Redis(PathBuf),
    /// A Unix socket greets in the protocol of MySQL.
    Mysql(PathBuf),
}

impl Process {
    pub(crate) fn new(name: &str, program: PathBuf) -> Self {
        Self { name: name.to_owned(), program, ..Self::default() }
    }

    pub(crate) fn args<T: ToString>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.to_string()));
        self
    }

    pub(crate) fn service(self, ready: Ready, stop: Stop) -> Service {
        Service { process: self, ready, stop }
    }
}

impl Layout {
    /// Adds a status page, where there is one.
    pub(crate) fn status_page(mut self, path: &'static str, is_on: bool) -> Self {
        self.status.extend(is_on.then_some(path));
        self
    }

    pub(crate) fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((path.to_owned(), content.into()));
        self
    }
}
