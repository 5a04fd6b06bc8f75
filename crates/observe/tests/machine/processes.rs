//! Processes of which this test reads the truth in `/proc` itself. One test at a time: some account for all of the machine.

use lab::decide::decide_watched;
use model::{CpuTimes, PROCESS_FIGURES, Phase, ProcessFigures, Sample, ServerUse};
use observe::{Observer, ProcessSelector};
use procfs::{CurrentSI, KernelStats};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// The kernel tells CPU time in steps of 10 ms, of user and system time each, and a look takes a moment.
const ROUNDING_NS: u64 = 60_000_000;

/// A shell that ends with the test.
struct Shell(Child);

impl Shell {
    fn start(script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null());
        Self(command.spawn().expect("a shell"))
    }

    fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// User and system time of a process, and of its children that it has waited for: fields 14 to 17 of its `stat`.
#[track_caller]
fn cpu_ns(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    fields[11..=14].iter().map(|field| field.parse::<u64>().expect("a number")).sum::<u64>() * 10_000_000
}

/// Time that all CPUs were busy since the machine started.
fn busy_ns() -> u64 {
    let total = KernelStats::current().expect("/proc/stat").total;
    let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    (total.user + total.nice + total.system + interrupts) * 10_000_000
}

/// An observer of a port that nobody listens on.
fn observer(wanted: &[ProcessSelector]) -> Observer {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    Observer::new(address, true, wanted)
}

/// Waits until a process has used some CPU time more.
fn until_burnt(pid: i32, more_ns: u64) {
    let before_ns = cpu_ns(pid);
    while cpu_ns(pid) < before_ns + more_ns {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn used_ns(used: &ServerUse) -> u64 {
    ProcessFigures::of(&used.processes).cpu_ns
}

#[track_caller]
fn companion<'a>(sample: &'a Sample, label: &str) -> &'a ServerUse {
    sample.companions.get(label).unwrap_or_else(|| panic!("{label}: {:?}", sample.unavailable))
}

#[test]
fn a_companion_has_the_cpu_time_that_the_kernel_says_it_has() {
    decide_watched(|| {
        let burner = Shell::start("while :; do :; done");
        let pid = burner.pid();
        let label = pid.to_string();
        let mut observer = observer(&[ProcessSelector::parse(&label).expect("a number")]);
        observer.start(0);
        let before_ns = cpu_ns(pid);
        until_burnt(pid, 400_000_000);
        let sample = observer.sample(1_000, Phase::Measure);
        let truth_ns = cpu_ns(pid) - before_ns;
        let used = companion(&sample, &label);
        assert!(used_ns(used).abs_diff(truth_ns) <= ROUNDING_NS, "{} of {truth_ns}", used_ns(used));
        let process = &used.processes[0];
        let figures = process.figures;
        assert_eq!((process.name.as_str(), figures.count), ("sh", 1));
        assert!(figures.pss_bytes.is_some_and(|pss| pss > 0 && pss <= figures.rss_bytes), "{process:?}");
        assert!(figures.vms_bytes > figures.rss_bytes && figures.fds >= Some(3), "{process:?}");
        // One that is in the list and that nobody reads would never be known.
        for figure in PROCESS_FIGURES {
            assert!((figure.value)(&figures).is_some(), "{} of an own process is not known", figure.name);
        }

        // It has one thread, which has all of it, and others wanted its CPU or did not.
        let threads = used.threads.as_ref().expect("the first look was at the start");
        let [thread] = &threads.threads[..] else { panic!("{threads:?}") };
        let in_thread_ns = thread.user_ns + thread.system_ns;
        assert!(in_thread_ns.abs_diff(truth_ns) <= ROUNDING_NS, "{thread:?} of {truth_ns}");
        assert!(thread.wait_ns.is_some() && (threads.from_ns, thread.pid, thread.tid) == (0, pid, pid), "{thread:?}");
    });
}

#[test]
fn children_that_come_and_go_count_for_their_companion() {
    decide_watched(|| {
        // Each child burns for a moment, and is waited for.
        let script = "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done";
        let parent = Shell::start(script);
        let pid = parent.pid();
        let mut observer = observer(&[ProcessSelector::Process(pid)]);
        observer.start(0);
        let before_ns = cpu_ns(pid);
        let mut told_ns = 0;
        for look in 1..=4 {
            until_burnt(pid, 100_000_000);
            let sample = observer.sample(look, Phase::Measure);
            let used = companion(&sample, &pid.to_string());
            assert_eq!(used.ended_unaccounted, 0, "{used:?}");
            told_ns += used_ns(used);
        }
        let truth_ns = cpu_ns(pid) - before_ns;
        // The last child still runs, and its parent does not have its time yet; and each of some ended ones is rounded.
        assert!(
            told_ns + truth_ns / 5 > truth_ns && told_ns < truth_ns + truth_ns / 4 + ROUNDING_NS,
            "{told_ns} of {truth_ns}"
        );
    });
}

