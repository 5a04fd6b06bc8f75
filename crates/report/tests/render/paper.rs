//! What of a comparison goes into a paper, of fixed records.

use crate::comparisons::{BLOCKS, compared};
use crate::fixtures::{arms, valid_run, valid_sweep};
use crate::pages::{charts, item, page};
use model::{CompareLoad, Finding, FindingState};
use report::Named;
use report::record::AnyRecord;

#[test]
fn response_times_at_saturation_are_merged_and_have_no_interval() {
    let mut record = compared();
    let slower = record.runs.iter_mut().find(|run| run.arm == "gzip").expect("a variant");
    assert_eq!(slower.load, CompareLoad::Saturated);
    slower.run.latency_ns.response.p99 *= 2;
    let markdown = report::markdown(&[Named { name: "c", record: AnyRecord::Compare(&record) }]);
    let row = markdown.lines().find(|line| line.starts_with("| response p99 | saturation | gzip |")).expect("a row");
    assert!(row.ends_with("| +100 % | - | merged | - |"), "{row}");
    let compared =
        "| server CPU per request | fixed load | gzip | 40.0 µs | 44.8 µs | +12 % | +10.0 to +14.0 % | 8 | worse |";
    assert!(markdown.contains(compared), "{markdown}");
}

#[test]
fn a_merged_response_time_is_told_as_its_verdict_lets_it_and_a_bound_has_no_change() {
    let told = |rule: &str, key: &str| {
        let mut record = compared();
        let slower = record.runs.iter_mut().find(|run| run.arm == "gzip").expect("a variant");
        let evidence = [(key.to_owned(), 1.0)].into();
        let (state, message, remedy) = (FindingState::Bound, String::new(), String::new());
        slower.run.verdict.findings.push(Finding { rule: rule.to_owned(), state, message, remedy, evidence });
        let named = [Named { name: "c", record: AnyRecord::Compare(&record) }];
        let markdown = report::markdown(&named);
        let row = markdown.lines().find(|line| line.starts_with("| response p99 | saturation | gzip |"));
        (row.map(str::to_owned), report::overhead(&named), report::latex(&named))
    };
    let (row, csv, latex) = told("ER-05", "p99_at_least_ns");
    let row = row.expect("a row");
    assert!(row.contains("| >= 5.76 ms | - | - | merged | - |"), "{row}");
    assert!(csv.contains(",saturated,response_p99_ns,plain,gzip,5760000,>=5760000,,,,,\n"), "{csv}");
    assert!(latex.contains("& $\\geq$\\,5.76\\,ms & -- & --"), "{latex}");
    assert!(told("CL-03", "p99_at_most_ns").0.expect("a row").contains("| &lt;= 5.76 ms | - | - |"));
    assert_eq!(told("LD-04", "p99_tail_n").0, None, "too few requests are behind it");
}

#[test]
fn tables_and_figures_are_of_comparisons_alone() {
    let (record, run) = (compared(), valid_run());
    let named =
        [Named { name: "c", record: AnyRecord::Compare(&record) }, Named { name: "r", record: AnyRecord::Run(&run) }];
    assert_eq!(report::latex(&named).matches("\\begin{tabular}").count(), 1);
    assert_eq!(report::overhead(&named).lines().count(), report::overhead(&named[..1]).lines().count());
    assert!(report::overhead(&named).lines().count() > record.metrics.len());
    assert_eq!((report::svg_figures(&named).len(), report::svg_figures(&named[1..]).len()), (2, 0));
}

#[test]
fn the_page_has_a_strip_for_what_decides_with_the_canary_beside_it() {
    let record = compared();
    let charts = charts(&page(&[item("c", AnyRecord::Compare(&record), None)]));
    let strip = &charts[2];
    let names: Vec<_> = strip["data"].as_array().expect("lines").iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["plain", "gzip", "canary (CPU per request)"]);
    let blocks = strip["data"][0]["x"].as_array().map(Vec::len);
    assert_eq!(blocks, Some(BLOCKS), "those that do not count are drawn too");
}

/// The comparison with a fixed load within the curves of the sweeps, where its variants were measured.
fn at_fixed_load() -> model::CompareRecord {
    let mut record = compared();
    record.runs.iter_mut().for_each(|of| of.load = CompareLoad::Fixed);
    record
}

#[test]
fn curves_of_sweeps_are_one_figure_with_knees_and_the_fixed_load_of_the_comparison() {
    let (sweeps, comparison) = (arms(), at_fixed_load());
    let both = Named { name: "both", record: AnyRecord::Sweeps(&sweeps) };
    let named = [both, Named { name: "c", record: AnyRecord::Compare(&comparison) }];
    let figures = report::svg_figures(&named);
    assert_eq!(
        figures.iter().map(|figure| figure.file).collect::<Vec<_>>(),
        ["forest.svg", "blocks.svg", "curves.svg"]
    );
    let curves = &figures[2].svg;
    for part in
        [">nginx workers=4<", ">apache mpm=event<", ">p99 of the response time<", ">fixed load 1,400/s<", ">plain<"]
    {
        assert!(curves.contains(part), "{part} is not in {curves}");
    }
    // Too few requests are behind the p99 of the second at its knee.
    assert_eq!(curves.matches("stroke-width=\"1.8\"").count(), 2 * (2 + 1), "two strokes of each knee in each panel");
    assert!(!curves.contains("NaN") && !curves.contains("inf"));
    let [alone] = &report::svg_figures(&[both])[..] else { panic!("only curves") };
    assert!(!alone.svg.contains("fixed load"), "there is no comparison");
    let several = [named[1], named[1]];
    assert!(report::svg_figures(&several).is_empty(), "names of figures are fixed");
}

#[test]
fn the_page_marks_the_fixed_load_and_the_knees_on_the_curves_of_sweeps() {
    let (sweep, comparison) = (valid_sweep(), at_fixed_load());
    let items = [item("s", AnyRecord::Sweep(&sweep), None), item("c", AnyRecord::Compare(&comparison), None)];
    let both = page(&items);
    let drawn = charts(&both);
    let name = |trace: &serde_json::Value| trace["name"].as_str().unwrap_or_default().to_owned();
    let titles = ["Goodput by connections", "p99 of the response time by goodput"];
    assert!(titles.iter().all(|title| both.contains(title)), "one sweep is drawn beside a comparison");
    let by_goodput = drawn[3]["data"].as_array().expect("curves");
    let stars: Vec<String> = by_goodput.iter().filter(|trace| trace["marker"]["symbol"] == "star").map(name).collect();
    assert_eq!(stars, ["plain at 1,400/s", "gzip at 1,400/s"]);
    let crosses = |chart: &serde_json::Value| {
        let traces = chart["data"].as_array().expect("curves");
        traces.iter().filter(|trace| trace["marker"]["symbol"] == "x").count()
    };
    assert_eq!([crosses(&drawn[0]), crosses(&drawn[3])], [1, 1]);
    let fixed = |chart: &serde_json::Value, at: &str| {
        chart["layout"]["shapes"].as_array().expect("lines").iter().any(|line| line[at] == 1_400.0)
    };
    assert!(fixed(&drawn[0], "y0") && fixed(&drawn[3], "x0"));
}
