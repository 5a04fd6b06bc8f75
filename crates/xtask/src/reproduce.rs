//! `cargo xtask reproduce`: the files of a release, made twice from the last commit, are the same to the byte.
//!
//! The two differ in what two machines differ in: the folder of the sources, that of the output, and that of cargo's home.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::dist::{Place, Release};
use crate::platform::Platform;
use crate::release;
use crate::snapshot;
use xtask::workspace;

/// Makes all files for the platform of this machine twice, prints their hashes, and keeps them in `target/reproduce` if they are
/// the same.
pub(crate) fn run() -> Result<()> {
    let folder = std::path::absolute(workspace::target().join("reproduce")).context("the target folder")?;
    snapshot::clear(&folder)?;
    snapshot::tell_changes()?;
    Platform::own()?.prepare()?;
    let home = release::cargo_home()?;
    let first = make(&folder.join("first"), &folder.join("first-made"), home.clone())?;
    let elsewhere = folder.join("second");
    let other_home = elsewhere.join("home");
    fs::create_dir_all(&elsewhere).with_context(|| format!("making {}", elsewhere.display()))?;
    symlink(&home, &other_home).with_context(|| format!("linking {}", other_home.display()))?;
    let second = make(&elsewhere.join("deeper").join("sources"), &elsewhere.join("made"), other_home)?;
    println!("{first}");
    let others = different(&first, &second);
    if !others.is_empty() {
        bail!("made again from one commit, these differ: {}; `diffoscope` tells in what", others.join(", "));
    }
    let kept = folder.join("made");
    fs::rename(folder.join("first-made"), &kept).with_context(|| format!("writing {}", kept.display()))?;
    for build in ["first", "second"] {
        snapshot::clear(&folder.join(build))?;
    }
    println!("the same; kept: {}", kept.display());
    Ok(())
}

/// Makes the files of the last commit, which is built in the folder of its sources, and returns their hashes.
fn make(sources: &Path, output: &Path, home: PathBuf) -> Result<String> {
    let place = Place { sources: sources.to_owned(), target: sources.join("target"), output: output.to_owned(), home };
    let release = Release::begin(place)?;
    release.make(Platform::own()?)?;
    release.write_sums()
}

/// Lines of either list of hashes that the other does not have; two empty lists are different from each other.
fn different<'a>(first: &'a str, second: &'a str) -> Vec<&'a str> {
    if first.trim().is_empty() {
        return vec!["nothing was made"];
    }
    let missing =
        |lines: &'a str, other: &'a str| lines.lines().filter(move |line| !other.lines().any(|same| same == *line));
    missing(first, second).chain(missing(second, first)).collect()
}

#[cfg(test)]
mod tests {
    use super::different;

    #[test]
    fn files_with_other_hashes_and_files_of_one_list_alone_are_named() {
        let first = "0a1b  plimsoll\n2c3d  plimsoll.deb";
        assert!(different(first, first).is_empty());
        assert_eq!(
            different(first, "0a1b  plimsoll\n2c3e  plimsoll.deb"),
            ["2c3d  plimsoll.deb", "2c3e  plimsoll.deb"]
        );
        assert_eq!(different(first, "0a1b  plimsoll"), ["2c3d  plimsoll.deb"]);
        assert_eq!(different("", ""), ["nothing was made"], "two empty lists do not say that anything is the same");
    }
}
