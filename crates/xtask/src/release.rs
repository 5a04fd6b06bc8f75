//! The release binary: static, and the same to the byte wherever it is built.
//!
//! Files below the folders of the sources and of cargo's home, and those of the standard library, get names that are the same
//! everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::platform::Platform;
use crate::snapshot::Snapshot;
use xtask::workspace::{self, printed};

/// Options of cargo for what a release has beside what each build has.
pub(crate) const FEATURES: [&str; 2] = ["--features", "plimsoll/kubernetes"];

/// The profile of cargo for what is handed out.
pub(crate) const PROFILE: &str = "dist";

/// Builds the binary of a snapshot in the folder `target`, with the crates of cargo's `home`.
pub(crate) fn build(copy: &Snapshot, platform: &Platform, home: &Path, target: &Path) -> Result<PathBuf> {
    let mut cargo = workspace::cargo(&arguments(platform));
    prepare(&mut cargo, copy, platform, home, target)?;
    workspace::run(&mut cargo)?;
    let binary = target.join(platform.triple).join(PROFILE).join("plimsoll");
    let headers = printed(Command::new("readelf").args(["--wide", "--program-headers"]).arg(&binary))?;
    ensure!(is_static(&headers), "{} is not static: it names a dynamic loader", binary.display());
    Ok(binary)
}

/// What cargo is told to build, which is the same for each platform but its name.
fn arguments(platform: &Platform) -> Vec<&'static str> {
    let arguments = ["build", "--profile", PROFILE, "--locked", "--package", "plimsoll", "--target", platform.triple];
    arguments.into_iter().chain(FEATURES).collect()
}

/// Names of the features of a released program, as its version tells them.
pub(crate) fn features() -> impl Iterator<Item = &'static str> {
    FEATURES[1].split(',').filter_map(|feature| feature.strip_prefix("plimsoll/"))
}

/// Gives a command that builds, or has cargo build, all that the bytes of the binary depend on: to cargo the same binary is
/// built already the next time.
pub(crate) fn prepare(
    command: &mut Command,
    copy: &Snapshot,
    platform: &Platform,
    home: &Path,
    target: &Path,
) -> Result<()> {
    command.current_dir(&copy.root).env("CARGO_HOME", home).env("CARGO_TARGET_DIR", target);
    command.envs(platform.compilers());
    // C compilers have it for their dates.
    command.env("SOURCE_DATE_EPOCH", copy.epoch_s.to_string());
    // Stronger than all other places of flags.
    command.env("CARGO_ENCODED_RUSTFLAGS", flags(&names(&copy.root, home)?));
    Ok(())
}

/// Where cargo keeps crates.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    std::path::absolute(home.context("neither CARGO_HOME nor HOME is set")?).context("cargo's home")
}

/// Folders with sources, and the names that a binary has for them.
fn names(root: &Path, home: &Path) -> Result<Vec<(PathBuf, String)>> {
    let real_home = fs::canonicalize(home).with_context(|| format!("opening {}", home.display()))?;
    let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = printed(Command::new("rustc").args(["--version", "--verbose"]))?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let commit = commit.context("rustc does not tell its commit")?;
    Ok(vec![
        (real_home, "/cargo".to_owned()),
        (home.to_owned(), "/cargo".to_owned()),
        // The name they have where the sources of the standard library are not installed.
        (Path::new(&sysroot).join("lib/rustlib/src/rust"), format!("/rustc/{commit}")),
        (root.to_owned(), "/plimsoll".to_owned()),
    ])
}

/// Flags of rustc as cargo takes them from `CARGO_ENCODED_RUSTFLAGS`.
fn flags(names: &[(PathBuf, String)]) -> String {
    let flags = names.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    flags.collect::<Vec<_>>().join("\u{1f}")
}

/// True if the program headers that readelf(1) lists name no loader of shared libraries.
fn is_static(headers: &str) -> bool {
    headers.contains("LOAD") && !headers.contains("INTERP")
}

#[cfg(test)]
mod tests {
    use super::{arguments, features, flags, is_static};
    use crate::platform::PLATFORMS;
    use cargo_metadata::MetadataCommand;
    use std::path::PathBuf;
    use xtask::workspace;

    /// The pages say that releases start agents in a cluster, and give no other way to have such a program without Rust.
    #[test]
    fn the_binary_of_each_platform_can_start_agents_in_a_cluster() {
        assert_eq!(features().collect::<Vec<_>>(), ["kubernetes"]);
        for platform in &PLATFORMS {
            let arguments = arguments(platform);
            assert!(arguments.ends_with(&["--features", "plimsoll/kubernetes"]), "{arguments:?}");
            assert!(arguments.contains(&platform.triple), "{arguments:?}");
        }
        let metadata = MetadataCommand::new().current_dir(workspace::root()).no_deps().exec().unwrap();
        let plimsoll = metadata.packages.iter().find(|package| package.name == "plimsoll").unwrap();
        assert!(features().all(|feature| plimsoll.features.contains_key(feature)), "{:?}", plimsoll.features);
    }

    #[test]
    fn a_folder_may_have_a_space() {
        let name = |folder: &str, name: &str| (PathBuf::from(folder), name.to_owned());
        let text = flags(&[name("/my home/.cargo", "/cargo"), name("/src", "/plimsoll")]);
        let flags: Vec<&str> = text.split('\u{1f}').collect();
        assert_eq!(flags, ["--remap-path-prefix=/my home/.cargo=/cargo", "--remap-path-prefix=/src=/plimsoll"]);
    }

    #[test]
    fn a_binary_that_asks_for_a_loader_is_not_static() {
        let load = "  LOAD           0x000000 0x0000000000000000 0x0000000000000000 0x0b7d10 0x0b7d10 R   0x1000\n";
        let interp = "  INTERP         0x000318 0x0000000000000318 0x0000000000000318 0x00001c 0x00001c R   0x1\n";
        assert!(is_static(load));
        assert!(!is_static(&format!("{interp}{load}")));
        assert!(!is_static("There are no program headers in this file.\n"));
    }
}
