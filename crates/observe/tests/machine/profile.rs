//! Samples of this very process: what burns is found, by name, and as much of it as there was.
//!
//! These run as root, or where kernel.perf_event_paranoid is 0: a refusal fails them.

use lab::decide::decide_watched;
use model::ProcessRole;
use observe::profile::{FREQUENCY_HZ, NameReader, Profile, Recorded, Scope, read_names};
use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BURN_MS: u64 = 1_000;

/// The one that is to be found.
#[inline(never)]
fn burn_in_the_profile(until: &AtomicBool) -> u64 {
    let mut sum = 1_u64;
    while !until.load(Ordering::Relaxed) {
        sum = black_box(burn_a_little(sum));
    }
    sum
}

/// Some microseconds in which nothing is called: a function that has just been called hides who called it, and without
/// optimisation even a rotation is one.
#[inline(always)]
fn burn_a_little(mut sum: u64) -> u64 {
    let mut rounds = 0;
    while rounds < 5_000 {
        sum ^= sum << 13;
        sum ^= sum >> 7;
        sum ^= sum << 17;
        rounds += 1;
    }
    sum
}

/// What tells the first test below that it is the process that reads program files for the others.
const ASKED: &str = "asked by another test";

fn name_reader() -> NameReader {
    let own = std::env::current_exe().expect("it runs").into_os_string();
    let test = "profile::own_functions_are_named_by_a_process_without_rights";
    NameReader { command: vec![own, "--exact".into(), test.into(), ASKED.into()], ..NameReader::default() }
}

#[test]
fn own_functions_are_named_by_a_process_without_rights() {
    if std::env::args().any(|argument| argument == ASKED) {
        let _ = read_names();
        return;
    }
    let server = BTreeSet::from([std::process::id()]);
    let (profile, _) = profile(&Scope { server, only_server: true, own_name: "own", ..Scope::default() });
    assert!(profile.folded.contains("burn_in_the_profile"), "{}", profile.folded);
    assert!(profile.profiled.hints.iter().all(|hint| !hint.contains("have names")), "{:?}", profile.profiled.hints);
}

/// CPU time of the calling thread; ns.
fn thread_cpu_ns() -> u64 {
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let task = procfs::process::Process::myself().and_then(|own| own.task_from_tid(tid));
    task.and_then(|task| task.schedstat()).map_or(0, |stat| stat.sum_exec_runtime)
}

/// A profile of a second in which one thread burns, and the CPU time that thread got; ns.
fn profile(scope: &Scope) -> (Profile, u64) {
    let until = AtomicBool::new(false);
    let (recorded, burnt_ns) = std::thread::scope(|threads| {
        let burner = threads.spawn(|| {
            black_box(burn_in_the_profile(&until));
            thread_cpu_ns()
        });
        let wait = || std::thread::sleep(Duration::from_millis(BURN_MS));
        let recorded = Recorded::during(thread_cpu_ns, wait).expect("this user may sample");
        until.store(true, Ordering::Relaxed);
        (recorded, burner.join().expect("it burns"))
    });
    (recorded.resolve(scope, &name_reader()), burnt_ns)
}

#[expect(clippy::disallowed_methods, reason = "a real burn keeps to real time")]
fn now() -> Instant {
    Instant::now()
}

/// A tenth of the time.
#[inline(never)]
fn seldom(end: Instant) -> u64 {
    burn_until(end)
}

#[inline(always)]
fn burn_until(end: Instant) -> u64 {
    let mut sum = 1_u64;
    while now() < end {
        sum = black_box(burn_a_little(sum));
    }
    sum
}

/// A server that is asked without a pause, and whose responses take as long as it is from one sample to the next.
#[test]
fn work_that_repeats_as_often_as_samples_are_taken_has_its_share() {
    decide_watched(|| {
        const ROUNDS: u32 = 400;
        let round = Duration::from_secs(1) / FREQUENCY_HZ;
        let wait = || {
            let begin = now();
            for n in 0..ROUNDS {
                black_box(burn_until(begin + round * n + round * 9 / 10));
                black_box(seldom(begin + round * (n + 1)));
            }
        };
        let recorded = Recorded::during(thread_cpu_ns, wait).expect("this user may sample");
        let server = BTreeSet::from([std::process::id()]);
        let scope = Scope { server, only_server: true, own_name: "own", ..Scope::default() };
        let profile = recorded.resolve(&scope, &name_reader());
        let (mut all, mut of_it) = (0, 0);
        for (line, n) in profile.folded.lines().filter_map(|line| line.rsplit_once(' ')) {
            let n: u32 = n.parse().expect("a count");
            all += n;
            of_it += if line.contains("seldom") { n } else { 0 };
        }
        let share = f64::from(of_it) / f64::from(all);
        assert!((0.03..0.2).contains(&share), "{share}: {}", profile.folded);
    });
}

