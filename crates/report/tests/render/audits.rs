//! Audits against stored text: the records are what `plimsoll audit --json` has printed.

use crate::golden::{NARROW, WIDE, golden};
use model::{AuditRecord, AuditsRecord};
use report::{json, terminal};

const ONE: &str = include_str!("fixtures/audit.json");
const TABLE: &str = include_str!("fixtures/audit_table.json");
const SEVERAL: &str = include_str!("fixtures/audits.json");

fn one(text: &str) -> AuditRecord {
    serde_json::from_str(text).expect("a record")
}

fn several() -> AuditsRecord {
    serde_json::from_str(SEVERAL).expect("records")
}

#[test]
fn an_output() {
    golden("audit", &terminal::audit(&one(ONE), &WIDE));
    golden("audit_40", &terminal::audit(&one(ONE), &NARROW));
    golden("audit_table", &terminal::audit(&one(TABLE), &WIDE));
}

#[test]
fn several_outputs_and_a_text() {
    golden("audits", &terminal::audits(&several(), &WIDE));
    golden("audits_40", &terminal::audits(&several(), &NARROW));
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    assert_eq!(json::audit(&one(ONE)), ONE);
    assert_eq!(json::audits(&several()), SEVERAL);
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 120] {
        let style = terminal::Style { width, colour: false, verbose: false };
        let texts = [terminal::audit(&one(ONE), &style), terminal::audits(&several(), &style)];
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}
