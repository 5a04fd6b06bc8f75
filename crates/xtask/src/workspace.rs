//! Where things are, and how cargo is called.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the workspace: two levels above this crate's manifest.
pub fn root() -> PathBuf {
    // `cargo run` sets the variable; the compiled-in path serves a binary that is started by hand.
    let manifest_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.ancestors().nth(2).map_or_else(|| manifest_dir.clone(), Path::to_path_buf)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Path of a binary built with `--release`.
pub fn release_binary(name: &str) -> PathBuf {
    target().join("release").join(name)
}

/// Makes the release build of plimsoll, and says where it is.
pub fn build_plimsoll() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "plimsoll"]))?;
    Ok(release_binary("plimsoll"))
}

/// Absolute path of that plimsoll, or of the release build, which is made.
pub fn plimsoll(binary: Option<PathBuf>) -> Result<PathBuf> {
    binary.map_or_else(build_plimsoll, |path| path.canonicalize().with_context(|| path.display().to_string()))
}

/// A cargo command in the workspace root, with the toolchain this task was started with.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Reads a file of the repository.
pub fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("reading {path}"))
}

/// Writes a file of the repository, a page of `docs/` mostly.
pub fn write(path: &str, text: &str) -> Result<()> {
    std::fs::write(root().join(path), text).with_context(|| format!("writing {path}"))?;
    eprintln!("written: {path}");
    Ok(())
}

/// Runs a command to its end with inherited output.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        bail!("`{program} {}` ended with {status}", arguments.join(" "));
    }
    Ok(())
}

/// What a command prints.
pub fn printed(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{plimsoll, printed};
    use std::process::Command;

    #[test]
    fn what_a_command_prints_is_taken_and_its_failure_told() {
        assert_eq!(printed(Command::new("sh").args(["-c", "echo a; echo b >&2"])).unwrap(), "a");
        let failed = printed(Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"])).unwrap_err();
        assert!(failed.to_string().contains("sh ended with exit status: 3: b"), "{failed}");
    }

    /// Commands run in other directories: a path that was given relative to this one named nothing there.
    #[test]
    fn a_binary_that_is_given_is_named_by_its_absolute_path() {
        let path = plimsoll(Some("Cargo.toml".into())).unwrap();
        assert!(path.is_absolute() && path.ends_with("xtask/Cargo.toml"), "{}", path.display());
        let missing = plimsoll(Some("no-such-file".into())).unwrap_err();
        assert!(missing.to_string().contains("no-such-file"), "{missing}");
    }
}
