//! `plimsoll profile`: where the CPU time of a process, of a port's server or of all goes.

mod diff;

use crate::cli::profile::{ProfileArgs, ProfileVerb};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::output::progress::Progress;
use crate::profiling::{FOLDED, GRAPH, STACKS_GRAPH, keep_stacks, write, write_file};
use crate::session::environment;
use crate::settings;
use crate::store;
use crate::store::private;
use model::{FORMAT_PROFILE, NS_PER_S, ProfileRecord, Redacted, human};
use observe::profile::{Missing, Recorded, Scope, Unprofiled, behind_port, running};
use report::flame::Scale;
use report::off_cpu;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks at whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const RECORD: &str = "profile.json";

pub(crate) fn profile(args: &ProfileArgs) -> Result<Exit, CommandError> {
    if let Some(ProfileVerb::Diff(args)) = &args.verb {
        return diff::diff(args);
    }
    settings::window(args.duration)?;
    let (scope, mut words) = scope(args)?;
    let asked = args.output.as_deref().map(directory).transpose()?;
    let stop = interrupt::watch()?;
    let progress = Progress::new(args.quiet);
    let started = clock::wall_clock();
    let mut rest = Rest::Whole;
    let wait = || rest = wait(args.duration.ns, &scope.server, &stop, &progress);
    let recorded = Recorded::during(clock::thread_cpu_ns, wait);
    let recorded = recorded.map_err(|error: Unprofiled| CommandError::usage(format!("cannot profile: {error}")))?;
    // One of our own is made when there is something to put into it.
    let directory = asked.map_or_else(|| store::create_new("profile", &started), Ok)?;
    progress.say("looking up names");
    let profile = recorded.resolve(&scope);
    progress.end();
    if rest == Rest::Gone {
        words.push_str(", which has ended meanwhile");
    }
    let of = Redacted::text(&format!("of {words}"));
    write(&directory, &profile, &Redacted::text(&format!("CPU time {of}")), Scale::Samples)?;
    keep_stacks(&directory, off_cpu::of_switches(&profile.waits, None, &of));
    let record = ProfileRecord {
        format: FORMAT_PROFILE.into(),
        scope: words,
        profile: profile.profiled,
        environment: environment::describe(),
        started,
        interrupted: rest != Rest::Whole,
    };
    let json = report::json::profile(&record);
    write_file(&directory.join(RECORD), &json)?;
    if args.json {
        printer::result(&json)?;
    } else {
        let mut text = report::terminal::profile(&record, &printer::style());
        text.push_str(&format!("\nstacks: {}\n", directory.join(FOLDED).display()));
        if directory.join(GRAPH).exists() {
            text.push_str(&format!("graph: {}\n", directory.join(GRAPH).display()));
        }
        if directory.join(STACKS_GRAPH).exists() {
            text.push_str(&format!("waits: {}\n", directory.join(STACKS_GRAPH).display()));
        }
        printer::result(&text)?;
    }
    Ok(if rest == Rest::Stopped { Exit::Interrupted } else { Exit::Fine })
}

/// Who is looked at, and in words.
fn scope(args: &ProfileArgs) -> Result<(Scope, String), CommandError> {
    let missing = |missing: Missing| CommandError::target(format!("cannot profile: {missing}"));
    let (server, words) = match (args.pid, args.port) {
        (Some(pid), _) => (running(pid).map_err(missing)?, format!("process {pid}")),
        (None, Some(port)) => (behind_port(port).map_err(missing)?, format!("port {port}")),
        (None, None) => (BTreeSet::new(), "this machine".to_owned()),
    };
    let only_server = !args.all;
    Ok((Scope { server, only_server, own_name: "plimsoll_profile", ..Scope::default() }, words))
}

/// Why the sampling has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The time is over.
    Whole,
    /// ^C.
    Stopped,
    /// The processes that were looked at have ended.
    Gone,
}

fn wait(duration_ns: u64, server: &BTreeSet<u32>, stop: &AtomicBool, progress: &Progress) -> Rest {
    let begin_ns = clock::monotonic_ns();
    loop {
        let past_ns = clock::monotonic_ns() - begin_ns;
        if past_ns >= duration_ns {
            return Rest::Whole;
        }
        if stop.load(Ordering::Relaxed) {
            return Rest::Stopped;
        }
        if !server.is_empty() && server.iter().all(|pid| running(*pid).is_err()) {
            return Rest::Gone;
        }
        let left_ns = duration_ns - past_ns;
        progress.say(&format!("sampling, {} left", human::plural(left_ns.div_ceil(NS_PER_S), "second")));
        std::thread::sleep(LOOK_EVERY.min(Duration::from_nanos(left_ns)));
    }
}

/// Where the files are asked to go: a directory without a profile.
fn directory(path: &Path) -> Result<PathBuf, CommandError> {
    if path.join(FOLDED).exists() {
        return Err(CommandError::usage(format!(
            "--output {}: there is a profile in it already; name another directory",
            path.display()
        )));
    }
    private::create_directory(path)
        .map_err(|error| CommandError::usage(format!("--output {}: cannot write there: {error}", path.display())))?;
    Ok(path.into())
}
