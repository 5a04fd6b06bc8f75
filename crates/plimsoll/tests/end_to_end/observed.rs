//! CPU of the server's processes, as the kernel tells it to this test and as the program does.

use crate::detours::on_unix_socket;
use crate::support::{Nginx, Target, close_to, count, decide_watched, list, number, plimsoll, text};
use model::{Event, NS_PER_S, Phase};

/// CPU time of a process in seconds: fields 14 and 15 of its `stat`, in ticks of 10 ms.
#[track_caller]
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks: u64 = fields[11..=12].iter().map(|field| field.parse::<u64>().expect("a number")).sum();
    ticks as f64 / 100.0
}

#[test]
fn the_cpu_time_of_a_known_burn_is_found() {
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        let before_s = cpu_s(target.pid());
        let ended = plimsoll(["run", &target.url("/cpu?us=2000"), "-c", "2", "-d", "4s", "--warmup", "0s"]).run();
        let burnt_s = cpu_s(target.pid()) - before_s;
        ended.exits(4);
        let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
        let server = &record["observed"]["server"];
        let measured_s = number(&record, "measured_ns") / NS_PER_S as f64;
        close_to(number(server, "cpu_cores") * measured_s, burnt_s, 0.1, "CPU time in the window");
        let per_request_ns = number(server, "cpu_ns_per_request");
        close_to(
            per_request_ns,
            burnt_s * 1e9 / count(&record, "requests.completed") as f64,
            0.1,
            "CPU time per request",
        );
        assert!(per_request_ns > 1.9e6, "each burns 2 ms of CPU: {per_request_ns}");
        assert_eq!((text(&server["processes"][0], "name"), count(&server["processes"][0], "count")), ("plimsoll", 1));
        assert!(count(server, "rss_bytes_max") > 1_000_000);
        assert_eq!(count(&record, "observed.sockets.server.established"), 2);
        assert!(number(&record, "observed.machine.busy_mean") > 0.0);
        assert!(ended.stdout.contains("CPUs (plimsoll), "), "{}", ended.stdout);

        // Each tick is followed by a sample, on the same axis, and no time is left out between them.
        let text = ended.recorded("events.jsonl");
        let events: Vec<Event> = text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
        let samples: Vec<_> =
            events.iter().filter_map(|e| if let Event::Observed(s) = e { Some(s) } else { None }).collect();
        let ticks: Vec<_> = events.iter().filter_map(|e| if let Event::Tick(t) = e { Some(t) } else { None }).collect();
        assert!(samples.len() == ticks.len() && samples.len() >= 4, "{} samples", samples.len());
        assert!(samples.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
        assert!(
            samples.iter().zip(&ticks).all(|(sample, tick)| sample.phase == tick.phase && sample.to_ns >= tick.to_ns)
        );
        let loads = samples.iter().filter(|sample| sample.phase == Phase::Measure).filter_map(|s| s.generator.as_ref());
        assert!(
            loads.into_iter().any(|generator| generator.threads.iter().any(|t| t.name == "load-0" && t.cpu_ns > 0))
        );
    });
}

#[test]
fn a_master_and_its_workers_are_one_server() {
    decide_watched(|| {
        let nginx = Nginx::with_workers(&[("small", &[b'.'; 64])], 2);
        let args = ["run", &nginx.url("/small"), "-c", "8", "-d", "2s", "--warmup", "0s", "--json"];
        let record = plimsoll(args).run().exits(4).json();
        let server = &record["observed"]["server"];
        let processes = server["processes"].as_array().expect("a list");
        assert_eq!(processes.len(), 1, "{server:#}");
        assert_eq!((text(&processes[0], "name"), count(&processes[0], "count")), ("nginx", 3));
        assert!(number(server, "cpu_cores") > 0.02 && number(server, "cpu_ns_per_request") > 1_000.0, "{server:#}");
        assert_eq!(count(server, "ended_unaccounted"), 0);
        assert_eq!(count(&record, "observed.sockets.client.established"), 8);
        // Second by second it is the same CPU time, and threads, memory, sockets and loopback are told as well.
        let values = |figure: &str, of: &str| -> Vec<f64> {
            let series = record["observed"]["series"].as_array().expect("a list");
            let found = series.iter().find(|series| series["figure"] == figure && series["of"] == of);
            let values = found.unwrap_or_else(|| panic!("no {figure} of {of}: {series:?}"))["values"].as_array();
            values.expect("a list").iter().map(|value| value.as_f64().expect("it was looked at")).collect()
        };
        let cores = values("cpu_cores", "server: nginx");
        let seen = record["observed"]["seconds"].as_array().expect("a list");
        assert!(!seen.is_empty() && cores.len() == seen.len());
        for (cores, second) in cores.iter().zip(seen) {
            assert!((cores - number(second, "server_cores")).abs() < 1e-4, "{second:#}");
        }
        let worker = format!("nginx ({})", count(&server["threads"][0], "tid"));
        assert!(values("thread_busy", &worker)[0] > 0.0);
        assert!(values("rss_bytes", "server: nginx")[0] > 1e6 && values("sent_bytes_per_s", "lo")[0] > 64.0);
        assert!(values("sockets", "established")[0] >= 8.0 && values("accept_queue", "")[0] < 8.0);
    });
}

