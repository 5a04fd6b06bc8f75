//! Results shown again: the page beside every result, and `plimsoll report`.

use crate::support::{Target, load_alone, plimsoll, shell};
use serde_json::Value;

#[test]
fn a_result_has_its_page_and_is_shown_in_every_format() {
    let _alone = load_alone();
    let target = Target::start(&[]);
    let script = format!(
        "set -e
        \"$PLIMSOLL\" run '{}' -n 3000 -c 2 --warmup 0s -q -o a >text || true
        cp -r a b; rm a/report.html b/latency.hlog
        \"$PLIMSOLL\" report a >path
        \"$PLIMSOLL\" report a b >>path
        for format in text json markdown csv; do \"$PLIMSOLL\" report a --format $format >$format.one; done
        \"$PLIMSOLL\" report a b --format json -o both.json",
        target.url("/bytes/64")
    );
    let ended = shell(&script).run();
    ended.exits(0);
    let text = ended.file("text");
    assert!(text.ends_with("\nrecord: a\npage: a/report.html\n"), "{text}");
    assert!(text.starts_with(&ended.file("text.one")), "{text}");
    assert_eq!(ended.file("json.one"), ended.file("a/run.json"));
    assert_eq!(ended.file("path"), "a/report.html\nreport.html\n");
    let (written, again) = (ended.file("b/report.html"), ended.file("a/report.html"));
    assert!(written.contains("<h2>Latency by percentile</h2>"), "the histograms are in the page");
    assert_eq!(written.len(), again.len(), "the page of a run and that of `report` differ");
    let both = ended.file("report.html");
    assert!(both.contains("2 results side by side") && both.contains("<code>b/run.json</code>"));
    assert_eq!(both.matches("<h2>Latency by percentile</h2>").count(), 1, "the histograms of b are gone");
    let json: Value = serde_json::from_str(&ended.file("both.json")).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    assert!(ended.file("markdown.one").starts_with("| result | verdict |"));
    assert_eq!(ended.file("csv.one").lines().count(), 2);
}

#[test]
fn what_is_no_result_is_one_line_and_a_usage_error() {
    plimsoll(["report", "nowhere"]).run().fails(2, &["nowhere", "no such directory"]);
    plimsoll(["report", "."]).run().fails(2, &["not a run directory"]);
    plimsoll(["report", "."]).with_file("events.jsonl", b"").run().fails(2, &["did not end"]);
    let newer = br#"{"format":"plimsoll.run/2"}"#;
    plimsoll(["report", "."]).with_file("run.json", newer).run().fails(2, &["plimsoll.run/2", "plimsoll.run/1"]);
    plimsoll(["report", "."]).with_file("run.json", b"{}").run().fails(2, &["not of plimsoll"]);
    let newer = br#"{"format":"plimsoll.sweep/9"}"#;
    plimsoll(["report", "."]).with_file("run.json", newer).run().fails(2, &["plimsoll.sweep/9", "plimsoll.sweep/1"]);
    plimsoll(["report", "."]).with_file("run.json", b"\xff\xfe{").run().fails(2, &["run.json", "UTF-8"]);
    plimsoll(["report", "run.json"]).with_file("run.json", b"{}").run().fails(2, &["run.json", "not a directory"]);
    plimsoll(["report"]).run().exits(2);
}

/// A disk that was full, a copy that broke off, a file edited by hand: whatever is left of a record is never half shown.
#[test]
fn a_damaged_result_is_one_line_in_every_format_and_writes_nothing() {
    let _alone = load_alone();
    let target = Target::start(&[]);
    let script = format!(
        "\"$PLIMSOLL\" run '{}' -n 300 -c 2 --warmup 0s --json -o good >/dev/null || true
        mkdir cut less other
        head -c 500 good/run.json >cut/run.json
        sed 's/\"requests\"/\"wishes\"/' good/run.json >less/run.json
        sed 's/plimsoll.run/someone.run/' good/run.json >other/run.json
        for format in html text json markdown csv; do
            for damaged in cut less other; do
                \"$PLIMSOLL\" report good $damaged --format $format >>stdout.all 2>>stderr.$damaged
                echo $? >>codes
            done
        done
        ls *.html */*.html >pages 2>/dev/null",
        target.url("/bytes/64")
    );
    let ended = shell(&script).run();
    assert_eq!(ended.file("codes"), "2\n".repeat(15), "{ended:#?}");
    assert_eq!((ended.file("stdout.all"), ended.file("pages")), (String::new(), String::new()));
    for (damaged, reason) in [
        ("cut", "its run.json is no JSON"),
        ("less", "its run.json is no complete plimsoll.run/1: missing field `requests`"),
        ("other", "its run.json is not of plimsoll"),
    ] {
        let said = ended.file(&format!("stderr.{damaged}"));
        assert_eq!(said.lines().count(), 5, "{said}");
        for line in said.lines() {
            assert!(line.starts_with(&format!("plimsoll: {damaged}: {reason}")), "{line}");
        }
    }
}
