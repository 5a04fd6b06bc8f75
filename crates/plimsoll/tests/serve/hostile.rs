//! Servers that do their worst: what they plant, fill, leave running or write reaches nothing but their own folders.

use crate::list;
use crate::program::{Program, plimsoll};
use crate::shared::{installed, serve};
use crate::support::{Served, readable};
use crate::wait_for;
use procfs::process::all_processes;
use rustix::process::geteuid;
use stack::Spec;
use std::ffi::OsString;
use std::fs::{File, Permissions, metadata, read_to_string, set_permissions, symlink_metadata, write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than a log may be; without content it takes no room.
const LONG_BYTES: u64 = 300 << 20;

/// The command line of a server that does `script` first and answers then.
fn hostile(script: &str) -> [String; 4] {
    let then = "exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT";
    ["--".into(), "sh".into(), "-c".into(), format!("{script}\n{then}")]
}

/// Processes with that command line.
fn pids(words: &[&str]) -> Vec<i32> {
    let all = all_processes().expect("/proc").flatten();
    all.filter(|process| process.cmdline().is_ok_and(|found| found == words)).map(|process| process.pid).collect()
}

/// A time to sleep that no other process of this machine sleeps.
fn own_seconds(of: &str) -> String {
    format!("7{of}.{}", std::process::id())
}

#[test]
fn a_link_in_the_place_of_a_log_empties_nothing() {
    let root_s = tempfile::tempdir().expect("a directory");
    let victim = root_s.path().join("victim");
    File::create(&victim).and_then(|file| file.set_len(LONG_BYTES)).expect("a file");
    let script = format!(
        "for name in aa zz; do ln -s {} {{state}}/log/$name; done; truncate -s {LONG_BYTES} {{state}}/log/own",
        victim.display()
    );
    let served = Served::start(&hostile(&script));
    let own = served.state().join("log/own");
    let emptied = wait_for(TIMEOUT, || metadata(&own).is_ok_and(|own| own.len() == 0).then_some(()));
    emptied.expect("its own log is bounded");
    // The supervisor looks every half second.
    std::thread::sleep(Duration::from_millis(1500));
    let ended = served.stop();
    assert!(ended.stderr.contains("log/own had grown too long and was emptied"), "{ended:?}");
    assert_eq!(metadata(&victim).expect("it is there").len(), LONG_BYTES, "{ended:?}");
}

#[test]
fn a_link_in_the_place_of_a_log_is_not_shown() {
    let root_s = tempfile::tempdir().expect("a directory");
    write(root_s.path().join("key"), "s3cret").expect("a file");
    let script = format!("ln -s {}/key {{state}}/log/error.log; exit 7", root_s.path().display());
    let ended = plimsoll(["serve", "--", "sh", "-c", &script]).run();
    ended.fails(3, &["sh ended with exit code 7"]);
    assert!(!ended.stderr.contains("s3cret"), "{ended:?}");
}

#[test]
fn a_server_of_root_s_can_replace_no_folder() {
    if !geteuid().is_root() {
        // Servers of an ordinary user are this user: there is nothing between them.
        return;
    }
    let script = "export LC_ALL=C; cd {state}; for name in *; do mv $name gone; rm -rf $name; ln -sfn /etc $name; done
                  mkdir more; ln -s /etc/passwd out/sh.out; ls out saved";
    let served = Served::start(&hostile(script));
    let state = served.state();
    let names: Vec<String> =
        list(&state).iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    assert_eq!(names, ["conf", "data", "home", "log", "out", "run", "saved", "tmp", "www"]);
    for path in list(&state) {
        assert!(symlink_metadata(&path).expect("it is there").is_dir(), "{}", path.display());
    }
    for (folder, uid) in [("conf", 0), ("out", 0), ("saved", 0), ("www", 0), ("data", 65_534), ("log", 65_534)] {
        assert_eq!(metadata(state.join(folder)).expect("it is there").uid(), uid, "{folder}");
    }
    let said = read_to_string(state.join("out/sh.out")).expect("what it wrote");
    for folder in ["out", "saved"] {
        assert!(said.contains(&format!("cannot open directory '{folder}'")), "{said}");
    }
    served.stop();
    assert!(Path::new("/etc/passwd").exists(), "a link of its own was followed");
}

#[test]
fn a_server_may_open_its_output_by_name() {
    let served = Served::start(&hostile("echo one >>/dev/stdout; echo two >>/dev/stderr"));
    let said = read_to_string(served.state().join("out/sh.out")).expect("what it wrote");
    assert!(said.starts_with("one\ntwo\n"), "{said}");
    served.stop();
}

#[test]
fn a_restart_brings_back_nothing_that_the_server_has_put_there() {
    if !geteuid().is_root() {
        return;
    }
    let folder = readable(&[]);
    let program = folder.path().join("redis");
    let script = format!(
        "#!/bin/sh
         state=${{1%/conf/redis.conf}}
         ls $state/data >>$state/log/seen
         rm -rf $state/data.saved $state/saved
         ln -s /etc $state/data.saved; ln -s /etc $state/saved
         mv $state/data $state/gone; ln -s /etc $state/data
         ln -s /etc $state/data/folder; ln -s /etc/shadow $state/data/link; echo left >$state/data/left
         exec {} \"$@\"
",
        installed("redis-server", "redis-server").display()
    );
    write(&program, script).expect("a file");
    set_permissions(&program, Permissions::from_mode(0o755)).expect("our own file");
    let mut running = serve(&Spec::parse(&format!("redis binary={}", program.display())).expect("known"));
    let (data, seen) = (running.dir().join("data"), running.dir().join("log/seen"));
    assert!(data.join("left").exists());
    running.restart().expect("it comes back");
    assert_eq!(read_to_string(&seen).expect("it was written"), "", "its data are as they were at first");
    let found = symlink_metadata(&data).expect("it is there");
    assert!(found.is_dir() && found.uid() == running.standing("").uid, "{found:?}");
    assert!(!data.join("passwd").exists(), "a folder of root's was copied");
    drop(running);
    assert_eq!(metadata("/etc/shadow").map(|shadow| shadow.uid()).ok(), Some(0));
}

#[test]
fn what_forks_away_ends_with_its_server() {
    let seconds = own_seconds("1");
    let words = ["sleep", seconds.as_str()];
    let [_, command @ ..] = hostile(&format!("(trap '' TERM HUP; setsid sleep {seconds} &)"));
    let mut running = serve(&Spec::new("command", &[], command.into(), None).expect("known"));
    let up = || wait_for(TIMEOUT, || pids(&words).first().copied()).expect("it forks away");
    let first = up();
    running.restart().expect("it comes back");
    assert!(!pids(&words).contains(&first), "it lives on beside its successor");
    up();
    assert_eq!(running.stop(), Vec::<String>::new());
    assert_eq!(pids(&words), Vec::<i32>::new());
}

#[test]
fn what_a_build_leaves_running_is_ended() {
    let seconds = own_seconds("2");
    let build = format!("setsid sleep {seconds} & echo made");
    let served = Served::start(&["target", "--build", &build]);
    assert_eq!(pids(&["sleep", &seconds]), Vec::<i32>::new());
    assert_eq!(read_to_string(served.state().join("out/build.out")).expect("it is kept"), "made\n");
    served.stop();
}

#[test]
fn what_a_server_writes_does_not_steer_the_terminal() {
    let script = "printf '\\033]0;owned\\007\\033[2J\\rplimsoll: all is well' >&2; exit 7";
    let ended = plimsoll(["serve", "--", "sh", "-c", script]).run();
    ended.fails(3, &["sh ended with exit code 7", "owned", "all is well"]);
    assert!(!ended.stderr.trim_end_matches('\n').chars().any(char::is_control), "{ended:?}");
}

#[test]
fn a_server_that_fills_the_disk_is_ended() {
    let is_able = || Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !geteuid().is_root() || !is_able() {
        // Only root can make a small file system and run a server in it.
        return;
    }
    let script = "mkdir small && mount -t tmpfs -o size=160m none small && TMPDIR=$PWD/small exec \"$PLIMSOLL\" serve -- \
                  sh -c 'head -c 120M /dev/zero >{state}/data/big; exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT'";
    let ended = Program::new("unshare", ["--mount", "sh", "-c", script]).run();
    ended.exits(3);
    assert!(ended.stderr.contains("less than 64 MiB were left on the file system of "), "{ended:?}");
}

#[test]
fn the_supervisor_keeps_nothing_that_was_not_made_for_it() {
    let precious = readable(&[("index.html", "page")]);
    let keep = |dir: &Path| plimsoll([OsString::from("keep"), dir.as_os_str().to_owned()]).run();
    let ended = keep(precious.path());
    ended.exits(1);
    assert!(ended.stdout.contains("is no place for a state directory"), "{ended:?}");
    assert!(precious.path().join("index.html").exists() && precious.path().join("sub").exists());
    let served = Served::start(&["nginx"]);
    let ended = keep(&served.state());
    ended.exits(1);
    assert!(ended.stdout.contains("File exists"), "{ended:?}");
    assert_eq!(served.get("/", "").status, 200);
    served.stop();
}

/// A server of root's read and changed a file that only root may open, as the script that called plimsoll had it open.
#[test]
fn a_server_gets_no_descriptor_of_its_caller() {
    let folder = tempfile::tempdir().expect("a directory");
    let (secret, seen) = (folder.path().join("secret"), folder.path().join("seen"));
    write(&secret, "precious").expect("our own");
    write(&seen, "").expect("our own");
    for (path, mode) in [(folder.path(), 0o755), (&*secret, 0o600), (&*seen, 0o666)] {
        set_permissions(path, Permissions::from_mode(mode)).expect("our own");
    }
    let server = format!(
        "for n in 3 7 9; do test -e /proc/self/fd/$n && echo $n >>{0}; done; echo looked >>{0}",
        seen.display()
    );
    let server = format!("{server}; exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT");
    let server = shlex::try_quote(&server).expect("no NUL");
    let script = format!("exec 7<>{}; exec \"$PLIMSOLL\" serve -- sh -c {server}", secret.display());
    let served = Served::of(Program::new("bash", ["-c", &script]));
    assert_eq!(read_to_string(&seen).expect("our own"), "looked\n");
    served.stop();
}

/// A neighbour listened where root's server was to, was measured in its place, and was sent root's credentials.
#[test]
fn a_neighbour_in_the_place_of_the_server_is_told_and_not_measured() {
    // Nobody else can play the neighbour.
    if !geteuid().is_root() {
        return;
    }
    let setpriv = installed("setpriv", "util-linux");
    let folder = tempfile::tempdir().expect("a directory");
    set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("our own");
    let started = folder.path().join("started");
    let own = folder.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &own).expect("a copy that others reach");
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    // It comes up, and listens to nobody.
    let server = format!("command port={} -- sh -c 'touch {}; sleep 20'", free.port(), started.display());
    let measured =
        ["run", "-q", "-c", "1", "-d", "1s", "--warmup", "0s", "--auth", "basic:env:LOGIN", "--serve", &server];
    let program = plimsoll(measured).with_env("LOGIN", "joe:s3cret").start();
    wait_for(TIMEOUT, || started.exists().then_some(())).expect("the server has begun");
    let neighbour = format!(
        "exec {} --reuid=60001 --regid=60001 --clear-groups {} target --listen {free}",
        setpriv.display(),
        own.display()
    );
    let mut neighbour =
        Command::new("sh").args(["-c", &neighbour]).stdout(std::process::Stdio::null()).spawn().expect("sh");
    let ended = program.end();
    neighbour.kill().and_then(|()| neighbour.wait()).expect("our own child");
    ended.fails(3, &[&free.to_string(), "another user (uid 60001) listens there"]);
}
