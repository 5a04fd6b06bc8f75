//! The HTML page: what is in it, and what must not be.

use crate::fixtures::{arms, bound_run, bound_sweep, invalid_run, valid_run, valid_sweep};
use crate::pages::{charts, distributions, item, of_run, of_sweep, page, profiled, with_seconds};
use model::{PhpClock, Redacted, SeriesFigure, SeriesObserved, SizeBand};
use report::Named;
use report::flame::{self, Scale};
use report::html::{Graphs, Item};
use report::record::AnyRecord;
use report::terminal::{self, Style};
use serde_json::Value;

const HOSTILE: &str = r#"http://h/<script>alert(1)</script>"'&amp;</title>|`*"#;
/// A page of twelve points and its script.
const SIZE_MAX: usize = 700_000;

#[test]
fn a_run_has_its_parts_in_order() {
    let page = of_run(&with_seconds(invalid_run()));
    in_order(
        &page,
        &[
            "<title>http://127.0.0.1:8080/ - plimsoll</title>",
            r#"<div class="answer verdict invalid">"#,
            "do not use these numbers (CL-06, ER-01)",
            r#"<div class="answer number"><dt>goodput</dt>"#,
            r#"<div class="answer next"><dt>next</dt><dd>Measure again: "#,
            "<h2>Responses per second</h2>",
            "<h2>Response time</h2>",
            "<h2>How much</h2>",
            "<h3>Latency by percentile</h3>",
            "<h3>Latency</h3>",
            "&#62;= 2.00 s",
            "<h3>Requests</h3>",
            "status 503",
            "failure first_byte.timeout",
            "<h2>What limits it</h2>",
            "<h3>CPU by process</h3><p>CPUs kept busy of the 4 the machine has, each second, in layers</p>",
            "<h3>Busy threads</h3>",
            "<strong>Worker pools</strong> not drawn: nothing of it was seen",
            "<h3>Sockets</h3><p>of the target&#39;s port at the server&#39;s end",
            "<h3>Memory</h3>",
            "<h3>Network</h3>",
            "<h3>CPU and memory</h3>",
            r#"<th scope="row">server: nginx</th><td>3</td><td>0.23</td>"#,
            "<h3>Sockets</h3>",
            r#"<th scope="row">time-wait</th><td>5</td><td>0</td>"#,
            "<h2>May it be believed?</h2>",
            "invalid CL-06",
            "bound ER-05",
            "<h2>How it was measured</h2>",
            "<h3>Plan</h3>",
            "<h3>Environment</h3>",
            "Example CPU (4 usable)",
            "<pre>plimsoll run http://127.0.0.1:8080/</pre>",
            r#"<a href="latency.hlog">"#,
        ],
    );
    let charts = charts(&page);
    assert_eq!(charts.len(), 8);
    assert_eq!(names(&charts[0]), ["good", "failed"]);
    assert_eq!(names(&charts[1]), ["p50", "p99"]);
    for (i, chart) in charts.iter().enumerate().filter(|(i, _)| *i != 2) {
        assert_eq!(chart["layout"]["xaxis"]["range"], serde_json::json!([0.0, 5.05]), "one axis for all, and {i}");
    }
    assert_eq!(page.matches(" data-axis=\"time\">").count(), 7);
    assert_eq!(charts[3]["data"][0]["x"], charts[0]["data"][0]["x"]);
    assert_eq!(names(&charts[2]), ["response time", "service time"]);
    // Of 1,000,000 values 100 or more, and less than a bucket, lie beyond the last point.
    let furthest = charts[2]["data"][0]["x"].as_array().and_then(|x| x.last()).and_then(Value::as_f64);
    assert!(furthest.is_some_and(|x| (1_000.0..=10_000.1).contains(&x)), "{furthest:?}");
}

/// Six notes and a paragraph of rules that were not checked stood above the number.
#[test]
fn nothing_but_the_answers_and_a_picture_stands_before_what_is_folded() {
    let mut record = with_seconds(invalid_run());
    record.verdict.unchecked.push("SV-02".to_owned());
    let page = of_run(&record);
    let (first, rest) = page.split_once("<details").expect("parts that are folded");
    assert!(!first.contains("class=\"findings\"") && !first.contains("Not checked"), "{first}");
    assert!(rest.contains("class=\"findings\"") && rest.contains("<h3>Not checked</h3>"), "they are still told");
    assert!(!page.contains("<details class=\"part\" open"), "and folded");
}

