//! `--auth`: the server gets the credentials, and nobody else.

use crate::support::{BrokenServer, Ended, list, plimsoll, shell};
use std::path::Path;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const DENIED: &[u8] = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
/// `user:s3cret` as RFC 7617 sends it.
const BASIC: &str = "Basic dXNlcjpzM2NyZXQ=";

/// A server that answers 401 to every request without exactly this `Authorization`.
fn guarded(value: &'static str) -> BrokenServer {
    BrokenServer::start(move |peer| {
        let line = format!("\r\nAuthorization: {value}\r\n");
        while let Some(request) = peer.request() {
            peer.send(if request.contains(&line) { OK } else { DENIED });
        }
    })
}

/// Fails when one of `secrets` is in what was printed or in a file of the record.
#[track_caller]
fn nowhere(ended: &Ended, secrets: &[&str]) {
    let mut told = vec![ended.stdout.clone(), ended.stderr.clone()];
    told.extend(files(&ended.run_directory()));
    assert!(told.len() >= 2 + 3, "the record has its files");
    for secret in secrets {
        assert!(told.iter().all(|text| !text.contains(secret)), "{secret} is told: {told:#?}");
    }
}

fn files(directory: &Path) -> Vec<String> {
    let read = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
    list(directory).iter().flat_map(|path| if path.is_dir() { files(path) } else { vec![read(path)] }).collect()
}

#[test]
fn credentials_from_variables_and_files_reach_the_server_and_no_record() {
    for (auth, value) in [
        ("basic:env:LOGIN", BASIC),
        ("basic:file:login", BASIC),
        ("bearer:env:TOKEN", "Bearer t0k3n"),
        ("bearer:file:token", "Bearer t0k3n"),
    ] {
        let server = guarded(value);
        let run = format!("run '{}' --auth {auth} -n 50 -c 2 --warmup 0s", server.url("/"));
        let script = format!(
            "umask 077; echo user:s3cret >login; echo t0k3n >token; export LOGIN=user:s3cret TOKEN=t0k3n\n\
             exec \"$PLIMSOLL\" {run}"
        );
        let ended = shell(&script).run();
        // A denied request would have ended with 3.
        ended.measured();
        assert!(!ended.stderr.contains("warning"), "{ended:#?}");
        let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
        assert_eq!(record["requests"]["good"], 50, "{record:#}");
        assert_eq!(record["plan"]["requests"][0]["headers"][0][0], "Authorization");
        nowhere(&ended, &["s3cret", "dXNlcjpzM2NyZXQ", "t0k3n"]);
    }
}

#[test]
fn secrets_in_a_url_reach_the_server_and_no_record() {
    let server = BrokenServer::start(|peer| {
        while let Some(request) = peer.request() {
            peer.send(if request.starts_with("GET /?token=t0k3n&page=1 ") { OK } else { DENIED });
        }
    });
    let ended = plimsoll(["run", &server.url("/?token=t0k3n&page=1"), "-n", "50", "-c", "2", "--warmup", "0s"]).run();
    ended.measured();
    let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    assert_eq!(record["requests"]["good"], 50, "{record:#}");
    assert_eq!(record["plan"]["requests"][0]["path"], "/?token=<redacted>&page=1");
    let files = files(&ended.run_directory());
    assert!(files.len() >= 3 && files.iter().all(|text| !text.contains("t0k3n")), "{files:#?}");
}

#[test]
fn a_sweep_keeps_the_secret_too() {
    let server = guarded("Bearer t0k3n");
    let args = format!("sweep '{}' --auth bearer:env:TOKEN --to 2 --points 2 --iterations 1 -d 200ms", server.url("/"));
    let ended = shell(&format!("TOKEN=t0k3n exec \"$PLIMSOLL\" {args} --warmup 0s --json")).run();
    assert!(ended.json()["points"][0]["goodput_per_s"]["value"].as_f64().is_some_and(|n| n > 0.0), "{ended:#?}");
    nowhere(&ended, &["t0k3n"]);
}

#[test]
fn a_file_that_others_can_read_is_warned_about_and_used() {
    let server = guarded(BASIC);
    let run = format!("run '{}' --auth basic:file:login -n 50 -c 2 --warmup 0s -q", server.url("/"));
    let ended = shell(&format!("echo user:s3cret >login; chmod 644 login; exec \"$PLIMSOLL\" {run}")).run();
    ended.measured();
    assert!(ended.stderr.contains("other users can read login; chmod 600"), "{ended:#?}");
}

#[test]
fn credentials_that_cannot_be_had_are_named_and_not_repeated() {
    let refused = |args: &[&str], named: &[&str]| {
        let program = plimsoll(["run", "http://127.0.0.1:1/"].iter().chain(args)).with_file("login", b"s3cret\n");
        let ended = program.run();
        ended.fails(2, named);
        assert!(!ended.stderr.contains("s3cret"), "{ended:#?}");
    };
    refused(&["--auth", "basic:env:PLIMSOLL_NOT_SET"], &["--auth", "PLIMSOLL_NOT_SET", "not set"]);
    refused(&["--auth", "basic:file:nowhere"], &["--auth", "nowhere", "No such file"]);
    refused(&["--auth", "user:s3cret"], &["--auth", "basic:env:VAR"]);
    refused(&["--auth", "basic:file:/"], &["--auth", "directory"]);
    refused(&["--auth", "bearer:env:HOME", "-H", "authorization: x"], &["--auth", "--header", "exclude"]);
    let ended = plimsoll(["run", "http://user:s3cret@127.0.0.1:1/"]).run();
    ended.fails(2, &["credentials", "--auth basic:env:VAR"]);
    assert!(!ended.stderr.contains("s3cret"), "{ended:#?}");
}

#[test]
fn basic_credentials_need_a_user() {
    let ended =
        plimsoll(["run", "http://127.0.0.1:1/", "--auth", "basic:file:login"]).with_file("login", b"s3cret\n").run();
    assert!(ended.stderr.contains("holds no user:password") && !ended.stderr.contains("s3cret"), "{ended:#?}");
    ended.exits(2);
}
