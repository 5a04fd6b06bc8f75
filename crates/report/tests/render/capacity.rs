//! A capacity in the terminal, as a page, as a table, and as JSON.

use crate::capacities::{TRIALS, bracketed, unbounded};
use crate::fixtures::URL;
use crate::pages::{charts, item, page};
use model::CapacityRecord;
use report::Named;
use report::record::AnyRecord;
use report::stored::Record;
use report::terminal::{self, Style};
use serde_json::Value;

fn text(record: &CapacityRecord, width: usize) -> String {
    let named = [Named { name: "c", record: AnyRecord::Capacity(record) }];
    terminal::results(&named, &Style { width, colour: false, verbose: false })
}

#[test]
fn the_bracket_comes_first_and_its_ends_are_marked() {
    let text = text(&bracketed(), 140);
    for line in [
        "capacity     1,000 to 1,030/s\n",
        "bracket      the goal was met at the lower rate and missed at the upper one, 3.0 % apart; 1,000/s of good ",
        "goal         p99<100ms, errors<0.1%, send-rate>99%",
        "estimate     1,015/s (1,004 to 1,027/s) by all 6 trials; 0.50 % noise from trial to trial",
        "more time    about 90.0 s more would narrow the bracket to 1.0 %",
        "search       open loop, 6 trials in 48.0 s of 3 min 50 s, windows of 6.00 s; 1 trial more too disturbed",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let row = |begin: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(begin));
        line.unwrap_or_else(|| panic!("no {begin} in {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("1,000/s"), "1,000/s 2 of 2 1,000/s 42.0 ms 0 % 100 % highest met");
    assert_eq!(row("1,030/s"), "1,030/s 0 of 2 1,010/s 305 ms 0 % 100 % lowest missed");
    assert_eq!(row("2,000/s"), "2,000/s 0 of 1 1,010/s 900 ms 0 % 100 %");
}

#[test]
fn the_median_of_a_load_is_one_and_what_one_trial_does_not_know_hides_no_other() {
    let mut record = bracketed();
    record.outcomes[2].conditions[0].value = None;
    let text = text(&record, 140);
    let row = text.lines().find(|line| line.trim_start().starts_with("1,000/s")).expect("a row");
    assert!(row.contains("44.0 ms"), "of 40 and 44 ms only the second is known: {row}");
}

#[test]
fn no_limits_are_announced_where_none_are_drawn() {
    let drawn = |record: &CapacityRecord| page(&[item("c", AnyRecord::Capacity(record), None)]);
    let mut record = bracketed();
    assert!(drawn(&record).contains("broken lines are limits of the goal"));
    record.outcomes.iter_mut().for_each(|trial| drop(trial.conditions.remove(0)));
    let page = drawn(&record);
    assert!(page.contains("<h3>Response time by offered rate</h3>") && !page.contains("broken lines"));
}

#[test]
fn a_bound_is_told_as_one() {
    let text = text(&unbounded(), 80);
    assert!(
        text.contains("capacity     >= 1,000/s\nbracket      1,000/s of good responses at the lower rate\n"),
        "{text}"
    );
    assert!(!text.contains("estimate") && !text.contains("more time"), "{text}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 120] {
        for record in [bracketed(), unbounded()] {
            for line in text(&record, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn the_page_draws_the_bracket_over_the_trials() {
    let page = page(&[item("c", AnyRecord::Capacity(&bracketed()), None)]);
    assert!(page.contains(&format!("<h1>{URL}</h1>")) && page.contains("1,000 to 1,030/s"), "no headline");
    let charts = charts(&page);
    let names = |chart: &Value| -> Vec<String> {
        let traces = chart["data"].as_array().expect("curves").iter();
        traces.map(|trace| trace["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(charts.len(), 3);
    assert_eq!(names(&charts[0]), ["all that is offered", "goal met", "failed", "not counted"]);
    assert_eq!(names(&charts[1]), ["p99\u{2039}100ms", "limit of p99\u{2039}100ms"]);
    assert_eq!(names(&charts[2]), ["lower end", "upper end", "goal met", "failed", "not counted"]);
    let band = &charts[0]["layout"]["shapes"][0];
    assert_eq!(band["type"], "rect");
    assert_eq!([&band["x0"], &band["x1"]].map(Value::as_f64), [Some(1_000.0), Some(1_030.0)]);
    let held = charts[0]["data"][1]["x"].as_array().expect("loads");
    assert_eq!(held.iter().filter_map(Value::as_f64).collect::<Vec<_>>(), [500.0, 1_000.0, 1_000.0]);
    assert!(page.contains("missed: p99&#60;100ms, backlog ran away"), "the table of trials");
}

#[test]
fn a_capacity_beside_others_has_a_row_of_its_own() {
    let (first, second) = (bracketed(), unbounded());
    let named =
        [("a", &first), ("b", &second)].map(|(name, record)| Named { name, record: AnyRecord::Capacity(record) });
    let markdown = report::markdown(&named);
    let row = "| a | valid | 1,000 to 1,030/s | p99&lt;100ms,errors&lt;0.1%,send-rate>99% | 6 |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("| b | valid | >= 1,000/s |") && markdown.contains("| highest met |"), "{markdown}");
    let csv = report::csv(&named);
    assert_eq!(csv.lines().count(), 1 + TRIALS.len() + 1, "{csv}");
    assert!(csv.contains("a,valid,") && csv.contains(",1030,per_s,700,"), "{csv}");
    let items = named.map(|named| item(named.name, named.record, None));
    assert!(page(&items).contains("<h3>Capacities</h3>"));
    assert!(terminal::results(&named, &Style { width: 80, colour: false, verbose: false }).contains("== b\n"));
}

#[test]
fn a_capacity_has_every_name_of_the_contract_and_reads_back() {
    let record = bracketed();
    let text = report::json::capacity(&record);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    for path in [
        "/format",
        "/verdict/state",
        "/capacity/value",
        "/capacity/low",
        "/capacity/high",
        "/capacity/n",
        "/capacity/reason",
        "/goal",
        "/trials/0/goodput_per_s/value",
        "/limiter",
    ] {
        assert!(json.pointer(path).is_some(), "{path}");
    }
    assert_eq!((&json["format"], &json["capacity"]["ended"]), (&"plimsoll.capacity/1".into(), &"bracketed".into()));
    let Ok(Record::Capacity(read)) = Record::parse(&text) else { panic!("it does not read back") };
    assert_eq!(*read, record);
}
