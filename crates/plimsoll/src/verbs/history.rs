//! `plimsoll history`: many stored results in the order measured, and where their level moved.

use crate::cli::history::HistoryArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::store::stored::Stored;
use crate::store::{RESULT, asked, page_file};
use model::{HistorySettings, LeftOut};
use report::history::{entries, history};
use report::terminal::Style;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Smallest change that may be asked for; shares.
const MARGINS: RangeInclusive<f64> = 0.0..=0.5;
/// Rates of false alarms that may be asked for; shares. Fewer need more permutations.
const FALSE_ALARMS: RangeInclusive<f64> = 0.001..=0.2;
/// Most results of one call.
const RESULTS_MAX: usize = 100_000;

pub(crate) fn run(args: &HistoryArgs) -> Result<Exit, CommandError> {
    let settings = HistorySettings {
        change_min: share("--margin", &args.margin, MARGINS)?,
        false_alarms: share("--false-alarms", &args.false_alarms, FALSE_ALARMS)?,
        with_bounds: args.bounds,
        by_canary: !args.raw,
        seed: args.seed,
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    // One after the other: a record may be large, and few of its figures are kept.
    for directory in results(&args.directories)? {
        match Stored::read(&directory) {
            Ok(stored) => match entries(stored.named()) {
                Ok(entries) => kept.extend(entries),
                Err(why) => left_out.push(LeftOut { name: stored.name, why }),
            },
            Err(error) => {
                let name = directory.display().to_string();
                let why = error.message.strip_prefix(&format!("{name}: ")).unwrap_or(&error.message).to_owned();
                left_out.push(LeftOut { name, why });
            }
        }
    }
    let record = history(kept, settings, left_out);
    let page = args.output.as_deref();
    if let Some(path) = page {
        let written = asked::create(path).and_then(|file| page_file::write(file, &report::html::history_page(&record)));
        written.map_err(|error| CommandError::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let mut text = match args.json {
        true => report::json::history(&record),
        false => report::terminal::history(&record, &Style { verbose: args.verbose, ..printer::style() }),
    };
    if let Some(path) = page.filter(|_| !args.json) {
        text.push_str(&format!("\npage: {}\n", path.display()));
    }
    let print = if args.json { printer::data } else { printer::result };
    print(&text)?;
    Ok(if args.fail_if_worse && record.is_worse { Exit::Failed } else { Exit::Fine })
}

/// The run directories that are named, and those in directories that are none themselves.
fn results(named: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut found = Vec::new();
    for directory in named {
        if directory.join(RESULT).exists() {
            found.push(directory.clone());
            continue;
        }
        let below = below(directory)?;
        if below.is_empty() {
            return Err(CommandError::usage(format!(
                "{}: neither a run directory nor one that holds any (no run.json)",
                directory.display()
            )));
        }
        found.extend(below);
    }
    // A shell's pattern may name a directory and what is in it.
    let mut whole: Vec<(PathBuf, PathBuf)> =
        found.into_iter().map(|path| (std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone()), path)).collect();
    whole.sort();
    whole.dedup_by(|a, b| a.0 == b.0);
    match whole.len() {
        0..=RESULTS_MAX => Ok(whole.into_iter().map(|(_, path)| path).collect()),
        n => Err(CommandError::usage(format!("{n} results are more than {RESULTS_MAX}: name fewer"))),
    }
}

/// Run directories in `directory`; one that has no result (it is being measured into, or was never finished) too, so that it
/// is told as left out.
fn below(directory: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let read = std::fs::read_dir(directory);
    let entries = read.map_err(|error| CommandError::usage(format!("{}: {error}", directory.display())))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let is_one = |path: &PathBuf| path.join(RESULT).exists() || crate::store::has_events(path);
    Ok(paths.filter(is_one).collect())
}

/// A share that is written in percent.
fn share(flag: &str, text: &str, range: RangeInclusive<f64>) -> Result<f64, CommandError> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let is_plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let share = number.parse::<f64>().ok().filter(|_| is_plain).map(|percent| percent / 100.0);
    share.filter(|share| range.contains(share)).ok_or_else(|| {
        let (low, high) = (100.0 * range.start(), 100.0 * range.end());
        CommandError::usage(format!("{flag} {text:?} is not between {low}% and {high}%; try 1%"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_in_percent_and_have_a_range() {
        let read = |text| share("--margin", text, MARGINS).ok();
        assert_eq!(
            [read("0%"), read("2.5%"), read("3"), read("50 %")],
            [Some(0.0), Some(0.025), Some(0.03), Some(0.5)]
        );
        for text in ["", "%", "-1%", "51%", "1e1", "x", "1..2"] {
            assert_eq!(read(text), None, "{text}");
        }
        let message = share("--false-alarms", "0", FALSE_ALARMS).unwrap_err().message;
        assert_eq!(message, "--false-alarms \"0\" is not between 0.1% and 20%; try 1%");
    }

    #[test]
    fn directories_of_results_are_looked_into_once() {
        let parent = tempfile::tempdir().unwrap();
        let all = parent.path().join("all");
        for name in ["b", "a", "empty", "unfinished"] {
            std::fs::create_dir_all(all.join(name)).unwrap();
        }
        for name in ["a/run.json", "b/run.json", "unfinished/events.jsonl"] {
            std::fs::write(all.join(name), "{}").unwrap();
        }
        let names = |named: &[PathBuf]| -> Vec<String> {
            let found = results(named).unwrap();
            found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(std::slice::from_ref(&all)), ["a", "b", "unfinished"]);
        assert_eq!(names(&[all.join("b"), all.clone(), all.join("b")]), ["a", "b", "unfinished"]);
        let none = results(&[all.join("empty")]).unwrap_err().message;
        assert!(none.ends_with("neither a run directory nor one that holds any (no run.json)"), "{none}");
        assert!(results(&[all.join("nowhere")]).is_err());
    }
}
