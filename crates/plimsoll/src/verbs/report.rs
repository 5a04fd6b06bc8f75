//! `plimsoll report`: stored results once more, as a page, a table or data.

mod table;

use crate::cli::{FormatArg, ReportArgs};
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::{graphs, keep_waits, remove_samples, samples};
use crate::recovery;
use crate::store::stored::{Record, Stored};
use crate::store::{self, PAGE};
use crate::store::{asked, page_file, private};
use crate::verbs::profile;
use report::Named;
use report::html::Item;
use report::record::AnyRecord;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn report(args: &ReportArgs) -> Result<Exit, CommandError> {
    if args.recover {
        let (profiles, results): (Vec<_>, Vec<_>) =
            args.directories.iter().partition(|directory| profile::is_unfinished(directory));
        match (&profiles[..], &results[..]) {
            ([], _) => results.into_iter().try_for_each(|directory| recover(directory))?,
            ([only], []) => return recover_profile(only, args),
            ([one, ..], _) => {
                let why = "it is a profile without a load: recover it by itself";
                return Err(CommandError::usage(format!("{}: {why}", one.display())));
            }
        }
    }
    let stored: Vec<Stored> = args.directories.iter().map(|path| Stored::read(path)).collect::<Result<_, _>>()?;
    let named: Vec<_> = stored.iter().map(Stored::named).collect();
    let by_default = if args.output.is_some() { FormatArg::Html } else { FormatArg::Text };
    let text = match args.format.unwrap_or(by_default) {
        _ if args.table.table.is_some() => table::table(&args.table, args.format, &stored)?,
        FormatArg::Html => return page(args, &stored),
        FormatArg::Tsv => return Err(CommandError::usage("--format tsv is for --table; try csv")),
        FormatArg::Markdown => report::markdown(&named),
        FormatArg::Csv => report::csv(&named),
        FormatArg::Text if args.format.is_none() => return text_and_page(args, &stored),
        FormatArg::Text => text(args, &named),
        FormatArg::Json => json(&named),
        FormatArg::Overhead => report::overhead(of_comparisons(&named)?),
        FormatArg::Latex => report::latex(of_comparisons(&named)?),
        FormatArg::Svg => return figures(args, &stored),
    };
    match &args.output {
        Some(path) => write(path, &text)?,
        None if is_for_people(args) => printer::result(&text)?,
        None => printer::data(&text)?,
    }
    Ok(Exit::Fine)
}

/// True if what is printed is text, and no data.
fn is_for_people(args: &ReportArgs) -> bool {
    matches!(args.format, None | Some(FormatArg::Text))
}

/// Makes the result in `directory` of its events; one that is there already stays as it is.
fn recover(directory: &Path) -> Result<(), CommandError> {
    if !directory.is_dir() {
        return Err(CommandError::usage(format!("{}: there is no such directory", directory.display())));
    }
    let result = directory.join(store::RESULT);
    // One whose program was killed while it looked up names has a result without them.
    if result.exists() && !samples::are_in(directory) {
        return Err(CommandError::usage(format!("{}: it is complete; leave out --recover", result.display())));
    }
    if store::is_claimed(directory) {
        return Err(CommandError::usage(format!(
            "{}: it is being measured into, and has not ended; if it was killed just now, try again in a moment",
            directory.display()
        )));
    }
    let record = recovery::record(directory)?;
    match &record {
        Record::Run(record) => keep_waits(directory, report::off_cpu::of_run(record)),
        Record::Sweep(record) => keep_waits(directory, report::off_cpu::of_sweep(record)),
        Record::Sweeps(_) | Record::Capacity(_) | Record::Compare(_) | Record::Experiment(_) | Record::Render(_) => {}
    }
    store::write_recovered(directory, &report::json::record(record.as_ref()))?;
    remove_samples(directory);
    Ok(())
}

/// Makes a profile of its samples, and prints it.
fn recover_profile(directory: &Path, args: &ReportArgs) -> Result<Exit, CommandError> {
    let as_json = match (args.format, &args.output) {
        (Some(FormatArg::Json), None) => true,
        (None | Some(FormatArg::Text), None) => false,
        _ => {
            let why = "it is a profile without a load, which is shown as --format text or json, on stdout";
            return Err(CommandError::usage(format!("{}: {why}", directory.display())));
        }
    };
    let record = profile::recover(directory)?;
    let print = if as_json { printer::data } else { printer::result };
    print(&profile::shown(directory, &record, as_json))?;
    Ok(Exit::Fine)
}

