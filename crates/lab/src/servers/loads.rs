//! Loads of a set-up, and what plimsoll says of each, held against what curl got.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use audit::Figure;
use serde_json::Value;
use xtask::workspace;

use super::Settings;
use super::server::{MODIFIED, Server};
use super::setup::{BIG_BYTES, Pages, SMALL_BYTES, Setup};
use super::truth::{self, Truth};
use crate::record::{ANY, count, findings, printed};

/// Connections of every load.
pub(super) const CONNECTIONS: u32 = 8;
/// Open loops ask for this share of what a closed loop got: server and client share two CPUs here, and both need some rest.
const OPEN_SHARE: f64 = 0.25;
/// Share of requests that may have a connection of their own where curl saw the first two share one: servers that close
/// after so many. It is what ER-09 warns of.
const REOPENED_SHARE: f64 = 0.012;

/// What counted loads are told of because they are short.
const SHORT: &str = "LD-04";

/// A counted load of one page.
struct Short {
    name: &'static str,
    path: &'static str,
    /// Good status and size.
    status: u16,
    bytes: u64,
    requests: u32,
    plimsoll: &'static [&'static str],
    curl: &'static [&'static str],
    tls: bool,
}

/// What came of a set-up.
pub(super) struct Outcome {
    /// What `check` says worse than a note.
    pub(super) check: String,
    pub(super) closed: Said,
    pub(super) open: Said,
    /// Counted loads: name, and what was said.
    pub(super) short: Vec<(&'static str, Said)>,
    /// plimsoll's rate over that of the other, of each round.
    pub(super) over_wrk: Vec<f64>,
    pub(super) over_ab: Vec<f64>,
}

/// What plimsoll said of a load.
pub(super) struct Said {
    /// The verdict, in capitals.
    state: String,
    /// Rules worse than a note, and the states of their findings.
    rules: Vec<(String, String)>,
    /// How it contradicts what curl got; none: it does not.
    pub(super) wrong: Option<String>,
}

/// The counted loads of a set-up.
fn short(setup: &Setup) -> Vec<Short> {
    let small = |name, plimsoll, curl| Short {
        name,
        path: setup.hello,
        status: 200,
        bytes: SMALL_BYTES,
        requests: 500,
        plimsoll,
        curl,
        tls: false,
    };
    let mut all = vec![
        small("no keep-alive", &["--no-keepalive"], &["-H", "Connection: close"]),
        Short { bytes: 0, ..small("HEAD", &["-m", "HEAD"], &["-I"]) },
    ];
    let big = || Short { path: "/big", bytes: BIG_BYTES, requests: 50, ..small("1 MB", &[], &[]) };
    let of_status = |name, path, status| Short { path, status, bytes: 0, ..small(name, &[], &[]) };
    match setup.pages {
        Pages::Hello => {}
        Pages::Files => {
            const SINCE: &[&str] = &["-H", "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT"];
            debug_assert!(SINCE[1].ends_with(MODIFIED));
            all.extend([Short { status: 304, bytes: 0, ..small("304", SINCE, SINCE) }, big()]);
        }
        Pages::FilesWithoutDates => all.push(big()),
        Pages::Program | Pages::ProgramWithoutChunks => {
            all.extend([of_status("204", "/204", 204), of_status("304", "/304", 304), big()]);
        }
    }
    if setup.pages == Pages::Program {
        all.push(Short { path: "/chunked", ..small("chunked", &[], &[]) });
    }
    if setup.has_tls {
        all.push(Short { tls: true, ..small("TLS", &["-k"], &[]) });
    }
    all
}

impl Outcome {
    /// All loads of a server that runs.
    pub(super) fn measure(setup: &Setup, server: &Server, settings: &Settings) -> Result<Self> {
        let url = server.url(setup.hello, false);
        let truth = truth::curl(&url, &[])?;
        let good = is(truth, 200, SMALL_BYTES);
        let check = check(&url)?;
        let (mut closed, mut over_wrk, mut over_ab) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..settings.rounds {
            let record = |closed: &mut Vec<Value>| -> Result<f64> {
                let record = run(&url, &["-d", &format!("{}s", settings.seconds), "--warmup", "500ms"])?;
                let rate = record["throughput_per_s"].as_f64().unwrap_or(0.0);
                closed.push(record);
                Ok(rate)
            };
            // Forwards and backwards in turn, so that drift of the machine favours nobody.
            let (ours, wrk, ab) = if round % 2 == 0 {
                (record(&mut closed)?, wrk(&url, settings.seconds)?, ab(&url, settings.seconds)?)
            } else {
                let (ab, wrk) = (ab(&url, settings.seconds)?, wrk(&url, settings.seconds)?);
                (record(&mut closed)?, wrk, ab)
            };
            over_wrk.extend(wrk.map(|rate| ours / rate));
            over_ab.extend(ab.map(|rate| ours / rate));
        }
        let last = closed.pop().context("at least one round")?;
        let rate = last["throughput_per_s"].as_f64().unwrap_or(0.0) * OPEN_SHARE;
        let open_args = ["-R", &format!("{:.0}", rate.max(1.0)), "-d", &format!("{}s", settings.seconds)];
        let open = run(&url, &open_args)?;
        let short = short(setup).into_iter().map(|short| Ok((short.name, short.measure(server)?)));
        Ok(Self {
            check,
            closed: said(&last, good, Some(truth.is_kept)),
            open: said(&open, good, Some(truth.is_kept)),
            short: short.collect::<Result<_>>()?,
            over_wrk,
            over_ab,
        })
    }

