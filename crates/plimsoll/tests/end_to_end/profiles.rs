//! Profiles: a known burn is found by name, shares are those of other witnesses, and a refusal spoils nothing.
//!
//! Sampling needs root, or kernel.perf_event_paranoid=0: a refusal fails these tests.

use crate::recovered::wait_for_samples;
use crate::support::{
    Findings, Nginx, Program, Started, Target, close_to, count, decide_watched, installed, list, number, plimsoll,
    text, wait_for,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Nobody has it.
const UID: &str = "54321";
/// The function of the built-in target that burns.
const BURN: &str = "Worker::burn";

/// A load on `/cpu`, which burns and does little else; to be ended by the test.
fn load(target: &Target) -> Started {
    plimsoll(["run", &target.url("/cpu?us=2000"), "-c", "2", "-d", "30s", "--warmup", "0s", "-q"]).start()
}

/// Waits until the load runs.
#[track_caller]
fn wait_for_load(load: &Started) {
    load.wait_for_events("connected", 1);
}

fn end_early(load: Started) {
    load.signal(Signal::INT);
    load.end().exits(130);
}

/// Samples of stacks that pass through a function, of all in a folded profile.
fn share_through(folded: &str, function: &str) -> f64 {
    let through: Vec<&str> = folded.lines().filter(|line| line.contains(function)).collect();
    samples_in(&through.join("\n")) / samples_in(folded)
}

/// All samples of a folded profile.
fn samples_in(folded: &str) -> f64 {
    let count = |line: &str| line.rsplit_once(' ').and_then(|(_, n)| n.parse::<f64>().ok()).expect("a count");
    folded.lines().map(count).sum()
}

#[test]
fn the_server_behind_a_port_is_profiled_and_its_burn_is_found() {
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        let port = target.address().rsplit_once(':').expect("a port").1;
        let load = load(&target);
        wait_for_load(&load);
        let ended = plimsoll(["profile", "--port", port, "-d", "2s", "-o", "out"]).run();
        ended.exits(0);
        end_early(load);
        let record: Value = serde_json::from_str(&ended.file("out/profile.json")).expect("JSON");
        let profile = &record["profile"];
        assert!(number(profile, "resolved_share") >= 0.95 && count(profile, "samples") > 20, "{profile:#}");
        assert_eq!(count(profile, "lost_samples"), 0);
        let process = &profile["processes"][0];
        assert_eq!((text(process, "name"), text(process, "role")), ("plimsoll", "server"));
        let folded = ended.file("out/profile.folded");
        let share = share_through(&folded, BURN);
        assert!(share > 0.6, "{share} of the samples in the burn:\n{folded}");
        assert!(folded.lines().all(|line| line.starts_with("plimsoll;")), "{folded}");
        assert!(folded.contains("do_syscall_64_[k]"), "the kernel is named: {folded}");
        assert!(ended.file("out/profile.svg").contains(BURN));
        // What it cost is measured and told.
        let cost = number(profile, "reader_share");
        assert!(cost > 0.0 && cost < 0.02 && ended.stdout.contains("CPU time to read the samples"), "{}", ended.stdout);
        assert!(ended.stdout.contains("known ") && ended.stdout.contains("graph: out/profile.svg"), "{}", ended.stdout);
    });
}

#[test]
fn shares_are_those_of_perf_over_the_same_seconds() {
    let wrk = installed("wrk", "wrk");
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        // Another program: samples of plimsoll are the target's.
        let load = Program::new(wrk.clone(), ["-t", "1", "-c", "2", "-d", "30", &target.url("/cpu?us=2000")]).start();
        wait_for(Duration::from_secs(10), || (target.seen().1 > 10).then_some(())).expect("wrk sends");
        let perf =
            Program::new("perf", ["record", "-q", "-e", "cpu-clock", "-F", "99", "-a", "-o", "data", "sleep", "3"]);
        let perf = perf.start();
        let profiler = plimsoll(["profile", "--all", "-d", "3s", "-o", "out", "--json"]).start();
        let profiler_pid = profiler.pid().to_string();
        let ended = profiler.end();
        let perf = perf.end();
        load.signal(Signal::INT);
        load.end().exits(0);
        perf.exits(0);
        let script = Program::new("perf", ["script", "-i", &perf.path("data").to_string_lossy(), "-F", "pid"]).run();
        let pids: Vec<&str> = script.exits(0).stdout.lines().map(str::trim).collect();
        // Each of both sees what the other needs for its start and its end, which may be a tenth of all.
        let all = pids.iter().filter(|pid| !["0", &profiler_pid].contains(pid)).count() as f64;
        let of_target = pids.iter().filter(|pid| **pid == target.pid().to_string()).count() as f64;
        let folded = ended.exits(0).file("out/profile.folded");
        let is_other = |line: &&str| !["perf;", "plimsoll_profile;"].iter().any(|begin| line.starts_with(begin));
        let folded = folded.lines().filter(is_other).collect::<Vec<_>>().join("\n");
        let (ours, theirs) = (share_through(&folded, "plimsoll;"), of_target / all);
        assert!((ours - theirs).abs() < 0.1 && theirs > 0.2, "{ours} against {theirs} by perf");
        close_to(samples_in(&folded), all, 0.2, "samples of busy CPUs, and those of perf");
        assert!(count(&ended.json(), "profile.samples") as f64 >= samples_in(&folded));
    });
}