#[test]
fn a_sweep_has_its_parts_in_order() {
    let page = of_sweep(&valid_sweep());
    in_order(
        &page,
        &[
            r#"<div class="answer verdict valid">"#,
            "peak goodput",
            "3,996/s at 4 connections",
            "<h2>Goodput by connections</h2>",
            "<h3>Response time by connections</h3>",
            "<h3>Points</h3>",
            r#"<th scope="row">1,024</th>"#,
            "<h3>CPU by process, by connections</h3>",
            "<h3>CPU per request by connections</h3>",
            "<h3>Plan</h3>",
            r#"<a href="points/">"#,
        ],
    );
    let charts = charts(&page);
    assert_eq!(charts.len(), 4);
    assert_eq!(names(&charts[0]), ["generator busy (right)", "pool model", "each iteration", "goodput"]);
    let marks: Vec<_> =
        charts[0]["layout"]["annotations"].as_array().expect("marks").iter().map(|m| &m["text"]).collect();
    assert_eq!(marks, ["knee 4.2", "peak 4", "falls beyond 32"]);
    let shapes = charts[0]["layout"]["shapes"].as_array().expect("lines and bands");
    let bands: Vec<_> = shapes.iter().filter(|shape| shape["type"] == "rect").collect();
    assert_eq!((&bands[0]["x0"], &bands[0]["x1"], &bands[0]["yref"]), (&4.04.into(), &4.41.into(), &"paper".into()));
    let plateau = [&bands[1]["x0"], &bands[1]["x1"], &bands[1]["y0"], &bands[1]["y1"]].map(|it| it.as_f64());
    assert_eq!(plateau, [4.2, 1024.0, 3962.0, 4041.0].map(Some));
    assert_eq!(charts[0]["layout"]["annotations"][1]["xanchor"], "left");
    // Rule LD-04 keeps p99 of the loads below 4 back, and so does the chart.
    assert_eq!(charts[1]["data"][0]["x"].as_array().map(Vec::len), Some(11));
    assert_eq!(charts[1]["data"][1]["x"][0], 4.0);
    assert!(!charts[1]["layout"]["xaxis"]["tickvals"].as_array().expect("ticks").is_empty());
}

#[test]
fn no_rule_of_the_style_sheet_stands_within_the_selector_of_another() {
    let page = of_run(&valid_run());
    let (_, style) = page.split_once("<style>").expect("a style sheet");
    let (style, _) = style.split_once("</style>").expect("its end");
    let selectors = style.lines().filter(|line| !line.starts_with("  ") && !line.starts_with(['/', '@', '}']));
    for line in selectors {
        assert!(line.contains('{') && !line.contains("/*"), "{line}");
    }
    assert_eq!(style.matches('{').count(), style.matches('}').count());
}

#[test]
fn curves_that_share_a_chart_differ_in_more_than_colour() {
    let of = |chart: &Value, at: &str| -> Vec<Value> {
        chart["data"]
            .as_array()
            .expect("curves")
            .iter()
            .map(|curve| curve.pointer(at).cloned().unwrap_or_default())
            .collect()
    };
    let mut drawn = charts(&of_run(&with_seconds(invalid_run())));
    drawn.truncate(2);
    drawn.push(charts(&of_sweep(&valid_sweep())).remove(1));
    for chart in &drawn {
        for at in ["/line/dash", "/marker/symbol"] {
            let [first, second] = &of(chart, at)[..] else { panic!("{:?}", names(chart)) };
            assert_ne!(first, second, "{at} of {:?}", names(chart));
        }
    }
}

#[test]
fn series_of_a_hostile_record_that_begin_out_of_order_overflow_nothing() {
    let mut record = with_seconds(valid_run());
    record.seconds.reverse();
    record.requests.failures = (0..300).map(|i| (format!("f{i}"), 1 << 56)).collect();
    assert!(of_run(&record).contains("<h2>Responses per second</h2>"));
    assert!(
        terminal::run(&record, &Style { width: 400, colour: false, verbose: true })
            .contains("18,446,744,073,709,551,615 failed")
    );
}

