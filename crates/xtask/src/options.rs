//! Command-line options of a task: `--name VALUE` and `--flag`, nothing more.

use std::str::FromStr;

use anyhow::{Result, bail};

/// What was typed after the task's name, minus what the task has already taken.
pub(crate) struct Options {
    rest: Vec<String>,
}

impl Options {
    /// Takes the words after the task's name.
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        Self { rest: words.collect() }
    }

    /// Takes `--name VALUE` or `--name=VALUE`; `None` when it was not given.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let prefix = format!("{name}=");
        let Some(at) = self.rest.iter().position(|word| word == name || word.starts_with(&prefix)) else {
            return Ok(None);
        };
        let word = self.rest.remove(at);
        let text = match word.strip_prefix(&prefix) {
            Some(text) => text.to_owned(),
            None if at < self.rest.len() => self.rest.remove(at),
            None => bail!("{name} needs a value"),
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => bail!("{name}: cannot read `{text}`"),
        }
    }

    /// Takes `--name`; whether it was given.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|word| word != name);
        self.rest.len() < before
    }

    /// Refuses whatever no task has taken.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.rest.first() {
            Some(word) => bail!("unknown option `{word}`; `cargo xtask help` lists them"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn options(line: &str) -> Options {
        Options::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn values_are_taken_in_both_forms() {
        let mut options = options("--rounds 3 --seconds=7 --quick");
        assert_eq!(options.value::<u32>("--rounds").unwrap(), Some(3));
        assert_eq!(options.value::<u32>("--seconds").unwrap(), Some(7));
        assert_eq!(options.value::<u32>("--connections").unwrap(), None);
        assert!(options.flag("--quick"));
        assert!(options.finish().is_ok());
    }

    #[test]
    fn what_nobody_took_is_an_error() {
        assert!(options("--roundz 3").finish().is_err());
    }

    #[test]
    fn a_value_must_be_there_and_parse() {
        assert!(options("--rounds").value::<u32>("--rounds").is_err());
        assert!(options("--rounds many").value::<u32>("--rounds").is_err());
    }
}
