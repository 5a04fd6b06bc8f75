//! Hands a finished result over: to the run directory, to stdout, and to the shell as an exit code.

use crate::exit::{Exit, Trouble};
use crate::verbs::report::PAGE;
use crate::{printer, store, stored};
use model::VerdictState;
use report::Named;
use report::html::Item;
use report::record::AnyRecord;
use std::path::Path;

/// Stores `record` in `directory` and prints it: as JSON, or for people, who also get a page.
///
/// Programs that ask for JSON get no page: it is megabytes to write and to hold, and `plimsoll report` makes it later.
pub(crate) fn deliver(directory: &Path, record: AnyRecord<'_>, as_json: bool) -> Result<(), Trouble> {
    let json = match record {
        AnyRecord::Run(record) => report::json::run(record),
        AnyRecord::Sweep(record) => report::json::sweep(record),
    };
    let stored = store::write_result(directory, &json);
    if as_json {
        return printer::result(&json);
    }
    // Without its record a page has nothing to point at, and the disk has no room for it either.
    let shown = stored && write_page(directory, record);
    let style = printer::style();
    let mut text = match record {
        AnyRecord::Run(record) => report::terminal::run(record, &style),
        AnyRecord::Sweep(record) => report::terminal::sweep(record, &style),
    };
    if stored {
        text.push_str(&format!("\nrecord: {}\n", directory.display()));
    }
    if shown {
        text.push_str(&format!("page: {}\n", directory.join(PAGE).display()));
    }
    printer::result(&text)
}

/// Writes the page of a result beside it; returns false when the disk did not take it, which has then been told.
fn write_page(directory: &Path, record: AnyRecord<'_>) -> bool {
    let distributions = match record {
        AnyRecord::Run(_) => stored::distributions(directory),
        AnyRecord::Sweep(_) => None,
    };
    let name = directory.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let named = Named { name: &name, record };
    let page = report::html::page(&[Item { named, distributions: distributions.as_ref(), base: "" }]);
    store::write_page(&directory.join(PAGE), &page)
}

/// The exit code of a result.
pub(crate) const fn exit(verdict: VerdictState, interrupted: bool) -> Exit {
    match verdict {
        _ if interrupted => Exit::Interrupted,
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Valid | VerdictState::Bound => Exit::Fine,
    }
}
