//! Programs and agents that mean harm: what they are measured with ends in time, says so, and leaves nothing.

mod agents;
mod programs;

use super::judge::Kept;
use super::leaks::Left;
use super::processes::{wait, wait_for};
use super::rows::Tried;
use crate::child::{Killed, announced};
use crate::misleading::Misleading;
use agents::AGENTS;
use programs::PROGRAMS;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use std::fs::{self, File, Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// What is damaged of an agent lies within 64 bytes to 16 KiB: its first words as often as what it says of the load.
const DAMAGED_WITHIN: u64 = 64;
const DOUBLINGS: u64 = 9;
/// What is said on stderr, at most; bytes.
const SAID_MAX_BYTES: u64 = 64 << 10;
/// Half a minute for a silent agent, and the load.
const WAITS: u32 = 6;
/// What the file holds that is nobody's business.
const CANARY: &str = "untouched\n";
/// Of a token in a banner, which nobody may repeat.
const SECRET: &str = "hunter2";

/// Which of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostile {
    /// Servers that are started.
    Programs,
    /// Machines that agents run on.
    Agents,
}

impl Hostile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Programs, Self::Agents];

    /// As `--only` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Programs => "hostile-programs",
            Self::Agents => "hostile-agents",
        }
    }

    /// How many there are of them.
    #[must_use]
    pub const fn kinds(self) -> u32 {
        match self {
            Self::Programs => PROGRAMS.len() as u32,
            Self::Agents => AGENTS.len() as u32,
        }
    }

    /// How they harm, for the page.
    pub(super) fn made(self) -> String {
        let join = |kinds: Vec<(&str, &str)>| {
            let kinds = kinds.into_iter().map(|(name, made)| format!("{made} (*{name}*)"));
            kinds.collect::<Vec<_>>().join("; ")
        };
        match self {
            Self::Programs => {
                format!("servers that mean harm: {}", join(PROGRAMS.iter().map(|one| (one.name, one.made)).collect()))
            }
            Self::Agents => {
                format!(
                    "machines of agents that mean harm: {}",
                    join(AGENTS.iter().map(|one| (one.name, one.made)).collect())
                )
            }
        }
    }

    /// Makes the try of that number, 1 the first, with plimsoll at `program`: which kind it is, and what came of it.
    pub(super) fn make(self, program: &Path, seed: u64, number: u32) -> (&'static str, Tried) {
        let which = ((number - 1) % self.kinds()) as usize;
        let name = if self == Self::Programs { PROGRAMS[which].name } else { AGENTS[which].name };
        let tried = Scene::new(program).and_then(|scene| match self {
            Self::Programs => scene.with_program(which),
            Self::Agents => scene.with_agent(which, SplitMix64::seed_from_u64(seed ^ u64::from(number)).next_u64()),
        });
        (name, tried.unwrap_or_else(Tried::broken))
    }
}

/// Where the damage is, in bytes.
const fn damaged_at(random: u64) -> u64 {
    (random >> 8) % (DAMAGED_WITHIN << (random % DOUBLINGS))
}

/// A folder in which a measurement meets somebody hostile.
struct Scene {
    program: PathBuf,
    folder: TempDir,
}

