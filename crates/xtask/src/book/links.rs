//! Links of the finished book: a page is named otherwise there than in the repository, so they are looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use super::entries;

/// Attributes with an address.
const ADDRESSES: [&[u8]; 2] = [b"href", b"src"];

/// Fails if a page of the book has an address within the book where nothing is.
pub(super) fn check(book: &Path) -> Result<()> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    let dead = dead(book, &pages);
    match dead.as_slice() {
        [] => Ok(()),
        [first, others @ ..] => bail!("the book has a dead link: {first} (and {} more)", others.len()),
    }
}

/// A page of the book.
#[derive(Debug, Default)]
struct Page {
    addresses: Vec<String>,
    /// Places in it that an address can name after `#`.
    ids: BTreeSet<String>,
}

/// Reads all pages below a folder.
fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    for path in entries(folder)? {
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            pages.insert(path, Page::read(&text));
        }
    }
    Ok(())
}

/// Addresses where nothing is, each with its page.
fn dead(book: &Path, pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let mut dead = Vec::new();
    for (path, page) in pages {
        for address in page.addresses.iter().filter(|address| is_internal(address)) {
            let (file, id) = address.split_once('#').unwrap_or((address, ""));
            let target = if file.is_empty() { path.clone() } else { normal(&path.parent().unwrap_or(book).join(file)) };
            let is_there = match pages.get(&target) {
                Some(page) => id.is_empty() || page.ids.contains(id),
                None => target.is_file() && target.starts_with(book),
            };
            if !is_there {
                let page = path.strip_prefix(book).unwrap_or(path);
                dead.push(format!("{address} in {}", page.display()));
            }
        }
    }
    dead
}

fn is_internal(address: &str) -> bool {
    !address.contains("://") && !["mailto:", "data:", "javascript:"].iter().any(|scheme| address.starts_with(scheme))
}

/// A path without `..`: the parts of a book are no links of the file system.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            _ => normal.push(part),
        }
    }
    normal
}

impl Page {
    fn read(html: &str) -> Self {
        let mut page = Self::default();
        let mut emitter = DefaultEmitter::default();
        // What a script has of angle brackets are no tags.
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
            if let Token::StartTag(tag) = token {
                page.add(&tag);
            }
        }
        page
    }

    fn add(&mut self, tag: &StartTag<()>) {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let value = |name: &[u8]| tag.attributes.get(name).map(|value| text(value));
        self.addresses.extend(ADDRESSES.into_iter().filter_map(value));
        self.ids.extend(value(b"id"));
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use std::fs;

    /// What is wrong with a book of two pages, one of which has this link.
    fn wrong(link: &str) -> Option<String> {
        let book = tempfile::tempdir().unwrap();
        fs::create_dir(book.path().join("guide")).unwrap();
        fs::write(
            book.path().join("index.html"),
            "<h1 id='plimsoll'>plimsoll</h1><script>x = '<a href=nowhere>'</script>",
        )
        .unwrap();
        fs::write(book.path().join("book.js"), "x = 1").unwrap();
        fs::write(book.path().join("guide/a.html"), format!("<p><a href=\"{link}\">a</a></p>")).unwrap();
        check(book.path()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_dead_link_of_the_book_is_named_with_its_page() {
        for link in ["../index.html", "../index.html#plimsoll", "../book.js", "https://example.org/x", "a.html"] {
            assert_eq!(wrong(link), None, "{link}");
        }
        let told = "the book has a dead link: ../README.html in guide/a.html (and 0 more)";
        assert_eq!(wrong("../README.html").as_deref(), Some(told));
        assert!(wrong("../index.html#nothing").is_some());
        assert!(wrong("../../Cargo.toml").is_some(), "it leads out of the book");
    }
}
