//! Each way to name the same processes finds them.

use super::{Burner, Watching, cpu_s, last_group, looks};
use crate::support::{Nginx, count, plimsoll, serve, shell, text};
use model::GroupObservation;
use stack::{Endpoint, Spec};
use std::path::{Path, PathBuf};

/// The target of that name in the last look.
#[track_caller]
fn group<'a>(groups: &'a [GroupObservation], target: &str) -> &'a GroupObservation {
    groups.iter().find(|group| group.target == target).unwrap_or_else(|| panic!("no {target} in {groups:#?}"))
}

/// Parent of a process: field 4 of its `stat`.
#[track_caller]
fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    stat.rsplit_once(')').expect("a name").1.split_whitespace().nth(1).expect("a field").parse().expect("a number")
}

#[test]
fn number_name_port_address_and_url_are_the_same_nginx() {
    let nginx = serve(&Spec::parse("nginx workers=2").expect("known"));
    let (_, master) = nginx.processes().next().expect("it runs");
    let url = nginx.url().expect("HTTP");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let port = format!(":{}", address.rsplit_once(':').expect("a port").1);
    let under = format!("nginx under {}", parent(master));
    let number = master.to_string();
    let watching = Watching::start(&[&number, &under, &port, address]);
    plimsoll(["run", url, "-c", "4", "-n", "5000", "--warmup", "0s"]).run();
    let (looks, _) = watching.stop();
    let last = &looks.last().expect("a look").groups;
    let targets = [number.as_str(), &under, &port, address];
    assert_eq!(last.iter().map(|group| group.target.as_str()).collect::<Vec<_>>(), targets);
    for target in targets {
        let group = group(last, target);
        assert_eq!(
            (group.figures.count, group.processes[0].name.as_str(), group.figures.threads),
            (3, "nginx", 3),
            "{group:?}"
        );
        assert_eq!(cpu_s(&looks, target), cpu_s(&looks, &number), "{target}");
    }
    assert!(cpu_s(&looks, &number) > 0.02, "it was loaded: {}", cpu_s(&looks, &number));
    let sockets = |target: &str| group(last, target).sockets.clone();
    assert!(sockets(&number).is_none() && sockets(&under).is_none());
    for target in [&port, address] {
        let sockets = sockets(target).expect("it is known by where it listens");
        // What the kernel allows at most stands above what was asked for.
        assert!(sockets.accept_queue == Some(0) && sockets.accept_backlog > Some(0), "{sockets:?}");
    }
    let by_url = plimsoll(["observe", url, "--json", "-i", "100ms", "-d", "100ms"]).run();
    assert_eq!(text(&last_group(&by_url), "target"), address);
}

#[test]
fn unix_sockets_of_php_redis_and_mariadb_are_their_servers() {
    let servers = ["redis", "mariadb"].map(|name| serve(&Spec::parse(name).expect("known")));
    let sockets = servers.each_ref().map(|server| match server.endpoint() {
        Some(Endpoint::Socket { path }) => path.clone(),
        other => panic!("{other:?}"),
    });
    let php = serve(&Spec::parse("php-fpm children=2").expect("known"));
    let fpm = php.dir().join("run/php-fpm.sock");
    let all: Vec<(PathBuf, &str, u64)> =
        vec![(sockets[0].clone(), "redis-server", 1), (sockets[1].clone(), "mariadbd", 1), (fpm, "php-fpm8.2", 3)];
    let targets: Vec<String> = all.iter().map(|(path, ..)| format!("unix:{}", path.display())).collect();
    let args =
        ["observe", "--json", "-i", "200ms", "-d", "400ms"].into_iter().chain(targets.iter().map(String::as_str));
    let looks = looks(&plimsoll(args).run());
    let last = &looks.last().expect("a look").groups;
    for ((_, name, count), target) in all.iter().zip(&targets) {
        let group = group(last, target);
        assert_eq!((group.processes[0].name.as_str(), group.figures.count), (*name, *count), "{group:?}");
        let sockets = group.sockets.as_ref().expect("it is known by where it listens");
        assert!(sockets.accept_queue == Some(0) && sockets.accept_backlog > Some(0), "{sockets:?}");
        let figures = group.figures;
        assert!(figures.rss_bytes > 1_000_000 && figures.pss_bytes.is_some() && figures.fds > Some(3), "{group:?}");
    }
}

