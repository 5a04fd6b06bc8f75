//! `plimsoll check`: what it asks beside this machine and the target.

use crate::support::{BrokenServer, plimsoll, text};
use serde_json::Value;

/// As nginx says it.
const STUB_STATUS: &str =
    "Active connections: 1 \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 0 \n";

#[test]
fn a_status_page_is_checked() {
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{STUB_STATUS}", STUB_STATUS.len());
    let (known, unknown) =
        (BrokenServer::saying(answer), BrokenServer::saying("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    let (good, typo) = (known.url("/nginx_status"), unknown.url("/typo"));
    // What else is found of this machine decides the exit code.
    let record = plimsoll(["check", "--json", "--status", &good, "--status", &typo]).run().json();
    let rows: Vec<&Value> = record["rows"].as_array().expect("a list").iter().collect();
    let found = |url: &str| {
        let of_page = |row: &&&Value| row["what"] == "status page" && text(row, "found").starts_with(url);
        let row = rows.iter().find(of_page).unwrap_or_else(|| panic!("nobody asked {url}: {record:#}"));
        (text(row, "rule"), text(row, "state"), text(row, "found"))
    };
    let (rule, state, told) = found(&good);
    assert!((rule, state) == ("ER-07", "fine") && told.contains("nginx tells"), "{told}");
    let (rule, state, told) = found(&typo);
    assert!((rule, state) == ("ER-07", "unavailable") && told.contains("no such page (404)"), "{told}");
}
