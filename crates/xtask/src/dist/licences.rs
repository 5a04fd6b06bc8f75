//! Licences of the crates that are linked into the binary: a list, and the texts that come with them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::platform::PLATFORMS;
use crate::release::FEATURES;

/// Begins of the names of files with a licence or what a licence wants to be passed on.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// The list of a workspace with `plimsoll`, for all platforms.
pub(super) fn list(workspace: &Path) -> Result<String> {
    let platforms = PLATFORMS.iter().map(|platform| format!("--filter-platform={}", platform.triple));
    let options: Vec<String> = ["--locked"].into_iter().chain(FEATURES).map(str::to_owned).chain(platforms).collect();
    let metadata = MetadataCommand::new().current_dir(workspace).other_options(options).exec()?;
    let linked = linked(&metadata, "plimsoll")?;
    Ok(render(&linked.into_iter().map(Linked::read).collect::<Result<Vec<_>>>()?))
}

/// Crates from elsewhere that a crate of the workspace is linked with, by name and version. Features that tests alone switch
/// on count: the list may have a crate too many, never one too few.
fn linked<'a>(metadata: &'a Metadata, name: &str) -> Result<Vec<&'a Package>> {
    let nodes = &metadata.resolve.as_ref().context("cargo metadata tells no dependencies")?.nodes;
    let root = metadata.packages.iter().find(|package| package.source.is_none() && package.name == name);
    let root = &root.with_context(|| format!("there is no crate {name}"))?.id;
    let (mut found, mut next) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = next.pop() {
        let node = nodes.iter().find(|node| node.id == *id);
        let is_linked =
            |kinds: &[cargo_metadata::DepKindInfo]| kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
        let used = node.into_iter().flat_map(|node| &node.deps).filter(|used| is_linked(&used.dep_kinds));
        next.extend(used.map(|used| &used.pkg).filter(|id| found.insert(*id)));
    }
    let is_linked = |package: &&Package| package.source.is_some() && found.contains(&package.id);
    let mut linked: Vec<&Package> = metadata.packages.iter().filter(is_linked).collect();
    linked.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    Ok(linked)
}

/// A crate in the binary.
struct Linked {
    /// Name and version.
    name: String,
    licence: String,
    repository: String,
    /// File and text.
    texts: Vec<(String, String)>,
}

impl Linked {
    fn read(package: &Package) -> Result<Self> {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let folder = package.manifest_path.parent().context("a manifest without a folder")?;
        Ok(Self {
            name: format!("{} {}", package.name, package.version),
            licence: known(&package.license),
            repository: known(&package.repository),
            texts: texts(folder.as_std_path())?,
        })
    }
}

/// Names and texts of the licences in a folder, by name.
fn texts(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && NAMES.iter().any(|begin| name.to_uppercase().starts_with(begin)) {
            let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            texts.push((name, normal(&String::from_utf8_lossy(&text))));
        }
    }
    texts.sort();
    Ok(texts)
}

/// A text without what is not seen: crates have the same licence with other ends of lines.
fn normal(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

/// The list, then each text once, below those that come with it.
fn render(crates: &[Linked]) -> String {
    let mut text =
        "Crates that the binary of plimsoll consists of, beside plimsoll itself, the standard library of Rust\n\
        (MIT OR Apache-2.0) and the C library musl (MIT). Name and version, licence, repository; then the texts.\n\n"
            .to_owned();
    for Linked { name, licence, repository, .. } in crates {
        let _ = writeln!(text, "{name}\t{licence}\t{repository}");
    }
    let mut sections: Vec<(&str, Vec<String>)> = Vec::new();
    for Linked { name, texts, .. } in crates {
        for (file, licence) in texts {
            let heading = format!("{name}: {file}");
            match sections.iter_mut().find(|(known, _)| known == licence) {
                Some((_, headings)) => headings.push(heading),
                None => sections.push((licence, vec![heading])),
            }
        }
    }
    for (licence, headings) in sections {
        let _ = write!(text, "\n{}\n{}\n\n{licence}\n", "=".repeat(80), headings.join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Linked, list, normal, render};
    use xtask::workspace;

    #[test]
    fn crates_in_the_binary_are_listed_and_others_are_not() {
        let text = list(&workspace::root()).unwrap();
        let listed = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name} ")) && line.contains('\t'));
        assert!(listed("ring") && listed("inferno") && listed("kube"), "{text:.2000}");
        assert!(text.contains("CDDL-1.0") && text.contains("Permission is hereby granted"));
        // One of tests, one of a build script, one of our own.
        for other in ["proptest", "cc", "model"] {
            assert!(!listed(other), "{other}");
        }
    }

    #[test]
    fn a_text_that_two_crates_have_stands_there_once() {
        let linked = |name: &str, text: &str| Linked {
            name: name.to_owned(),
            licence: "MIT".to_owned(),
            repository: "-".to_owned(),
            texts: vec![("LICENSE".to_owned(), normal(text))],
        };
        let text =
            render(&[linked("a 1.0.0", "Do.\r\n"), linked("b 2.0.0", "\nDo.  \n"), linked("c 3.0.0", "Do not.\n")]);
        assert!(text.contains("a 1.0.0\tMIT\t-\nb 2.0.0\tMIT\t-\nc 3.0.0\tMIT\t-\n"), "{text}");
        assert!(text.contains("a 1.0.0: LICENSE\nb 2.0.0: LICENSE\n\nDo.\n"), "{text}");
        assert_eq!(text.matches("Do.").count(), 1);
    }
}
