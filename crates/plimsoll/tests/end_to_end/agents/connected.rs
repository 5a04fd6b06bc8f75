//! Agents that are started by other means and connect to the coordinator, and strangers that connect in their place.

use super::SOON;
use crate::support::{ClosedPort, CountingServer, Ended, Program, Started, Target, count, list, plimsoll, wait_for};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

pub(super) const TOKEN: &str = "5db51d308f95821f99a85f967dabcffe";
const OTHER_TOKEN: &str = "18b78dfdb95eadecd09fd05cacf10561";
const LOAD: [&str; 5] = ["-c", "4", "--warmup", "500ms", "--json"];

/// A program with a token in its environment.
fn with_token<'a>(token: &str, program: &'a str, args: impl IntoIterator<Item = &'a str>) -> Program {
    let words = [format!("PLIMSOLL_TOKEN={token}"), program.to_owned()];
    Program::new("env", words.into_iter().chain(args.into_iter().map(ToOwned::to_owned)))
}

fn own() -> &'static str {
    env!("CARGO_BIN_EXE_plimsoll")
}

/// A run that waits for agents.
struct Coordinator {
    started: Started,
    /// Where agents connect to.
    address: String,
}

impl Coordinator {
    #[track_caller]
    fn start(agents: u32, url: &str, more: &[&str]) -> Self {
        let client = format!("connect://{agents}");
        let args = [&["run", url, "--client", client.as_str()][..], &LOAD, more].concat();
        Self::of(with_token(TOKEN, own(), args).start())
    }

    /// Once it has said what the user is to do.
    #[track_caller]
    fn of(started: Started) -> Self {
        let address = wait_for(SOON, || {
            let said = said(&started);
            let (_, rest) = said.split_once("plimsoll agent --connect ")?;
            let (line, _) = rest.split_once('\n')?;
            line.split(' ').next().map(ToOwned::to_owned)
        });
        let address = address.unwrap_or_else(|| panic!("it says no command: {}", said(&started)));
        Self { started, address }
    }

    fn agent(&self) -> Started {
        self.agent_with(TOKEN)
    }

    fn agent_with(&self, token: &str) -> Started {
        with_token(token, own(), ["agent", "--connect", &self.address]).start()
    }

    #[track_caller]
    fn says(&self, text: &str) {
        says(&self.started, text);
    }

    fn end(self) -> Ended {
        self.started.end()
    }
}

fn said(started: &Started) -> String {
    std::fs::read_to_string(started.directory().join("stderr")).unwrap_or_default()
}

/// Waits until a program has said this.
#[track_caller]
fn says(started: &Started, text: &str) {
    let seen = wait_for(SOON, || said(started).contains(text).then_some(()));
    assert!(seen.is_some(), "not {text:?}: {}", said(started));
}

/// Fails if a file below a directory has this text.
#[track_caller]
pub(super) fn is_nowhere(text: &str, directory: &Path) {
    for path in list(directory) {
        if path.is_dir() {
            is_nowhere(text, &path);
        } else {
            let bytes = std::fs::read(&path).expect("our own file");
            assert!(!bytes.windows(text.len()).any(|bytes| bytes == text.as_bytes()), "{}", path.display());
        }
    }
}

/// What an agent has sent is in the line of all that was sent: the server's count is its sum.
#[test]
fn what_agents_have_sent_is_counted() {
    let server = CountingServer::start();
    let coordinator = Coordinator::start(2, &server.url(), &["-n", "301"]);
    let _agents = [(); 2].map(|()| coordinator.agent());
    let record = coordinator.end().measured().json();
    let sent = ["probe", "warmup", "window", "after"].map(|part| count(&record, &format!("sent_in_all.{part}")));
    assert_eq!(sent.iter().sum::<u64>(), server.count(), "{:#}", record["sent_in_all"]);
    assert!(sent[0] == 3 && sent[1] > 0 && sent[2] + sent[3] == 301, "{sent:?}");
}

