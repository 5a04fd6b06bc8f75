//! Secrets in every place that is known: the server gets them, and no file of a result, no name of one and no output does.

use crate::agents::Hosts;
use crate::support::{BrokenServer, Ended, Program, Started, list, plimsoll};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What every secret here begins with; the rest names its place.
const SIGN: &str = "S3CRET";
/// What is shown round a secret that was found.
const ROUND_BYTES: usize = 80;
const REDIRECT: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /login?token=S3CRET-location&page=1\r\n\
                          Set-Cookie: sid=S3CRET-set-cookie\r\nContent-Length: 0\r\n\r\n";
const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// Short, and as disturbed as it likes.
const SHORT: [&str; 6] = ["-c", "2", "-d", "1s", "--warmup", "0s"];

/// Fails when a secret is in what was printed, in a file of the record or in its name.
#[track_caller]
fn nowhere(ended: &Ended) {
    let directory = ended.run_directory();
    let mut told = printed(ended);
    for path in files(&directory) {
        let name = path.strip_prefix(&directory).expect("it lies there").display().to_string();
        told.push((format!("the name {name}"), name.clone().into_bytes()));
        told.push((name, std::fs::read(&path).expect("a file")));
    }
    assert!(told.len() >= 2 + 2 * 3, "the record has its files: {ended:#?}");
    none_in(&told);
}

/// Fails when a secret is in what was printed.
#[track_caller]
fn unsaid(ended: &Ended) {
    none_in(&printed(ended));
}

fn printed(ended: &Ended) -> Vec<(String, Vec<u8>)> {
    [("stdout", &ended.stdout), ("stderr", &ended.stderr)]
        .map(|(name, text)| (name.to_owned(), text.clone().into_bytes()))
        .into()
}

#[track_caller]
fn none_in(told: &[(String, Vec<u8>)]) {
    for (place, bytes) in told {
        let Some(at) = bytes.windows(SIGN.len()).position(|part| part == SIGN.as_bytes()) else { continue };
        let round = &bytes[at.saturating_sub(ROUND_BYTES)..bytes.len().min(at + ROUND_BYTES)];
        panic!("a secret in {place}: {:?}", String::from_utf8_lossy(round));
    }
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    list(directory).into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A server that sends everybody elsewhere, and counts the requests that have all of `expected`.
fn redirecting(expected: &'static [&'static str]) -> (BrokenServer, Arc<AtomicU64>) {
    let whole = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&whole);
    let server = BrokenServer::start(move |peer| {
        while let Some(request) = peer.request() {
            count.fetch_add(u64::from(expected.iter().all(|part| request.contains(part))), Ordering::Relaxed);
            peer.send(REDIRECT);
        }
    });
    (server, whole)
}

/// A process with secrets in its command line, which does nothing for as long as it is kept.
fn companion() -> Started {
    let words = [
        "-c",
        "while :; do sleep 1; done",
        "sh",
        "--password=S3CRET-argument and more",
        "--token",
        "S3CRET-flag",
        "postgres://app:S3CRET-dsn@db/shop",
        "-H",
        "Cookie: theme=\"dark\"; session=S3CRET-cookie-of-process",
    ];
    Program::new("sh", words).start()
}

#[test]
fn a_profiled_run_keeps_all_of_them() {
    let (server, whole) = redirecting(&[
        "S3CRET-query",
        "S3CRET-sig",
        "S3CRET-body",
        "S3CRET-digest",
        "S3CRET-cookie",
        "S3CRET-key",
        "S3CRET-csrf",
        "S3CRET-referer",
    ]);
    let companion = companion();
    let pid = companion.pid().to_string();
    let url = server.url("/start?token=S3CRET-query&sig=S3CRET-sig&page=1");
    let status = server.url("/status?token=S3CRET-status");
    let args = [
        "run",
        &url,
        "-m",
        "POST",
        "-b",
        "{\"password\":\"S3CRET-body\"}",
        "-H",
        "Authorization: Digest username=\"u\", response=\"S3CRET-digest\"",
        "--header",
        "Cookie: theme=\"dark\"; session=S3CRET-cookie",
        "-H",
        "X-Api-Key : S3CRET-key",
        "-HX-CSRF-Token: S3CRET-csrf",
        "--header=Referer: http://h/?access_token=S3CRET-referer",
        "--expect",
        "status=302",
        "--status",
        &status,
        "--observe",
        &pid,
        "--profile",
    ];
    let ended = plimsoll(args.iter().chain(&SHORT)).run();
    drop(companion);
    assert!(whole.load(Ordering::Relaxed) > 0, "the server got them: {ended:#?}");
    nowhere(&ended);
    // And all that had one is there.
    let record: Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    assert_eq!(record["plan"]["requests"][0]["path"], "/start?token=<redacted>&sig=<redacted>&page=1", "{record:#}");
    assert_eq!(record["probe"]["redirects"][0], "/login?token=<redacted>&page=1");
    assert!(record["status"][0]["url"].as_str().is_some_and(|url| url.ends_with("/status?token=<redacted>")));
    let facts = record["environment"]["fingerprint"]["facts"].to_string();
    assert!(facts.contains("postgres://<redacted>@db/shop") && facts.contains("--token <redacted>"), "{facts}");
    let graph = ended.recorded("profile.svg");
    assert!(graph.contains("CPU time under") && graph.contains("token=&lt;redacted&gt;"), "{graph}");
    let page = ended.recorded("report.html");
    assert!(page.contains("redacted"), "the page has its title");
    // A result that is made once more has no more in it.
    let directory = ended.run_directory();
    std::fs::remove_file(directory.join("run.json")).expect("it is there");
    plimsoll(["report".as_ref(), "--recover".as_ref(), directory.as_os_str()]).run();
    assert!(directory.join("run.json").exists(), "it was made again");
    nowhere(&ended);
}