#[test]
fn a_server_behind_a_unix_socket_is_seen() {
    decide_watched(|| {
        let (target, path, _directory) = on_unix_socket(&["--workers", "1"]);
        let before_s = cpu_s(target.pid());
        let args =
            ["run", "http://localhost/cpu?us=1000", "--unix-socket", &path, "-c", "2", "-d", "2s", "--warmup", "0s"];
        let record = plimsoll(args.iter().chain(&["--json"])).run().exits(4).json();
        let burnt_s = cpu_s(target.pid()) - before_s;
        let observed = &record["observed"];
        let measured_s = number(&record, "measured_ns") / NS_PER_S as f64;
        close_to(number(observed, "server.cpu_cores") * measured_s, burnt_s, 0.1, "CPU time in the window");
        assert_eq!(text(&observed["server"]["processes"][0], "name"), "plimsoll");
        assert!(number(observed, "machine.busy_mean") > 0.0 && number(observed, "generator.cpu_cores") > 0.0);
        assert!(observed["sockets"].is_null() && text(observed, "unavailable.sockets").contains("Unix socket"));
    });
}

#[test]
fn each_point_of_a_sweep_has_its_cpu() {
    decide_watched(|| {
        let target = Target::start(&["--workers", "1"]);
        let url = target.url("/cpu?us=500");
        let size = ["--to", "2", "--iterations", "2", "-d", "1s", "--warmup", "0s", "--budget", "0s"];
        let ended = plimsoll(["sweep", &url].iter().chain(&size)).run();
        let directory = ended.run_directory();
        let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
        for point in record["curve"].as_array().expect("a curve") {
            assert!(number(point, "server_cpu_cores") > 0.1 && number(point, "machine_busy_mean") > 0.05, "{point:#}");
        }
        for point in record["points"].as_array().expect("points") {
            assert_eq!(point["observed"]["seconds"].as_array().map(Vec::len), Some(2), "both iterations");
        }
        assert!(ended.stdout.contains("server CPUs"), "{}", ended.stdout);
        assert!(list(&directory.join("points")).len() == 4);
        assert!(ended.recorded("report.html").contains("<h3>CPU by process, by connections</h3>"));
    });
}

#[test]
fn companions_are_told_beside_the_server_and_missing_ones_with_a_reason() {
    decide_watched(|| {
        let (target, beside) = (Target::start(&["--workers", "1"]), Target::start(&["--workers", "1"]));
        let (url, pid) = (target.url("/"), beside.pid().to_string());
        let of_server = target.pid().to_string();
        let observe = ["--observe", &pid, "--observe", "no-such-name", "--observe", &of_server];
        let load = ["run", &url, "-c", "2", "-d", "2s", "--warmup", "0s"];
        let ended = plimsoll(load.iter().chain(&observe)).run();
        ended.exits(4);
        let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
        let observed = &record["observed"];
        let companion = &observed["companions"][&pid];
        assert_eq!(text(&companion["processes"][0], "name"), "plimsoll", "{:#}", observed["companions"]);
        assert!(count(companion, "rss_bytes_max") > 1_000_000 && number(companion, "cpu_cores") < 0.2, "{companion:#}");
        let missing = &observed["unavailable"];
        assert!(text(missing, "companions/no-such-name").contains("is named \"no-such-name\""), "{missing:#}");
        assert!(text(missing, &format!("companions/{of_server}")).contains("belong to the server"), "{missing:#}");
        assert!(ended.stdout.contains(&format!("beside the server {pid}: ")), "{}", ended.stdout);
        assert!(ended.stdout.contains("no-such-name: CPU not known"), "{}", ended.stdout);

        // The kernel saw the load too: both ends of each request and answer.
        let packets = count(&observed["counters"]["nic/lo"], "received_packets");
        assert!(packets >= 2 * count(&record, "requests.completed"), "{packets}");
        let sampler = &observed["sampler"];
        assert!(count(sampler, "looks") >= 1 && number(sampler, "cpu_ns_per_look") > 10_000.0, "{sampler:#}");
        let threads = observed["server"]["threads"].as_array().expect("a list");
        assert!(threads.iter().any(|thread| text(thread, "name") == "target-0"), "{threads:#?}");
    });
}

