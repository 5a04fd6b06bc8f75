//! Stored runs held against each other: what may not be compared is refused, and what else differs is told.

use crate::cli::compare::CompareArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::difference::{Half, keep_difference, php_function_changes};
use crate::result::render::stored_pair;
use crate::result::stored_comparison;
use crate::settings::compare::{names, share};
use crate::store;
use crate::store::stored::{Record, Stored};
use crate::verbs::deliver::deliver;
use crate::verbs::exit_code::exit_code;
use clap::{Args, Command};
use model::{ArmProfile, COMPARE_ARMS_MAX, CompareLoad, Redacted, RenderRecord, RunRecord};
use report::Named;
use report::flame::function_changes;
use report::record::AnyRecord;
use report::terminal::Style;
use std::path::{Path, PathBuf};

/// Flags of a comparison of stored runs.
const OF_STORED: [&str; 7] = ["name", "margin", "fail-if", "json", "output", "quiet", "verbose"];

/// The directories that were named; none where targets are URLs or servers.
pub(super) fn directories(args: &CompareArgs) -> Result<Option<Vec<PathBuf>>, CommandError> {
    let is_url = |text: &String| text.contains("://");
    let (urls, others): (Vec<&String>, Vec<&String>) = args.targets.iter().partition(|text| is_url(text));
    match (urls.first(), others.first()) {
        (_, None) => Ok(None),
        (Some(url), Some(other)) => Err(CommandError::usage(format!(
            "{} is a URL and {other} is none: compare URLs with URLs (http://...), and stored runs with stored runs",
            Redacted::url(url)
        ))),
        (None, Some(_)) => {
            let paths: Vec<PathBuf> = others.iter().map(PathBuf::from).collect();
            match paths.iter().find(|path| !path.is_dir()) {
                Some(path) => Err(CommandError::usage(format!(
                    "{} is neither a URL (http://...) nor the directory of a stored run",
                    path.display()
                ))),
                None => Ok(Some(paths)),
            }
        }
    }
}

/// Fails where a flag is about a measurement: it would change nothing.
fn measures_nothing(args: &CompareArgs) -> Result<(), CommandError> {
    let verb = CompareArgs::augment_args(Command::default());
    match args.given.flag_besides(&verb, &OF_STORED) {
        None => Ok(()),
        Some(flag) if flag == "--profile" => Err(CommandError::usage(
            "--profile measures; what changed between stored runs is drawn if all of them were measured with --profile",
        )),
        Some(flag) => Err(CommandError::usage(format!(
            "{flag} is for servers that are measured; stored runs are compared as they are"
        ))),
    }
}

/// Compares stored runs, the baseline first.
pub(super) fn compare(args: &CompareArgs, directories: &[PathBuf]) -> Result<Exit, CommandError> {
    measures_nothing(args)?;
    if directories.len() < 2 || directories.len() as u64 > COMPARE_ARMS_MAX {
        return Err(CommandError::usage(format!(
            "a comparison of stored runs needs 2 to {COMPARE_ARMS_MAX} directories, and here are {}",
            directories.len()
        )));
    }
    let margin = share("--margin", &args.margin)?;
    let stored: Vec<Stored> = directories.iter().map(|path| Stored::read(path)).collect::<Result<_, _>>()?;
    if stored.iter().any(|stored| matches!(stored.record, Record::Render(_))) {
        return renders(args, &stored, margin);
    }
    let fail_if = super::fail_if(args, &[CompareLoad::Stored])?;
    let runs: Vec<RunRecord> = stored.into_iter().map(run).collect::<Result<_, _>>()?;
    let labels: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let names = names(&args.name, &labels, false)?;
    let arms: Vec<(String, String, RunRecord)> =
        names.into_iter().zip(labels).zip(runs).map(|((name, label), run)| (name, label, run)).collect();
    let halves = halves(directories, &arms);
    let mut record = stored_comparison(arms, margin, &fail_if).map_err(CommandError::usage)?;
    record.profiles = profiles(&halves);
    print(args, AnyRecord::Compare(&record), ("compare", &record.started), |directory| {
        let mut others = halves.iter().enumerate().skip(1);
        others.try_for_each(|(index, half)| keep_difference(directory, index, &halves[0], half).map(drop))
    })?;
    Ok(exit_code(AnyRecord::Compare(&record)))
}

