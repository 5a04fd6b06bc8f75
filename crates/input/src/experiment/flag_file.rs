//! A file with the flags of one verb, which are read as those of an experiment.

use super::flags::{Flag, Values, text};
use super::place::Places;
use super::read::words;
use super::tree::{Entry, Value, parse};
use super::{Argument, VerbFlags};
use crate::InputError;

/// Servers and target, which are no flags in an experiment.
const SERVERS: [&str; 2] = ["serve", "url"];

/// The flags in a file, in its order.
#[derive(Clone, Debug)]
pub struct FlagFile {
    /// Flags with their values, and targets.
    pub arguments: Vec<Argument>,
    file: String,
    text: String,
}

impl FlagFile {
    /// Reads the `text` of `file`, which is only named: flags of `verb` as keys, `serve` and `url`.
    ///
    /// # Errors
    /// One line: place in the file, reason, and what was meant.
    pub fn parse(file: &str, text: &str, verb: &VerbFlags) -> Result<Self, InputError> {
        let places = Places { file, text };
        let mut arguments = Vec::new();
        for entry in parse(text, &places)? {
            arguments.extend(read(&entry, verb, &places)?);
        }
        Ok(Self { arguments, file: file.to_owned(), text: text.to_owned() })
    }

    /// The message at the place of the first flag that it names; none if it names none of the file.
    #[must_use]
    pub fn refusal(&self, message: &str) -> Option<InputError> {
        let names = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let mut flags = names.filter_map(|word| word.strip_prefix("--"));
        let named = flags.find_map(|flag| self.arguments.iter().find(|argument| argument.name == flag))?;
        let places = Places { file: &self.file, text: &self.text };
        Some(places.error(named.at, message.lines().next().unwrap_or_default()))
    }
}

/// The arguments of one key.
fn read(entry: &Entry, verb: &VerbFlags, places: &Places<'_>) -> Result<Vec<Argument>, InputError> {
    let argument = |words, at| Argument { name: entry.key.clone(), words, at };
    if SERVERS.contains(&entry.key.as_str()) {
        let nodes = match &entry.node.value {
            Value::List(list) => list.as_slice(),
            _ => std::slice::from_ref(&entry.node),
        };
        let texts = nodes.iter().map(|node| text(&entry.key, node, places)).collect::<Result<Vec<_>, _>>()?;
        let words = |text: String| if entry.key == "url" { vec![text] } else { words(&entry.key, &text) };
        return Ok(texts.into_iter().map(|(text, at)| argument(words(text), at)).collect());
    }
    let flag = Flag::read(entry, places)?;
    flag.check(verb, places)?;
    Ok(match &flag.values {
        Values::Switch(false) => Vec::new(),
        Values::Switch(true) => vec![argument(vec![format!("--{}", flag.name)], flag.at)],
        Values::Texts(texts) => texts.iter().map(|(text, at)| argument(words(&flag.name, text), *at)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{FlagShape, Takes};
    use super::*;

    fn read(text: &str) -> Result<FlagFile, String> {
        let flag = |name: &str, takes| FlagShape { name: name.into(), short: None, takes };
        let flags =
            vec![flag("duration", Takes::One), flag("header", Takes::Many), flag("no-keepalive", Takes::Nothing)];
        let verb = VerbFlags { name: "run".into(), flags, takes_all: false };
        FlagFile::parse("load.toml", text, &verb).map_err(|error| error.message)
    }

    #[test]
    fn keys_are_flags_and_servers() {
        let file = read("url = \"http://h/\"\nduration = \"5s\"\nheader = [\"A: b\", \"C: d\"]\nno-keepalive = true\n")
            .unwrap();
        let words: Vec<String> = file.arguments.iter().flat_map(|argument| argument.words.clone()).collect();
        let expected = ["http://h/", "--duration", "5s", "--header", "A: b", "--header", "C: d", "--no-keepalive"];
        assert_eq!(words, expected);
        assert!(read("no-keepalive = false\n").unwrap().arguments.is_empty());
    }

    #[test]
    fn errors_name_the_file_and_the_key() {
        let unknown = read("\ndurations = \"5s\"\n").unwrap_err();
        assert!(unknown.starts_with("load.toml:2:1: \"durations\" is no flag of plimsoll run"), "{unknown}");
        let file = read("duration = \"0s\"\n").unwrap();
        assert_eq!(
            file.refusal("--duration 0s is too short").unwrap().message,
            "load.toml:1:12: --duration 0s is too short"
        );
        assert!(file.refusal("--rate 5 is too low").is_none(), "it is no flag of the file");
    }
}
