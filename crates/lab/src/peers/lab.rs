//! The bench: where binaries and raw outputs are, which core is whose, and what else the machine did.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit};

use xtask::packages;

/// Core of the server under test.
pub(super) const SERVER_CORE: &str = "0";
/// Core of the load generator.
pub(super) const CLIENT_CORE: &str = "1";

/// Clock ticks per second in /proc: fixed in the kernel's interface (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// Users that siege may have, each a thread.
const SIEGE_USERS_MAX: u32 = 1024;

/// Paths and facts every measurement shares.
pub(super) struct Lab {
    pub(super) nginx: PathBuf,
    pub(super) time: PathBuf,
    /// Raw outputs, server configuration and logs.
    pub(super) folder: PathBuf,
    /// Which network everything ran in, in words.
    pub(super) isolation: String,
    keep: bool,
}

impl Lab {
    /// Opens `raw` as the folder for raw output, or a temporary one that goes away with the lab.
    pub(super) fn open(raw: Option<&Path>, isolation: String) -> Result<Self> {
        if std::thread::available_parallelism()?.get() < 2 {
            bail!("two cores are needed: one for the server, one for the client");
        }
        let temporary = std::env::temp_dir().join(format!("plimsoll-peers-{}", std::process::id()));
        let folder = raw.map_or(temporary, Path::to_path_buf);
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        for (name, connection) in [("siege-keep.conf", "keep-alive"), ("siege-close.conf", "close")] {
            std::fs::write(folder.join(name), siege_config(connection))?;
        }
        let found = |name: &str| packages::find(name).with_context(|| format!("{name} is not installed"));
        Ok(Self { nginx: found("nginx")?, time: found("time")?, folder, isolation, keep: raw.is_some() })
    }

    /// A file of the raw folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A command bound to one core, which ends when this process does, however that ends.
    pub(super) fn pinned(core: &str, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "taskset", "-c", core]).arg(program);
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing to be done about a folder that will not go; it is in the temporary directory.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// siege reads how to use connections from a file; without one it writes to the home directory.
fn siege_config(connection: &str) -> String {
    format!(
        "protocol = HTTP/1.1\nconnection = {connection}\nlimit = {SIEGE_USERS_MAX}\nlogging = false\nverbose = false\n"
    )
}

/// CPU seconds that the whole machine has spent since boot, guests and stolen time included.
pub(super) fn machine_cpu_s() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    parse_machine_cpu(&stat).context("/proc/stat has no cpu line")
}

/// user + nice + system + irq + softirq + steal of the `cpu` line.
fn parse_machine_cpu(stat: &str) -> Option<f64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let busy: f64 = [0, 1, 2, 5, 6, 7].iter().filter_map(|&column| ticks.get(column)).sum();
    Some(busy / TICKS_PER_S)
}

/// CPU seconds of a process and its direct children (nginx: master and worker).
pub(super) fn process_cpu_s(pid: u32) -> f64 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|word| word.parse().ok()).chain([pid]);
    let seconds = pids.filter_map(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        parse_process_cpu(&stat)
    });
    seconds.sum()
}

/// utime + stime, which follow the parenthesised name.
fn parse_process_cpu(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<f64> = fields.split_whitespace().skip(11).take(2).map_while(|word| word.parse().ok()).collect();
    Some(ticks.iter().sum::<f64>() / TICKS_PER_S)
}

/// A size in `/proc/PID/status`, such as `VmRSS` or `VmHWM`, in KiB.
pub(super) fn process_kib(pid: u32, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    parse_status_kib(&status, name).with_context(|| format!("no {name} of process {pid}"))
}

/// Lines `VmRSS:      8064 kB`.
fn parse_status_kib(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Raises the soft limit of open files to the hard one; children inherit it.
pub(super) fn raise_file_limit() -> Result<()> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(Resource::Nofile, raised).context("raising the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::{parse_machine_cpu, parse_process_cpu, parse_status_kib};

    #[test]
    fn sizes_are_read_by_their_whole_name() {
        let status = "Name:\tVmRSS\nVmHWM:\t    9000 kB\nVmRSS:\t    8064 kB\nThreads:\t2\n";
        assert_eq!(parse_status_kib(status, "VmRSS"), Some(8064));
        assert_eq!(parse_status_kib(status, "Vm"), None);
        assert_eq!(parse_status_kib(status, "Threads"), None);
    }

    #[test]
    fn idle_and_io_wait_are_not_busy() {
        let busy = parse_machine_cpu("cpu  100 10 200 9999 9999 1 2 3 0 0\ncpu0 1 2 3\n").unwrap();
        assert!((busy - 3.16).abs() < 1e-9);
    }

    #[test]
    fn a_process_name_may_hold_anything() {
        let stat = "12 (a ) b) S 1 12 12 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 999 0 0";
        assert!((parse_process_cpu(stat).unwrap() - 2.0).abs() < 1e-9);
    }
}
