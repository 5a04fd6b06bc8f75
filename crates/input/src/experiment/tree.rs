//! TOML as a tree whose keys and values know their place in the file.

use super::place::Places;
use crate::InputError;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, de::Error};

/// A value and where it begins; byte offset.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// An integer or a decimal fraction, in the digits of the file.
    Number(String),
    Switch(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// Of a kind that no key takes.
    Other(&'static str),
}

/// A key with its value, in the order of the file.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: usize,
    pub(super) node: Node,
}

impl Value {
    /// Its kind, as a message names it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Number(_) => "a number",
            Self::Switch(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

/// The entries of a file.
pub(super) fn parse(text: &str, places: &Places<'_>) -> Result<Vec<Entry>, InputError> {
    let table = DeTable::parse(text).map_err(|error| places.error(offset(&error), &message(&error)))?;
    Ok(entries(table.get_ref()))
}

fn offset(error: &Error) -> usize {
    error.span().map_or(0, |span| span.start)
}

fn message(error: &Error) -> String {
    format!("no TOML: {}", error.message().split_whitespace().collect::<Vec<_>>().join(" "))
}

fn entries(table: &DeTable<'_>) -> Vec<Entry> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        Entry { key: name.to_string(), at: key.span().start, node: node(value) }
    };
    let mut entries: Vec<Entry> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn node(value: &Spanned<DeValue<'_>>) -> Node {
    let kind = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => integer(number.as_str(), number.radix()),
        DeValue::Float(number) => fraction(number.as_str()),
        DeValue::Boolean(is_on) => Value::Switch(*is_on),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(list) => Value::List(list.iter().map(node).collect()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    Node { at: value.span().start, value: kind }
}

fn integer(digits: &str, radix: u32) -> Value {
    let digits = digits.replace('_', "");
    match i64::from_str_radix(&digits, radix) {
        Ok(number) => Value::Number(number.to_string()),
        Err(_) => Value::Other("a number of more than 64 bits"),
    }
}

fn fraction(digits: &str) -> Value {
    let digits = digits.replace('_', "");
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    if is_plain { Value::Number(digits) } else { Value::Other("a number with an exponent, inf or nan") }
}
