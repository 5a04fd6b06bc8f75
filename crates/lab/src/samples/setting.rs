//! Where a command of a page is run: a directory of its own, with the servers that have to run for it.

use super::neutral;
use super::terminal::{Width, shown};
use crate::child::Killed;
use crate::hosts::reach;
use crate::loopback::await_ports;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Most time for a command, in seconds.
const LIMIT_S: &str = "900";
/// A server that is not ready by then has failed.
const READY: Duration = Duration::from_secs(10);
/// Exit codes with which a measurement shows a result: also one that is invalid, undecided, or fails a threshold.
const RESULTS: [i32; 4] = [0, 1, 4, 5];
/// Where programs are looked for when nothing says where.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Begins a server that goes on in the background by itself.
const STACK: &str = "plimsoll stack up ";

/// The directory and what runs there. All of it ends with this value.
pub(super) struct Setting {
    folder: TempDir,
    path: String,
    running: Vec<Killed>,
}

impl Setting {
    /// An empty directory, in which `plimsoll` is a copy of this program: by a link its processes would have another name.
    pub(super) fn new(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["bin", "hosts", "temporary", "work"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        for name in ["", "temporary", "work"] {
            // Servers that root starts run as another user, who has to get there.
            std::fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o755))?;
        }
        let bin = folder.path().join("bin");
        std::fs::copy(program, bin.join("plimsoll")).with_context(|| format!("copying {}", program.display()))?;
        // Other machines of a page are directories of this one.
        symlink(reach(&folder.path().join("hosts"))?, bin.join("ssh"))?;
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_else(|_| USUAL_PATH.to_owned()));
        Ok(Self { folder, path, running: Vec::new() })
    }

    /// Writes a file that a page shows into the directory.
    pub(super) fn write(&self, name: &str, content: &str) -> Result<()> {
        std::fs::write(self.folder.path().join("work").join(name), content).with_context(|| format!("writing {name}"))
    }

    /// Starts a server of a page, and waits until it is ready.
    pub(super) fn serve(&mut self, command: &str) -> Result<()> {
        if command.starts_with(STACK) {
            return self.output(command, Width::Usual).map(drop);
        }
        let words: Vec<&str> = command.split(' ').collect();
        let at = words.iter().position(|word| *word == "--listen");
        let port = at.and_then(|at| words.get(at + 1)?.rsplit(':').next()?.parse().ok());
        let port = port.with_context(|| format!("`{command}` does not say by --listen where it listens"))?;
        ensure!(
            std::net::TcpStream::connect(("127.0.0.1", port)).is_err(),
            "another program listens on port {port}; end it, and make the samples again"
        );
        let server = self.start(command)?;
        await_ports(server, &[port], READY).with_context(|| format!("the server `{command}`"))
    }

    /// Starts a program, which ends with this one too.
    pub(super) fn start(&mut self, command: &str) -> Result<&mut Killed> {
        let mut shell = self.shell(&format!("exec setpriv --pdeathsig KILL {command}"));
        let child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        self.running.push(Killed(child.with_context(|| format!("cannot start `{command}`"))?));
        self.running.last_mut().context("it was just pushed")
    }

    /// Runs a command of a page to its end; returns what it shows on a terminal of this width.
    pub(super) fn output(&self, command: &str, width: Width) -> Result<String> {
        let errors = self.folder.path().join("errors");
        let mut shell = self.shell(&format!("timeout --foreground {LIMIT_S} bash -c \"$COMMAND\""));
        shell.env("COMMAND", neutral::command(command)).stderr(File::create(&errors)?);
        let (shown, status) = shown(shell, width)?;
        if !status.code().is_some_and(|code| RESULTS.contains(&code)) {
            let said = std::fs::read_to_string(errors).unwrap_or_default();
            bail!("it ended with {status}: {}", said.lines().last().unwrap_or("it said nothing"));
        }
        ensure!(!shown.trim().is_empty(), "it shows nothing");
        // Whoever runs the command has no such folder of temporary files.
        let temporary = self.folder.path().join("temporary");
        let shown = shown.replace(&*temporary.to_string_lossy(), "/tmp");
        let machine = rustix::system::uname();
        Ok(neutral::output(&shown, command, &machine.nodename().to_string_lossy()))
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(self.folder.path().join("work"))
            .env("PATH", &self.path)
            .env("TMPDIR", self.folder.path().join("temporary"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let left = self.folder.path().join("temporary");
        if std::fs::read_dir(left).is_ok_and(|mut entries| entries.next().is_some()) {
            let down = self.shell("plimsoll stack down --all").stdout(Stdio::null()).stderr(Stdio::null()).status();
            if !down.is_ok_and(|status| status.success()) {
                eprintln!("a stack may still be up: plimsoll stack status");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Setting, Width};
    use std::path::Path;

    fn setting() -> Setting {
        Setting::new(Path::new("/bin/echo")).unwrap()
    }

    #[test]
    fn a_command_is_run_in_an_empty_directory_with_the_program_in_its_path() {
        let output = |command: &str| setting().output(command, Width::Usual).unwrap();
        assert_eq!(output("plimsoll run 'a  b'; ls -A"), "run a  b\n");
        assert_eq!(output("plimsoll http://web1.example.com/"), "http://web1.example.com/\n");
    }

    #[test]
    fn a_command_that_fails_is_no_sample() {
        let error = |command: &str| setting().output(command, Width::Usual).unwrap_err().to_string();
        assert_eq!(error("echo shown; echo wrong >&2; exit 2"), "it ended with exit status: 2: wrong");
        assert_eq!(error("true"), "it shows nothing");
        assert_eq!(setting().output("echo invalid; exit 4", Width::Usual).unwrap(), "invalid\n");
    }

    #[test]
    fn a_program_that_was_started_ends_with_the_setting() {
        let mut setting = setting();
        let pid = setting.start("sleep 600").unwrap().id();
        let is_running = || Path::new(&format!("/proc/{pid}")).exists();
        assert!(is_running());
        drop(setting);
        assert!(!is_running());
    }

    #[test]
    fn a_server_has_to_say_where_it_listens() {
        let error = setting().serve("plimsoll target").unwrap_err().to_string();
        assert!(error.contains("--listen"), "{error}");
    }
}
