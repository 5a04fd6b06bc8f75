//! From the entries of a file to its combinations.

use super::fill::{Piece, fill, pieces};
use super::flags::{Flag, Values, text};
use super::place::{Places, hint};
use super::tree::{Entry, Value, parse};
use super::variants::{Variant, Variants, plain, variants};
use super::{Argument, Combination, Experiment, STEPS_MAX, VerbFlags, Vocabulary};
use crate::InputError;
use model::{Duration, Redacted};
use std::collections::{BTreeMap, BTreeSet};

const KEYS: [&str; 10] =
    ["name", "seed", "repetitions", "budget", "verb", "serve", "url", "variants", "flags", "loads"];
/// Label of the only variant, where the file names no server either.
const BUILT_IN: &str = "built-in server";

/// What a file says, before loads and variants are combined.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    seed: Option<u64>,
    repetitions: Option<(u64, usize)>,
    budget: Option<(Duration, usize)>,
    verb: Option<(String, usize)>,
    /// `serve` or `url`, and its text with its place.
    server: Option<(&'static str, String, usize)>,
    variants: Variants,
    flags: Vec<Flag>,
    loads: Vec<Load>,
}

/// An entry of `[[loads]]`.
#[derive(Default)]
struct Load {
    name: Option<String>,
    verb: Option<(String, usize)>,
    /// Blocks that measure it, with their place; none: all.
    repetitions: Option<(u64, usize)>,
    /// Labels of the variants it is for, with their places; none: all.
    variants: Option<Vec<(String, usize)>>,
    flags: Vec<Flag>,
    at: usize,
}

impl Load {
    /// The first of `all` blocks, which measure it.
    fn blocks(&self, all: u64) -> u64 {
        self.repetitions.map_or(all, |(own, _)| own)
    }

    /// The variants that this load is put on.
    fn of<'a>(&self, all: &'a [Variant]) -> Vec<&'a Variant> {
        let is_named = |variant: &&Variant| {
            self.variants.as_ref().is_none_or(|named| named.iter().any(|(label, _)| *label == variant.label))
        };
        all.iter().filter(is_named).collect()
    }
}

/// Reads an experiment.
pub(super) fn experiment(places: Places<'_>, vocabulary: &Vocabulary) -> Result<Experiment, InputError> {
    let mut draft = Draft::default();
    for entry in parse(places.text, &places)? {
        draft.take(&entry, &places)?;
    }
    if draft.loads.is_empty() {
        draft.loads.push(Load::default());
    }
    if draft.variants.all.is_empty() {
        draft.variants.all.push(Variant::default());
    }
    draft.check_named(&places)?;
    draft.check_placeholders(vocabulary, &places)?;
    let mut combinations = Vec::new();
    let (repetitions, repetitions_at) = draft.repetitions.unwrap_or((1, 0));
    let verbs: Vec<&VerbFlags> =
        draft.loads.iter().map(|load| draft.verb_of(load, vocabulary, &places)).collect::<Result<_, _>>()?;
    let variants = draft.variants.all.as_slice();
    draft.check_repetitions(repetitions, &places)?;
    let in_block = |(load, verb): (&Load, &&VerbFlags)| if verb.takes_all { 1 } else { load.of(variants).len() as u64 };
    let measured = |one: (&Load, &&VerbFlags)| in_block(one).saturating_mul(one.0.blocks(repetitions));
    let steps = draft.loads.iter().zip(&verbs).map(measured).fold(0, u64::saturating_add);
    if steps > STEPS_MAX {
        let about = format!("{steps} measurements (variants x loads x repetitions); at most {STEPS_MAX}");
        return Err(places.error(repetitions_at, &about));
    }
    for (load, verb) in draft.loads.iter().zip(&verbs) {
        draft.flags_of(load).try_for_each(|flag| flag.check(verb, &places))?;
    }
    let groups = variants.chunks(1).map(|one| (one, false)).chain([(variants, true)]);
    for (variants, takes_all) in groups {
        let before = combinations.len();
        for (load, verb) in draft.loads.iter().zip(&verbs).filter(|(_, verb)| verb.takes_all == takes_all) {
            let variants = load.of(variants);
            if variants.is_empty() {
                continue;
            }
            let combination = draft.combine(&variants, load, verb, vocabulary, &places)?;
            let is_same = |other: &Combination| (&other.load, &other.verb) == (&combination.load, &combination.verb);
            if combinations[before..].iter().any(is_same) {
                let about = format!("there is a load {:?} already; give one of them a name", combination.load);
                return Err(places.error(load.at, &about));
            }
            combinations.push(combination);
        }
    }
    let name = draft.name.unwrap_or_else(|| places.file.to_owned());
    Ok(Experiment {
        name,
        seed: draft.seed.unwrap_or(1),
        repetitions,
        budget: draft.budget.map(|(budget, _)| budget),
        combinations,
        file: places.file.to_owned(),
        text: places.text.to_owned(),
        budget_at: draft.budget.map_or(0, |(_, at)| at),
    })
}

