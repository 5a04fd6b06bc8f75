//! Tables of measurements, against figures by hand.

use crate::fixtures::valid_run;
use model::{Finding, FindingState, Load, RunRecord, Served, VerdictState};
use report::Named;
use report::record::AnyRecord;
use report::tabulate::{Aggregate, Field, Filter, Measured, TableFormat, TableKind, TableRequest, tabulate};

/// A run of a server on so many connections.
fn run(server: &str, connections: u32, goodput_per_s: f64) -> RunRecord {
    let mut run = valid_run();
    run.environment.served = Some(Served { label: server.into(), ..Served::default() });
    run.plan.load = Load::Closed { connections };
    run.goodput_per_s.value = goodput_per_s;
    run
}

/// Two servers, two loads, three runs of each; the last one of the second server is invalid.
fn runs() -> Vec<RunRecord> {
    let mut runs = Vec::new();
    for (server, connections, values) in [
        ("plain", 1, [100.0, 110.0, 120.0]),
        ("plain", 8, [600.0, 610.0, 590.0]),
        ("hardened", 1, [99.0, 88.0, 110.0]),
        ("hardened", 8, [510.0, 480.0, 9.0]),
    ] {
        runs.extend(values.map(|value| run(server, connections, value)));
    }
    runs[11].verdict.state = VerdictState::Invalid;
    runs
}

fn fields(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::parse(name).unwrap()).collect()
}

fn request(kind: TableKind, aggregates: &[&str]) -> TableRequest {
    TableRequest {
        kind,
        fields: fields(&["goodput"]),
        aggregates: aggregates.iter().map(|name| Aggregate::parse(name).unwrap()).collect(),
        group_by: fields(&["instance", "connections"]),
        filters: Vec::new(),
    }
}

fn table(request: &TableRequest, format: TableFormat) -> Result<(String, Vec<String>), String> {
    let runs = runs();
    tabulate(&measured(&runs, |_| None), request, format).map(|table| (table.text, table.notes))
}

/// The results, each of the variant that `variant` says of its place.
fn measured<'a>(runs: &'a [RunRecord], variant: impl Fn(usize) -> Option<&'a str>) -> Vec<Measured<'a>> {
    let one = |(i, run)| Measured { named: Named { name: "n", record: AnyRecord::Run(run) }, variant: variant(i) };
    runs.iter().enumerate().map(one).collect()
}

#[test]
fn aggregates_stand_beside_each_other_and_invalid_measurements_are_left_out() {
    let (text, notes) = table(&request(TableKind::Aggregated, &["mean", "stdev", "count"]), TableFormat::Csv).unwrap();
    assert_eq!(
        text,
        "instance,connections,goodput_per_s:mean,goodput_per_s:stdev,goodput_per_s:count\n\
         plain,1,110,10,3\nplain,8,600,10,3\nhardened,1,99,11,3\nhardened,8,495,21.213203435596427,2\n"
    );
    assert_eq!(notes, ["1 INVALID measurement left out"]);
}

#[test]
fn an_overhead_is_over_the_same_aggregate_of_the_baseline() {
    let kind = TableKind::Overhead { baseline: Some("plain".into()) };
    let (text, _) = table(&request(kind.clone(), &["mean", "max", "count"]), TableFormat::Tsv).unwrap();
    assert_eq!(
        text,
        "instance\tconnections\tgoodput_per_s:mean:ratio\tgoodput_per_s:max:ratio\tgoodput_per_s:count\t\
         goodput_per_s:ratio:low\tgoodput_per_s:ratio:high\n\
         hardened\t1\t0.9\t0.9166666666666666\t3\t\t\nhardened\t8\t0.825\t0.8360655737704918\t2\t\t\n"
    );
    let (text, notes) = table(&request(kind, &["mean", "stdev"]), TableFormat::Text).unwrap();
    let few = "an interval needs 6 measurements of each group and of its baseline, and some have 2: a change without an \
               interval may be chance";
    assert_eq!(notes, ["1 INVALID measurement left out", few]);
    let rows: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        [
            "instance connections goodput mean goodput stdev 95 % interval",
            "hardened 1 -10.0 % 11.0/s -",
            "hardened 8 -17.5 % 21.2/s -"
        ]
    );
    let unknown = TableKind::Overhead { baseline: Some("x".into()) };
    let error = table(&request(unknown, &["mean"]), TableFormat::Csv).unwrap_err();
    assert_eq!(error, "--baseline \"x\" is no instance; there are hardened, plain");
}

/// The ends are those of the rank sum of six against six: the 6th of the 36 sorted ratios from either side.
#[test]
fn six_measurements_of_each_variant_have_an_interval_over_the_first() {
    let values = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
    let runs: Vec<RunRecord> =
        values.iter().chain(&values.map(|value| 0.8 * value)).map(|value| run("s", 8, *value)).collect();
    let variants = ["gzip=off", "gzip=on"];
    let of_experiment = measured(&runs, |i| Some(variants[i / 6]));
    let request = TableRequest {
        group_by: fields(&["variant", "connections"]),
        ..request(TableKind::Overhead { baseline: None }, &["median"])
    };
    let table = tabulate(&of_experiment, &request, TableFormat::Text).unwrap();
    let rows: Vec<String> =
        table.text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let mut ratios: Vec<f64> =
        values.iter().flat_map(|one| values.iter().map(move |other| 0.8 * other / one)).collect();
    ratios.sort_by(f64::total_cmp);
    let [low, high] = [ratios[5], ratios[30]].map(|ratio| format!("{:.1}", 100.0 * (ratio - 1.0)));
    assert_eq!(
        rows,
        ["variant connections goodput median 95 % interval".to_owned(), format!("gzip=on 8 -20.0 % {low} to {high} %")]
    );
    assert_eq!(table.notes, ["the baseline is variant \"gzip=off\"; --baseline names another"]);
}

