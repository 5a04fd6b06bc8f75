//! Marks: comments in front of a block that say where its text comes from.

use super::excerpt::Excerpt;
use super::shell::split_unquoted;
use super::terminal::Width;
use anyhow::{Context, Result, bail};

/// One comment in front of a block. All of them are for that block alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// `<!-- sample: COMMAND -->`: the block is the output of this command. `sample lines 1, "goodput":` and
    /// `sample until "TEXT":` shorten it, `wide` before these makes the terminal wider.
    Sample {
        /// As it stands in an `sh` block of the page.
        command: String,
        /// Of the terminal on which it is run.
        width: Width,
        /// What is shown of its output.
        excerpt: Excerpt,
    },
    /// `<!-- server: COMMAND -->`: this server is started first, and ended afterwards.
    Server(String),
    /// `<!-- beside: COMMAND -->`: this program runs beside the command, to disturb it for example.
    Beside(String),
    /// `<!-- first: COMMAND -->`: this command is run first, in the same directory.
    First(String),
    /// `<!-- file: NAME -->`: the block is a file that commands of the page read.
    File(String),
}

impl Mark {
    /// The mark that a line is; none if the line is no comment.
    pub(super) fn parse(line: &str) -> Result<Option<Self>> {
        let Some(inside) = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) else { return Ok(None) };
        let head = split_unquoted(inside, ":")[0];
        let value = inside.get(head.len() + 1..).map(str::trim).filter(|value| !value.is_empty());
        let value = value.with_context(|| format!("a mark without a command or a name: {line}"))?.to_owned();
        let (kind, how) = head.trim().split_once(' ').unwrap_or_else(|| (head.trim(), ""));
        Ok(Some(match (kind, how) {
            ("sample", how) => {
                let (width, how) = how.strip_prefix("wide").map_or((Width::Usual, how), |how| (Width::Wide, how));
                let excerpt = Excerpt::parse(how).with_context(|| format!("in the mark {line}"))?;
                Self::Sample { command: value, width, excerpt }
            }
            ("server", "") => Self::Server(value),
            ("beside", "") => Self::Beside(value),
            ("first", "") => Self::First(value),
            ("file", "") => Self::File(value),
            _ => bail!("unknown mark {line}: write sample, server, beside, first or file before the colon"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Excerpt, Mark, Width};

    #[test]
    fn a_mark_says_how_its_block_is_made() {
        let mark = |line: &str| Mark::parse(line).unwrap().unwrap();
        let sample = |command: &str, width, excerpt| Mark::Sample { command: command.into(), width, excerpt };
        let whole = sample("plimsoll run http://a/", Width::Usual, Excerpt::Whole);
        assert_eq!(mark("<!-- sample: plimsoll run http://a/ -->"), whole);
        let until = Excerpt::Until("at: b".into());
        let sweep = sample("plimsoll sweep", Width::Wide, until);
        assert_eq!(mark("<!-- sample wide until \"at: b\": plimsoll sweep -->"), sweep);
        assert_eq!(mark("<!-- sample wide: plimsoll sweep -->"), sample("plimsoll sweep", Width::Wide, Excerpt::Whole));
        assert_eq!(mark("<!-- server: plimsoll target -->"), Mark::Server("plimsoll target".into()));
        assert_eq!(mark("<!-- file: mix.txt -->"), Mark::File("mix.txt".into()));
        assert!(Mark::parse("A text: with a colon").unwrap().is_none());
    }

    #[test]
    fn a_mark_that_is_misspelt_is_an_error() {
        let error = |line: &str| format!("{:#}", Mark::parse(line).unwrap_err());
        assert!(error("<!-- smaple: plimsoll run -->").starts_with("unknown mark"));
        assert!(error("<!-- sample: -->").starts_with("a mark without a command"));
        assert!(error("<!-- sample -->").starts_with("a mark without a command"));
        assert!(error("<!-- sample lines one: plimsoll run -->").contains("one"));
    }
}
