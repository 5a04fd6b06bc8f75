//! Texts that would act on whoever looks at a result: in a terminal, a browser, a spreadsheet, a page of Markdown.

use crate::fixtures::{URL, redirecting_probe, valid_run};
use crate::forms::BETWEEN;
use crate::promises::keep;
use proptest::prelude::*;
use report::Named;
use report::record::AnyRecord;
use report::terminal;

/// Bits of which a text becomes a command, markup or a formula somewhere.
const TOKENS: [&str; 36] = [
    "\u{1b}[31m",
    "\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{9b}2J",
    "\u{8}",
    "\u{7f}",
    "\0",
    "\r",
    "\n",
    "\t",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{61c}",
    "\u{fffe}",
    "\u{ffff}",
    "<script>alert(1)</script>",
    "</script>",
    "<!--",
    "\" onload=\"x",
    "'",
    "&lt;",
    "]]>",
    "|",
    "\\",
    "`*_~[x](y)",
    "=1+1",
    "+",
    "-",
    "@",
    ";",
    " ",
    "server: ",
    "ä",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_in_a_record_stays_text(
        texts in prop::collection::vec(prop::collection::vec(0..TOKENS.len(), 0..8), 1..8),
    ) {
        let texts = texts.iter().map(|tokens| tokens.iter().map(|token| TOKENS[*token]).collect::<String>());
        keep(&texts.collect::<Vec<_>>().join(BETWEEN));
    }
}

#[test]
fn each_bit_alone_stays_text() {
    // One in turn with the others, so that each comes to stand in many places.
    keep(&TOKENS.join(BETWEEN));
    keep("");
}

#[test]
fn escapes_in_headers_of_a_server_do_not_reach_the_terminal() {
    let mut probe = redirecting_probe();
    probe.fetches[0].server = Some("nginx\u{1b}]0;owned\u{7}".to_owned());
    probe.fetches[0].content_type = Some("text/html\u{9b}2J".to_owned());
    probe.redirects = vec!["/a\r\u{202e}b".to_owned()];
    let text = terminal::probe(&probe, URL);
    assert!(text.contains(r" of text/html\u009b2J from nginx\u001b]0;owned\u0007, "), "{text}");
    assert!(text.ends_with("  redirects to /a\\r\\u202eb\n"), "{text}");
}

#[test]
fn a_result_whose_name_is_a_formula_is_none_in_csv() {
    let run = valid_run();
    let csv = report::csv(&[Named { name: "=HYPERLINK(\"http://h/\")", record: AnyRecord::Run(&run) }]);
    assert!(csv.contains("\n\"'=HYPERLINK(\"\"http://h/\"\")\",valid,http://127.0.0.1:8080/,"), "{csv}");
}
