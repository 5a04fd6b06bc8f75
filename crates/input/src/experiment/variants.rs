//! Variants: a grid, whose values are combined, or a list.

use super::STEPS_MAX;
use super::fill::is_name;
use super::flags::text;
use super::place::{Places, hint};
use super::tree::{Entry, Value};
use crate::InputError;
use std::collections::BTreeMap;

/// Characters of a label.
const LABEL_MAX: usize = 200;

/// One variant.
#[derive(Clone, Debug, Default)]
pub(super) struct Variant {
    /// Empty where the file declares none.
    pub(super) label: String,
    pub(super) values: BTreeMap<String, String>,
    /// Label of the variant whose limiter predicts this one.
    pub(super) after: Option<String>,
    /// True if it is left out where this machine cannot measure it.
    pub(super) is_optional: bool,
}

/// All variants, and the names of their values with their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Variants {
    pub(super) all: Vec<Variant>,
    pub(super) names: Vec<(String, usize)>,
}

/// Reads `[variants.grid]` or `[[variants.list]]`.
pub(super) fn variants(entry: &Entry, places: &Places<'_>) -> Result<Variants, InputError> {
    let kinds = "write [variants.grid] with lists, or [[variants.list]] with a table for each";
    let Value::Table(entries) = &entry.node.value else { return Err(places.error(entry.at, kinds)) };
    let variants = match entries.as_slice() {
        [Entry { key, node, .. }] if key == "grid" => match &node.value {
            Value::Table(axes) => grid(axes, places)?,
            _ => return Err(places.error(node.at, kinds)),
        },
        [Entry { key, node, .. }] if key == "list" => match &node.value {
            Value::List(list) => listed(list.iter().map(|node| (node.at, &node.value)), places)?,
            _ => return Err(places.error(node.at, kinds)),
        },
        [first, ..] if !["grid", "list"].contains(&first.key.as_str()) => {
            let about = format!("unknown key {:?} in variants{}", first.key, hint(&first.key, &["grid", "list"]));
            return Err(places.error(first.at, &about));
        }
        [_, second, ..] => {
            return Err(places.error(second.at, "variants are a grid or a list, not both"));
        }
        _ => return Err(places.error(entry.at, kinds)),
    };
    match variants.all.is_empty() {
        true => Err(places.error(entry.at, "there is no variant in it; leave variants out to measure one server")),
        false => Ok(variants),
    }
}

/// The cartesian product: the last name changes fastest.
fn grid(axes: &[Entry], places: &Places<'_>) -> Result<Variants, InputError> {
    let mut all = vec![Variant::default()];
    let mut names = Vec::new();
    for axis in axes {
        let values = values(axis, places)?;
        names.push((axis.key.clone(), axis.at));
        if all.len() as u64 * values.len() as u64 > STEPS_MAX {
            return Err(places.error(axis.at, &format!("the grid has more than {STEPS_MAX} variants")));
        }
        let with = |variant: &Variant, value: &String| {
            let mut values = variant.values.clone();
            values.insert(axis.key.clone(), value.clone());
            let label = format!("{} {}={value}", variant.label, axis.key).trim_start().to_owned();
            Variant { label, values, ..Variant::default() }
        };
        all = all.iter().flat_map(|variant| values.iter().map(move |value| with(variant, value))).collect();
    }
    if axes.is_empty() {
        all.clear();
    }
    let at = axes.first().map_or(0, |axis| axis.at);
    all.iter().try_for_each(|variant| plain("variant", &variant.label, at, places))?;
    Ok(Variants { all, names })
}

