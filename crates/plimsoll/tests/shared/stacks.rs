//! Stacks of `plimsoll stack`, in a folder for temporary files of their own.

use super::list;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The folder. All stacks that are up in it end with this value.
pub(crate) struct Stacks {
    temp: TempDir,
    /// Where commands run.
    work: TempDir,
}

impl Stacks {
    pub(crate) fn new() -> Self {
        let [temp, work] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        for folder in [&temp, &work] {
            // Servers of another user have to get there.
            std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("our own directory");
        }
        Self { temp, work }
    }

    /// `plimsoll` with these arguments, in that folder.
    pub(crate) fn plimsoll<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(args).env("TMPDIR", self.temp.path()).current_dir(self.work.path()).stdin(Stdio::null());
        command
    }

    /// Puts a file where it runs.
    #[allow(dead_code, reason = "not every program of tests has one")]
    #[track_caller]
    pub(crate) fn write(&self, name: &str, content: &str) {
        std::fs::write(self.work.path().join(name), content).expect("a file");
    }

    /// Where it runs.
    #[allow(dead_code, reason = "not every program of tests asks for it")]
    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    /// Runs it to its end.
    #[track_caller]
    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.plimsoll(args).output().expect("it starts")
    }

    /// Runs it; it must exit with 0. Returns what it printed.
    #[track_caller]
    pub(crate) fn fine<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs it; it must fail with `code` and one line that has all of `named`, and print no result.
    #[track_caller]
    pub(crate) fn fails<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, code: i32, named: &[&str]) {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && output.stdout.is_empty(), "{output:?}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(named.iter().all(|part| said.contains(part)), "{named:?}: {said}");
    }

    /// `plimsoll stack up` with these arguments; what it says of itself.
    #[track_caller]
    pub(crate) fn up(&self, args: &str) -> Value {
        let said = self.fine(["stack", "up", "--json"].into_iter().chain(args.split(' ')));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// What is left in the folder of state directories.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        list(self.temp.path()).iter().flat_map(|base| list(base)).collect()
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // A test that has failed leaves its stacks up.
        let _ = self.run(["stack", "down", "--all"]);
    }
}
