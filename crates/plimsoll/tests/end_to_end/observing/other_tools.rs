//! What pidstat, ps, ss, vmstat and time say of the same seconds.

use super::{Burner, TIMEOUT, Watching, cpu_s, looks, same_cpu_time};
use crate::support::{close_to, decide_watched, installed, plimsoll, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// What a tool prints.
#[track_caller]
fn said(program: &str, package: &str, args: &[&str]) -> String {
    let output = Command::new(installed(program, package)).args(args).output().expect("it starts");
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// pidstat of the CPU time of one process, which has taken its first look.
#[track_caller]
fn pidstat(pid: &str) -> Child {
    let mut command = Command::new(installed("pidstat", "sysstat"));
    // With its children, as only then it tells times and not shares of intervals that are not quite a second.
    command.args(["-T", "CHILD", "-u", "-h", "-p", pid, "1"]).env("LC_ALL", "C");
    let child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    // It waits for the end of its interval once it has looked for the first time.
    let stat = format!("/proc/{}/stat", child.id());
    let mut sleeping = 0;
    let waits = wait_for(TIMEOUT, || {
        let text = std::fs::read_to_string(&stat).ok()?;
        sleeping = if text.contains("(pidstat) S") { sleeping + 1 } else { 0 };
        (sleeping >= 10).then_some(())
    });
    waits.expect("it waits");
    child
}

/// The sum of some columns over all rows of pidstat; they are found by their names.
#[track_caller]
fn sum_of(text: &str, columns: &[&str]) -> f64 {
    let head = text.lines().find_map(|line| line.strip_prefix("# ")).expect("a head");
    let head: Vec<&str> = head.split_whitespace().collect();
    let is_row = |line: &&str| !line.is_empty() && !["#", "Linux", "Average"].iter().any(|word| line.starts_with(word));
    let number = |row: &str, name: &str| -> f64 {
        // The time in front may be two words.
        let from_end = head.iter().rev().position(|found| *found == name).unwrap_or_else(|| panic!("{name} in {text}"));
        row.split_whitespace().rev().nth(from_end).and_then(|word| word.parse().ok()).expect("a number")
    };
    text.lines().filter(is_row).map(|row| columns.iter().map(|name| number(row, name)).sum::<f64>()).sum()
}

/// The machine's CPU time in programs and in the kernel, as `vmstat -s` counts it; s.
fn of_vmstat() -> f64 {
    let text = said("vmstat", "procps", &["-s"]);
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_suffix(name));
        line.unwrap_or_else(|| panic!("{name} in {text}")).trim().parse::<f64>().expect("ticks") / 100.0
    };
    ["non-nice user cpu ticks", "nice user cpu ticks", "system cpu ticks", "IRQ cpu ticks", "softirq cpu ticks"]
        .iter()
        .map(|name| of(&format!(" {name}")))
        .sum()
}

#[test]
fn pidstat_ps_and_vmstat_say_the_same() {
    decide_watched(|| {
        // It holds so much that what the kernel counts on each CPU by itself does not matter.
        let hold = "[ \"$held\" ] || held=$(head -c 20000000 /dev/zero | tr '\\0' x)";
        let mut burner = Burner::with(&format!("{hold}; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"));
        let target = burner.pid().to_string();
        let watching = Watching::start(&[&target]);
        let machine_s = of_vmstat();
        let first = watching.said().lines().count();
        let pidstat = pidstat(&target);
        burner.burn();
        burner.burn();
        // It tells whole intervals only.
        watching.wait_for_more_looks(22);
        kill_process(Pid::from_child(&pidstat), Signal::INT).expect("it runs");
        let output = pidstat.wait_with_output().expect("our own child");
        let rows = String::from_utf8(output.stdout).expect("text");
        let pidstat_s = sum_of(&rows, &["usr-ms", "system-ms"]) / 1e3;
        let rows = said("pidstat", "sysstat", &["-r", "-h", "-p", &target]);
        let pidstat_rss = sum_of(&rows, &["RSS"]) * 1024.0;
        let ps_rss = said("ps", "procps", &["-o", "rss=", "-p", &target]).trim().parse::<f64>().expect("kB") * 1024.0;
        watching.wait_for_more_looks(1);
        let (looks, _) = watching.stop();
        let machine_s = of_vmstat() - machine_s;
        let observed_s = cpu_s(&looks, &target);
        assert!(observed_s > 0.4, "{observed_s}");
        same_cpu_time(observed_s, pidstat_s, "CPU time by pidstat");
        let rss = looks.last().expect("a look").groups[0].figures.rss_bytes as f64;
        close_to(rss, pidstat_rss, 0.05, "RSS by pidstat");
        close_to(rss, ps_rss, 0.05, "RSS by ps");
        let busy =
            looks[first..].iter().filter_map(|look| look.machine.as_ref()).map(|machine| machine.total.busy_ns());
        same_cpu_time(busy.sum::<u64>() as f64 / 1e9, machine_s, "busy time of the machine by vmstat");
    });
}

