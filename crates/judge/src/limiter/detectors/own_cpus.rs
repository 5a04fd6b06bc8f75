//! CPUs of one of the programs that work on a request, where it may use others than the rest of them: full while the server's CPUs,
//! or all of them on average, have room.

use super::cpu::{AFFINITY, BUSY, IN_FLIGHT, OWN};
use super::{Change, Detection, Relief, Signal, figures};
use crate::limiter::input::LimiterInput;
use crate::limiter::laws;
use model::human::{percent, plural};
use model::{MachineObserved, ServerObserved};
use std::collections::BTreeSet;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(machine) = input.observed().and_then(|seen| seen.machine.as_ref()).filter(|_| input.sees_server()) else {
        return Detection::Unchecked("CPUs of the server not visible (remote, or processes hidden)");
    };
    let in_flight = input.evidence.outstanding.mean;
    let is_full = |own: &OwnCpus<'_>| {
        own.busy >= BUSY.min(input.full) && own.used >= OWN && in_flight >= IN_FLIGHT * own.cpus.len() as f64
    };
    let all = input.groups().filter_map(|(name, group)| OwnCpus::of(name, group, machine, input));
    let full = all.filter(is_full).max_by(|a, b| a.busy.total_cmp(&b.busy));
    full.map_or(Detection::Clear, |own| Detection::hit(own.signal(input, machine.cpus)))
}

/// The CPUs of a program, which are not those of the server with all its companions.
struct OwnCpus<'a> {
    program: &'a str,
    cpus: BTreeSet<u32>,
    /// Busy share of them.
    busy: f64,
    /// Share of them that the programs have that may use no others.
    used: f64,
}

impl<'a> OwnCpus<'a> {
    fn of(
        name: &'a str,
        group: &'a ServerObserved,
        machine: &MachineObserved,
        input: &LimiterInput<'_>,
    ) -> Option<Self> {
        let cpus: BTreeSet<u32> = group.cpus.iter().copied().collect();
        if cpus.is_empty() || cpus.len() >= machine.cpus as usize || cpus == input.allowed_cpus() {
            return None;
        }
        let count = cpus.len() as f64;
        let busy: f64 = cpus.iter().map(|cpu| machine.busy_of(*cpu)).sum::<Option<f64>>()?;
        let has_no_others =
            |group: &&ServerObserved| !group.cpus.is_empty() && group.cpus.iter().all(|cpu| cpus.contains(cpu));
        let cores: f64 =
            input.groups().map(|(_, group)| group).filter(has_no_others).map(|group| group.cpu_cores).sum();
        let program = if name == "server" { "the server" } else { name };
        Some(Self { program, busy: busy / count, used: cores / count, cpus })
    }

    fn signal(&self, input: &LimiterInput<'_>, of: u32) -> Signal {
        let Self { program, cpus, busy, used } = self;
        let count = cpus.len() as f64;
        let resource = format!("CPUs of {program}");
        Signal {
            name: "cpu-limited",
            says: format!(
                "the {} available to {program} (of {of}) {} {} busy, {} of it by {program}",
                plural(cpus.len() as u64, "CPU"),
                if cpus.len() == 1 { "is" } else { "are" },
                percent(*busy),
                percent((used / busy).min(1.0)),
            ),
            share: Some(*busy),
            queue: true,
            ceiling_per_s: laws::ceiling_per_s(input.per_s, *used),
            evidence: figures([
                ("cpus", count),
                ("busy_share", *busy),
                ("used_share", *used),
                ("in_flight", input.evidence.outstanding.mean),
            ]),
            change: Some(Change { setting: Some(AFFINITY.to_owned()), ..Change::twice(&resource, count, None) }),
            relief: Relief::Cpu,
            resource,
            ..Signal::default()
        }
    }
}
