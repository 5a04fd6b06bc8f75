//! Secrets in the arguments of a process: where an argument ends is known, so that whole values are replaced.

use super::call::{Call, Found};
use super::line::Form;
use super::names::{is_body, is_reference, is_secret, is_secret_argument, is_switch};
use super::{PASSES_MAX, REDACTED, settled};
use std::mem::replace;

/// Short flags of plimsoll without a value, which may stand before others in one argument.
const OWN_SWITCHES: [char; 3] = ['k', 'q', 'v'];
/// Whose short flags are known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    /// Those of plimsoll.
    Own,
    /// Those of no program in particular.
    Any,
}

/// What a flag says of the argument behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Anything,
    Secret,
    Body,
    Header,
}

/// The arguments without their secrets, and such that nothing more is found in them.
pub(super) fn arguments(arguments: impl IntoIterator<Item = impl AsRef<str>>, flags: Flags) -> Vec<String> {
    let mut kept: Vec<String> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    for _ in 0..PASSES_MAX {
        let next = pass(&kept, flags);
        if next == kept {
            return kept;
        }
        kept = next;
    }
    vec![REDACTED.to_owned(); kept.len()]
}

fn pass(arguments: &[String], mut flags: Flags) -> Vec<String> {
    let mut next = Next::Anything;
    let mut call = Call::default();
    let shown = arguments.iter().map(|argument| {
        // What follows is the command line of another program.
        if argument == "--" {
            flags = Flags::Any;
        }
        let value = if flags == Flags::Any { value_in(argument, &call.read(argument)) } else { None };
        match replace(&mut next, after(argument, flags)) {
            Next::Secret if !argument.starts_with("--") && !is_reference(argument) => REDACTED.to_owned(),
            Next::Body => body(argument),
            Next::Header => header(argument),
            Next::Secret | Next::Anything => match value {
                Some(from) => format!("{}{REDACTED}", &argument[..from]),
                None => one(argument, flags),
            },
        }
    });
    shown.collect()
}

/// Where the secret begins in an argument with these values, which reach to its end.
fn value_in(argument: &str, found: &[Found]) -> Option<usize> {
    let secrets = found.iter().filter_map(|found| Some(found.from + found.value.secret_at(&argument[found.from..])?));
    secrets.min()
}

/// What may follow `argument`.
fn after(argument: &str, flags: Flags) -> Next {
    // What was redacted in it may have had one of these.
    if !argument.starts_with('-') || argument.contains(['=', ':', ' ']) || argument.contains(REDACTED) {
        return Next::Anything;
    }
    match argument {
        "--header" | "--add-header" => Next::Header,
        long if is_body(long) => Next::Body,
        long if long.starts_with("--") || flags == Flags::Any => match long {
            "-H" => Next::Header,
            _ if is_secret_argument(long) && !is_switch(long) => Next::Secret,
            _ => Next::Anything,
        },
        short => match short[1..].trim_start_matches(OWN_SWITCHES) {
            "H" => Next::Header,
            "b" => Next::Body,
            _ => Next::Anything,
        },
    }
}

/// An argument by itself.
fn one(argument: &str, flags: Flags) -> String {
    if let Some((flag, value)) = attached(argument, flags) {
        return format!("{flag}{}", if flag.ends_with('H') { header(value) } else { body(value) });
    }
    let mut rest = argument;
    // `--env=NAME=VALUE` names twice.
    while let Some((name, value)) = rest.split_once('=').filter(|(name, _)| is_name(name)) {
        let shown = &argument[..argument.len() - value.len()];
        if value.is_empty() {
            return argument.to_owned();
        }
        if is_body(name) {
            return format!("{shown}{}", body(value));
        }
        if is_secret_argument(name) && !is_reference(value) {
            return format!("{shown}{REDACTED}");
        }
        rest = value;
    }
    let shown = &argument[..argument.len() - rest.len()];
    match rest.split_once(':') {
        Some((name, _)) if is_name(name.trim_end()) && is_secret(name) => format!("{shown}{}", header(rest)),
        _ => format!("{shown}{}", settled(rest, Form::Text)),
    }
}

/// A short flag and its value in one argument: `-HName: value`, and `-bTEXT` of plimsoll.
fn attached(argument: &str, flags: Flags) -> Option<(&str, &str)> {
    let short = argument.strip_prefix('-').filter(|short| !short.starts_with('-'))?;
    let bare = if flags == Flags::Own { short.trim_start_matches(OWN_SWITCHES) } else { short };
    let value = match bare.chars().next()? {
        'H' if bare.contains(':') => &bare[1..],
        'b' if flags == Flags::Own => &bare[1..],
        _ => return None,
    };
    (!value.is_empty()).then(|| argument.split_at(argument.len() - value.len()))
}

/// `Name: value` with the whole value replaced when the name says so. Without a colon only its first word is kept.
pub(super) fn header(line: &str) -> String {
    match line.split_once(':') {
        Some((name, value)) if is_secret(name.trim()) && !value.trim().is_empty() => format!("{name}: {REDACTED}"),
        Some((name, value)) => format!("{name}:{}", settled(value, Form::Text)),
        None => match line.split_once(char::is_whitespace) {
            Some((first, rest)) if !rest.trim().is_empty() => format!("{} {REDACTED}", settled(first, Form::Text)),
            _ => settled(line, Form::Text),
        },
    }
}

/// A body, unless it is the name of a file.
fn body(text: &str) -> String {
    if text.starts_with('@') { text.to_owned() } else { REDACTED.to_owned() }
}

/// True if a text can be the name of a variable, a flag or a header.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}