#[test]
fn nobody_looks_when_that_is_asked_for_and_record_and_rules_say_so() {
    const WHY: &str = "not observed (--no-observe)";
    let target = Target::start(&["--workers", "1"]);
    let url = target.url("/");
    let ended = plimsoll(["run", &url, "-c", "2", "-d", "2s", "--warmup", "0s", "--no-observe", "-v"]).run();
    ended.exits(4);
    let record: serde_json::Value = serde_json::from_str(&ended.recorded("run.json")).expect("JSON");
    let observed = &record["observed"];
    for part in ["machine", "server", "sockets", "generator", "others", "sampler"] {
        assert!(observed[part].is_null(), "{part}: {observed:#}");
    }
    assert!(observed["seconds"] == serde_json::json!([]) && observed["pools"] == serde_json::json!([]), "{observed:#}");
    for part in ["machine", "server", "sockets", "generator", "others", "pools", "kernel"] {
        assert_eq!(text(observed, &format!("unavailable.{part}")), WHY);
    }
    // Said once, and then there was no look.
    let events = ended.recorded("events.jsonl");
    let events = events.lines().map(|line| serde_json::from_str::<Event>(line).expect("an event"));
    assert_eq!(events.filter(|event| matches!(event, Event::Observed(_))).count(), 1);
    for rule in ["EN-01", "EN-03", "NE-01", "SV-01"] {
        assert_eq!(record["verdict"]["unchecked_why"][rule], WHY, "{rule}: {:#}", record["verdict"]);
        assert!(record["verdict"]["unchecked"].as_array().is_some_and(|all| all.iter().any(|id| id == rule)));
    }
    // What the load tells of itself is judged as ever.
    assert!(record["verdict"]["unchecked_why"]["CL-01"].is_null() && count(&record, "requests.good") > 0);
    let stdout = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(stdout.contains(&format!("CPU not known: {WHY}")) && stdout.contains(&format!(", {WHY}")), "{stdout}");

    let short = ["--to", "2", "--iterations", "1", "-d", "1s", "--warmup", "0s", "--no-observe", "--json"];
    let sweep = plimsoll(["sweep", &url].iter().chain(&short)).run().json();
    for point in sweep["points"].as_array().expect("points") {
        assert!(point["observed"]["server"].is_null(), "{point:#}");
        assert_eq!(text(point, "observed.unavailable.server"), WHY);
    }
    assert_eq!(sweep["verdict"]["unchecked_why"]["EN-01"], WHY);
    for more in [["--observe", "1"], ["--status", "http://127.0.0.1/"]] {
        plimsoll(["run", &url, "--no-observe"].iter().chain(&more)).run().fails(2, &["--no-observe", more[0]]);
    }
    plimsoll(["run", "--no-observe", "--confirm"]).run().fails(2, &["--no-observe", "--confirm"]);
}

#[test]
fn the_fingerprint_names_machine_and_program() {
    let target = Target::start(&["--workers", "1"]);
    let ended = plimsoll(["run", &target.url("/"), "-c", "1", "-d", "500ms", "--warmup", "0s", "--json"]).run();
    let record = ended.json();
    let facts = &record["environment"]["fingerprint"]["facts"];
    let program = &facts["program/plimsoll"];
    assert!(text(program, "command").contains("target"), "{program:#}");
    // A program with all it needs to be debugged may be too large to be read.
    let hash = text(program, "sha256");
    assert!(hash.len() == 64 || hash.starts_with("not read: larger than 128 MiB"), "{program:#}");
    assert_eq!(text(program, "path"), env!("CARGO_BIN_EXE_plimsoll"));
    let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("this kernel has it");
    assert_eq!(text(&facts["sysctl"], "net/core/somaxconn"), somaxconn.trim());
    assert_eq!(text(&facts["cpu"], "model"), text(&record["environment"], "cpu_model"));
}

#[test]
fn what_cannot_be_a_process_is_refused() {
    let ended = plimsoll(["run", "http://127.0.0.1:9/", "--observe", "0"]).run();
    ended.fails(2, &["--observe", "\"0\"", "neither the name of a process nor its number"]);
}