#[test]
fn a_profiled_run_has_its_window_in_record_page_and_verdict() {
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        let url = target.url("/cpu?us=2000");
        // At random times: responses that all take 2 ms can fall into step with the samples.
        let load = ["-R", "300", "-c", "8", "-d", "2s", "--warmup", "500ms"];
        let ended = plimsoll(["run", &url].iter().chain(&load).chain(&["--profile", "-o", "out"])).run();
        ended.exits(4);
        let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
        let profile = &record["profile"];
        // Not the warm-up, and the whole window.
        close_to(number(profile, "sampled_ns"), number(&record, "measured_ns"), 0.05, "time sampled");
        let (state, message) = Findings(&record).of("PR-01");
        assert!(state == "warning" && message.starts_with("profiled at 99 Hz"), "{message}");
        let processes = profile["processes"].as_array().expect("a list");
        let of = |role: &str| processes.iter().find(|process| process["role"] == role).expect("one of that role");
        let (server, own) = (of("server"), of("own"));
        assert_eq!((text(server, "name"), text(own, "name")), ("plimsoll", "load_generator"));
        // Two witnesses: samples, and the process's own account in /proc. Of k samples the standard error is the root of k.
        let by_proc_us = number(&record, "observed.server.cpu_ns_per_request") / 1e3;
        let by_chance = 4.0 / number(server, "samples").sqrt();
        close_to(number(server, "cpu_us_per_good_request"), by_proc_us, by_chance, "CPU time for each response");
        assert!(number(server, "resolved_share") >= 0.95, "{server:#}");
        let folded = ended.file("out/profile.folded");
        let of_server: Vec<&str> = folded.lines().filter(|line| line.starts_with("plimsoll;")).collect();
        // A response burns 2 ms; what the kernel's part of it costs differs between machines.
        let (share, truth) = (share_through(&of_server.join("\n"), BURN), 2000.0 / by_proc_us);
        let sampling_error = (truth * (1.0 - truth).max(0.0) / number(server, "samples")).sqrt();
        let band = 0.05 + 4.0 * sampling_error;
        assert!((share - truth).abs() < band, "{share} of the samples in the burn, {truth} of the time:\n{folded}");
        for part in ["PR-01", "profile ", "server (plimsoll)"] {
            assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
        }
        let page = ended.file("out/report.html");
        assert!(
            page.contains("<iframe class=\"flame\"") && page.contains("CPU time by function"),
            "no graph in the page"
        );
        // It is still there when the page is made once more.
        std::fs::remove_file(ended.path("out/report.html")).expect("it is there");
        let again = plimsoll(["report".as_ref(), ended.path("out").as_os_str()]).run();
        again.exits(0);
        assert!(ended.file("out/report.html").contains("<iframe class=\"flame\""));

        // The same once more: nothing has changed but by chance, and both directions are drawn.
        let (out, diff) = (ended.path("out"), ended.path("diff"));
        let change = plimsoll([
            "profile".as_ref(),
            "diff".as_ref(),
            out.as_os_str(),
            out.as_os_str(),
            "-o".as_ref(),
            diff.as_os_str(),
        ])
        .run();
        let line =
            change.exits(0).stdout.lines().find(|line| line.starts_with("plimsoll ")).expect("the server").to_owned();
        assert!(line.ends_with("+0.0 %"), "{line}");
        assert_eq!(list(&diff).len(), 3);
        let folded = ended.file("diff/diff.folded");
        let same = folded.lines().all(|line| {
            let counts: Vec<&str> = line.rsplitn(3, ' ').take(2).collect();
            counts[0] == counts[1]
        });
        assert!(same && folded.contains(BURN), "{folded}");
    });
}

