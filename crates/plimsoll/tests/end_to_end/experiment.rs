//! Experiments on the built-in server: their result, and how they go on after their end. Windows are short, so that every
//! step is invalid for that reason alone (LD-04).

use crate::support::{count, list, mounting, number, plimsoll, shell, text, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "\
name = \"pools\"
repetitions = 2
serve = \"target pool={workers} pool-time=1ms\"
[variants.grid]
workers = [1, 2]
[flags]
duration = \"500ms\"
warmup = \"100ms\"
connections = 4
";
/// Short windows make short tests.
const SHORT: &str = "--allow-short-windows";
/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(30);

fn record(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn names(directory: &Path) -> Vec<String> {
    let name = |path: std::path::PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    list(directory).into_iter().map(name).collect()
}

#[test]
fn every_step_is_a_result_of_its_own_and_the_experiment_one_of_all() {
    let ended = plimsoll(["experiment", "x.toml", "-o", "out", SHORT]).with_file("x.toml", FILE.as_bytes()).run();
    ended.exits(4);
    assert!(ended.stdout.contains("plan         4 steps: 2 variants, 1 load, 2 shuffled blocks, seed 1"), "{ended:#?}");
    assert!(ended.stderr.contains("step 4 of 4: workers="), "{ended:#?}");
    let all = record(&ended.file("out/run.json"));
    assert_eq!((text(&all, "format"), text(&all, "verdict.state")), ("plimsoll.experiment/1", "invalid"));
    assert_eq!((count(&all, "plan.seed"), &all["interrupted"]), (1, &Value::Bool(false)));
    let rows = all["rows"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| text(row, "variant")).collect::<Vec<_>>(), ["workers=1", "workers=2"]);
    for row in rows {
        assert_eq!((count(row, "missing"), count(row, "goodput_per_s.n")), (0, 2), "{row:#}");
        // Others may leave it less than a tick of the kernel's clock: none.
        assert!(number(row, "server_cpu_ns_per_request.value") >= 0.0, "{row:#}");
        let of_row = |step: &&Value| row["steps"].as_array().expect("numbers").contains(&step["number"]);
        let steps: Vec<&Value> = all["steps"].as_array().expect("steps").iter().filter(of_row).collect();
        let each =
            |key: &str| steps.iter().map(|step| count(step, &format!("result.response_ns.{key}"))).collect::<Vec<_>>();
        assert_eq!(count(row, "response_ns.n"), each("n").iter().sum::<u64>(), "all of both repetitions: {row:#}");
        let (p50, each) = (count(row, "response_ns.p50"), each("p50"));
        assert!(each.iter().min() <= Some(&p50) && Some(&p50) <= each.iter().max(), "{p50} of {each:?}");
    }
    for (step, planned) in all["steps"].as_array().expect("steps").iter().zip(all["plan"]["steps"].as_array().unwrap())
    {
        let rules = step["result"]["rules"].as_array().expect("rules");
        assert!(rules.contains(&"LD-04".into()), "{step:#}");
        let directory = format!("out/{}", text(step, "directory"));
        let run = record(&ended.file(&format!("{directory}/run.json")));
        assert_eq!(run["goodput_per_s"], step["result"]["goodput_per_s"]);
        assert_eq!(run["environment"]["served"]["label"], planned["command"][3]);
        assert!(ended.path(&format!("{directory}/report.html")).is_file());
    }
    let page = ended.file("out/report.html");
    assert!(page.contains(&format!("href=\"{}/report.html\"", text(&all, "steps.0.directory"))));
    assert_eq!(ended.file("out/experiment.toml"), FILE);
    let out = ended.path("out");
    let table =
        |kind: &str| plimsoll(["report", out.to_str().expect("UTF-8"), "--table", kind, "--format", "csv"]).run();
    let raw = table("raw").exits(0).stdout.clone();
    let variants: Vec<_> = raw.lines().map(|line| line.split(',').take(3).skip(1).collect::<Vec<_>>()).collect();
    let invalid = |variant| vec![variant, "invalid"];
    let rows = [1, 1, 2, 2].map(|workers| if workers == 1 { invalid("workers=1") } else { invalid("workers=2") });
    assert_eq!(variants, [&[vec!["variant", "verdict"]], &rows[..]].concat(), "{raw}");
    table("overhead").fails(2, &["all 4 measurements are INVALID (LD-04", "--table raw shows them"]);
}

#[test]
fn what_is_missing_after_a_crash_is_measured_and_nothing_else() {
    // The last step has not begun, and the line about the third was being written.
    let script = r#"
        "$PLIMSOLL" experiment x.toml --allow-short-windows -o out --json -q >whole
        head -3 out/steps.jsonl >lines; printf '{"experiment":"st' >>lines
        mv lines out/steps.jsonl; rm -r out/run.json out/steps/004*
        cp -r out dead
        cat out/steps/00[123]*/run.json >before
        "$PLIMSOLL" experiment x.toml --allow-short-windows -o out --json >resumed
        cat out/steps/00[123]*/run.json >after
        "$PLIMSOLL" report --recover dead --format json >recovered
        "$PLIMSOLL" experiment x.toml --allow-short-windows -o dead -q --json >from-recovered
    "#;
    let ended = shell(script).with_file("x.toml", FILE.as_bytes()).run();
    ended.exits(4);
    assert_eq!(ended.file("before"), ended.file("after"), "what has a result is not measured again");
    assert!(ended.stderr.contains("2 of 4 steps have a result already"), "{ended:#?}");
    assert!(ended.stderr.contains("has a result already\nstep 4 of 4"), "the third only lacks its line: {ended:#?}");
    assert_eq!(names(&ended.path("out/steps")).len(), 4);
    let (whole, resumed) = (record(&ended.file("whole")), record(&ended.file("resumed")));
    assert_eq!(whole["plan"], resumed["plan"]);
    assert_eq!(whole["started"], resumed["started"], "it began when it first began");
    assert_eq!(whole["steps"][0], resumed["steps"][0]);
    assert_eq!((&resumed["interrupted"], &resumed["steps"][2]["took_ns"]), (&Value::Bool(false), &Value::Null));
    assert_eq!(ended.file("resumed"), ended.file("out/run.json"));
    let recovered = record(&ended.file("recovered"));
    assert_eq!((recovered["steps"].as_array().map(Vec::len), &recovered["interrupted"]), (Some(2), &Value::Bool(true)));
    assert_eq!(record(&ended.file("from-recovered"))["interrupted"], Value::Bool(false), "it goes on all the same");
}

#[test]
fn an_interrupt_keeps_the_steps_that_ended_and_the_same_command_goes_on() {
    let slow = FILE.replace("500ms", "2s");
    let started = plimsoll(["experiment", "x.toml", "-o", "out", "--json", "-q", SHORT])
        .with_file("x.toml", slow.as_bytes())
        .start();
    let out = started.directory().join("out");
    wait_for(SOON, || {
        // The second step is under load.
        let second = names(&out.join("steps")).into_iter().find(|name| name.starts_with("002"))?;
        let events = std::fs::read_to_string(out.join("steps").join(second).join("events.jsonl")).ok()?;
        events.contains("\"event\":\"tick\"").then_some(())
    })
    .expect("the second step begins");
    started.signal(Signal::INT);
    let ended = started.end();
    let cut = ended.exits(130).json();
    assert_eq!(cut["interrupted"], Value::Bool(true));
    let finished = cut["steps"].as_array().expect("steps").iter().filter(|step| step["result"]["interrupted"] == false);
    assert_eq!(finished.count(), 1, "{cut:#}");
    assert_eq!(ended.file("out/run.json"), ended.stdout);
    // Elsewhere, as a program has a directory of its own.
    let copied = format!("cp -r '{}' out && \"$PLIMSOLL\" experiment x.toml -o out --json -q {SHORT}", out.display());
    let again = shell(&copied).with_file("x.toml", slow.as_bytes()).run();
    let whole = again.exits(4).json();
    assert_eq!((&whole["interrupted"], &whole["steps"][0]), (&Value::Bool(false), &cut["steps"][0]));
    assert!(text(&whole, "steps.1.directory").ends_with("-2"), "what was cut short is kept beside it");
}

#[test]
fn a_comparison_is_a_step_of_all_variants() {
    let file = "\
serve = \"target pool={workers} pool-time=2ms\"
[variants.grid]
workers = [1, 4]
[[loads]]
verb = \"compare\"
only = \"saturated\"
duration = \"1s\"
warmup = \"0s\"
blocks = 1
budget = \"12s\"
no-observe = true
";
    let ended = plimsoll(["experiment", "x.toml", "-o", "out", "-q"]).with_file("x.toml", file.as_bytes()).run();
    assert!([Some(4), Some(5)].contains(&ended.status.code()), "{ended:#?}");
    let all = record(&ended.file("out/run.json"));
    let step = &all["steps"][0];
    assert_eq!(all["steps"].as_array().map(Vec::len), Some(1), "both variants in one step: {all:#}");
    assert_eq!(text(&all, "plan.steps.0.variant"), "workers=4 against workers=1");
    let effects = step["result"]["effects"].as_array().expect("effects");
    let goodput = effects.iter().find(|one| one["metric"] == "goodput_per_s").expect("goodput");
    assert_eq!((text(goodput, "arm"), count(goodput, "ratio.n")), ("workers=4", 1));
    let said = ended.stdout.lines().find(|line| line.contains("workers=4: goodput, saturation"));
    assert!(said.is_some_and(|line| line.contains(" times")), "{}", ended.stdout);
    let compared = record(&ended.file(&format!("out/{}/run.json", text(step, "directory"))));
    assert_eq!(text(&compared, "format"), "plimsoll.compare/1");
    plimsoll(["experiment", "x.toml", "-o", ended.path("out").to_str().expect("UTF-8")])
        .with_file("x.toml", file.as_bytes())
        .run()
        .fails(2, &["all steps", "have a result"]);
}

/// Sampling needs root, or kernel.perf_event_paranoid=0.
#[test]
fn steps_have_flame_graphs_and_two_of_them_a_difference() {
    let file = FILE.replace("connections = 4\n", "connections = 4\nprofile = true\n").replace("repetitions = 2", "");
    // Long enough that a busy machine lets the server run at a sample.
    let file = file.replace("500ms", "2s");
    let script = "\"$PLIMSOLL\" experiment x.toml -o out --json -q --allow-short-windows >all
        \"$PLIMSOLL\" profile diff out/steps/001* out/steps/002* -o diff";
    let ended = shell(script).with_file("x.toml", file.as_bytes()).run();
    ended.exits(0);
    let all = record(&ended.file("all"));
    for step in all["steps"].as_array().expect("steps") {
        assert!(ended.file(&format!("out/{}/profile.svg", text(step, "directory"))).starts_with("<?xml"), "{step:#}");
    }
    assert!(ended.file("diff/diff.svg").contains("<svg"), "{ended:#?}");
}

#[test]
fn a_disk_that_is_full_in_the_middle_ends_it_and_it_goes_on_when_there_is_room() {
    let inside = "mkdir d && mount -t tmpfs -o nr_inodes=17 none d
        \"$PLIMSOLL\" experiment x.toml -o d/out --json -q --allow-short-windows; echo $? >full
        mount -o remount,nr_inodes=1000 d
        cp -r d/out/steps.jsonl before
        \"$PLIMSOLL\" experiment x.toml -o d/out --json -q --allow-short-windows >whole; echo $? >room
        cp d/out/steps.jsonl after";
    let Some(program) = mounting(inside) else { return };
    let ended = program.with_file("x.toml", FILE.as_bytes()).run();
    assert_eq!((ended.file("full").trim(), ended.file("room").trim()), ("2", "4"), "{ended:#?}");
    assert!(ended.stderr.contains("No space left"), "{ended:#?}");
    let whole = record(&ended.file("whole"));
    assert_eq!((&whole["interrupted"], whole["steps"].as_array().map(Vec::len)), (&Value::Bool(false), Some(4)));
    let (before, after) = (ended.file("before"), ended.file("after"));
    assert!(before.lines().count() >= 2 && after.starts_with(&before), "what was measured is kept: {before}");
}

#[test]
fn a_variant_that_dies_is_told_and_the_others_are_measured() {
    let file = "\
serve = \"{server}\"
[[variants.list]]
name = \"dies\"
server = \"command port=18291 -- sh -c 'echo cannot bind >&2; exit 1'\"
[[variants.list]]
name = \"lives\"
server = \"target\"
[flags]
duration = \"500ms\"
warmup = \"100ms\"
connections = 4
";
    let ended = plimsoll(["experiment", "x.toml", "--json", "-q", SHORT]).with_file("x.toml", file.as_bytes()).run();
    let record = ended.exits(3).json();
    let step = |variant: &str| {
        let planned = record["plan"]["steps"].as_array().expect("steps").iter();
        let number = planned.into_iter().find(|step| step["variant"] == variant).expect("planned")["number"].clone();
        record["steps"].as_array().expect("steps").iter().find(|step| step["number"] == number).expect("made").clone()
    };
    assert!(text(&step("dies"), "error").contains("cannot bind") && step("dies")["result"].is_null(), "{record:#}");
    assert!(number(&step("lives"), "result.goodput_per_s.value") > 0.0, "{record:#}");
    assert_eq!(record["interrupted"], Value::Bool(false), "every step was tried");
}
