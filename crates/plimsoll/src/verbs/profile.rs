//! `plimsoll profile`: where the CPU time of a process, of a port's server or of all goes.

mod diff;

use crate::cli::profile::{ProfileArgs, ProfileVerb};
use crate::environment;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::printer;
use crate::output::progress::Progress;
use crate::profiling::samples::{self, OWN_NAME, SampleFile};
use crate::profiling::{FOLDED, GRAPH, STACKS_GRAPH, keep_stacks, name_reader, remove_samples, write, write_file};
use crate::settings;
use crate::store;
use crate::store::private;
use model::{FORMAT_PROFILE, NS_PER_S, ProfileBegun, ProfileRecord, Redacted, SamplesBegun, human};
use observe::profile::{Missing, Profile, Profiler, Scope, behind_port, running};
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
    let (scope, words) = scope(args)?;
    let asked = args.output.as_deref().map(directory).transpose()?;
    let stop = interrupt::watch()?;
    let progress = Progress::new(args.quiet);
    let started = clock::wall_clock();
    let (take, added) = samples::channel();
    let profiler = Profiler::new(clock::thread_cpu_ns, Some(take));
    let profiler = profiler.map_err(|error| CommandError::usage(format!("cannot profile: {error}")))?;
    let directory = asked.map_or_else(|| store::create_new("profile", &started), Ok)?;
    let mut begun = ProfileBegun { scope: words, environment: environment::describe(), started };
    let first = SamplesBegun { profile: Some(begun.clone()), ..samples::begun(profiler.begun(), &scope) };
    let file = SampleFile::start(&directory, first, added);
    profiler.switch_on();
    let rest = wait(args.duration.ns, &scope.server, &stop, &progress);
    let recorded = profiler.finish();
    file.end();
    progress.say("looking up names");
    let profile = recorded.resolve(&scope, &name_reader(&stop));
    progress.end();
    if rest == Rest::Gone {
        begun.scope.push_str(", which has ended meanwhile");
    }
    let record = stored(&directory, profile, begun, rest != Rest::Whole)?;
    let print = if args.json { printer::data } else { printer::result };
    remove_samples(&directory);
    print(&shown(&directory, &record, args.json))?;
    // ^C may have come while names were looked up.
    Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Fine })
}

/// True if there are samples in `directory` that were taken without a load, and whose program did not come to its end.
pub(super) fn is_unfinished(directory: &Path) -> bool {
    samples::are_in(directory) && !store::has_events(directory) && !directory.join(RECORD).exists()
}

/// Makes the profile of what was written down until the program was killed.
pub(super) fn recover(directory: &Path) -> Result<ProfileRecord, CommandError> {
    let nothing = || format!("{}: nothing was sampled that could be recovered", directory.display());
    let (begun, profile) =
        samples::recover(directory).and_then(|found| found.ok_or_else(nothing)).map_err(CommandError::usage)?;
    let begun = begun.profile.ok_or_else(|| CommandError::usage(nothing()))?;
    stored(directory, profile, begun, true)
}

/// Writes stacks, graphs and record of a profile.
fn stored(
    directory: &Path,
    profile: Profile,
    begun: ProfileBegun,
    interrupted: bool,
) -> Result<ProfileRecord, CommandError> {
    let of = Redacted::text(&format!("of {}", begun.scope));
    write(directory, &profile, &Redacted::text(&format!("CPU time {of}")), Scale::Samples)?;
    keep_stacks(directory, off_cpu::of_switches(&profile.waits, None, &of));
    let ProfileBegun { scope, environment, started } = begun;
    let (format, profile) = (FORMAT_PROFILE.into(), profile.profiled);
    let record = ProfileRecord { format, scope, profile, environment, started, interrupted };
    write_file(&directory.join(RECORD), &report::json::profile(&record))?;
    Ok(record)
}

/// The record, as JSON or for people.
pub(super) fn shown(directory: &Path, record: &ProfileRecord, as_json: bool) -> String {
    if as_json {
        return report::json::profile(record);
    }
    let mut text = report::terminal::profile(record, &printer::style());
    text.push_str(&format!("\nstacks: {}\n", directory.join(FOLDED).display()));
    for (what, name) in [("graph", GRAPH), ("waits", STACKS_GRAPH)] {
        let path = directory.join(name);
        if path.exists() {
            text.push_str(&format!("{what}: {}\n", path.display()));
        }
    }
    text
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
    Ok((Scope { server, only_server, own_name: OWN_NAME, ..Scope::default() }, words))
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
    let shown = path.display();
    let wrong = |why: String| CommandError::usage(format!("--output {shown}: {why}"));
    if path.join(FOLDED).exists() {
        return Err(wrong("there is a profile in it already; name another directory".into()));
    }
    if samples::are_in(path) {
        return Err(wrong(format!(
            "a profile in it did not end, and plimsoll report --recover {shown} makes one of what there is"
        )));
    }
    private::create_directory(path).map_err(|error| wrong(format!("cannot write there: {error}")))?;
    Ok(path.into())
}
