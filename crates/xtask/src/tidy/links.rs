//! Links between pages: each leads to a file that exists and, with a fragment, to a heading of that page. Each page is a
//! chapter of the book.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::Violation;
use crate::book::SUMMARY;

/// Fails on a link to a file that does not exist, and on one to a heading that its page does not have.
///
/// `sources` are (path, text) of the whole repository; `is_file` tells whether a path from its root is one of any other file.
pub(super) fn resolve(sources: &[(String, String)], is_file: impl Fn(&str) -> bool) -> Vec<Violation> {
    let pages: BTreeMap<&str, Page> = sources
        .iter()
        .filter(|(path, _)| is_page(path))
        .map(|(path, text)| (path.as_str(), Page::read(text)))
        .collect();
    let mut violations = Vec::new();
    for (path, page) in &pages {
        for (line, link) in &page.links {
            let mut broken = |message: String| violations.push(Violation::new(path, *line, message));
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let Some(target) = joined(path, file) else {
                broken(format!("the link {link} leads out of the repository"));
                continue;
            };
            if target == SUMMARY {
                broken(format!("the link {link} leads to the list of chapters, which is no page of the book"));
            }
            match pages.get(target.as_str()) {
                Some(page) if !heading.is_empty() && !page.headings.contains(heading) => {
                    broken(format!("the link {link} leads to a heading that {target} does not have"));
                }
                None if !is_file(&target) => broken(format!("the link {link} leads to {target}, which does not exist")),
                _ => {}
            }
        }
    }
    violations
}

/// Fails on a page that is no chapter of the book, and on one that is a chapter twice.
pub(super) fn chapters(sources: &[(String, String)]) -> Vec<Violation> {
    let Some((_, summary)) = sources.iter().find(|(path, _)| path == SUMMARY) else { return Vec::new() };
    let mut chapters: BTreeMap<String, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for (line, link) in Page::read(summary).links {
        let Some(path) = joined(SUMMARY, &link) else { continue };
        if chapters.insert(path.clone(), line).is_some() {
            violations.push(Violation::new(SUMMARY, line, format!("{path} is a chapter twice")));
        }
    }
    let pages = sources.iter().map(|(path, _)| path).filter(|path| is_page(path) && *path != SUMMARY);
    let forgotten = pages.filter(|path| !chapters.contains_key(*path));
    violations
        .extend(forgotten.map(|path| Violation::new(path, 0, format!("the page is no chapter: add it to {SUMMARY}"))));
    violations
}

/// True for the pages that users and developers read, wherever they are shown.
fn is_page(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
}

/// The path from the root of the repository that a link of a page names; `None` if it leads out of the repository.
fn joined(page: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What a page has of links and of places to link to.
struct Page {
    /// Number of the line, and the link as it is written; links to other sites are left out.
    links: Vec<(usize, String)>,
    /// Fragments by which browsers find the headings.
    headings: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), headings: BTreeSet::new() };
        let mut heading: Option<String> = None;
        for (event, place) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) if !is_external(&dest_url) => {
                    page.links.push((text[..place.start].lines().count().max(1), dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => page.add_heading(&heading.take().unwrap_or_default()),
                _ => {}
            }
        }
        page
    }

    /// The second of two headings with the same words has a number.
    fn add_heading(&mut self, words: &str) {
        let id = fragment(words);
        let numbered = (1..).map(|number| format!("{id}-{number}"));
        let free = std::iter::once(id.clone()).chain(numbered).find(|id| !self.headings.contains(id));
        self.headings.extend(free);
    }
}

fn is_external(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// The fragment of a heading, as mdBook and the sites that show repositories make it.
fn fragment(words: &str) -> String {
    let kept = words.trim().chars().filter(|c| c.is_alphanumeric() || c.is_whitespace() || ['-', '_'].contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c.is_whitespace() { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Page, chapters, fragment, joined, resolve};

    fn sources(pages: &[(&str, &str)]) -> Vec<(String, String)> {
        pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn broken(link: &str) -> Vec<String> {
        let page = format!("# A\n\n| a |\n| --- |\n| see [it]({link}) |\n");
        let pages = sources(&[
            ("docs/guide/a.md", &page),
            ("docs/SUMMARY.md", "# Summary\n"),
            ("docs/guide/b.md", "# Exit codes\n\n## `run`: what happens\n\n## Result\n\n## Result\n"),
        ]);
        let found = resolve(&pages, |path| path == "docs/images/sweep.png");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_to_a_page_or_a_picture_that_does_not_exist_is_dead() {
        for link in ["b.md", "./b.md", "../guide/b.md", "../images/sweep.png", "https://example.org/c.md", "#a"] {
            assert!(broken(link).is_empty(), "{link}");
        }
        let told = "docs/guide/a.md:5: the link c.md leads to docs/guide/c.md, which does not exist";
        assert_eq!(broken("c.md"), [told]);
        let told = "docs/guide/a.md:5: the link ../../../c.md leads out of the repository";
        assert_eq!(broken("../../../c.md"), [told]);
        let told =
            "docs/guide/a.md:5: the link ../SUMMARY.md leads to the list of chapters, which is no page of the book";
        assert_eq!(broken("../SUMMARY.md"), [told]);
    }

    #[test]
    fn a_link_to_a_heading_that_the_page_does_not_have_is_dead() {
        for link in ["b.md#exit-codes", "b.md#run-what-happens", "b.md#result", "b.md#result-1"] {
            assert!(broken(link).is_empty(), "{link}");
        }
        let told = "docs/guide/a.md:5: the link b.md#results leads to a heading that docs/guide/b.md does not have";
        assert_eq!(broken("b.md#results"), [told]);
        assert_eq!(broken("#b").len(), 1);
    }

    #[test]
    fn a_page_that_is_no_chapter_is_forgotten() {
        let summary = "# Summary\n\n[plimsoll](../README.md)\n\n- [A](guide/a.md)\n";
        let pages = [("README.md", "# plimsoll\n"), ("docs/guide/a.md", "# A\n"), ("docs/SUMMARY.md", summary)];
        assert_eq!(chapters(&sources(&pages)), []);
        let more = sources(&[&pages[..], &[("docs/lab/b.md", "# B\n"), ("crates/x/notes.md", "")]].concat());
        let told: Vec<String> = chapters(&more).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["docs/lab/b.md:0: the page is no chapter: add it to docs/SUMMARY.md"]);
        let twice = format!("{summary}- [A](guide/a.md)\n");
        let told = chapters(&sources(&[pages[0], pages[1], ("docs/SUMMARY.md", &twice)]));
        assert_eq!(told[0].to_string(), "docs/SUMMARY.md:6: docs/guide/a.md is a chapter twice");
    }

    #[test]
    fn links_in_code_are_none_and_headings_have_the_fragments_of_browsers() {
        assert!(Page::read("`[a](b.md)`\n\n```text\n[a](b.md)\n```\n").links.is_empty());
        assert_eq!(fragment("CL-01 client-saturated"), "cl-01-client-saturated");
        assert_eq!(fragment("The server's machine"), "the-servers-machine");
        assert_eq!(fragment("Fields of `run.json`"), "fields-of-runjson");
        assert_eq!(joined("README.md", "docs/a.md").as_deref(), Some("docs/a.md"));
    }
}
