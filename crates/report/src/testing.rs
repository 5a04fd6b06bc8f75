//! Promises of stored results on arbitrary bytes, for the fuzz target and the tests that fuzz a little.

use crate::Named;
use crate::flame::{self, Scale, Side};
use crate::html::{self, Item};
use crate::stored::Record;
use crate::terminal::{self, Style};
use model::{Profiled, Redacted};
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

/// Takes `data` as a stored flame graph, and as the stacks of one: no panic, and what the page takes of it has no script but
/// ours, no handler of events, and leads nowhere.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_graph(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let drawn = flame::graph(&text, &Redacted::text(&text), Scale::Samples);
    if let Some(svg) = &drawn {
        assert!(html::document(svg).is_some(), "a graph of ours is taken: {svg}");
    }
    let profiled = &Profiled::default();
    let side = |folded| Side { name: "foreign", folded, profiled, sample_us_per_good: 1.5 };
    let _ = flame::difference(side(&text), side("main 1\n"));
    // Fuzzers find no whole graph by themselves: the text stands behind the script, and in a frame.
    let inside = format!("<svg height=\"9\"><defs></script>{text}");
    let in_frame = format!("<svg height=\"9\"><defs></script><g>{text}</g></svg>");
    for document in [&*text, &inside, &in_frame].into_iter().filter_map(html::document) {
        let frames = document.rsplit_once("</style>").expect("it has one").1;
        assert_eq!(document.matches("<script").count(), 2, "{document}");
        let (_, frames) = frames.split_once("</script>").expect("it has one");
        let (frames, _) = frames.rsplit_once("<script>init()</script>").expect("it ends so");
        for tag in frames.split('<').skip(1).map(|tag| tag.split('>').next().unwrap_or_default()) {
            // A value may be any word.
            let names: String = tag.split('"').step_by(2).collect();
            let acts = ["href", "src", "style", " on"].iter().any(|name| names.contains(name));
            assert!(!acts && !tag.contains("//") && !tag.contains("javascript:"), "{tag}");
        }
    }
}

/// Takes a page and keeps nothing of it.
struct Nothing;

impl fmt::Write for Nothing {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        Ok(())
    }
}