#[test]
fn a_recording_of_a_browser_keeps_all_of_them() {
    let (server, whole) = redirecting(&[
        "S3CRET-har-sig",
        "S3CRET-har-cookie",
        "S3CRET-har-session",
        "S3CRET-har-csrf",
        "S3CRET-har-body",
        "S3CRET-login",
    ]);
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let request = json!({
        "method": "POST",
        "url": server.url("/cart?sig=S3CRET-har-sig&user%5Bpassword%5D=S3CRET-har-form&next=%2Fa%3Ftoken%3DS3CRET-har-next"),
        "headers": [
            header("cookie", "theme=\"dark\"; sid=S3CRET-har-cookie"),
            header("X-Session-Id", "S3CRET-har-session"),
            header("X-CSRF-Token", "S3CRET-har-csrf"),
            header("Accept", "text/html"),
        ],
        "postData": {"mimeType": "application/json", "text": "{\"password\":\"S3CRET-har-body\"}"},
    });
    let entry = json!({"request": request, "response": {"status": 302}});
    let har = json!({"log": {"version": "1.2", "entries": [entry]}}).to_string();
    let args = ["run", "--har", "site.har", "--auth", "bearer:env:HAR_LOGIN"];
    let words = ["HAR_LOGIN=S3CRET-login", env!("CARGO_BIN_EXE_plimsoll")].into_iter().chain(args).chain(SHORT);
    let ended = Program::new("env", words).with_file("site.har", har.as_bytes()).run();
    assert!(whole.load(Ordering::Relaxed) > 0, "the server got them: {ended:#?}");
    nowhere(&ended);
    let record: Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    let request = &record["plan"]["requests"][0];
    assert_eq!(request["path"], "/cart?sig=<redacted>&user%5Bpassword%5D=<redacted>&next=%2Fa%3Ftoken%3D<redacted>");
    assert!(request["headers"].to_string().contains("text/html"), "{request:#}");
    let command = record["environment"]["command"].to_string();
    assert!(command.contains("bearer:env:HAR_LOGIN"), "where it comes from is told: {command}");
}

#[test]
fn a_profiled_sweep_of_two_variants_keeps_all_of_them() {
    let server = |variant: &str| {
        format!(
            "env=DB_PASSWORD=S3CRET-env-{variant} env='API_TOKEN=S3CRET quoted' -- sh -c '\"$PLIMSOLL\" target \
             --die-with-parent --listen 127.0.0.1:$PORT; :' sh --password=S3CRET-argument \
             postgres://app:S3CRET-dsn@db/shop --token S3CRET-flag \
             -H 'Cookie: theme=\"dark\"; session=S3CRET-cookie'"
        )
    };
    let (one, other) = (server("one"), server("other"));
    let args = ["sweep", "--serve", &one, "--serve", &other, "--to", "2", "--points", "2", "--iterations", "1"];
    let more =
        ["-d", "500ms", "--warmup", "0s", "--budget", "0s", "--profile", "-H", "Cookie: a=\"b\"; c=S3CRET-sweep"];
    let ended = plimsoll(args.iter().chain(&more)).run();
    nowhere(&ended);
    let record: Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    let sweeps = record["sweeps"].as_array().expect("several");
    assert_eq!(sweeps.len(), 2, "{ended:#?}");
    for sweep in sweeps {
        let label = sweep["arm"].as_str().expect("a label");
        assert!(label.starts_with("env=DB_PASSWORD=<redacted> env='API_TOKEN=<redacted>' -- sh -c"), "{label}");
        assert!(label.ends_with("postgres://<redacted>@db/shop --token <redacted> -H 'Cookie: <redacted>'"), "{label}");
        assert_eq!(sweep["environment"]["served"]["label"], label);
    }
    // Each arm has one directory, whose name is made of what is shown of it.
    let names: Vec<String> = list(&ended.run_directory().join("arms"))
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    assert!(names.len() == 2 && names.iter().all(|name| name.contains("env-DB_PASSWORD-redacted")), "{names:?}");
    let graphs = files(&ended.run_directory()).into_iter().filter(|path| path.ends_with("profile.svg")).count();
    assert_eq!(graphs, 2);
}

