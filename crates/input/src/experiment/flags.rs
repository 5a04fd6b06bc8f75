//! Flags in an experiment: named as on the command line, each with its place.

use super::place::Places;
use super::tree::{Entry, Node, Value};
use super::{FlagShape, Takes, VerbFlags};
use crate::InputError;
use model::meant;

/// A flag of the file.
#[derive(Clone, Debug)]
pub(super) struct Flag {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) values: Values,
}

/// What a flag was given.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Switch(bool),
    /// Texts with their places.
    Texts(Vec<(String, usize)>),
}

impl Flag {
    /// A flag and its value or values.
    pub(super) fn read(entry: &Entry, places: &Places<'_>) -> Result<Self, InputError> {
        let values = match &entry.node.value {
            Value::Switch(is_on) => Values::Switch(*is_on),
            Value::List(list) if list.is_empty() => {
                return Err(places.error(entry.node.at, &format!("{:?} is empty; leave it out", entry.key)));
            }
            Value::List(list) => {
                Values::Texts(list.iter().map(|node| text(&entry.key, node, places)).collect::<Result<_, _>>()?)
            }
            _ => Values::Texts(vec![text(&entry.key, &entry.node, places)?]),
        };
        Ok(Self { name: entry.key.clone(), at: entry.at, values })
    }

    /// Fails unless it is a flag of `verb` and takes what it was given.
    pub(super) fn check(&self, verb: &VerbFlags, places: &Places<'_>) -> Result<(), InputError> {
        let Some(shape) = verb.flags.iter().find(|flag| flag.name == self.name) else {
            return Err(places.error(self.at, &unknown(&self.name, verb)));
        };
        let name = &self.name;
        let wrong = match (&self.values, shape.takes) {
            (Values::Switch(_), Takes::Nothing) | (Values::Texts(_), Takes::Many) => return Ok(()),
            (Values::Texts(texts), Takes::One) if texts.len() == 1 => return Ok(()),
            (Values::Switch(_), _) => format!("{name:?} takes a value, as --{name} of plimsoll {}", verb.name),
            (Values::Texts(_), Takes::Nothing) => format!("{name:?} is true or false"),
            (Values::Texts(_), Takes::One) => {
                format!("{name:?} takes one value; to compare several, make them [variants] or [[loads]]")
            }
        };
        Err(places.error(self.at, &wrong))
    }

    /// The texts in it.
    pub(super) fn texts(&self) -> impl Iterator<Item = &(String, usize)> {
        match &self.values {
            Values::Switch(_) => [].iter(),
            Values::Texts(texts) => texts.iter(),
        }
    }
}

/// A single value as a text, as it would be typed.
pub(super) fn text(key: &str, node: &Node, places: &Places<'_>) -> Result<(String, usize), InputError> {
    match &node.value {
        Value::Text(text) | Value::Number(text) => Ok((text.clone(), node.at)),
        Value::Switch(is_on) => Ok((is_on.to_string(), node.at)),
        other => Err(places.error(node.at, &format!("{key:?} is {}, and takes text or a number", other.kind()))),
    }
}

fn unknown(name: &str, verb: &VerbFlags) -> String {
    let known = verb.flags.iter().map(|flag| flag.name.as_str());
    let by_letter = |flag: &&FlagShape| flag.short.is_some_and(|short| name.chars().eq([short]));
    let meant = match verb.flags.iter().find(by_letter) {
        Some(flag) => Some(flag.name.as_str()),
        None => meant(name, known),
    };
    let hint = match (name, meant) {
        ("serve" | "url", _) => "; it stands at the top of the file, before all tables".to_owned(),
        ("json" | "output" | "quiet" | "verbose", _) => "; give it on the command line".to_owned(),
        (_, Some(meant)) => format!("; did you mean {meant:?}?"),
        (_, None) => format!("; plimsoll {} --help lists them", verb.name),
    };
    format!("{name:?} is no flag of plimsoll {}{hint}", verb.name)
}