#[test]
fn one_byte_and_one_connection_are_no_plural() {
    let mut record = valid_run();
    record.plan.requests[0].body_bytes = 1;
    record.plan.requests[0].contract.size_bytes = Some(SizeBand { min: 1, max: 1 });
    let page = of_run(&record);
    assert!(page.contains("1 byte of body") && page.contains(", 1 byte (") && !page.contains("1 bytes"));
}

#[test]
fn curves_of_sockets_and_interfaces_that_are_left_out_are_counted() {
    let mut record = with_seconds(valid_run());
    let observed = record.observed.as_mut().expect("it was observed");
    let like = |figure: SeriesFigure, n: usize| {
        let series = (0..n).map(move |i| SeriesObserved { figure, of: format!("x{i}"), values: vec![Some(9.0); 5] });
        series.collect::<Vec<_>>()
    };
    observed.series.retain(|series| {
        ![SeriesFigure::Sockets, SeriesFigure::SentBytesPerS, SeriesFigure::ReceivedBytesPerS].contains(&series.figure)
    });
    observed.series.extend([like(SeriesFigure::Sockets, 8), like(SeriesFigure::SentBytesPerS, 5)].concat());
    let page = of_run(&record);
    assert!(page.contains("; 2 more are left out") && page.contains("; 1 more is left out"));
    assert!(!of_run(&with_seconds(valid_run())).contains("more are left out"));
}

#[test]
fn a_mark_at_the_right_edge_stands_inside() {
    let mut record = valid_sweep();
    let last = record.curve.last().expect("points").load;
    record.peak.as_mut().expect("a peak").load = last;
    assert_eq!(charts(&of_sweep(&record))[0]["layout"]["annotations"][1]["xanchor"], "right");
}

#[test]
fn what_is_unknown_makes_no_empty_chart() {
    // One second, no histogram: neither a timeline nor a distribution.
    let mut record = valid_run();
    record.observed.as_mut().expect("it was observed").seconds.truncate(1);
    let page = page(&[item("r", AnyRecord::Run(&record), None)]);
    assert_eq!(charts(&page).len(), 0);
    assert!(!page.contains("id=\"plotly\"") && page.contains("<h3>Latency</h3>"));
    let mut empty = bound_sweep();
    (empty.points, empty.curve, empty.peak) = (Vec::new(), Vec::new(), None);
    assert_eq!(charts(&of_sweep(&empty)).len(), 0);
}

#[test]
fn what_was_seen_beside_the_load_is_in_tables() {
    let page = of_run(&with_seconds(valid_run()));
    let cells = ["mariadbd: mariadbd", "all other processes (cron)", "monitoring, 2.00 ms a sample"];
    in_order(&page, &cells);
    in_order(&page, &["<h3>Busiest threads", "nginx (72)", "<h3>Counted by the kernel", "tcp RetransSegs"]);
    in_order(&page, &["<h3>Levels in the kernel", "sockstat tcp_time_wait", "<h3>Machine and server", "cpu cores"]);
    assert!(!page.contains("tcp ListenDrops"), "it has not grown");
    assert!(page.contains("no IOMMU is in use") && page.contains("mariadbd: 0.040 CPUs (mariadbd)"));
    assert!(of_sweep(&valid_sweep()).contains("<h3>Machine and server"));
}

#[test]
fn what_is_not_known_of_the_server_is_told_in_its_place() {
    let page = of_run(&with_seconds(bound_run()));
    in_order(
        &page,
        &["CPU not known: the server is not on this machine", "<h3>CPU by process</h3>", "of the server not known"],
    );
    // A record from before anything was observed has neither chart nor tables.
    let mut old = with_seconds(bound_run());
    old.observed = None;
    let page = of_run(&old);
    assert!(!page.contains("<h3>CPU") && !page.contains("<h3>Sockets"));
    let mut sweep = valid_sweep();
    for (point, run) in sweep.curve.iter_mut().zip(&mut sweep.points) {
        (point.server_cpu_cores, point.machine_busy_mean, run.observed) = (None, None, None);
    }
    sweep.limiter = None;
    let page = of_sweep(&sweep);
    assert!(!page.contains("CPU by process") && !page.contains("server CPUs"));
}

