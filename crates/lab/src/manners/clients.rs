//! Clients of such a server: plimsoll, curl and wrk, and what each makes of it in a few words.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use super::server::Server;
use super::table::{Manner, Outcome, Request};
use crate::record::{count, findings};

/// Size of an upload: more than the buffers of a socket hold.
pub const UPLOAD_BYTES: usize = 4 << 20;
/// Requests of a plimsoll run.
const REQUESTS: u64 = 40;
/// When a client is ended that does not end by itself, in seconds.
const LIMIT_S: &str = "20";
/// Rules about responses, which must be silent where a server is understood.
const ABOUT_RESPONSES: &str = "ER-";
/// Reopened connections are no misunderstanding where the server closes them.
const ABOUT_REUSE: &str = "ER-09";

/// The clients, and what they send.
pub struct Clients {
    plimsoll: PathBuf,
    folder: TempDir,
}

/// What a client made of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// In words.
    pub words: String,
    /// True if it is what the table says.
    pub is_expected: bool,
}

impl Clients {
    /// Clients, the plimsoll under test among them.
    ///
    /// # Errors
    /// If the files that they read cannot be written.
    pub fn new(plimsoll: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("upload"), vec![b'x'; UPLOAD_BYTES])?;
        std::fs::write(folder.path().join("head.lua"), "wrk.method = 'HEAD'\n")?;
        let upload = format!("wrk.method = 'POST'\nwrk.body = string.rep('x', {UPLOAD_BYTES})\n");
        std::fs::write(folder.path().join("upload.lua"), upload)?;
        Ok(Self { plimsoll: plimsoll.to_owned(), folder })
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What plimsoll makes of a server.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn plimsoll(&self, manner: &Manner, server: &Server) -> Result<Made> {
        let n = REQUESTS.to_string();
        let mut command = limited(&self.plimsoll);
        // What it records goes with the folder.
        command.current_dir(self.folder.path());
        command.args(["run", &server.url(), "-c", "2", "-n", &n, "--warmup", "0s", "--timeout", "1500ms", "--json"]);
        let upload = format!("@{}", self.file("upload"));
        match manner.request {
            Request::Get => {}
            // As people type it: methods are case-sensitive (RFC 9110 section 9.1), and what is sent is HEAD.
            Request::Head => drop(command.args(["-m", "head"])),
            Request::Upload => drop(command.args(["-m", "POST", "-b", &upload])),
        }
        let output = output(command.args(manner.options))?;
        if output.status.code() == Some(3) {
            let said = refusal(&String::from_utf8_lossy(&output.stderr));
            let is_expected = matches!(manner.outcome, Outcome::Refused(words) if said.contains(words));
            return Ok(Made { words: format!("refused: {said}"), is_expected });
        }
        let record: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("no record: {}", String::from_utf8_lossy(&output.stderr)))?;
        Ok(of_record(&record, manner.outcome))
    }

    /// What curl makes of it, asking twice.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn curl(&self, manner: &Manner, server: &Server) -> Result<String> {
        let (url, upload) = (server.url(), format!("@{}", self.file("upload")));
        let mut command = limited(Path::new("curl"));
        command.args(["-sS", "-m", "1", "-w", "%{http_code} %{size_download} %{num_connects}\n"]);
        match manner.request {
            Request::Get => {}
            Request::Head => drop(command.arg("-I")),
            Request::Upload => drop(command.args(["-H", "Expect:", "--data-binary", &upload])),
        }
        let output = output(command.args(["-o", "/dev/null", &url, "-o", "/dev/null", &url]))?;
        let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Ok(of_curl(&said, &errors))
    }

    /// What wrk makes of it in a second.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn wrk(&self, manner: &Manner, server: &Server) -> Result<String> {
        let mut command = limited(Path::new("wrk"));
        // It takes no shorter timeout.
        command.args(["-t1", "-c2", "-d1s", "--timeout", "1s"]);
        match manner.request {
            Request::Get => {}
            Request::Head => drop(command.args(["-s", &self.file("head.lua")])),
            Request::Upload => drop(command.args(["-s", &self.file("upload.lua")])),
        }
        let before = server.connections();
        let output = output(command.arg(server.url()))?;
        if !output.status.success() {
            bail!("wrk ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(of_wrk(&String::from_utf8_lossy(&output.stdout), server.connections() - before))
    }
}

/// A command that ends.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT_S).arg(program).stdin(Stdio::null());
    command
}

fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().context("cannot start timeout(1)")?;
    match output.status.code() {
        Some(code @ 124..=127) => bail!("{:?} ended with {code} (124: it did not end)", command.get_args()),
        _ => Ok(output),
    }
}