impl Scene {
    fn new(program: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Servers that root starts run as somebody else.
        set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        Ok(Self { program: program.to_owned(), folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) -> Result<String, String> {
        let path = self.path(name);
        let written = fs::write(&path, content).and_then(|()| set_permissions(&path, Permissions::from_mode(mode)));
        written.map(|()| path.display().to_string()).map_err(|error| format!("cannot write {name}: {error}"))
    }

    /// Starts a server that is hostile, and measures it.
    fn with_program(self, which: usize) -> Result<Tried, String> {
        let hostile = &PROGRAMS[which];
        let own = fs::read(&self.program).map_err(|error| error.to_string())?;
        let misleading = if hostile.is_profiled {
            self.write("misleading", Misleading::Size.make(&own), 0o755)?
        } else {
            String::new()
        };
        drop(own);
        let canary = self.write("canary", CANARY, 0o600)?;
        let script =
            self.write("script", hostile.script(&self.program.display().to_string(), &canary, &misleading), 0o644)?;
        let mut command = self.command("run");
        command.args(["--serve", &format!("-- sh {script} {{port}}")]);
        command.args(if hostile.is_profiled { &["--profile"][..] } else { &[] });
        let code = self.end(command)?;
        let mut problems = self.problems(code, &[0, 3, 4]);
        let left = self.left();
        problems.extend(left.iter().cloned());
        if fs::read_to_string(&canary).ok().as_deref() != Some(CANARY) {
            problems.push("the file that is nobody's business was changed".into());
        }
        Ok(self.tried(left.len(), problems))
    }

    /// Measures a server of its own with an agent that is hostile.
    fn with_agent(self, which: usize, random: u64) -> Result<Tried, String> {
        let home = self.path("home");
        fs::create_dir(&home).map_err(|error| error.to_string())?;
        let home = home.display().to_string();
        let reach = self.write("reach", AGENTS[which].reach(&home, damaged_at(random)), 0o755)?;
        let mut target = Command::new(&self.program);
        target.args(["target", "--die-with-parent", "--listen", "127.0.0.1:0"]).stderr(Stdio::null());
        target.env("TMPDIR", self.folder.path()).current_dir("/");
        let (server, said) = announced(&mut target).map_err(|error| format!("cannot start a server: {error:#}"))?;
        let url = said["url"].as_str().ok_or("a server names no URL")?.to_owned();
        let mut command = self.command("run");
        command.args([&url, "--client", "ssh://a", "--ssh", &reach]);
        let code = self.end(command)?;
        drop::<Killed>(server);
        let mut problems = self.problems(code, &[0, 2, 3, 4]);
        let left = self.left();
        problems.extend(left.iter().cloned());
        Ok(self.tried(left.len(), problems))
    }

    /// A short measurement.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args([verb, "-R", "50", "-c", "8", "-d", "1s", "--warmup", "0s", "-q", "-o"]).arg(self.path("out"));
        command.env("TMPDIR", self.folder.path()).current_dir(self.folder.path());
        command
    }

    /// Starts it, and waits for its end; its exit code.
    fn end(&self, mut command: Command) -> Result<Option<i32>, String> {
        let file = |name| File::create(self.path(name)).map_err(|error| error.to_string());
        command.stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        let _ = (1..WAITS).any(|_| wait(|| has_ended(&mut child)));
        wait_for(&mut child)
    }

    fn problems(&self, code: Option<i32>, allowed: &[i32]) -> Vec<String> {
        let said = fs::read_to_string(self.path("stderr")).unwrap_or_default();
        let printed = fs::read_to_string(self.path("stdout")).unwrap_or_default();
        let first = said.lines().last().unwrap_or_default();
        let mut problems = Vec::new();
        if !code.is_some_and(|code| allowed.contains(&code)) {
            problems.push(format!("plimsoll ended with {code:?}: {first}"));
        }
        // An agent that is lost before the load leaves nothing to measure, which is said with its name.
        let may_be_none = first.contains("was lost before the start");
        if code.is_some_and(|code| [0, 4].contains(&code)) && !may_be_none && !self.path("out/run.json").exists() {
            problems.push(format!("there is no result: {first}"));
        }
        if said.contains("panicked") {
            problems.push(format!("a panic: {first}"));
        }
        if said.contains(SECRET) || printed.contains(SECRET) || said.contains('\u{1b}') || printed.contains('\u{1b}') {
            problems.push("a secret or a control character was printed".into());
        }
        if said.len() as u64 > SAID_MAX_BYTES {
            problems.push(format!("{} bytes on stderr", said.len()));
        }
        problems
    }

    /// What runs or stands there some seconds later, but for the copy of the program on the agent's machine.
    fn left(&self) -> Vec<String> {
        let left = Left::new(self.folder.path());
        wait(|| left.all().is_empty());
        left.all()
    }

    fn tried(&self, left: usize, problems: Vec<String>) -> Tried {
        let kept = if self.path("out/run.json").exists() { Kept::Whole } else { Kept::Nothing };
        Tried { struck: true, is_killed: false, kept, left, problems, ..Tried::broken(String::new()) }
    }
}
