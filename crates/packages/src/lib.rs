//! Debian packages, installed by apt-get(8) without starting a service of theirs.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

/// What Debian asks before the installation of a package starts a service (invoke-rc.d(8)).
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// What stands in a policy of ours before the name of the process that wrote it.
const MARK: &str = "# plimsoll, while apt-get installs: ";

const APT: &str = "apt-get";

/// apt-get, while it lasts no package starts a service: programs are wanted, and nobody asked for a server on port 80.
#[derive(Debug)]
pub struct Apt {
    /// The policy that was written; none when the machine has one of its own.
    policy: Option<Policy>,
}

/// A policy of ours.
#[derive(Debug)]
struct Policy {
    path: PathBuf,
    script: String,
}

impl Apt {
    /// Forbids services to start; only root can.
    ///
    /// # Errors
    /// If the policy cannot be written.
    pub fn begin() -> io::Result<Self> {
        Self::with_policy(Path::new(POLICY))
    }

    /// Writes a policy unless there is one: what the machine's owner has decided stands. One that a process of ours has left
    /// which was killed is taken over: without that no package of this machine would start a service any more.
    fn with_policy(path: &Path) -> io::Result<Self> {
        let script = script(&name_of(process::id()).unwrap_or_default());
        let policy = Policy { path: path.to_owned(), script };
        match fs::read_to_string(path) {
            Ok(there) if is_abandoned(&there) => write_program(path, &policy.script, Existing::Replaced)?,
            Err(error) if error.kind() == ErrorKind::NotFound => write_program(path, &policy.script, Existing::Kept)?,
            _ => return Ok(Self { policy: None }),
        }
        Ok(Self { policy: Some(policy) })
    }

    /// Reads the lists of packages again.
    ///
    /// # Errors
    /// What apt-get says last. An index that is stale or half reachable may still hold a package.
    pub fn update(&self) -> Result<(), String> {
        apt(Path::new(APT), &["update"])
    }

    /// Installs packages, without those that are only recommended.
    ///
    /// # Errors
    /// What apt-get says last.
    pub fn install(&self, packages: &[&str]) -> Result<(), String> {
        apt(Path::new(APT), &[&["install", "-y", "--no-install-recommends"], packages].concat())
    }
}

