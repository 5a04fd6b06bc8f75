//! What cannot be read whole is told, never guessed.

use crate::support::{bytes, folder, plain};
use audit::{Audited, Context, Unreadable, audit, audit_all};

#[track_caller]
fn refused(bytes: &[u8], parts: &[&str]) {
    let error = audit("-", bytes, &Context::default()).map(|audited| audited.record).expect_err("it is unreadable");
    let said = error.to_string();
    for part in parts {
        assert!(said.contains(part), "{part:?} is not in {said:?}");
    }
    assert!(!said.contains('\n'), "{said:?}");
}

fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

#[test]
fn a_cut_output_names_what_is_missing() {
    let wrk = text("wrk.txt");
    let cut = &wrk[..wrk.find("Requests/sec:").unwrap()];
    refused(cut.as_bytes(), &["of wrk", "`Requests/sec:`", "read: ", "duration_ns", "cut off"]);
    let cut = &wrk[..wrk.find("  199725").unwrap()];
    refused(cut.as_bytes(), &["of wrk", "`N requests in TIME`"]);
    refused(text("vegeta.txt").split("Status Codes").next().unwrap().as_bytes(), &["of vegeta", "Status Codes"]);
    refused(text("hey.txt").split("Status code").next().unwrap().as_bytes(), &["of hey", "Status code distribution"]);
    refused(text("httperf.txt").split("Errors:").next().unwrap().as_bytes(), &["of httperf", "`Errors: total`"]);
    refused(&bytes("oha.json")[..300], &["JSON", "cut off"]);
}

/// Prefixes of a long output.
const PREFIXES: usize = 400;

#[test]
fn every_prefix_of_every_output_is_read_or_refused_without_a_panic() {
    for entry in std::fs::read_dir(folder()).expect("fixtures") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a fixture");
        // Of long ones not so many, as each is read from its begin.
        for end in (0..bytes.len()).step_by(7.max(bytes.len() / PREFIXES)) {
            let _ = audit("-", &bytes[..end], &Context::default());
        }
    }
}

#[test]
fn a_translated_output_is_refused() {
    let german = text("ab.txt").replace("Requests per second:", "Anfragen pro Sekunde:");
    refused(german.as_bytes(), &["of ab", "`Requests per second:`", "translated"]);
    let comma = text("wrk.txt").replace("32898.45", "32898,45");
    refused(comma.as_bytes(), &["of wrk", "`Requests/sec:`"]);
}

/// Name of an output in a text, and its tool and throughput or why it cannot be read.
type Found = (String, Result<(String, f64), Unreadable>);

fn found(text: &str) -> Vec<Found> {
    let parts = audit_all("log", text.as_bytes(), &Context::default()).expect("outputs");
    let told = |one: Audited| (one.record.tool, one.record.throughput_per_s.unwrap_or(0.0).round());
    parts.into_iter().map(|part| (part.source, part.audited.map(told))).collect()
}

#[test]
fn outputs_in_one_file_are_read_each_by_itself() {
    let alone = |name: &str| found(&text(name)).remove(0).1.unwrap();
    for names in [
        ["wrk.txt", "wrk-minutes.txt"],
        ["hey.txt", "ab.txt"],
        ["wrk2.txt", "wrk.txt"],
        ["hey.txt", "oha.txt"],
        ["autocannon.txt", "wrk.txt"],
        ["ab.txt", "ab-errors.txt"],
        ["httperf.txt", "blog-get-httperf.txt"],
        ["k6.txt", "k6-new.txt"],
        ["vegeta.json", "vegeta.json"],
        ["wrk.txt", "oha.json"],
        ["siege.txt", "siege-404.txt"],
    ] {
        let both = format!("{}\n$ echo next\n{}", text(names[0]), text(names[1]));
        let read: Vec<_> = found(&both).into_iter().map(|(_, audited)| audited.unwrap()).collect();
        assert_eq!(read, names.map(alone), "{names:?}");
    }
    let sources: Vec<String> =
        found(&format!("{}\n{}", text("wrk.txt"), text("wrk.txt"))).into_iter().map(|(source, _)| source).collect();
    assert_eq!(sources, ["log:1", "log:15"]);
}

#[test]
fn an_output_that_is_cut_leaves_the_others_as_they_are() {
    let cut = text("wrk.txt").split("Requests/sec").next().unwrap().to_owned();
    let read = found(&format!("{cut}\n{}", text("wrk-minutes.txt")));
    assert!(matches!(read[0].1, Err(Unreadable::Incomplete { .. })), "{read:?}");
    assert_eq!(read[1].1, Ok(("wrk".to_owned(), 20_650.0)));
}

