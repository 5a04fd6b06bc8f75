//! What is left of a run: the JSON contract, the events and the histograms, all of which tell the same.

use crate::support::{Target, close_to, count, number, plimsoll, text};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use model::{Basis, Cohort, Event, Flow, MergedHistogram, Phase, RunRecord, SessionEvent};
use serde_json::Value;

/// The names others rely on. They may be added to and never renamed.
const CONTRACT: &str = "format verdict.state verdict.findings verdict.unchecked \
    goodput_per_s.value goodput_per_s.low goodput_per_s.high goodput_per_s.n throughput_per_s \
    requests.planned requests.sent requests.completed requests.good requests.status requests.failures \
    connections.requested connections.established connections.opened connections.reconnects \
    latency_ns.response.mean latency_ns.response.p50 latency_ns.response.p90 latency_ns.response.p99 \
    latency_ns.response.p99_9 latency_ns.response.max latency_ns.service.p99 latency_ns.slip_client.p99 \
    latency_ns.slip_blocked.p99 bytes.received bytes.sent generator.threads generator.cpu_ns_per_request \
    generator.busy_max plan environment started measured_ns";

#[test]
fn record_events_and_histograms_tell_the_same() {
    let target = Target::start(&["--error-share", "0.02"]);
    let url = target.url("/sleep?time=1ms");
    let ended =
        plimsoll(["run", &url, "-c", "8", "-t", "2", "-d", "2s", "--warmup", "500ms", "--budget", "0s", "--json"])
            .run();
    let record = ended.exits(4).json();
    let stored = ended.recorded("run.json");
    assert_eq!(stored, ended.stdout, "run.json and stdout differ");
    names_hold(&record);
    let typed: RunRecord = serde_json::from_str(&stored).expect("the record reads back");
    let again: Value = serde_json::from_str(&serde_json::to_string(&typed).expect("JSON")).expect("JSON");
    assert_eq!(again, record);

    let events: Vec<Event> = ended
        .recorded("events.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    events_add_up(&events, &typed);
    histograms_add_up(&ended.recorded("latency.hlog"), &record);
}

fn names_hold(record: &Value) {
    for path in CONTRACT.split_whitespace() {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert!(record.pointer(&pointer).is_some(), "{path} is missing");
    }
    assert_eq!(text(record, "format"), "plimsoll.run/1");
    assert_eq!(count(record, "measured_ns"), 2_000_000_000);
    for finding in record["verdict"]["findings"].as_array().expect("a list") {
        for name in ["rule", "state", "message", "remedy"] {
            assert!(!text(finding, name).is_empty(), "{name}: {finding:#}");
        }
        assert!(finding["evidence"].is_object(), "{finding:#}");
    }
}

fn events_add_up(events: &[Event], record: &RunRecord) {
    assert!(matches!(events[0], Event::Session(SessionEvent::Begun(_))), "{:?}", events[0]);
    assert!(matches!(events[1], Event::Probed(_)), "{:?}", events[1]);
    assert!(matches!(events[2], Event::Started { .. }), "{:?}", events[2]);
    assert!(matches!(events[3], Event::Connected { established: 8, .. }), "{:?}", events[3]);
    let ended = events.iter().any(|event| matches!(event, Event::Ended { interrupted: false, .. }));
    let finished = Event::Session(SessionEvent::Finished { interrupted: false });
    assert!(ended && events.last() == Some(&finished), "{:?}", events.last());
    let (mut flow, mut cohort, mut end_ns) = (Flow::default(), Cohort::default(), 0);
    for event in events {
        if let Event::Tick(tick) = event {
            assert_eq!(tick.from_ns, end_ns, "ticks have a gap");
            end_ns = tick.to_ns;
            cohort.add(&tick.cohort);
            if tick.phase == Phase::Measure {
                flow.add(&tick.flow);
            }
        }
    }
    let requests = &record.requests;
    assert_eq!(cohort.counts.planned, requests.counts.planned);
    assert_eq!(cohort.counts.completed, requests.counts.completed);
    assert_eq!(cohort.counts.good, requests.counts.good);
    assert_eq!(cohort.status, requests.status);
    assert_eq!(cohort.failures, requests.failures);
    assert_eq!(cohort.counts.planned, cohort.counts.good + cohort.failed(), "each request has one end");
    assert_eq!((flow.bytes_received, flow.bytes_sent), (record.bytes.received, record.bytes.sent));
    let clean = record.disturbance.as_ref().filter(|seen| seen.basis == Basis::Clean);
    let throughput_per_s = match clean {
        Some(clean) => clean.clean_completed as f64 / (clean.clean_ns as f64 / 1e9),
        None => flow.completed as f64 / 2.0,
    };
    close_to(record.throughput_per_s, throughput_per_s, 1e-9, "throughput");
}

fn histograms_add_up(log: &str, record: &Value) {
    assert!(!log.contains("Tag=slip_client"), "a closed loop has no schedule to be late for");
    for tag in ["response", "service"] {
        let (mut merged, mut aside) = (MergedHistogram::new(), MergedHistogram::new());
        for entry in IntervalLogIterator::new(log.as_bytes()) {
            let LogEntry::Interval(interval) = entry.expect("a log HdrHistogram can read") else { continue };
            let histogram = MergedHistogram::decode(interval.encoded_histogram()).expect("a histogram");
            match interval.tag().map(|found| found.as_str().to_owned()) {
                Some(found) if found == tag => merged.add(&histogram),
                Some(found) if found == format!("set_aside_{tag}") => aside.add(&histogram),
                _ => {}
            }
        }
        let n = count(record, "requests.completed") + count(record, "requests.censored");
        assert_eq!(merged.count(), n, "{tag}");
        if record["disturbance"]["basis"] == "clean" {
            merged.subtract(&aside);
        }
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("max", 1.0)] {
            let stored = number(record, &format!("latency_ns.{tag}.{name}"));
            close_to(merged.quantile(q) as f64, stored, 0.002, &format!("{name} of {tag}"));
        }
    }
}

#[test]
fn text_names_the_record_and_leaves_progress_to_stderr() {
    let target = Target::start(&[]);
    let url = target.url("/bytes/64");
    let ended = plimsoll(["run", &url, "-n", "1000", "-c", "2", "--warmup", "0s"]).run();
    ended.measured();
    let directory = ended.run_directory();
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert!(ended.stdout.contains(&format!("record: plimsoll-runs/{name}")), "{ended:#?}");
    assert!(ended.stdout.contains("LD-04") && !ended.stdout.contains('\u{1b}'), "{ended:#?}");
    assert!(ended.stderr.contains("status 200, 64 B"), "{ended:#?}");
    let quiet = plimsoll(["run", &url, "-n", "1000", "-c", "2", "--warmup", "0s", "-q"]).run();
    assert_eq!(quiet.measured().stderr, "", "{quiet:#?}");
}

#[test]
fn results_of_one_second_get_directories_of_their_own() {
    let target = Target::start(&[]);
    let script = format!(
        "for i in 1 2 3; do \"$PLIMSOLL\" run '{}' -n 1 -c 1 --warmup 0s -q >/dev/null; done; ls plimsoll-runs | wc -l",
        target.url("/bytes/1")
    );
    let ended = crate::support::shell(&script).run();
    assert_eq!(ended.exits(0).stdout.trim(), "3");
}
