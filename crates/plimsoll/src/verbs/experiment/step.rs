//! One step of an experiment: a verb with its flags, as it is typed.

use crate::cli::capacity::CapacityArgs;
use crate::cli::compare::CompareArgs;
use crate::cli::{Cli, OutputArgs, RunArgs, SweepArgs, Verb};
use crate::exit::{CommandError, Exit};
use crate::settings::draft::Draft;
use crate::settings::target_url::TargetUrl;
use crate::verbs::{capacity, compare, run, sweep};
use clap::{ArgAction, CommandFactory, Parser};
use input::experiment::{FlagShape, Takes, VerbFlags, Vocabulary};
use model::NS_PER_S;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Verbs that measure; the first is the default.
const VERBS: [&str; 4] = ["run", "sweep", "capacity", COMPARE];
/// The verb that measures all variants in one step.
const COMPARE: &str = "compare";
/// Flags that have a place of their own in the file, or on the command line of the experiment.
const NOT_IN_FILE: [&str; 8] = ["serve", "name", "json", "output", "quiet", "verbose", "help", "version"];
/// Placeholders of servers, filled in when they are started.
const OF_SERVERS: [&str; 5] = ["address", "port", "backend_port", "state", "root"];
/// About how long it takes to start a server and to end it, to probe it and to store the result; ns.
const AROUND_NS: u64 = NS_PER_S;
/// Measurements of `--confirm`.
const CONFIRMING: u64 = 12;

/// A verb and its flags.
pub(super) enum Step {
    Run(Box<RunArgs>),
    Sweep(Box<SweepArgs>),
    Capacity(Box<CapacityArgs>),
    Compare(Box<CompareArgs>),
}

/// What is known of a step before it is measured.
pub(super) struct Prospect {
    /// About how long it takes; none for a number of requests; ns.
    pub(super) expected_ns: Option<u64>,
    /// Why its result can only be invalid, if that is so.
    pub(super) warning: Option<String>,
}

/// What may stand in a file.
pub(in crate::verbs) fn vocabulary() -> Vocabulary {
    let cli = Cli::command();
    let flags = |verb: &str| {
        let arguments = cli.find_subcommand(verb).into_iter().flat_map(|command| command.get_arguments());
        let shape = |argument: &clap::Arg| {
            let name = argument.get_long().filter(|name| !NOT_IN_FILE.contains(name))?;
            let takes = match argument.get_action() {
                ArgAction::SetTrue => Takes::Nothing,
                ArgAction::Append => Takes::Many,
                _ => Takes::One,
            };
            Some(FlagShape { name: name.to_owned(), short: argument.get_short(), takes })
        };
        arguments.filter_map(shape).collect()
    };
    let verbs = VERBS.map(|verb| VerbFlags { name: verb.to_owned(), flags: flags(verb), takes_all: verb == COMPARE });
    Vocabulary { verbs: verbs.into(), of_servers: &OF_SERVERS }
}

impl Step {
    /// Reads a command line; one line says what is wrong with it.
    pub(super) fn parse(command: &[String]) -> Result<Self, String> {
        match Cli::try_parse_from(command).map_err(|error| one_line(&error))?.verb {
            Verb::Run(args) => Ok(Self::Run(Box::new(args))),
            Verb::Sweep(args) => Ok(Self::Sweep(Box::new(args))),
            Verb::Capacity(args) => Ok(Self::Capacity(Box::new(args))),
            Verb::Compare(args) => Ok(Self::Compare(Box::new(args))),
            _ => Err(format!("only {} measure", VERBS.join(", "))),
        }
    }

    /// Checks what can be checked before anything is started.
    pub(super) fn check(&self) -> Result<Prospect, CommandError> {
        let mut warning = None;
        let (urls, expected_ns, confirms, draft) = match self {
            Self::Run(args) => {
                let checked = run::Checked::new(args)?;
                warning = checked.warning();
                (args.url.as_slice(), checked.expected_ns(), args.confirm, checked.target.draft)
            }
            Self::Sweep(args) => {
                let checked = sweep::Checked::new(args)?;
                warning = checked.warning(args);
                (args.url.as_slice(), Some(checked.expected_ns(args)), args.confirm, checked.target.draft)
            }
            Self::Capacity(args) => {
                let checked = capacity::Checked::new(args)?;
                (args.url.as_slice(), Some(checked.expected_ns()), false, checked.target.draft)
            }
            Self::Compare(args) => {
                let checked = compare::Checked::new(args)?;
                (args.targets.as_slice(), Some(checked.expected_ns()), false, checked.target.draft)
            }
        };
        if urls.is_empty() {
            check_target(None, &draft)?;
        }
        urls.iter().try_for_each(|url| check_target(Some(url), &draft))?;
        let confirming_ns = if confirms { CONFIRMING.saturating_mul(self.window_ns() + AROUND_NS) } else { 0 };
        let expected_ns = expected_ns.map(|ns| ns.saturating_add(AROUND_NS).saturating_add(confirming_ns));
        Ok(Prospect { expected_ns, warning })
    }

    /// Settings that bound how much its server does at a time, by their names in the server; none where several servers or
    /// none are started.
    pub(super) fn limits(&self) -> BTreeMap<String, u64> {
        let serve: &[String] = match self {
            Self::Run(args) => args.serve.as_slice(),
            Self::Sweep(args) => &args.serve,
            Self::Capacity(args) => args.serve.as_slice(),
            Self::Compare(_) => &[],
        };
        let [text] = serve else { return BTreeMap::new() };
        let limits = stack::Spec::parse(text).map(|spec| spec.limits()).unwrap_or_default();
        limits.into_iter().map(|setting| (setting.native, setting.value)).collect()
    }

