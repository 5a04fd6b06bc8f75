//! `cargo xtask dist`: what a release consists of, from the last commit, in `target/dist`.
//!
//! For each platform the static binary, a Debian package and a container image; for all of them the licences of the crates in
//! the binary, and checksums. The same commit gives the same bytes.

mod deb;
mod image;
mod licences;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result};
use clap::builder::PossibleValuesParser;

use crate::platform::{PLATFORMS, Platform};
use crate::release;
use crate::snapshot::{self, Snapshot};
use image::{File, Image};
use xtask::workspace::{self, printed};

/// Licences of the crates in the binary.
const LICENCES: &str = "THIRD-PARTY-LICENCES.txt";
const SUMS: &str = "SHA256SUMS";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Platform beside that of this machine, which is always built; can be repeated [default: all that can be built here]
    #[arg(long, value_name = "TRIPLE", value_parser = triples())]
    target: Vec<String>,
}

fn triples() -> PossibleValuesParser {
    PossibleValuesParser::new(PLATFORMS.iter().map(|platform| platform.triple))
}

/// Makes everything anew, and prints the checksums.
pub(crate) fn run(options: &Options) -> Result<()> {
    let own = Platform::own()?;
    own.prepare()?;
    snapshot::tell_changes()?;
    let release = Release::begin()?;
    let program = release.build(own)?;
    let version = version(&program)?;
    release.write(LICENCES, licences::list(&release.copy.root)?)?;
    deb::documents(&program, &release.copy.root, &release.output.join(LICENCES))?;
    release.pack(own, &program, &version)?;
    for platform in others(&options.target) {
        match platform.prepare() {
            Ok(()) => release.pack(platform, &release.build(platform)?, &version)?,
            Err(reason) if options.target.is_empty() => println!("{}", left_out(platform, &reason)),
            Err(reason) => return Err(reason.context(platform.triple)),
        }
    }
    let sums = release.sums()?;
    println!("{sums}\nin {}", release.output.display());
    release.write(SUMS, format!("{sums}\n"))
}

/// The platforms beside that of this machine: those that are asked for, or all.
fn others(asked: &[String]) -> impl Iterator<Item = &'static Platform> {
    let is_asked = move |platform: &&Platform| asked.is_empty() || asked.iter().any(|triple| triple == platform.triple);
    PLATFORMS.iter().filter(|platform| !platform.is_own()).filter(is_asked)
}

/// Says in one line that a platform is left out, though a program may have said why in several.
fn left_out(platform: &Platform, reason: &Error) -> String {
    let reason = format!("{reason:#}");
    format!("     {} is left out: {}", platform.triple, reason.lines().collect::<Vec<_>>().join("; "))
}

/// The version that a binary of this machine says.
fn version(program: &Path) -> Result<String> {
    let said = printed(Command::new(program).arg("--version"))?;
    let version = said.split_whitespace().nth(1);
    version.map(str::to_owned).with_context(|| format!("`plimsoll --version` says {said:?}"))
}

/// Sources of the last commit, where they are built, and where the results go.
struct Release {
    copy: Snapshot,
    /// Kept for the next time: third-party crates are not built again.
    target: PathBuf,
    output: PathBuf,
}

impl Release {
    fn begin() -> Result<Self> {
        let target = std::path::absolute(workspace::target()).context("the target folder")?;
        let (work, output) = (target.join("dist-build"), target.join("dist"));
        snapshot::clear(&output)?;
        fs::create_dir_all(&output).with_context(|| format!("making {}", output.display()))?;
        Ok(Self { copy: Snapshot::at(&work.join("sources"))?, target: work.join("target"), output })
    }

    fn build(&self, platform: &Platform) -> Result<PathBuf> {
        println!("     building {}", platform.triple);
        release::build(&self.copy, platform, &release::cargo_home()?, &self.target)
    }

    /// The binary, its Debian package and its image.
    fn pack(&self, platform: &Platform, program: &Path, version: &str) -> Result<()> {
        let name = format!("plimsoll-{version}-{}", platform.processor());
        let copied = self.output.join(&name);
        fs::copy(program, &copied).with_context(|| format!("writing {}", copied.display()))?;
        deb::pack(&self.copy, &self.target, platform, &self.output)?;
        self.write(&format!("{name}-image.tar"), self.image(platform, program, version)?)
    }

    fn image(&self, platform: &Platform, program: &Path, version: &str) -> Result<Vec<u8>> {
        let read = |path: &Path| fs::read(path).with_context(|| format!("reading {}", path.display()));
        let document = |folder: &Path, name: &str| {
            Ok::<_, Error>(File::document(&format!("usr/share/doc/plimsoll/{name}"), read(&folder.join(name))?))
        };
        let sources = &self.copy.root;
        let files = [
            File::program("usr/bin/plimsoll", read(program)?),
            document(sources, "LICENSE-APACHE")?,
            document(sources, "LICENSE-MIT")?,
            document(&self.output, LICENCES)?,
        ];
        let image = Image {
            architecture: platform.architecture,
            version,
            commit: &self.copy.commit,
            time: &self.copy.time,
            epoch_s: self.copy.epoch_s,
            files: &files,
        };
        image.tar().context("the image")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.output.join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
    }

    /// Hashes of all files in the output, as `sha256sum --check` reads them.
    fn sums(&self) -> Result<String> {
        let entries = fs::read_dir(&self.output).with_context(|| format!("reading {}", self.output.display()))?;
        let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
        names.sort();
        printed(Command::new("sha256sum").args(names).current_dir(&self.output))
    }
}

#[cfg(test)]
mod tests {
    use super::{PLATFORMS, Platform, left_out, others};
    use anyhow::anyhow;

    #[test]
    fn the_own_platform_is_never_built_twice() {
        let own = Platform::own().unwrap();
        assert_eq!(others(&[]).count(), PLATFORMS.len() - 1);
        assert_eq!(others(&[own.triple.to_owned()]).count(), 0);
        let other = PLATFORMS.iter().find(|platform| !platform.is_own()).unwrap();
        let asked: Vec<&str> = others(&[other.triple.to_owned()]).map(|platform| platform.triple).collect();
        assert_eq!(asked, [other.triple]);
    }

    #[test]
    fn what_is_left_out_is_said_in_one_line() {
        let reason = anyhow!("info: downloading\nerror: no network").context("its standard library is not installed");
        let said = left_out(&PLATFORMS[1], &reason);
        let expected = "aarch64-unknown-linux-musl is left out: its standard library is not installed: info: downloading; \
                        error: no network";
        assert_eq!(said.trim_start(), expected);
    }
}
