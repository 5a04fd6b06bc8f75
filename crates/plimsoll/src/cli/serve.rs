//! The flags of `plimsoll serve`.

use super::examples::Examples;
use clap::Args;
use model::Duration;
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("1 worker, a file of 1 KiB, any free port", "plimsoll serve nginx"),
    ("all servers and their settings", "plimsoll serve --list"),
    ("the same text as --serve of run, sweep and others takes", "plimsoll serve 'nginx workers=2'"),
    (
        "settings as flags, and one of nginx alone",
        "plimsoll serve nginx --workers 2 --file-size 64KiB \\\n--set open_file_cache=on",
    ),
    ("a directory of yours on port 8080", "plimsoll serve apache --set mpm=prefork --root /srv/www --port 8080"),
    ("PHP with five processes", "plimsoll serve php-fpm --set children=5 --set sleep=20ms"),
    ("a proxy with TLS", "plimsoll serve haproxy --tls on --set backend=apache"),
    ("any command as the server", "plimsoll serve -- ./my-server --port {port}"),
    ("generated configuration", "plimsoll serve nginx --print-config"),
    ("remove what a crash left behind", "plimsoll serve --clean"),
]);

/// Start a private server under test in the foreground
///
/// It runs until ^C, in a directory of its own with a generated configuration on free loopback ports, as an
/// unprivileged user
/// when root starts it. When it is ready, one line of JSON says where it answers. When plimsoll ends, even if killed,
/// all processes of the server are stopped and the directory is removed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("serve"), after_long_help = EXAMPLES.full())]
pub(crate) struct ServeArgs {
    /// Server name, see --list; or 'nginx workers=2', or @FILE (TOML)
    pub(crate) name: Option<String>,
    /// Command to run as the server
    ///
    /// {address}, {port}, {state} and {root} are filled in.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) settings: ServerArgs,
    /// Setting of this server alone, as KEY=VALUE; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Time limit for the server to become ready
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Keep the state directory, with configuration and logs, after the end; it is yours to remove
    #[arg(hide_short_help = true, long)]
    pub(crate) keep_state: bool,
    /// Print configuration and command lines without starting anything
    #[arg(long)]
    pub(crate) print_config: bool,
    /// List all servers and their settings
    #[arg(long, conflicts_with_all = ["name", "clean"])]
    pub(crate) list: bool,
    /// Stop and remove what is left of servers whose plimsoll and supervisor were both killed
    #[arg(long, conflicts_with = "name")]
    pub(crate) clean: bool,
}

/// Settings that most servers share. The stack checks their values, as it reads them from texts and files too.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct ServerArgs {
    /// IPv4 address of this machine to listen at, for load from other machines [default: 127.0.0.1]
    ///
    /// Whoever reaches it can use the server, and see its status pages.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// TCP port [default: any free port]
    #[arg(long, value_name = "N")]
    port: Option<String>,
    /// Workers: processes or threads, as the server counts them, 1 to 1024 [default: 1]
    #[arg(long, value_name = "N")]
    workers: Option<String>,
    /// Connections per worker, limited by ulimit -Hn [default: 4096]
    #[arg(hide_short_help = true, long, value_name = "N")]
    worker_connections: Option<String>,
    /// Persistent connections [default: on]
    #[arg(hide_short_help = true, long, value_name = "on|off")]
    keepalive: Option<String>,
    /// Responses per connection before it is closed [default: unlimited]
    #[arg(hide_short_help = true, long, value_name = "N")]
    keepalive_requests: Option<String>,
    /// Access log in a file [default: off]
    #[arg(hide_short_help = true, long, value_name = "on|off")]
    access_log: Option<String>,
    /// TLS with a generated certificate [default: off]
    #[arg(long, value_name = "on|off")]
    tls: Option<String>,
    /// gzip compression of text, for clients that accept it [default: off]
    #[arg(hide_short_help = true, long, value_name = "on|off")]
    gzip: Option<String>,
    /// sendfile(2) for static files [default: on]
    #[arg(hide_short_help = true, long, value_name = "on|off")]
    sendfile: Option<String>,
    /// Accept queue length, capped by net.core.somaxconn [default: 4096]
    #[arg(hide_short_help = true, long, value_name = "N")]
    backlog: Option<String>,
    /// Size of the file served, at most 1GiB [default: 1KiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "root")]
    file_size: Option<String>,
    /// Directory served instead of the file
    #[arg(long, value_name = "DIR")]
    root: Option<String>,
    /// Path of the readiness check and of the URL to measure [default: /]
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    path: Option<String>,
    /// Server configuration; {address}, {port}, {state} and {root} are filled in [default: generated]
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    config: Option<String>,
    /// Server program [default: the installed one]
    #[arg(hide_short_help = true, long, value_name = "PATH")]
    binary: Option<String>,
    /// Shell command that builds the program first, within an hour
    #[arg(hide_short_help = true, long, value_name = "COMMAND")]
    build: Option<String>,
    /// Environment variable; repeatable
    ///
    /// Servers get no other variables of the caller than PATH. Commands get PATH, LANG, LANGUAGE, LC_ALL, LC_CTYPE, TZ,
    /// LD_LIBRARY_PATH, PYTHONPATH, VIRTUAL_ENV, NODE_PATH and JAVA_HOME; HOME and TMPDIR (folders of their own), PORT and
    /// PLIMSOLL (this program) are set.
    #[arg(hide_short_help = true, long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Prefix of the server's command line, such as 'numactl --membind=0'
    #[arg(hide_short_help = true, long, value_name = "COMMAND")]
    wrapper: Option<String>,
    /// CPUs for the server: all, or a list such as 0 or 0,2-3 [default: all; with --serve half of the physical cores]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// User of the server when root starts it [default: one of its own; for a command nobody, for target the caller]
    ///
    /// A user of its own is a number without a name that no account has. The user must be able to reach the program and the
    /// current directory. A build runs as the caller unless a user is named.
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    user: Option<String>,
}

impl ServerArgs {
    /// What was given, under the names that texts and files have too.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let single = [
            ("address", &self.address),
            ("port", &self.port),
            ("workers", &self.workers),
            ("worker-connections", &self.worker_connections),
            ("keepalive", &self.keepalive),
            ("keepalive-requests", &self.keepalive_requests),
            ("access-log", &self.access_log),
            ("tls", &self.tls),
            ("gzip", &self.gzip),
            ("sendfile", &self.sendfile),
            ("backlog", &self.backlog),
            ("file-size", &self.file_size),
            ("root", &self.root),
            ("path", &self.path),
            ("config", &self.config),
            ("binary", &self.binary),
            ("build", &self.build),
            ("wrapper", &self.wrapper),
            ("cpus", &self.cpus),
            ("user", &self.user),
        ];
        let given = single.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let all = given.chain(self.env.iter().map(|value| ("env", value)));
        all.map(|(key, value)| (key.to_owned(), value.clone())).collect()
    }
}

/// Command line of the supervisor process; internal.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// State directory
    pub(crate) dir: PathBuf,
}