impl Draft {
    fn take(&mut self, entry: &Entry, places: &Places<'_>) -> Result<(), InputError> {
        let (key, at) = (entry.key.as_str(), entry.node.at);
        match key {
            "name" => {
                let (name, _) = text(key, &entry.node, places)?;
                plain(key, &name, at, places)?;
                secret_free(key, &name, at, places)?;
                self.name = Some(name);
            }
            "seed" => self.seed = Some(whole(entry, 0, places)?),
            "repetitions" => self.repetitions = Some((whole(entry, 1, places)?, at)),
            "budget" => {
                let (budget, _) = text(key, &entry.node, places)?;
                let budget: Duration = budget
                    .parse()
                    .map_err(|error: model::ParseUnitError| places.error(at, &format!("budget {error}")))?;
                self.budget = Some((budget, at));
            }
            "verb" => self.verb = Some(text(key, &entry.node, places)?),
            "serve" | "url" => {
                if let Some((other, ..)) = &self.server {
                    return Err(
                        places.error(entry.at, &format!("{key:?} beside {other:?}: a server is started or has a URL"))
                    );
                }
                let (server, _) = text(key, &entry.node, places)?;
                plain(key, &server, at, places)?;
                self.server = Some((if key == "url" { "url" } else { "serve" }, server, at));
            }
            "variants" => self.variants = variants(entry, places)?,
            "flags" => self.flags = flags(&entry.node.value, at, places)?,
            "loads" => self.loads = loads(entry, places)?,
            _ => {
                return Err(places.error(entry.at, &format!("unknown key {key:?}{}", hint(key, &KEYS))));
            }
        }
        Ok(())
    }

    /// The flags of a load, before those for all, which it may replace.
    fn flags_of<'a>(&'a self, load: &'a Load) -> impl Iterator<Item = &'a Flag> {
        let is_replaced = |flag: &&Flag| load.flags.iter().any(|own| own.name == flag.name);
        load.flags.iter().chain(self.flags.iter().filter(move |flag| !is_replaced(flag)))
    }