    /// What plimsoll said that curl contradicts.
    pub(super) fn wrong(&self) -> Vec<String> {
        let named = [("closed", &self.closed), ("open", &self.open)];
        let all = named.into_iter().chain(self.short.iter().map(|(name, said)| (*name, said)));
        all.filter_map(|(name, said)| said.wrong.as_ref().map(|wrong| format!("{name}: {wrong}"))).collect()
    }
}

impl Short {
    fn measure(&self, server: &Server) -> Result<Said> {
        let url = server.url(self.path, self.tls);
        let truth = truth::curl(&url, self.curl)?;
        let is_head = self.curl == ["-I"];
        let mut good = truth.status == self.status && (is_head || truth.bytes == self.bytes);
        // A body in the way of the next response is no good response, whatever curl makes of it.
        good &= !is_head || !truth::has_body_after_head(server.port(), self.path)?;
        let n = self.requests.to_string();
        let expected = format!("status={},size={}", self.status, self.bytes);
        let mut arguments = vec!["-n", &n, "--warmup", "0s", "--expect", &expected];
        arguments.extend(self.plimsoll);
        let is_kept = if self.plimsoll == ["--no-keepalive"] { None } else { Some(truth.is_kept) };
        Ok(said(&run(&url, &arguments)?, good, is_kept).but_for(SHORT))
    }
}

impl Said {
    pub(super) fn new(state: &str, rules: &[(&str, &str)], wrong: Option<&str>) -> Self {
        let rules = rules.iter().map(|(rule, state)| ((*rule).to_owned(), (*state).to_owned())).collect();
        Self { state: state.to_uppercase(), rules, wrong: wrong.map(str::to_owned) }
    }

    /// Verdict and rules.
    pub(super) fn words(&self) -> String {
        let rules: Vec<String> = self.rules.iter().map(|(rule, state)| format!("{rule} {state}")).collect();
        if rules.is_empty() { self.state.clone() } else { format!("{}: {}", self.state, rules.join(", ")) }
    }

