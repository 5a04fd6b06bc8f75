//! CPUs that are all busy.

use super::{Change, Detection, Relief, Signal, figures};
use crate::limiter::input::{CPUS, Cpus, LimiterInput};
use crate::limiter::laws;
use crate::limiter::pools::pools;
use crate::text::{list, observable};
use model::human::{percent, plural};
use model::{OtherObserved, ServerThreadObserved};

/// The mean of the CPUs that the server may use; of many, one is always a little less busy.
pub(super) const BUSY: f64 = 0.9;
/// Below it, other processes keep them busy, not the load (rule EN-03).
pub(super) const OWN: f64 = 0.5;
/// Some process waited for a CPU for this share of the time (PSI), or threads did together.
const PRESSURE: f64 = 0.2;
/// Requests in flight for each CPU: what is beyond one waits for it.
pub(super) const IN_FLIGHT: f64 = 1.5;
/// If the hypervisor, or programs whose time is set aside, leave less than this of the time, it is reported.
const STOLEN: f64 = 0.98;
/// What confines a server to some CPUs of a machine.
pub(super) const AFFINITY: &str = "CPU affinity (taskset, cpuset)";
/// From this share of the CPUs on programs that may work for the server are named.
const UNDECIDED_MIN: f64 = 0.02;
/// This share of the CPU time is most of it.
const MOST: f64 = 0.7;
/// Behind a sentence on one CPU that a process of several threads fills.
const UNSEEN: &str = "; whether the threads of this one process could use more CPUs cannot be seen on one";
/// Processes named.
const NAMED_MAX: usize = 3;
/// Fewer CPUs than this are not worth naming.
const CORES_MIN: f64 = 0.02;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(Cpus { busy, used, undecided, shares, granted, count: cpus }) = input.server_cpus() else {
        return Detection::Unchecked("CPUs of the server not visible (remote, or processes hidden)");
    };
    // Where others take time, CPU time says less: the load generator stops for them too, and CPUs rest then.
    let kept_busy = if granted < STOLEN { kept_busy(input, cpus) } else { 0.0 };
    let (busy, used) = (busy.max(kept_busy), used.max(kept_busy));
    let queue = queue(input, cpus);
    if busy < BUSY.min(input.full) || used < OWN || !queue {
        return Detection::Clear;
    }
    let parts = [("user", shares.user), ("system", shares.system), ("interrupts", shares.softirq)];
    let split: Vec<_> = parts.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    let verb = if cpus > 1.0 { "are" } else { "is" };
    let machine = input.observed().and_then(|seen| seen.machine.as_ref()).map_or(0, |machine| machine.cpus);
    let is_confined = cpus < f64::from(machine);
    let left = match granted < STOLEN {
        true if shares.steal > 1.0 - STOLEN => " of the time left by the hypervisor",
        true => " of undisturbed time",
        false => "",
    };
    let may_belong: Vec<_> = input.undecided().filter(|_| undecided >= UNDECIDED_MIN).collect();
    let says = format!(
        "the {} available to the server{} {verb} {} busy ({}){left}; {}{}{}",
        plural(cpus as u64, "CPU"),
        if is_confined { format!(" (of {machine})") } else { String::new() },
        percent(busy),
        split.join(", "),
        list(&users(input, &may_belong)),
        undecided_words(&may_belong),
        if is_confined { "; more processes or workers on them would not help" } else { "" }
    );
    let change = Change::twice("CPUs", cpus, None);
    let change = Change { setting: is_confined.then(|| AFFINITY.to_owned()), ..change };
    // On one CPU threads of a process run one at a time, whether or not an interpreter or a setting lets more of them run.
    let is_unseen = cpus < 1.5 && is_of_one_process(input);
    let says = says + if is_unseen { UNSEEN } else { "" };
    Detection::hit(Signal {
        name: "cpu-limited",
        resource: CPUS.to_owned(),
        says,
        share: Some(busy),
        queue,
        ceiling_per_s: laws::ceiling_per_s(input.clean_per_s, used),
        evidence: figures([
            ("cpus", cpus),
            ("busy_share", busy),
            ("used_share", used),
            ("user_share", shares.user),
            ("system_share", shares.system),
            ("softirq_share", shares.softirq),
            ("steal_share", shares.steal),
            ("pressure_share", input.share_of_time("pressure/cpu", "some_ns").unwrap_or(0.0)),
            ("in_flight", input.evidence.outstanding.mean),
        ]),
        change: Some(change).filter(|_| !is_unseen),
        hides_next: is_unseen,
        relief: Relief::Cpu,
        is_inferred: used - undecided < OWN,
        ..Signal::default()
    })
}

/// Share of the time in which workers that do nothing but run keep all of the CPUs busy: a CPU for which one waits is busy with
/// another.
fn kept_busy(input: &LimiterInput<'_>, cpus: f64) -> f64 {
    let fill = pools(input).into_iter().filter(|pool| pool.only_runs() && pool.workers.round() >= cpus);
    fill.map(|pool| pool.occupancy.min(1.0)).fold(0.0, f64::max)
}

/// True if most of the work is done by several threads of one process: none of them alone would fill a CPU.
fn is_of_one_process(input: &LimiterInput<'_>) -> bool {
    let all = || input.groups().flat_map(|(_, group)| &group.processes);
    let cores: f64 = all().map(|process| process.cpu_cores).sum();
    let first = all().max_by(|a, b| a.cpu_cores.total_cmp(&b.cpu_cores));
    let Some(first) = first.filter(|first| first.count == 1 && first.cpu_cores >= MOST * cores) else { return false };
    let threads = input.groups().flat_map(|(_, group)| &group.threads);
    let busiest = threads.map(|thread| input.ran(thread)).fold(0.0, f64::max);
    busiest < MOST * first.cpu_cores
}

/// True if something waits for the CPUs: by the kernel's pressure, by its scheduler, or by requests that no CPU
/// can be working on.
fn queue(input: &LimiterInput<'_>, cpus: f64) -> bool {
    let threads = input.groups().flat_map(|(_, group)| &group.threads);
    let waiting: f64 = threads.filter_map(|thread: &ServerThreadObserved| thread.wait_mean).sum();
    input.share_of_time("pressure/cpu", "some_ns").is_some_and(|share| share >= PRESSURE)
        || waiting >= PRESSURE
        || input.evidence.outstanding.mean >= IN_FLIGHT * cpus
}

/// Who may work for the server, and how it is made sure; nothing where nobody does.
fn undecided_words(undecided: &[&OtherObserved]) -> String {
    let first = undecided.iter().max_by(|a, b| a.cpu_cores.total_cmp(&b.cpu_cores));
    first.map_or_else(String::new, |first| {
        let (name, typed) = (&first.name, observable(&first.name));
        format!("; this user cannot see whether {name} works for this server (run as root, or --observe {typed})")
    })
}

/// Largest users of CPU time: processes of the server and its companions, what may work for them, and the load
/// generator where it has no CPUs of its own.
fn users(input: &LimiterInput<'_>, undecided: &[&OtherObserved]) -> Vec<String> {
    let processes = input.groups().flat_map(|(_, group)| &group.processes);
    let mut all: Vec<(&str, f64)> = processes.map(|process| (process.name.as_str(), process.cpu_cores)).collect();
    all.extend(undecided.iter().map(|other| (other.name.as_str(), other.cpu_cores)));
    all.extend(input.generator_beside().map(|generator| ("the load generator itself", generator.cpu_cores)));
    all.retain(|(_, cores)| *cores >= CORES_MIN);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.iter().take(NAMED_MAX).map(|(name, cores)| format!("{name} uses {cores:.2}")).collect()
}
