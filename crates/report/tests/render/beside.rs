//! What was seen beside the load, drawn over time and over load.

use crate::fixtures::{bound_run, valid_run, valid_sweep};
use crate::page::{in_order, names};
use crate::pages::{charts, of_run, of_sweep, with_seconds};
use model::{ObservedSecond, RunRecord, SeriesFigure, SeriesObserved};
use serde_json::{Value, json};

/// The chart under a heading.
#[track_caller]
fn titled(page: &str, title: &str) -> Value {
    let titles = page.split("<figure>").skip(1).map(|rest| rest.split("</h").next().unwrap_or_default());
    let at = titles.into_iter().position(|heading| heading.ends_with(&format!(">{title}"))).expect("it is drawn");
    charts(page).swap_remove(at)
}

#[test]
fn layers_of_cpu_add_up_to_what_the_machine_was_busy_with() {
    let page = of_run(&with_seconds(valid_run()));
    let cpu = titled(&page, "CPU by process");
    let layers =
        ["server: nginx", "server: php-fpm", "mariadbd: mariadbd", "load generator", "all others", "interrupts"];
    // With more interrupts than there is room for nothing is left for the rest.
    assert_eq!(names(&cpu)[..6], layers);
    assert_eq!(names(&cpu)[6..], ["machine", "CPUs that the server may use"]);
    assert_eq!(cpu["data"][7]["y"], json!([4.0, 4.0]), "the ceiling, which belongs to no layer");
    let value = |trace: usize, at: usize| cpu["data"][trace]["y"][at].as_f64().expect("a number");
    for at in 0..5 {
        let sum: f64 = (0..6).map(|layer| value(layer, at)).sum();
        assert!((sum - value(6, at)).abs() < 1e-3, "{sum} in second {at}: {cpu:#}");
    }
    assert_eq!(value(4, 3), 0.0, "the others were not looked at any more");
    let stacked = cpu["data"].as_array().expect("traces").iter().map(|trace| trace["stackgroup"].is_string());
    assert_eq!(stacked.collect::<Vec<_>>(), [true, true, true, true, true, true, false, false]);
    let mut colours: Vec<String> =
        cpu["data"].as_array().expect("traces").iter().map(|trace| trace["line"]["color"].to_string()).collect();
    colours.sort();
    colours.dedup();
    assert_eq!(colours.len(), 8, "no two are alike: {colours:?}");
}

#[test]
fn threads_are_strips_that_those_of_the_client_stand_below() {
    let strips = titled(&of_run(&with_seconds(valid_run())), "Busy threads");
    let strips = &strips["data"][0];
    assert_eq!(strips["y"], json!(["load generator: load-0", "nginx (72)"]), "from below");
    assert_eq!(strips["x"], json!([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), "edges of the seconds");
    assert_eq!(strips["z"][1], json!([0.9, 0.9, null, 0.2, null]), "no colour where nobody looked");
    assert_eq!((&strips["zmin"], &strips["zmax"]), (&json!(0.0), &json!(1.0)));
}

#[test]
fn memory_sockets_and_network_are_told_by_name() {
    let page = of_run(&with_seconds(valid_run()));
    assert_eq!(names(&titled(&page, "Memory")), ["server: nginx, RSS", "server: nginx, PSS"]);
    let sockets = titled(&page, "Sockets");
    assert_eq!(names(&sockets), ["established", "time-wait", "accept queue"]);
    assert_eq!((&sockets["data"][1]["x"], &sockets["data"][1]["y"]), (&json!([3.0, 4.0]), &json!([5.0, 3.0])));
    assert!(page.contains("the accept queue has room for 511"));
    assert_eq!(
        names(&titled(&page, "Network")),
        ["loopback", "eth0 sent", "eth0 received"],
        "what moves nothing is no line"
    );
}

#[test]
fn cpu_of_a_sweep_is_drawn_by_process_in_cores_and_for_each_request() {
    let page = of_sweep(&valid_sweep());
    let cpu = titled(&page, "CPU by process, by connections");
    assert_eq!(names(&cpu)[..3], ["server: nginx", "server: php-fpm", "mariadbd: mariadbd"]);
    assert_eq!(names(&cpu)[names(&cpu).len() - 2..], ["machine", "CPUs that the server may use"]);
    assert_eq!(cpu["data"][0]["y"].as_array().map(Vec::len), Some(11));
    let each = titled(&page, "CPU per request by connections");
    assert_eq!(names(&each), ["server: nginx", "server: php-fpm", "mariadbd: mariadbd"]);
    assert_eq!(each["layout"]["yaxis"]["ticksuffix"], " µs");
}

#[test]
fn why_a_chart_is_not_drawn_stands_in_its_place_once() {
    // A server that is elsewhere: no threads, memory or sockets of it, for one reason.
    let mut record = with_seconds(bound_run());
    let observed = record.observed.as_mut().expect("it was observed");
    observed.series.retain(|series| matches!(series.figure, SeriesFigure::SentBytesPerS | SeriesFigure::CpuCores));
    observed.pools.clear();
    for part in ["server", "sockets", "pools"] {
        observed.unavailable.insert(part.to_owned(), "the server is not on this machine".to_owned());
    }
    let page = of_run(&record);
    let reason =
        "<strong>Busy threads, Worker pools, Sockets, Memory</strong> not drawn: the server is not on this machine";
    in_order(&page, &["<h3>CPU by process</h3>", reason, "<h3>Network</h3>"]);
    assert_eq!(page.matches("not drawn:").count(), 1);

    // A window of one second has no curves.
    let mut record = valid_run();
    record.observed.as_mut().expect("it was observed").seconds.truncate(1);
    let page = of_run(&record);
    assert_eq!(page.matches("not drawn: there are fewer than two seconds to draw").count(), 1);
}

#[test]
fn a_page_of_an_hour_is_no_larger_than_allowed() {
    let page = of_run(&an_hour());
    assert!(page.len() < 6_000_000, "{}", page.len());
    assert!(page.contains("CPUs kept busy of the 4 the machine has, means of 6 s, in layers"));
    let cpu = titled(&page, "CPU by process");
    assert_eq!(cpu["data"][0]["x"].as_array().map(Vec::len), Some(600));
}

/// A run of 3,600 seconds with as much beside it as is kept.
fn an_hour() -> RunRecord {
    let mut record = with_seconds(valid_run());
    let first = record.seconds[0];
    let begin = |i: u64| i * first.length_ns;
    record.seconds = (0..3_600).map(|i| model::Second { from_ns: begin(i), good: 30_000 + i, ..first }).collect();
    let observed = record.observed.as_mut().expect("it was observed");
    let second = observed.seconds[0].clone();
    observed.seconds = (0..3_600).map(|i| ObservedSecond { from_ns: begin(i), ..second.clone() }).collect();
    let noise = |i: usize| Some(((i * 7_919) % 10_007) as f32 / 10_007.0);
    for series in &mut observed.series {
        series.values = (0..3_600).map(noise).collect();
    }
    observed.series.extend((0..16).map(|tid| SeriesObserved {
        figure: SeriesFigure::ThreadBusy,
        of: format!("worker ({tid})"),
        values: (0..3_600).map(noise).collect(),
    }));
    record
}
