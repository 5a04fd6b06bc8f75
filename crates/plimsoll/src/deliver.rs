//! Hands a finished result over: to the run directory, to stdout, and to the shell as an exit code.

use crate::exit::{Exit, Trouble};
use crate::{printer, store};
use model::VerdictState;
use std::path::Path;

/// Stores `json` in `directory` and prints it, or what `text` renders when the user wants to read.
pub(crate) fn deliver(
    directory: &Path,
    json: &str,
    as_json: bool,
    text: impl FnOnce(&report::terminal::Style) -> String,
) -> Result<(), Trouble> {
    let stored = store::write_result(directory, json);
    if as_json {
        return printer::result(json);
    }
    let mut text = text(&printer::style());
    if stored {
        text.push_str(&format!("\nrecord: {}\n", directory.display()));
    }
    printer::result(&text)
}

/// The exit code of a result.
pub(crate) const fn exit(verdict: VerdictState, interrupted: bool) -> Exit {
    match verdict {
        _ if interrupted => Exit::Interrupted,
        VerdictState::Invalid => Exit::Invalid,
        VerdictState::Valid | VerdictState::Bound => Exit::Fine,
    }
}
