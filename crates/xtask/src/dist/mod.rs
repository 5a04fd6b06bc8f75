//! `cargo xtask dist`: what a release consists of, from the last commit, in `target/dist`.
//!
//! For each platform the static binary, and the forms in which tools install it; for all of them the licences of the crates in
//! the binary, and checksums. The same commit gives the same bytes.

mod about;
mod archive;
mod deb;
mod image;
mod licences;
mod npm;
mod release;
mod tarball;
mod trial;
mod wheel;

use std::path::PathBuf;

use anyhow::{Context, Error, Result};
use clap::builder::PossibleValuesParser;

use crate::platform::{PLATFORMS, Platform};
use crate::release::cargo_home;
use crate::snapshot;
pub(crate) use release::{Place, Release};
use xtask::workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Platform beside that of this machine, which is always built; can be repeated [default: all that can be built here]
    #[arg(long, value_name = "TRIPLE", value_parser = triples())]
    target: Vec<String>,
}

fn triples() -> PossibleValuesParser {
    PossibleValuesParser::new(PLATFORMS.iter().map(|platform| platform.triple))
}

/// Makes everything anew, tries what was made for this machine, and prints the checksums.
pub(crate) fn run(options: &Options) -> Result<()> {
    let own = Platform::own()?;
    own.prepare()?;
    snapshot::tell_changes()?;
    let target = std::path::absolute(workspace::target()).context("the target folder")?;
    let work = target.join("dist-build");
    let release = Release::begin(Place {
        sources: work.join("sources"),
        // Kept for the next time: third-party crates are not built again.
        target: work.join("target"),
        output: target.join("dist"),
        home: cargo_home()?,
    })?;
    release.make(own)?;
    let made: Vec<PathBuf> = release.files()?;
    trial::run(&made, release.version(), &work.join("trial"))?;
    for platform in others(&options.target) {
        match platform.prepare() {
            Ok(()) => release.make_other(platform)?,
            Err(reason) if options.target.is_empty() => println!("{}", left_out(platform, &reason)),
            Err(reason) => return Err(reason.context(platform.triple)),
        }
    }
    println!("{}\nin {}", release.write_sums()?, release.output().display());
    Ok(())
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