/// The values of a name in a grid, each once.
fn values(axis: &Entry, places: &Places<'_>) -> Result<Vec<String>, InputError> {
    name(axis, places)?;
    let Value::List(list) = &axis.node.value else {
        let about = format!("{:?} of a grid takes a list, such as {} = [1, 2]", axis.key, axis.key);
        return Err(places.error(axis.node.at, &about));
    };
    let mut values: Vec<String> = Vec::new();
    for node in list {
        let (value, at) = text(&axis.key, node, places)?;
        plain(&axis.key, &value, at, places)?;
        if values.contains(&value) {
            return Err(places.error(at, &format!("{:?} has {value:?} twice", axis.key)));
        }
        values.push(value);
    }
    match values.is_empty() {
        true => Err(places.error(axis.node.at, &format!("{:?} has no value", axis.key))),
        false => Ok(values),
    }
}

/// Variants one by one; `name` is what each is called, `after` which stands before it, and `optional` whether it may be
/// left out.
fn listed<'a>(list: impl Iterator<Item = (usize, &'a Value)>, places: &Places<'_>) -> Result<Variants, InputError> {
    let mut variants = Variants::default();
    for (at, table) in list {
        let Value::Table(entries) = table else { return Err(places.error(at, "a variant is a table of values")) };
        let mut variant = Variant::default();
        let mut words = Vec::new();
        for entry in entries {
            match (entry.key.as_str(), &entry.node.value) {
                ("optional", Value::Switch(is_optional)) => {
                    variant.is_optional = *is_optional;
                    continue;
                }
                ("optional", _) => return Err(places.error(entry.node.at, "\"optional\" is true or false")),
                ("after", _) => {
                    variant.after = Some(before(entry, &variants, places)?);
                    continue;
                }
                _ => name(entry, places)?,
            }
            let (value, value_at) = text(&entry.key, &entry.node, places)?;
            plain(&entry.key, &value, value_at, places)?;
            words.push(format!("{}={value}", entry.key));
            if entry.key != "name" && !variants.names.iter().any(|(known, _)| *known == entry.key) {
                variants.names.push((entry.key.clone(), entry.at));
            }
            variant.values.insert(entry.key.clone(), value);
        }
        let named = variant.values.get("name").cloned();
        variant.label = named.unwrap_or_else(|| words.join(" "));
        if variants.all.iter().any(|other| other.label == variant.label) {
            return Err(places.error(at, &format!("a variant is called {:?} already", variant.label)));
        }
        plain("variant", &variant.label, at, places)?;
        variants.all.push(variant);
        if variants.all.len() as u64 > STEPS_MAX {
            return Err(places.error(at, &format!("there are more than {STEPS_MAX} variants")));
        }
    }
    Ok(variants)
}

/// The label of a variant that stands before in the list.
fn before(entry: &Entry, variants: &Variants, places: &Places<'_>) -> Result<String, InputError> {
    let (label, at) = text(&entry.key, &entry.node, places)?;
    let known: Vec<&str> = variants.all.iter().map(|variant| variant.label.as_str()).collect();
    match known.contains(&label.as_str()) {
        true => Ok(label),
        false if known.is_empty() => Err(places.error(at, "\"after\": no variant stands before it")),
        false => Err(places.error(at, &format!("no variant {label:?} stands before it{}", hint(&label, &known)))),
    }
}

fn name(entry: &Entry, places: &Places<'_>) -> Result<(), InputError> {
    match is_name(&entry.key) {
        true => Ok(()),
        false => Err(places.error(
            entry.at,
            &format!("{:?} cannot be a placeholder: letters, digits, - and _, a letter first", entry.key),
        )),
    }
}

/// Fails for what cannot stand in a line of a table.
pub(super) fn plain(name: &str, value: &str, at: usize, places: &Places<'_>) -> Result<(), InputError> {
    if value.trim().is_empty() {
        return Err(places.error(at, &format!("{name:?} is empty")));
    }
    if value.chars().count() > LABEL_MAX {
        return Err(places.error(at, &format!("{name:?} has more than {LABEL_MAX} characters")));
    }
    match value.chars().any(char::is_control) {
        true => Err(places.error(at, &format!("{name:?} has control characters"))),
        false => Ok(()),
    }
}