#[test]
fn agents_send_all_of_them_and_keep_none() {
    let (server, whole) = redirecting(&["S3CRET-query", "S3CRET-key", "S3CRET-body"]);
    let hosts = Hosts::new();
    let secrets = ["-m", "POST", "-b", "{\"password\":\"S3CRET-body\"}", "-H", "X-Api-Key: S3CRET-key"];
    let load = ["--expect", "status=302", "-c", "2", "-d", "1s"];
    let ended = hosts.run(&server.url("/start?token=S3CRET-query"), &[&secrets[..], &load].concat()).run();
    let probed = 3;
    assert!(whole.load(Ordering::Relaxed) > probed, "the server got them: {ended:#?}");
    nowhere(&ended);
    // The program, and the number of its process.
    let left: Vec<PathBuf> = ["a", "b"].iter().flat_map(|host| files(&hosts.home(host))).collect();
    let names: Vec<_> = left.iter().map(|path| path.file_name().expect("a name")).collect();
    assert_eq!(names, ["plimsoll", "pid", "plimsoll", "pid"]);
}

#[test]
fn what_a_server_wrote_last_is_told_without_them() {
    let serve = "env=DB_PASSWORD=S3CRET-env -- sh -c \
                 'echo DB_PASSWORD=$DB_PASSWORD for postgres://app:S3CRET-dsn@db >&2; exit 7'";
    let ended = plimsoll(["run", "--serve", serve]).run();
    ended.fails(3, &["sh ended with exit code 7", "DB_PASSWORD=<redacted> for postgres://<redacted>@db"]);
    unsaid(&ended);
}

#[test]
fn a_check_shows_where_a_redirect_leads_without_them() {
    let server = BrokenServer::start(|peer| {
        while let Some(request) = peer.request() {
            peer.send(if request.starts_with("GET /login") { HELLO } else { REDIRECT });
        }
    });
    let url = server.url("/start?token=S3CRET-query");
    for more in [&["--json"][..], &[]] {
        let args = ["check", url.as_str(), "-H", "Cookie: a=\"b\"; c=S3CRET-cookie"];
        let ended = plimsoll(args.iter().chain(more)).run();
        unsaid(&ended);
        // In the table it may be broken into lines.
        assert!(more.is_empty() || ended.stdout.contains("/login?token=<redacted>&page=1"), "{ended:#?}");
    }
}

#[test]
fn messages_do_not_repeat_what_was_typed() {
    let refused = |args: &[&str], code: i32, named: &[&str]| {
        let ended = plimsoll(args).run();
        ended.fails(code, named);
        unsaid(&ended);
    };
    let url = "http://127.0.0.1:1/?token=S3CRET-query";
    refused(&["run", url, "-H", "Authorization Bearer S3CRET"], 2, &["--header", "Authorization", "no colon"]);
    refused(&["run", url, "-H", "Cookie: S3CRET\r\nX: y"], 2, &["--header", "Cookie", "forbidden"]);
    refused(&["run", url, "--insecure"], 2, &["--insecure", "token=<redacted>"]);
    refused(&["run", "ftp://h/?token=S3CRET"], 2, &["scheme is ftp"]);
    refused(&["run", url, "--status", "ftp://h/?token=S3CRET"], 2, &["--status", "unknown scheme"]);
    refused(&["run", url, "--server", "http://192.0.2.1/?token=S3CRET"], 3, &["--server", "not on this machine"]);
    refused(&["run", "--serve", "nginx env=DB_PASSWORD=S3CRET fast"], 2, &["fast", "not key=value"]);
}