#[test]
fn several_results_stand_side_by_side() {
    let (run, sweep, other) = (with_seconds(valid_run()), valid_sweep(), bound_sweep());
    let found = distributions();
    let page = page(&[
        item("first", AnyRecord::Sweep(&sweep), None),
        item("second", AnyRecord::Sweep(&other), None),
        item("third", AnyRecord::Run(&run), Some(&found)),
    ]);
    in_order(
        &page,
        &[
            "3 results side by side",
            "<dt>numbers</dt><dd>first: peak 3,996/s; second: peak &#62;= 2,850/s; third: goodput 33,333/s",
            "<h3>Sweeps</h3>",
            "<th scope=\"row\">second</th><td>bound</td><td>&#62;= 2,850/s</td>",
            "<h3>Runs</h3>",
            "<th scope=\"row\">third</th>",
            "no paired comparison",
        ],
    );
    let charts = charts(&page);
    assert_eq!(names(&charts[0]), ["first", "second"]);
    // Rule LD-04 keeps every p99 of the second back.
    assert_eq!(names(&charts[1]), ["first"]);
    assert!(page.contains("nothing to draw of second</p>"));
    assert_eq!(charts.len(), 4 + 4 + 4 + 8, "four overlaid, and those of each result");
}

#[test]
fn arms_share_four_charts_and_have_a_section_each() {
    let record = arms();
    let page = page(&[item("both", AnyRecord::Sweeps(&record), None)]);
    in_order(
        &page,
        &[
            "<title>2 results side by side",
            "<h2>Goodput by connections</h2>",
            "large marks are peaks, upright lines are knees",
            "<h3>p99 of the response time by connections</h3>",
            "<h3>Server CPU by connections</h3>",
            "<h3>Sweeps</h3>",
            r#"<th scope="col">arm</th>"#,
            r#"<th scope="row">nginx workers=4</th><td>valid</td><td>3,996/s</td><td>4</td><td>4.2</td>"#,
            // 1.37 CPUs, of which 0.04 of a companion, for 3,996 good responses a second
            "<td>3.00 ms at 4</td><td>3.00 ms</td><td>343 µs</td>",
            r#"<th scope="row">apache mpm=event</th><td>bound</td>"#,
            "<dt>limiter</dt><dd>nginx workers=4: worker-pool-limited (confirmed): all 4 php-fpm workers",
            "<dt>limiter</dt><dd>apache mpm=event: single-thread-limited (low confidence): one thread (apache2)",
            "Side by side, measured one after the other",
            "<h1>nginx workers=4</h1>",
            r#"<a href="arms/1-nginx-workers-4/run.json">"#,
            "<h1>apache mpm=event</h1>",
            "bound LD-04",
        ],
    );
    let charts = charts(&page);
    assert_eq!(charts.len(), 4 + 4 + 4);
    assert_eq!(names(&charts[3]), ["nginx workers=4", "apache mpm=event"], "p99 by goodput");
    for (i, chart) in charts.iter().take(3).enumerate() {
        assert_eq!(names(chart), ["nginx workers=4", "apache mpm=event"]);
        let (first, second) = (&chart["data"][0], &chart["data"][1]);
        for way in ["/line/color", "/line/dash", "/marker/symbol"] {
            assert!(first.pointer(way).is_some() && first.pointer(way) != second.pointer(way), "{way}");
        }
        assert_eq!(chart["layout"]["shapes"].as_array().map(Vec::len), Some(2), "a line at each knee");
        let large = |arm: &Value| {
            let sizes = arm["marker"]["size"].as_array().expect("a size each").iter().map(Value::as_u64);
            let points = sizes.zip(arm["x"].as_array().expect("loads"));
            points.max_by_key(|(size, _)| *size).map(|(_, load)| load.clone()).expect("points")
        };
        assert_eq!(large(first), 4.0, "chart {i}");
        // Its p99 at the peak rests on too few requests, so that it has no point there.
        assert!(i == 1 || large(second) == 2.0, "chart {i}");
    }
    let texts = charts[0]["layout"]["annotations"].as_array().expect("marks").iter().map(|mark| &mark["text"]);
    assert_eq!(texts.collect::<Vec<_>>(), ["knee 4.2", "peak 4", "knee 2.1", "peak 2"]);
}

#[test]
fn arms_of_another_load_share_no_chart() {
    let mut record = arms();
    record.sweeps[1].over = "rate".into();
    let page = page(&[item("both", AnyRecord::Sweeps(&record), None)]);
    assert_eq!(charts(&page).len(), 4 + 4);
    assert!(page.contains("Not to be held against nginx workers=4") && page.contains("closed loop over offered rate"));
}

