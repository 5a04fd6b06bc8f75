//! Excerpts: the lines of an output that a sample shows. What is left out between them, or at the end, is a line `...`.

use super::shell::split_unquoted;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;

/// Stands for lines that are left out.
const LEFT_OUT: &str = "...";

/// Which lines are shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excerpt {
    /// All of them.
    Whole,
    /// `until "TEXT"`: those before the first one that begins with this.
    Until(String),
    /// `lines 1, "goodput", 10-14`: these.
    Lines(Vec<Choice>),
}

/// Lines that an excerpt chooses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// A line by its number, which counts from 1, with the indented lines that continue it.
    Line(usize),
    /// All lines from the first number to the second one.
    Range(usize, usize),
    /// The first line that begins with this text, or whose second word it is (as a rule is in a finding), and the indented
    /// lines that continue it.
    Beginning(String),
}

impl Excerpt {
    /// What stands behind `sample` in a mark.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.trim().split_once(' ') {
            None if text.trim().is_empty() => Ok(Self::Whole),
            Some(("until", text)) => Ok(Self::Until(quoted(text)?)),
            Some(("lines", text)) => {
                split_unquoted(text, ",").into_iter().map(Choice::parse).collect::<Result<_>>().map(Self::Lines)
            }
            _ => bail!("`{text}` is no excerpt: write lines 1-14, lines 1, \"goodput\" or until \"TEXT\""),
        }
    }

    /// These lines of an output.
    pub(super) fn of(&self, output: &str) -> Result<String> {
        let lines: Vec<&str> = output.lines().collect();
        let shown: BTreeSet<usize> = match self {
            Self::Whole => (0..lines.len()).collect(),
            Self::Until(text) => (0..first(&lines, text)?).collect(),
            Self::Lines(choices) => {
                let chosen: Result<Vec<BTreeSet<usize>>> = choices.iter().map(|choice| choice.of(&lines)).collect();
                chosen?.into_iter().flatten().collect()
            }
        };
        Ok(joined(&lines, &shown))
    }
}

impl Choice {
    fn parse(text: &str) -> Result<Self> {
        let number = |text: &str| -> Result<usize> {
            let number = text.trim().parse().with_context(|| format!("`{text}` is no number of a line"))?;
            ensure!(number > 0, "lines count from 1");
            Ok(number)
        };
        let text = text.trim();
        if text.starts_with('"') {
            return quoted(text).map(Self::Beginning);
        }
        match text.split_once('-') {
            Some((from, to)) => Ok(Self::Range(number(from)?, number(to)?)),
            None => number(text).map(Self::Line),
        }
    }

    /// Numbers of its lines, which count from 0.
    fn of(&self, lines: &[&str]) -> Result<BTreeSet<usize>> {
        let line = match self {
            Self::Range(from, to) => return Ok((from - 1..(*to).min(lines.len())).collect()),
            Self::Line(number) => number - 1,
            Self::Beginning(text) => first(lines, text)?,
        };
        ensure!(line < lines.len(), "the output has no line {}", line + 1);
        let more = lines[line + 1..].iter().take_while(|line| line.starts_with(' ')).count();
        Ok((line..=line + more).collect())
    }
}

/// The first line that begins with a text, or whose second word it is.
fn first(lines: &[&str], text: &str) -> Result<usize> {
    let begins = |line: &&str| line.starts_with(text) || line.split_whitespace().nth(1) == Some(text);
    lines.iter().position(begins).with_context(|| format!("no line of the output begins with \"{text}\""))
}

fn quoted(text: &str) -> Result<String> {
    let inside = text.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.map(str::to_owned).with_context(|| format!("`{text}` does not stand in double quotes"))
}

fn joined(lines: &[&str], shown: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let mut next = 0;
    // The end of the output closes the last gap.
    for number in shown.iter().copied().chain([lines.len()]) {
        let gap = &lines[next.min(number)..number];
        if gap.iter().any(|line| !line.is_empty()) {
            text.push_str(&format!("{LEFT_OUT}\n"));
        } else if number < lines.len() {
            text.push_str(&"\n".repeat(gap.len()));
        }
        if let Some(line) = lines.get(number) {
            text.push_str(&format!("{line}\n"));
        }
        next = number + 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Excerpt;

    const OUTPUT: &str = "VALID  all checks passed\n       as said\ngoodput 5/s\n\nlimiter none\nload 1\n\nNOTE EN-03 busy\n     \
                          -> wait\n\nrecord: a\n";

    fn shown(excerpt: &str) -> String {
        Excerpt::parse(excerpt).unwrap().of(OUTPUT).unwrap()
    }

    #[test]
    fn an_excerpt_has_a_line_for_what_it_leaves_out() {
        assert_eq!(shown(""), OUTPUT);
        assert_eq!(shown("until \"limiter\""), "VALID  all checks passed\n       as said\ngoodput 5/s\n\n...\n");
        assert_eq!(shown("lines 2-3"), "...\n       as said\ngoodput 5/s\n...\n");
        assert_eq!(shown("lines 8-99"), "...\nNOTE EN-03 busy\n     -> wait\n\nrecord: a\n");
    }

    #[test]
    fn a_line_comes_with_those_that_continue_it() {
        assert_eq!(shown("lines 1, \"load\""), "VALID  all checks passed\n       as said\n...\nload 1\n...\n");
        assert_eq!(
            shown("lines \"EN-03\", \"goodput\""),
            "...\ngoodput 5/s\n...\nNOTE EN-03 busy\n     -> wait\n...\n"
        );
    }

    /// Blank lines alone are nothing that is left out.
    #[test]
    fn a_gap_of_blank_lines_stays_one() {
        assert_eq!(shown("lines \"goodput\", \"limiter\""), "...\ngoodput 5/s\n\nlimiter none\n...\n");
    }

    #[test]
    fn a_line_that_the_output_does_not_have_is_an_error() {
        let error = |text: &str| Excerpt::parse(text).unwrap().of(OUTPUT).unwrap_err().to_string();
        assert_eq!(error("lines \"knee\""), "no line of the output begins with \"knee\"");
        assert_eq!(error("lines 12"), "the output has no line 12");
        assert!(Excerpt::parse("lines 0").is_err() && Excerpt::parse("some").is_err());
    }
}
