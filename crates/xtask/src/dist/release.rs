//! The files of a release, made from a snapshot of the last commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result, ensure};

use super::about::About;
use super::archive::{File, read};
use super::image::Image;
use super::{deb, licences, npm, tarball, wheel};
use crate::platform::Platform;
use crate::snapshot::{self, Snapshot};
use crate::{book, release};
use xtask::workspace::printed;

/// Licences of the crates in the binary.
const LICENCES: &str = "THIRD-PARTY-LICENCES.txt";
const SUMS: &str = "SHA256SUMS";
/// What goes into each package beside the binary and [`LICENCES`].
const DOCUMENTS: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Folders in which a release is made; nothing of their names is in it.
pub(crate) struct Place {
    /// The snapshot, which is made there.
    pub(crate) sources: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// Where the files of the release go; it is cleared.
    pub(crate) output: PathBuf,
    /// Cargo's home.
    pub(crate) home: PathBuf,
}

/// A release that is being made.
pub(crate) struct Release {
    place: Place,
    copy: Snapshot,
    about: About,
}

impl Release {
    /// Takes a snapshot of the last commit.
    pub(crate) fn begin(place: Place) -> Result<Self> {
        snapshot::clear(&place.output)?;
        fs::create_dir_all(&place.output).with_context(|| format!("making {}", place.output.display()))?;
        let copy = Snapshot::at(&place.sources)?;
        let about = About::read(&copy.root)?;
        Ok(Self { place, copy, about })
    }

    pub(super) fn version(&self) -> &str {
        &self.about.version
    }

    pub(super) fn output(&self) -> &Path {
        &self.place.output
    }

    /// Makes what all platforms share, and all of the platform of this machine, whose program writes its own documents.
    pub(crate) fn make(&self, own: &Platform) -> Result<()> {
        let program = self.build(own)?;
        let said = printed(Command::new(&program).arg("--version"))?;
        let commit = self.copy.commit.get(..8).context("the commit has no name")?;
        let begin = format!("plimsoll {} ({commit}, ", self.about.version);
        ensure!(said.starts_with(&begin), "`plimsoll --version` says {said:?}, which does not begin with {begin:?}");
        self.write(LICENCES, licences::list(&self.copy.root)?)?;
        deb::documents(&program, &self.copy.root, &self.place.output.join(LICENCES))?;
        let work = self.copy.root.join("target").join("book-sources");
        book::build(&self.copy.root, &work, &deb::folder(&self.copy.root).join("book"))?;
        self.pack(own, &program)
    }

    /// Makes all of another platform; that of this machine is made already.
    pub(super) fn make_other(&self, platform: &Platform) -> Result<()> {
        self.pack(platform, &self.build(platform)?)
    }

    fn build(&self, platform: &Platform) -> Result<PathBuf> {
        println!("     building {}", platform.triple);
        release::build(&self.copy, platform, &self.place.home, &self.place.target)
    }

    /// The binary, and each form in which it is installed.
    fn pack(&self, platform: &Platform, program: &Path) -> Result<()> {
        let (about, epoch_s) = (&self.about, self.copy.epoch_s);
        let name = format!("plimsoll-{}-{}", about.version, platform.processor());
        let copied = self.place.output.join(&name);
        fs::copy(program, &copied).with_context(|| format!("writing {}", copied.display()))?;
        deb::pack(&self.copy, &self.place.target, platform, &self.place.output)?;
        wheel::pack(&self.copy, platform, &self.place.home, &self.place.target, &self.place.output)?;
        let package =
            npm::pack(platform, about, read(program)?, self.documents()?, epoch_s).context("the npm package")?;
        self.write(&npm::name(platform, about), package)?;
        let documents = self.documents()?.into_iter().chain(deb::written(&self.copy.root)?).collect();
        let archive = tarball::pack(platform, about, read(program)?, documents, epoch_s).context("the archive")?;
        self.write(&format!("{}{}", tarball::name(platform, about), tarball::EXTENSION), archive)?;
        self.write(&format!("{name}-image.tar"), self.image(platform, program)?)
    }

    /// Documents at the top of a package.
    fn documents(&self) -> Result<Vec<File>> {
        let sources = DOCUMENTS.iter().map(|name| self.copy.root.join(name));
        let all = sources.chain([self.place.output.join(LICENCES)]);
        all.map(|path| File::copy_into("", &path)).collect()
    }

    fn image(&self, platform: &Platform, program: &Path) -> Result<Vec<u8>> {
        let document = |folder: &Path, name: &str| File::copy_into("usr/share/doc/plimsoll/", &folder.join(name));
        let sources = &self.copy.root;
        let files = [
            File::program("usr/bin/plimsoll", read(program)?),
            document(sources, "LICENSE-APACHE")?,
            document(sources, "LICENSE-MIT")?,
            document(&self.place.output, LICENCES)?,
        ];
        let image = Image {
            architecture: platform.architecture,
            version: &self.about.version,
            commit: &self.copy.commit,
            time: &self.copy.time,
            epoch_s: self.copy.epoch_s,
            files: &files,
        };
        image.tar().context("the image")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let path = self.place.output.join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))
    }

    /// Paths of all files that are made so far, by name.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let output = &self.place.output;
        let entries = fs::read_dir(output).with_context(|| format!("reading {}", output.display()))?;
        let mut paths = entries.map(|entry| Ok::<_, Error>(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    /// Writes the hashes of all files as `sha256sum --check` reads them, and returns them.
    pub(crate) fn write_sums(&self) -> Result<String> {
        let files = self.files()?;
        let names = files.iter().filter_map(|path| path.file_name());
        let sums = printed(Command::new("sha256sum").args(names).current_dir(&self.place.output))?;
        self.write(SUMS, format!("{sums}\n"))?;
        Ok(sums)
    }
}
