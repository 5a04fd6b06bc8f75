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
    pub(super) keywords: Vec<String>,
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
            keywords: package.keywords,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::About;
    use crate::release::FEATURES;
    use xtask::workspace;

    #[test]
    fn the_manifest_has_all_that_packages_say() {
        let about = About::read(&workspace::root()).unwrap();
        assert_eq!(about.licence, "MIT OR Apache-2.0");
        assert!(about.version.starts_with(char::is_numeric) && about.description.len() < 100, "{}", about.description);
        assert!(about.keywords.iter().any(|word| word == "benchmark"), "{:?}", about.keywords);
    }

    #[test]
    fn the_wheel_has_the_licence_of_the_manifest_and_the_features_of_a_release() {
        let project: toml::Table = workspace::read("pyproject.toml").unwrap().parse().unwrap();
        let about = About::read(&workspace::root()).unwrap();
        assert_eq!(project["project"]["license"].as_str(), Some(about.licence.as_str()));
        let features = project["tool"]["maturin"]["features"].as_array().unwrap();
        let features: Vec<String> =
            features.iter().map(|name| format!("plimsoll/{}", name.as_str().unwrap())).collect();
        assert_eq!(features.join(","), FEATURES[1]);
        let manifest = project["tool"]["maturin"]["manifest-path"].as_str().unwrap();
        assert!(workspace::root().join(manifest).is_file(), "{manifest}");
    }
}
