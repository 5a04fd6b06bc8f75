//! Advice below an error of the command line: what was meant.

use super::Cli;
use super::other_tools::{FOREIGN, row};
use crate::typed::shown;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use model::{Redacted, meant};
use std::ffi::OsString;

/// The verb that loads a URL.
const LOADING: &str = "run";

/// The verb that takes a server with its settings.
const SERVING: &str = "serve";

/// A flag without a value, which others take as a rate.
const QUIET: &str = "-q";

/// The error with better advice, where there is some, and without secrets that were typed. `words` is the command line.
pub(crate) fn advised(error: clap::Error, words: &[OsString]) -> clap::Error {
    let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => of_flag(&text(&error, ContextKind::InvalidArg), &words),
        ErrorKind::ValueValidation => one_dash(&words),
        ErrorKind::InvalidSubcommand => of_verb(&text(&error, ContextKind::InvalidSubcommand), &words),
        _ => None,
    };
    let mut error = without_secrets(error);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// The same error, which repeats no secret. One whose value holds a secret loses the reason of its reader, which repeats it too.
fn without_secrets(error: clap::Error) -> clap::Error {
    let typed = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand, ContextKind::InvalidValue];
    if typed.iter().all(|kind| shown(&text(&error, *kind)) == text(&error, *kind)) {
        return error;
    }
    let mut told = clap::Error::new(error.kind()).with_cmd(&Cli::command());
    for (kind, value) in error.context() {
        let value = match value {
            ContextValue::String(text) if typed.contains(&kind) => ContextValue::String(shown(text)),
            value => value.clone(),
        };
        told.insert(kind, value);
    }
    told
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Advice about an unknown flag: it is one of another tool, it is misspelt, or the verb is missing.
fn of_flag(flag: &str, words: &[String]) -> Option<String> {
    let is_rate = |pair: &[String]| pair[0] == QUIET && pair[1] == flag && flag.parse::<f64>().is_ok();
    if words.windows(2).any(is_rate) {
        return Some(format!("{QUIET} is the rate of hey and oha, and takes no value here; write here: -R PER_SECOND"));
    }
    if words.iter().any(|word| word == SERVING) && !flag.starts_with('-') && flag.contains('=') {
        return Some("a server and its settings are one argument: plimsoll serve 'nginx workers=2'".to_owned());
    }
    let cli = Cli::command();
    let Some(verb) = words.iter().find_map(|word| cli.find_subcommand(word)) else {
        return words.iter().any(|word| is_target(word)).then(|| did_you_mean(words));
    };
    let typed = as_typed(flag, words);
    let known: Vec<String> = visible_flags(verb).collect();
    let foreign = || FOREIGN.iter().flat_map(|row| row.flags.iter().copied());
    // Letters are too short to be misspelt.
    let misspelt = || meant(&typed, known.iter().map(String::as_str).chain(foreign()).filter(|name| name.len() > 3));
    let found = row(&typed).map(|_| typed.as_str()).or_else(|| misspelt().filter(|_| typed.len() > 3));
    let name = verb.get_name();
    Some(match found.map(|found| (found, row(found))) {
        Some((found, _)) if known.iter().any(|flag| flag == found) => format!("did you mean {found}?"),
        Some((found, Some(row))) => format!("{found} is a flag of {}; write here: {}", row.tools, row.here),
        _ => format!("plimsoll {name} --help lists all flags"),
    })
}

/// The whole word with that flag: tools that are written in Go take long flags with one dash, whose letters are flags here.
fn as_typed(flag: &str, words: &[String]) -> String {
    let letter = flag.trim_start_matches('-');
    let names = words.iter().filter_map(|word| word.split('=').next());
    let mut long = names.filter(|name| name.len() > 2 && !name.starts_with("--") && row(name).is_some());
    long.find(|name| name.contains(letter)).unwrap_or(flag).to_owned()
}

/// Advice about a long flag with one dash, which is read as a letter with a value: `-duration=10s` as `-d uration=10s`.
fn one_dash(words: &[String]) -> Option<String> {
    let names = words.iter().filter_map(|word| word.split('=').next()).filter(|name| !name.starts_with("--"));
    let (name, row) = names.filter(|name| name.len() > 2).find_map(|name| Some((name, row(name)?)))?;
    Some(format!("{name} is a flag of {}; write here: {}", row.tools, row.here))
}

