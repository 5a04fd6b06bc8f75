//! An interpreter whose lock lets one of its threads run at a time.

use super::pool::CPUS_BUSY;
use super::{Change, Detection, Signal, figures};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::ServerThreadObserved;
use model::human::plural;
use std::collections::BTreeMap;

/// CPUs that the threads of such a process use together: one, and a little for what they do without the lock.
const ONE_CPU: std::ops::RangeInclusive<f64> = 0.85..=1.25;
/// A thread that has more than this share of it runs alone, lock or not.
const ALONE: f64 = 0.85;
/// With more requests in flight some wait for the lock.
const IN_FLIGHT: f64 = 1.5;
/// A thread that ran less than this takes no part.
const TAKES_PART: f64 = 0.02;
/// Interpreters with one lock for all threads, by the beginnings of the names of the programs that run on them.
const CPYTHON: (&str, &[&str]) = (
    "CPython's global interpreter lock",
    &["python", "gunicorn", "uwsgi", "waitress", "cheroot", "werkzeug", "flask", "hypercorn", "uvicorn", "django"],
);
const RUBY: (&str, &[&str]) =
    ("Ruby's global VM lock", &["ruby", "puma", "unicorn", "rackup", "rails", "thin", "webrick"]);

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(cpus) = input.server_cpus() else {
        return Detection::Unchecked("threads of the server not visible");
    };
    // On one CPU there is nothing that the lock would keep from it; where all are full more processes would find none.
    if cpus.count < 2.0 || cpus.used >= CPUS_BUSY {
        return Detection::Clear;
    }
    let Some(found) = processes(input).values().find_map(|threads| Shared::of(input, threads)) else {
        return Detection::Clear;
    };
    let Shared { lock, program, threads, cores, busiest } = found;
    let in_flight = input.evidence.outstanding.mean;
    Detection::hit(Signal {
        name: "interpreter-lock-limited",
        resource: format!("interpreter of {program}"),
        says: format!(
            "{} of {program} use {cores:.2} CPUs together, of {:.0}: {lock} lets one of them run at a time; more \
             processes help, more threads do not",
            plural(threads as u64, "thread"),
            cpus.count
        ),
        share: Some(cores.min(1.0)),
        queue: in_flight > IN_FLIGHT,
        ceiling_per_s: laws::ceiling_per_s(input.per_s, cores.min(1.0)),
        evidence: figures([
            ("cpus_used", cores),
            ("threads", threads as f64),
            ("busiest_thread_share", busiest),
            ("in_flight", in_flight),
        ]),
        change: Some(Change::twice(&format!("{program} processes"), 1.0, None)),
        ..Signal::default()
    })
}

/// The threads that take part in the work, by process.
fn processes<'a>(input: &LimiterInput<'a>) -> BTreeMap<i32, Vec<&'a ServerThreadObserved>> {
    let mut by_process: BTreeMap<i32, Vec<_>> = BTreeMap::new();
    for thread in input.groups().flat_map(|(_, group)| &group.threads).filter(|thread| ran(thread) >= TAKES_PART) {
        by_process.entry(thread.pid).or_default().push(thread);
    }
    by_process
}

/// An interpreter whose threads behave as if they shared its lock.
struct Shared<'a> {
    lock: &'static str,
    program: &'a str,
    threads: usize,
    /// CPUs that they use together.
    cores: f64,
    /// The largest part of one of them.
    busiest: f64,
}

impl<'a> Shared<'a> {
    /// Of the `threads` of a process; none when they behave otherwise, or no such interpreter is known.
    fn of(input: &LimiterInput<'a>, threads: &[&ServerThreadObserved]) -> Option<Self> {
        let cores: f64 = threads.iter().map(|thread| ran(thread)).sum();
        let busiest = threads.iter().map(|thread| ran(thread)).fold(0.0, f64::max);
        if threads.len() < 2 || !ONE_CPU.contains(&cores) || busiest > ALONE * cores {
            return None;
        }
        let program = input.program_of(threads[0].pid);
        let runs_on = |names: &[&str]| names.iter().any(|name| program.starts_with(name));
        let (lock, _) = [CPYTHON, RUBY].into_iter().find(|(_, names)| runs_on(names))?;
        Some(Self { lock, program, threads: threads.len(), cores, busiest })
    }
}

fn ran(thread: &ServerThreadObserved) -> f64 {
    thread.user_mean + thread.system_mean
}