#[test]
fn hostile_text_stays_text() {
    let mut run = with_seconds(invalid_run());
    run.plan.target.url = HOSTILE.into();
    run.plan.requests[0].headers = vec![("X-<b>".into(), HOSTILE.into())];
    run.environment.command.push(HOSTILE.into());
    run.verdict.findings[0].message = HOSTILE.into();
    run.requests.failures.insert(HOSTILE.into(), 3);
    let found = distributions();
    let (first, second) =
        (item(HOSTILE, AnyRecord::Run(&run), Some(&found)), item("b", AnyRecord::Run(&run), Some(&found)));
    let both = page(&[first, second]);
    let rest = both.replace(&script(&both), "");
    assert!(!rest.contains("<script>alert") && !rest.contains("</title>|") && !rest.contains("X-<b>"));
    assert_eq!(rest.matches("</script>").count(), charts(&both).len() + 2);
    let name = charts(&both)[0]["data"][0]["name"].as_str().expect("a name").to_owned();
    assert!(name.contains("alert(1)") && !name.contains(['<', '&']), "{name}");
    let mut several = arms();
    several.sweeps[0].arm = Some(HOSTILE.into());
    let overlaid = page(&[item("c", AnyRecord::Sweeps(&several), None)]);
    assert!(!overlaid.replace(&script(&overlaid), "").contains("<script>alert"));
    let name = charts(&overlaid)[0]["data"][0]["name"].as_str().expect("a name").to_owned();
    assert!(name.contains("alert(1)") && !name.contains(['<', '&']), "{name}");
    let markdown = report::markdown(&[first.named]);
    assert!(!markdown.contains("<script>") && markdown.lines().count() == 8, "{markdown}");
    let csv = report::csv(&[first.named]);
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let row = rows.records().next().expect("a row").expect("as many cells as names");
    assert_eq!((&row[0], &row[2]), (HOSTILE, HOSTILE));
}

#[test]
fn nothing_is_fetched_and_the_page_is_small() {
    for page in [of_run(&with_seconds(invalid_run())), of_sweep(&valid_sweep())] {
        assert!(page.len() < SIZE_MAX, "{}", page.len());
        assert!(page.contains("default-src 'none'"));
        let rest = page.replace(&script(&page), "");
        for reference in ["src=", "<link", "@import", "url(", "srcset", "<iframe", "<img", "fetch(", "import("] {
            assert!(!rest.contains(reference), "{reference}");
        }
        for link in rest.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(["#results", "run.json", "events.jsonl", "latency.hlog", "points/"].contains(&link), "{link}");
        }
    }
}

#[test]
fn csv_is_unrounded_and_has_a_row_for_each_point() {
    let (run, sweep) = (valid_run(), valid_sweep());
    let named =
        [Named { name: "r", record: AnyRecord::Run(&run) }, Named { name: "s", record: AnyRecord::Sweep(&sweep) }];
    let csv = report::csv(&named);
    assert_eq!(csv.lines().count(), 1 + 1 + 11);
    assert!(csv.starts_with("result,verdict,url,started,load,load_unit,goodput_per_s,"), "{csv}");
    assert!(
        csv.contains("\nr,valid,http://127.0.0.1:8080/,2026-01-02T03:04:05Z,64,connections,33333.333333333336,"),
        "{csv}"
    );
    assert!(csv.contains("\ns,valid,http://127.0.0.1:8080/,2026-01-02T03:04:05Z,1024,connections,2976,"), "{csv}");
    assert!(csv.lines().nth(1).is_some_and(|row| row.ends_with(",1.28,37200,106000000,0.535,0,")), "{csv}");
    let several = arms();
    let csv = report::csv(&[Named { name: "both", record: AnyRecord::Sweeps(&several) }]);
    assert_eq!(csv.lines().count(), 1 + 11 + 9);
    assert!(csv.lines().next().is_some_and(|names| names.ends_with(",arm")), "{csv}");
    assert_eq!(csv.lines().filter(|row| row.starts_with("both,") && row.ends_with(",apache mpm=event")).count(), 9);
    let markdown = report::markdown(&named);
    assert!(markdown.contains("| 1,024 |") && markdown.contains("| server CPUs |"), "{markdown}");
    assert!(markdown.contains("| s | valid | 3,996/s | 4 | 4.2 |"), "{markdown}");
    assert!(markdown.contains("\n### s\n\n- peak goodput: 3,996/s at 4 connections\n"), "{markdown}");
    assert!(markdown.contains("\n- load: closed loop, 11 loads"), "{markdown}");
}

