//! Stored runs held against each other: what may not be compared is refused, and what else differs is told.

use crate::cli::compare::CompareArgs;
use crate::exit::{CommandError, Exit};
use crate::output::deliver::deliver;
use crate::output::printer;
use crate::result::stored_comparison;
use crate::settings::compare::{names, share};
use crate::store;
use crate::store::stored::{Record, Stored};
use model::{COMPARE_ARMS_MAX, CompareLoad, Redacted, RunRecord};
use report::Named;
use report::record::AnyRecord;
use report::terminal::Style;
use std::path::{Path, PathBuf};

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

/// Compares stored runs, the baseline first.
pub(super) fn compare(args: &CompareArgs, directories: &[PathBuf]) -> Result<Exit, CommandError> {
    if args.aa {
        return Err(CommandError::usage("--aa measures a server; stored runs are compared as they are"));
    }
    if directories.len() < 2 || directories.len() as u64 > COMPARE_ARMS_MAX {
        return Err(CommandError::usage(format!(
            "a comparison of stored runs needs 2 to {COMPARE_ARMS_MAX} directories, and here are {}",
            directories.len()
        )));
    }
    let margin = share("--margin", &args.margin)?;
    let fail_if = super::fail_if(args, &[CompareLoad::Stored])?;
    let runs: Vec<RunRecord> = directories.iter().map(|path| run(path)).collect::<Result<_, _>>()?;
    let labels: Vec<String> = directories.iter().map(|path| path.display().to_string()).collect();
    let names = names(&args.name, &labels, false)?;
    let arms: Vec<(String, String, RunRecord)> =
        names.into_iter().zip(labels).zip(runs).map(|((name, label), run)| (name, label, run)).collect();
    let record = stored_comparison(arms, margin, &fail_if).map_err(CommandError::usage)?;
    print(args, AnyRecord::Compare(&record), &record.started)?;
    Ok(super::exit(&record))
}

fn run(directory: &Path) -> Result<RunRecord, CommandError> {
    match Stored::read(directory)?.record {
        Record::Run(run) => Ok(*run),
        Record::Sweep(_) | Record::Sweeps(_) | Record::Capacity(_) | Record::Compare(_) | Record::Experiment(_) => {
            Err(CommandError::usage(format!(
                "{}: only single runs (plimsoll run) are compared when they are stored; see plimsoll report for others",
                directory.display()
            )))
        }
    }
}

/// Prints it; it is kept only where a directory is named, as everything in it is stored already.
fn print(args: &CompareArgs, record: AnyRecord<'_>, started: &str) -> Result<(), CommandError> {
    if let Some(directory) = &args.output.output {
        let directory = store::create(Some(directory), "compare", started)?;
        return deliver(&directory, record, None, &args.output);
    }
    if args.output.json {
        return printer::result(&report::json::record(record));
    }
    let style = Style { verbose: args.output.verbose, ..printer::style() };
    printer::result(&report::terminal::results(&[Named { name: "", record }], &style))
}
