//! One process under the supervisor, with all that it starts.

use super::orders::{How, Launch};
use super::processes::{self, DISAPPEAR_NS, end_session};
use crate::group::Group;
use crate::layout::Stop;
use crate::state::Mark;
use crate::sys;
use rustix::fs::{Mode, OFlags, fchmod};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::CpuSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often one looks whether a process that was asked to end has done so.
const LOOK_UP: Duration = Duration::from_millis(2);

/// A running process.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    process: std::process::Child,
    stop: Stop,
}

impl Child {
    pub(super) fn spawn(launch: &Launch, group: Option<&Group>) -> std::io::Result<Self> {
        let output = output(&launch.output)?;
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).current_dir(&launch.dir);
        command.env_clear().envs(launch.env.iter().cloned());
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        if let Some((uid, gid)) = launch.account {
            // std leaves the other groups of root behind when it changes the user.
            command.uid(uid).gid(gid);
        }
        let group = group.map(Group::entrance).transpose()?;
        sys::prepare(&mut command, cpu_set(&launch.cpus), group);
        let process = command.spawn()?;
        let pid = process.id().cast_signed();
        let mark = Mark::of(pid).unwrap_or(Mark { pid, start: 0 });
        Ok(Self { name: launch.name.clone(), mark, process, stop: launch.stop })
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<How> {
        let status = self.process.try_wait().ok()??;
        Some(status.code().map_or_else(|| How::Signal(status.signal().unwrap_or(0)), How::Code))
    }

    /// Asks it to end, then ends it and all it has started. Returns whether it had to be killed.
    pub(crate) fn end(&mut self, now_ns: fn() -> u64) -> bool {
        let family = processes::descendants(self.mark.pid);
        let signal = Signal::from_named_raw(self.stop.signal);
        // Until it has been waited for, its number is its own.
        if let (None, Some(pid), Some(signal)) = (self.ended(), Pid::from_raw(self.mark.pid), signal) {
            let _ = kill_process(pid, signal);
        }
        let killed = !self.ends_by(now_ns() + self.stop.kill_after_ms * 1_000_000, now_ns);
        if killed {
            let _ = self.process.kill();
            // One that hangs in a device cannot be waited for.
            self.ends_by(now_ns() + DISAPPEAR_NS, now_ns);
        }
        end_session(self.mark, now_ns);
        processes::end(&family, now_ns);
        killed
    }

    /// Waits for its end; false if it still runs at `deadline_ns`.
    fn ends_by(&mut self, deadline_ns: u64, now_ns: fn() -> u64) -> bool {
        loop {
            if self.ended().is_some() {
                return true;
            }
            if now_ns() >= deadline_ns {
                return false;
            }
            std::thread::sleep(LOOK_UP);
        }
    }
}

/// The file that stdout and stderr of a process go to: in a folder that it cannot open, and never behind a link. Users of
/// servers may write to it, as many open `/dev/stderr` by its name; only who holds the descriptor gets to it.
fn output(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, Mode::RUSR | Mode::WUSR | Mode::WGRP | Mode::WOTH)?;
    Ok(File::from(file))
}

fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    (!cpus.is_empty()).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A clock of its own: each reading is 10 ms later.
    fn now_ns() -> u64 {
        static NOW_NS: AtomicU64 = AtomicU64::new(0);
        NOW_NS.fetch_add(10_000_000, Ordering::Relaxed)
    }

    fn launch(script: &str, dir: &Path) -> Launch {
        Launch {
            name: "sh".into(),
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            dir: dir.to_owned(),
            output: dir.join("sh.out"),
            account: None,
            cpus: Vec::new(),
            has_pipes: false,
            stop: Stop { signal: 15, kill_after_ms: 100 },
        }
    }

    fn written(path: PathBuf) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_link_in_place_of_an_output_is_not_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "as it was").expect("a file");
        symlink(&victim, dir.path().join("sh.out")).expect("a link");
        assert!(Child::spawn(&launch("echo planted", dir.path()), None).is_err());
        assert_eq!(written(victim), "as it was");
    }

    #[test]
    fn a_process_gets_the_environment_that_it_was_given_and_no_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut child = Child::spawn(&launch("exec env", dir.path()), None).expect("it starts");
        child.process.wait().expect("our own child");
        let all = written(dir.path().join("sh.out"));
        let names: Vec<&str> = all.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"PATH"), "{all}");
        // What a shell sets by itself.
        assert!(names.iter().all(|name| ["PATH", "PWD", "OLDPWD", "SHLVL", "_"].contains(name)), "{all}");
    }

    #[test]
    fn a_process_that_ignores_the_signal_is_killed_with_what_it_has_started() {
        let dir = tempfile::tempdir().expect("a directory");
        let script = "trap '' TERM; sleep 77 & echo up; while :; do sleep 77; done";
        let mut child = Child::spawn(&launch(script, dir.path()), None).expect("it starts");
        let is_up = (0..5000).any(|_| {
            std::thread::sleep(LOOK_UP);
            !written(dir.path().join("sh.out")).is_empty()
        });
        assert!(is_up, "it ignores the signal from here on");
        assert!(child.end(now_ns), "it had to be killed");
        assert_eq!(child.ended(), Some(How::Signal(9)));
        assert_eq!(processes::members(child.mark), []);
    }
}
