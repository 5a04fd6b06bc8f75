//! Directories as endings leave them, and what has to be said of each.

use super::*;
use serde_json::json;

const SECOND: u64 = 1_000_000_000;

fn run(measured_ns: u64) -> String {
    json!({ "format": "plimsoll.run/1", "measured_ns": measured_ns }).to_string()
}

fn sweep(points: usize) -> String {
    json!({ "format": "plimsoll.sweep/1", "points": vec![json!({}); points] }).to_string()
}

fn log(measured_ns: u64, loads: usize) -> Log {
    Log { measured_ns, loads: (0..loads as u64).collect(), trials: 0, wrong_line: None }
}

/// A load that has run for `elapsed_ms`, of which `measured_ns` are in the log.
fn under_way(elapsed_ms: u64, measured_ns: u64) -> Option<(Standing, Log)> {
    let elapsed = Duration::from_millis(elapsed_ms);
    Some((Standing { log: "events.jsonl".into(), elapsed, late: Duration::ZERO }, log(measured_ns, 0)))
}

/// No directory at all.
fn nothing() -> Seen {
    Seen {
        stored: None,
        printed: String::new(),
        again: Err("no such directory".into()),
        log: Log::default(),
        has_samples: false,
        under_way: None,
    }
}

/// A run that was killed, and what could be made of the rest.
fn killed(elapsed_ms: u64, measured_ns: u64) -> Seen {
    Seen {
        again: Ok(run(measured_ns)),
        log: log(measured_ns, 0),
        under_way: under_way(elapsed_ms, measured_ns),
        ..nothing()
    }
}

#[track_caller]
fn check(verb: Verb, seen: &Seen, kept: Kept, problem: &str) {
    let judged = judge(verb, true, seen);
    assert_eq!(judged.kept, kept, "{judged:#?}");
    let problems = judged.problems.join("\n");
    assert_eq!(problems.is_empty(), problem.is_empty(), "{problems}");
    assert!(problems.contains(problem), "{problems}");
}

#[test]
fn the_last_second_may_be_lost_and_no_more() {
    check(Verb::Run, &killed(2900, 2 * SECOND), Kept::Recovered, "");
    assert_eq!(judge(Verb::Run, true, &killed(2900, 2 * SECOND)).lost, Some(Duration::from_millis(900)));
    check(Verb::Run, &killed(2900, SECOND), Kept::Recovered, "the result lacks 1.90s of 2.90s");
    check(Verb::Run, &killed(700, 0), Kept::Nothing, "");
    check(Verb::Run, &killed(2700, 0), Kept::Nothing, "lacks 2.70s");
    // Its window has ended long ago.
    check(Verb::Run, &killed(9000, 3 * SECOND), Kept::Recovered, "");
}

#[test]
fn a_machine_that_keeps_everybody_waiting_is_no_loss_of_ours() {
    let mut seen = killed(2900, SECOND);
    seen.under_way.as_mut().expect("it is").0.late = Duration::from_millis(700);
    check(Verb::Run, &seen, Kept::Recovered, "");
}

#[test]
fn what_is_in_the_log_has_to_be_in_the_result() {
    let seen = Seen { again: Ok(run(SECOND)), ..killed(2900, 2 * SECOND) };
    check(Verb::Run, &seen, Kept::Recovered, "the result lacks");
    let seen = Seen { again: Err("line 3: wrong".into()), ..killed(2900, 2 * SECOND) };
    check(Verb::Run, &seen, Kept::Broken, "it cannot be recovered: line 3");
    let seen = Seen { log: Log { wrong_line: Some(3), ..log(0, 0) }, ..killed(700, 0) };
    check(Verb::Run, &seen, Kept::Nothing, "line 3 of its events");
}

#[test]
fn before_the_first_event_there_is_nothing() {
    for (verb, kept) in [
        (Verb::Run, Kept::Nothing),
        (Verb::Sweep, Kept::Nothing),
        (Verb::Profile, Kept::Nothing),
        (Verb::Serve, Kept::NoResult),
    ] {
        check(verb, &nothing(), kept, "");
    }
}

