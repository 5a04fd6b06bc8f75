//! One sweep of the built-in server: plimsoll as a child process, its processes and its answer.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use procfs::process::all_processes;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::answer::Answer;
use crate::child::Killed;
use crate::record::MEASURED;

/// How often the end of a sweep is looked for.
const POLL: Duration = Duration::from_millis(20);
/// A short sweep, which shows that everything works and no more.
const QUICK: [&str; 6] = ["-d", "500ms", "--warmup", "100ms", "--iterations", "1"];

/// The sweep, the same each time.
pub(super) struct Sweep {
    pub(super) program: PathBuf,
    pub(super) is_quick: bool,
    /// Where its JSON is kept, and looked for before it is measured; none: nowhere.
    pub(super) keep: Option<PathBuf>,
}

/// A sweep that has ended.
pub(super) struct Made {
    pub(super) answer: Answer,
    pub(super) wall_s: f64,
    /// Size of the noise beside it as it came out.
    pub(super) noise_share: f64,
}

/// A sweep under way; ended with this value.
pub(super) struct Running {
    child: Killed,
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
        Ok(Running { child: Killed(child), began: Instant::now(), directory })
    }

    /// The sweep `name`: as an earlier call has kept it, or measured now.
    pub(super) fn made(&self, name: &str, measure: impl FnOnce() -> Result<Made>) -> Result<Made> {
        if let Some(kept) = self.kept(name) {
            return Ok(kept);
        }
        let made = measure()?;
        self.keep(name, &made)?;
        Ok(made)
    }

    /// The sweep that an earlier call has kept as `name`, unless the program is younger.
    fn kept(&self, name: &str) -> Option<Made> {
        let keep = self.keep.as_ref().filter(|_| !self.is_quick)?;
        let (result, made) = (keep.join(format!("{name}.json")), keep.join(format!("{name}.made.json")));
        let time_of = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        if time_of(&made)? < time_of(&self.program)? {
            return None;
        }
        let read = |path: &Path| serde_json::from_str::<Value>(&fs::read_to_string(path).ok()?).ok();
        let (answer, made) = (Answer::read(&read(&result)?).ok()?, read(&made)?);
        Some(Made { answer, wall_s: made["wall_s"].as_f64()?, noise_share: made["noise_share"].as_f64()? })
    }

    /// Keeps what the JSON of the sweep `name` does not say.
    fn keep(&self, name: &str, made: &Made) -> Result<()> {
        let text = json!({ "wall_s": made.wall_s, "noise_share": made.noise_share }).to_string();
        self.keep.as_ref().map_or(Ok(()), |keep| keep_in(keep, &format!("{name}.made"), &text))
    }

    /// Its answer and its time, which may be `limit` at most; what it printed is kept as `name`.
    pub(super) fn finish(&self, mut running: Running, limit: Duration, name: &str) -> Result<(Answer, f64)> {
        let status = running.wait(limit)?;
        let wall_s = running.began.elapsed().as_secs_f64();
        let (stdout, stderr) = (running.printed("stdout")?, running.printed("stderr")?);
        if !status.code().is_some_and(|code| MEASURED.contains(&code)) {
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
    use super::super::answer::State;
    use super::*;

    #[test]
    fn a_sweep_that_was_kept_is_not_measured_again_unless_the_program_is_younger() {
        let directory = tempfile::tempdir().unwrap();
        let keep = directory.path().join("kept");
        let program = directory.path().join("plimsoll");
        File::create(&program).unwrap();
        let sweep = Sweep { program, is_quick: false, keep: Some(keep.clone()) };
        assert!(sweep.kept("quiet-1").is_none());

        let result = json!({ "verdict": { "state": "valid", "findings": [] }, "knee": { "load": 4.5 } });
        keep_in(&keep, "quiet-1", &result.to_string()).unwrap();
        let answer = Answer::read(&result).unwrap();
        sweep.keep("quiet-1", &Made { answer, wall_s: 61.5, noise_share: 0.2 }).unwrap();
        let kept = sweep.kept("quiet-1").expect("it was kept");
        assert_eq!((kept.answer.state, kept.answer.knee), (State::Valid, Some(4.5)));
        assert_eq!((kept.wall_s, kept.noise_share), (61.5, 0.2));

        let later = fs::metadata(&sweep.program).unwrap().modified().unwrap() + Duration::from_secs(60);
        File::open(&sweep.program).unwrap().set_modified(later).unwrap();
        assert!(sweep.kept("quiet-1").is_none(), "another build");
    }

    #[test]
    fn the_server_is_what_the_supervisor_has_started() {
        let parents = [(1, 0), (10, 1), (11, 10), (12, 11), (13, 12), (14, 11), (20, 1), (21, 20)];
        let mut server = below(&parents, 10);
        server.sort_unstable();
        assert_eq!(server, [12, 13, 14]);
        assert_eq!(below(&parents, 13), [0; 0]);
    }
}
