//! One thread, or the interrupts of one CPU, that cannot do more while other CPUs rest.

use super::pool::{CPUS_BUSY, FOR_CPU};
use super::{Change, Detection, Relief, Signal, figures, turns};
use crate::limiter::input::{Cpus, LimiterInput};
use crate::limiter::laws;
use crate::limiter::pools::{BUILT_IN_THREADS, Pool, is_built_in_thread, is_program, pools};
use model::ServerThreadObserved;
use model::human::percent;

/// The CPUs that the server may use must have room. Where other processes leave them none, it is less sure.
const ROOM: f64 = 0.7;
/// One CPU that spends this share on interrupts, while no other spends more than the second (rule NE-11).
const INTERRUPTS: f64 = 0.9;
const INTERRUPTS_ELSEWHERE: f64 = 0.3;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(cpus) = input.server_cpus() else {
        return Detection::Unchecked("threads of the server not visible");
    };
    let Cpus { busy, used, count, .. } = cpus;
    let has_room = busy < ROOM;
    if let Some((cpu, share)) = interrupts(input).filter(|_| has_room) {
        return Detection::hit(Signal {
            name: "single-thread-limited",
            resource: format!("interrupts of CPU {cpu}"),
            says: format!("CPU {cpu} spends {} of its time on interrupts, no other CPU does", percent(share)),
            share: Some(share),
            queue: true,
            ceiling_per_s: laws::ceiling_per_s(input.per_s, share),
            evidence: figures([("softirq_share", share), ("machine_busy_share", busy)]),
            ..Signal::default()
        });
    }
    // Beside a busy thread there is no room on its CPU. If there is on the only one of the server, the thread has another CPU, as a
    // companion may.
    if count < 2.0 && !has_room {
        return Detection::Clear;
    }
    let lone = busiest(input);
    let Some(full) = lone.as_ref().filter(|lone| lone.share >= input.full) else {
        // Threads that take turns on one CPU could do nothing else.
        if count < 2.0 {
            return Detection::Clear;
        }
        return match turns::look(input) {
            Detection::Clear if lone.is_none() => Detection::Unchecked("threads of the server not visible"),
            found => found,
        };
    };
    let is_stopped = full.waits >= FOR_CPU * full.share;
    if !has_room && (used >= CPUS_BUSY || is_stopped) {
        return Detection::Clear;
    }
    Detection::hit(signal(input, full, &cpus))
}

/// A thread or process that runs alone.
struct Lone {
    name: String,
    /// The program that it is of.
    program: String,
    /// Share of the time in which it runs or waits for a CPU.
    share: f64,
    /// Of it, the share in which it waits for one.
    waits: f64,
}

/// The busiest of the threads that are alone of their kind, or the only worker of a program that does nothing but run.
fn busiest(input: &LimiterInput<'_>) -> Option<Lone> {
    let thread = input.lone_threads().into_iter().max_by(|a, b| input.wanted(a).total_cmp(&input.wanted(b)));
    let thread = thread.map(|thread| Lone {
        name: thread.name.clone(),
        program: input.program_of(thread.pid).to_owned(),
        share: input.wanted(thread),
        waits: thread.wait_mean.unwrap_or(0.0),
    });
    let only = pools(input).into_iter().find_map(|pool| {
        // Looks are a sample: they say no more of it than that it is occupied.
        (pool.only_runs() && pool.is_alone() && pool.occupancy >= input.full).then(|| Lone {
            name: pool.program.clone(),
            program: pool.program.clone(),
            share: pool.occupancy,
            waits: pool.runnable.unwrap_or(0.0),
        })
    });
    match thread.filter(|thread| thread.share >= input.full || only.is_none()) {
        Some(thread) => Some(thread),
        None => only,
    }
}