#[test]
fn agents_that_connect_share_one_load_and_their_secret_is_nowhere() {
    let (target, secrets) = (Target::start(&[]), tempfile::tempdir().expect("a temporary directory"));
    let file = secrets.path().join("token");
    let file = file.to_str().expect("a plain path");
    let (url, load) = (target.url("/bytes/10"), ["-R", "200", "-d", "2s", "--token-file", file]);
    let args = [&["run", url.as_str(), "--client", "connect://2"][..], &LOAD, &load].concat();
    let coordinator = Coordinator::of(plimsoll(args).start());
    assert_eq!(std::fs::metadata(file).expect("it is made").mode() & 0o777, 0o600);
    let agents = [(); 2].map(|()| plimsoll(["agent", "--connect", &coordinator.address, "--token-file", file]).start());
    let ended = coordinator.end();
    let record = ended.measured().json();
    let shares = record["agents"].as_array().expect("agents");
    let names: Vec<&str> = shares.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["connect://1", "connect://2"], "{record:#}");
    let sent: u64 = shares.iter().map(|agent| count(agent, "flow.sent")).sum();
    assert!(shares.iter().all(|agent| count(agent, "flow.sent") > sent / 4), "{shares:#?}");
    assert_eq!(target.seen().1, sent + 3, "the server has seen what the agents say, and the probe");
    let secret = std::fs::read_to_string(file).expect("it is there");
    let secret = secret.trim();
    assert_eq!(secret.len(), 64);
    is_nowhere(secret, &ended.path("."));
    for agent in agents {
        is_nowhere(secret, &agent.end().exits(0).path("."));
    }
}

/// The first load had a connection for one agent.
#[test]
fn a_sweep_of_agents_that_connect_begins_with_a_connection_for_each() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    let load = ["--to", "4", "--points", "2", "--iterations", "1", "-d", "1s", "--warmup", "500ms", "--json"];
    let args = [&["sweep", url.as_str(), "--client", "connect://2"][..], &load].concat();
    let coordinator = Coordinator::of(with_token(TOKEN, own(), args).start());
    let agents = [coordinator.agent(), coordinator.agent()];
    let record = coordinator.end().measured().json();
    assert_eq!(record["curve"][0]["load"], 2.0, "{:#}", record["curve"]);
    for agent in agents {
        agent.end().exits(0);
    }
}

/// A peer that says something, and what comes back until the coordinator ends the connection.
fn stranger(address: &str, bytes: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("the coordinator listens");
    // It may have been refused already.
    let _ = socket.write_all(bytes);
    socket
}

#[track_caller]
fn is_ended(mut socket: TcpStream) {
    socket.set_read_timeout(Some(SOON)).expect("a socket");
    let mut rest = Vec::new();
    // Nothing more comes, in good order or not; only a read that waits in vain is wrong.
    let waits = socket.read_to_end(&mut rest).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!waits && rest.len() < 4096, "{rest:?}");
}

/// Of the coordinator: each handshake has one.
#[track_caller]
fn threads(coordinator: &Coordinator) -> usize {
    list(format!("/proc/{}/task", coordinator.started.pid()).as_ref()).len()
}

