//! Every command line of docs/coming-from.md, as a shell takes it: against a private server, and shortened.

use crate::support::{Findings, Kind, Server, Site, count, load_alone, shell, text};
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../docs/coming-from.md");

/// More would make the tests long, and mean nothing else.
const REQUESTS_MAX: u64 = 100;
/// What every machine has descriptors for.
const CONNECTIONS_MAX: u64 = 200;

#[test]
fn every_command_line_of_the_guide_works() {
    let _alone = load_alone();
    let front_page = vec![b'.'; 12_000];
    let files = ["index.html", "index.php", "urandom"].map(|name| (name, &front_page[..]));
    let nginx = Server::start(Kind::Nginx, Site::of(&files));
    let commands: Vec<&str> = GUIDE.lines().filter(|line| line.starts_with("plimsoll ")).collect();
    assert!(commands.len() >= 15, "{commands:#?}");
    for command in commands {
        let short = shortened(command, &nginx.url(""));
        let ended = shell(&format!("\"$PLIMSOLL\" {short}"))
            .with_file("page.json", &[b'x'; 6000])
            .with_file("login", b"user:password")
            .run();
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{command}\n{ended:#?}");
        let record = ended.json();
        match text(&record, "format") {
            "plimsoll.run/1" => good(&record, command),
            _ => record["points"].as_array().expect("a list").iter().for_each(|point| good(point, command)),
        }
    }
}

/// All that was asked for came, and nothing is held against the server.
#[track_caller]
fn good(record: &Value, command: &str) {
    let planned = count(record, "requests.planned");
    assert!(planned > 0 && count(record, "requests.good") == planned, "{command}\n{:#}", record["requests"]);
    Findings(record).nothing_failed();
}

/// The words after `plimsoll`, with `server` for the host and numbers that take no time.
fn shortened(command: &str, server: &str) -> String {
    let mut words: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
    let url = words.iter_mut().find(|word| word.starts_with("http://")).expect("a URL");
    let path = url["http://".len()..].find('/').map_or("", |at| &url["http://".len() + at..]);
    *url = format!("{server}{path}");
    at_most(&mut words, "-n", REQUESTS_MAX);
    at_most(&mut words, "-c", CONNECTIONS_MAX);
    if words[0] == "sweep" {
        set(&mut words, "--iterations", "1");
        set(&mut words, "--points", "2");
    }
    if !words.iter().any(|word| word == "-n") {
        set(&mut words, "-d", "200ms");
    }
    set(&mut words, "--warmup", "0s");
    words.push("--json".into());
    words.join(" ")
}

/// Gives a flag this value, whether or not it is there.
fn set(words: &mut Vec<String>, flag: &str, value: &str) {
    match words.iter().position(|word| word == flag) {
        Some(at) => words[at + 1] = value.into(),
        None => words.extend([flag.into(), value.into()]),
    }
}

/// Lowers the number of a flag that is there; what the shell computes stays.
fn at_most(words: &mut [String], flag: &str, most: u64) {
    let Some(at) = words.iter().position(|word| word == flag) else { return };
    if words[at + 1].parse().is_ok_and(|number: u64| number > most) {
        words[at + 1] = most.to_string();
    }
}