    fn verb_of<'a>(
        &self,
        load: &Load,
        vocabulary: &'a Vocabulary,
        places: &Places<'_>,
    ) -> Result<&'a VerbFlags, InputError> {
        let verbs: Vec<&str> = vocabulary.verbs.iter().map(|verb| verb.name.as_str()).collect();
        let (name, at) = match load.verb.as_ref().or(self.verb.as_ref()) {
            Some((name, at)) => (name.as_str(), *at),
            None => (verbs.first().copied().unwrap_or_default(), 0),
        };
        let found = vocabulary.verbs.iter().find(|verb| verb.name == name);
        found.ok_or_else(|| places.error(at, &format!("no verb {name:?} that measures{}", hint(name, &verbs))))
    }

    /// Fails where a load is for a variant that is not there, or a variant has no load.
    fn check_named(&self, places: &Places<'_>) -> Result<(), InputError> {
        let known: Vec<&str> = self.variants.all.iter().map(|variant| variant.label.as_str()).collect();
        for (label, at) in self.loads.iter().flat_map(|load| load.variants.iter().flatten()) {
            if !known.contains(&label.as_str()) {
                return Err(places.error(*at, &format!("there is no variant {label:?}{}", hint(label, &known))));
            }
        }
        let has_load = |label: &&&str| {
            self.loads
                .iter()
                .any(|load| load.variants.as_ref().is_none_or(|named| named.iter().any(|(named, _)| named == **label)))
        };
        match known.iter().find(|label| !has_load(label)) {
            Some(label) => {
                let at = self.loads.first().map_or(0, |load| load.at);
                Err(places.error(at, &format!("the variant {label:?} has no load: add it to the variants of one")))
            }
            None => Ok(()),
        }
    }

    /// Fails where a load is to be measured more often than there are blocks.
    fn check_repetitions(&self, blocks: u64, places: &Places<'_>) -> Result<(), InputError> {
        match self.loads.iter().filter_map(|load| load.repetitions).find(|(own, _)| *own > blocks) {
            Some((own, at)) => {
                Err(places
                    .error(at, &format!("{own} repetitions of a load, and the experiment has {blocks}: raise those")))
            }
            None => Ok(()),
        }
    }

    /// Fails where a placeholder has no value, or a value no placeholder.
    fn check_placeholders(&self, vocabulary: &Vocabulary, places: &Places<'_>) -> Result<(), InputError> {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let server = self.server.iter().map(|(_, text, at)| (text, *at));
        let flags = self.flags.iter().chain(self.loads.iter().flat_map(|load| &load.flags));
        let texts = server.chain(flags.flat_map(Flag::texts).map(|(text, at)| (text, *at)));
        for (text, at) in texts {
            for piece in pieces(text) {
                let Piece::Name(name) = piece else { continue };
                used.insert(name);
                if vocabulary.of_servers.contains(&name) {
                    continue;
                }
                if let Some(variant) = self.variants.all.iter().find(|variant| !variant.values.contains_key(name)) {
                    return Err(places.error(at, &without_value(name, variant, &self.variants)));
                }
            }
        }
        for (name, at) in &self.variants.names {
            if vocabulary.of_servers.contains(&name.as_str()) {
                return Err(places.error(*at, &format!("{{{name}}} is a placeholder of servers; name it otherwise")));
            }
            if !used.contains(name.as_str()) {
                let about = format!("{name:?} stands nowhere as {{{name}}}: its values would change nothing");
                return Err(places.error(*at, &about));
            }
        }
        Ok(())
    }

    /// One load on one variant, or on all of them at once.
    fn combine(
        &self,
        variants: &[&Variant],
        load: &Load,
        verb: &VerbFlags,
        vocabulary: &Vocabulary,
        places: &Places<'_>,
    ) -> Result<Combination, InputError> {
        let mut servers = Vec::new();
        for variant in variants {
            if let Some((name, text, at)) = &self.server {
                servers.push((*name, filled(text, *at, variant, vocabulary, places)?, *at));
            }
        }
        let flags = |variant| self.filled_flags(variant, load, vocabulary, places);
        let (arguments, own) = flags(variants[0])?;
        for variant in &variants[1..] {
            let (others, _) = flags(variant)?;
            if let Some((one, _)) = arguments.iter().zip(&others).find(|(one, other)| one.words != other.words) {
                let about = format!(
                    "{:?} is another for {:?} than for {:?}: all variants of plimsoll {} have the same flags, and differ in \
                     serve or url",
                    one.name, variant.label, variants[0].label, verb.name
                );
                return Err(places.error(one.at, &about));
            }
        }
        let named = variants.iter().filter(|variant| verb.takes_all && !variant.label.is_empty());
        let names =
            named.map(|variant| Argument { name: "name".into(), words: words("name", &variant.label), at: load.at });
        let argument = |(name, text, at): &(&str, String, usize)| {
            let words = if *name == "url" { vec![text.clone()] } else { words(name, text) };
            Argument { name: (*name).to_owned(), words, at: *at }
        };
        // URLs stand behind all flags.
        let (urls, serves): (Vec<_>, Vec<_>) = servers.iter().map(argument).partition(|one| one.name == "url");
        let label = load.name.clone().unwrap_or_else(|| if own.is_empty() { verb.name.clone() } else { own.join(" ") });
        plain("load", &label, load.at, places)?;
        let combination = Combination {
            variant: variant_label(variants, servers.first().map(|(_, server, _)| server.as_str())),
            values: if variants.len() == 1 { variants[0].values.clone() } else { BTreeMap::new() },
            load: label,
            verb: verb.name.clone(),
            arguments: serves.into_iter().chain(arguments).chain(names).chain(urls).collect(),
            after: if variants.len() == 1 { variants[0].after.clone() } else { None },
            repetitions: load.blocks(self.repetitions.map_or(1, |(all, _)| all)),
            is_optional: variants.iter().any(|variant| variant.is_optional),
            at: load.at,
        };
        no_secrets(&combination, places)?;
        Ok(combination)
    }

    /// The flags of a load with the values of a variant, and those of its own in words.
    fn filled_flags(
        &self,
        variant: &Variant,
        load: &Load,
        vocabulary: &Vocabulary,
        places: &Places<'_>,
    ) -> Result<(Vec<Argument>, Vec<String>), InputError> {
        let (mut arguments, mut own) = (Vec::new(), Vec::new());
        for flag in self.flags_of(load) {
            let is_own = load.flags.iter().any(|one| one.name == flag.name);
            let mut put = |words: Vec<String>, at: usize, text: String| {
                own.extend(is_own.then_some(text));
                arguments.push(Argument { name: flag.name.clone(), words, at });
            };
            match &flag.values {
                Values::Switch(false) => {}
                Values::Switch(true) => put(vec![format!("--{}", flag.name)], flag.at, flag.name.clone()),
                Values::Texts(texts) => {
                    for (text, at) in texts {
                        let value = filled(text, *at, variant, vocabulary, places)?;
                        put(words(&flag.name, &value), *at, format!("{}={value}", flag.name));
                    }
                }
            }
        }
        Ok((arguments, own))
    }
}

