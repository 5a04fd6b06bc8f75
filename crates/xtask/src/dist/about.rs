//! What the package metadata say of the program: they are those of its manifest.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

/// The program in the words of its manifest.
pub(super) struct About {
    pub(super) version: String,
    pub(super) description: String,
    /// An SPDX expression.
    pub(super) licence: String,
}

impl About {
    /// Reads the manifest of `plimsoll` in a copy of the repository.
    pub(super) fn read(repository: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new().current_dir(repository).no_deps().exec()?;
        let package = metadata.packages.into_iter().find(|package| package.name == "plimsoll");
        let package = package.context("there is no crate plimsoll")?;
        Ok(Self {
            version: package.version.to_string(),
            description: package.description.context("plimsoll has no description")?,
            licence: package.license.context("plimsoll names no licence")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::About;
    use xtask::workspace;

    #[test]
    fn the_manifest_has_all_that_packages_say() {
        let about = About::read(&workspace::root()).unwrap();
        assert_eq!(about.licence, "MIT OR Apache-2.0");
        assert!(about.version.starts_with(char::is_numeric) && about.description.len() < 100, "{}", about.description);
    }
}
