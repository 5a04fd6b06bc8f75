//! A comparison in the terminal, as a page, as a table, and as JSON.

use crate::comparisons::{compared, duet, floor, undecided};
use crate::pages::{charts, item, page};
use model::{
    ArmProfile, CompareEnd, CompareLoad, CompareRecord, DuetSet, Estimate, Floor, FloorRecord, FunctionChange,
    FunctionUse, ProcessRole, Profiled, ProfiledProcess, VerdictState,
};
use report::Named;
use report::flame::{Side, difference};
use report::html::{Graphs, Item};
use report::record::AnyRecord;
use report::stored::Record;
use report::terminal::{self, Style};
use serde_json::Value;

fn text(record: &CompareRecord, width: usize) -> String {
    let named = [Named { name: "c", record: AnyRecord::Compare(record) }];
    terminal::results(&named, &Style { width, colour: false, verbose: false })
}

/// The words of the text, whatever its lines.
fn words(record: &CompareRecord) -> String {
    text(record, 100).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_paragraph_says_in_plain_words_what_came_of_it() {
    let said = words(&compared());
    let paragraph = "'gzip' is worse: it uses 12 % more server CPU per request than 'plain' at a load of 1,400 requests per \
                     second (between 10.0 and 14.0 %). 'gzip' and 'plain' have the same number of good responses per \
                     second under full load: if they differ, then by less than 2.0 %. The true change is within the range \
                     given in 95 of 100 such comparisons; each variant was measured 7 times, in turn.";
    assert!(said.starts_with(paragraph), "{said}");
    for line in [
        "baseline 'plain': nginx workers=1; 2,000/s in a closed loop before the blocks",
        "ended the intervals are as narrow as wanted",
        "design 7 blocks in shuffled order, seed 1; open loop at 1,400/s; closed loop of 64 connections; windows of \
         4.00 s; 1 further block not counted; 1 trial repeated; 4 min 0 s in all",
        "A/A floor not measured: plimsoll compare --aa compares the baseline with itself; by their own spread these \
         blocks show changes of server CPU per request 2.0 %, goodput 2.0 %",
        "not compared response p90: too few responses in a window",
        "server CPU per request fixed load 40.0 µs 44.8 µs +12 % +10.0 to +14.0 % worse",
        "response p99 fixed load 8.00 ms 8.40 ms +5.0 % -3.0 to +14.0 % cannot tell",
        "server memory saturation 10.0 MB 9.00 MB -10 % -12.0 to -8.0 % better",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
}

#[test]
fn what_cannot_be_told_is_told_with_what_would_be_needed() {
    let said = words(&undecided());
    let sentence = "For server CPU per request at a load of 1,400 requests per second we cannot tell 'gzip' from 'plain': the measurements \
                    allow a change between 3.0 % less and 5.0 % more; a range that is narrow enough, of ± 1.2 %, needs about 14 blocks more, \
                    8 min 0 s; --only fixed makes the blocks shorter";
    assert!(said.contains(sentence), "{said}");
    assert!(
        said.contains("we cannot tell 'brotli' from 'plain': a range needs at least 6 blocks, and there are 2"),
        "{said}"
    );
    assert!(said.contains("fail-if cpu>2% of 'gzip': cannot tell") && said.contains("cpu>2% of 'brotli': failed"));
    assert!(said.contains("interrupted stopped before the comparison was done"), "{said}");
}

/// "A range needs at least 6 blocks, and there are 2" was all that 97 s of load had given.
#[test]
fn too_few_blocks_for_a_range_are_told_one_by_one() {
    let mut few = compared();
    few.blocks.truncate(2);
    few.blocks.iter_mut().for_each(|block| block.counted = true);
    let metric = &mut few.metrics[0];
    (metric.ratio, metric.call) = (Estimate { low: None, high: None, n: 2, ..metric.ratio }, model::Call::CannotTell);
    let said = words(&few);
    assert!(said.contains("a range needs at least 6 blocks, and there are 2; the blocks gave +"), "{said}");
}

#[test]
fn the_design_says_how_variants_took_turns() {
    let mut turns = compared();
    if let Some(plan) = &mut turns.plan {
        plan.windows = Some(2);
        plan.at_once = Some(model::AtOnce { turn_ns: 100_000_000, window_ns: 6_000_000_000 });
        plan.times.window_ns = 1_000_000_000;
    }
    let said = words(&turns);
    assert!(said.contains("the fixed load of both in windows of 6.00 s, in turns of 100 ms"), "{said}");
    assert!(said.contains("2 windows of 1.00 s each, in turns"), "{said}");
}

#[test]
fn the_card_of_a_pull_request_has_every_change_its_interval_its_call_and_what_was_disturbed() {
    let record = compared();
    let named = Named { name: "compared", record: AnyRecord::Compare(&record) };
    let card = report::summary(named);
    for part in [
        "### plimsoll: compared",
        "**VALID**",
        "'gzip' is worse: it uses 12 % more server CPU per request",
        "| server CPU per request | fixed load | 40.0 µs | 44.8 µs |  | +12 % | +10.0 to +14.0 % | worse |",
        "- not counted: 1 of 8 blocks",
        "- 7 blocks in shuffled order",
    ] {
        assert!(card.contains(part), "{part}\n{card}");
    }
    let xml = report::junit(named);
    assert!(xml.contains("<testsuite") && xml.contains("failures=\"1\""), "{xml}");
    assert!(
        xml.contains("server CPU per request, fixed load") && xml.contains("+12 % (+10.0 to +14.0 %): worse"),
        "{xml}"
    );
    let record = undecided();
    let xml = report::junit(Named { name: "c", record: AnyRecord::Compare(&record) });
    assert!(
        xml.contains("not cpu&gt;2% of &apos;brotli&apos;") && xml.contains("inconclusive"),
        "conditions decide: {xml}"
    );
}

#[test]
fn a_change_whose_size_is_open_keeps_its_direction() {
    let said = |low: Option<f64>, high: Option<f64>| {
        let mut record = undecided();
        record.metrics.truncate(1);
        record.metrics[0].ratio = Estimate { value: 1.03, low, high, n: 6 };
        words(&record)
    };
    let sentence = "'gzip' uses 3.0 % more server CPU per request than 'plain' at a load of 1,400 requests per second \
                    (between 1.0 and 6.0 %): a change, but whether it is more than the 2.0 % that matter is open; a range \
                    that is narrow enough, of ± 1.2 %, needs about 14 blocks more, 8 min 0 s.";
    let open = said(Some(1.01), Some(1.06));
    assert!(open.starts_with(sentence), "{open}");
    assert!(said(Some(1.01), None).contains("(at least 1.0 % more): a change, but"), "{}", said(Some(1.01), None));
    for (low, high) in [(0.99, 1.06), (1.0, 1.06), (1.005, 1.015)] {
        let text = said(Some(low), Some(high));
        assert!(text.contains("we cannot tell 'gzip' from 'plain'"), "{low} {high}: {text}");
    }
}

#[test]
fn a_comparison_that_is_not_valid_says_nothing() {
    let mut record = compared();
    record.verdict.state = VerdictState::Invalid;
    assert!(words(&record).starts_with("Nothing can be said: a measurement that this rests on is not valid"));
    let mut record = compared();
    record.metrics.clear();
    assert!(words(&record).starts_with("Nothing can be said yet: the intervals"), "{}", words(&record));
}

#[test]
fn a_server_against_itself_says_what_the_machine_can_show() {
    let said = words(&floor());
    let paragraph = "One server was compared with itself (7 blocks), so every difference is noise. Comparisons of some 7 \
                     blocks here show changes of server CPU per request by 0.90 %, goodput by 2.1 %. Of 24 comparisons 2 \
                     saw a change that was not there: about as many as there should be (one in twenty).";
    assert!(said.starts_with(paragraph), "{said}");
    assert!(said.contains("goodput, saturation: 2.1 % (1 of 12 flagged)"), "{said}");
}

#[test]
fn one_quantity_that_is_flagged_by_chance_is_no_machine_that_may_not_be_believed() {
    let mut record = floor();
    let of = |flagged| Floor { flagged, comparisons: 12, is_unreliable: flagged > 1, ..record.aa_floor[0].floor };
    let [few, many] = [[2, 0], [2, 1]].map(|flagged| flagged.map(of));
    for (found, floors) in [
        ("2 saw a change that was not there: about as many", few),
        ("3 saw a change that was not there: more than one in ten", many),
    ] {
        for (one, floor) in record.aa_floor.iter_mut().zip(floors) {
            one.floor = floor;
        }
        assert!(words(&record).contains(&format!("Of 24 comparisons {found}")), "{}", words(&record));
    }
}

#[test]
fn a_change_that_can_be_shown_has_its_load_where_there_are_several() {
    let mut record = floor();
    let saturated = Floor { resolvable: Some(0.015), ..record.aa_floor[0].floor };
    let other = FloorRecord { load: CompareLoad::Saturated, floor: saturated, ..record.aa_floor[0] };
    record.aa_floor.push(other);
    let text = "server CPU per request by 0.90 % (fixed load) and 1.5 % (saturation), goodput by 2.1 %.";
    assert!(words(&record).contains(text), "{}", words(&record));
}

#[test]
fn a_duet_says_where_both_ran_and_what_one_of_the_sets_does() {
    let said = words(&duet());
    for line in [
        "seed 1; both variants at once, on sets of CPUs that are swapped in each block; open loop at 1,400/s; windows of",
        "CPU sets set 1: CPU 0 for server and load; set 2: CPU 1 for server and load; server and load share a core, so \
         response times hold what the load takes of it",
        "CPU sets server CPU per request +10 % on set 2 (+8.0 to +12.0 %), whichever variant runs there: the sets are not alike",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(
        said.contains("both variants were measured at the same time, 14 times.") && !said.contains("in turn"),
        "{said}"
    );
    assert!(!said.contains("response p99 +1.0 % on set 2"), "a small one is not told: {said}");
    let mut apart = duet();
    if let Some(duet) = apart.plan.as_mut().and_then(|plan| plan.duet.as_mut()) {
        duet.sets[0] = DuetSet { server: vec![0, 1], load: vec![2, 3], one_core: false };
        duet.sets[1] = DuetSet { server: vec![4, 5], load: vec![6, 7], one_core: false };
    }
    let said = words(&apart);
    assert!(said.contains("set 1: server 0,1, load 2,3; set 2: server 4,5, load 6,7"), "{said}");
    assert!(!said.contains("share a core") && !words(&compared()).contains("CPU sets"), "{said}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 120] {
        for record in [compared(), undecided(), floor(), duet()] {
            for line in text(&record, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

#[test]
fn the_page_draws_the_changes_with_their_intervals_and_the_blocks() {
    let page = page(&[item("c", AnyRecord::Compare(&compared()), None)]);
    assert!(page.contains("<h1>plain / gzip</h1>") && page.contains("12 % more server CPU"), "no headline");
    let charts = charts(&page);
    assert_eq!(charts.len(), 4);
    let forest = &charts[0];
    let numbers = |at: &str| -> Vec<f64> {
        forest.pointer(at).and_then(Value::as_array).expect("numbers").iter().filter_map(Value::as_f64).collect()
    };
    let ends = numbers("/data/0/x");
    assert!((ends[0] - 10.0).abs() < 1e-9 && (ends[1] - 14.0).abs() < 1e-9, "{ends:?}");
    assert_eq!(numbers("/data/5/x").len(), compared().metrics.len(), "a mark for each");
    let band = &forest["layout"]["shapes"][0];
    for (end, percent) in [("x0", -2.0), ("x1", 2.0)] {
        assert!((band[end].as_f64().expect("an end") - percent).abs() < 1e-9, "{band}");
    }
    let blocks: Vec<f64> = charts[1]
        .pointer("/data/0/x")
        .and_then(Value::as_array)
        .expect("blocks")
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!(blocks, [1.0, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0], "the third does not count");
    assert!(page.contains("measured again") && page.contains("the machine was another"), "the table of blocks");
}

#[test]
fn beside_a_change_of_hundreds_of_times_the_others_can_be_seen() {
    let mut record = compared();
    record.metrics[0].ratio = Estimate { value: 184.0, low: Some(176.0), high: Some(193.0), n: 6 };
    let page = page(&[item("c", AnyRecord::Compare(&record), None)]);
    let [forest, course] = &charts(&page)[..2] else { panic!("two charts") };
    assert_eq!(course["layout"]["yaxis"]["type"], "log");
    assert_eq!(forest["layout"]["xaxis"]["type"], "log");
    assert_eq!(forest["layout"]["xaxis"]["title"]["text"], "times the baseline");
    let band = &forest["layout"]["shapes"][0];
    assert!((band["x0"].as_f64().expect("an end") - 0.98).abs() < 1e-9, "{band}");
    assert!(page.contains("184 times") && page.contains("176 to 193 times"), "no factor");
}

#[test]
fn the_page_of_stored_runs_links_no_folder_of_measurements_that_were_not_made() {
    let mut record = compared();
    let links = |record: &CompareRecord| page(&[item("c", AnyRecord::Compare(record), None)]).contains("points/");
    assert!(links(&record));
    (record.ended, record.plan) = (CompareEnd::Stored, None);
    assert!(!links(&record));
}

#[test]
fn a_comparison_beside_others_has_a_row_of_its_own() {
    let (first, second) = (compared(), undecided());
    let named =
        [("a", &first), ("b", &second)].map(|(name, record)| Named { name, record: AnyRecord::Compare(record) });
    let markdown = report::markdown(&named);
    let row = "| a | valid | plain | gzip | 7 | gzip cpu +12 % (worse); gzip goodput +0.10 % (same) |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("| server CPU per request | fixed load | gzip | 40.0 µs |"), "{markdown}");
    let csv = report::csv(&named);
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
    assert!(csv.lines().nth(2).is_some_and(|line| line.ends_with(",gzip")), "{csv}");
    let items = named.map(|named| item(named.name, named.record, None));
    assert!(page(&items).contains("<h3>Comparisons</h3>"));
}

#[test]
fn a_comparison_has_every_name_of_the_contract_and_reads_back() {
    let record = compared();
    let text = report::json::compare(&record);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    for path in [
        "/format",
        "/verdict/state",
        "/arms/0/name",
        "/metrics/0/metric",
        "/metrics/0/load",
        "/metrics/0/arm",
        "/metrics/0/baseline",
        "/metrics/0/value",
        "/metrics/0/ratio/value",
        "/metrics/0/ratio/low",
        "/metrics/0/ratio/high",
        "/metrics/0/ratio/n",
        "/aa_floor",
        "/blocks/0/order/0",
        "/blocks/0/values/plain/fixed/server_cpu_ns_per_request",
        "/blocks/0/canary_cpu_ns_per_request",
        "/plan/seed",
        "/trials/0/load",
    ] {
        assert!(json.pointer(path).is_some(), "{path}");
    }
    assert_eq!((&json["format"], &json["metrics"][0]["call"]), (&"plimsoll.compare/1".into(), &"worse".into()));
    let Ok(Record::Compare(read)) = Record::parse(&text) else { panic!("it does not read back") };
    assert_eq!(*read, record);
}

fn of_server() -> Profiled {
    let server =
        ProfiledProcess { name: "nginx".into(), role: ProcessRole::Server, samples: 640, ..Default::default() };
    Profiled { samples: 640, processes: vec![server], sample_us_per_good_request: Some(0.1), ..Profiled::default() }
}

fn renamed(change: &FunctionChange, name: &str) -> FunctionChange {
    FunctionChange { name: name.to_owned(), ..change.clone() }
}

/// The comparison with profiles of both: of the variant 23 % in a function that the baseline has not.
fn with_profiles() -> CompareRecord {
    let profile = |arm: &str, functions: Vec<FunctionChange>| ArmProfile {
        arm: arm.to_owned(),
        load: CompareLoad::Fixed,
        profile: Some(of_server()),
        unavailable: None,
        php_functions: functions.iter().take(1).map(|one: &FunctionChange| renamed(one, "query_<slow>")).collect(),
        functions,
    };
    let using = |samples: u64| FunctionUse {
        samples,
        share: samples as f64 / 640.0,
        cpu_us_per_good_request: samples as f64 * 0.1,
    };
    let change =
        |name: &str, before, after| FunctionChange { name: name.into(), before: using(before), after: using(after) };
    let functions = vec![change("deflate_<slow>", 0, 147), change("writev_[k]", 320, 224)];
    CompareRecord { profiles: vec![profile("plain", Vec::new()), profile("gzip", functions)], ..compared() }
}

#[test]
fn a_profiled_comparison_names_the_functions_whose_share_changed() {
    let record = with_profiles();
    let sentence = "the server of 'gzip', against 'plain' at fixed load: more of its CPU time in deflate_<slow> (0 % to 23 \
                    %); less of its CPU time in writev (kernel) (50 % to 35 %); 640 and 640 samples; more of its PHP time \
                    in query_<slow> (0 % to 23 %)";
    assert!(words(&record).contains(&format!("profile {sentence}")), "{}", words(&record));
    let markdown = report::markdown(&[Named { name: "c", record: AnyRecord::Compare(&record) }]);
    assert!(markdown.contains("- profile: the server of 'gzip'") && markdown.contains("&lt;slow"), "{markdown}");
    let mut refused = record.clone();
    (refused.profiles[1].profile, refused.profiles[1].unavailable) = (None, Some("not permitted".to_owned()));
    assert!(words(&refused).contains("profile none of 'gzip': not permitted"), "{}", words(&refused));
    refused.profiles.swap(0, 1);
    assert!(words(&refused).contains("profile none of 'gzip': not permitted"), "nothing to hold it against");
    let mut same = record;
    same.profiles[1].functions.clear();
    assert!(
        words(&same).contains("no function's share of the server's CPU time changed by more than"),
        "{}",
        words(&same)
    );
}

#[test]
fn the_page_shows_the_differential_flame_graph_and_refuses_a_foreign_one() {
    let (record, profiled) = (with_profiles(), of_server());
    let side = |name, folded| Side { name, folded, profiled: &profiled, sample_us_per_good: 0.1 };
    let drawn = difference(side("plain", "nginx;main;writev_[k] 320\n"), side("gzip", "nginx;main;<b>deflate 147\n"));
    let svg = drawn.expect("both have a stack").as_after;
    let shown = |svg: &str| {
        let differences = vec![Some(svg.to_owned())];
        let graphs = [Graphs { php_differences: differences.clone(), differences, ..Graphs::default() }];
        page(&[Item { graphs: &graphs, ..item("c", AnyRecord::Compare(&record), None) }])
    };
    let own = shown(&svg);
    assert!(own.contains("<h3>What changed in the CPU time</h3>"), "no heading");
    assert!(own.contains("title=\"Flame graph: What changed in the CPU time\""), "no frame");
    assert!(own.contains("<h3>What changed in PHP functions</h3>") && own.contains("as wide as the time in it"));
    assert!(own.contains("Functions that changed") && own.contains("profiles/"), "the table, and the files");
    assert!(own.contains("PHP functions that changed") && own.contains("query_&#60;slow"), "the table of PHP");
    let foreign = shown(&svg.replace("<rect ", "<rect onload=\"x\" "));
    assert!(!foreign.contains("Flame graph: ") && !foreign.contains("onload=\"x\""));
}
