//! More than one request: mixes, recordings, templates, pipelines.

use crate::support::{BrokenServer, Program, Target, count, plimsoll};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Runs `args` as JSON, for `n` requests on two connections.
#[track_caller]
fn run(program: Program) -> Value {
    program.run().measured().json()
}

fn args<'a>(url: &'a str, n: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", url, "-c", "2", "-n", n, "--warmup", "0s", "--json"], more].concat()
}

#[test]
fn a_mix_has_the_shares_of_its_weights_and_a_contract_for_each_request() {
    let target = Target::start(&[]);
    let list = "# sizes\n3 /bytes/10\n/bytes/1000\nPOST /upload?size=5 hello\nHEAD /bytes/70000\n";
    let before = target.seen();
    let record = run(plimsoll(args(&target.url("/"), "6000", &["--urls", "list"])).with_file("list", list.as_bytes()));
    assert_eq!(count(&record, "requests.good"), 6000, "each by its own contract: {}", record["requests"]);
    let sizes: Vec<u64> =
        (0..4).map(|i| count(&record, &format!("plan.requests.{i}.contract.size_bytes.min"))).collect();
    assert_eq!((sizes[0], sizes[1], sizes[3]), (10, 1000, 0));
    for (i, expected) in [3000, 1000, 1000, 1000].into_iter().enumerate() {
        let n = count(&record, &format!("requests.mix.{i}.completed"));
        assert!(n.abs_diff(expected) <= 10, "{i}: {n} of {expected}");
        assert_eq!(count(&record, &format!("requests.mix.{i}.good")), n);
        assert!(count(&record, &format!("requests.mix.{i}.response_mean_ns")) > 0);
    }
    let probes = 3 + 3 * 2;
    assert_eq!(target.seen().1 - before.1, 6000 + probes + 2, "as many as the server counts, and two questions");
}

#[test]
fn a_wrong_answer_in_a_mix_is_told_apart_from_the_others() {
    let server = BrokenServer::start(|peer| {
        let mut late = 0;
        while let Some(request) = peer.request() {
            late += u32::from(request.starts_with("GET /b "));
            let body = if late > 20 && request.starts_with("GET /b ") { "oops!" } else { "fine" };
            if !peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes()) {
                return;
            }
        }
    });
    let record = run(plimsoll(args(&server.url("/"), "400", &["--urls", "list"])).with_file("list", b"/a\n/b\n"));
    assert_eq!(count(&record, "requests.mix.0.good"), count(&record, "requests.mix.0.completed"));
    let wrong = count(&record, "requests.mix.1.completed") - count(&record, "requests.mix.1.good");
    assert_eq!(wrong, count(&record, "requests.failures.contract.size"));
    assert!(wrong > 100, "{wrong}");
}

#[test]
fn a_recording_is_played_with_the_status_it_had() {
    let target = Target::start(&[]);
    let entry = |method: &str, url: &str, status: u16| serde_json::json!({"request": {"method": method, "url": url, "headers": []}, "response": {"status": status}});
    let entries = [
        entry("GET", "https://shop.example/bytes/20", 200),
        entry("GET", "https://shop.example/status/404", 404),
        entry("GET", "https://cdn.example/x.js", 200),
    ];
    let har = serde_json::json!({"log": {"version": "1.2", "entries": entries}}).to_string();
    let ended =
        plimsoll(args(&target.url("/"), "1000", &["--har", "site.har"])).with_file("site.har", har.as_bytes()).run();
    let record = ended.measured().json();
    assert!(ended.stderr.contains("2 of the 3 recorded requests, those to https://shop.example, go to"), "{ended:?}");
    assert_eq!(count(&record, "requests.good"), 1000);
    assert!(count(&record, "requests.status.404").abs_diff(500) <= 5);
    let recording = &record["plan"]["recording"];
    assert_eq!(recording["origin"], "https://shop.example");
    assert_eq!(
        ["taken", "recorded", "other_servers"].map(|name| recording[name].as_u64()),
        [Some(2), Some(3), Some(1)]
    );
    let findings = record["verdict"]["findings"].as_array().expect("findings");
    let of_it = findings.iter().find(|finding| finding["rule"] == "LD-09").expect("a request was left out");
    assert_eq!(of_it["state"], "note");
}

/// It was sent as a GET with a body of `POST`, as nothing knew that the method stands behind the URL.
#[test]
fn a_list_of_siege_is_sent_as_siege_sends_it() {
    let (server, noted) = noting();
    let url = server.url("/");
    let list = format!("SHOP={url}shop\n$(SHOP)/cart POST id=1&n=2\n");
    let ended = plimsoll(args(&url, "20", &["--urls", "urls.txt", "--expect", "status=201"]))
        .with_file("urls.txt", list.as_bytes())
        .run();
    assert!(ended.stderr.contains("--urls urls.txt was read as a list of siege: 1 request"), "{ended:?}");
    let noted = noted.lock().unwrap();
    assert!(noted.len() >= 20, "{} requests", noted.len());
    for request in noted.iter() {
        assert!(
            request.starts_with("POST /shop/cart HTTP/1.1\r\n") && request.ends_with("\r\n\r\nid=1&n=2"),
            "{request}"
        );
    }
}

