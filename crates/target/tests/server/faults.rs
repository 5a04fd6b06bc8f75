//! Faults on demand, and the log that tells what happened.

use std::fs;

use clock::Clock;
use target::{Stall, TargetConfig};

use super::MS;
use super::client::{Client, get, serve};

#[test]
fn the_error_share_is_exact() {
    let server = serve(TargetConfig { error_share: 0.1, workers: 2, ..TargetConfig::default() });
    let mut clients = [Client::new(&server), Client::new(&server)];
    let mut errors = 0;
    for request in 0..1000 {
        let path = ["/bytes/64", "/", "/sleep?time=0s", "/bytes/20000", "/status/201"][request % 5];
        let response = clients[request % 2].get(path);
        assert!(matches!(response.status, 200 | 201 | 500));
        errors += usize::from(response.status == 500);
        // Answers that are errors anyway are not in the count.
        assert_eq!(clients[request % 2].get("/status/404").status, 404);
    }
    assert_eq!(errors, 100);
}

#[test]
fn a_redirect_stands_for_the_landing_page_alone() {
    let server = serve(TargetConfig { redirect: Some("/login".into()), ..TargetConfig::default() });
    for _ in 0..2 {
        let response = get(&server, "/");
        assert_eq!(response.status, 302);
        assert!(response.head.contains("\r\nLocation: /login\r\n"), "{}", response.head);
    }
    assert_eq!(get(&server, "/bytes/1").status, 200);
}

/// The numbers of a JSON line with these names, if it has them.
fn fields<const N: usize>(line: &str, names: [&str; N]) -> Option<[u64; N]> {
    let mut values = [0; N];
    for (value, name) in values.iter_mut().zip(names) {
        let text = line.split_once(&format!("\"{name}\":"))?.1;
        let end = text.find(|c: char| !c.is_ascii_digit())?;
        *value = text[..end].parse().ok()?;
    }
    Some(values)
}

#[test]
fn a_stall_is_logged_and_nothing_is_answered_in_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("target.jsonl");
    let stall = Stall { every_ns: 150 * MS, length_ns: 60 * MS };
    let config = TargetConfig { stall: Some(stall), log: Some(log.clone()), workers: 2, ..TargetConfig::default() };
    let clock = Clock::start();
    let server = serve(config);
    let mut clients = [Client::new(&server), Client::new(&server)];
    let mut exchanges = Vec::new();
    while clock.now_ns() < 800 * MS {
        for path in ["/bytes/64", "/sleep?time=1ms", "/cpu?us=100", "/bytes/100000"] {
            for client in &mut clients {
                let sent_ns = clock.epoch_ns() + clock.now_ns();
                assert_eq!(client.get(path).status, 200);
                exchanges.push((sent_ns, clock.epoch_ns() + clock.now_ns()));
            }
        }
    }
    server.stop();
    server.join().expect("it ends in good order");

    let log = fs::read_to_string(log).expect("the log is there");
    let [started_ns] = fields(log.lines().next().expect("a first line"), ["started_ns"]).expect("the start");
    let stalls: Vec<[u64; 2]> =
        log.lines().filter_map(|line| fields(line, ["stall_begin_ns", "stall_end_ns"])).collect();
    assert!(stalls.len() >= 4, "{log}");
    for (index, [begin_ns, end_ns]) in stalls.iter().enumerate() {
        assert_eq!(begin_ns - started_ns, (index as u64 + 1) * stall.every_ns);
        // A request sent in a stall is read after it at the earliest.
        for (sent_ns, answered_ns) in &exchanges {
            assert!(!(begin_ns..end_ns).contains(&sent_ns) || answered_ns >= end_ns, "answered within a stall");
        }
    }
    let waited = |[begin, end]: &[u64; 2]| {
        exchanges.iter().any(|(sent, answered)| sent < end && answered >= end && answered > begin)
    };
    assert!(stalls.iter().any(waited), "a stall holds up whoever asks during it");
}

#[test]
fn arrivals_are_logged_by_the_millisecond_and_none_is_missing() {
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("target.jsonl");
    let server = serve(TargetConfig { log: Some(log.clone()), workers: 2, ..TargetConfig::default() });
    let clock = Clock::start();
    let mut clients = [Client::new(&server), Client::new(&server)];
    let first_ns = clock.epoch_ns() + clock.now_ns();
    for request in 0..500 {
        assert_eq!(clients[request % 2].get("/bytes/64").status, 200);
    }
    let last_ns = clock.epoch_ns() + clock.now_ns();
    server.stop();
    server.join().expect("it ends in good order");

    let log = fs::read_to_string(log).expect("the log is there");
    let mut arrivals = Vec::new();
    for line in log.lines() {
        let Some([from_ns]) = fields(line, ["arrivals_from_ns"]) else { continue };
        let (_, list) = line.split_once("\"per_ms\":[").expect("the counts");
        for (index, count) in list.trim_end_matches("]}").split(',').enumerate() {
            arrivals.push((from_ns + index as u64 * MS, count.parse::<u64>().expect("a count")));
        }
    }
    assert_eq!(arrivals.iter().map(|(_, count)| count).sum::<u64>(), 500);
    assert!(arrivals.windows(2).all(|pair| pair[0].0 + MS == pair[1].0), "without gap");
    let busy = arrivals.iter().filter(|(_, count)| *count > 0);
    assert!(busy.clone().all(|(at_ns, _)| at_ns + MS > first_ns && *at_ns <= last_ns), "stamped while they were sent");
}