#[test]
fn what_an_old_version_does_not_print_is_not_known() {
    let old: String =
        text("k6.txt").lines().filter(|line| !line.contains("http_req_failed")).collect::<Vec<_>>().join("\n");
    let record = audit("-", old.as_bytes(), &Context::default()).unwrap().record;
    assert!(record.goodput_per_s.is_none() && record.throughput_per_s.is_some(), "{record:?}");
    assert!(record.verdict.unchecked.contains(&"ER-01".to_owned()));
}

#[test]
fn what_no_known_tool_printed_is_refused() {
    refused(b"Gatling says: 42 requests per second\n", &["Gatling says", "wrk, wrk2, ab"]);
    refused(b"{\"wrkbench\": 1, \"fun\": 2}", &["wrkbench", "no tool that is known"]);
    refused(b"", &["empty"]);
    refused(&[0x89, b'P', b'N', b'G', 0, 0], &["no text"]);
    refused(&vec![b'x'; audit::BYTES_MAX + 1], &["more than", "samples"]);
    refused(b"curl -H 'Cookie: sid=1' http://u:p@h/", &["<redacted>"]);
}

#[test]
fn colours_and_line_ends_do_not_matter() {
    let expected = plain("wrk.txt").record;
    let text = text("wrk.txt");
    let crlf = text.replace('\n', "\r\n");
    let coloured =
        text.replace("Requests/sec:", "\u{1b}[1mRequests/sec:\u{1b}[0m").replace("Running", "\u{1b}[32mRunning");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [crlf.into_bytes(), coloured.into_bytes(), utf16, format!("\u{feff}{text}").into_bytes()] {
        assert_eq!(audit("wrk.txt", &bytes, &Context::default()).unwrap().record, expected);
    }
}

#[test]
fn text_round_an_output_is_counted_and_not_read() {
    let page = format!("My results are great: 1000000 requests in 1.00s!\n\n{}\nThe end.\n", text("wrk.txt"));
    let record = audit("-", page.as_bytes(), &Context::default()).unwrap().record;
    assert_eq!(record.unread_lines, 2);
    assert_eq!(record.throughput_per_s, plain("wrk.txt").record.throughput_per_s);
}

/// What would take minutes if it took more than one pass.
#[test]
fn large_hostile_files_are_read_once() {
    for part in [
        "token=a&",
        "load,rps\n",
        "1,2\n",
        "http://a@",
        "Summary:\n",
        "Cookie: a",
        "{",
        "\u{1b}[",
        "| a ",
        "{}",
        "{}\n",
    ] {
        let bytes = part.repeat(audit::BYTES_MAX / part.len());
        assert!(audit("-", bytes.as_bytes(), &Context::default()).is_err(), "{part}");
    }
    // More results than anybody has, each of which can be read.
    let known = "{\"latencies\":{},\"status_codes\":{\"200\":1},\"duration\":1,\"rate\":1}\n";
    let error = audit("-", known.repeat(audit::BYTES_MAX / known.len()).as_bytes(), &Context::default()).unwrap_err();
    assert!(matches!(error, Unreadable::Several { .. } | Unreadable::SeveralJson), "{error}");
    let output = format!("{}{}\n", text("wrk-minutes.txt"), "token=a&".repeat(100_000));
    assert!(audit("-", output.as_bytes(), &Context::default()).is_ok());
}

#[test]
fn no_requests_at_all_are_invalid_and_no_division() {
    let none = "Running 3s test @ http://127.0.0.1:1/\n  1 threads and 10 connections\n  \
                Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     0.00us    0.00us   0.00us    -nan%\n    \
                Req/Sec     0.00      0.00     0.00      -nan%\n  0 requests in 3.00s, 0.00B read\n\
                Requests/sec:      0.00\nTransfer/sec:       0.00B\n";
    let record = audit("-", none.as_bytes(), &Context::default()).unwrap().record;
    assert_eq!(record.goodput_per_s.map(|goodput| goodput.value), Some(0.0));
    assert!(record.verdict.findings.iter().any(|finding| finding.message == "no request was answered"));
}

#[test]
fn refusals_are_told_apart() {
    let error = |bytes: &[u8]| audit("-", bytes, &Context::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error(b"x"), Unreadable::Unknown { .. }));
    assert!(matches!(error(b"{"), Unreadable::BrokenJson { .. }));
    assert!(matches!(error(b"[] []"), Unreadable::SeveralJson));
}

/// A key with a line end made the message two lines; fuzzing found it.
#[test]
fn keys_of_json_are_told_in_one_line_without_their_secrets() {
    let text = "{\"a\\nAuthorization: Basic dXNlcjpub3RzZWNyZXQ=\\nb\": 1, \"c\": 2}";
    let error = audit("-", text.as_bytes(), &Context::default()).unwrap_err().to_string();
    assert!(!error.contains(['\n', '\u{1b}']) && !error.contains("dXNlcjpub3RzZWNyZXQ="), "{error}");
    assert!(error.contains(", c, which is of no tool"), "{error}");
}
