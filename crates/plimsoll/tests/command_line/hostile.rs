//! Servers and results that would act on whoever looks at them: in the terminal, in the next request, on other hosts.

use crate::support::{BrokenServer, Peer, count, plimsoll, shell, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that answers each request with `answer`, and how often something of `words` was in a request.
fn asked_for(answer: String, words: &'static str) -> (BrokenServer, Arc<AtomicU64>) {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let server = BrokenServer::start(move |peer: &mut Peer| {
        while let Some(request) = peer.request() {
            count.fetch_add(u64::from(request.contains(words)), Ordering::Relaxed);
            peer.send(answer.as_bytes());
        }
    });
    (server, seen)
}

/// True if a terminal would act on it.
fn acts(c: char) -> bool {
    (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn control_characters_in_headers_of_a_server_are_shown_and_do_not_act() {
    let headers = "Server: \u{1b}]0;owned\u{7}\r\nContent-Type: text/\u{9b}2J\u{202e}\r\nContent-Length: 1";
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: /\u{1b}[8m\r\n{headers}\r\n\r\nx");
    let (server, _) = asked_for(answer, "");
    let url = server.url("/");
    let refused = plimsoll(["run", &url, "-n", "500"]).run();
    assert!(
        refused.exits(3).stderr.contains("a redirect to http://") && !refused.stderr.contains(acts),
        "{refused:#?}"
    );
    let expected = ["--expect", "status=302"];
    let ended =
        plimsoll(["run", &url, "-n", "500", "-c", "2", "--warmup", "0s", "-v"].into_iter().chain(expected)).run();
    ended.measured();
    for shown in [r"\u001b]0;owned\u0007", r"text/\u009b2J\u202e", r"/\u001b[8m"] {
        assert!(ended.stderr.contains(shown), "{shown}: {ended:#?}");
    }
    assert!(!ended.stdout.contains(acts) && !ended.stderr.contains(acts), "{ended:#?}");
}

#[test]
fn control_characters_in_a_foreign_result_do_not_act_in_any_format() {
    let (server, _) = asked_for(HELLO.to_owned(), "");
    let script = format!(
        r#""$PLIMSOLL" run '{}' -n 500 -c 2 --warmup 0s -q --json -o a >/dev/null
        mkdir b
        sed 's|"url": "[^"]*"|"url": "=1+1\\u001b[2J\\u009b2J\\u202e<script>alert(1)</script>"|' a/run.json >b/run.json
        cat b/run.json >made
        for format in text json markdown csv; do "$PLIMSOLL" report b --format $format >$format; done
        "$PLIMSOLL" report b --format html >path && mv b/report.html page"#,
        server.url("/")
    );
    let ended = shell(&script).run();
    ended.exits(0);
    assert!(ended.file("made").contains("u001b[2J"), "the record was changed: {ended:#?}");
    for format in ["text", "json", "markdown", "csv"] {
        let written = ended.file(format);
        assert!(written.contains("u001b") && !written.contains(acts), "{format}: {written}");
    }
    assert!(ended.file("csv").contains(",'=1+1"), "no formula: {}", ended.file("csv"));
    assert!(!ended.file("markdown").contains("<script>"));
    assert!(!ended.file("page").contains("<script>alert"));
}

#[test]
fn a_carriage_return_in_a_location_is_not_sent_on() {
    let answer = "HTTP/1.1 302 Found\r\nLocation: /next\rX-Evil: 1\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (server, seen) = asked_for(answer, "X-Evil");
    let ended = plimsoll([
        "run",
        &server.url("/"),
        "-n",
        "500",
        "-c",
        "2",
        "--warmup",
        "0s",
        "--json",
        "--expect",
        "status=302",
    ])
    .run();
    assert_eq!(count(&ended.measured().json(), "requests.completed"), 500);
    assert_eq!(seen.load(Ordering::Relaxed), 0, "it is no part of the next request");
}

#[test]
fn check_asks_no_other_host_that_a_redirect_names() {
    let (elsewhere, asked) = asked_for(HELLO.to_owned(), "");
    // The same server by another name: what it is called decides, not where that leads.
    let there = elsewhere.url("/inside").replace("127.0.0.1", "localhost");
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n");
    let (server, _) = asked_for(answer, "");
    let ended = plimsoll(["check", &server.url("/"), "--json"]).run();
    let record = ended.exits(4).json();
    assert_eq!(asked.load(Ordering::Relaxed), 0, "{record:#}");
    let rows = record["rows"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["what"] == "redirect").expect("a row of it");
    let origin = there.trim_end_matches("/inside");
    assert!(text(row, "found").contains(&format!("({origin} was not asked")), "{row:#}");
    assert!(text(row, "remedy").contains(&there), "where to look: {row:#}");
    assert!(record["target"]["canonical_url"].is_null());
}
