//! This machine: what of it is stored with a result, what has changed of it, its addresses and its CPUs.

use model::{Address, Change, Environment, NS_PER_S, Redacted, human};
use observe::TakenFingerprint;
use rustix::thread::CpuSet;
use std::net::IpAddr;

/// A shorter difference of two clocks may be a thread that had to wait between reading them.
const SUSPENDED_MIN_NS: u64 = NS_PER_S / 2;

/// This machine and this command.
pub(crate) fn describe() -> Environment {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let nofile = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    Environment {
        plimsoll: env!("CARGO_PKG_VERSION").into(),
        kernel: format!("{} {} {}", text(uname.sysname()), text(uname.release()), text(uname.machine())),
        host: text(uname.nodename()),
        cpu_model: cpu_model(&cpuinfo),
        cpus: usable_cpus().len() as u32,
        nofile: nofile.unwrap_or(u64::MAX),
        command: Redacted::own_command(std::env::args()).into_inner(),
        served: None,
        fingerprint: None,
        server_host: None,
        bandwidth: None,
        check: Vec::new(),
        changes: None,
    }
}

/// What has changed of machine and server since a fingerprint was taken, when the machine had been suspended for so long; ns.
pub(crate) fn changes(fingerprint: &TakenFingerprint, suspended_ns: u64) -> Vec<Change> {
    let suspension = suspension(suspended_ns, clock::suspended_ns());
    fingerprint.changes().into_iter().chain(suspension).collect()
}

/// A suspension of this machine, as a change of its clock, from the time for which it has been suspended in all before and
/// after: its clock stood still, connections and timeouts of others went on. None when there was none.
pub(crate) fn suspension(before_ns: u64, after_ns: u64) -> Option<Change> {
    let suspended_ns = after_ns.saturating_sub(before_ns);
    (suspended_ns >= SUSPENDED_MIN_NS).then(|| Change {
        section: "clock".into(),
        name: "suspended".into(),
        before: "0 s".into(),
        after: human::time(suspended_ns as f64),
    })
}

/// True if `address` belongs to this machine. The unspecified one leads to it, whatever its route says.
pub(crate) fn is_local(address: &Address) -> bool {
    let is_own = |ip: IpAddr| ip.is_unspecified() || observe::is_own_address(ip);
    address.is_each_machines_own() || address.tcp().is_some_and(|tcp| is_own(tcp.ip()))
}

/// CPUs this process may run on, in rising order; never empty.
pub(crate) fn usable_cpus() -> Vec<u32> {
    stack::usable_cpus().filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

/// CPUs of this machine, whoever may use them. Unlike the standard library's count it does not stop at those that this
/// process may use.
pub(crate) fn online_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    count_cpus(&text).unwrap_or(usize::MAX)
}

/// Length of a list such as `0-3,8`.
fn count_cpus(list: &str) -> Option<usize> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some((last + 1).saturating_sub(first))
    };
    list.trim().split(',').map(length).sum()
}

/// Confines the calling thread, and those that it will start, to `cpus`; any when there are none. What cannot be done is
/// said by the threads that are pinned to one of them each.
pub(crate) fn confine(cpus: &[u32]) {
    let mut set = CpuSet::new();
    let cpus: Vec<_> = cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU).collect();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    if !cpus.is_empty() {
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|rest| rest.split_once(':')).map_or_else(|| "unknown".into(), |(_, name)| name.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspended_machine_is_a_change_of_its_clock() {
        let found = suspension(90 * NS_PER_S, 102 * NS_PER_S + 300_000_000).expect("it was suspended");
        assert_eq!(
            (found.section.as_str(), found.name.as_str(), found.after.as_str()),
            ("clock", "suspended", "12.3 s")
        );
        assert_eq!(suspension(90 * NS_PER_S, 90 * NS_PER_S + 20_000_000), None, "the time between two readings");
        assert_eq!(suspension(5, 4), None);
    }

    #[test]
    fn a_list_of_cpus_is_counted() {
        assert_eq!(["0", "0-1\n", "0-3,8", "0-3,8,12-13"].map(count_cpus), [1, 2, 5, 7].map(Some));
        assert_eq!(["", "x", "0-"].map(count_cpus), [None; 3]);
    }

    #[test]
    fn cpu_model_is_read_from_cpuinfo() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Fast CPU\n"), "Fast CPU");
        assert_eq!(cpu_model(""), "unknown");
    }
}
