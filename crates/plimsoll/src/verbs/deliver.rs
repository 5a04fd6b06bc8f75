//! Hands a finished result over: to the run directory, to stdout, and to the files that CI reads.

use crate::cli::OutputArgs;
use crate::cli::threshold::CiFiles;
use crate::exit::CommandError;
use crate::output::printer;
use crate::profiling::graphs;
use crate::store::{self, PAGE, asked};
use model::Histograms;
use report::Named;
use report::html::Item;
use report::record::{AnyRecord, arm_folder};
use report::terminal::Style;
use std::io::Write;
use std::path::Path;

/// Stores `record` in `directory` and prints it: as JSON, or for people, who also get a page, with the `distributions` of a
/// run.
///
/// Programs that ask for JSON get no page: it is megabytes to write and to hold, and `plimsoll report` makes it later.
pub(crate) fn deliver(
    directory: &Path,
    record: AnyRecord<'_>,
    distributions: Option<&Histograms>,
    output: &OutputArgs,
) -> Result<(), CommandError> {
    let json = report::json::record(record);
    let stored = keep(directory, record, &json);
    if output.json {
        return if output.is_step { Ok(()) } else { printer::data(&json) };
    }
    let name = directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let named = Named { name: &name, record };
    // Without its record a page has nothing to point at, and the disk has no room for it either.
    let shown = stored && write_page(directory, named, distributions);
    if output.is_step {
        return Ok(());
    }
    let style = Style { verbose: output.verbose, ..printer::style() };
    let mut text = report::terminal::results(&[named], &style);
    if stored {
        text.push_str(&format!("\nrecord: {}\n", directory.display()));
    }
    if shown {
        text.push_str(&format!("page: {}\n", directory.join(PAGE).display()));
    }
    printer::result(&text)
}

/// Writes the result, and each arm of several as a sweep in a directory of its own; returns false when the disk did not
/// take the whole, which has then been told.
fn keep(directory: &Path, record: AnyRecord<'_>, json: &str) -> bool {
    if let AnyRecord::Sweeps(sweeps) = record {
        for (i, sweep) in sweeps.sweeps.iter().enumerate() {
            store::write_arm(
                &directory.join(arm_folder(i, sweep.arm.as_deref().unwrap_or_default())),
                &report::json::sweep(sweep),
            );
        }
    }
    store::write_result(directory, json)
}

/// Writes the page of a result beside it; returns false when the disk did not take it, which has then been told.
fn write_page(directory: &Path, named: Named<'_>, distributions: Option<&Histograms>) -> bool {
    let graphs = graphs(directory, named.record);
    let page = report::html::page(&[Item { named, distributions, graphs: &graphs, base: "" }]);
    store::write_page(&directory.join(PAGE), &page)
}

/// Writes the files that CI reads; the result is delivered already.
pub(crate) fn deliver_to_ci(directory: &Path, record: AnyRecord<'_>, files: &CiFiles) -> Result<(), CommandError> {
    let name = directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let named = Named { name: &name, record };
    let wrong = |path: &Path, error: &std::io::Error| {
        CommandError::usage(format!("cannot write {}: {error}; the result itself is kept", path.display()))
    };
    if let Some(path) = &files.junit {
        asked::write(path, report::junit(named).as_bytes()).map_err(|error| wrong(path, &error))?;
    }
    if let Some(path) = &files.summary {
        let written = asked::append(path).and_then(|mut file| file.write_all(report::summary(named).as_bytes()));
        written.map_err(|error| wrong(path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stored::{Record, Stored};
    use model::{FORMAT_SWEEP, SweepRecord, Verdict, VerdictState};
    use std::collections::BTreeMap;

    fn sweep(state: VerdictState, unchecked: &str) -> SweepRecord {
        SweepRecord {
            thresholds: Vec::new(),
            rests_on: model::RestsOn::default(),
            format: FORMAT_SWEEP.into(),
            arm: None,
            sent_in_all: None,
            verdict: Verdict {
                state,
                findings: Vec::new(),
                unchecked: vec![unchecked.into()],
                unchecked_why: BTreeMap::new(),
            },
            over: "connections".into(),
            points: Vec::new(),
            curve: Vec::new(),
            knee: None,
            peak: None,
            plateau: None,
            plateau_range_per_s: None,
            retrograde: None,
            model: None,
            aicc: None,
            capacity: None,
            fit: None,
            usl: None,
            saturated: false,
            limit: None,
            rise_end: None,
            limiter: None,
            profile: None,
            profile_unavailable: None,
            environment: model::Environment::default(),
            started: "2026-01-02T03:04:05Z".into(),
            interrupted: false,
            agent_lost: None,
        }
    }

    #[test]
    fn several_arms_are_kept_whole_and_each_as_a_sweep() {
        let directory = tempfile::tempdir().unwrap();
        let arms = [("nginx workers=1", VerdictState::Bound, "ER-03"), ("apache", VerdictState::Valid, "ST-01")];
        let arms = arms.map(|(label, state, unchecked)| (label.to_owned(), sweep(state, unchecked)));
        let record = report::record::sweeps_record(arms.to_vec());
        assert_eq!((record.verdict.state, record.verdict.unchecked.len()), (VerdictState::Bound, 2));
        let whole = AnyRecord::Sweeps(&record);
        assert!(keep(directory.path(), whole, &report::json::record(whole)));
        let Record::Sweeps(read) = Stored::read(directory.path()).unwrap().record else { panic!("not several") };
        assert_eq!(*read, record);
        for (i, folder) in ["arms/1-nginx-workers-1", "arms/2-apache"].into_iter().enumerate() {
            let Record::Sweep(read) = Stored::read(&directory.path().join(folder)).unwrap().record else {
                panic!("{folder} is no sweep")
            };
            assert_eq!(*read, record.sweeps[i]);
        }
        assert!(write_page(directory.path(), Named { name: "both", record: whole }, None));
        assert!(directory.path().join(PAGE).exists());
    }
}
