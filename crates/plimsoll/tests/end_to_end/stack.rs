//! WordPress by `plimsoll stack`: up, measured, and gone.

use crate::support::{Endpoint, Stacks, count, exchange, text};
use serde_json::Value;

/// Small, so that nothing but the stack is looked at.
const SMALL: &str = "posts=12 comments=10 images=2 pages=2 innodb_buffer_pool_size=32MiB";

#[track_caller]
fn get(url: &str, path: &str) -> (u16, String) {
    let authority = url.trim_start_matches("http://").trim_end_matches('/');
    let endpoint = Endpoint::plain(authority.parse().expect("an address"));
    let request = format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    let answer = exchange(&endpoint, request.as_bytes());
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

#[track_caller]
fn run(stacks: &Stacks, args: &[&str]) -> Value {
    let output = stacks.run([&["run"], args, &["--json", "-q", "-c", "2", "--warmup", "0s"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn wordpress_is_up_measured_and_gone() {
    for front in ["nginx", "apache"] {
        let stacks = Stacks::new();
        let line = stacks.up(&format!("wordpress front={front} children=2 {SMALL}"));
        let (url, auth) = (text(&line, "url"), text(&line, "auth"));
        let (status, page) = get(url, "/");
        assert!(status == 200 && page.contains("Post 12 ") && page.contains("Post 11 "), "{front}: {status} {page}");
        for (path, holds) in [
            ("/post-3/", "Category"),
            ("/page-2/", "Page 2"),
            ("/?s=lorem", "Search results"),
            ("/wp-json/wp/v2/posts?per_page=1", "Post 12 "),
            ("/wp-content/uploads/2024/01/image-1.png", "PNG"),
        ] {
            let (status, body) = get(url, path);
            assert!(status == 200 && body.contains(holds), "{front} {path}: {status} {body:.300}");
        }
        assert_eq!(get(url, "/no-such-page/").0, 404, "{front}");
        stacks.run(["check", url, "-q"]);
        let record = run(&stacks, &[url, "-d", "1s"]);
        let planned = count(&record, "requests.planned");
        assert!(planned > 0 && count(&record, "requests.good") == planned, "{front}: {:#}", record["requests"]);
        assert_eq!(count(&record["probe"]["fetches"][0], "status"), 200, "no redirect: {:#}", record["probe"]);
        let posts = format!("{url}wp-json/wp/v2/posts");
        let body = "{\"title\":\"Written {{counter}}\",\"status\":\"publish\",\"content\":\"text\"}";
        let json = ["-m", "POST", "-H", "Content-Type: application/json", "--template", "-b", body, "-n", "4"];
        let record = run(&stacks, &[&[posts.as_str(), "--auth", auth, "--expect", "status=201"][..], &json].concat());
        assert_eq!(count(&record, "requests.good"), 4, "{front}: {:#}", record["requests"]);
        assert!(stacks.fine(["stack", "status"]).ends_with("images=2 pages=2 innodb_buffer_pool_size=32MiB): up\n"));
        stacks.fine(["stack", "down", "wordpress"]);
        assert!(stacks.left().is_empty(), "{:?}", stacks.left());
    }
}

#[test]
fn a_page_cache_keeps_what_visitors_see_and_nothing_else() {
    let stacks = Stacks::new();
    let line = stacks.up(&format!("wordpress page_cache=nginx {SMALL}"));
    let url = text(&line, "url");
    let authority = url.trim_start_matches("http://").trim_end_matches('/');
    let cached = |request: &str| {
        let endpoint = Endpoint::plain(authority.parse().expect("an address"));
        let request = format!("{request}Host: {authority}\r\nConnection: close\r\n\r\n");
        let answer = exchange(&endpoint, request.as_bytes());
        answer.header("x-page-cache").map(str::to_owned)
    };
    assert_eq!(cached("GET / HTTP/1.1\r\n").as_deref(), Some("HIT"), "the check of the page has filled it");
    assert_eq!(cached("GET / HTTP/1.1\r\nCookie: wordpress_logged_in_x=1\r\n").as_deref(), Some("BYPASS"));
    assert_eq!(cached("GET /?s=lorem HTTP/1.1\r\n").as_deref(), Some("BYPASS"));
    assert_eq!(cached("GET /wp-json/ HTTP/1.1\r\n").as_deref(), Some("BYPASS"));
}

#[test]
fn a_wordpress_that_fails_is_told_in_one_line() {
    let stacks = Stacks::new();
    stacks.fails(
        ["stack", "up", "wordpress", "source=/no/such"],
        2,
        &["/no/such/wp-load.php", "apt-get install wordpress"],
    );
    stacks.fails(["stack", "up", "wordpress", "posts=0"], 2, &["comments=100: there is no post"]);
    let settings: Vec<&str> = SMALL.split(' ').collect();
    let up = |more: &str| [&["stack", "up", "wordpress"], &settings[..], &[more]].concat();
    // Without its slash the page is a redirect to itself with one.
    stacks.fails(up("path=/post-1"), 3, &["nginx answers 301", "a redirect to http://127.0.0.1:", "/post-1/"]);
    assert!(stacks.left().is_empty(), "{:?}", stacks.left());
}