#[test]
fn the_sum_over_many_short_lived_children_is_what_the_kernel_says() {
    decide_watched(|| {
        const CHILDREN: u32 = 40;
        // Each burns for a moment and is waited for; samples come at any moment of their lives.
        let script = format!(
            "read go; n=0; while [ $n -lt {CHILDREN} ]; do \
         (i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done); n=$((n+1)); done; echo done; read end"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut parent = Shell(command.spawn().expect("a shell"));
        let pid = parent.pid();
        let mut observer = observer(&[ProcessSelector::Process(pid)]);
        observer.start(0);
        let before_ns = cpu_ns(pid);
        let out = parent.0.stdout.take().expect("piped");
        let done = std::thread::spawn(move || BufReader::new(out).read_line(&mut String::new()));
        parent.0.stdin.as_mut().expect("piped").write_all(b"\n").expect("it reads");
        let (mut told_ns, mut looks) = (0, 0);
        loop {
            let is_last = done.is_finished();
            looks += 1;
            let sample = observer.sample(looks, Phase::Measure);
            told_ns += used_ns(companion(&sample, &pid.to_string()));
            if is_last {
                break;
            }
        }
        let truth_ns = cpu_ns(pid) - before_ns;
        assert!(looks > u64::from(CHILDREN) / 4 && truth_ns > 100_000_000, "{looks} looks, {truth_ns}");
        assert!(told_ns.abs_diff(truth_ns) <= ROUNDING_NS, "{told_ns} of {truth_ns} in {looks} looks");
    });
}

#[test]
fn strangers_are_told_beside_and_all_together_are_the_busy_time_of_the_machine() {
    decide_watched(|| {
        let burners = [Shell::start("while :; do :; done"), Shell::start("while :; do :; done")];
        let mut observer = observer(&[]);
        // A look reads one file after the other, and may have to wait for a CPU between them: what it says of the machine
        // and of the processes lies between the busy time from its end to the begin of the next, and from begin to end.
        let mut busy = vec![busy_ns()];
        observer.start(0);
        busy.push(busy_ns());
        until_burnt(burners[0].pid(), 500_000_000);
        busy.push(busy_ns());
        // On a machine with very many processes not all are looked at each time.
        let mut samples: Vec<Sample> = Vec::new();
        while samples.last().is_none_or(|sample| sample.others.is_none()) {
            assert!(samples.len() < 100, "all processes are looked at now and then");
            samples.push(observer.sample(samples.len() as u64 + 1, Phase::Measure));
        }
        busy.push(busy_ns());
        let (at_least_ns, at_most_ns) = (busy[2] - busy[1], busy[3] - busy[0]);

        let others = samples.last().and_then(|sample| sample.others.as_ref()).expect("the last one has them");
        assert_eq!(others.from_ns, 0);
        let shells_ns =
            others.processes.iter().find(|process| process.name == "sh").map(|process| process.figures.cpu_ns);
        assert!(shells_ns >= Some(500_000_000 - ROUNDING_NS), "{others:?}");
        let others_ns = ProcessFigures::of(&others.processes).cpu_ns;
        let own_ns: u64 = samples.iter().filter_map(|sample| sample.generator.as_ref()).map(|own| own.cpu_ns).sum();
        let machine = || samples.iter().filter_map(|sample| sample.machine.as_ref()).map(|cpu| &cpu.total);
        let machine_ns: u64 = machine().map(CpuTimes::busy_ns).sum();
        let is_between = |ns: u64| (at_least_ns..=at_most_ns).contains(&ns);
        assert!(is_between(machine_ns), "the machine: {machine_ns} of {at_least_ns} to {at_most_ns}");
        // Interrupts are part of the processes they interrupt, or, as some kernels are built, of none.
        let softirq_ns: u64 = machine().map(|cpu| cpu.softirq_ns).sum();
        let processes_ns = others_ns + own_ns;
        assert!(
            (processes_ns + softirq_ns) * 10 >= at_least_ns * 9 && processes_ns * 10 <= at_most_ns * 11,
            "processes: {processes_ns} of {at_least_ns} to {at_most_ns}, {softirq_ns} of these in interrupts: {others:?}"
        );
    });
}

#[test]
fn what_cannot_be_found_is_said_once_and_the_rest_goes_on() {
    let ended = Shell::start("read line");
    let gone = ended.pid();
    drop(ended);
    let wanted = [ProcessSelector::Process(gone), ProcessSelector::Name("no-such-name".into())];
    let mut observer = observer(&wanted);
    observer.start(0);
    let sample = observer.sample(1, Phase::Measure);
    assert!(sample.companions.is_empty() && sample.machine.is_some());
    let why = |part: &str| sample.unavailable[part].as_str();
    assert_eq!(why(&format!("companions/{gone}")), format!("no process {gone} runs on this machine"));
    assert!(why("companions/no-such-name").starts_with("no process on this machine is named \"no-such-name\""));
    assert!(observer.sample(2, Phase::Measure).unavailable.is_empty());
}
