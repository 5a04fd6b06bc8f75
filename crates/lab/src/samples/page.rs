//! Pages of Markdown: their fenced blocks, with the marks in front of each.

use super::mark::Mark;
use super::shell;
use anyhow::{Context, Result};
use std::ops::Range;
use xtask::workspace;

/// Begins and ends a block.
const FENCE: &str = "```";

/// A page of the repository.
#[derive(Debug)]
pub struct Page {
    /// Path from the workspace root.
    pub path: String,
    /// The whole page.
    pub text: String,
}

/// A fenced block.
#[derive(Debug)]
pub struct Block<'a> {
    /// What stands behind the first fence, such as `sh`.
    pub language: &'a str,
    /// What stands between the fences.
    pub text: String,
    /// Where these lines are in the page, counted from 0.
    pub lines: Range<usize>,
    /// Comments in the lines in front of the block.
    pub marks: Vec<Mark>,
}

impl Page {
    /// The page at this path from the workspace root.
    pub(super) fn read(path: String) -> Result<Self> {
        Ok(Self { text: workspace::read(&path)?, path })
    }

    /// True if it is this path, or a file of this name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.path == name || self.path.rsplit('/').next() == Some(name)
    }

    /// All fenced blocks, in their order.
    ///
    /// # Errors
    /// When a comment in front of one is no [`Mark`], or a fence is not closed.
    pub fn blocks(&self) -> Result<Vec<Block<'_>>> {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let Some(language) = lines[at].strip_prefix(FENCE) else {
                at += 1;
                continue;
            };
            let begin = at + 1;
            let length = lines[begin..].iter().position(|line| *line == FENCE);
            let end = begin + length.with_context(|| format!("{}:{begin}: a block without its end", self.path))?;
            let marks = marks(&lines[..at]).with_context(|| format!("{}:{begin}", self.path))?;
            let text = lines[begin..end].iter().map(|line| format!("{line}\n")).collect();
            blocks.push(Block { language, text, lines: begin..end, marks });
            at = end + 1;
        }
        Ok(blocks)
    }

    /// The commands of its `sh` blocks, one line each, without comments.
    ///
    /// # Errors
    /// As of [`Self::blocks`].
    pub fn command_lines(&self) -> Result<Vec<String>> {
        let blocks = self.blocks()?;
        Ok(blocks.iter().filter(|block| block.language == "sh").flat_map(|sh| shell::command_lines(&sh.text)).collect())
    }

    /// Its text with other lines in the place of those of some blocks, which are in the order of the page.
    pub(super) fn with(&self, renewed: Vec<(Range<usize>, String)>) -> String {
        let mut lines: Vec<&str> = self.text.lines().collect();
        for (range, text) in renewed.iter().rev() {
            lines.splice(range.clone(), text.lines());
        }
        lines.join("\n") + "\n"
    }
}

/// The comments at the end of these lines.
fn marks(before: &[&str]) -> Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for line in before.iter().rev() {
        match Mark::parse(line)? {
            Some(mark) => marks.push(mark),
            None => break,
        }
    }
    marks.reverse();
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::Page;
    use crate::samples::Mark;

    const TEXT: &str = "# Page\n\n```sh\nplimsoll run\n```\n\n<!-- server: plimsoll target -->\n<!-- file: a -->\n\
                        ```text\nold\nlines\n```\n\nEnd.\n";

    fn page() -> Page {
        Page { path: "docs/guide/page.md".into(), text: TEXT.into() }
    }

    #[test]
    fn a_block_has_the_marks_that_stand_in_front_of_it() {
        let page = page();
        let blocks = page.blocks().unwrap();
        let seen: Vec<_> = blocks.iter().map(|block| (block.language, &block.text[..], block.marks.len())).collect();
        assert_eq!(seen, [("sh", "plimsoll run\n", 0), ("text", "old\nlines\n", 2)]);
        assert_eq!(blocks[1].marks[0], Mark::Server("plimsoll target".into()), "in their order");
        assert_eq!(page.command_lines().unwrap(), ["plimsoll run"]);
        assert!(page.is_called("page.md") && page.is_called("docs/guide/page.md") && !page.is_called("age.md"));
    }

    #[test]
    fn new_text_takes_the_place_of_that_of_a_block_and_nothing_else_changes() {
        let page = page();
        let lines = page.blocks().unwrap().remove(1).lines;
        assert_eq!(page.with(vec![(lines, "new\n".into())]), TEXT.replace("old\nlines\n", "new\n"));
        assert_eq!(page.with(Vec::new()), TEXT);
    }

    #[test]
    fn a_block_without_its_end_is_named() {
        let page = Page { path: "a.md".into(), text: "text\n```sh\nplimsoll run\n".into() };
        assert_eq!(page.blocks().unwrap_err().to_string(), "a.md:2: a block without its end");
    }
}
