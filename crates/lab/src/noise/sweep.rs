//! One sweep of the built-in server: plimsoll as a child process, its processes and its answer.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use procfs::process::all_processes;
use serde_json::Value;
use tempfile::TempDir;

use super::answer::Answer;

/// How often the end of a sweep is looked for.
const POLL: Duration = Duration::from_millis(20);
/// The result is valid or bound, or it is not valid.
const FINE: [i32; 2] = [0, 4];
/// A short sweep, which shows that everything works and no more.
const QUICK: [&str; 6] = ["-d", "500ms", "--warmup", "100ms", "--iterations", "1"];

/// The sweep, the same each time.
pub(super) struct Sweep {
    pub(super) program: PathBuf,
    pub(super) is_quick: bool,
    /// Where its JSON is kept; none: nowhere.
    pub(super) keep: Option<PathBuf>,
}

/// A sweep under way; ended with this value.
pub(super) struct Running {
    child: Child,
    began: Instant,
    directory: TempDir,
}

impl Sweep {
    pub(super) fn start(&self) -> Result<Running> {
        let directory = tempfile::tempdir().context("a directory for records")?;
        let file = |name: &str| File::create(directory.path().join(name)).context("a file for what plimsoll prints");
        let mut command = Command::new(&self.program);
        command.arg("sweep").args(if self.is_quick { &QUICK[..] } else { &[] });
        command.args(["--json", "--quiet", "--output"]).arg(directory.path().join("record"));
        command.stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        let child = command.spawn().with_context(|| format!("starting {}", self.program.display()))?;
        Ok(Running { child, began: Instant::now(), directory })
    }

    /// Its answer and its time, which may be `limit` at most; what it printed is kept as `name`.
    pub(super) fn finish(&self, mut running: Running, limit: Duration, name: &str) -> Result<(Answer, f64)> {
        let status = running.wait(limit)?;
        let wall_s = running.began.elapsed().as_secs_f64();
        let (stdout, stderr) = (running.printed("stdout")?, running.printed("stderr")?);
        if !status.code().is_some_and(|code| FINE.contains(&code)) {
            bail!("plimsoll sweep ended with {status}: {}", stderr.trim());
        }
        if let Some(keep) = &self.keep {
            keep_in(keep, name, &stdout)?;
        }
        let json: Value = serde_json::from_str(&stdout).context("plimsoll printed no JSON")?;
        Ok((Answer::read(&json)?, wall_s))
    }
}

fn keep_in(directory: &Path, name: &str, text: &str) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    let path = directory.join(format!("{name}.json"));
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

impl Running {
    /// The load generator.
    pub(super) fn client(&self) -> i32 {
        self.child.id().cast_signed()
    }

    fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        while self.began.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(POLL);
        }
        bail!("it has not ended after {:.0} s", limit.as_secs_f64())
    }

    fn printed(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.directory.path().join(name)).context("what plimsoll printed")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server of the load generator `client`: what its supervisor has started, which is itself a child of it.
pub(super) fn server(client: i32) -> Result<Vec<i32>> {
    let all = all_processes().context("/proc")?.flatten();
    let parents: Vec<(i32, i32)> = all.filter_map(|process| Some((process.pid, process.stat().ok()?.ppid))).collect();
    match below(&parents, client) {
        none if none.is_empty() => bail!("plimsoll has started no server"),
        server => Ok(server),
    }
}

/// Descendants of `root` without its children, of pairs of a process and its parent.
fn below(parents: &[(i32, i32)], root: i32) -> Vec<i32> {
    let children = |of: &[i32]| -> Vec<i32> {
        parents.iter().filter(|(_, parent)| of.contains(parent)).map(|(pid, _)| *pid).collect()
    };
    let mut generation = children(&children(&[root]));
    let mut all = Vec::new();
    while !generation.is_empty() {
        all.extend(&generation);
        generation = children(&generation);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn the_server_is_what_the_supervisor_has_started() {
        let parents = [(1, 0), (10, 1), (11, 10), (12, 11), (13, 12), (14, 11), (20, 1), (21, 20)];
        let mut server = below(&parents, 10);
        server.sort_unstable();
        assert_eq!(server, [12, 13, 14]);
        assert_eq!(below(&parents, 13), [0; 0]);
    }
}
