//! Where a result comes from: stored with it, secrets replaced.

use audit::{SECRET_HEADERS, redact};
use model::Environment;
use rustix::thread::CpuSet;

/// Headers whose value is a secret.
const REDACTED: &str = "<redacted>";

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
        command: redact_command(std::env::args()),
        served: None,
        fingerprint: None,
        check: Vec::new(),
        changes: None,
    }
}

/// CPUs this process may run on, in rising order; never empty.
pub(crate) fn usable_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return vec![0] };
    let cpus: Vec<u32> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
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

/// Headers as they may be stored.
pub(crate) fn redact_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    let hide = |(name, value): &(String, String)| {
        (name.clone(), if is_secret(name) { REDACTED.into() } else { value.clone() })
    };
    headers.iter().map(hide).collect()
}

fn is_secret(header: &str) -> bool {
    SECRET_HEADERS.contains(&header.trim().to_ascii_lowercase().as_str())
}

/// The command line without secrets: values of secret headers and parameters, credentials in URLs.
fn redact_command(args: impl Iterator<Item = String>) -> Vec<String> {
    args.map(|arg| redact(&arg).0).collect()
}

fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|rest| rest.split_once(':')).map_or_else(|| "unknown".into(), |(_, name)| name.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_never_reach_the_record() {
        let args = [
            "plimsoll",
            "run",
            "http://me:pw@h/x?token=t0p&y=1",
            "-H",
            "Authorization: Bearer t0p",
            "-HCookie: a=b",
            "-H",
            "X-A: b",
        ];
        let kept = redact_command(args.iter().map(ToString::to_string)).join(" ");
        assert_eq!(
            kept,
            "plimsoll run http://<redacted>@h/x?token=<redacted>&y=1 -H Authorization: <redacted> -HCookie: <redacted> -H X-A: b"
        );
        let headers = redact_headers(&[("authorization".into(), "t0p".into()), ("Accept".into(), "*/*".into())]);
        assert_eq!(headers[0].1, REDACTED);
        assert_eq!(headers[1].1, "*/*");
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