/// The results, if all are comparisons.
fn of_comparisons<'a, 'b>(named: &'a [Named<'b>]) -> Result<&'a [Named<'b>], CommandError> {
    let other = named.iter().find(|named| !matches!(named.record, AnyRecord::Compare(_)));
    match other {
        None => Ok(named),
        Some(other) => Err(CommandError::usage(format!(
            "{}: this format is of comparisons (plimsoll compare); use --format markdown or csv",
            other.name
        ))),
    }
}

/// Writes the figures of one comparison and of sweeps, and prints their paths.
fn figures(args: &ReportArgs, stored: &[Stored]) -> Result<Exit, CommandError> {
    let named: Vec<Named<'_>> = stored.iter().map(Stored::named).collect();
    let figures = report::svg_figures(&named);
    if figures.is_empty() {
        return Err(CommandError::usage(
            "--format svg draws one comparison (forest.svg, blocks.svg) or sweeps (curves.svg), and here is nothing to draw",
        ));
    }
    let own = match stored {
        [one] => one.directory.as_path(),
        _ => Path::new("."),
    };
    let folder = args.output.as_deref().unwrap_or(own);
    if args.output.is_some() {
        std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    for figure in figures {
        let path = folder.join(figure.file);
        // Nobody has named it: beside a result of somebody else it must not be a link.
        let written = private::create(&path).and_then(|mut file| file.write_all(figure.svg.as_bytes()));
        written.map_err(|error| cannot_write(&path, &error))?;
        printer::result(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Fine)
}

/// Prints the text, and makes the page as well: what cannot be written is a warning, as the text is there.
fn text_and_page(args: &ReportArgs, stored: &[Stored]) -> Result<Exit, CommandError> {
    let named: Vec<_> = stored.iter().map(Stored::named).collect();
    let text = text(args, &named);
    let line = match write_page(args, stored) {
        Ok(path) => format!("\npage: {}\n", path.display()),
        Err(error) => {
            printer::note(&format!("warning: {}", error.message));
            String::new()
        }
    };
    printer::result(&format!("{text}{line}"))?;
    Ok(Exit::Fine)
}

/// Writes the page and prints its path.
fn page(args: &ReportArgs, stored: &[Stored]) -> Result<Exit, CommandError> {
    let path = write_page(args, stored)?;
    printer::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Fine)
}

/// Writes the page; where.
fn write_page(args: &ReportArgs, stored: &[Stored]) -> Result<PathBuf, CommandError> {
    let path = match (&args.output, stored) {
        (Some(path), _) => path.clone(),
        (None, [one]) => one.directory.join(PAGE),
        (None, _) => PathBuf::from(PAGE),
    };
    let ways: Vec<String> = stored.iter().map(|stored| way(&path, &stored.directory)).collect();
    let distributions: Vec<_> = stored.iter().map(Stored::distributions).collect();
    let graphs: Vec<_> = stored.iter().map(|stored| graphs(&stored.directory, stored.named().record)).collect();
    let items: Vec<Item<'_>> = stored
        .iter()
        .zip(&ways)
        .zip(distributions.iter().zip(&graphs))
        .map(|((stored, base), (found, graphs))| Item {
            named: stored.named(),
            distributions: found.as_ref(),
            graphs,
            base,
        })
        .collect();
    // One that was asked for may be a link of the caller; beside a result of somebody else it must not be one.
    let file = if args.output.is_some() { asked::create(&path) } else { private::create(&path) };
    let written = file.and_then(|file| page_file::write(file, &report::html::page(&items)));
    written.map_err(|error| cannot_write(&path, &error))?;
    Ok(path)
}

/// What stands before the names of raw files: nothing when the page lies beside them.
fn way(page: &Path, directory: &Path) -> String {
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let same = |path: &Path| std::fs::canonicalize(path).ok();
    if same(folder).is_some() && same(folder) == same(directory) {
        return String::new();
    }
    format!("{}/", directory.display())
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    asked::write(path, text.as_bytes()).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::usage(format!("cannot write {}: {error}", path.display()))
}

/// As the measurement printed it. One result with all of its findings, which its measurement has told to be here.
fn text(args: &ReportArgs, named: &[Named<'_>]) -> String {
    let mut style = printer::style();
    style.colour &= args.output.is_none();
    style.verbose = args.verbose || args.format.is_some() || named.len() == 1;
    report::terminal::results(named, &style)
}

/// One record as it was stored, several as a list.
fn json(named: &[Named<'_>]) -> String {
    let one = |named: &Named<'_>| report::json::record(named.record);
    match named {
        [only] => one(only),
        several => {
            let each = several.iter().map(|named| one(named).trim_end().to_owned());
            format!("[{}]\n", each.collect::<Vec<_>>().join(",\n"))
        }
    }
}
