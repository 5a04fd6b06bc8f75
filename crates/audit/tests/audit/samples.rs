//! Files of samples: read line by line, whatever their size; forms that are not read are named.

use crate::support::state;
use audit::{Audited, BYTES_MAX, Context, Figure, SAMPLE_LINE_MAX, Unreadable, audit, audit_all};
use model::FindingState;
use std::io::{self, Read};
use std::path::Path;

const NONE: Context = Context {
    expect_size_bytes: None,
    nofile: None,
    cores: None,
    processes: None,
    processes_rate_per_s: None,
    workers_wanted: None,
    sockets: None,
};

fn read(text: &str) -> Audited {
    audit("samples", text.as_bytes(), &NONE).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(bytes: &[u8]) -> String {
    audit("samples", bytes, &NONE).map(|audited| audited.record).expect_err("it is not read").to_string()
}

fn figures<const N: usize>(audited: &Audited, figures: [Figure; N]) -> [Option<f64>; N] {
    figures.map(|figure| audited.claims.get(figure))
}

/// A request of k6 that ended `ms` after the begin.
fn point(metric: &str, ms: u64, value: f64, tags: &str) -> String {
    let time = format!("2026-01-02T03:{:02}:{:02}.{:03}+01:00", ms / 60_000, ms / 1000 % 60, ms % 1000);
    format!(r#"{{"metric":"{metric}","type":"Point","data":{{"time":"{time}","value":{value},"tags":{{{tags}}}}}}}"#)
        + "\n"
}

fn request(ms: u64, took_ms: f64, status: u16) -> String {
    let tags = format!(r#""method":"GET","status":"{status}","url":"http://127.0.0.1:8080/a?token=abcdef""#);
    point("http_reqs", ms, 1.0, &tags) + &point("http_req_duration", ms, took_ms, &tags)
}

/// What `--out json` wrote agrees with what the same run printed at its end.
#[test]
fn samples_of_k6_agree_with_its_summary() {
    let of = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/samples").join(name);
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        audit(name, &bytes, &NONE).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let counts = [Figure::Responses, Figure::BadStatus, Figure::Broken, Figure::Timeouts];
    let bad = of("k6-1.8-quarter-500.ndjson");
    assert_eq!(figures(&bad, counts), [Some(20.0), Some(5.0), Some(0.0), Some(0.0)]);
    let late = of("k6-1.8-dropped.ndjson");
    assert_eq!(figures(&late, counts), [Some(18.0), Some(0.0), Some(2.0), Some(2.0)]);
    // Its own mean has what came too late as if it had come.
    let mean = late.claims.get(Figure::LatencyMean).unwrap();
    assert!((3.68e6..3.70e6).contains(&mean), "{mean}");
    assert_eq!((late.record.unread_lines, late.claims.get(Figure::Connections)), (0, Some(3.0)));
}

#[test]
fn many_samples_are_one_result() {
    let lines: Vec<String> =
        (0..20_000_u64).map(|n| request(3 * n + 10, 10.0, if n % 4 == 0 { 503 } else { 200 })).collect();
    let file = lines.concat();
    assert!(file.len() > BYTES_MAX);
    let audited = read(&file);
    let [responses, bad, mean, duration] =
        figures(&audited, [Figure::Responses, Figure::BadStatus, Figure::LatencyMean, Figure::Duration]);
    assert_eq!([responses, bad, mean], [Some(20_000.0), Some(5_000.0), Some(10e6)]);
    assert_eq!(duration, Some(59.997e9 + 10e6), "from the begin of the first to the end of the last");
    assert_eq!(audited.record.status, [(200, 15_000), (503, 5_000)].into());
    assert_eq!(state(&audited.record.verdict, "ER-01"), Some(FindingState::Invalid));
    assert_eq!(audited.record.unread_lines, 0);
    let url = audited.record.url.expect("all have one");
    assert!(!url.contains("abcdef"), "{url}");
}

#[test]
fn a_command_may_stand_above_samples_and_the_last_may_be_cut() {
    let file: String = (0..40).map(|n| request(n * 1000, 100.0, 200)).collect();
    let cut = &file[..file.len() - 30];
    let audited = read(&format!("$ k6 run --out json=/dev/stdout --vus 4 --duration 40s load.js\n\n{cut}"));
    assert_eq!(audited.record.command.as_deref(), Some("k6 run --out json=/dev/stdout --vus 4 --duration 40s load.js"));
    assert_eq!(audited.record.unread_lines, 1, "the cut one");
    assert_eq!(figures(&audited, [Figure::Responses, Figure::Connections]), [Some(40.0), Some(4.0)]);
}

#[test]
fn requests_of_k6_without_an_answer_are_broken() {
    let ended = |status: &str, more: &str| point("http_reqs", 5_000, 1.0, &format!(r#""status":"{status}"{more}"#));
    let late = ended("0", r#","error":"request timeout","error_code":"1050""#);
    let refused = ended("0", r#","error":"dial: connection refused","error_code":"1212""#);
    let audited =
        read(&[request(0, 1.0, 200), late, refused.repeat(2), point("dropped_iterations", 6_000, 7.0, "")].concat());
    let expected = [Some(1.0), Some(3.0), Some(1.0), Some(7.0)];
    assert_eq!(figures(&audited, [Figure::Responses, Figure::Broken, Figure::Timeouts, Figure::Dropped]), expected);
}

#[test]
fn without_statuses_k6_tells_what_failed() {
    let request = |n: u64| {
        let failed = if n.is_multiple_of(10) { 1.0 } else { 0.0 };
        point("http_reqs", n, 1.0, "")
            + &point("http_req_duration", n, 2.0, "")
            + &point("http_req_failed", n, failed, "")
    };
    let audited = read(&(0..100).map(request).collect::<String>());
    assert_eq!(
        figures(&audited, [Figure::Responses, Figure::BadOrBroken, Figure::Redirects]),
        [Some(90.0), Some(10.0), None]
    );
    assert_eq!(audited.record.failed_share, Some(0.1));
}

const HEADER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                      sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n";

/// Rows of JMeter, one a second.
fn rows(rows: &[&str]) -> String {
    let row = |(n, row): (usize, &&str)| {
        let [code, message, success, failure] = row.split('|').collect::<Vec<_>>()[..] else { panic!("{row}") };
        format!(
            "{},100,home,{code},{message},T 1-1,text,{success},{failure},1200,130,4,4,http://127.0.0.1:8080/,90,0,1\n",
            1_700_000_000_000_u64 + 1000 * n as u64
        )
    };
    rows.iter().enumerate().map(row).collect()
}

#[test]
fn samples_of_jmeter_are_told_apart() {
    let body = rows(&[
        "200|OK|true|",
        "503|Service Unavailable|false|",
        "200|OK|false|\"Test failed: text expected to contain /a, \"\"b\"\"\nand more/\"",
        "Non HTTP response code: java.net.SocketTimeoutException|Non HTTP response message: Read timed out|false|",
        "Non HTTP response code: java.net.ConnectException|Non HTTP response message: Connection refused|false|",
        "200|\"Number of samples in transaction : 5, number of failing samples : 4\"|false|",
        "|OK|true|",
    ]);
    let audited = read(&format!("{HEADER}{body}{HEADER}"));
    let expected = [Some(4.0), Some(2.0), Some(2.0), Some(1.0), Some(4.0), Some(6.1e9)];
    let all =
        [Figure::Responses, Figure::BadStatus, Figure::Broken, Figure::Timeouts, Figure::Connections, Figure::Duration];
    assert_eq!(figures(&audited, all), expected, "{:#?}", audited.claims);
    assert_eq!((audited.record.unread_lines, audited.record.tool.as_str()), (0, "jmeter"));
    let remedy =
        &audited.record.verdict.findings.iter().find(|finding| finding.rule == "ER-01").expect("failures").remedy;
    assert!(remedy.contains("refused") && remedy.contains("too late"), "{remedy}");
    let tabs = format!("{HEADER}{}", rows(&["200|OK|true|", "200|OK|true|"])).replace(',', "\t");
    assert_eq!(read(&tabs).claims.get(Figure::Responses), Some(2.0));
}

#[test]
fn other_forms_of_jmeter_are_named() {
    let xml =
        refused(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n<httpSample t=\"5\"/>\n");
    assert_eq!(
        xml,
        "it is of jmeter, in XML, which is not read: save it as CSV (-Jjmeter.save.saveservice.output_format=csv)"
    );
    assert!(
        refused(rows(&["200|OK|true|"; 3]).as_bytes()).contains("of jmeter, but the header `timeStamp,elapsed,...`")
    );
    let dates = format!("{HEADER}{}", rows(&["200|OK|true|"; 3]).replace("17000000", "2023/11/"));
    assert!(refused(dates.as_bytes()).contains("of jmeter, but samples, `timeStamp` in ms"));
}

fn gatling(version: &str, user: &str) -> String {
    let begin = 1_700_000_000_000_u64;
    let mut log = format!("RUN\tload.Load\tload\t{begin}\t \t{version}\nUSER\tScenario{user}\tSTART\t{begin}\n");
    for n in 0..100 {
        let from = begin + 100 * n;
        let ended = match n % 10 {
            0 => "KO\tstatus.find.is(200), but actually found 403",
            5 => "KO\tj.n.ConnectException: Connection refused",
            _ => "OK\t ",
        };
        log += &format!("REQUEST{user}\t\tGET /\t{from}\t{}\t{ended}\n", from + 20);
    }
    log + "ERROR\tsomething\t1700000000000\n"
}

#[test]
fn logs_of_gatling_3_are_read() {
    for log in
        [gatling("3.3.1", "\t1"), gatling("3.10.5", ""), format!("ASSERTION\tAAECAA==\n{}", gatling("3.9.0", ""))]
    {
        let audited = read(&log);
        let all = [Figure::Responses, Figure::BadStatus, Figure::Broken, Figure::Duration, Figure::LatencyMean];
        assert_eq!(figures(&audited, all), [Some(90.0), Some(10.0), Some(10.0), Some(9.92e9), Some(20e6)]);
        assert_eq!(audited.record.unread_lines, 0);
        assert_eq!(state(&audited.record.verdict, "ER-08"), Some(FindingState::Invalid), "403");
    }
}

#[test]
fn other_logs_of_gatling_are_named() {
    assert!(refused(gatling("2.3.1", "\t1").as_bytes()).contains("of gatling, but lines of version 3"));
    let binary = [&[0, 0, 0, 0, 6][..], b"3.13.1", &[0; 300]].concat();
    assert!(refused(&binary).starts_with("it is of gatling, in the binary form of 3.13 and later"));
}

#[test]
fn what_never_ends_is_refused() {
    let endless = |begin: &str| {
        let input = io::Cursor::new(begin.to_owned()).chain(io::repeat(b'a'));
        audit_all("samples", input, &NONE).map(|parts| parts.len()).expect_err("it never ends")
    };
    assert_eq!(endless(HEADER), Unreadable::LongLine);
    assert_eq!(endless("Running 1s test @ http://h/\n"), Unreadable::TooLarge);
    let open = format!("{HEADER}1,2,\"{}", "a\n".repeat(SAMPLE_LINE_MAX));
    assert!(audit("samples", open.as_bytes(), &NONE).is_err(), "quotes that nobody closes");
}

/// A file that cannot be read on.
struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn an_error_on_the_way_is_told() {
    for begin in [HEADER, "Running 1s test @ http://h/\n"] {
        let error = audit_all("samples", begin.as_bytes().chain(Failing), &NONE).expect_err("it fails");
        assert_eq!(error, Unreadable::NotRead { error: "the disk is gone".to_owned() });
    }
}
