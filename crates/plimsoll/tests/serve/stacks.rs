//! `plimsoll stack`: servers that outlive the command that started them, and nothing that outlives `down`.

use crate::shared::{Stacks, wait_for};
use crate::support::kill;
use procfs::process::{Process, all_processes};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A start or an end that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(30);

#[track_caller]
fn pids(line: &Value) -> Vec<i32> {
    let all = line["processes"].as_array().expect("a list").iter();
    all.map(|process| process["pid"].as_i64().expect("a number") as i32).collect()
}

fn runs(pid: i32) -> bool {
    Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.state != 'Z')
}

/// The supervisor of a process that it has started.
#[track_caller]
fn supervisor(pid: i32) -> i32 {
    Process::new(pid).and_then(|process| process.stat()).expect("it runs").ppid
}

/// True if a process was started by a plimsoll of ours.
fn is_kept_by(supervisor: i32, up: &Child) -> bool {
    let stat = Process::new(supervisor).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.ppid.cast_unsigned() == up.id())
}

#[track_caller]
fn all_end(stacks: &Stacks, pids: &[i32]) {
    let gone = || (pids.iter().all(|pid| !runs(*pid)) && stacks.left().is_empty()).then_some(());
    wait_for(TIMEOUT, gone).unwrap_or_else(|| panic!("left: {pids:?} {:?}", stacks.left()));
}

#[test]
fn a_stack_stays_until_it_is_taken_down() {
    let stacks = Stacks::new();
    let line = stacks.up("php-fpm children=2 file-size=10");
    assert_eq!(
        (line["name"].as_str(), line["server"].as_str()),
        (Some("php-fpm"), Some("php-fpm children=2 file-size=10"))
    );
    let all: Vec<i32> = pids(&line).into_iter().chain([supervisor(pids(&line)[0])]).collect();
    assert!(all.len() == 3 && all.iter().all(|pid| runs(*pid)), "{line}");
    let status: Value = serde_json::from_str(&stacks.fine(["stack", "status", "--json"])).expect("JSON");
    assert_eq!((&status["stacks"][0]["up"], &status["stacks"][0]["url"]), (&Value::Bool(true), &line["url"]));
    stacks.fails(["stack", "up", "php-fpm"], 2, &["php-fpm is up at http://127.0.0.1:", "plimsoll stack down php-fpm"]);
    stacks.up("nginx --name other");
    stacks.fails(["stack", "logs"], 2, &["which stack? there are other, php-fpm"]);
    assert!(stacks.fine(["stack", "logs", "php-fpm"]).contains("==> log/php-fpm.log <==\n"));
    assert!(stacks.fine(["stack", "down", "php-fpm"]).starts_with("php-fpm is down after "));
    assert!(all.iter().all(|pid| !runs(*pid)), "{all:?}");
    assert!(stacks.fine(["stack", "status"]).starts_with("other "));
    assert!(stacks.fine(["stack", "down"]).starts_with("other is down"), "it is the only one");
    assert_eq!(stacks.left().len(), 0);
    stacks.fails(["stack", "down", "php-fpm"], 2, &["there is no stack \"php-fpm\": no stack is up"]);
}

/// The directory of a start whose supervisor was killed too is told, and goes with the next command that may remove it.
#[test]
fn what_is_left_of_a_start_that_was_killed_is_told() {
    let stacks = Stacks::new();
    stacks.write("slow.toml", "command = [\"sleep\", \"600\"]\n");
    let mut up = stacks.plimsoll(["stack", "up", "@slow.toml"]).stderr(Stdio::null()).spawn().expect("it starts");
    let keeper = wait_for(TIMEOUT, || {
        let mut all = all_processes().into_iter().flatten().flatten();
        let sleep =
            all.find(|process| process.stat().is_ok_and(|stat| stat.comm == "sleep" && is_kept_by(stat.ppid, &up)));
        sleep.map(|process| supervisor(process.pid))
    });
    // Without its time to notice.
    kill_process(Pid::from_child(&up), Signal::STOP).expect("it runs");
    kill(keeper.expect("it is half up"));
    up.kill().and_then(|()| up.wait()).expect("our own child");
    let said = stacks.run(["stack", "status"]).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.starts_with("left of a start that was killed: ") && said.contains("plimsoll stack down"), "{said}");
    let ended = stacks.run(["stack", "down"]);
    assert!(ended.status.success() && stacks.left().is_empty(), "{ended:?} {:?}", stacks.left());
}

/// Somebody who reads stderr to its end, as `$(... 2>&1)` does, must not wait for the servers: this test would hang.
#[test]
fn a_stack_holds_no_stream_of_who_started_it() {
    let stacks = Stacks::new();
    let output = stacks.run(["stack", "up", "nginx"]);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("nginx is up at http://127.0.0.1:") && said.contains("start nginx "), "{said}");
}