/// Flags with a secret that was typed where none belongs, or where it is taken for something else, with what the message names
/// instead. Logs of builds keep what programs print.
const TYPED: [(&[&str], &str); 34] = [
    (&["--connect-to", "bob:S3CRET@host.test:1"], "--connect-to"),
    (&["--connect-to", "S3CRET@host.test:1"], "host.test"),
    (&["--connect-to", "bob:S3CRET@host.test"], "--connect-to"),
    (&["--connect-to", "http://bob:S3CRET@host.test/"], "--connect-to"),
    (&["--unix-socket", "/etc/passwd?token=S3CRET"], "--unix-socket"),
    (&["--unix-socket", "unix:/nowhere?token=S3CRET"], "--unix-socket"),
    (&["--header", "Authorization: Bearer S3CRET\nx"], "--header"),
    (&["--header", "Authorization Bearer S3CRET"], "--header"),
    (&["--header", "X-Api-Key S3CRET"], "--header"),
    (&["--auth", "bearer:S3CRET"], "--auth"),
    (&["--auth", "bob:S3CRET"], "--auth"),
    (&["--auth", "basic:env:bob:S3CRET"], "--auth"),
    (&["--auth", "bearer:env:S3CRET.with-dots"], "--auth"),
    (&["-u", "bob:S3CRET"], "--auth"),
    (&["--proxy", "http://bob:S3CRET@proxy.test/"], "--proxy"),
    (&["--proxy=http://bob:S3CRET@proxy.test/"], "--proxy"),
    (&["-x", "http://bob:S3CRET@proxy.test/"], "-x"),
    (&["--status", "http://bob:S3CRET@host.test/"], "--status"),
    (&["--status", "mysql://bob:S3CRET@host.test/"], "--status"),
    (&["--status", "ftp://host.test/?token=S3CRET"], "--status"),
    (&["--status", "redis+unix://bob:S3CRET@/nowhere"], "--status"),
    (&["--server", "http://bob:S3CRET@192.0.2.1/"], "--server"),
    (&["--server", "unix:/nowhere?token=S3CRET"], "--server"),
    (&["--observe", "http://bob:S3CRET@192.0.2.1/"], "--observe"),
    (&["--client", "ssh://bob:S3CRET@host.test"], "--client"),
    (&["--client", "bob:S3CRET@host.test"], "--client"),
    (&["--client", "k8s://load?token=S3CRET"], "--client"),
    (&["--server-host", "ssh://bob:S3CRET@host.test"], "--server-host"),
    (&["--server-ip", "bob:S3CRET@192.0.2.1"], "--server-ip"),
    (&["--client", "connect://1", "--agents-listen", "bob:S3CRET@127.0.0.1:1"], "--agents-listen"),
    (&["--client", "ssh://host.test", "--ssh", "sshpass -p S3CRET ssh '"], "--ssh"),
    (&["--expect", "token=S3CRET"], "--expect"),
    (&["--rate", "http://bob:S3CRET@host.test/"], "--rate"),
    (&["http://bob:S3CRET@host.test/"], "host.test"),
];

#[test]
fn no_flag_repeats_a_secret_that_was_typed() {
    for (typed, named) in TYPED {
        let ended = plimsoll(["run", "http://127.0.0.1:1/?token=S3CRET-query"].iter().chain(typed)).run();
        assert!(matches!(ended.status.code(), Some(2 | 3)), "{typed:?}: {ended:#?}");
        assert!(ended.stderr.contains(named) && !ended.stderr.contains("panicked"), "{typed:?}: {}", ended.stderr);
        none_in(&[(format!("what {typed:?} printed"), [ended.stdout, ended.stderr].concat().into_bytes())]);
    }
    let others: [(&[&str], &str); 10] = [
        (&["run", "ftp://bob:S3CRET@host.test/"], "scheme"),
        (&["run", "http://bob:S3CRET@host.test:99999/"], "credentials"),
        (&["http://bob:S3CRET@host.test/", "-H", "Authorization: Bearer S3CRET"], "plimsoll run"),
        (&["run", "--serve", "nginx password=S3CRET"], "password"),
        (&["run", "--serve", "nginx env=DB_PASSWORD=S3CRET fast"], "fast"),
        (&["observe", "http://bob:S3CRET@192.0.2.1/"], "192.0.2.1"),
        (&["observe", "--prometheus", "bob:S3CRET@127.0.0.1:1"], "--prometheus"),
        (&["target", "--token", "S3CRET"], "--token"),
        (&["target", "--token", "env:S3CRET-is-no-name"], "--token"),
        (&["agent", "--connect", "bob:S3CRET@host.test:1", "--token-file", "/nowhere"], "--token-file"),
    ];
    for (typed, named) in others {
        let ended = plimsoll(typed).run();
        assert!(matches!(ended.status.code(), Some(2 | 3)), "{typed:?}: {ended:#?}");
        assert!(ended.stderr.contains(named) && !ended.stderr.contains("panicked"), "{typed:?}: {}", ended.stderr);
        none_in(&[(format!("what {typed:?} printed"), [ended.stdout, ended.stderr].concat().into_bytes())]);
    }
}