/// A text with the values of a variant; what servers fill in is left.
fn filled(
    text: &str,
    at: usize,
    variant: &Variant,
    vocabulary: &Vocabulary,
    places: &Places<'_>,
) -> Result<String, InputError> {
    let kept: Vec<(&str, String)> = vocabulary.of_servers.iter().map(|name| (*name, format!("{{{name}}}"))).collect();
    let value = |name: &str| {
        let own = variant.values.get(name).map(String::as_str);
        own.or_else(|| kept.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str()))
    };
    fill(text, value).map_err(|name| places.error(at, &format!("{{{name}}} has no value")))
}

/// What the variants of a step are called: one by its name, else by its server; of several all against the first.
fn variant_label(variants: &[&Variant], server: Option<&str>) -> String {
    match variants {
        [one] if one.label.is_empty() => server.unwrap_or(BUILT_IN).to_owned(),
        [one] => one.label.clone(),
        [baseline, variant] => format!("{} against {}", variant.label, baseline.label),
        several => format!("{} variants against {}", several.len() - 1, several[0].label),
    }
}

/// The words of a flag with a value.
pub(super) fn words(name: &str, value: &str) -> Vec<String> {
    // A value that looks like a flag, or like none, belongs to its flag.
    match value.starts_with('-') || value.is_empty() {
        true => vec![format!("--{name}={value}")],
        false => vec![format!("--{name}"), value.to_owned()],
    }
}

fn without_value(name: &str, variant: &Variant, variants: &Variants) -> String {
    let known: Vec<&str> = variants.names.iter().map(|(name, _)| name.as_str()).collect();
    if known.is_empty() {
        return format!("{{{name}}} has no value: there are no [variants]");
    }
    match known.contains(&name) {
        true => format!("{{{name}}} has no value in the variant {:?}", variant.label),
        false => format!("no variant has a value {{{name}}}{}", hint(name, &known)),
    }
}

