//! `plimsoll profile diff`: two profiled results, for each good response.

use crate::cli::profile::DiffArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::difference::{Half, php_difference, php_function_changes, php_unrelated, write_difference};
use crate::store::private;
use crate::store::stored::{Record, Stored};
use report::flame::{difference, function_changes};
use std::path::Path;

pub(super) fn diff(args: &DiffArgs) -> Result<Exit, CommandError> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let difference = difference(before.side(), after.side()).ok_or_else(|| {
        CommandError::usage(format!(
            "{} or {} has no stack in its profile: nothing ran",
            args.before.display(),
            args.after.display()
        ))
    })?;
    private::create_directory(&args.output).map_err(|error| {
        CommandError::usage(format!("--output {}: cannot write there: {error}", args.output.display()))
    })?;
    let mut text = report::terminal::profile_change(&before.profiled, &after.profiled);
    text.push('\n');
    text.push_str(&report::terminal::functions_changed(&function_changes(before.side(), after.side())));
    text.push('\n');
    if before.has_php() && after.has_php() {
        text.push_str(&report::terminal::php_functions_changed(&php_function_changes(&before, &after)));
        text.push('\n');
    }
    let mut paths = write_difference(&args.output.join("diff"), &difference)?;
    if let Some(difference) = php_difference(&before, &after) {
        paths.extend(write_difference(&args.output.join("php-diff"), &difference)?);
    }
    php_unrelated(&before, &after).iter().for_each(|why| printer::note(why));
    paths.iter().for_each(|path| text.push_str(&format!("{}\n", path.display())));
    printer::result(&text)?;
    Ok(Exit::Fine)
}

/// The profile of a stored run or sweep.
fn read(directory: &Path) -> Result<Half, CommandError> {
    let wrong = |what: String| CommandError::usage(format!("{}: {what}", directory.display()));
    let stored = Stored::read(directory)?;
    let profiled = match stored.record {
        Record::Run(record) => record.profile,
        Record::Sweep(record) => record.profile,
        Record::Sweeps(_) => return Err(wrong("several sweeps; name one of its arms/".into())),
        Record::Compare(_) => {
            return Err(wrong(
                "a comparison; its own differences, if it was made with --profile, are in profiles/".into(),
            ));
        }
        Record::Capacity(_) => return Err(wrong("a search for a capacity, which has no profile".into())),
        Record::Render(_) => return Err(wrong("a page render, which has no profile".into())),
        Record::Experiment(_) => return Err(wrong("an experiment; name the directory of one of its steps".into())),
    };
    let profiled = profiled.ok_or_else(|| wrong("not profiled; measure it with --profile".into()))?;
    Half::stored(directory, stored.name, profiled)
}