#[test]
fn a_profiled_sweep_keeps_its_points_clean() {
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        let url = target.url("/cpu?us=2000");
        let args = ["sweep", &url, "--to", "2", "--points", "2", "--iterations", "1", "-d", "1s", "--warmup", "0s"];
        let ended = plimsoll(args.iter().chain(&["--budget", "0s", "--profile", "-o", "out"])).run();
        let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
        assert_eq!(number(&record, "profile.load"), number(&record, "peak.load"));
        let ratio = number(&record, "profile.goodput_per_s") / number(&record, "peak.goodput_per_s");
        assert!(ratio > 0.0 && (number(&record, "profile.goodput_change") - (ratio - 1.0)).abs() < 1e-9, "{ratio}");
        for point in record["points"].as_array().expect("points") {
            assert!(point.get("profile").is_none() && count(point, "iterations") == 1, "{point:#}");
        }
        assert!(!record["verdict"]["findings"].to_string().contains("PR-01"), "its numbers are clean");
        assert_eq!(list(&ended.path("out/points")).len(), 3, "two points, and the profiled one apart");
        assert!(ended.file("out/report.html").contains("<iframe class=\"flame\""));
        // Wherever the line was broken.
        let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("than at this load without"), "{words}");
    });
}

#[test]
fn without_permission_one_line_says_what_to_set_and_the_run_goes_on() {
    let target = Target::start(&["--workers", "1"]);
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).expect("room for it");
    let open = |path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
    open(program.as_path(), 0o755);
    open(home.path(), 0o777);
    let out = home.path().join("out");
    let as_nobody = |args: &[&str]| {
        let user = [&format!("--reuid={UID}"), &format!("--regid={UID}"), "--clear-groups"].map(ToString::to_string);
        let args = args.iter().map(ToString::to_string);
        Program::new("setpriv", user.into_iter().chain([program.display().to_string()]).chain(args)).run()
    };
    as_nobody(&["profile", "--all", "-d", "1s"]).fails(2, &["perf_event_paranoid", "cap_perfmon"]);
    let out_text = out.display().to_string();
    let url = target.url("/");
    let beside = Program::new("sleep", ["60"]).start();
    let pid = beside.pid().to_string();
    let ended = as_nobody(&["run", &url, "-n", "100", "-c", "1", "--profile", "--observe", &pid, "-o", &out_text]);
    ended.measured();
    let told: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("no profile: ")).collect();
    assert!(told.len() == 1 && told[0].contains("perf_event_paranoid=0"), "{ended:#?}");
    let text_of = |name: &str| std::fs::read_to_string(out.join(name)).expect("it is kept");
    let record: Value = serde_json::from_str(&text_of("run.json")).expect("JSON");
    assert!(record.get("profile").is_none() && !text(&record, "profile_unavailable").is_empty(), "{record:#}");
    assert_eq!(count(&record, "requests.good"), 100);
    assert!(!out.join("profile.svg").exists());
    // Nor may this user see what processes of others wait for.
    assert!(text(&record["observed"]["unavailable"], "pools/sleep").contains("run plimsoll as root"), "{record:#}");
    assert!(!record["observed"]["pools"].to_string().contains("\"sleep\""), "{record:#}");
}

#[test]
fn who_is_not_there_is_told_and_who_ends_meanwhile_is_kept() {
    plimsoll(["profile", "--pid", "4999999", "-d", "1s"]).run().fails(3, &["4999999", "no process"]);
    plimsoll(["profile", "--port", "1", "-d", "1s"]).run().fails(3, &["nothing listens on TCP port 1"]);
    plimsoll(["profile"]).run().fails(2, &["required"]);
    plimsoll(["profile", "--all", "-o", "/dev/null/x"]).run().fails(2, &["--output /dev/null/x", "cannot write there"]);
    plimsoll(["profile", "--all", "--pid", "1"]).run().fails(2, &["cannot be used with"]);
    plimsoll(["profile", "diff", "/nowhere", "/nowhere", "-o", "x"]).run().fails(2, &["/nowhere", "no such directory"]);
    let mut burner = Command::new("timeout").args(["4", "sh", "-c", "while :; do :; done"]).spawn().expect("timeout");
    let pid = burner.id().to_string();
    let ended = plimsoll(["profile", "--pid", &pid, "-d", "30s", "-o", "out", "--json"]).start();
    burner.wait().expect("it ends by itself");
    let ended = ended.end();
    let record = ended.exits(0).json();
    assert!(text(&record, "scope").ends_with(", which has ended meanwhile"), "{record:#}");
    assert!(count(&record, "profile.samples") > 5 && record["interrupted"] == true, "{record:#}");
    // Its names are found, though no more can be read of it: its maps were kept.
    assert_eq!(text(&record, "profile.processes.0.name"), "sh", "{record:#}");
    assert!(number(&record, "profile.resolved_share") >= 0.95, "{record:#}");
}

