//! Every command line of docs/guide/coming-from-other-tools.md, as a shell takes it: against a private server, and shortened.

use crate::support::{Certificate, Findings, Kind, SOCKET, Server, Site, count, shell, text};
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../docs/guide/coming-from-other-tools.md");

/// More would make the tests long, and mean nothing else.
const REQUESTS_MAX: u64 = 100;
/// What every machine has descriptors for.
const CONNECTIONS_MAX: u64 = 200;

#[test]
fn every_command_line_of_the_guide_works() {
    let front_page = vec![b'.'; 12_000];
    let files = ["index.html", "index.php", "urandom"].map(|name| (name, &front_page[..]));
    let certificate = Certificate::for_names(&["127.0.0.1", "shop.example"]);
    let servers = Servers {
        plain: Server::start(Kind::Nginx, Site::of(&files)),
        secure: Server::start(Kind::Nginx, Site { tls: Some(("TLSv1.3", &certificate)), ..Site::of(&files) }),
    };
    let commands: Vec<&str> = GUIDE.lines().filter(|line| line.starts_with("plimsoll ")).collect();
    assert!(commands.len() >= 15, "{commands:#?}");
    for command in commands {
        let short = servers.shortened(command);
        let ended = shell(&format!("\"$PLIMSOLL\" {short}"))
            .with_file("page.json", &[b'x'; 6000])
            .with_file("login", b"user:password")
            .with_file("ca.pem", certificate.pem.as_bytes())
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

struct Servers {
    plain: Server,
    secure: Server,
}

impl Servers {
    /// The words after `plimsoll`, leading to the servers here, and with numbers that take no time.
    fn shortened(&self, command: &str) -> String {
        let mut words: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
        self.redirect(&mut words);
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

    /// The host of a URL, a socket or the way to a host becomes that of a server here.
    fn redirect(&self, words: &mut Vec<String>) {
        if let Some(way) = value(words, "--connect-to") {
            let fields: Vec<&str> = way.split(':').collect();
            let from = fields[..fields.len() - 2].iter().map(|field| format!("{field}:")).collect::<String>();
            set(words, "--connect-to", &format!("{from}{}", self.secure.address()));
            return set(words, "--ca-cert", "ca.pem");
        }
        if value(words, "--unix-socket").is_some() {
            set(words, "--unix-socket", &self.plain.path(SOCKET).display().to_string());
        }
        let url = words.iter_mut().find(|word| word.contains("://")).expect("a URL");
        let server = if url.starts_with("https:") { &self.secure } else { &self.plain };
        let after_scheme = url.find("://").expect("it has one") + 3;
        let path = url[after_scheme..].find('/').map_or("", |at| &url[after_scheme + at..]);
        *url = server.url(path);
    }
}

/// The value of a flag that is there.
fn value(words: &[String], flag: &str) -> Option<String> {
    let at = words.iter().position(|word| word == flag)?;
    words.get(at + 1).cloned()
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