#[test]
fn strangers_are_refused_in_a_line_each_and_change_nothing() {
    let target = Target::start(&[]);
    let coordinator = Coordinator::start(1, &target.url("/bytes/10"), &["-R", "100", "-d", "1s"]);
    let address = coordinator.address.clone();
    is_ended(stranger(&address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    coordinator.says("it does not speak TLS");
    let url = format!("https://{address}/");
    for (alpn, why) in
        [("--alpn", "another build of plimsoll, or no agent"), ("--no-alpn", "no agent: it has no certificate")]
    {
        assert!(!Program::new("curl", ["-sk", alpn, &url]).run().status.success());
        coordinator.says(why);
    }
    coordinator.agent_with(OTHER_TOKEN).end().fails(2, &[&address, "another token", "PLIMSOLL_TOKEN"]);
    coordinator.says("it has another token");
    drop(stranger(&address, b""));
    coordinator.says("it ended before it had proved that it is an agent");
    let other = coordinator.started.directory().join("other-build");
    std::fs::copy(own(), &other).expect("space for a copy");
    let file = std::fs::File::options().append(true).open(&other);
    file.and_then(|mut file| file.write_all(b"another build")).expect("our own file");
    let other = other.to_str().expect("a plain path");
    let refused = with_token(TOKEN, other, ["agent", "--connect", &address]).run();
    refused.fails(2, &[&address, "another build"]);
    // More connections than there are handshakes at the same time, which say nothing and stay.
    let silent: Vec<TcpStream> = (0..100).map(|_| stranger(&address, b"\x16\x03\x01\x02")).collect();
    let many = wait_for(SOON, || (threads(&coordinator) > 64).then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    assert!(many.is_some() && threads(&coordinator) < 90, "{} threads", threads(&coordinator));
    let agent = coordinator.agent();
    let ended = coordinator.end();
    let record = ended.measured().json();
    assert!(count(&record, "requests.good") > 50, "{record:#}");
    assert_eq!(record["agents"].as_array().map(Vec::len), Some(1));
    agent.end().exits(0);
    silent.into_iter().for_each(is_ended);
    let refusals = ended.stderr.lines().filter(|line| line.contains("refused a connection")).count();
    assert!((6..=16).contains(&refusals) && ended.stderr.lines().count() < 30, "{ended:#?}");
    assert!(!ended.stderr.contains(TOKEN), "{ended:#?}");
}

#[test]
fn an_agent_refuses_what_is_not_its_coordinator() {
    let agent = |address: &str| with_token(TOKEN, own(), ["agent", "--connect", address, "--wait", "1s"]).run();
    let plain = Target::start(&[]);
    agent(plain.address()).fails(2, &[plain.address(), "something else", "TLS"]);
    let tls = Target::start(&["--tls"]);
    agent(tls.address()).fails(2, &[tls.address(), "another build", "no coordinator"]);
    let other = Coordinator::start(1, &plain.url("/"), &["-d", "1s"]);
    with_token(OTHER_TOKEN, own(), ["agent", "--connect", &other.address]).run().fails(2, &["another token"]);
    agent("nowhere.invalid:7000").fails(2, &["nowhere.invalid:7000", "HOST:PORT"]);
    agent("127.0.0.1").fails(2, &["127.0.0.1", "HOST:PORT"]);
    // A port where whoever listens says nothing, and one at which nobody listens.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    agent(&address).fails(2, &[&address, "did not answer within 10 s"]);
    let closed = ClosedPort::bind();
    let ended = agent(&closed.address);
    assert!(ended.exits(2).stderr.contains("nobody answers there: Connection refused"), "{ended:#?}");
    other.started.signal(Signal::INT);
    assert!(other.end().exits(130).stderr.contains("interrupted"));
}

#[test]
fn agents_that_do_not_come_in_time_are_missed_in_one_line() {
    let target = Target::start(&[]);
    let listen = ["--client", "connect://1", "--agents-listen", target.address()];
    let taken = with_token(TOKEN, own(), ["run", &target.url("/")].into_iter().chain(listen)).run();
    taken.fails(2, &["--agents-listen", target.address(), "in use"]);
    let coordinator = Coordinator::start(2, &target.url("/"), &["-d", "1s", "--agents-wait", "3s"]);
    let agent = coordinator.agent();
    let ended = coordinator.end();
    assert!(list(&ended.path("plimsoll-runs")).is_empty(), "what cannot be measured leaves no directory");
    let last = ended.exits(2).stderr.lines().last().unwrap_or_default();
    for text in ["agent connect://2", "did not connect", "within 3s", "1 of 2 agents did", "--agents-wait"] {
        assert!(last.contains(text), "{ended:#?}");
    }
    agent.end().exits(0);
}

#[test]
fn a_sweep_begins_with_a_connection_for_each_agent_that_connects() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=5ms");
    let loads = ["--to", "2", "--iterations", "1", "-d", "500ms", "--warmup", "0s", "--json"];
    let args = [&["sweep", url.as_str(), "--client", "connect://2"][..], &loads].concat();
    let coordinator = Coordinator::of(with_token(TOKEN, own(), args).start());
    let agents = [coordinator.agent(), coordinator.agent()];
    let record = coordinator.end().measured().json();
    assert_eq!(record["curve"][0]["load"], 2.0, "{record:#}");
    for agent in agents {
        agent.end().exits(0);
    }
}

/// Does something to the second agent in the middle of a load of 8 s.
#[track_caller]
fn lose_one(signal: Signal, more: &[&str], code: i32) -> Ended {
    let target = Target::start(&[]);
    let coordinator = Coordinator::start(2, &target.url("/sleep?time=5ms"), &[&["-d", "8s"], more].concat());
    let first = coordinator.agent();
    coordinator.says("agent connect://1 of 2 has connected");
    let second = coordinator.agent();
    coordinator.started.wait_for_events("tick", 2);
    second.signal(signal);
    let ended = coordinator.end();
    let record = ended.exits(code).json();
    assert_eq!(record["interrupted"], true, "{record:#}");
    assert!(count(&record, "requests.good") > 100, "what was measured is kept");
    assert_eq!(record["agents"][0].get("lost"), None);
    assert!(record["agents"][1]["lost"]["why"].is_string(), "{record:#}");
    assert!(ended.stderr.contains("agent connect://2 was lost"), "{ended:#?}");
    first.end().exits(0);
    ended
}

#[test]
fn a_killed_agent_ends_the_load_or_leaves_it_to_the_others() {
    let ended = lose_one(Signal::KILL, &[], 4);
    assert!(ended.stderr.contains("its connection was cut"), "{ended:#?}");
    lose_one(Signal::KILL, &["--on-agent-loss", "continue"], 5);
}

#[test]
fn an_agent_that_stalls_is_lost_after_five_seconds() {
    let ended = lose_one(Signal::STOP, &[], 4);
    assert!(ended.stderr.contains("nothing came from it for 5 s"), "{ended:#?}");
}

/// A load of two agents that is under way.
fn under_way(target: &Target) -> (Coordinator, [Started; 2]) {
    let coordinator = Coordinator::start(2, &target.url("/sleep?time=5ms"), &["-d", "60s"]);
    let agents = [coordinator.agent(), coordinator.agent()];
    coordinator.started.wait_for_events("tick", 2);
    (coordinator, agents)
}

#[test]
fn agents_of_a_coordinator_that_is_killed_or_stands_still_end() {
    let target = Target::start(&[]);
    for (signal, why) in [(Signal::KILL, "cut"), (Signal::STOP, "the coordinator said nothing for 10 s")] {
        let (coordinator, agents) = under_way(&target);
        coordinator.started.signal(signal);
        for agent in agents {
            let ended = agent.end();
            assert!(ended.exits(2).stderr.lines().last().is_some_and(|line| line.contains(why)), "{ended:#?}");
        }
    }
}

#[test]
fn an_interrupted_load_keeps_what_all_have_measured() {
    let target = Target::start(&[]);
    let (coordinator, agents) = under_way(&target);
    coordinator.started.signal(Signal::INT);
    let ended = coordinator.end();
    let record = ended.exits(130).json();
    assert_eq!(record["interrupted"], true);
    let shares = record["agents"].as_array().expect("agents");
    assert!(shares.iter().all(|agent| agent.get("lost").is_none()), "{record:#}");
    for agent in agents {
        agent.end().exits(0);
    }
}

#[test]
fn what_leaves_agents_no_way_to_connect_is_refused_before_anything_is_started() {
    let run = |token: &str, args: &[&str]| {
        with_token(token, own(), ["run", "http://192.0.2.1/"].iter().chain(args).copied()).run()
    };
    let refused = |args: &[&str], named: &[&str]| {
        run(TOKEN, args).fails(2, named);
    };
    for number in ["", "0", "-1", "two", "129"] {
        refused(&["--client", &format!("connect://{number}")], &["--client", "1 to 128", "connect://2"]);
    }
    refused(&["--client", "connect://1,ssh://a"], &["connect://N", "alone"]);
    refused(&["--client", "connect://5", "-c", "4"], &["-c 4", "fewer connections than the 5 agents"]);
    for flag in [&["--agents-listen", "127.0.0.1:0"], &["--agents-wait", "1s"], &["--token-file", "token"]] {
        refused(&[&["--client", "ssh://a"], &flag[..]].concat(), &[flag[0], "connect://N"]);
    }
    refused(&["--client", "connect://1", "--server-host", "connect://1"], &["--server-host", "ssh://"]);
    for token in ["", "short", &"a".repeat(40)] {
        run(token, &["--client", "connect://1"]).fails(2, &["PLIMSOLL_TOKEN", "openssl rand"]);
    }
    let none = ["env", "-u", "PLIMSOLL_TOKEN", own()];
    let without = |args: &[&str]| Program::new(none[0], none[1..].iter().chain(args).copied()).run();
    without(&["run", "http://192.0.2.1/", "--client", "connect://2"]).fails(2, &["PLIMSOLL_TOKEN", "--token-file"]);
    without(&["agent", "--connect", "127.0.0.1:1"]).fails(2, &["PLIMSOLL_TOKEN", "--token-file"]);
    let open = Program::new(own(), ["agent", "--connect", "127.0.0.1:1", "--token-file", "token"]);
    let open = open.with_file("token", TOKEN.as_bytes());
    let path = open.directory().join("token");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("our own file");
    open.run().fails(2, &["--token-file", "chmod 600"]);
}
