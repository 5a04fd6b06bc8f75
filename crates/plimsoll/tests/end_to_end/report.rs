//! Results shown again: the page beside every result, and `plimsoll report`.

use crate::support::{Target, installed, number, plimsoll, shell};
use serde_json::{Value, json};

#[test]
fn a_result_has_its_page_and_is_shown_in_every_format() {
    let target = Target::start(&[]);
    let script = format!(
        "set -e
        \"$PLIMSOLL\" run '{}' -n 3000 -c 2 --warmup 0s -q -v -o a >text || true
        cp -r a b; rm a/report.html b/latency.hlog
        \"$PLIMSOLL\" report a >a.text
        \"$PLIMSOLL\" report a -v >a.verbose
        \"$PLIMSOLL\" report a --format html >path
        \"$PLIMSOLL\" report a b --format html >>path
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
    let told = ended.file("a.text");
    assert!(told.starts_with(&ended.file("text.one")) && told.ends_with("\npage: a/report.html\n"), "{told}");
    assert_eq!(ended.file("a.verbose"), told);
    let (written, again) = (ended.file("b/report.html"), ended.file("a/report.html"));
    assert!(written.contains("<h3>Latency by percentile</h3>"), "the histograms are in the page");
    assert_eq!(written.len(), again.len(), "the page of a run and that of `report` differ");
    let both = ended.file("report.html");
    assert!(both.contains("2 results side by side") && both.contains("<code>b/run.json</code>"));
    assert_eq!(both.matches("<h3>Latency by percentile</h3>").count(), 1, "the histograms of b are gone");
    let json: Value = serde_json::from_str(&ended.file("both.json")).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    assert!(ended.file("markdown.one").starts_with("| result | verdict |"));
    assert_eq!(ended.file("csv.one").lines().count(), 2);
}

/// Whatever was measured of two pools: how near it is to the truth others decide, and this machine.
#[test]
fn two_sweeps_show_both_peaks_side_by_side() {
    let (small, large) =
        (Target::start(&["--pool", "2", "--pool-time", "2ms"]), Target::start(&["--pool", "4", "--pool-time", "2ms"]));
    let size = "--from 1 --to 16 --points 3 --iterations 1 -d 400ms --warmup 100ms --json -q";
    let script = format!(
        "\"$PLIMSOLL\" sweep '{}' {size} -o small >small.json
        \"$PLIMSOLL\" sweep '{}' {size} -o large >large.json
        set -e
        \"$PLIMSOLL\" report small large --format html >path
        for format in text markdown csv; do \"$PLIMSOLL\" report small large --format $format >$format.both; done",
        small.url("/pool"),
        large.url("/pool")
    );
    let ended = shell(&script).run();
    ended.exits(0);
    let mut sweeps = ["small", "large"].map(|name| {
        let record: Value = serde_json::from_str(&ended.file(&format!("{name}.json"))).expect("JSON");
        record
    });
    for (sweep, name) in sweeps.iter().zip(["small", "large"]) {
        let shown = model::human::rate(number(sweep, "peak.goodput_per_s"));
        for (format, line) in [("text", format!(" {name} ")), ("markdown", format!("| {name} | "))] {
            let text = ended.file(&format!("{format}.both"));
            let row = text.lines().find(|text| text.contains(&line)).unwrap_or_else(|| panic!("{name}: {text}"));
            assert!(row.contains(&shown), "{shown}: {row}");
        }
    }
    assert_eq!(ended.file("path"), "report.html\n");
    let page = ended.file("report.html");
    assert!(page.contains("<h3>Sweeps</h3>") && page.contains("no paired comparison"));
    assert_eq!(page.matches("<h2>Goodput by connections</h2>").count(), 3, "one of both, and one of each");
    assert!(!page.contains("Not to be held against"), "both were loaded alike");

    // The same as arms of one record.
    for (sweep, label) in sweeps.iter_mut().zip(["pool of 2", "pool of 4"]) {
        sweep["arm"] = label.into();
    }
    let verdict = json!({"state": "invalid", "findings": [], "unchecked": []});
    let record = json!({
        "format": "plimsoll.sweeps/1", "verdict": verdict, "sweeps": sweeps, "started": "", "interrupted": false
    });
    let stored = record.to_string();
    let csv = plimsoll(["report", ".", "--format", "csv"]).with_file("run.json", stored.as_bytes()).run();
    let rows = csv.exits(0).stdout.lines().count();
    assert_eq!(rows, ended.file("csv.both").lines().count());
    assert!(csv.stdout.contains(",pool of 2\n") && csv.stdout.contains(",pool of 4\n"), "{csv:#?}");
    let shown = plimsoll(["report", "."]).with_file("run.json", stored.as_bytes()).run();
    assert!(shown.exits(0).stdout.ends_with("\npage: ./report.html\n"), "{shown:#?}");
    let page = shown.file("report.html");
    assert!(page.contains("<h1>pool of 4</h1>") && page.contains("href=\"arms/2-pool-of-4/run.json\""));
}

#[test]
fn what_is_no_result_is_one_line_and_a_usage_error() {
    plimsoll(["report", "nowhere"]).run().fails(2, &["nowhere", "no such directory"]);
    plimsoll(["report", "."]).run().fails(2, &["not a run directory"]);
    plimsoll(["report", "."]).with_file("events.jsonl", b"").run().fails(2, &["the result is missing"]);
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

/// The script that draws is written without being held.
#[test]
fn a_page_takes_no_more_memory_than_its_text() {
    const SCRIPT_KB: u64 = 440;
    let target = Target::start(&[]);
    let time = installed("time", "time");
    let script = format!(
        "set -e
        \"$PLIMSOLL\" run '{}' -n 3000 -c 2 --warmup 0s -q --json -o a >record || true
        for format in html markdown; do {time} -f %M -o $format.kb \"$PLIMSOLL\" report a --format $format >$format; done",
        target.url("/bytes/64"),
        time = time.display(),
    );
    let ended = shell(&script).run();
    ended.exits(0);
    let peak_kb = |format: &str| -> u64 { ended.file(&format!("{format}.kb")).trim().parse().expect("a number") };
    let (page, table) = (peak_kb("html"), peak_kb("markdown"));
    assert!(ended.file("a/report.html").len() as u64 > SCRIPT_KB << 10, "the page has its script");
    // The code that makes a page takes some memory as well, without optimisation the more.
    assert!(page < table + 20 * SCRIPT_KB, "{page} KB for a page, {table} KB for a table");
}