#[test]
fn time_says_the_same_of_a_command() {
    decide_watched(|| {
        let time = installed("time", "time");
        let script = format!(
            "{} -f '%U %S' sh -c 'i=0; while [ $i -lt 800000 ]; do i=$((i+1)); done' 2>&1 | cat",
            time.display()
        );
        // A shell of its own waits for it, so that its time is not lost with it.
        let mut burner = Burner::with(&format!("times=$({script}); echo $times"));
        let target = burner.pid().to_string();
        let watching = Watching::start(&[&target]);
        let times = burner.burn_and_hear();
        watching.wait_for_more_looks(2);
        let (looks, _) = watching.stop();
        let time_s: f64 = times.split_whitespace().map(|seconds| seconds.parse::<f64>().expect("seconds")).sum();
        assert!(time_s > 0.4, "{times}");
        same_cpu_time(cpu_s(&looks, &target), time_s, "CPU time by time");
    });
}

#[test]
fn ss_counts_the_same_sockets() {
    let nginx = crate::support::Nginx::start(&[("a", b"b")]);
    let (port, address) = (nginx.port(), format!("127.0.0.1:{}", nginx.port()));
    let connections: Vec<TcpStream> = (0..23).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
    // Nobody accepts here, so that connections wait.
    let lazy = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let lazy_address = lazy.local_addr().expect("it is bound").to_string();
    let waiting: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(&lazy_address).expect("it listens")).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("lazy.sock");
    let unix = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let waiting_unix: Vec<_> =
        (0..3).map(|_| std::os::unix::net::UnixStream::connect(&path).expect("it listens")).collect();

    let by_port = format!(":{port}");
    let by_path = format!("unix:{}", path.display());
    let args = ["observe", "--json", "-i", "100ms", "-d", "100ms", &by_port, &address, &lazy_address, &by_path];
    let looks = looks(&plimsoll(args).run());
    let sockets = |target: &str| {
        let groups = &looks.last().expect("a look").groups;
        groups.iter().find(|group| group.target == target).and_then(|group| group.sockets.clone()).expect("sockets")
    };
    let ss = |args: &[&str]| said("ss", "iproute2", args);
    let filter = |end: &str| format!("{end} = :{port}");
    let established = |end: &str| ss(&["-tnH", "state", "established", &filter(end)]).lines().count() as u64;
    assert_eq!((established("sport"), established("dport")), (23, 23));
    for target in [by_port.as_str(), &address] {
        let found = sockets(target);
        assert_eq!(found.server.expect("it is here")["established"], established("sport"), "{target}");
        assert_eq!(found.client["established"], established("dport"), "{target}");
    }
    let queue = |text: &str| -> (Option<u64>, Option<u64>) {
        let row: Vec<&str> = text.lines().next().expect("a row").split_whitespace().collect();
        let first = row.iter().position(|word| word.parse::<u64>().is_ok()).expect("a number");
        (row[first].parse().ok(), row[first + 1].parse().ok())
    };
    let found = sockets(&lazy_address);
    let lazy_port = format!("sport = :{}", lazy_address.rsplit_once(':').expect("a port").1);
    assert_eq!((found.accept_queue, found.accept_backlog), queue(&ss(&["-ltnH", &lazy_port])));
    assert_eq!(found.accept_queue, Some(5));
    let found = sockets(&by_path);
    assert_eq!((found.accept_queue, found.accept_backlog), queue(&ss(&["-xlH", "src", &path.display().to_string()])));
    assert_eq!(found.accept_queue, Some(3));
    drop((connections, waiting, waiting_unix, lazy, unix));
}
