//! Promises of stored results on arbitrary bytes, for the fuzz target and the tests that fuzz a little.

use crate::Named;
use crate::html::{self, Item};
use crate::stored::Record;
use crate::terminal::{self, Style};
use std::fmt::{self, Write as _};

/// Takes `data` as a `run.json`: no panic, neither while it is read nor while it is shown in any form, and what is read is
/// written in the same way.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_run_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let record = match Record::parse(text) {
        Ok(record) => record,
        Err(error) => return assert!(!error.contains('\n'), "{error}"),
    };
    let json = crate::json::record(record.as_ref());
    assert_eq!(Record::parse(&json).as_ref(), Ok(&record));
    let named = Named { name: "foreign", record: record.as_ref() };
    for (width, colour) in [(40, false), (110, true)] {
        let _ = terminal::results(&[named], &Style { width, colour, verbose: true });
    }
    let _ = terminal::results(&[named, named], &Style { width: 100, colour: false, verbose: false });
    let _ = crate::markdown(&[named, named]);
    let _ = crate::csv(&[named]);
    let item = Item { named, distributions: None, graphs: &[], base: "" };
    write!(Nothing, "{}", html::page(&[item, item])).expect("nothing takes everything");
}

/// Takes a page and keeps nothing of it.
struct Nothing;

impl fmt::Write for Nothing {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}
