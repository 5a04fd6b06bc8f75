//! Processes that do one thing, and what is said of them.

use lab::decide::decide_watched;
use model::{Phase, PoolUse, Scheduled, StatesUse};
use observe::{Clocks, Observer, ProcessSelector};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that ends with the test.
struct One(Child);

impl One {
    fn start(program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::null());
        Self(command.spawn().expect("it starts"))
    }

    fn wanted(&self) -> ProcessSelector {
        ProcessSelector::Process(self.0.id().cast_signed())
    }
}

impl Drop for One {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Looks at processes for a second.
fn watch(wanted: &[ProcessSelector], mut meanwhile: impl FnMut()) -> StatesUse {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let mut observer = Observer::new(address, true, wanted);
    observer.start(0);
    // What it costs is looked at by those who have a clock.
    observer.watch_states(Clocks { thread_cpu_ns: || 0, process_cpu_ns: || 0, monotonic_ns });
    std::thread::sleep(Duration::from_millis(500));
    meanwhile();
    assert!(observer.sample(1, Phase::Measure).states.is_some_and(|states| states.looks > 0));
    std::thread::sleep(Duration::from_millis(500));
    observer.sample(2, Phase::Measure).states.expect("it was looked at")
}

#[track_caller]
fn pool<'a>(states: &'a StatesUse, name: &str) -> &'a PoolUse {
    states.pools.iter().find(|pool| pool.name == name).unwrap_or_else(|| panic!("no {name} in {states:#?}"))
}

#[test]
fn what_a_process_waits_for_is_told() {
    decide_watched(|| {
        let sleeper = One::start("sleep", &["60"]);
        // It reads from the pipe at its standard input.
        let reader = One::start("cat", &[]);
        let burner = One::start("sh", &["-c", "while :; do :; done"]);
        let states = watch(&[sleeper.wanted(), reader.wanted(), burner.wanted()], || {});
        for (name, on) in [("sleep", "sleep"), ("cat", "pipe")] {
            let pool = pool(&states, name);
            assert_eq!((pool.running, pool.idle, pool.waits.len()), (0, 0, 1), "{pool:?}");
            assert_eq!((pool.waits[0].on.as_str(), pool.waits[0].samples), (on, states.looks), "{pool:?}");
            assert_eq!((pool.workers, pool.workers_max, pool.waits[0].state.as_str()), (states.looks, 1, "S"));
        }
        let burner = pool(&states, "sh");
        assert_eq!((burner.running, burner.idle), (states.looks, 0), "{burner:?}");
        // Between two samples it ran or waited for a CPU, and the sleeper did neither.
        let busy = |pool: &PoolUse| {
            let Scheduled { span_ns, ran_ns, waited_ns, .. } = pool.scheduled.expect("the scheduler tells");
            (ran_ns + waited_ns) as f64 / span_ns as f64
        };
        assert!((0.9..=1.1).contains(&busy(burner)), "{burner:?}");
        assert!(busy(pool(&states, "sleep")) < 0.01, "{states:?}");
    });
}

#[test]
fn the_program_at_the_other_end_of_a_socket_is_named() {
    decide_watched(|| {
        // The own process listens, and its client waits for an answer that does not come.
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (near, far) = UnixStream::pair().expect("a pair");
        let client = UnixStream::connect(&path).expect("it listens");
        let (mut accepted, _) = listener.accept().expect("a connection");
        let of_client = Command::new("cat").stdin(std::os::fd::OwnedFd::from(client)).stdout(Stdio::null()).spawn();
        let of_client = One(of_client.expect("it starts"));
        let paired = Command::new("cat").stdin(std::os::fd::OwnedFd::from(near)).stdout(Stdio::null()).spawn();
        let paired = One(paired.expect("it starts"));
        let own = std::fs::read_to_string("/proc/self/comm").expect("a name");
        let states = watch(&[of_client.wanted(), paired.wanted()], || accepted.write_all(b".").expect("it reads"));
        let waits: BTreeSet<&str> = pool(&states, "cat").waits.iter().map(|wait| wait.on.as_str()).collect();
        assert_eq!(waits, [own.trim_end(), "pipe"].into());
        drop(far);
    });
}

#[test]
fn workers_that_come_and_go_are_counted() {
    decide_watched(|| {
        // The shell is another program than what it starts, and so no master of its own kind.
        let parent = One::start("sh", &["-c", "while :; do sleep 0.3; done"]);
        let states = watch(&[parent.wanted()], || {});
        let sleepers = pool(&states, "sleep");
        assert!(sleepers.begun >= 1 && sleepers.ended >= 1, "{states:#?}");
        assert!(sleepers.workers <= states.looks && sleepers.workers > 0, "one at a time: {sleepers:?}");
        let shell = pool(&states, "sh");
        assert!(shell.waits.iter().all(|wait| wait.on == "child"), "{shell:?}");
    });
}