    /// The same without what a rule says.
    fn but_for(mut self, left_out: &str) -> Self {
        let before = self.rules.len();
        self.rules.retain(|(rule, _)| rule != left_out);
        if self.rules.len() < before {
            let has = |worst: &&str| self.rules.iter().any(|(_, state)| state == worst);
            self.state = ["invalid", "bound"].into_iter().find(has).unwrap_or("valid").to_uppercase();
        }
        self
    }
}

fn is(truth: Truth, status: u16, bytes: u64) -> bool {
    (truth.status, truth.bytes) == (status, bytes)
}

/// What a record says, held against whether curl got a good response and kept its connection; none: it was not to.
fn said(record: &Value, good: bool, is_kept: Option<bool>) -> Said {
    let (planned, all_good) = (count(record, "/requests/planned"), count(record, "/requests/good"));
    let rules: Vec<(&str, &str)> = findings(record)
        .iter()
        .filter(|finding| finding["state"] != "note")
        .filter_map(|finding| Some((finding["rule"].as_str()?, finding["state"].as_str()?)))
        .collect();
    let fires = |rule: &str| rules.iter().any(|(fired, _)| *fired == rule);
    let state = record["verdict"]["state"].as_str().unwrap_or("?");
    let told = told(record, &fires, is_kept);
    let reopened = count(record, "/connections/reconnects") as f64 / planned.max(1) as f64;
    let wrong = match is_kept {
        _ if planned == 0 => Some("no request was sent".to_owned()),
        _ if good && all_good + told < planned => {
            Some(format!("{all_good} of {planned} good, and curl gets a good one"))
        }
        _ if !good && all_good == planned => Some("all good, and curl gets no good one".to_owned()),
        _ if good && told == 0 && ["ER-01", "ER-02", "ER-03"].iter().any(|rule| fires(rule)) => {
            Some("nothing is wrong".to_owned())
        }
        Some(false) if good && !fires("ER-09") && told == 0 => Some("ER-09 is silent, and curl opens again".to_owned()),
        Some(true) if fires("ER-09") && reopened <= REOPENED_SHARE => Some("ER-09 fires without cause".to_owned()),
        _ => None,
    };
    Said::new(state, &rules, wrong.as_deref())
}

/// Failed requests that curl alone does not see, where a rule tells of them: a server with fewer workers than there are
/// connections lets some wait (ER-05), and one that closes connections without a word (NE-08) makes curl ask again.
fn told(record: &Value, fires: &impl Fn(&str) -> bool, is_kept: Option<bool>) -> u64 {
    let failures = record.pointer("/requests/failures").and_then(Value::as_object);
    let is_told = |name: &str| {
        let is_lost = name.ends_with(".reset") || name.ends_with(".closed");
        (fires("ER-05") && name.ends_with(".timeout")) || (fires("NE-08") && is_kept == Some(false) && is_lost)
    };
    failures.into_iter().flatten().filter(|(name, _)| is_told(name)).filter_map(|(_, n)| n.as_u64()).sum()
}

fn plimsoll() -> PathBuf {
    workspace::release_binary("plimsoll")
}

/// A record of `run`.
fn run(url: &str, arguments: &[&str]) -> Result<Value> {
    let c = CONNECTIONS.to_string();
    let mut command = Command::new(plimsoll());
    printed(command.args(["run", url, "--json", "-q", "-c", &c, "--timeout", "5s"]).args(arguments), &ANY)
}

/// What `check` finds worse than a note about the target.
fn check(url: &str) -> Result<String> {
    let c = CONNECTIONS.to_string();
    let record = printed(Command::new(plimsoll()).args(["check", url, "-c", &c, "--json", "-q"]), &ANY)?;
    let rows = record["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let bad = rows.iter().filter(|row| row["state"] == "warning" || row["state"] == "invalid");
    let about_target = bad.filter(|row| row["rule"].as_str().is_some_and(|rule| rule.starts_with("ER-")));
    let words: Vec<String> = about_target
        .map(|row| format!("{}: {}", row["rule"].as_str().unwrap_or("?"), row["found"].as_str().unwrap_or("?")))
        .collect();
    Ok(words.join("; "))
}

/// wrk's rate; none where it counts nothing.
fn wrk(url: &str, seconds: u32) -> Result<Option<f64>> {
    rate(Command::new("wrk").args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), url]))
}

/// ab's rate; none where it gives up.
fn ab(url: &str, seconds: u32) -> Result<Option<f64>> {
    let (c, t, most) = (CONNECTIONS.to_string(), seconds.to_string(), (seconds * 400_000).to_string());
    rate(Command::new("ab").args(["-q", "-k", "-r", "-c", &c, "-t", &t, "-n", &most, url]))
}

