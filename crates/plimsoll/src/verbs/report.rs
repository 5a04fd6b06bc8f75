//! `plimsoll report`: stored results once more, as a page, a table or data.

use crate::cli::{FormatArg, ReportArgs};
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::graphs;
use crate::result::replay;
use crate::store;
use crate::store::stored::Stored;
use crate::store::{page_file, private};
use report::Named;
use report::html::Item;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The page in a run directory, or of several results in the current one.
pub(crate) const PAGE: &str = "report.html";

pub(crate) fn report(args: &ReportArgs) -> Result<Exit, CommandError> {
    if args.recover {
        args.directories.iter().try_for_each(|directory| recover(directory))?;
    }
    let stored: Vec<Stored> = args.directories.iter().map(|path| Stored::read(path)).collect::<Result<_, _>>()?;
    let named: Vec<_> = stored.iter().map(Stored::named).collect();
    let text = match args.format {
        FormatArg::Html => return page(args, &stored),
        FormatArg::Markdown => report::markdown(&named),
        FormatArg::Csv => report::csv(&named),
        FormatArg::Text => text(&named, args.output.is_some()),
        FormatArg::Json => json(&named),
    };
    match &args.output {
        Some(path) => write(path, &text)?,
        None => printer::result(&text)?,
    }
    Ok(Exit::Fine)
}

/// Makes the result in `directory` of its events; one that is there already stays as it is.
fn recover(directory: &Path) -> Result<(), CommandError> {
    let result = directory.join(store::RESULT);
    if result.exists() {
        return Err(CommandError::usage(format!("{}: it is complete; leave out --recover", result.display())));
    }
    if store::is_claimed(directory) {
        return Err(CommandError::usage(format!(
            "{}: it is being measured into, and has not ended",
            directory.display()
        )));
    }
    let record = replay::record(directory)?;
    store::write_recovered(directory, &report::json::record(record.as_ref()))
}

/// Writes the page and prints its path.
fn page(args: &ReportArgs, stored: &[Stored]) -> Result<Exit, CommandError> {
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
    // One that was asked for may be a link; beside a result of somebody else it must not be one.
    let file = if args.output.is_some() { File::create(&path) } else { private::create(&path) };
    let written = file.and_then(|file| page_file::write(file, &report::html::page(&items)));
    written.map_err(|error| cannot_write(&path, &error))?;
    printer::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Fine)
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
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::usage(format!("cannot write {}: {error}", path.display()))
}

fn text(named: &[Named<'_>], to_file: bool) -> String {
    let mut style = printer::style();
    style.colour &= !to_file;
    style.verbose = true;
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