#[test]
fn a_profile_has_its_graph_in_a_frame_and_its_figures_in_tables() {
    let record = profiled(valid_run());
    let drawn = |folded, title| flame::graph(folded, &Redacted::text(title), Scale::Samples);
    let graph = [Graphs {
        running: drawn("nginx;a&b 3\n", "CPU time"),
        waiting: drawn("php;poll 1\n", "waits"),
        php: drawn("index.php;wpdb::query 2\n", "PHP functions"),
        ..Graphs::default()
    }];
    let running = graph[0].running.as_deref().expect("it was drawn");
    let height = running.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("it has one");
    let page = page(&[Item { graphs: &graph, ..item("r", AnyRecord::Run(&record), None) }]);
    in_order(
        &page,
        &[
            "server (nginx) 75 %, 30.0 µs per good response, 100 % of it known by function",
            "others (cron) 25 %",
            &format!(
                "sandbox=\"allow-scripts\" style=\"aspect-ratio: 1200 / {height}\" srcdoc=\"&#60;!doctype html&#62;"
            ),
            &format!("&#60;svg version=&#34;1.1&#34; width=&#34;1200&#34; height=&#34;{height}&#34; "),
            "&#60;title&#62;a&#38;amp;b (3 samples, 100.00%)&#60;/title&#62;",
            "<h3>PHP functions</h3>",
            "wpdb::query (2 samples, 100.00%)",
            "<h3>Where the threads waited</h3>",
            "CPU time by process",
            r#"<th scope="row">nginx (server)</th><td>2</td><td>75 %</td>"#,
            "CPU time by function",
            r#"<th scope="row">send (kernel)</th><td>nginx</td><td>75 %</td>"#,
            r#"<a href="profile.svg">"#,
            r#"<a href="off-cpu-stacks.svg">"#,
            r#"<a href="php.svg">"#,
        ],
    );
}

#[test]
fn a_graph_of_totals_is_not_said_to_be_of_each_good_response() {
    let record = profiled(valid_run());
    let title = Redacted::text("PHP functions");
    let drawn = |us| flame::php("index.php;wpdb::query 2\n", &title, PhpClock::Cpu, 10_000.0, us);
    let about = |us| {
        let graph = [Graphs { php: drawn(us), ..Graphs::default() }];
        let page = page(&[Item { graphs: &graph, ..item("r", AnyRecord::Run(&record), None) }]);
        let (_, section) = page.split_once("<h3>PHP functions</h3>").expect("it is drawn");
        section.split_once("<iframe").expect("the graph").0.to_owned()
    };
    assert!(about(Some(2.0)).contains("in what it called, for each good response; PHP&#39;s own"));
    assert!(about(None).contains("in what it called; PHP&#39;s own"));
}

#[test]
fn what_is_no_graph_of_ours_is_left_out_of_the_page() {
    let record = profiled(valid_run());
    let foreign = "<svg width=\"9\" height=\"9\"><script>alert(1)</script></svg>".to_owned();
    let graph = [Graphs { running: Some(foreign), ..Graphs::default() }];
    let page = page(&[Item { graphs: &graph, ..item("r", AnyRecord::Run(&record), None) }]);
    assert!(!page.contains("<iframe") && !page.contains("alert(1)"));
}

/// With a profile: nginx, and something that has nothing to do with the load.
pub(crate) fn names(chart: &Value) -> Vec<&str> {
    let curves = chart["data"].as_array().expect("curves").iter().filter(|curve| curve["showlegend"] != false);
    curves.map(|curve| curve["name"].as_str().expect("a name")).collect()
}

/// Plotly's own script, compressed, which is not ours to judge.
fn script(page: &str) -> String {
    const TAG: &str = r#"<script type="text/plain" id="plotly">"#;
    let begin = page.find(TAG).expect("the page has the script");
    let end = page[begin..].find("</script>").expect("it ends");
    page[begin + TAG.len()..begin + end].to_owned()
}

#[track_caller]
pub(crate) fn in_order(page: &str, parts: &[&str]) {
    // On which side a column begins is left to its words.
    let page = page.replace(" class=\"words\"", "");
    let mut rest = page.as_str();
    for part in parts {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part:?} is missing or out of place")).1;
    }
}
