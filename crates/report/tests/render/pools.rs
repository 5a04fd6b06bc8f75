//! Pools of workers in the terminal and in the page, and what they waited for as a graph.

use crate::fixtures::{valid_run, valid_sweep};
use crate::golden::WIDE;
use crate::page::{in_order, names};
use crate::pages::{charts, of_run, of_sweep, with_seconds};
use model::{Observed, PoolObserved, RunRecord, SweepRecord, WaitObserved};
use report::{off_cpu, terminal};

const FPM: &str = "php-fpm: pool www";

/// Five children of php-fpm, hardly ever free, that wait for the database more than they run.
fn fpm(occupancy: f64) -> PoolObserved {
    let wait = |on: &str, syscall: &str, share| WaitObserved {
        thread: "php-fpm8.2".to_owned(),
        state: "S".to_owned(),
        syscall: syscall.to_owned(),
        on: on.to_owned(),
        share,
    };
    PoolObserved {
        name: FPM.to_owned(),
        program: "php-fpm8.2".to_owned(),
        workers_mean: 5.0,
        workers_max: 5,
        samples: 1_500,
        occupancy,
        running: occupancy / 4.0,
        runnable: Some(0.02),
        idle: 1.0 - occupancy,
        blocked: [("mariadbd".to_owned(), occupancy / 2.0), ("client nginx".to_owned(), 0.004)].into(),
        occupancy_max: occupancy,
        waits: vec![wait("mariadbd", "poll", occupancy / 2.0), wait("client nginx", "read", 0.004)],
        ..PoolObserved::default()
    }
}

fn nginx() -> PoolObserved {
    let (name, program) = ("nginx: worker process".to_owned(), "nginx".to_owned());
    PoolObserved { name, program, workers_max: 2, occupancy: 0.1, idle: 0.9, runnable: None, ..PoolObserved::default() }
}

fn with_pools(observed: &mut Option<Observed>, occupancy: f64) {
    let observed = observed.as_mut().expect("it was observed");
    observed.pools = vec![fpm(occupancy), nginx()];
    for second in &mut observed.seconds {
        second.pools = [(FPM.to_owned(), occupancy), ("nginx: worker process".to_owned(), 0.1)].into();
    }
}

fn run() -> RunRecord {
    let mut record = with_seconds(valid_run());
    with_pools(&mut record.observed, 0.96);
    record
}

fn sweep() -> SweepRecord {
    let mut record = valid_sweep();
    for (point, run) in record.curve.iter_mut().zip(&mut record.points) {
        let occupancy = (point.load / 8.0).min(1.0);
        with_pools(&mut run.observed, occupancy);
        point.pools = [(FPM.to_owned(), occupancy), ("idle".to_owned(), 0.001)].into();
    }
    record
}

#[test]
fn a_pool_is_a_line_once_half_of_it_is_occupied() {
    let text = terminal::run(&run(), &WIDE);
    let line =
        "workers php-fpm: pool www, 5 workers: 96 % occupied (running 24 %, waiting for mariadbd 48 %, a CPU 2.0 %)";
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(line), "{text}");
    assert!(!text.contains("nginx: worker process"), "that one has little to do: {text}");
}

#[test]
fn pools_are_a_chart_and_a_table() {
    let page = of_run(&run());
    let row = r#"<th scope="row">php-fpm: pool www</th><td>5</td><td>96 %</td><td>96 %</td><td>24 %</td><td>2.0 %</td><td>mariadbd 48 %</td>"#;
    in_order(
        &page,
        &[
            "<h3>Requests</h3>",
            "<h3>CPU by process</h3>",
            "<h3>Worker pools</h3>",
            "<h3>What the workers did</h3>",
            row,
        ],
    );
    let chart = &charts(&page)[5];
    assert_eq!(names(chart), [FPM], "the other was never occupied in its busiest second");
    assert_eq!(chart["data"][0]["y"], serde_json::json!([0.96, 0.96, 0.96, 0.96, 0.96]));
    assert_eq!(chart["data"][0]["x"], charts(&page)[3]["data"][0]["x"], "the axis of the other timelines");
    assert!(!page.contains("What the workers waited for"), "no profile was asked for");
}

/// Its threads stand for many workers: 7 % of a thread may be all of the pool.
#[test]
fn what_a_server_tells_of_its_pool_is_drawn_before_its_threads() {
    let mut record = run();
    let observed = record.observed.as_mut().expect("it was observed");
    for second in &mut observed.seconds {
        second.pools.insert("built-in server: pool".to_owned(), 1.0);
    }
    let chart = &charts(&of_run(&record))[5];
    assert_eq!(names(chart), ["built-in server: pool", FPM]);
    assert_eq!(chart["data"][0]["y"], serde_json::json!([1.0, 1.0, 1.0, 1.0, 1.0]));
}

#[test]
fn pools_of_a_sweep_are_drawn_against_load() {
    let page = of_sweep(&sweep());
    in_order(
        &page,
        &[
            "<h3>CPU by process, by connections",
            "<h3>Worker pools by connections",
            "<h3>What the workers did at the peak",
        ],
    );
    let chart = &charts(&page)[4];
    assert_eq!(names(chart), [FPM], "what is next to nothing is left out");
    assert_eq!(chart["data"][0]["y"].as_array().map(Vec::len), Some(11));
    assert!(!of_sweep(&valid_sweep()).contains("Worker pools"));
}

#[test]
fn waits_are_a_graph_where_a_profile_was_asked_for() {
    let mut record = run();
    assert_eq!(off_cpu::of_run(&record), None);
    record.profile_unavailable = Some("the kernel has no perf_event here".to_owned());
    let waits = off_cpu::of_run(&record).expect("these samples need no perf");
    // 2.4 workers at a time, for 33,333 responses a second.
    assert!(waits.folded.starts_with("php-fpm: pool www;php-fpm8.2;S;poll;mariadbd 72000\n"), "{}", waits.folded);
    assert!(waits.svg.contains("Off-CPU"));
    let page = of_run(&record);
    in_order(&page, &["<h3>What the workers waited for</h3>", "Off-CPU", r#"<a href="off-cpu.svg">"#]);
    let mut sweep = sweep();
    sweep.profile_unavailable = record.profile_unavailable;
    assert!(off_cpu::of_sweep(&sweep).is_some_and(|waits| waits.folded.lines().count() == 2));
}
