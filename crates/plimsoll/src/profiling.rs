//! Profiles: who is looked at, what is written, and sampling exactly the measured window of a load.

pub(crate) mod difference;
pub(crate) mod php;
pub(crate) mod samples;

use crate::environment::is_local;
use crate::exit::CommandError;
use crate::output::printer;
use crate::store::private;
use input::text_at_most;
use model::{Address, Event, Peak, Phase, Plan, Profiled, Redacted, SamplesAdded, SessionEvent, SweepRecord};
use observe::profile::{NameReader, Profile, Profiler, Scope, behind_address};
use observe::{ProcessSelector, select};
use php::{PHP_GRAPH, PhpSampled, PhpSampling};
use report::flame::{self, Scale};
use report::html::Graphs;
use report::off_cpu::{self, OffCpu};
use report::record::{AnyRecord, arm_folder, difference_stem, php_difference_stem};
use samples::{OWN_NAME_UNDER_LOAD, SampleFile};
use stack::PhpSamples;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

/// The stacks, and the graph of them.
pub(crate) const FOLDED: &str = "profile.folded";
pub(crate) const GRAPH: &str = "profile.svg";
/// The same of what workers waited for.
const WAITS_FOLDED: &str = "off-cpu.folded";
const WAITS_GRAPH: &str = "off-cpu.svg";
/// The same of where threads waited.
const STACKS_FOLDED: &str = "off-cpu-stacks.folded";
pub(crate) const STACKS_GRAPH: &str = "off-cpu-stacks.svg";
/// Why there is no profile of a measurement that was ended early.
pub(crate) const ENDED_BEFORE: &str = "it ended before it could be profiled";
/// The same of one whose samples are no more than a file.
pub(crate) const UNREADABLE: &str = "its samples cannot be read";
/// Largest graph that a page takes in.
const GRAPH_MAX_BYTES: u64 = 32 << 20;

/// Samples during the measured window of one load.
pub(crate) struct Sampling {
    state: State,
    /// Where the server samples PHP functions.
    php: Option<PhpSampling>,
    scope: Scope,
    begin_ns: u64,
    window_ns: Option<u64>,
}

enum State {
    /// Before, within or after the window; with what is written down of it.
    Ready(Profiler, SampleFile),
    /// Why there is nothing.
    Unavailable(String),
}

/// What came of it.
pub(crate) enum Sampled {
    Profile(Box<Profile>, Option<PhpSampled>),
    Unavailable(String),
}

impl Sampling {
    /// Gets ready for the load of `plan`, whose server is whoever listens at its target unless it is named, with `companions`
    /// whose waiting is told too; says so once when nothing can be sampled. Samples are written down in `directory`.
    pub(crate) fn new(
        plan: &Plan,
        server: Option<&ProcessSelector>,
        companions: &[ProcessSelector],
        php: Option<PhpSamples>,
        directory: &Path,
    ) -> Self {
        let address: &Address = &plan.target.address;
        let window_ns = plan.stop.duration_ns();
        let mut scope = Scope { own_name: OWN_NAME_UNDER_LOAD, ..Scope::default() };
        let state = match is_local(address) || server.is_some() {
            false => State::Unavailable("the server is not on this machine; run plimsoll profile there".into()),
            true => match profiler().and_then(|profiler| processes(address, server).map(|server| (server, profiler))) {
                Err(why) => State::Unavailable(why),
                Ok((server, (profiler, added))) => {
                    scope.server = server;
                    // Who is not there waits for nothing, and has been told of by whoever watches.
                    scope.companions = companions.iter().filter_map(|wanted| select(wanted).ok()).flatten().collect();
                    let begun = samples::begun(profiler.begun(), &scope);
                    State::Ready(profiler, SampleFile::start(directory, begun, added))
                }
            },
        };
        if let State::Unavailable(why) = &state {
            printer::note(&format!("warning: no profile: {why}"));
        }
        let php = php.filter(|_| matches!(state, State::Ready(..))).map(PhpSampling::new);
        Self { state, php, scope, begin_ns: 0, window_ns }
    }