fn signal(input: &LimiterInput<'_>, lone: &Lone, &Cpus { busy, used, count, .. }: &Cpus) -> Signal {
    let Lone { name, program, share, .. } = lone;
    let room = match busy < ROOM {
        true if count < 2.0 => format!("the server's CPU is {} busy", percent(busy)),
        true => format!("the server's CPUs are {} busy", percent(busy)),
        false => format!("the load uses {} of the server's CPUs", percent(used)),
    };
    let others = Others::of(input, lone);
    let uneven = others.as_ref().map_or_else(String::new, |others| format!(", and {}", others.says()));
    let ceiling_per_s = laws::ceiling_per_s(input.clean_per_s, share.min(1.0));
    Signal {
        name: "single-thread-limited",
        resource: format!("thread {name}"),
        says: format!("one thread ({name}) is {} busy, while {room}{uneven}", percent(share.min(1.0))),
        share: Some(*share),
        queue: busy < ROOM && input.evidence.outstanding.mean > 1.5,
        ceiling_per_s,
        evidence: figures([
            ("thread_busy_share", *share),
            ("machine_busy_share", busy),
            ("in_flight", input.evidence.outstanding.mean),
        ]),
        also: only_workers(input, program),
        change: Some(others.map_or_else(|| one_more(input, name), |others| others.change(*share))),
        relief: Relief::of_server(&[name, program], ceiling_per_s.map(|per_s| 1e9 / per_s)),
        ..Signal::default()
    }
}

/// Pools of the program with one worker that only runs, which is the thread that is full.
fn only_workers(input: &LimiterInput<'_>, program: &str) -> Vec<String> {
    let is_it = |pool: &Pool| pool.program == program && pool.is_alone() && pool.only_runs();
    pools(input).into_iter().filter(is_it).map(|pool| pool.resource()).collect()
}

/// A second process or thread of the same kind.
fn one_more(input: &LimiterInput<'_>, name: &str) -> Change {
    let settings = input.context.settings.iter().filter(|setting| name.starts_with(&setting.limits));
    let setting = settings.max_by_key(|setting| setting.limits.len()).filter(|setting| setting.value == 1);
    let what = match is_built_in_thread(name) {
        true => BUILT_IN_THREADS.to_owned(),
        false => format!("{name} processes or threads"),
    };
    Change::twice(&what, 1.0, setting)
}

/// Workers of the same program beside a thread that is full, which have less to do.
struct Others {
    /// What they are called among the resources.
    resource: String,
    workers: f64,
    /// Shares of the time in which all of them run or wait for a CPU, added up.
    busy: f64,
}

impl Others {
    /// Of `lone`; none where it is the only one that the program has.
    fn of(input: &LimiterInput<'_>, lone: &Lone) -> Option<Self> {
        let pool = pools(input).into_iter().find(|pool| pool.program == lone.program && !pool.is_alone())?;
        // Threads of one process have different things to do.
        let same = |thread: &&ServerThreadObserved| is_program(&thread.name, &lone.name) && thread.pid == thread.tid;
        let threads: Vec<_> = input.groups().flat_map(|(_, group)| &group.threads).filter(same).collect();
        let busy: f64 = threads.iter().map(|thread| input.wanted(thread)).sum();
        (threads.len() > 1).then_some(Self { resource: pool.resource(), workers: pool.workers, busy })
    }

    fn says(&self) -> String {
        format!(
            "the {:.0} {} are {} busy on average: the connections are spread unevenly over them (few connections, \
             SO_REUSEPORT)",
            self.workers,
            self.resource,
            percent((self.busy / self.workers).min(1.0))
        )
    }

    /// As much work for each of them as for the one that is full.
    fn change(&self, share: f64) -> Change {
        Change {
            words: format!("connections spread evenly over the {:.0} {}", self.workers, self.resource),
            setting: None,
            from: None,
            to: None,
            factor: self.workers * share.min(1.0) / self.busy.max(f64::MIN_POSITIVE),
        }
    }
}

/// The CPU whose time goes to interrupts, when it is the only one.
fn interrupts(input: &LimiterInput<'_>) -> Option<(u32, f64)> {
    let shares: Vec<_> = input.observed()?.machine.as_ref()?.shares_by_number().collect();
    let (cpu, most) = shares.iter().copied().max_by(|a, b| a.1.softirq.total_cmp(&b.1.softirq))?;
    let elsewhere = shares.iter().filter(|(other, _)| *other != cpu);
    let is_alone = shares.len() > 1 && elsewhere.map(|(_, other)| other.softirq).all(|s| s < INTERRUPTS_ELSEWHERE);
    (most.softirq > INTERRUPTS && is_alone).then_some((cpu, most.softirq))
}