#[test]
fn a_name_that_is_one_tree_is_taken_and_one_that_is_several_lists_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let name = format!("obs{}", std::process::id());
    let program = directory.path().join(&name);
    // A copy by another process: a file that this one has written cannot be started while a child of another test, just
    // forked, still has it open.
    shell(&format!("cp /bin/sleep {}", program.display())).run().exits(0);
    let start = || std::process::Command::new(&program).arg("600").spawn().expect("it starts");
    let mut first = start();
    let one = plimsoll(["observe", &name, "--json", "-i", "100ms", "-d", "100ms"]).run();
    assert_eq!((text(&last_group(&one), "target"), count(&last_group(&one), "count")), (name.as_str(), 1));
    let mut second = start();
    let several = plimsoll(["observe", &name]).run();
    let pids = [first.id().to_string(), second.id().to_string()];
    several.fails(2, &[&name, "2 processes", &pids[0], &pids[1], "select one by its number", "under PARENT"]);
    let under = format!("{name} under {}", std::process::id());
    let both = plimsoll(["observe", &under, "--json", "-i", "100ms", "-d", "100ms"]).run();
    assert_eq!(count(&last_group(&both), "count"), 2);
    for child in [&mut first, &mut second] {
        child.kill().expect("our own child");
        child.wait().expect("our own child");
    }
}

/// A control group of our own. Root may make one, in whichever hierarchy this machine has.
struct ControlGroup(PathBuf);

impl ControlGroup {
    #[track_caller]
    fn new() -> Self {
        let mounts = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
        let mount = mounts.into_iter().map(Path::new).find(|mount| mount.join("cgroup.procs").exists());
        let path = mount.expect("control groups").join(format!("plimsoll-{}", std::process::id()));
        std::fs::create_dir(&path).expect("root may make a control group");
        Self(path)
    }

    fn name(&self) -> String {
        format!("cgroup:/{}", self.0.file_name().expect("a name").to_string_lossy())
    }

    fn take(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).expect("root may move a process");
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // It is empty by now; one that is not stays for whoever looks.
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_is_all_that_is_in_it() {
    let group = ControlGroup::new();
    let empty = plimsoll(["observe", &group.name()]).run();
    empty.fails(3, &[&group.name(), "no process is in the control group"]);
    let (mut burner, other) = (Burner::start(), Burner::start());
    group.take(burner.pid());
    let watching = Watching::start(&[&group.name()]);
    burner.burn();
    watching.wait_for_more_looks(1);
    // One that comes later counts from then on.
    group.take(other.pid());
    watching.wait_for_more_looks(2);
    let (looks, _) = watching.stop();
    assert!(cpu_s(&looks, &group.name()) > 0.1, "{}", cpu_s(&looks, &group.name()));
    let counts: Vec<u64> = looks.iter().map(|look| look.groups[0].figures.count).collect();
    assert_eq!((counts[0], counts[counts.len() - 1]), (1, 2), "{counts:?}");
    drop((burner, other));
}

#[test]
fn without_a_target_the_machine_is_told() {
    let ended = plimsoll(["observe", "--json", "-i", "100ms", "-d", "1s"]).run();
    let looks = looks(&ended);
    assert!(looks.iter().all(|look| look.groups.is_empty() && look.machine.is_some()));
    let last = looks.last().expect("a look");
    assert!(last.kernel.counters.contains_key("tcp") && last.kernel.gauges.contains_key("memory"));
    let lines = plimsoll(["observe", "-i", "100ms", "-d", "1s"]).run();
    assert!(lines.exits(0).stdout.contains(" ms  machine "), "{}", lines.stdout);
    assert!(lines.stdout.contains(" samples: ") && lines.stdout.contains("\nmachine "), "{}", lines.stdout);
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let nginx = Nginx::start(&[("a", b"b")]);
    let script = format!("\"$PLIMSOLL\" observe :{} --json -i 100ms | head -n 2", nginx.port());
    let ended = shell(&script).run();
    assert_eq!(looks(&ended).len(), 2);
}
