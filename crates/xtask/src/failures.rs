//! What failed in a run of many steps, with the command that runs each of them alone.

use std::fmt;

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// A step, or a test by its name.
    pub(crate) what: String,
    /// What runs it alone, as typed into a shell in the root of the repository.
    pub(crate) command: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, command: impl Into<String>) -> Self {
        Self { what: what.into(), command: command.into() }
    }
}

/// A list of them as it stands at the end of a run.
pub(crate) struct Listed<'a>(pub(crate) &'a [Failure]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        writeln!(f, "==== what failed, and the command that runs it alone")?;
        for Failure { what, command } in self.0 {
            writeln!(f, "{what}\n     {command}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Listed};

    #[test]
    fn each_failure_stands_with_its_command_and_none_is_no_list() {
        let failures =
            [Failure::new("fmt", "cargo fmt --all --check"), Failure::new("-p a --lib b", "cargo test -p a")];
        let listed = Listed(&failures).to_string();
        assert!(
            listed.ends_with("fmt\n     cargo fmt --all --check\n-p a --lib b\n     cargo test -p a\n"),
            "{listed}"
        );
        assert_eq!(Listed(&[]).to_string(), "");
    }
}