#[test]
fn samples_are_a_profile_up_to_the_last_second() {
    let profile = |sampled_ns: u64| json!({ "format": "plimsoll.profile/1", "profile": { "sampled_ns": sampled_ns } });
    let killed = |elapsed_ms, sampled_ns| Seen {
        again: Ok(profile(sampled_ns).to_string()),
        under_way: under_way(elapsed_ms, 0),
        ..nothing()
    };
    check(Verb::Profile, &killed(1900, SECOND), Kept::Recovered, "");
    check(Verb::Profile, &killed(1900, SECOND / 2), Kept::Recovered, "the profile lacks 1.40s of 1.90s");
    let gone = Seen { again: Err("nothing was sampled".into()), ..killed(1900, 0) };
    check(Verb::Profile, &gone, Kept::Nothing, "the profile lacks 1.90s");
    // A run has them beside its events.
    let run = |profile: Value| json!({ "format": "plimsoll.run/1", "measured_ns": 2 * SECOND, "profile": profile });
    let of_run = |profile| Seen {
        again: Ok(run(profile).to_string()),
        log: log(2 * SECOND, 0),
        has_samples: true,
        under_way: under_way(2900, 2 * SECOND),
        ..nothing()
    };
    let sampled = |ns: u64| json!({ "sampled_ns": ns });
    check(Verb::ProfiledRun, &of_run(sampled(2 * SECOND)), Kept::Recovered, "");
    check(Verb::ProfiledRun, &of_run(sampled(SECOND / 2)), Kept::Recovered, "its profile lacks 1.50s");
    check(Verb::ProfiledRun, &of_run(Value::Null), Kept::Recovered, "not made a profile");
    let unsampled = Seen { has_samples: false, ..of_run(Value::Null) };
    check(Verb::ProfiledRun, &unsampled, Kept::Recovered, "does not say why");
}

/// Names are looked up after the result is on the disk: what is killed then is completed by its samples.
#[test]
fn a_result_without_names_is_completed_by_its_samples_and_by_nothing_else() {
    let run = |goodput: u64, profile: Option<Value>| {
        let mut run = json!({ "format": "plimsoll.run/1", "measured_ns": 2 * SECOND, "goodput_per_s": goodput });
        if let Some(profile) = profile {
            run["profile"] = profile;
            run["verdict"] = json!({ "findings": [{ "rule": "PR-01" }, { "rule": "LD-04" }] });
        } else {
            run["verdict"] = json!({ "findings": [{ "rule": "LD-04" }] });
        }
        run.to_string()
    };
    let seen = |again: String, has_samples| Seen {
        stored: Some(run(7, None)),
        again: Ok(again),
        log: log(2 * SECOND, 0),
        has_samples,
        ..nothing()
    };
    let sampled = || Some(json!({ "sampled_ns": 2 * SECOND }));
    check(Verb::ProfiledRun, &seen(run(7, sampled()), true), Kept::Whole, "");
    check(Verb::ProfiledRun, &seen(run(8, sampled()), true), Kept::Whole, "made again it is another");
    check(Verb::ProfiledRun, &seen(run(7, sampled()), false), Kept::Whole, "made again it is another");
}

#[test]
fn a_result_is_whole_and_can_be_made_again_to_the_byte() {
    let whole = Seen { stored: Some(run(3 * SECOND)), printed: run(3 * SECOND), ..killed(2000, 3 * SECOND) };
    check(Verb::Run, &whole, Kept::Whole, "");
    let other = Seen { again: Ok(run(2 * SECOND)), ..whole.clone() };
    check(Verb::Run, &other, Kept::Whole, "made again it is another");
    let gone = Seen { again: Err("no events".into()), ..whole.clone() };
    check(Verb::Run, &gone, Kept::Whole, "cannot be made again: no events");
    assert_eq!(judge(Verb::Run, false, &gone).problems, Vec::<String>::new(), "its directory was taken away");
    let printed = Seen { printed: run(SECOND), ..whole.clone() };
    check(Verb::Run, &printed, Kept::Whole, "another result was printed");
    let half = run(3 * SECOND).split_at(20).0.to_owned();
    check(Verb::Run, &Seen { stored: Some(half.clone()), ..whole }, Kept::Broken, "half a result");
    check(Verb::Profile, &Seen { stored: Some(half), ..nothing() }, Kept::Broken, "half a result");
}

