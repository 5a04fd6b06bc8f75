//! What the shell of a host says before the agent begins, and after it has ended: lines that begin with [`MARK`], among whatever
//! its start files print.

use crate::checked;

/// Begin of lines that are meant for the coordinator.
pub const MARK: &str = "plimsoll-agent:";

/// The reason of a host that gives none.
const UNTOLD: &str = "its shell gives no reason";

/// What a host says before the agent begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// It wants the bytes of the program.
    Send,
    /// The agent follows.
    Go,
    /// It cannot be, for this reason, which is one short line.
    Error(String),
}

/// What a line of a host says, if it is meant for the coordinator.
#[must_use]
pub fn word(line: &str) -> Option<Word> {
    let text = line.trim_end().strip_prefix(MARK)?;
    match text {
        "send" => Some(Word::Send),
        "go" => Some(Word::Go),
        _ => {
            let why = text.strip_prefix("error").filter(|why| why.is_empty() || why.starts_with(' '))?;
            Some(Word::Error(
                Some(checked::text(why)).filter(|why| !why.is_empty()).unwrap_or_else(|| UNTOLD.to_owned()),
            ))
        }
    }
}

/// How the agent has ended, among the last that its shell said on standard error: its exit status, or 128 and the number of the
/// signal that ended it.
#[must_use]
pub fn ended(said: &str) -> Option<i32> {
    let of = |line: &str| line.trim().strip_prefix(MARK)?.strip_prefix("ended ")?.parse().ok();
    said.lines().rev().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_start_files_are_no_words() {
        assert_eq!(word("Welcome"), None);
        assert_eq!(word("plimsoll-agent:go\r\n"), Some(Word::Go));
        assert_eq!(word("plimsoll-agent:send"), Some(Word::Send));
        assert_eq!(word("plimsoll-agent:error no space"), Some(Word::Error("no space".into())));
    }

    #[test]
    fn the_reason_of_a_host_is_one_short_line_without_secrets() {
        let flood = format!("plimsoll-agent:error \u{1b}[2J token=s3cret {}", "x".repeat(60_000));
        let Some(Word::Error(why)) = word(&flood) else { panic!("no reason") };
        assert!(why.starts_with("[2J token=<redacted> x") && why.len() < 300, "{why}");
    }

    /// It was no word at all, and the coordinator waited for another.
    #[test]
    fn a_reason_without_text_is_a_reason() {
        for line in ["plimsoll-agent:error", "plimsoll-agent:error \r\n", "plimsoll-agent:error \u{1b}\0"] {
            assert_eq!(word(line), Some(Word::Error(UNTOLD.to_owned())), "{line:?}");
        }
        assert_eq!(word("plimsoll-agent:errors"), None);
    }

    #[test]
    fn the_end_of_the_agent_is_the_last_that_was_told() {
        assert_eq!(ended("x\nplimsoll-agent:ended 1\nKilled\n plimsoll-agent:ended 137\r\n"), Some(137));
        assert_eq!(ended("Killed\nplimsoll-agent:ended x\n"), None);
    }
}
