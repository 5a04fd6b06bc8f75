//! One server, started and ended in one of many ways, and what is left of it.

use super::leaks::{Left, Outside};
use super::processes::{end, is_alive, kill, wait, wait_for};
use crate::usage::children;
use procfs::process::Process;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{File, Permissions, read_to_string, set_permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Servers: name, arguments of `plimsoll serve`, whether its processes have children that serve.
const SERVERS: [(&str, &[&str], bool); 9] = [
    ("nginx", &["nginx", "--workers", "2"], true),
    ("apache", &["apache", "--workers", "2"], true),
    ("varnish", &["varnish"], true),
    ("php-fpm", &["php-fpm"], true),
    ("php-fpm, Apache", &["php-fpm", "--set", "front=apache", "--workers", "2"], true),
    ("redis", &["redis"], false),
    ("mariadb", &["mariadb", "--set", "innodb_buffer_pool_size=32MiB"], false),
    ("target", &["target"], false),
    ("a command", &["--", "sh", "-c", "sleep 600 & \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT & wait"], true),
];

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    /// Nobody: ^C.
    Nobody,
    /// plimsoll, while the server starts.
    Starting,
    /// plimsoll.
    Plimsoll,
    /// Its supervisor.
    Supervisor,
    /// Both at the same time; `--clean` has to tidy up.
    Both,
    /// A process that one of the server's has started.
    Worker,
    /// A process of the server's.
    Master,
}

/// All of them.
pub const VICTIMS: [Victim; 7] = [
    Victim::Nobody,
    Victim::Starting,
    Victim::Plimsoll,
    Victim::Supervisor,
    Victim::Both,
    Victim::Worker,
    Victim::Master,
];

impl Victim {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Starting => "plimsoll (starting)",
            Self::Plimsoll => "plimsoll",
            Self::Supervisor => "supervisor",
            Self::Both => "both",
            Self::Worker => "worker",
            Self::Master => "master",
        }
    }

    /// The exit code that plimsoll has to end with; none when it was killed.
    fn exit_code(self) -> Option<i32> {
        match self {
            Self::Nobody | Self::Worker => Some(0),
            Self::Master | Self::Supervisor => Some(3),
            Self::Starting | Self::Plimsoll | Self::Both => None,
        }
    }
}

/// What came of a cycle.
pub struct Cycle {
    /// Name of the server.
    pub server: &'static str,
    /// Who was killed.
    pub victim: Victim,
    /// What was left, and what was not as it should be.
    pub problems: Vec<String>,
}

/// Cycles that follow from a seed, in a directory for temporary files of their own.
pub struct Chaos {
    program: PathBuf,
    tmp: TempDir,
    rng: Xoshiro256PlusPlus,
    outside: Outside,
}

