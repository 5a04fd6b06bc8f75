//! Flags that the program and all of its verbs have, and help of the program: where to begin, and the verbs in groups.

use super::{EXIT_CODES, variables};
use clap::{Arg, ArgAction, ColorChoice, Command, ValueEnum};
use std::ffi::OsString;
use std::fmt::Write;

/// Heading of the flags of the program in the help of a verb.
const HEADING: &str = "Output";
/// The flag about colours.
const COLOUR: &str = "color";
const COLOUR_RULE: &str = "Colours: auto, always or never

With auto a terminal gets colours unless NO_COLOR, CLICOLOR=0 or TERM=dumb forbids them, and a file or pipe gets them with \
CLICOLOR_FORCE=1 alone. NO_COLOR comes before CLICOLOR_FORCE, and this flag before both.";

/// What a user wants to do, and the verbs that do it.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "sweep", "capacity"]),
    ("Compare", &["compare", "experiment", "history"]),
    ("Look inside", &["check", "observe", "profile", "render"]),
    ("Results", &["report", "audit", "rules"]),
    ("Servers for tests", &["target", "serve", "stack"]),
    ("Setup", &["agent", "man", "completions"]),
];

const START_HERE: &str = "\
Start here:
  plimsoll check http://127.0.0.1:8080/   what would spoil a measurement
  plimsoll run http://127.0.0.1:8080/     one load for 30 s, with a verdict
  plimsoll sweep http://127.0.0.1:8080/   peak, knee and bottleneck

";

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}";

const MORE: &str = "plimsoll VERB -h has the usual flags of a verb, plimsoll --help exit codes and environment.";

/// Gives the program its flags and its help.
pub(super) fn arrange(command: Command) -> Command {
    let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
    let command = flags().into_iter().fold(command, Command::arg);
    let command = command.arg(version.help("Print the version: -V the number, --version with commit and features"));
    let groups =
        GROUPS.iter().fold(START_HERE.to_owned(), |text, (title, verbs)| text + &listed(title, verbs, &command));
    let long = format!("{EXIT_CODES}\n\n{}", variables::section());
    command.help_template(TEMPLATE).before_help(groups.trim_end().to_owned()).after_help(MORE).after_long_help(long)
}

fn flags() -> [Arg; 2] {
    let colour = Arg::new(COLOUR).long(COLOUR).value_name("WHEN").value_parser(clap::value_parser!(ColorChoice));
    let (short, _) = COLOUR_RULE.split_once('\n').expect("a title and a paragraph");
    let colour = colour.default_value("auto").help(short).long_help(COLOUR_RULE).hide_possible_values(true);
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let help = help.help("Print help: -h the usual flags, --help everything");
    [colour, help].map(|flag| flag.global(true).help_heading(HEADING))
}

/// What the command line says about colours, whatever else is wrong with it.
pub(crate) fn colour(words: &[OsString]) -> Option<ColorChoice> {
    let words: Vec<_> = words.iter().map_while(|word| word.to_str()).take_while(|word| *word != "--").collect();
    let flag = format!("--{COLOUR}");
    let value = words.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix(flag.as_str())? {
        "" => words.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    });
    value.and_then(|value| ColorChoice::from_str(value, false).ok())
}

fn listed(title: &str, verbs: &[&str], command: &Command) -> String {
    let mut text = format!("{title}:\n");
    for verb in verbs {
        let about = command.find_subcommand(verb).and_then(|verb| verb.get_about()).map(ToString::to_string);
        let _ = writeln!(text, "  {verb:<13}{}", about.unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_last_choice_of_colours_counts_and_those_of_a_server_do_not() {
        let of = |line: &str| colour(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(of("plimsoll run --color never --color=always"), Some(ColorChoice::Always));
        assert_eq!(of("plimsoll serve -- ls --color=always"), None);
        assert_eq!([of("plimsoll --color"), of("plimsoll --color pink"), of("plimsoll --colorful")], [None; 3]);
    }

    #[test]
    fn each_verb_stands_in_one_group() {
        let cli = Cli::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let mut verbs: Vec<&str> =
            cli.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
        listed.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(listed, verbs);
    }
}
