//! `plimsoll profile diff`: two profiled results, for each good response.

use crate::cli::profile::DiffArgs;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::{FOLDED, is_file_itself, write_file};
use crate::store::private;
use crate::store::stored::{Record, Stored};
use input::text_at_most;
use model::Profiled;
use report::flame::{Difference, Side, difference};
use std::path::Path;

/// Largest file of stacks.
const FOLDED_MAX_BYTES: u64 = 256 << 20;

/// One of the two.
struct Half {
    name: String,
    folded: String,
    profiled: Profiled,
    sample_us_per_good: f64,
}

pub(super) fn diff(args: &DiffArgs) -> Result<Exit, CommandError> {
    let (before, after) = (Half::read(&args.before)?, Half::read(&args.after)?);
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
    let Difference { as_after, as_before, folded } = &difference;
    for (name, content) in [("diff.svg", as_after), ("diff-reverse.svg", as_before), ("diff.folded", folded)] {
        let path = args.output.join(name);
        write_file(&path, content)?;
        text.push_str(&format!("{}\n", path.display()));
    }
    printer::result(&text)?;
    Ok(Exit::Fine)
}

/// The stacks of a profile, which may come from anywhere.
fn stacks(path: &Path) -> Result<String, String> {
    if path.symlink_metadata().is_ok() && !is_file_itself(path) {
        return Err("it is no file".into());
    }
    text_at_most(path, FOLDED_MAX_BYTES).map_err(|error| error.to_string())
}

impl Half {
    fn read(directory: &Path) -> Result<Self, CommandError> {
        let wrong = |what: String| CommandError::usage(format!("{}: {what}", directory.display()));
        let stored = Stored::read(directory)?;
        let profiled = match stored.record {
            Record::Run(record) => record.profile,
            Record::Sweep(record) => record.profile,
            Record::Sweeps(_) => return Err(wrong("several sweeps; name one of its arms/".into())),
            Record::Compare(_) => return Err(wrong("a comparison, which has no profile".into())),
            Record::Capacity(_) => return Err(wrong("a search for a capacity, which has no profile".into())),
            Record::Experiment(_) => return Err(wrong("an experiment; name the directory of one of its steps".into())),
        };
        let profiled = profiled.ok_or_else(|| wrong("not profiled; measure it with --profile".into()))?;
        let sample_us_per_good = profiled.sample_us_per_good_request.ok_or_else(|| {
            wrong("no good response while it was profiled, so there is nothing to relate CPU time to".into())
        })?;
        let path = directory.join(FOLDED);
        let folded = stacks(&path).map_err(|why| CommandError::usage(format!("{}: {why}", path.display())))?;
        Ok(Self { name: stored.name, folded, profiled, sample_us_per_good })
    }

    fn side(&self) -> Side<'_> {
        Side {
            name: &self.name,
            folded: &self.folded,
            profiled: &self.profiled,
            sample_us_per_good: self.sample_us_per_good,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stacks;
    use std::os::unix::fs::symlink;

    #[test]
    fn stacks_are_read_of_a_file_and_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("profile.folded"), folder.path().join("link"));
        assert!(stacks(&file).unwrap_err().contains("No such file"));
        std::fs::write(&file, "main 1\n").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!((stacks(&file).as_deref(), stacks(&link)), (Ok("main 1\n"), Err("it is no file".to_owned())));
    }
}