#[test]
fn an_interrupted_profile_keeps_what_was_sampled() {
    // An idle machine has nothing to sample.
    let burner = Program::new("sh", ["-c", "while :; do :; done"]).start();
    let started = plimsoll(["profile", "--all", "-d", "30s", "-o", "out"]).start();
    wait_for_samples(&started.directory().join("out"), 1);
    started.signal(Signal::INT);
    let ended = started.end();
    drop(burner);
    assert!(ended.exits(130).stdout.contains("interrupted"), "{ended:#?}");
    assert!(!ended.file("out/profile.folded").is_empty());
}

/// A server whose time is spent in a function that is compiled just in time, and its port.
const NODE: &str = "
    function burnInJavaScript(ms) {
        const end = process.hrtime.bigint() + BigInt(ms) * 1000000n;
        let x = 1;
        while (process.hrtime.bigint() < end) for (let i = 0; i < 5000; i++) x = (x * 31 + i) % 1000003;
        return x;
    }
    const answer = (request, response) => { burnInJavaScript(2); response.end('burnt'); };
    require('http').createServer(answer).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
";

#[test]
fn a_function_that_was_compiled_just_in_time_has_its_name() {
    decide_watched(|| {
        let mut command = Command::new(installed("node", "nodejs"));
        // It leaves a log beside the map, in the directory that it runs in.
        let directory = tempfile::tempdir().expect("a directory");
        command.args(["--perf-basic-prof", "-e", NODE]).stdout(Stdio::piped()).current_dir(directory.path());
        let mut node = command.spawn().expect("it starts");
        let map = format!("/tmp/perf-{}.map", node.id());
        let mut port = String::new();
        BufReader::new(node.stdout.take().expect("piped")).read_line(&mut port).expect("its port");
        let url = format!("http://127.0.0.1:{}/", port.trim());
        let ended = plimsoll(["run", &url, "-c", "2", "-d", "2s", "--warmup", "500ms", "--profile", "-o", "out"]).run();
        node.kill().and_then(|()| node.wait()).expect("it ends");
        std::fs::remove_file(map).expect("it has left its map");
        let folded = ended.file("out/profile.folded");
        let of_node: Vec<&str> = folded.lines().filter(|line| line.starts_with("node;")).collect();
        assert!(of_node.len() > 1, "{folded}");
        let (named, by_file) = ("burnInJavaScript", "_[j]");
        let share = share_through(&of_node.join("\n"), named);
        assert!(share > 0.5, "{share}: {of_node:#?}");
        let marked = of_node.iter().flat_map(|line| line.split(';')).filter(|frame| frame.contains(named));
        assert!(marked.into_iter().all(|frame| frame.contains(by_file)), "{of_node:#?}");
        // Debian's node keeps frame pointers, so that nothing is said of them.
        let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
        assert_eq!(
            record["profile"]["hints"].as_array().into_iter().flatten().filter(|hint| is_of_chains(hint)).count(),
            0
        );
    });
}

/// True if a hint says that callers are lost.
fn is_of_chains(hint: &Value) -> bool {
    hint.as_str().is_some_and(|hint| hint.contains("frame pointers"))
}

#[test]
fn a_server_without_frame_pointers_is_told_to_have_none() {
    let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 1);
    let args = ["run", &nginx.url("/small"), "-c", "8", "-d", "2s", "--warmup", "0s", "--profile", "-o", "out"];
    let ended = plimsoll(args).run();
    let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
    let hints = record["profile"]["hints"].as_array().expect("a list");
    let hint = hints.iter().find(|hint| is_of_chains(hint)).and_then(Value::as_str);
    let hint = hint.unwrap_or_else(|| panic!("nothing is said of it: {hints:?}"));
    assert!(hint.contains("of the samples of nginx") && hint.contains("-fno-omit-frame-pointer"), "{hint}");
    let page = ended.file("out/report.html");
    assert!(page.contains("What the profile does not show") && page.contains("-fno-omit-frame-pointer"));
}
