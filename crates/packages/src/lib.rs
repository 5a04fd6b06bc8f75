//! Debian packages, installed by apt-get(8) without starting a service of theirs.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What Debian asks before the installation of a package starts a service (invoke-rc.d(8)).
const POLICY: &str = "/usr/sbin/policy-rc.d";

const APT: &str = "apt-get";

/// apt-get, while it lasts no package starts a service: programs are wanted, and nobody asked for a server on port 80.
#[derive(Debug)]
pub struct Apt {
    /// The policy that was written; none when the machine has one of its own.
    policy: Option<PathBuf>,
}

impl Apt {
    /// Forbids services to start; only root can.
    ///
    /// # Errors
    /// If the policy cannot be written.
    pub fn begin() -> io::Result<Self> {
        Self::with_policy(Path::new(POLICY))
    }

    /// Writes a policy unless there is one: what the machine's owner has decided stands.
    fn with_policy(policy: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o755).open(policy) {
            Ok(mut file) => {
                let apt = Self { policy: Some(policy.to_owned()) };
                // 101: "action not allowed".
                file.write_all(b"#!/bin/sh\nexit 101\n")?;
                Ok(apt)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Self { policy: None }),
            Err(error) => Err(error),
        }
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
        if let Some(policy) = &self.policy {
            // Nothing better can be done about it here.
            let _ = std::fs::remove_file(policy);
        }
    }
}

/// Runs apt-get, which is `program`.
fn apt(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
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

    #[test]
    fn errors_of_apt_are_told_and_nothing_else_that_it_says() {
        let folder = tempfile::tempdir().expect("a directory");
        let program = |text: &str| {
            let path = folder.path().join("apt-get");
            // A program that is written by one thread while another starts one is busy.
            let script = format!("printf '%s' '#!/bin/sh\n{text}\n' >{0} && chmod +x {0}", path.display());
            let script = script.replace("\\n", "\n");
            assert!(Command::new("sh").args(["-c", &script]).status().expect("a shell").success());
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
}
