//! `cargo xtask book`: the pages as a book in `target/book`, made by mdBook, whose search needs no network.

mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{snapshot, tools};
use xtask::workspace;

/// The list of chapters.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
/// Settings of mdBook.
const SETTINGS: &str = "docs/book.toml";
/// What the book consists of beside the folder [`DOCS`]: the first and the last chapter.
const PAGES: [&str; 2] = ["README.md", "ARCHITECTURE.md"];
const DOCS: &str = "docs";

const TOOL: &str = "mdbook";
const TOOL_VERSION: &str = "0.5.4";
/// Its own web server and its watch for changes are left out.
const TOOL_FEATURES: [&str; 3] = ["--no-default-features", "--features", "search"];

/// Makes the book of the pages as they are now.
pub(crate) fn run() -> Result<()> {
    let target = std::path::absolute(workspace::target()).context("the target folder")?;
    let book = target.join("book");
    build(&workspace::root(), &target.join("book-sources"), &book)?;
    println!("     written: {}", book.join("index.html").display());
    Ok(())
}

/// Makes the book of a copy of the repository. All links between its pages lead to something.
pub(crate) fn build(repository: &Path, work: &Path, book: &Path) -> Result<()> {
    let tool = tools::compiled_with(TOOL, TOOL_VERSION, &TOOL_FEATURES)?;
    stage(repository, work)?;
    snapshot::clear(book)?;
    workspace::run(Command::new(tool.join(TOOL)).arg("build").arg(work).arg("--dest-dir").arg(book))?;
    links::check(book)
}

/// Lays out the sources as mdBook takes them: all chapters below one folder, which holds nothing else.
fn stage(repository: &Path, work: &Path) -> Result<()> {
    snapshot::clear(work)?;
    let sources = work.join("src");
    copy_folder(&repository.join(DOCS), &sources.join(DOCS))?;
    for page in PAGES {
        copy(&repository.join(page), &sources.join(page))?;
    }
    fs::rename(sources.join(SETTINGS), work.join("book.toml")).context("the settings of the book")?;
    let summary = fs::read_to_string(sources.join(SUMMARY)).context("the list of chapters")?;
    fs::write(sources.join("SUMMARY.md"), from_root(&summary)).context("writing the list of chapters")?;
    fs::remove_file(sources.join(SUMMARY)).context("removing the other list of chapters")
}

/// The list of chapters with its links from the folder above, where it is for mdBook.
fn from_root(summary: &str) -> String {
    summary.replace("](", &format!("]({DOCS}/")).replace(&format!("]({DOCS}/../"), "](")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    for path in entries(from)? {
        let copied = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy_folder(&path, &copied)? } else { copy(&path, &copied)? }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

/// Paths of what is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::{from_root, stage};
    use std::fs;
    use xtask::workspace;

    #[test]
    fn chapters_are_named_from_the_folder_above() {
        let summary = "[plimsoll](../README.md)\n- [Guide](guide/README.md)\n";
        assert_eq!(from_root(summary), "[plimsoll](README.md)\n- [Guide](docs/guide/README.md)\n");
    }

    #[test]
    fn each_chapter_is_there_when_the_sources_are_laid_out() {
        let work = tempfile::tempdir().unwrap();
        stage(&workspace::root(), work.path()).unwrap();
        let sources = work.path().join("src");
        let summary = fs::read_to_string(sources.join("SUMMARY.md")).unwrap();
        let chapters: Vec<&str> = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(chapters.len() > 50, "{chapters:?}");
        assert!(chapters.iter().all(|chapter| sources.join(chapter).is_file()), "{chapters:?}");
        assert!(work.path().join("book.toml").is_file() && !sources.join("docs/SUMMARY.md").exists());
    }
}
