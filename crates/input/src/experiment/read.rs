//! From the entries of a file to its combinations.

use super::fill::{Piece, fill, pieces};
use super::flags::{Flag, Values, text};
use super::place::{Places, hint};
use super::tree::{Entry, Value, parse};
use super::variants::{Variant, Variants, plain, variants};
use super::{Argument, Combination, Experiment, STEPS_MAX, VerbFlags, Vocabulary};
use crate::InputError;
use model::{Duration, Redacted};
use std::collections::BTreeSet;

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
    flags: Vec<Flag>,
    at: usize,
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
    draft.check_placeholders(vocabulary, &places)?;
    let mut combinations = Vec::new();
    let (repetitions, repetitions_at) = draft.repetitions.unwrap_or((1, 0));
    let steps = (draft.variants.all.len() as u64).saturating_mul(draft.loads.len() as u64).saturating_mul(repetitions);
    if steps > STEPS_MAX {
        let about = format!("{steps} measurements (variants x loads x repetitions); at most {STEPS_MAX}");
        return Err(places.error(repetitions_at, &about));
    }
    let verbs: Vec<&VerbFlags> =
        draft.loads.iter().map(|load| draft.verb_of(load, vocabulary, &places)).collect::<Result<_, _>>()?;
    for (load, verb) in draft.loads.iter().zip(&verbs) {
        draft.flags_of(load).try_for_each(|flag| flag.check(verb, &places))?;
    }
    for variant in &draft.variants.all {
        let before = combinations.len();
        for (load, verb) in draft.loads.iter().zip(&verbs) {
            let combination = draft.combine(variant, load, verb, vocabulary, &places)?;
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

    fn combine(
        &self,
        variant: &Variant,
        load: &Load,
        verb: &VerbFlags,
        vocabulary: &Vocabulary,
        places: &Places<'_>,
    ) -> Result<Combination, InputError> {
        let mut arguments = Vec::new();
        let filled = |text: &str, at: usize| {
            let value = |name: &str| variant.values.get(name).map(String::as_str);
            let kept = vocabulary.of_servers.iter().map(|name| (*name, format!("{{{name}}}"))).collect::<Vec<_>>();
            let kept = |name: &str| kept.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str());
            fill(text, |name| value(name).or_else(|| kept(name)))
                .map_err(|name| places.error(at, &format!("{{{name}}} has no value")))
        };
        let mut target = None;
        match &self.server {
            Some(("url", url, at)) => target = Some((filled(url, *at)?, *at)),
            Some((name, spec, at)) => {
                let spec = filled(spec, *at)?;
                arguments.push(Argument { name: (*name).to_owned(), words: words(name, &spec), at: *at });
            }
            None => {}
        }
        let mut own = Vec::new();
        for flag in self.flags_of(load) {
            let is_own = load.flags.iter().any(|one| one.name == flag.name);
            match &flag.values {
                Values::Switch(false) => {}
                Values::Switch(true) => {
                    let words = vec![format!("--{}", flag.name)];
                    own.extend(is_own.then(|| flag.name.clone()));
                    arguments.push(Argument { name: flag.name.clone(), words, at: flag.at });
                }
                Values::Texts(texts) => {
                    for (text, at) in texts {
                        let value = filled(text, *at)?;
                        own.extend(is_own.then(|| format!("{}={value}", flag.name)));
                        arguments.push(Argument { name: flag.name.clone(), words: words(&flag.name, &value), at: *at });
                    }
                }
            }
        }
        let served = arguments.first().filter(|argument| argument.name == "serve").map(|served| served.words.last());
        let server = target.as_ref().map(|(url, _)| url).or_else(|| served.flatten());
        let variant_label = match variant.label.is_empty() {
            true => server.map_or(BUILT_IN, String::as_str).to_owned(),
            false => variant.label.clone(),
        };
        if let Some((url, at)) = target {
            arguments.push(Argument { name: "url".to_owned(), words: vec![url], at });
        }
        let label = load.name.clone().unwrap_or_else(|| if own.is_empty() { verb.name.clone() } else { own.join(" ") });
        plain("load", &label, load.at, places)?;
        let combination = Combination {
            variant: variant_label,
            values: variant.values.clone(),
            load: label,
            verb: verb.name.clone(),
            arguments,
            at: load.at,
        };
        no_secrets(&combination, places)?;
        Ok(combination)
    }
}

/// The words of a flag with a value.
fn words(name: &str, value: &str) -> Vec<String> {
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
