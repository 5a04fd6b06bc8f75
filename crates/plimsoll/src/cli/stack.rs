//! The flags of `plimsoll stack`.

use super::examples::Examples;
use clap::{Args, Subcommand};
use model::Duration;
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("50 posts, 5 PHP processes, nginx", "plimsoll stack up wordpress"),
    ("end it", "plimsoll stack down wordpress"),
    ("with settings", "plimsoll stack up wordpress front=apache children=3 posts=200 port=8080"),
    (
        "measure it",
        "url=$(plimsoll stack up wordpress page_cache=nginx --json | jq -r .url)\n\
         plimsoll run \"$url\" && plimsoll stack down wordpress",
    ),
    ("content of a site of yours", "plimsoll stack up wordpress --import export.xml"),
    ("what the servers write", "plimsoll stack logs wordpress -n 20"),
    ("PHP functions are sampled ...", "plimsoll stack up wordpress php_profile=cpu"),
    ("... and shown, with a flame graph", "plimsoll stack php-profile wordpress -o php"),
]);

/// Start, list and stop private servers in the background
///
/// The same servers as of plimsoll serve and --serve, with the same settings (plimsoll serve --list), left to their
/// supervisor once they answer as they should. They run until plimsoll stack down, whatever becomes of the terminal.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("stack"), after_long_help = EXAMPLES.full())]
pub(crate) struct StackArgs {
    #[command(subcommand)]
    pub(crate) verb: StackVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StackVerb {
    Up(UpArgs),
    Status(StatusArgs),
    Logs(LogsArgs),
    Down(DownArgs),
    PhpProfile(PhpProfileArgs),
    Compose(ComposeArgs),
}

/// Write WordPress as a Compose file, and what has to lie beside it
///
/// The same files and processes as of stack up, from the same settings; the image is built with Debian's packages. The
/// port is published on loopback only.
#[derive(Debug, Args)]
pub(crate) struct ComposeArgs {
    /// Server name: wordpress
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Settings, such as children=3 or port=8088
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// New directory for the files
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

/// Start a server, and return once its page is verified
///
/// If it fails, or is interrupted or killed, nothing of it is left running. What an earlier start that was killed with its
/// supervisor has left is removed first.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Server name, see plimsoll serve --list; or @FILE with its settings (TOML)
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// Settings, such as children=3 or port=8080
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// WordPress export (WXR), whose posts, pages and comments are the content; as import=FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) import: Option<String>,
    /// Name of the stack [default: the server's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Time limit for each of its processes to become ready
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Install the Debian packages that are missing, as root; no service of theirs is started
    #[arg(long)]
    pub(crate) install: bool,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// List stacks that are up; exit code 3 if one does not run or answer
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Name of a stack [default: all]
    pub(crate) name: Option<String>,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the last lines of the logs of a stack
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Name of a stack [default: the only one]
    pub(crate) name: Option<String>,
    /// Lines of each log
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) lines: usize,
}

/// Show where PHP functions of a stack spend their time
///
/// The stack was started with php_profile=cpu or php_profile=real.
/// Each request is sampled every 10 ms by the PHP extension excimer (Debian package php-excimer), from the start of the
/// stack or from --clear on; a request counts when it has ended. PHP's own functions count for the function that calls
/// them, and so does a database that is waited for (php_profile=real). run, sweep and compare with --profile clear the
/// samples and show those of the measurement window.
#[derive(Debug, Args)]
pub(crate) struct PhpProfileArgs {
    /// Name of a stack [default: the only one]
    pub(crate) name: Option<String>,
    /// Directory for php.svg, the flame graph, and php.folded, its stacks; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Forget what was sampled until now
    #[arg(long, conflicts_with_all = ["output", "json"])]
    pub(crate) clear: bool,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Stop a stack, and remove its directory
///
/// What earlier starts that were killed with their supervisors have left is removed too.
#[derive(Debug, Args)]
pub(crate) struct DownArgs {
    /// Name of a stack [default: the only one]
    pub(crate) name: Option<String>,
    /// All stacks
    #[arg(long, conflicts_with = "name")]
    pub(crate) all: bool,
}