#[test]
fn what_could_only_be_printed_is_on_the_disk_up_to_the_instant() {
    let printed = Seen { printed: run(3 * SECOND), ..killed(1900, SECOND) };
    check(Verb::Run, &printed, Kept::Printed, "");
    let late = Seen { under_way: under_way(2900, SECOND), ..printed.clone() };
    check(Verb::Run, &late, Kept::Printed, "events.jsonl lacks 1.90s");
    let short = Seen { again: Ok(run(0)), ..printed.clone() };
    check(Verb::Run, &short, Kept::Printed, "what can be recovered lacks 1.90s");
    let seen = Seen { again: Err("damaged".into()), ..printed };
    check(Verb::Run, &seen, Kept::Printed, "it was printed, and cannot be recovered");
}

#[test]
fn a_result_that_is_told_to_be_whole_is() {
    let record =
        |measured_ns: u64, interrupted: bool| json!({ "measured_ns": measured_ns, "interrupted": interrupted });
    assert_eq!(unfinished(Verb::Run, &record(3 * SECOND, false)), None);
    assert!(unfinished(Verb::Run, &record(2 * SECOND, false)).is_some());
    assert!(unfinished(Verb::Run, &record(3 * SECOND, true)).is_some());
    assert_eq!(unfinished(Verb::Sweep, &json!({ "interrupted": false })), None);
    assert!(unfinished(Verb::Sweep, &json!({ "interrupted": true })).is_some());
}

#[test]
fn a_sweep_keeps_the_loads_that_had_ended() {
    let seen = |points: usize, measured_ns: u64| Seen {
        again: Ok(sweep(points)),
        log: log(0, 2),
        under_way: under_way(1500, measured_ns),
        ..nothing()
    };
    check(Verb::Sweep, &seen(2, SECOND), Kept::Recovered, "");
    check(Verb::Sweep, &seen(1, SECOND), Kept::Recovered, "1 load(s)");
    check(Verb::Sweep, &seen(2, 0), Kept::Recovered, "events.jsonl lacks 1.50s");
    let none = Seen { again: Err("nothing was measured".into()), ..seen(0, SECOND) };
    check(Verb::Sweep, &none, Kept::Broken, "cannot be recovered");
    let printed = Seen { printed: sweep(2), ..seen(1, SECOND) };
    check(Verb::Sweep, &printed, Kept::Printed, "");
}

#[test]
fn a_search_and_a_comparison_keep_the_trials_that_had_ended() {
    let record = |trials: usize| json!({ "format": "plimsoll.x/1", "trials": vec![json!({}); trials] }).to_string();
    for verb in [Verb::Capacity, Verb::Compare] {
        let seen = |kept: usize| Seen {
            again: Ok(record(kept)),
            log: Log { trials: 2, ..log(0, 0) },
            under_way: under_way(1500, SECOND),
            ..nothing()
        };
        check(verb, &seen(2), Kept::Recovered, "");
        check(verb, &seen(1), Kept::Recovered, "1 load(s)");
        let lost = Seen { again: Err("no such comparison".into()), ..seen(2) };
        check(verb, &lost, Kept::Broken, "cannot be recovered");
        let begun = Seen { again: Err("nothing was measured".into()), log: log(0, 0), ..seen(0) };
        check(verb, &begun, Kept::Nothing, "");
    }
}

#[test]
fn a_profiled_sweep_has_its_profile_or_says_why_not() {
    let seen = |load: &str, measured_ns: u64, more: Value| {
        let mut record = json!({ "format": "plimsoll.sweep/1", "points": [{}, {}] });
        record.as_object_mut().expect("it is one").extend(more.as_object().expect("it is one").clone());
        let mut seen = Seen { again: Ok(record.to_string()), log: log(0, 2), has_samples: true, ..nothing() };
        seen.under_way = under_way(1500, measured_ns);
        seen.under_way.as_mut().expect("it is").0.log = format!("points/{load}/events.jsonl").into();
        seen
    };
    let why = json!({ "profile_unavailable": "it ended before" });
    check(Verb::ProfiledSweep, &seen("02-c2-1", SECOND, why.clone()), Kept::Recovered, "");
    check(Verb::ProfiledSweep, &seen("02-c2-1", SECOND, json!({})), Kept::Recovered, "does not say why");
    check(Verb::ProfiledSweep, &seen("03-profile", SECOND, why), Kept::Recovered, "not made a profile");
    check(Verb::ProfiledSweep, &seen("03-profile", SECOND, json!({ "profile": {} })), Kept::Recovered, "");
}
