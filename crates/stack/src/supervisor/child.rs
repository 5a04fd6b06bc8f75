//! One process under the supervisor, with all that it starts.

use super::orders::{How, Launch};
use super::processes::{self, end_session};
use crate::layout::Stop;
use crate::state::Mark;
use crate::sys;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::CpuSet;
use std::fs::OpenOptions;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often one looks whether a process that was asked to end has done so.
const LOOK_UP: Duration = Duration::from_millis(2);

/// A running process.
pub(super) struct Child {
    pub(super) name: String,
    pub(super) mark: Mark,
    process: std::process::Child,
    stop: Stop,
}

impl Child {
    pub(super) fn spawn(launch: &Launch) -> std::io::Result<Self> {
        let output = OpenOptions::new().create(true).append(true).open(&launch.output)?;
        let mut command = Command::new(&launch.program);
        if !launch.inherit_env {
            command.env_clear();
        }
        command.args(&launch.args).envs(launch.env.iter().cloned()).current_dir(&launch.dir);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        if let Some((uid, gid)) = launch.account {
            // std leaves the other groups of root behind when it changes the user.
            command.uid(uid).gid(gid);
        }
        sys::prepare(&mut command, cpu_set(&launch.cpus));
        let process = command.spawn()?;
        let pid = process.id().cast_signed();
        let mark = Mark::of(pid).unwrap_or(Mark { pid, start: 0 });
        Ok(Self { name: launch.name.clone(), mark, process, stop: launch.stop })
    }

    /// How it has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<How> {
        let status = self.process.try_wait().ok()??;
        Some(status.code().map_or_else(|| How::Signal(status.signal().unwrap_or(0)), How::Code))
    }

    /// Asks it to end, then ends it and all it has started. Returns whether it had to be killed.
    pub(super) fn end(&mut self, now_ns: fn() -> u64) -> bool {
        let family = processes::descendants(self.mark.pid);
        if let (Some(pid), Some(signal)) = (Pid::from_raw(self.mark.pid), Signal::from_named_raw(self.stop.signal)) {
            // It may have ended already.
            let _ = kill_process(pid, signal);
        }
        let deadline = now_ns() + self.stop.kill_after_ms * 1_000_000;
        while self.ended().is_none() && now_ns() < deadline {
            std::thread::sleep(LOOK_UP);
        }
        let killed = self.ended().is_none();
        if killed {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        end_session(self.mark, now_ns);
        processes::end(&family, now_ns);
        killed
    }
}

fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    (!cpus.is_empty()).then_some(set)
}
