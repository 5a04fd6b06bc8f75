//! Loads from other machines, in the terminal and in the page.

use crate::capacities::bracketed;
use crate::comparisons::compared;
use crate::fixtures::{valid_run, valid_sweep};
use crate::golden::WIDE;
use crate::pages::{item, of_run, of_sweep, page};
use model::{
    AgentLoss, AgentRecord, AgentStart, AgentWindow, Bandwidth, Fingerprint, LostAgent, Quantiles, RunRecord,
    ServerHost, SourceId, Stop, Throughput,
};
use report::record::AnyRecord;
use report::{Named, terminal};

/// The third is on the machine of the first, and has a name that acts.
fn agents() -> Vec<AgentRecord> {
    let agent = |(source, name, host): (u16, &str, &str)| {
        AgentRecord::begun(&AgentStart {
            source: SourceId(source),
            name: name.to_owned(),
            host: host.to_owned(),
            cpus: 2,
            threads: 2,
            established: 8,
            offset_ns: 5,
            offset_error_ns: 100_000,
            round_trip_ns: Some(200_000),
            late_ns: 20_000 * u64::from(source),
        })
    };
    [(1, "ssh://a", "m"), (2, "ssh://b", "n"), (3, "ssh://c\u{1b}", "m")].map(agent).into()
}

/// Their loads, in one of which the first is late.
fn carried(loads: &mut [RunRecord]) {
    loads.iter_mut().for_each(|load| load.agents = agents());
    loads[1].agents[0].start_error_ns = 400_000;
}

const ORIGIN: &str = "load from 3 agents on 2 machines: ssh://a, ssh://b, ssh://c\\u001b; starts at most 560 µs apart";
const LOST: &str = "ssh://b 3.2 s after the start of its last load: it &#60;died&#62;";

fn lost() -> LostAgent {
    LostAgent { name: "ssh://b".to_owned(), at_ns: Some(3_200_000_000), why: "it <died>".to_owned() }
}

#[track_caller]
fn says(text: &str, page: &str) {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = LOST.replace("&#60;", "<").replace("&#62;", ">");
    assert!(words.contains(ORIGIN) && words.contains(&plain), "{text}");
    assert!(page.contains(ORIGIN) && page.contains(LOST), "{page}");
}

#[test]
fn sweeps_and_searches_say_where_their_loads_came_from_and_whose_loss_ended_them() {
    let mut sweep = valid_sweep();
    carried(&mut sweep.points);
    sweep.agent_lost = Some(lost());
    says(&terminal::sweep(&sweep, &WIDE), &of_sweep(&sweep));
    let mut capacity = bracketed();
    carried(&mut capacity.trials);
    capacity.agent_lost = Some(lost());
    says(&terminal::capacity(&capacity, &WIDE), &page(&[item("capacity", AnyRecord::Capacity(&capacity), None)]));
}

#[test]
fn a_comparison_says_it_in_every_form_and_one_of_stored_runs_does_not() {
    let mut comparison = compared();
    let mut loads: Vec<RunRecord> = comparison.runs.iter().map(|of| of.run.clone()).collect();
    carried(&mut loads);
    comparison.runs.iter_mut().zip(loads).for_each(|(of, load)| of.run = load);
    comparison.agent_lost = Some(lost());
    comparison.plan.iter_mut().for_each(|plan| plan.without_canary = true);
    let record = AnyRecord::Compare(&comparison);
    let text = terminal::compare(&comparison, &WIDE);
    says(&text, &page(&[item("comparison", record, None)]));
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("; no canary, as this machine has no part"));
    let markdown = report::markdown(&[Named { name: "c", record }]);
    assert!(markdown.contains("\n- agents: load from 3 agents on 2 machines: ssh://a"), "{markdown}");
    comparison.plan = None;
    assert!(!terminal::compare(&comparison, &WIDE).contains("3 agents"));
}

#[test]
fn the_page_of_a_run_says_it_too() {
    let run = RunRecord { agents: agents()[..1].to_vec(), ..valid_run() };
    assert!(of_run(&run).contains("load from 1 agent on 1 machine: ssh://a<"));
    assert!(!of_run(&valid_run()).contains("load from 1 agent"), "the load came from the machine itself");
}