    /// Switches on where the window begins and off where it ends.
    pub(crate) fn follow(&mut self, event: &Event) {
        let State::Ready(profiler, _) = &self.state else { return };
        match event {
            Event::Warmed { at_ns, .. } => {
                self.begin_ns = *at_ns;
                profiler.switch_on();
                self.php.iter_mut().for_each(PhpSampling::begin);
            }
            Event::Tick(tick) if tick.phase == Phase::Drain => self.switch_off(),
            Event::Tick(tick) if tick.phase == Phase::Measure => {
                if self.window_ns.is_some_and(|window_ns| tick.to_ns >= self.begin_ns + window_ns) {
                    self.switch_off();
                }
            }
            Event::Prolonged { by_ns, .. } => self.window_ns = self.window_ns.map(|window_ns| window_ns + by_ns),
            Event::Ended { .. } => self.switch_off(),
            Event::Probed(_)
            | Event::Started { .. }
            | Event::Opening { .. }
            | Event::Connected { .. }
            | Event::Tick(_)
            | Event::Observed(_)
            | Event::Disturbed { .. }
            | Event::Status { .. }
            | Event::AgentsStarted { .. }
            | Event::AgentLost { .. }
            | Event::AgentsEnded { .. }
            | Event::Session(_) => {}
        }
    }

    fn switch_off(&mut self) {
        if let State::Ready(profiler, _) = &self.state {
            profiler.switch_off();
            self.php.iter_mut().for_each(PhpSampling::end);
        }
    }

    /// Names what was sampled, while the server still runs: its maps are needed.
    ///
    /// A `stop` that is set meanwhile leaves the rest without names.
    pub(crate) fn finish(self, stop: &Arc<AtomicBool>) -> Sampled {
        match self.state {
            State::Unavailable(why) => Sampled::Unavailable(why),
            State::Ready(profiler, file) => {
                let recorded = profiler.finish();
                file.end();
                Sampled::Profile(
                    Box::new(recorded.resolve(&self.scope, &name_reader(stop))),
                    self.php.and_then(PhpSampling::finish),
                )
            }
        }
    }
}

/// This program reads program files too, in a process without rights.
pub(crate) fn name_reader(stop: &Arc<AtomicBool>) -> NameReader {
    // By its path it may be another program by now.
    NameReader { command: vec!["/proc/self/exe".into(), "read-names".into()], stop: Arc::clone(stop) }
}

/// Samples of all CPUs, and what comes of them while they are taken; or why there are none.
fn profiler() -> Result<(Profiler, Receiver<SamplesAdded>), String> {
    let (take, added) = samples::channel();
    let profiler = Profiler::new(clock::thread_cpu_ns, Some(take)).map_err(|error| error.to_string())?;
    Ok((profiler, added))
}

/// The processes of the server, or why they are not known.
fn processes(address: &Address, server: Option<&ProcessSelector>) -> Result<BTreeSet<u32>, String> {
    match server {
        Some(server) => select(server).map_err(|unmet| unmet.to_string()),
        None => behind_address(address).map_err(|missing| missing.to_string()),
    }
}

/// Writes stacks and graph into `directory`.
pub(crate) fn write(directory: &Path, profile: &Profile, title: &Redacted, scale: Scale) -> Result<(), CommandError> {
    write_file(&directory.join(FOLDED), &profile.folded)?;
    match flame::graph(&profile.folded, title, scale) {
        Some(svg) => write_file(&directory.join(GRAPH), &svg),
        None => Ok(()),
    }
}

/// Removes the samples that a profile in `directory` was made of, unless the disk has not taken that.
pub(crate) fn remove_samples(directory: &Path) {
    if directory.join(FOLDED).exists() {
        samples::remove(directory);
    }
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    private::write(path, text.as_bytes())
        .map_err(|error| CommandError::usage(format!("cannot write {}: {error}", path.display())))
}

/// Relates what came of it to the load that `goodput_per_s` good responses came out of, and writes it into `directory`.
/// Returns the figures, or why there are none. A disk that takes no file is told; the figures stand.
pub(crate) fn keep(directory: &Path, sampled: Sampled, goodput_per_s: Option<f64>, url: &Redacted) -> SessionEvent {
    let (mut profile, php) = match sampled {
        Sampled::Profile(profile, php) => (profile, php),
        Sampled::Unavailable(why) => return no_profile(&why),
    };
    goodput_per_s.into_iter().for_each(|goodput_per_s| profile.profiled.relate(goodput_per_s));
    let scale = match profile.profiled.sample_us_per_good_request {
        Some(sample_us) => Scale::UsPerGood { sample_us },
        None => Scale::Samples,
    };
    let under = Redacted::text(&format!("under {url}"));
    let title = Redacted::text(&format!("CPU time {under}"));
    if let Err(error) = write(directory, &profile, &title, scale) {
        printer::note(&format!("warning: {}; the profile's figures are kept", error.message));
    }
    let good = goodput_per_s.map(|goodput_per_s| goodput_per_s * profile.sampled_s());
    keep_stacks(directory, off_cpu::of_switches(&profile.waits, good, &under));
    if let Some(php) = php {
        profile.profiled.php = Some(Box::new(php.profile.clone()));
        let us_per_good = profile.profiled.php_sample_us_per_good();
        if let Err(error) = php::write(directory, &php, &under, us_per_good) {
            printer::note(&format!("warning: {}; the profile's figures are kept", error.message));
        }
    }
    SessionEvent::Profiled { profiled: Some(Box::new(profile.profiled)), unavailable: None }
}

