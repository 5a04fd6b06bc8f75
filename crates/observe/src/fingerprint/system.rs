//! The kernel, how it was booted and set, and what it runs on.

use super::{Facts, of_files, some_or};
use crate::files::{Files, Missing};
use model::Redacted;

/// Settings that bound or shape what a web server does.
const SYSCTLS: [&str; 38] = [
    "fs/file-max",
    "fs/nr_open",
    "kernel/numa_balancing",
    "kernel/perf_event_paranoid",
    "kernel/pid_max",
    "kernel/sched_autogroup_enabled",
    "kernel/threads-max",
    "net/core/busy_poll",
    "net/core/default_qdisc",
    "net/core/netdev_budget",
    "net/core/netdev_max_backlog",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_max",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_abort_on_overflow",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_fastopen",
    "net/ipv4/tcp_fin_timeout",
    "net/ipv4/tcp_max_orphans",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_max_tw_buckets",
    "net/ipv4/tcp_mem",
    "net/ipv4/tcp_migrate_req",
    "net/ipv4/tcp_no_metrics_save",
    "net/ipv4/tcp_notsent_lowat",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_syncookies",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_wmem",
    "net/netfilter/nf_conntrack_max",
    "vm/dirty_ratio",
    "vm/max_map_count",
    "vm/overcommit_memory",
    "vm/swappiness",
];

pub(super) fn kernel(files: &Files) -> Result<Facts, Missing> {
    let mut facts = of_files(files, "/proc/sys/kernel", ["osrelease", "version"]);
    if let Ok(boot) = files.word("/proc/cmdline") {
        facts.insert("boot_parameters".into(), Redacted::command(boot.split_whitespace()).join(" "));
    }
    some_or(facts, "this kernel tells nothing of itself")
}

/// Kind of virtual machine or container, if it is one.
pub(super) fn hypervisor(files: &Files) -> Result<Facts, Missing> {
    let cpuinfo = files.text("/proc/cpuinfo")?;
    let mut facts = Facts::new();
    let is_virtual = is_virtual(&cpuinfo);
    facts.insert("virtual_machine".into(), if is_virtual { "yes" } else { "no" }.into());
    facts.extend(of_files(files, "/sys/class/dmi/id", ["sys_vendor", "product_name", "bios_vendor", "bios_version"]));
    facts.extend(of_files(files, "/sys/hypervisor", ["type"]));
    let marks = ["/.dockerenv", "/run/.containerenv"];
    let is_container = marks.iter().any(|mark| files.exists(mark));
    facts.insert("container".into(), if is_container { "yes" } else { "not known to be one" }.into());
    Ok(facts)
}

/// A hypervisor shows itself as a feature of the CPU.
pub(super) fn is_virtual(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

pub(super) fn sysctl(files: &Files) -> Result<Facts, Missing> {
    some_or(of_files(files, "/proc/sys", SYSCTLS), "/proc/sys is not there, as in some containers")
}

/// Limits of this program: soft and hard.
pub(super) fn limits(files: &Files) -> Result<Facts, Missing> {
    let text = files.text("/proc/self/limits")?;
    let facts = text.lines().skip(1).filter_map(|line| {
        // Names have one space between their words, and columns at least two.
        let (name, rest) = line.split_once("  ")?;
        let mut values = rest.split_whitespace();
        Some((name.to_lowercase().replace(' ', "_"), format!("{} {}", values.next()?, values.next()?)))
    });
    some_or(facts.collect(), "/proc/self/limits is empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_settings_are_those_of_this_process_and_kernel() {
        let files = Files::default();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let word = |n: Option<u64>| n.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
        let nofile = format!("{} {}", word(limit.current), word(limit.maximum));
        assert_eq!(limits(&files).unwrap()["max_open_files"], nofile);
        let settings = sysctl(&files).unwrap();
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        assert_eq!(settings["net/ipv4/ip_local_port_range"], range.trim().replace('\t', " "));
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        assert_eq!(kernel(&files).unwrap()["osrelease"], release);
    }

    #[test]
    fn a_hypervisor_is_a_flag() {
        assert!(is_virtual("flags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!is_virtual("model name : hypervisor\nflags\t\t: fpu\n"));
    }
}