impl Chaos {
    /// `program` is plimsoll.
    pub fn new(program: PathBuf, seed: u64) -> Result<Self, String> {
        let tmp = tempfile::tempdir().map_err(|error| error.to_string())?;
        // Servers that root starts run as somebody else.
        set_permissions(tmp.path(), Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
        Ok(Self { program, tmp, rng: Xoshiro256PlusPlus::seed_from_u64(seed), outside: Outside::now() })
    }

    /// Starts a server, ends it, and looks what is left. Victims come in turns, all else at random.
    pub fn cycle(&mut self, number: u64) -> Cycle {
        let victim = VICTIMS[(number % VICTIMS.len() as u64) as usize];
        let able: Vec<_> = SERVERS.iter().filter(|(.., workers)| *workers || victim != Victim::Worker).collect();
        let (server, args, _) = able[self.below(able.len() as u64) as usize];
        let mut left = Left::new(self.tmp.path());
        let mut problems = match self.act(args, victim, &mut left) {
            Ok(code) if victim.exit_code().is_some_and(|expected| code != Some(expected)) => {
                vec![format!("plimsoll ended with {code:?}: {}", self.stderr().trim())]
            }
            Ok(_) => Vec::new(),
            Err(problem) => vec![format!("{problem}: {}", self.stderr().trim())],
        };
        if victim == Victim::Starting {
            // A supervisor that has come to life tidies up by itself.
            wait(|| left.processes().is_empty());
        }
        if matches!(victim, Victim::Both | Victim::Starting) {
            problems.extend(self.clean().err());
        }
        wait(|| left.all().is_empty());
        problems.extend(left.all());
        problems.extend(self.outside.more());
        Cycle { server, victim, problems }
    }

    /// Runs the server and kills the victim; returns the exit code of plimsoll.
    fn act(&mut self, args: &[&str], victim: Victim, left: &mut Left) -> Result<Option<i32>, String> {
        let mut plimsoll = self.spawn(args)?;
        if victim == Victim::Starting {
            std::thread::sleep(Duration::from_micros(self.below(200_000)));
            return end(&mut plimsoll, Signal::KILL);
        }
        let up = first_line(&mut plimsoll).and_then(|line| Up::new(&line));
        let up = match up {
            Ok(up) => up,
            Err(problem) => {
                end(&mut plimsoll, Signal::KILL)?;
                return Err(problem);
            }
        };
        left.remember(up.services.iter().copied().chain([up.supervisor]).collect());
        std::thread::sleep(Duration::from_micros(self.below(30_000)));
        self.strike(victim, &up, &mut plimsoll)
    }

    fn strike(&mut self, victim: Victim, up: &Up, plimsoll: &mut Child) -> Result<Option<i32>, String> {
        match victim {
            Victim::Nobody => end(plimsoll, Signal::INT),
            Victim::Starting | Victim::Plimsoll => end(plimsoll, Signal::KILL),
            Victim::Supervisor => kill(up.supervisor, Signal::KILL).and_then(|()| wait_for(plimsoll)),
            Victim::Both => {
                // Without its time to notice.
                kill(plimsoll.id().cast_signed(), Signal::STOP)?;
                kill(up.supervisor, Signal::KILL)?;
                let code = end(plimsoll, Signal::KILL);
                // A supervisor that is still dying is one, for `--clean`.
                wait(|| !is_alive(up.supervisor));
                code
            }
            Victim::Worker => {
                let workers: Vec<i32> = up.services.iter().flat_map(|pid| children(*pid)).collect();
                if workers.is_empty() {
                    end(plimsoll, Signal::INT)?;
                    return Err("it has no workers".into());
                }
                kill(workers[self.below(workers.len() as u64) as usize], Signal::KILL)?;
                std::thread::sleep(Duration::from_micros(self.below(30_000)));
                end(plimsoll, Signal::INT)
            }
            Victim::Master => {
                let at = self.below(up.services.len() as u64) as usize;
                kill(up.services[at], Signal::KILL).and_then(|()| wait_for(plimsoll))
            }
        }
    }

    fn spawn(&self, args: &[&str]) -> Result<Child, String> {
        let stderr = File::create(self.tmp.path().join("stderr")).map_err(|error| error.to_string())?;
        let mut command = self.command();
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        command.spawn().map_err(|error| format!("cannot start {}: {error}", self.program.display()))
    }

    fn clean(&self) -> Result<(), String> {
        let output = self.command().arg("--clean").output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(format!("--clean: {output:?}")) }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("serve").env("TMPDIR", self.tmp.path()).env("PLIMSOLL", &self.program);
        command
    }

    fn stderr(&self) -> String {
        read_to_string(self.tmp.path().join("stderr")).unwrap_or_default()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.next_u64() % limit
    }
}

/// Numbers of the processes of a server that is up.
struct Up {
    /// Those that the supervisor has started.
    services: Vec<i32>,
    supervisor: i32,
}

impl Up {
    fn new(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| format!("{error} in its first line {line:?}"))?;
        let list = value["processes"].as_array().into_iter().flatten();
        let services: Vec<i32> = list.filter_map(|one| one["pid"].as_i64()?.try_into().ok()).collect();
        let parent = |pid: &i32| Process::new(*pid).and_then(|process| process.stat()).map(|stat| stat.ppid);
        let supervisor = services.first().ok_or("it names no process")?;
        let supervisor = parent(supervisor).map_err(|error| error.to_string())?;
        let words =
            Process::new(supervisor).and_then(|process| process.cmdline()).map_err(|error| error.to_string())?;
        let state = value["state"].as_str().unwrap_or_default();
        let is_ours = words.get(1..) == Some(&["keep".to_owned(), state.to_owned()]);
        if is_ours { Ok(Self { services, supervisor }) } else { Err(format!("{words:?} is no supervisor of {state}")) }
    }
}

/// The first line on stdout; whoever is asked has a time-out of its own.
fn first_line(plimsoll: &mut Child) -> Result<String, String> {
    let mut line = String::new();
    let stdout = plimsoll.stdout.as_mut().ok_or("it has no output")?;
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    if line.is_empty() { Err("it does not come up".into()) } else { Ok(line) }
}