#[test]
fn what_burns_is_on_top_by_name_and_its_time_is_right() {
    decide_watched(|| {
        let server = BTreeSet::from([std::process::id()]);
        let (profile, burnt_ns) = profile(&Scope { server, only_server: true, own_name: "own", ..Scope::default() });
        let profiled = &profile.profiled;
        let lines: Vec<&str> = profile.folded.lines().collect();
        let count = |line: &str| line.rsplit_once(' ').and_then(|(_, n)| n.parse::<u64>().ok()).expect("a count");
        // What was inlined into it stands further in.
        let burning = lines.iter().filter(|line| line.contains("burn_in_the_profile"));
        let burning: u64 = burning.map(|line| count(line)).sum();
        assert!(burning as f64 > 0.8 * profiled.samples as f64, "{lines:#?}");
        assert_eq!(
            profiled.functions.iter().map(|function| function.samples).max(),
            Some(profiled.functions[0].samples)
        );
        assert!(profiled.resolved_share >= 0.95 && profiled.symbol_share >= 0.95, "{profiled:#?}");
        assert_eq!((profiled.processes.len(), profiled.lost_samples), (1, 0));
        assert!(profiled.processes[0].role == ProcessRole::Server && profiled.processes[0].name == "own");
        // Where others want the CPUs too, a sample finds the burner by chance: within four standard errors.
        let expected = burnt_ns as f64 / 1e3 / profiled.sample_us();
        let error = (profiled.samples as f64 - expected).abs();
        assert!(error < 4.0 * expected.sqrt() + 2.0, "{} samples, expected {expected}", profiled.samples);
        assert!(lines.iter().all(|line| line.starts_with("own;")), "{lines:?}");
        let counted: u64 = lines.iter().map(|line| count(line)).sum();
        assert_eq!(counted, profiled.samples);
        assert!(profiled.reader_share < 0.05, "{profiled:?}");
    });
}

#[test]
fn threads_that_sleep_have_waited_as_long_as_they_slept_and_one_that_burns_has_not() {
    decide_watched(|| {
        let until = AtomicBool::new(false);
        let server = BTreeSet::from([std::process::id()]);
        let (profile, _) = std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| {
                while !until.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let profiled = profile(&Scope { server, only_server: true, own_name: "own", ..Scope::default() });
            until.store(true, Ordering::Relaxed);
            sleeper.join().expect("it sleeps");
            profiled
        });
        assert_eq!(profile.profiled.hints.iter().find(|hint| hint.contains("waited")), None);
        let ns = |of: &str| -> f64 {
            let lines = profile.waits.lines().filter(|line| line.contains(of));
            lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>()
        };
        // The sleeper, the thread that reads the rings, and this one, which waits for the second to pass.
        let slept = ns("do_nanosleep_[k]") / profile.profiled.sampled_ns as f64;
        assert!((2.0..4.0).contains(&slept), "three threads slept {slept} of the time: {}", profile.waits);
        assert!(ns("burn_in_the_profile") < 0.1 * profile.profiled.sampled_ns as f64, "{}", profile.waits);
    });
}

#[test]
fn what_is_not_of_the_server_is_left_out_or_told_as_not_its_own() {
    decide_watched(|| {
        // A process that does nothing of its own, and has no children.
        let mut other = std::process::Command::new("sleep").arg("10").spawn().expect("it starts");
        let server = BTreeSet::from([other.id()]);
        let (alone, _) =
            profile(&Scope { server: server.clone(), only_server: true, own_name: "own", ..Scope::default() });
        let (all, _) = profile(&Scope { server, only_server: false, own_name: "own", ..Scope::default() });
        other.kill().and_then(|()| other.wait()).expect("it ends");
        assert!(alone.profiled.samples <= 1, "{:?}", alone.profiled.processes);
        let own = all.profiled.processes.iter().find(|process| process.name == "own").expect("it burns");
        assert!(own.role == ProcessRole::Own && own.samples > 5, "{own:?}");
        // One CPU at least has always somebody on it: the burner, or whoever took it away from the burner.
        assert!(all.profiled.samples > 70, "{:?}", all.profiled);
    });
}