#[test]
fn a_start_that_is_killed_leaves_nothing() {
    let stacks = Stacks::new();
    // It never answers, and so is half up for as long as it likes.
    stacks.write("slow.toml", "command = [\"sleep\", \"600\"]\n");
    let mut up = stacks.plimsoll(["stack", "up", "@slow.toml"]).stderr(Stdio::null()).spawn().expect("it starts");
    let pid = wait_for(TIMEOUT, || {
        let state = stacks.left().into_iter().find(|path| path.is_dir())?;
        let all = all_processes().into_iter().flatten().flatten();
        let lives_there =
            |all: HashMap<OsString, OsString>| all.values().any(|value| Path::new(value).starts_with(&state));
        all.filter(|process| process.environ().is_ok_and(lives_there)).map(|process| process.pid).next()
    });
    let pid = pid.expect("it is half up");
    up.kill().and_then(|()| up.wait()).expect("our own child");
    all_end(&stacks, &[pid]);
}

#[test]
fn what_has_ended_is_named_and_another_start_cleans_up() {
    let stacks = Stacks::new();
    let line = stacks.up("php-fpm");
    let all = pids(&line);
    kill(all[0]);
    // That it has ended is seen at once, and how when its supervisor has noticed.
    let is_told = || {
        let output = stacks.run(["stack", "status"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_told = said.contains("not in order: php-fpm was ended by SIGKILL");
        (output.status.code() == Some(3) && is_told).then_some(())
    };
    wait_for(TIMEOUT, is_told).expect("it is told");
    let broken = ["is not in order (php-fpm was ended by SIGKILL): end it with plimsoll stack down php-fpm"];
    stacks.fails(["stack", "up", "php-fpm"], 2, &broken);
    kill(supervisor(all[1]));
    wait_for(TIMEOUT, || (!runs(all[1])).then_some(())).expect("it ends with its supervisor");
    let again = stacks.up("php-fpm");
    assert_ne!(again["state"], line["state"]);
    assert!(!Path::new(line["state"].as_str().expect("a path")).exists(), "{:?}", stacks.left());
    stacks.fine(["stack", "down"]);
    all_end(&stacks, &pids(&again));
}

#[test]
fn what_cannot_be_up_is_one_line_and_leaves_nothing() {
    let stacks = Stacks::new();
    let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = format!("port={}", holder.local_addr().expect("its address").port());
    stacks.fails(["stack", "up", "nginx", &port], 2, &["cannot be used", "in use"]);
    stacks.fails(["stack", "up", "nginx", "worker=2"], 2, &["nginx has no setting worker; it has"]);
    stacks.fails(["stack", "up", "ngnx"], 2, &["there is no server \"ngnx\"", "wordpress"]);
    stacks.fails(["stack", "up", "nginx", "path=/missing"], 3, &["nginx answers 404 for http://127.0.0.1:"]);
    stacks.fails(["stack", "up", "nginx", "--name", "a b"], 2, &["a name has letters"]);
    assert_eq!(stacks.left(), Vec::<PathBuf>::new());
}

/// Programs that stand before those of the system, and a WordPress that no one runs.
#[test]
fn a_database_that_refuses_is_named_with_its_reason_and_leaves_nothing() {
    let stacks = Stacks::new();
    let (programs, site) = (stacks.work().join("programs"), stacks.work().join("site"));
    let theme = site.join("wp-content/themes/one");
    for folder in [&programs, &theme] {
        std::fs::create_dir_all(folder).expect("a directory");
    }
    std::fs::write(site.join("wp-load.php"), "").expect("a file");
    std::fs::write(theme.join("style.css"), "").expect("a file");
    let refusing = "#!/bin/sh\necho '[ERROR] Access denied: no database today' >&2\nexit 1\n";
    for (name, text) in [("mariadb-install-db", "#!/bin/sh\nexit 0\n"), ("mariadbd", refusing)] {
        let path = programs.join(name);
        let script = "printf '%s' \"$1\" >\"$2\" && chmod 755 \"$2\"";
        let made = std::process::Command::new("sh").args(["-c", script, "sh", text]).arg(&path).status();
        assert!(made.is_ok_and(|status| status.success()), "{name}");
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let output =
        stacks.plimsoll(["stack", "up", "wordpress", "source=site"]).env("PATH", path).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let named = said.contains("mariadb ended with exit code 1") && said.contains("no database today");
    assert!(output.status.code() == Some(3) && named && said.lines().count() == 1, "{output:?}");
    assert_eq!(stacks.left(), Vec::<PathBuf>::new());
}
