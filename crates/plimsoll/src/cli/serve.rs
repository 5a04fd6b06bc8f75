//! The flags of `plimsoll serve`.

use clap::Args;
use model::Duration;
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  plimsoll serve nginx                                1 worker, a file of 1 KiB, any free port
  plimsoll serve nginx --workers 2 --file-size 64KiB --set open_file_cache=on
  plimsoll serve apache --set mpm=prefork --root /srv/www --port 8080
  plimsoll serve php-fpm --set children=5 --set sleep=20ms
  plimsoll serve haproxy --tls on --set backend=apache
  plimsoll serve -- ./my-server --port {port}         a command of your own
  plimsoll serve nginx --print-config                 what it would be given
  plimsoll serve --list                               all servers and their settings
  plimsoll serve --clean                              ends what a crash has left";

/// Runs a server under test in the foreground, privately, until ^C.
///
/// It gets a directory and free loopback ports of its own, a generated configuration, and an unprivileged user when root
/// starts it. It is up when it has answered what it should; then one line of JSON says where. When plimsoll ends, however
/// it ends, the server and all its processes end too, and the directory goes.
#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Which server; see --list
    pub(crate) name: Option<String>,
    /// A command that is a server; {port}, {state} and {root} are filled in
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) settings: ServerArgs,
    /// Setting of this server alone, as KEY=VALUE; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Time the server is given to answer
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Leave its directory, with configuration and logs, when it ends
    #[arg(long)]
    pub(crate) keep_state: bool,
    /// Print the configuration and the command lines, and start nothing
    #[arg(long)]
    pub(crate) print_config: bool,
    /// List all servers and their settings
    #[arg(long, conflicts_with_all = ["name", "clean"])]
    pub(crate) list: bool,
    /// End and remove what is left of servers whose plimsoll and keeper were both killed
    #[arg(long, conflicts_with = "name")]
    pub(crate) clean: bool,
}

/// Settings that all or most servers have. Their meaning and their values are checked by the stack, which has them from
/// texts and files too.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct ServerArgs {
    /// TCP port of loopback [default: any that is free]
    #[arg(long, value_name = "N")]
    port: Option<String>,
    /// Workers: processes or threads, as the server counts them [default: 1]
    #[arg(long, value_name = "N")]
    workers: Option<String>,
    /// Connections that a worker may hold [default: 4096]
    #[arg(long, value_name = "N")]
    worker_connections: Option<String>,
    /// Whether connections stay open after an answer [default: on]
    #[arg(long, value_name = "on|off")]
    keepalive: Option<String>,
    /// Requests after which a connection is closed [default: never]
    #[arg(long, value_name = "N")]
    keepalive_requests: Option<String>,
    /// Whether each request is logged to a file [default: off]
    #[arg(long, value_name = "on|off")]
    access_log: Option<String>,
    /// Whether it speaks TLS, with a certificate of its own [default: off]
    #[arg(long, value_name = "on|off")]
    tls: Option<String>,
    /// Whether text is compressed for who asks for it [default: off]
    #[arg(long, value_name = "on|off")]
    gzip: Option<String>,
    /// Whether the kernel sends files [default: on]
    #[arg(long, value_name = "on|off")]
    sendfile: Option<String>,
    /// Length of the accept queue [default: 4096]
    #[arg(long, value_name = "N")]
    backlog: Option<String>,
    /// Size of the file that is served [default: 1KiB]
    #[arg(long, value_name = "SIZE", conflicts_with = "root")]
    file_size: Option<String>,
    /// Directory that is served instead of the file
    #[arg(long, value_name = "DIR")]
    root: Option<String>,
    /// What is asked for to see that it answers [default: /]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The server's own configuration instead of a generated one; {port}, {state} and {root} are filled in
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// The server's program instead of the installed one
    #[arg(long, value_name = "PATH")]
    binary: Option<String>,
    /// Shell command that makes the program first
    #[arg(long, value_name = "COMMAND")]
    build: Option<String>,
    /// Environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// What stands before the program, such as 'numactl --membind=0'
    #[arg(long, value_name = "COMMAND")]
    wrapper: Option<String>,
    /// CPUs it may use, such as 0 or 0,2-3 [default: all]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// User it runs as when root starts it [default: nobody]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl ServerArgs {
    /// What was given, under the names that texts and files have too.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let single = [
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

/// What the keeper of servers is told; plimsoll starts it by itself.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// The state directory
    pub(crate) dir: PathBuf,
}