/// The sentence of a refusal, without whom it is about.
fn refusal(errors: &str) -> String {
    let line = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let said =
        line.split_once("127.0.0.1:").map_or(line, |(_, rest)| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    said.trim().to_owned()
}

/// What a finding advises: where several advise the same, all but one of them name the one that says it.
fn remedy(finding: &Value, record: &Value) -> String {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let own = text(finding, "remedy");
    let other = own.strip_prefix("the same as for ").map(str::to_owned);
    let other = other.and_then(|rule| findings(record).iter().find(|finding| text(finding, "rule") == rule));
    other.map_or(own, |other| text(other, "remedy"))
}

/// What a record says, and whether it was to be expected.
fn of_record(record: &Value, outcome: Outcome) -> Made {
    let n = |path: &str| count(record, path);
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let about: Vec<&Value> = findings(record)
        .iter()
        .filter(|finding| text(finding, "rule").starts_with(ABOUT_RESPONSES) && finding["state"] != "note")
        .collect();
    let is_good = n("/requests/good") == REQUESTS && n("/requests/planned") == REQUESTS;
    let is_kept = n("/connections/reconnects") == 0;
    let understood = is_good && about.iter().all(|finding| !is_kept && text(finding, "rule") == ABOUT_REUSE);
    if understood {
        let words = if is_kept { "understood" } else { "understood; a connection each" };
        let is_expected =
            matches!((outcome, is_kept), (Outcome::Kept, true) | (Outcome::Good, false) | (Outcome::GoodEither, _));
        return Made { words: words.to_owned(), is_expected };
    }
    let mut words = String::new();
    let mut is_expected = false;
    for finding in about.iter().filter(|finding| text(finding, "rule") != ABOUT_REUSE) {
        let (rule, said) = (text(finding, "rule"), text(finding, "message") + "; " + &remedy(finding, record));
        is_expected |= matches!(outcome, Outcome::Finding(expected, part) if expected == rule && said.contains(part));
        // The first is what it is about.
        if words.is_empty() || matches!(outcome, Outcome::Finding(expected, _) if expected == rule) {
            words = format!("{rule}: {said}");
        }
    }
    if words.is_empty() {
        let (good, failures) = (n("/requests/good"), &record["requests"]["failures"]);
        words = format!("{good} of {REQUESTS} good, and no word: {failures}");
    }
    Made { words, is_expected }
}

/// Of two lines `status bytes connects`, and what it complains of.
fn of_curl(said: &str, errors: &str) -> String {
    if let Some(error) = errors.lines().find_map(|line| line.strip_prefix("curl: ")) {
        return error.to_owned();
    }
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    match lines.as_slice() {
        [first, second] if first.len() == 3 && second.len() == 3 => {
            let kept = if second[2] == "0" { "" } else { "; a connection each" };
            format!("{}, {} bytes{kept}", first[0], first[1])
        }
        _ => "it says nothing".to_owned(),
    }
}

/// Of its report, and the connections that the server saw.
fn of_wrk(said: &str, connections: u64) -> String {
    let number = |line: &str, word: &str| -> u64 {
        let at = line.split_once(word).map_or("", |(_, rest)| rest);
        at.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
    };
    let line = |part: &str| said.lines().find(|line| line.contains(part)).unwrap_or_default();
    let requests: u64 =
        line(" requests in ").split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or_default();
    let errors = line("Socket errors:");
    let kinds = ["connect", "read", "write", "timeout"].map(|kind| (kind, number(errors, kind)));
    let errors: u64 = kinds.iter().map(|(_, n)| n).sum();
    let named: Vec<&str> = kinds.iter().filter(|(_, n)| *n > 0).map(|(kind, _)| *kind).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({} errors)", named.join(", ")) };
    match (requests, errors) {
        (0, 0) => "counts nothing, and says nothing".to_owned(),
        (0, _) => format!("counts no response{named}"),
        (_, 0) if 2 * connections > requests => "counts all; a connection each".to_owned(),
        (_, 0) => "counts all".to_owned(),
        _ => format!("{:.0} % fail{named}", 100.0 * errors as f64 / (requests + errors) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, of_curl, of_record, of_wrk, refusal};
    use serde_json::json;

    #[test]
    fn clients_are_told_in_a_few_words() {
        assert_eq!(of_curl("200 5 1\n200 5 0\n", ""), "200, 5 bytes");
        assert_eq!(of_curl("200 5 1\n200 5 1\n", ""), "200, 5 bytes; a connection each");
        assert_eq!(of_curl("000 0 1\n000 0 1\n", "curl: (8) Nul\ncurl: (8) Nul\n"), "(8) Nul");
        let report = "  12 requests in 1.00s, 1KB read\n  Socket errors: connect 0, read 4, write 0, timeout 0\n";
        assert_eq!(of_wrk(report, 2), "25 % fail (read errors)");
        assert_eq!(of_wrk("  12 requests in 1.00s\n", 12), "counts all; a connection each");
        assert_eq!(of_wrk("  0 requests in 1.00s\n", 2), "counts nothing, and says nothing");
        assert_eq!(refusal("a\nplimsoll: 127.0.0.1:80 sent a broken response: x\n"), "sent a broken response: x");
    }

    #[test]
    fn a_record_is_held_against_the_table() {
        let record = |good: u64, reconnects: u64, rule: &str| {
            json!({
                "requests": { "planned": 40, "good": good, "failures": {} },
                "connections": { "reconnects": reconnects },
                "verdict": { "findings": [{ "rule": rule, "state": "invalid", "message": "m", "remedy": "r" }] },
            })
        };
        let is_expected = |record, outcome| of_record(&record, outcome).is_expected;
        assert!(is_expected(record(40, 0, "LD-04"), Outcome::Kept));
        assert!(!is_expected(record(40, 0, "ER-01"), Outcome::Kept));
        assert!(is_expected(record(40, 40, "ER-09"), Outcome::Good));
        assert!(!is_expected(record(40, 40, "ER-09"), Outcome::Kept));
        assert!(is_expected(record(0, 40, "ER-03"), Outcome::Finding("ER-03", "m; r")));
        assert!(!is_expected(record(0, 40, "ER-01"), Outcome::Finding("ER-03", "m; r")));
        assert_eq!(of_record(&record(1, 0, "LD-04"), Outcome::Kept).words, "1 of 40 good, and no word: {}");
    }
}