#[test]
fn invalid_measurements_alone_are_told_with_their_rules_and_what_shows_them() {
    let mut runs = runs();
    let finding = Finding {
        rule: "LD-04".into(),
        state: FindingState::Invalid,
        message: String::new(),
        remedy: String::new(),
        evidence: [].into(),
    };
    for run in &mut runs {
        run.verdict.state = VerdictState::Invalid;
        run.verdict.findings = vec![finding.clone()];
    }
    let error = tabulate(&measured(&runs, |_| None), &request(TableKind::Aggregated, &["mean"]), TableFormat::Csv);
    assert_eq!(
        error.unwrap_err(),
        "all 12 measurements are INVALID (LD-04), and nothing may be made of such numbers; --table raw shows them, and \
         plimsoll rules LD-04 says what to measure again"
    );
}

#[test]
fn raw_tables_have_every_measurement_and_filters_choose() {
    let mut raw = TableRequest { fields: fields(&["instance", "verdict", "goodput"]), ..request(TableKind::Raw, &[]) };
    let (text, notes) = table(&raw, TableFormat::Csv).unwrap();
    assert_eq!((text.lines().count(), notes.len()), (13, 0));
    assert!(text.ends_with("hardened,invalid,9\n"), "{text}");
    raw.filters = ["connections=8", "goodput>=590"].map(|text| Filter::parse(text).unwrap()).to_vec();
    let (text, _) = table(&raw, TableFormat::Csv).unwrap();
    assert_eq!(text, "instance,verdict,goodput_per_s\nplain,valid,600\nplain,valid,610\nplain,valid,590\n");
    raw.filters = vec![Filter::parse("instance!=plain").unwrap(), Filter::parse("verdict=valid").unwrap()];
    assert_eq!(table(&raw, TableFormat::Tsv).unwrap().0.lines().count(), 6);
    // Times are not compared as if 0.0105 were as good as 10.5ms: they have their unit, or are ns as the column is.
    let left = |filter: &str| {
        let filters = vec![Filter::parse(filter).unwrap()];
        table(&TableRequest { filters, ..raw.clone() }, TableFormat::Csv).map(|(text, _)| text.lines().count() - 1)
    };
    assert_eq!(
        [left("p99>1us"), left("p99>1000"), left("rss>=1KiB")],
        [left("p99>0"), left("p99>0"), left("rss>=1024")]
    );
    assert_eq!(left("p99>1000s"), Err("--filter leaves none of the 12 measurements".to_owned()));
    raw.filters = vec![Filter::parse("rate>1").unwrap()];
    assert_eq!(table(&raw, TableFormat::Csv).unwrap_err(), "--filter leaves none of the 12 measurements");
    for (text, said) in
        [("connections", "has no ="), ("colour=1", "no such field"), ("instance>a", "needs a field of numbers")]
    {
        assert!(Filter::parse(text).unwrap_err().contains(said), "{text}");
    }
}

/// Two runs alike, of which the second has a goodput that is only a lower bound and a p99 that the timeout has cut.
fn with_bounds() -> [RunRecord; 2] {
    let cut = Finding {
        rule: "ER-05".into(),
        state: FindingState::Bound,
        message: String::new(),
        remedy: String::new(),
        evidence: [("p99_at_least_ns".to_owned(), 2e9)].into(),
    };
    let busy = Finding { rule: "CL-01".into(), evidence: [].into(), ..cut.clone() };
    let mut bound = run("plain", 1, 900.0);
    bound.verdict.state = VerdictState::Bound;
    bound.verdict.findings = vec![cut, busy];
    bound.latency_ns.response.p99 = 2_000_000_000;
    [run("plain", 1, 100.0), bound]
}

#[test]
fn a_bound_is_no_exact_figure_of_a_table() {
    let runs = with_bounds();
    let named = measured(&runs, |_| None);
    let raw = TableRequest { fields: fields(&["goodput", "p99", "connections"]), ..request(TableKind::Raw, &[]) };
    let text = |format| tabulate(&named, &raw, format).unwrap().text;
    assert!(text(TableFormat::Csv).ends_with("\n>=900,>=2000000000,1\n"), "{}", text(TableFormat::Csv));
    assert!(text(TableFormat::Text).contains(">= 900/s"), "{}", text(TableFormat::Text));
    let aggregated = tabulate(&named, &request(TableKind::Aggregated, &["mean", "count"]), TableFormat::Csv).unwrap();
    assert!(aggregated.text.ends_with("\nplain,1,100,1\n"), "{}", aggregated.text);
    assert_eq!(aggregated.notes, ["1 value left out, as it is only a bound"]);
    let one_of_them = Filter::parse("goodput>=500").unwrap();
    let found =
        tabulate(&named, &TableRequest { filters: vec![one_of_them], ..raw.clone() }, TableFormat::Csv).unwrap();
    assert_eq!(found.text.lines().count(), 2, "a filter finds it by its value");
}
