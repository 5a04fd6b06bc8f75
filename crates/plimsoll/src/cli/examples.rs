//! Examples below the help of a verb: each command under a comment that says what it does.

use std::fmt::Write;

/// Examples that `-h` shows; `--help` shows all.
const IN_SHORT_HELP: usize = 2;

/// The examples of a verb: what a command does, and the command, which may go on in further lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Examples(pub(crate) &'static [(&'static str, &'static str)]);

impl Examples {
    /// The first of them, and where the others and all flags are explained.
    pub(crate) fn short(self, verb: &str) -> String {
        format!("{}\nplimsoll {verb} --help explains these flags, and has all flags and examples.", self.first())
    }

    /// The first of them.
    pub(crate) fn first(self) -> String {
        listed(&self.0[..self.0.len().min(IN_SHORT_HELP)])
    }

    /// All of them.
    pub(crate) fn full(self) -> String {
        listed(self.0)
    }

    /// All of them, and sections of text below.
    pub(crate) fn with(self, sections: &[&str]) -> String {
        sections.iter().fold(self.full(), |text, section| format!("{text}\n{section}"))
    }
}

fn listed(examples: &[(&str, &str)]) -> String {
    examples.iter().fold("Examples:\n".to_owned(), |mut text, (what, command)| {
        let command = command.replace('\n', "\n    ");
        let _ = writeln!(text, "  # {what}\n  {command}");
        text
    })
}