/// A run that had gone on to its end was told to be stopped before, and page and Markdown had not a word of the loss.
#[test]
fn a_lost_agent_of_a_run_is_told_in_every_form_and_a_load_that_ran_its_time_was_not_stopped() {
    let mut run = RunRecord { agents: agents()[..2].to_vec(), interrupted: true, ..valid_run() };
    run.plan.stop = Stop::Duration { duration_ns: run.measured_ns };
    run.agents[1].lost = Some(AgentLoss { at_ns: 3_200_000_000, why: "it <died>".to_owned() });
    run.agents[0].window = Some(AgentWindow { sent: 20_000, completed: 19_990, failed: 10, ..AgentWindow::default() });
    run.agents[0].response_ns = Quantiles { n: 20_000, p50: 80_000, p99: 1_360_000, ..Quantiles::default() };
    run.agent_lost = Some(lost());
    let told = "ssh://b 3.2 s after the start: it <died>; the load went on without it to the end of its time";
    let record = AnyRecord::Run(&run);
    let named = Named { name: "r", record };
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(terminal::run(&run, &WIDE));
    assert!(text.contains(&format!("agent lost {told}")) && !text.contains("stopped before"), "{text}");
    assert!(text.contains("20,000 requests, p50 80.0 µs, p99 1.36 ms"), "{text}");
    let page = of_run(&run);
    let escaped = told.replace('<', "&#60;").replace('>', "&#62;");
    assert!(
        page.contains(&escaped) && page.contains("Agents, in the measured window") && page.contains("19,990"),
        "{page}"
    );
    let markdown = [report::markdown(&[named]), report::summary(named)];
    for text in markdown.iter().chain([&report::junit(named)]) {
        let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("\\<", "<").replace("\\>", ">");
        assert!(plain.contains("the load went on without it to the end of its time"), "{text}");
        assert!(plain.contains("agent lost: ssh://b 3.2 s") && !plain.contains("stopped before"), "{text}");
    }
    run.plan.stop = Stop::Duration { duration_ns: run.measured_ns + 1 };
    assert!(words(terminal::run(&run, &WIDE)).contains("it <died>; the load ended then"));
    run.agent_lost = None;
    assert!(words(terminal::run(&run, &WIDE)).contains("interrupted stopped before the plan was done"));
}

#[test]
fn the_machine_of_an_observed_server_is_named_and_its_texts_act_nowhere() {
    let mut run = valid_run();
    let facts = [("cpu".to_owned(), [("model".to_owned(), "<b>\u{1b}[2J".to_owned())].into())].into();
    run.environment.server_host = Some(ServerHost {
        name: "ssh://web1".to_owned(),
        host: "w\u{1b}".to_owned(),
        cpus: 8,
        clock_error_ns: 40_000,
        fingerprint: Fingerprint { facts, ..Fingerprint::default() },
        ..ServerHost::default()
    });
    let told = "observed by the agent ssh://web1 on w\\u001b (8 CPUs), its clock at most 40.0 µs off";
    let text = terminal::run(&run, &WIDE);
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{text}");
    let page = of_run(&run);
    assert!(page.contains(told) && page.contains("Server&#39;s machine"), "{page}");
    assert!(page.contains("&#60;b&#62;\\u001b[2J") && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn the_probed_bandwidth_is_told_or_why_it_is_not_known() {
    let mut run = valid_run();
    let way = |bit_per_s| Some(Throughput { bit_per_s, bytes: 11_000_000, duration_ns: 1_000_000_000 });
    run.environment.bandwidth = Some(Bandwidth {
        interface: Some("eth0\u{1b}".to_owned()),
        mtu_bytes: Some(1500),
        round_trip_ns: Some(210_000),
        to_server: way(94_100_000),
        ..Bandwidth::default()
    });
    let told = |run: &RunRecord| terminal::run(run, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    let text = "bandwidth 94.1 Mbit/s to the server and too little from the server to tell, round trip 210 µs, its interface \
                eth0\\u001b (MTU 1500); probed before the load";
    assert!(told(&run).contains(text), "{}", told(&run));
    assert!(of_run(&run).contains("94.1 Mbit/s to the server"));
    let unavailable = Some("cannot connect\u{1b}".to_owned());
    run.environment.bandwidth = Some(Bandwidth { unavailable, ..Bandwidth::default() });
    assert!(told(&run).contains("bandwidth not known: cannot connect\\u001b"), "{}", told(&run));
}