    /// Length of one measurement; ns.
    fn window_ns(&self) -> u64 {
        match self {
            Self::Run(args) => args.duration.map_or(0, |duration| duration.ns),
            Self::Sweep(args) => args.duration.ns,
            Self::Capacity(_) | Self::Compare(_) => 0,
        }
    }

    /// Measures it into a new directory, until its end or until `stop` is set.
    pub(super) fn measure(
        &mut self,
        directory: &Path,
        output: &OutputArgs,
        stop: &Arc<AtomicBool>,
    ) -> Result<Exit, CommandError> {
        let own = match self {
            Self::Run(args) => &mut args.output,
            Self::Sweep(args) => &mut args.output,
            Self::Capacity(args) => &mut args.output,
            Self::Compare(args) => &mut args.output,
        };
        *own = OutputArgs {
            json: output.json,
            output: Some(directory.to_owned()),
            quiet: output.quiet,
            verbose: false,
            is_step: true,
        };
        match self {
            Self::Run(args) => run::measure(args, run::Checked::new(args)?, stop),
            Self::Sweep(args) => sweep::sweep_checked(args, &sweep::Checked::new(args)?, stop),
            Self::Capacity(args) => capacity::measure(args, &capacity::Checked::new(args)?, stop),
            Self::Compare(args) => compare::measure(args, &compare::Checked::new(args)?, stop),
        }
    }
}

/// Checks URL, lists of requests and what has to agree with them. Of a server that is started the URL is not known yet.
fn check_target(url: Option<&str>, draft: &Draft) -> Result<(), CommandError> {
    let url = url.map(TargetUrl::parse).transpose()?;
    let listed = draft.listed(url.as_ref())?;
    match url {
        Some(url) => draft.settings(&url, listed).map(drop),
        None => Ok(()),
    }
}

/// What clap says, without its usage and hints below.
pub(in crate::verbs) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let about = text.lines().take_while(|line| !line.is_empty() && !line.starts_with("Usage"));
    let about: Vec<&str> = about.map(str::trim).collect();
    about.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(words: &[&str]) -> Result<Step, String> {
        Step::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_flag_of_a_load_may_stand_in_a_file() {
        let vocabulary = vocabulary();
        for verb in &vocabulary.verbs {
            let names: Vec<&str> = verb.flags.iter().map(|flag| flag.name.as_str()).collect();
            for name in ["duration", "warmup", "connections", "header", "observe", "cpus", "timeout", "seed"] {
                assert!(names.contains(&name), "{name} of {}", verb.name);
            }
            assert!(NOT_IN_FILE.iter().all(|name| !names.contains(name)), "{names:?}");
        }
        let shape = |name: &str| vocabulary.verbs[0].flags.iter().find(|flag| flag.name == name).unwrap().takes;
        let shapes = [shape("no-keepalive"), shape("rate"), shape("header"), shape("cpus")];
        assert_eq!(shapes, [Takes::Nothing, Takes::One, Takes::Many, Takes::Many]);
    }

    #[test]
    fn placeholders_of_servers_are_those_that_a_start_fills_in() {
        let command = OF_SERVERS.map(|name| format!("{{{name}}}")).join(" ");
        let spec = stack::Spec::parse(&format!("port=8080 -- /bin/true {command}")).unwrap();
        let started = stack::print_config(&spec, Path::new("/bin/true")).unwrap();
        assert!(started.contains("8080") && !started.contains('{'), "{started}");
    }

    /// 18 steps of 2 s were measured before anybody said that each of them is INVALID.
    #[test]
    fn steps_that_can_only_end_invalid_were_planned_without_a_word() {
        let warning = |words: &[&str]| step(words).unwrap().check().unwrap().warning;
        let url = "http://127.0.0.1:1/";
        assert!(warning(&["plimsoll", "run", url, "-d", "2s"]).is_some_and(|said| said.contains("LD-04")));
        assert!(warning(&["plimsoll", "sweep", url, "-d", "2s", "--iterations", "2"]).is_some());
        assert_eq!(warning(&["plimsoll", "run", url, "-d", "5s"]), None);
        assert_eq!(warning(&["plimsoll", "run", url, "-n", "10"]), None);
    }

    #[test]
    fn durations_are_estimated_from_what_is_planned() {
        let expected = |words: &[&str]| step(words).unwrap().check().unwrap().expected_ns;
        let url = "http://127.0.0.1:1/";
        assert_eq!(expected(&["plimsoll", "run", url, "-d", "10s"]), Some(13 * NS_PER_S), "2 s of warm-up");
        assert_eq!(expected(&["plimsoll", "run", url, "-n", "10"]), None);
        assert_eq!(expected(&["plimsoll", "capacity", url, "--budget", "1m"]), Some(61 * NS_PER_S));
        let compare = ["plimsoll", "compare", url, url, "--warmup", "1s"];
        assert_eq!(expected(&compare), Some(609 * NS_PER_S), "all of its budget, and the pilots");
        // Pilots of 4 s, and six blocks in turns, of about 17.1 s.
        let fixed = [&compare[..], &["--blocks", "6", "--budget", "1h"]].concat();
        assert_eq!(expected(&fixed), Some(110_700_000_000));
        let sweep = ["plimsoll", "sweep", url, "-d", "1s", "--points", "4", "--iterations", "2", "--warmup", "auto"];
        assert_eq!(expected(&sweep), Some(8 * 3_200_000_000 + NS_PER_S));
    }

    #[test]
    fn what_a_verb_refuses_is_one_line() {
        for words in [&["plimsoll", "run", "--rate", "fast"][..], &["plimsoll", "run", "--serve", "nginx", "url"]] {
            let line = step(words).err().expect("it is wrong");
            assert!(!line.contains('\n') && !line.starts_with("error") && !line.contains("Usage"), "{line}");
        }
    }
}