fn visible_flags(verb: &Command) -> impl Iterator<Item = String> {
    let flags = verb.get_arguments().filter(|argument| !argument.is_hide_set());
    flags.filter_map(|argument| argument.get_long()).map(|name| format!("--{name}"))
}

/// Advice about a verb that is none: a URL is loaded by a verb.
fn of_verb(given: &str, words: &[String]) -> Option<String> {
    is_target(given).then(|| did_you_mean(words))
}

fn did_you_mean(words: &[String]) -> String {
    let words = words.iter().map(|word| match is_target(word) && !word.contains("://") {
        true => format!("http://{word}"),
        false => word.clone(),
    });
    let words = Redacted::command(words).into_inner();
    let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    format!("did you mean: plimsoll {LOADING} {command}")
}

/// True for what looks like a URL, a host with a port, or a name with a domain.
fn is_target(word: &str) -> bool {
    let host = word.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok());
    let is_domain = host.contains('.') && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
    !word.starts_with('-') && (word.contains("://") || has_port || is_domain || host == "localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last line of advice for a command line.
    fn tip(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let text = advised(Cli::read(&words).expect_err(line), &words).to_string();
        text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).unwrap_or_default().to_owned()
    }

    #[test]
    fn flags_of_other_tools_are_translated() {
        let url = "http://127.0.0.1:1/";
        for (flag, here) in [
            ("--concurrency 5", "-c N"),
            ("-z 10s", "-d TIME"),
            ("--vus 10", "-c N"),
            ("--latency", "always shown"),
            ("-rate=50", "-R PER_SECOND"),
            ("--rps 5", "-R PER_SECOND"),
            ("-keepalive", "--no-keepalive"),
            ("-duration=10s", "-d TIME"),
            ("-duration 10s", "-d TIME"),
        ] {
            let tip = tip(&format!("plimsoll run {url} {flag}"));
            assert!(tip.contains("is a flag of ") && tip.contains(here), "{flag}: {tip}");
        }
    }

    #[test]
    fn a_number_behind_quiet_is_a_rate_of_other_tools() {
        assert!(tip("plimsoll run http://127.0.0.1:1/ -q 100").contains("-R PER_SECOND"));
    }

    /// "-workers is a flag of hey and vegeta".
    #[test]
    fn a_setting_beside_its_server_is_no_flag_of_another_tool() {
        let tip = tip("plimsoll serve nginx workers=2 --print-config");
        assert_eq!(tip, "a server and its settings are one argument: plimsoll serve 'nginx workers=2'");
    }

    #[test]
    fn misspelt_flags_are_found_here_and_in_other_tools() {
        assert_eq!(tip("plimsoll run u --conections 3"), "did you mean --connections?");
        assert_eq!(tip("plimsoll run u -d soon"), "", "a letter with a value that is none");
        assert!(tip("plimsoll run u --concurency 3").contains("-c N"), "misspelt, and of another tool");
        assert_eq!(tip("plimsoll run u --zzzzzz"), "plimsoll run --help lists all flags");
    }

    #[test]
    fn a_url_without_a_verb_is_a_run() {
        assert_eq!(tip("plimsoll http://127.0.0.1:1/"), "did you mean: plimsoll run http://127.0.0.1:1/");
        assert_eq!(tip("plimsoll localhost:8080"), "did you mean: plimsoll run http://localhost:8080");
        assert_eq!(tip("plimsoll -c 5 shop.example"), "did you mean: plimsoll run -c 5 http://shop.example");
        assert!(tip("plimsoll swep http://127.0.0.1:1/").contains("'sweep'"));
    }

    #[test]
    fn what_is_advised_exists_and_what_is_foreign_does_not() {
        let cli = Cli::command();
        let run = cli.find_subcommand(LOADING).expect("it is a verb");
        let of = |verb: &str| visible_flags(cli.find_subcommand(verb).expect("a verb")).collect::<Vec<_>>();
        let all: Vec<String> = ["run", "sweep", "report"].iter().flat_map(|verb| of(verb)).collect();
        let letters: Vec<String> =
            run.get_arguments().filter_map(|flag| flag.get_short()).map(|short| format!("-{short}")).collect();
        for row in FOREIGN {
            for word in row.here.split([' ', ',', ':']).filter(|word| word.starts_with('-')) {
                assert!(all.iter().chain(&letters).any(|flag| flag == word), "{word} in {row:?}");
            }
            for flag in row.flags {
                assert!(!of(LOADING).iter().chain(&letters).any(|own| own == flag), "{flag} is a flag of ours");
            }
        }
    }
}
