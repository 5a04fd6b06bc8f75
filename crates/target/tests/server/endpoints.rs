//! The endpoints whose parameters are in the query.

use clock::Clock;
use target::TargetConfig;

use super::MS;
use super::client::{Client, get, serve};

#[test]
fn zero_urandom_and_download_have_exactly_the_size_asked_for() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for size in [0, 1, 2047, 8 << 10, (8 << 10) + 1, 65_536, 65_537, 3_000_001] {
        for path in [
            format!("/zero?size={size}"),
            format!("/download?size={size}"),
            format!("/download?size={size}&chunk_size=1000"),
        ] {
            let response = client.get(&path);
            assert_eq!((response.status, response.body.len()), (200, size), "{path}");
            assert!(response.body.iter().all(|byte| *byte == 0), "{path}");
            assert_eq!(response.chunked, path.contains("chunk_size"), "{path}");
        }
        let random = client.get(&format!("/urandom?size={size}")).body;
        assert_eq!(random.len(), size);
        assert_eq!(client.get(&format!("/urandom?size={size}&seed=1")).body, random, "the same seed, the same bytes");
        assert!(size < 100 || client.get(&format!("/urandom?size={size}&seed=2")).body != random);
    }
    for (path, size) in [("/zero", 2048), ("/urandom", 2048), ("/download", 20_480), ("/download?chunk_size=7", 70)] {
        assert_eq!(client.get(path).body.len(), size, "{path}");
    }
}

#[test]
fn a_download_is_sent_in_chunks_of_the_size_asked_for() {
    let server = serve(TargetConfig::default());
    for size in [10, 70_000] {
        let mut client = Client::new(&server);
        client
            .send(&format!("GET /download?size={size}&chunk_size=4 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"));
        client.read_head();
        let chunks =
            [b"4\r\n\0\0\0\0\r\n".repeat(size / 4), if size % 4 == 2 { b"2\r\n\0\0\r\n".to_vec() } else { vec![] }];
        assert_eq!(client.rest(), [&chunks.concat()[..], b"0\r\n\r\n"].concat(), "{size}");
    }
}

#[test]
fn uploads_are_summed_up_and_checked_in_either_framing() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    // The check value of CRC-32 is that of these nine digits.
    let fixed = "Content-Length: 9\r\n\r\n123456789";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n5;x=y\r\n56789\r\n0\r\n\r\n";
    for framing in [fixed, chunked, fixed] {
        client.send(&format!("POST /upload?expect=9 HTTP/1.1\r\nHost: t\r\n{framing}"));
        let response = client.response();
        assert!(response.head.contains("\r\nContent-Type: application/json\r\n"));
        assert_eq!(response.text(), "{\"received_bytes\":9,\"crc32\":\"cbf43926\"}\n");
        client.send(&format!("PUT /upload?expect=10 HTTP/1.1\r\nHost: t\r\n{framing}"));
        let refused = client.response();
        assert_eq!(refused.status, 400);
        let said = "{\"error\":\"9 bytes came, 10 were expected\",\"parameter\":\"expect\",\"example\":\"/upload?expect=5\"}\n";
        assert_eq!(refused.text(), said);
    }
    assert_eq!(client.get("/upload").text(), "{\"received_bytes\":0,\"crc32\":\"00000000\"}\n");
}

#[test]
fn drawn_sleeps_keep_within_their_bounds_and_differ() {
    let server = serve(TargetConfig::default());
    let clock = Clock::start();
    let mut client = Client::new(&server);
    for _ in 0..5 {
        let begin_ns = clock.now_ns();
        assert_eq!(client.get("/sleep?dist=uniform&min=5ms&max=6ms").body, b"slept\n");
        assert!(clock.now_ns() - begin_ns >= 5 * MS);
    }
    // Drawn at random, forty of mean 2 ms take more than 20 ms but for a chance of one in millions.
    let begin_ns = clock.now_ns();
    for path in ["/sleep?dist=exp&mean=2ms&seed=3", "/sleep?dist=lognormal&mean=2ms&sigma=0.5"] {
        (0..20).for_each(|_| assert_eq!(client.get(path).status, 200));
    }
    assert!(clock.now_ns() - begin_ns >= 20 * MS);
}

#[test]
fn the_landing_page_names_the_host_it_is_asked_by() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for host in ["localhost:81", "shop.example", "a"] {
        client.send(&format!("GET /index.html HTTP/1.1\r\nhOST: {host}\r\n\r\n"));
        let page = client.response();
        assert!(page.head.contains("\r\nContent-Type: text/html"), "{}", page.head);
        assert!(page.text().contains(&format!("curl -i 'http://{host}/urandom?size=2048&amp;seed=1'")), "{host}");
    }
    for hostile in ["<script>", "a'b", &"x".repeat(5_000)] {
        client = Client::new(&server);
        client.send(&format!("GET / HTTP/1.1\r\nHost: {hostile}\r\n\r\n"));
        let page = client.response().text();
        assert!(!page.contains(hostile) && page.contains(&format!("'http://{}/stats'", server.address())), "{page}");
    }
}

#[test]
fn bodies_of_every_kind_wait_for_a_reader_that_does_not_read() {
    let server = serve(TargetConfig::default());
    let mut readers: Vec<Client> = (0..8).map(|_| Client::new(&server)).collect();
    let paths =
        ["/zero?size=1GiB", "/urandom?size=1GiB", "/download?size=1GiB&chunk_size=64KiB", "/download?size=1GiB"];
    let before = resident_bytes();
    readers.iter_mut().enumerate().for_each(|(index, reader)| reader.request(paths[index % paths.len()]));
    for _ in 0..50 {
        assert_eq!(get(&server, "/zero?size=3").body, [0; 3]);
    }
    // Eight bodies of 1 GiB are on their way; what is kept of each is less than a chunk.
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 256 << 20, "{grown} bytes more than before");
}

/// Memory of this process, in which the target runs.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