/// Fails where what would be stored holds a credential, or a text that may be one.
fn no_secrets(combination: &Combination, places: &Places<'_>) -> Result<(), InputError> {
    let plain = combination.arguments.iter().flat_map(|argument| &argument.words);
    let redacted =
        Redacted::own_command(["plimsoll", &combination.verb].into_iter().map(str::to_owned).chain(plain.cloned()));
    let mut shown = redacted.iter().skip(2);
    for argument in &combination.arguments {
        for word in &argument.words {
            if shown.next() != Some(word) {
                let name = &argument.name;
                let about = if name == "body" {
                    "\"body\" would be stored with the result, and may hold anything; name a file: body = \"@FILE\""
                        .to_owned()
                } else {
                    format!(
                        "{name:?} holds a credential, which would be stored with the result; use auth = \
                         \"bearer:env:VAR\" or \"basic:file:PATH\", or password-file=PATH of a server"
                    )
                };
                return Err(places.error(argument.at, &about));
            }
        }
    }
    secret_free("variant", &combination.variant, combination.at, places)?;
    secret_free("load", &combination.load, combination.at, places)
}

fn secret_free(name: &str, text: &str, at: usize, places: &Places<'_>) -> Result<(), InputError> {
    match Redacted::text(text).as_str() == text {
        true => Ok(()),
        false => Err(places.error(at, &format!("{name:?} holds a credential, which would be stored with the result"))),
    }
}

/// A whole number of at least `least`.
fn whole(entry: &Entry, least: u64, places: &Places<'_>) -> Result<u64, InputError> {
    let number = match &entry.node.value {
        Value::Number(digits) => digits.parse::<u64>().ok().filter(|number| *number >= least),
        _ => None,
    };
    number.ok_or_else(|| places.error(entry.node.at, &format!("{:?} is a whole number, at least {least}", entry.key)))
}

fn flags(value: &Value, at: usize, places: &Places<'_>) -> Result<Vec<Flag>, InputError> {
    match value {
        Value::Table(entries) => entries.iter().map(|entry| Flag::read(entry, places)).collect(),
        _ => Err(places.error(at, "flags are a table: write [flags], then duration = \"10s\" and the like")),
    }
}

/// The variants that a load is for.
fn labels(entry: &Entry, places: &Places<'_>) -> Result<Vec<(String, usize)>, InputError> {
    match &entry.node.value {
        Value::List(list) if !list.is_empty() => list.iter().map(|node| text(&entry.key, node, places)).collect(),
        _ => {
            Err(places.error(entry.node.at, "variants of a load are a list of their names, such as [\"one\", \"two\"]"))
        }
    }
}

fn loads(entry: &Entry, places: &Places<'_>) -> Result<Vec<Load>, InputError> {
    let wrong =
        |at| places.error(at, "loads are tables: write [[loads]] before each, then connections = 64 and the like");
    let Value::List(list) = &entry.node.value else { return Err(wrong(entry.node.at)) };
    let mut loads = Vec::new();
    for node in list {
        let Value::Table(entries) = &node.value else { return Err(wrong(node.at)) };
        let mut load = Load { at: node.at, ..Load::default() };
        for entry in entries {
            match entry.key.as_str() {
                "name" => {
                    let (name, at) = text("name", &entry.node, places)?;
                    plain("name", &name, at, places)?;
                    load.name = Some(name);
                }
                "verb" => load.verb = Some(text("verb", &entry.node, places)?),
                "variants" => load.variants = Some(labels(entry, places)?),
                "repetitions" => load.repetitions = Some((whole(entry, 1, places)?, entry.node.at)),
                _ => load.flags.push(Flag::read(entry, places)?),
            }
        }
        loads.push(load);
    }
    match loads.is_empty() {
        true => Err(places.error(entry.node.at, "there is no load in it; leave loads out to measure the usual one")),
        false => Ok(loads),
    }
}