/// A server that notes what it is asked, and what it has noted.
fn noting() -> (BrokenServer, Arc<Mutex<Vec<String>>>) {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&noted);
    let server = BrokenServer::start(move |peer| {
        while let Some(request) = peer.request() {
            seen.lock().unwrap().push(request);
            if !peer.send(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok") {
                return;
            }
        }
    });
    (server, noted)
}

#[test]
fn no_two_requests_of_a_sweep_from_a_template_are_the_same() {
    let (server, noted) = noting();
    let url = server.url("/posts/{{counter}}");
    let body = r#"{"slug": "{{run}}-{{random:10}}", "n": {{int:1..6}}}"#;
    let sweep = ["sweep", &url, "-m", "POST", "--template", "-b", body, "--to", "2", "--points", "2"];
    let ended =
        plimsoll(sweep.iter().chain(&["--iterations", "2", "-d", "150ms", "--warmup", "50ms", "-t", "2"])).run();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let noted = noted.lock().unwrap();
    let (mut paths, mut slugs, mut runs) = (HashSet::new(), HashSet::new(), HashSet::new());
    for request in noted.iter() {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        paths.insert(head.lines().next().unwrap().to_owned());
        let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {request}"));
        let (run, slug) = body["slug"].as_str().unwrap().split_once('-').unwrap();
        slugs.insert(slug.to_owned());
        runs.insert(run.to_owned());
        assert!((1..=6).contains(&body["n"].as_u64().unwrap()), "{body}");
    }
    assert!(noted.len() > 100, "{} requests", noted.len());
    assert_eq!((paths.len(), slugs.len(), runs.len()), (noted.len(), noted.len(), 1));
}

/// Each step began with the numbers of the first: what a cache had kept of that was measured.
#[test]
fn no_two_steps_of_an_experiment_ask_for_the_same() {
    let (server, noted) = noting();
    let file = format!(
        "name = \"posts\"\nrepetitions = 2\nurl = \"{}\"\n[flags]\ntemplate = true\nrequests = 20\nconnections = 2\n\
         warmup = \"0s\"\n",
        server.url("/posts/{{counter}}")
    );
    let ended = plimsoll(["experiment", "x.toml", "-o", "out"]).with_file("x.toml", file.as_bytes()).run();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let noted = noted.lock().unwrap();
    let paths: HashSet<_> = noted.iter().filter_map(|request| request.lines().next()).collect();
    assert!(noted.len() > 40, "{} requests", noted.len());
    assert_eq!(paths.len(), noted.len());
}

#[test]
fn a_pipeline_is_answered_in_full_and_in_order() {
    let target = Target::start(&[]);
    let before = target.seen();
    let list = b"/bytes/10\n/bytes/3000\n";
    let more = ["--urls", "list", "--pipeline", "16", "--expect", "hash"];
    let record = run(plimsoll(args(&target.url("/"), "20k", &more)).with_file("list", list));
    assert_eq!(count(&record, "requests.good"), 20_000);
    assert_eq!(count(&record, "connections.reconnects"), 0);
    assert_eq!(target.seen().1 - before.1, 20_000 + 5 + 2);
}

#[test]
fn files_of_requests_that_cannot_be_used_are_named_with_the_reason() {
    let refused = |file: &str, content: &str, flags: &[&str], named: &[&str]| {
        let args = ["run", "http://127.0.0.1:9/"].into_iter().chain(flags.iter().copied());
        plimsoll(args).with_file(file, content.as_bytes()).run().fails(2, named);
    };
    refused("list", "", &["--urls", "list"], &["--urls list", "no request"]);
    refused("list", "/a\n\nhttp://other/\n", &["--urls", "list"], &["line 3", "http://other", "another server"]);
    refused("list", "http://other/\n", &["--urls", "list"], &["plimsoll run http://other/ --connect-to 127.0.0.1:9"]);
    let script = "request = function()\n  return wrk.format('GET', '/' .. math.random(9))\nend\n";
    refused("random.lua", script, &["--urls", "random.lua"], &["line 1", "\"request\"", "--template", "--urls FILE"]);
    refused("list", "/a\n", &["--urls", "lost"], &["--urls lost", "No such file"]);
    refused("list", "/a\n", &["--urls", "list", "-m", "POST"], &["--urls", "--method"]);
    refused("x.har", r#"{"log": {"version": "3.0", "entries": []}}"#, &["--har", "x.har"], &["version 3.0", "1.2"]);
    refused("x.har", "<html>", &["--har", "x.har"], &["--har x.har", "not JSON"]);
    refused("x", "", &["--template", "-b", "{{nope}}"], &["--template", "{{nope}}", "counter"]);
    refused("x", "", &["--template", "-b", "{{uuid"], &["--template", "not closed"]);
    refused("x", "", &["--pipeline", "65"], &["--pipeline 65", "between 1 and 64"]);
    refused("x", "", &["--pipeline", "2", "-R", "10"], &["--pipeline 2", "closed loops"]);
    refused("x", "", &["--pipeline", "2", "--no-keepalive"], &["--pipeline", "--no-keepalive"]);
}

#[test]
fn a_request_of_a_mix_that_cannot_be_measured_is_named() {
    let target = Target::start(&[]);
    let url = target.url("/");
    plimsoll(["run", &url, "--urls", "list", "-n", "10"])
        .with_file("list", b"/bytes/10\n/status/404\n")
        .run()
        .fails(3, &["GET /status/404", "404", "--expect status=404"]);
}