/// The profiles of the runs; none unless all of them have one whose stacks are there.
fn halves(directories: &[PathBuf], arms: &[(String, String, RunRecord)]) -> Vec<Half> {
    let each = directories.iter().zip(arms);
    let known: Option<Vec<_>> = each.map(|(path, (name, _, run))| Some((path, name, run.profile.clone()?))).collect();
    let read = known.into_iter().flatten().map(|(path, name, profiled)| Half::stored(path, name.clone(), profiled));
    read.collect::<Result<_, _>>().unwrap_or_else(|error| {
        printer::note(&format!("warning: no flame graph of the difference: {}", error.message));
        Vec::new()
    })
}

/// What changed from the first to each other one.
fn profiles(halves: &[Half]) -> Vec<ArmProfile> {
    let one = |(i, half): (usize, &Half)| ArmProfile {
        arm: half.name.clone(),
        load: CompareLoad::Stored,
        profile: Some(half.profiled.clone()),
        unavailable: None,
        functions: if i == 0 { Vec::new() } else { function_changes(halves[0].side(), half.side()) },
        php_functions: if i == 0 { Vec::new() } else { php_function_changes(&halves[0], half) },
    };
    halves.iter().enumerate().map(one).collect()
}

/// Compares two stored page renders.
fn renders(args: &CompareArgs, stored: &[Stored], margin: f64) -> Result<Exit, CommandError> {
    let refuse = |why: &str| Err(CommandError::usage(why));
    if !args.fail_if.is_empty() || !args.name.is_empty() {
        return refuse(
            "--fail-if and --name are for runs; of page renders the exit code tells of the largest contentful paint",
        );
    }
    let pages: Option<Vec<(String, &RenderRecord)>> = stored.iter().map(page).collect();
    let Some([(first, before), (second, after)]) = pages.as_deref() else {
        return refuse(
            "a page render is compared with one other page render: name two of their directories, the baseline first",
        );
    };
    let record = stored_pair([(first, before), (second, after)], margin).map_err(CommandError::usage)?;
    print(args, AnyRecord::Render(&record), ("render", &record.started), |_| Ok(()))?;
    Ok(exit_code(AnyRecord::Render(&record)))
}

fn page(stored: &Stored) -> Option<(String, &RenderRecord)> {
    match &stored.record {
        Record::Render(record) => Some((stored.directory.display().to_string(), record)),
        _ => None,
    }
}

/// Prints it; it is kept only where a directory is named, as everything in it is stored already, with what `keep` adds.
fn print(
    args: &CompareArgs,
    record: AnyRecord<'_>,
    (verb, started): (&str, &str),
    keep: impl FnOnce(&Path) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    if let Some(directory) = &args.output.output {
        let directory = store::create(Some(directory), verb, started)?;
        keep(&directory)?;
        return deliver(&directory, record, None, &args.output);
    }
    if args.output.json {
        return printer::data(&report::json::record(record));
    }
    let style = Style { verbose: args.output.verbose, ..printer::style() };
    printer::result(&report::terminal::results(&[Named { name: "", record }], &style))
}

fn run(stored: Stored) -> Result<RunRecord, CommandError> {
    let directory = stored.directory;
    match stored.record {
        Record::Run(run) => Ok(*run),
        Record::Sweep(_) | Record::Sweeps(_) => Err(CommandError::usage(format!(
            "{}: a sweep; plimsoll report with two of them draws their curves in one picture, and only single runs (plimsoll \
             run) are compared when they are stored",
            directory.display()
        ))),
        Record::Capacity(_) | Record::Compare(_) | Record::Experiment(_) | Record::Render(_) => {
            Err(CommandError::usage(format!(
                "{}: only single runs (plimsoll run) are compared when they are stored; see plimsoll report for others",
                directory.display()
            )))
        }
    }
}