/// The rate in what a command prints, as `plimsoll audit` reads it.
fn rate(command: &mut Command) -> Result<Option<f64>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {program}"))?;
    Ok(claimed(&output.stdout))
}

fn claimed(said: &[u8]) -> Option<f64> {
    let claims = audit::audit("", said, &audit::Context::default()).ok()?.claims;
    claims.get(Figure::Throughput).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{SHORT, Said, claimed, said};
    use serde_json::{Value, json};

    fn record(good: u64, reconnects: u64, rules: &[&str]) -> Value {
        let findings: Vec<Value> = rules.iter().map(|rule| json!({ "rule": rule, "state": "invalid" })).collect();
        json!({
            "requests": { "planned": 500, "good": good },
            "connections": { "reconnects": reconnects },
            "verdict": { "state": "valid", "findings": findings },
        })
    }

    #[test]
    fn rates_of_others_are_those_that_they_print() {
        assert_eq!(claimed(include_bytes!("../peers/captured/wrk.txt")).map(f64::round), Some(15_207.0));
        assert_eq!(claimed(include_bytes!("../peers/captured/ab.txt")).map(f64::round), Some(21_491.0));
        assert_eq!(claimed(b"unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }

    #[test]
    fn what_is_said_of_the_length_of_counted_loads_is_left_out() {
        let words = |state: &str, rules: &[(&str, &str)]| Said::new(state, rules, None).but_for(SHORT).words();
        assert_eq!(words("BOUND", &[("LD-04", "bound")]), "VALID");
        assert_eq!(words("BOUND", &[("LD-04", "bound"), ("EN-03", "warning")]), "VALID: EN-03 warning");
        assert_eq!(words("INVALID", &[("LD-04", "invalid"), ("LD-08", "bound")]), "BOUND: LD-08 bound");
        assert_eq!(words("INVALID", &[("ER-09", "invalid")]), "INVALID: ER-09 invalid");
        assert_eq!(words("VALID", &[]), "VALID");
    }

    #[test]
    fn failures_that_curl_alone_does_not_see_are_no_contradiction_where_a_rule_tells_of_them() {
        let wrong = |failures: Value, rules: &[&str], is_kept| {
            let mut record = record(498, 0, rules);
            record["requests"]["failures"] = failures;
            said(&record, true, Some(is_kept)).wrong
        };
        let (late, lost) =
            (json!({ "first_byte.timeout": 2 }), json!({ "first_byte.reset": 1, "first_byte.closed": 1 }));
        assert_eq!(wrong(late.clone(), &["ER-05"], true), None);
        assert_eq!(wrong(lost.clone(), &["NE-08", "ER-01"], false), None);
        assert!(wrong(late, &[], true).is_some() && wrong(lost.clone(), &["ER-05"], true).is_some());
        assert!(wrong(lost, &["NE-08"], true).is_some(), "curl keeps its connection");
    }

    #[test]
    fn what_is_said_is_held_against_what_curl_got() {
        let wrong = |record: Value, good, is_kept| said(&record, good, is_kept).wrong.unwrap_or_default();
        assert_eq!(wrong(record(500, 0, &[]), true, Some(true)), "");
        assert_eq!(wrong(record(500, 500, &["ER-09"]), true, Some(false)), "");
        assert_eq!(wrong(record(500, 500, &[]), true, None), "");
        assert_eq!(wrong(record(250, 0, &["ER-01"]), false, Some(true)), "");
        assert!(wrong(record(499, 0, &[]), true, Some(true)).contains("499 of 500 good"));
        assert!(wrong(record(500, 0, &[]), false, Some(true)).contains("no good one"));
        assert!(wrong(record(500, 0, &["ER-03"]), true, Some(true)).contains("nothing is wrong"));
        assert!(wrong(record(500, 500, &[]), true, Some(false)).contains("ER-09 is silent"));
        assert!(wrong(record(500, 0, &["ER-09"]), true, Some(true)).contains("without cause"));
        assert_eq!(said(&record(500, 0, &["ER-09"]), true, Some(true)).words(), "VALID: ER-09 invalid");
    }
}
