//! Answers that break, come late or are refused, for one request and for the whole server.

use clock::Clock;
use target::{Break, Faults, Limit, Ramp, Running, TargetConfig};

use super::MS;
use super::client::{Client, get, serve};

fn faulty(faults: Faults) -> Running {
    serve(TargetConfig { faults, ..TargetConfig::default() })
}

/// The bytes of an answer until the connection ends, and whether it ended in good order.
fn ended(server: &Running, path: &str) -> (Vec<u8>, bool) {
    let mut client = Client::new(server);
    client.request(path);
    client.rest_and_end()
}

fn body_len(answer: &[u8]) -> usize {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    answer.len() - head - 4
}

#[test]
fn a_broken_answer_ends_after_half_by_close_or_by_reset() {
    let server = serve(TargetConfig::default());
    for (fault, in_good_order) in [("half", true), ("reset", false)] {
        for (path, sent) in [
            ("/zero?size=1000", 500),
            ("/bytes/3000?x", 1_500),
            ("/urandom?size=400001", 200_000),
            ("/zero?size=1000&body_rate=1MiB", 500),
            ("/sleep?time=1ms", 3),
        ] {
            let (answer, good_order) = ended(&server, &format!("{path}&fault={fault}"));
            assert_eq!(good_order, in_good_order, "{path} {fault}");
            // A reset takes with it what the kernel still holds.
            let got = body_len(&answer);
            assert!(got == sent || (!in_good_order && got < sent), "{path} {fault}: {got} bytes");
        }
        let (head, _) = ended(&server, &format!("/zero?size=0&fault={fault}"));
        assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n") && !head.ends_with(b"\r\n\r\n"), "half of a head");
    }
    let (chunks, _) = ended(&server, "/download?size=100000&chunk_size=1000&fault=half");
    assert_eq!(body_len(&chunks), 50 * (1_000 + "3e8\r\n\r\n".len()), "and no last chunk");
    assert_eq!(get(&server, "/zero?size=5").body.len(), 5);
}

#[test]
fn a_dropped_answer_never_comes_and_its_connection_goes_with_the_client() {
    let server = serve(TargetConfig::default());
    let mut waiting: Vec<Client> = (0..5).map(|_| Client::new(&server)).collect();
    for client in &mut waiting {
        client.send("GET /bytes/3 HTTP/1.1\r\nHost: t\r\n\r\nGET /bytes/64?fault=drop HTTP/1.1\r\nHost: t\r\n\r\n");
        assert_eq!(client.response().body, b"012");
    }
    let mut observer = Client::new(&server);
    assert!(observer.get("/stats").text().contains("\"open\":6,"));
    waiting[0].close_sending();
    assert_eq!(waiting[0].rest_and_end(), (vec![], true), "nothing was sent");
    drop(waiting);
    // Ends when all others are gone; a hang here is the failure.
    while !observer.get("/stats").text().contains("\"open\":1,") {}
}

#[test]
fn a_wrong_size_is_complete_in_itself() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for (path, size) in [
        ("/zero?size=100", 50),
        ("/zero?size=0", 1),
        ("/download?size=300000&chunk_size=64KiB", 150_000),
        ("/bytes/64KiB?", 32_768),
        ("/sleep?time=0s", 3),
    ] {
        let response = client.get(&format!("{path}&fault=wrong-size"));
        assert_eq!((response.status, response.body.len()), (200, size), "{path}");
    }
}

#[test]
fn first_bytes_and_bodies_are_never_early() {
    let server = serve(TargetConfig::default());
    let clock = Clock::start();
    let mut client = Client::new(&server);
    for (path, size, at_least_ns) in [
        ("/zero?size=10&first_byte=20ms", 10, 20 * MS),
        ("/bytes/100000?first_byte=20ms", 100_000, 20 * MS),
        ("/zero?size=5000&body_rate=100kB", 5_000, 50 * MS),
        ("/urandom?size=300000&body_rate=10MB&first_byte=10ms", 300_000, 40 * MS),
        ("/download?size=5000&chunk_size=500&body_rate=100kB", 5_000, 50 * MS),
        ("/sleep?time=10ms&first_byte=10ms", 6, 20 * MS),
        ("/cpu?us=5000&first_byte=10ms", 7, 10 * MS),
    ] {
        let begin_ns = clock.now_ns();
        assert_eq!(client.get(path).body.len(), size, "{path}");
        assert!(clock.now_ns() - begin_ns >= at_least_ns, "{path} came early");
    }
    // A slow body keeps nobody else waiting.
    client.request("/zero?size=1000&body_rate=2");
    assert_eq!(get(&server, "/bytes/3").body, b"012");
}

#[test]
fn the_share_of_broken_answers_is_exact() {
    let server = faulty(Faults { broken: Some((Break::WrongSize, 0.1)), ..Faults::default() });
    let mut client = Client::new(&server);
    let wrong = (0..200).filter(|_| client.get("/bytes/64").body.len() != 64).count();
    assert_eq!(wrong, 20);
    assert!(client.get("/stats").text().ends_with("}\n"), "the counters are never broken");
}

#[test]
fn who_comes_too_often_is_told_when_to_come_again() {
    let server = faulty(Faults { limit: Some(Limit { per_s: 1, burst: 3 }), ..Faults::default() });
    let mut client = Client::new(&server);
    let clock = Clock::start();
    let responses: Vec<_> = (0..20).map(|_| client.get("/bytes/1")).collect();
    // Those of the burst, and one for each second that has passed since.
    let good = responses.iter().filter(|response| response.status == 200).count() as u64;
    assert!((3..=4 + clock.now_ns() / (1_000 * MS)).contains(&good), "{good}");
    assert!(responses[..3].iter().all(|response| response.status == 200));
    for refused in responses.iter().filter(|response| response.status != 200) {
        assert_eq!(refused.status, 429);
        assert!(refused.head.contains("\r\nRetry-After: 1\r\n"), "{}", refused.head);
    }
    assert_eq!(client.get("/stats").status, 200, "the counters are not limited");
}

#[test]
fn a_server_grows_slower_or_warms_up() {
    let clock = Clock::start();
    let growing = faulty(Faults { growth_ns: 2 * MS, ..Faults::default() });
    let mut client = Client::new(&growing);
    for index in 0..10 {
        let begin_ns = clock.now_ns();
        assert_eq!(client.get("/bytes/64").status, 200);
        assert!(clock.now_ns() - begin_ns >= index * 2 * MS, "{index}");
    }
    let ramp = Some(Ramp { extra_ns: 40 * MS, length_ns: 1_000_000 * MS });
    let cold = faulty(Faults { ramp, first_byte_ns: 5 * MS, body_bytes_per_s: 1_000_000, ..Faults::default() });
    let begin_ns = clock.now_ns();
    assert_eq!(get(&cold, "/zero?size=20000").body.len(), 20_000);
    assert!(clock.now_ns() - begin_ns >= 65 * MS, "40 ms cold, 5 ms late, 20 ms of body");
}
