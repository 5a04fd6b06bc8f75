//! Promises of the readers of texts from outside on arbitrary bytes, for the fuzz targets and the tests that fuzz a little:
//! samples that were written down, names of functions, status pages and counters of servers, and the files of a machine.

use crate::control_group;
use crate::files::Files;
use crate::kernel::{CpuGroup, Kernel};
use crate::machine::{Machine, numbers_told};
use crate::processes::seen_in;
use crate::profile::{NameReader, Past, Scope, check_answer, find_generated};
use crate::status;
use crate::threads;
use model::{KernelFigures, ServerStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longest reason for which a page is none, with the begin of the page.
const REASON_CHARS_MAX: usize = 400;
/// Parts the files of a machine in one input.
const BETWEEN: &str = "\n\n";
/// Where control groups are, and whose group is asked for.
const GROUPS: &str = "/sys/fs/cgroup/";
const PID: i32 = 7;

/// Takes `data` as a `profile.samples`: no panic, neither while it is read nor while it becomes a profile, and no more is in
/// its stacks than was counted.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_samples(data: &[u8]) {
    let Past { begun, recorded } = match Past::read(data) {
        Ok(past) => past,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let scope =
        Scope { server: begun.server, companions: begun.companions, only_server: begun.only_server, own_name: "own" };
    let profile = recorded.resolve(&scope, &NameReader::default());
    let count = |line: &str| line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()).expect("a count");
    assert_eq!(profile.folded.lines().map(count).sum::<u64>(), profile.profiled.samples);
    assert!(profile.waits.lines().all(|line| count(line) < u64::MAX));
}

/// Takes `data` as a list of functions that were compiled just in time: no panic, only addresses are named that were asked for,
/// and each name is part of one line.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_perf_map(data: &[u8]) {
    let addresses: BTreeSet<u64> = [0, 1, 0x1000, 0x1008, 0x7fff_0000_0000, u64::MAX].into();
    let found = find_generated(data, &addresses).expect("memory can be read");
    for (address, name) in found {
        assert!(addresses.contains(&address) && !name.is_empty() && !name.contains('\n'), "{address:x} {name:?}");
    }
}

/// Takes `data` as what the process says that reads program files: no panic, and no more names than are agreed on.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_names(data: &[u8]) {
    check_answer(data);
}

/// Takes `data` as a status page, and as the rows of a database, a line each, name and value apart by a tab: no panic; figures
/// are finite and the same when they are read back; and a reason for none is one short line.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_status(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check_status(status::read(&text));
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    let counters = status::read_mysql(&rows);
    let running = rows.iter().find(|(name, _)| name.eq_ignore_ascii_case("Threads_running"));
    assert_eq!(counters.is_ok(), running.is_some_and(|(_, value)| value.parse::<f64>().is_ok()), "{rows:?}");
    check_status(counters);
}

fn check_status(told: Result<ServerStatus, String>) {
    let status = match told {
        Ok(status) => status,
        Err(why) => {
            let is_line = why.chars().count() <= REASON_CHARS_MAX && !why.contains(char::is_control);
            return assert!(is_line, "{why:?}");
        }
    };
    assert!(status.figures.values().all(|value| value.is_finite()), "{status:?}");
    let json = serde_json::to_string(&status).expect("JSON");
    assert_eq!(serde_json::from_str::<ServerStatus>(&json).ok().as_ref(), Some(&status), "{json}");
}

/// Takes `data` as the files of a machine, an empty line between two, with the path of each in its first line: no panic; what is told
/// twice is no growth; what is not known has its reason in a line; and no group lies elsewhere than all groups do.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_machine(data: &[u8]) {
    let sections = String::from_utf8_lossy(data);
    let texts: BTreeMap<String, Vec<u8>> = sections.split(BETWEEN).filter_map(file).collect();
    for (path, text) in &texts {
        match path.rsplit_once('/').map(|(_, name)| name) {
            Some("stat") => check_stat(text),
            Some("status") => drop(threads::status(text)),
            _ => {}
        }
    }
    let files = Files::Texts(Arc::new(texts));
    check_groups(&files);
    let mut kernel = Kernel::of(files);
    let (first, missing) = kernel.sample(Some(PID));
    assert!(first.counters.is_empty(), "growth since nothing: {first:?}");
    assert!(missing.iter().all(|(_, why)| !why.to_string().contains('\n')), "{missing:?}");
    let (second, missing_again) = kernel.sample(Some(PID));
    assert_eq!((&second.gauges, &missing_again), (&first.gauges, &missing));
    let KernelFigures { counters, .. } = second;
    assert!(counters.values().all(|counters| counters.values().all(|growth| *growth == 0)), "{counters:?}");
}

/// Path and text.
fn file(section: &str) -> Option<(String, Vec<u8>)> {
    let (path, text) = section.split_once('\n')?;
    path.starts_with('/').then(|| (path.to_owned(), text.into()))
}

/// That of a process, and that of the machine.
fn check_stat(text: &[u8]) {
    drop(seen_in(PID, text));
    let mut machine = Machine::default();
    let mut told = || machine.take(text, numbers_told(text)).ok();
    if let (Some(first), Some(second)) = (told(), told()) {
        assert_eq!((first.total.all_ns(), second.total.all_ns()), (0, 0), "the same again is no time");
        assert!(second.by_number().all(|(_, times)| times.all_ns() == 0), "{second:?}");
    }
}

fn check_groups(files: &Files) {
    if let Some(group) = CpuGroup::of(files, &PID.to_string()) {
        let is_below =
            format!("{}/", group.place).starts_with(GROUPS) && !group.place.split('/').any(|part| part == "..");
        assert!(is_below, "{group:?}");
    }
    if let Ok(members) = control_group::processes(files, "/") {
        assert!(members.iter().all(|pid| *pid > 0), "{members:?}");
    }
}

/// Figures of one process that has used so much CPU time.
#[cfg(test)]
pub(crate) fn used(cpu_ns: u64) -> model::ProcessFigures {
    model::ProcessFigures { count: 1, cpu_ns, ..model::ProcessFigures::default() }
}
