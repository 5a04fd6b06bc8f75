//! A result made again by `plimsoll report --recover`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Time that it may take; s.
const LIMIT_S: &str = "60";
/// A sweep has its loads one level below.
const DEPTH_MAX: usize = 3;
const RESULTS: [&str; 2] = ["run.json", "profile.json"];

/// The result that the events in `directory` make, or what is said instead. One that has a result already, or is on a disk that
/// takes nothing more, stays as it is: a copy in `folder` is made a result of.
pub(super) fn again(program: &Path, directory: &Path, is_in_place: bool, folder: &Path) -> Result<String, String> {
    if is_in_place && RESULTS.iter().all(|result| !directory.join(result).exists()) {
        return recover(program, directory);
    }
    let copy = folder.join("copy");
    copy_tree(directory, &copy, DEPTH_MAX).map_err(|error| format!("cannot copy {}: {error}", directory.display()))?;
    recover(program, &copy)
}

fn recover(program: &Path, directory: &Path) -> Result<String, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LIMIT_S]).arg(program).args(["report", "--recover", "--format", "json"]);
    let output = command.arg(directory).output().map_err(|error| format!("cannot start timeout: {error}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|error| error.to_string());
    }
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
}

/// Copies files and directories, but for results.
fn copy_tree(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && depth > 1 {
            copy_tree(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() && RESULTS.iter().all(|result| entry.file_name() != *result) {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_all_but_the_result() {
        let folder = tempfile::tempdir().expect("a directory");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("points/01")).expect("our own directory");
        for name in ["events.jsonl", "run.json", "run.json.part", "points/01/events.jsonl"] {
            fs::write(from.join(name), name).expect("our own directory");
        }
        copy_tree(&from, &to, DEPTH_MAX).expect("it can be read");
        for name in ["events.jsonl", "run.json.part", "points/01/events.jsonl"] {
            assert_eq!(fs::read_to_string(to.join(name)).expect("it was copied"), name);
        }
        assert!(!to.join("run.json").exists() && from.join("run.json").exists());
    }
}