/// There is no profile, for a reason.
pub(crate) fn no_profile(why: &str) -> SessionEvent {
    SessionEvent::Profiled { profiled: None, unavailable: Some(why.to_owned()) }
}

/// What came of it, related to the peak of a sweep, at whose load it was taken.
pub(crate) fn at_peak(mut event: SessionEvent, peak: &Peak) -> SessionEvent {
    if let SessionEvent::Profiled { profiled: Some(profile), .. } = &mut event {
        let change = profile.goodput_per_s.map(|goodput_per_s| goodput_per_s / peak.goodput_per_s - 1.0);
        profile.load = Some(peak.load);
        profile.goodput_change = change.filter(|_| peak.goodput_per_s > 0.0);
    }
    event
}

/// Writes what workers waited for into `directory`, if anything.
pub(crate) fn keep_waits(directory: &Path, waits: Option<OffCpu>) {
    write_waits(directory, [WAITS_FOLDED, WAITS_GRAPH], waits);
}

/// Writes where threads waited into `directory`, if they did.
pub(crate) fn keep_stacks(directory: &Path, waits: Option<OffCpu>) {
    write_waits(directory, [STACKS_FOLDED, STACKS_GRAPH], waits);
}

/// Writes stacks and graph, if there are any. A disk that takes no file is told.
fn write_waits(directory: &Path, [folded, graph]: [&str; 2], waits: Option<OffCpu>) {
    let Some(waits) = waits else { return };
    let files = [(folded, &waits.folded), (graph, &waits.svg)];
    let written = files.into_iter().try_for_each(|(name, text)| write_file(&directory.join(name), text));
    if let Err(error) = written {
        printer::note(&format!("warning: {}", error.message));
    }
}

/// The graphs of a result in `directory`: one for each result by itself that the page shows.
pub(crate) fn graphs(directory: &Path, record: AnyRecord<'_>) -> Vec<Graphs> {
    let graph = |directory: &Path, profile: &Option<Profiled>| {
        let read = |name| profile.as_ref().and_then(|_| read_graph(&directory.join(name)));
        let php = profile.as_ref().filter(|profile| profile.php.is_some()).and_then(|_| read(PHP_GRAPH));
        Graphs { running: read(GRAPH), waiting: read(STACKS_GRAPH), php, ..Graphs::default() }
    };
    match record {
        AnyRecord::Run(record) => vec![graph(directory, &record.profile)],
        AnyRecord::Sweep(record) => vec![graph(directory, &record.profile)],
        AnyRecord::Compare(record) if !record.profiles.is_empty() => {
            let read = |stem: fn(usize) -> String| {
                let graph = |index| read_graph(&directory.join(format!("{}.svg", stem(index))));
                (1..record.arms.len()).map(graph).collect()
            };
            let (differences, php_differences) = (read(difference_stem), read(php_difference_stem));
            vec![Graphs { differences, php_differences, ..Graphs::default() }]
        }
        AnyRecord::Capacity(_) | AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => {
            vec![Graphs::default()]
        }
        AnyRecord::Sweeps(record) => {
            let arms = record.sweeps.iter().enumerate();
            let folder = |i, arm: &SweepRecord| arm_folder(i, arm.arm.as_deref().unwrap_or_default());
            arms.map(|(i, arm)| graph(&directory.join(folder(i, arm)), &arm.profile)).collect()
        }
    }
}

/// True of a file, and not of a link: a result may come from anywhere, and what is made of it may be passed on.
pub(crate) fn is_file_itself(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// A graph; none of one that is too large.
fn read_graph(path: &Path) -> Option<String> {
    is_file_itself(path).then(|| text_at_most(path, GRAPH_MAX_BYTES).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_page_shows_graphs_of_the_result_and_no_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let (graph, link) = (folder.path().join(GRAPH), folder.path().join(STACKS_GRAPH));
        std::fs::write(&graph, "<svg/>").unwrap();
        symlink(&graph, &link).unwrap();
        assert_eq!((read_graph(&graph).as_deref(), read_graph(&link)), (Some("<svg/>"), None));
        std::fs::File::create(&graph).unwrap().set_len(GRAPH_MAX_BYTES + 1).unwrap();
        assert_eq!(read_graph(&graph), None, "it is too large");
    }
}
