//! What is told adds up to what the kernel says, also of processes that come, go and are replaced.

use super::{Burner, Watching, cpu_s, same_cpu_time};
use crate::support::{decide_watched, plimsoll, serve, wait_for};
use model::Observation;
use rustix::process::{Pid, Signal, kill_process};
use stack::Spec;

/// CPU time of a process of one thread, and of its children that it has waited for; s. That of the children is rounded down to
/// 10 ms, of user and system time each. Its own, which `stat` rounds so as well, is known to the nanosecond: over a server and
/// its workers the rounding added up to more than what is tested.
#[track_caller]
fn cpu_of_tree_s(pid: u32) -> f64 {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it runs");
    let number = |field: &str| field.parse::<f64>().expect("a number");
    let stat = read("stat");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let of_children_s = fields[13..=14].iter().map(|field| number(field)).sum::<f64>() / 100.0;
    let own_ns = number(read("schedstat").split_whitespace().next().expect("the time that it ran"));
    own_ns / 1e9 + of_children_s
}

#[track_caller]
fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a number"), signal).expect("it runs");
}

/// Children of a process, sorted.
#[track_caller]
fn children(of: i32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).expect("it runs");
    let mut found: Vec<i32> = text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect();
    found.sort_unstable();
    found
}

/// CPU time of a process and its children, ended ones included; s.
#[track_caller]
fn cpu_of_all_s(master: i32) -> f64 {
    children(master).iter().chain([&master]).map(|pid| cpu_of_tree_s(pid.cast_unsigned())).sum()
}

/// Processes of the first target at each look.
fn counts(looks: &[Observation]) -> Vec<u64> {
    looks.iter().filter_map(|look| look.groups.first()).map(|group| group.figures.count).collect()
}

fn unaccounted(looks: &[Observation]) -> u64 {
    looks.iter().flat_map(|look| &look.groups).map(|group| group.ended_unaccounted).sum()
}

#[test]
fn looks_add_up_to_the_cpu_time_that_the_kernel_counts() {
    decide_watched(|| {
        // Half of it in itself, half in a child that comes and goes. A few only: of each the kernel rounds.
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; \
                  (i=0; while [ $i -lt 240000 ]; do i=$((i+1)); done)";
        let mut burner = Burner::with(script);
        let target = burner.pid().to_string();
        let watching = Watching::start(&[&target]);
        let before_s = cpu_of_tree_s(burner.pid());
        burner.burn();
        burner.burn();
        watching.wait_for_more_looks(2);
        let burnt_s = cpu_of_tree_s(burner.pid()) - before_s;
        let (looks, ended) = watching.stop();
        assert!(burnt_s > 0.4, "{burnt_s}");
        same_cpu_time(cpu_s(&looks, &target), burnt_s, "CPU time of all looks");
        assert_eq!(unaccounted(&looks), 0);
        // The machine was at least as busy, and the summary says the same.
        let busy_ns: u64 =
            looks.iter().filter_map(|look| look.machine.as_ref()).map(|machine| machine.total.busy_ns()).sum();
        assert!(busy_ns as f64 / 1e9 > 0.9 * burnt_s);
        assert!(ended.stderr.contains("samples: ") && ended.stderr.contains(&target), "{}", ended.stderr);
        let cores: f64 = looks.iter().map(|look| (look.to_ns - look.from_ns) as f64 * look.groups[0].cpu_cores).sum();
        same_cpu_time(cores / 1e9, burnt_s, "CPUs over time");
    });
}

#[test]
fn workers_that_a_reload_replaces_stay_one_server() {
    let nginx = serve(&Spec::parse("nginx workers=2").expect("known"));
    let (_, master) = nginx.processes().next().expect("it runs");
    let url = nginx.url().expect("HTTP").to_owned();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let watching = Watching::start(&[&address]);
    let begin_s = cpu_of_all_s(master);
    let load = || drop(plimsoll(["run", &url, "-c", "4", "-n", "8000", "--warmup", "0s"]).run());
    load();
    let before = children(master);
    signal(master, Signal::HUP);
    let replaced = || {
        let now = children(master);
        (now.len() == 2 && now.iter().all(|pid| !before.contains(pid))).then_some(())
    };
    wait_for(super::TIMEOUT, replaced).expect("new workers");
    load();
    watching.wait_for_more_looks(2);
    let truth_s = cpu_of_all_s(master) - begin_s;
    let (looks, _) = watching.stop();
    let counts = counts(&looks);
    assert_eq!((counts[0], counts[counts.len() - 1], unaccounted(&looks)), (3, 3, 0), "{counts:?}");
    same_cpu_time(cpu_s(&looks, &address), truth_s, "CPU time of old and new workers");
}

#[test]
fn children_that_php_fpm_starts_on_demand_are_followed() {
    decide_watched(|| {
        let php = serve(&Spec::parse("php-fpm pm=ondemand children=3 burn=60ms").expect("known"));
        let (_, master) = php.processes().find(|(name, _)| *name == "php-fpm").expect("it runs");
        let target = format!("unix:{}", php.dir().join("run/php-fpm.sock").display());
        let watching = Watching::start(&[&target]);
        let begin_s = cpu_of_all_s(master);
        let url = php.url().expect("HTTP").to_owned();
        plimsoll(["run", &url, "-c", "3", "-n", "12", "--warmup", "0s"]).run();
        watching.wait_for_more_looks(2);
        let truth_s = cpu_of_all_s(master) - begin_s;
        // One that is killed is replaced, and what it used stays counted, once.
        let killed = children(master)[0];
        signal(killed, Signal::TERM);
        wait_for(super::TIMEOUT, || (!children(master).contains(&killed)).then_some(())).expect("it ends");
        watching.wait_for_more_looks(3);
        let (looks, _) = watching.stop();
        let counts = counts(&looks);
        assert!(counts.iter().max() > counts.first(), "children were started on demand: {counts:?}");
        assert!(truth_s >= 12.0 * 0.06, "each burns 60 ms: {truth_s}");
        same_cpu_time(cpu_s(&looks, &target), truth_s, "CPU time of children on demand");
        assert_eq!(unaccounted(&looks), 0);
    });
}

#[test]
fn a_process_that_ends_ends_what_only_it_was_watched_for() {
    let burner = Burner::start();
    let watching = Watching::start(&[&burner.pid().to_string()]);
    drop(burner);
    // Without ^C.
    let ended = watching.0.end();
    let looks = super::looks(&ended);
    assert!(looks.last().expect("a look").groups.is_empty());
    assert!(ended.stderr.contains("runs on this machine"), "{}", ended.stderr);
}