impl Drop for Apt {
    fn drop(&mut self) {
        let Some(policy) = &self.policy else { return };
        // It may be somebody else's by now, or written by half.
        if fs::read_to_string(&policy.path).is_ok_and(|there| policy.script.starts_with(&there)) {
            // Nothing better can be done about it here.
            let _ = fs::remove_file(&policy.path);
        }
    }
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

/// Writes a program, through a process that does nothing else. A descriptor of this one, open for writing, would be inherited
/// by whatever another thread starts meanwhile; until that has become a program of its own nobody can execute the file
/// (ETXTBSY, execve(2)).
///
/// # Errors
/// What the shell says; a file that is kept is one. Nothing of a file that could not be written whole is left.
fn write_program(path: &Path, text: &str, existing: Existing) -> io::Result<()> {
    let options = if existing == Existing::Kept { "set -C; " } else { "" };
    let script = format!(
        "umask 022; {options}exec 3>\"$0\" || exit 1; cat >&3 && chmod 755 \"$0\" && exit 0; rm -f \"$0\"; exit 1"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).arg(path).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut shell = command.spawn()?;
    let written = shell.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    let output = shell.wait_with_output()?;
    if output.status.success() {
        return written;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{} cannot be written: {}", path.display(), said.trim())))
}

/// The policy of a process. 101: "action not allowed".
fn script(name: &str) -> String {
    format!("#!/bin/sh\n{MARK}{name}\nexit 101\n")
}

/// True if the process that wrote this policy has ended, which would have removed it.
fn is_abandoned(script: &str) -> bool {
    let Some(name) = script.lines().find_map(|line| line.strip_prefix(MARK)) else { return false };
    let pid = name.split(' ').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(|pid| name_of(pid).as_deref() != Some(name))
}

/// A name that no other process has, before or after it: its number, when it was started (field 22 of `/proc/PID/stat`) and
/// the boot that this counts from. None if it does not run.
fn name_of(pid: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of its program stands in parentheses, and may have any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let (state, started) = (fields.first()?, fields.get(19)?);
    (*state != "Z").then(|| format!("{pid} {started} {}", boot.trim()))
}

/// True of a variable that apt-get and the scripts of packages need.
fn is_for_apt(name: &str) -> bool {
    let names = ["PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "TERM", "SHELL", "USER", "LOGNAME"];
    let begins = ["LC_", "APT_", "DEBCONF_", "DPKG_"];
    let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
    names.contains(&name) || begins.iter().any(|begin| name.starts_with(begin)) || is_proxy
}

/// The environment of apt-get, of all that this process has.
fn environment(all: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (OsString, OsString)> {
    let passed = all.filter(|(name, _)| is_for_apt(&name.to_string_lossy()));
    passed.chain([("DEBIAN_FRONTEND".into(), "noninteractive".into())])
}

/// Runs apt-get, which is `program`.
fn apt(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    // Scripts of packages run with what apt-get has: passwords and tokens that are meant for plimsoll are not.
    command.env_clear().envs(environment(std::env::vars_os()));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().map_err(|error| format!("apt-get cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let errors = said.lines().map(str::trim).filter(|line| line.starts_with("E:")).collect::<Vec<_>>().join("; ");
    Err(if errors.is_empty() { format!("apt-get ended with {}", output.status) } else { errors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn errors_of_apt_are_told_and_nothing_else_that_it_says() {
        let folder = tempfile::tempdir().expect("a directory");
        let program = |text: &str| {
            let path = folder.path().join("apt-get");
            write_program(&path, &format!("#!/bin/sh\n{text}\n"), Existing::Replaced).expect("it can be written");
            path
        };
        let said = program("echo W: old >&2; echo E: Unable to locate package $4 >&2; exit 100");
        assert_eq!(
            apt(&said, &["install", "-y", "--quiet", "wordpress"]),
            Err("E: Unable to locate package wordpress".into())
        );
        assert_eq!(apt(&program("exit 1"), &["update"]), Err("apt-get ended with exit status: 1".into()));
        assert_eq!(apt(&program("exit 0"), &["update"]), Ok(()));
        let missing = apt(&folder.path().join("none"), &["update"]).expect_err("there is none");
        assert!(missing.starts_with("apt-get cannot be started: "), "{missing}");
    }

    #[test]
    fn scripts_of_packages_get_no_passwords_and_no_tokens() {
        let secret = [
            "PLIMSOLL_TOKEN",
            "PLIMSOLL_MYSQL_PASSWORD",
            "API_TOKEN",
            "SITE_AUTH",
            "AWS_SECRET_ACCESS_KEY",
            "APTITUDE",
        ];
        let needed = ["PATH", "http_proxy", "HTTPS_PROXY", "LC_ALL", "DEBCONF_NONINTERACTIVE_SEEN", "APT_CONFIG"];
        let all = secret.iter().chain(&needed).map(|name| (OsString::from(name), OsString::from("value")));
        let passed: Vec<OsString> = environment(all).map(|(name, _)| name).collect();
        assert_eq!(passed, [&needed[..], &["DEBIAN_FRONTEND"]].concat());
    }

    /// Whatever the tests are run with: cargo alone sets a dozen variables that are for nobody else.
    #[test]
    fn apt_is_run_with_that_environment_alone() {
        let folder = tempfile::tempdir().expect("a directory");
        let (program, written) = (folder.path().join("apt-get"), folder.path().join("environment"));
        let text = format!("#!/bin/sh\nexec env >{}\n", written.display());
        write_program(&program, &text, Existing::Replaced).expect("it can be written");
        assert_eq!(apt(&program, &["update"]), Ok(()));
        let written = fs::read_to_string(written).expect("it was run");
        let mut names: Vec<&str> = written.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        // What a shell sets by itself.
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
        // Of a machine without variables it has none.
        assert_eq!(names.contains(&"PATH"), std::env::var_os("PATH").is_some(), "{written}");
        assert!(names.contains(&"DEBIAN_FRONTEND"), "{written}");
        assert!(names.iter().all(|name| is_for_apt(name) || *name == "DEBIAN_FRONTEND"), "{written}");
    }

    #[test]
    fn no_package_starts_a_service_and_the_machine_s_own_policy_stands() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy-rc.d");
        let apt = Apt::with_policy(&path).expect("it can be written");
        let status = Command::new(&path).args(["nginx", "start"]).status().expect("it can be run");
        assert_eq!(status.code(), Some(101));
        // Another one beside it changes nothing.
        drop(Apt::with_policy(&path).expect("there is one"));
        assert!(path.exists());
        drop(apt);
        assert!(!path.exists());
    }

    /// While another thread starts a program, that has for a moment all descriptors of this process, one of them open for
    /// writing to the policy: the package that asked the policy met "Text file busy", and started its service.
    #[test]
    fn a_policy_can_be_executed_while_other_threads_start_programs() {
        let folder = tempfile::tempdir().expect("a directory");
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let starts = || {
                while !ends.load(Ordering::Relaxed) {
                    assert!(Command::new("true").status().expect("it can be run").success());
                }
            };
            (0..3).for_each(|_| drop(scope.spawn(starts)));
            for number in 0..100 {
                let path = folder.path().join(number.to_string());
                let apt = Apt::with_policy(&path).expect("it can be written");
                let status = Command::new(&path).status().map(|status| status.code());
                ends.store(status.is_err() || number == 99, Ordering::Relaxed);
                assert_eq!(status.expect("it is not busy"), Some(101));
                drop(apt);
            }
        });
    }

    #[test]
    fn a_policy_that_cannot_be_written_is_an_error_with_its_path() {
        let error = Apt::with_policy(Path::new("/nonexistent/policy-rc.d")).expect_err("no directory").to_string();
        assert!(error.contains("/nonexistent/policy-rc.d") && error.lines().count() == 1, "{error}");
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy-rc.d");
        fs::write(&path, "another one").expect("a file");
        write_program(&path, "ours", Existing::Kept).expect_err("it is kept");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "another one");
    }

    /// No package of the machine would have started a service any more.
    #[test]
    fn a_policy_that_a_killed_process_has_left_is_taken_over() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy-rc.d");
        let own = name_of(process::id()).expect("it runs");
        let (number, rest) = own.split_once(' ').expect("several words");
        let (started, boot) = rest.split_once(' ').expect("three words");
        for gone in [format!("{number} 1 {boot}"), format!("{number} {started} another-boot"), format!("0 1 {boot}")] {
            fs::write(&path, script(&gone)).expect("a file");
            let apt = Apt::with_policy(&path).expect("it can be written");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), script(&own), "{gone}");
            drop(apt);
            assert!(!path.exists(), "{gone}");
        }
    }

    #[test]
    fn a_policy_of_a_process_that_runs_or_of_nobody_known_stands() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("policy-rc.d");
        let mut other = Command::new("cat").stdin(Stdio::piped()).spawn().expect("it can be run");
        let running = name_of(other.id()).expect("it runs");
        for stands in [script(&running), "#!/bin/sh\nexit 101\n".to_owned(), script(""), String::new()] {
            fs::write(&path, &stands).expect("a file");
            drop(Apt::with_policy(&path).expect("there is one"));
            assert_eq!(fs::read_to_string(&path).expect("it is there"), stands);
        }
        // What has taken the place of ours meanwhile is not removed.
        fs::remove_file(&path).expect("our own");
        let apt = Apt::with_policy(&path).expect("it can be written");
        fs::write(&path, "#!/bin/sh\nexit 0\n").expect("a file");
        drop(apt);
        assert!(path.exists());
        drop(other.stdin.take());
        other.wait().expect("it has read all");
    }
}
