//! How the CPUs are clocked and shared: what makes a second measurement another one.

use super::{Machine, ask, count_on, fine, here, judged, remedy, row, unavailable};
use crate::text::list;
use model::human::{percent, time};
use model::{CheckRow, CheckState, NS_PER_S};

/// Programs that are named.
const NAMED_MAX: usize = 3;
const FREQUENCY: &str = "frequency";
/// The part of the kernel's figures that has the quota of this program.
const OWN_GROUP: &str = "cgroup/generator";

pub(super) fn rows(machine: &Machine<'_>) -> Vec<CheckRow> {
    let mut rows = vec![governor(machine), turbo(machine), threads(machine), pages(machine), quota(machine)];
    rows.push(hypervisor(machine));
    if machine.length_ns() > 0 {
        rows.extend([stolen(machine), background(machine)]);
    }
    rows
}

fn governor(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "governor";
    let Some(governor) = machine.fact(FREQUENCY, "scaling_governor") else {
        return unavailable("EN-02", WHAT, machine.why(FREQUENCY));
    };
    let driver = machine.fact(FREQUENCY, "scaling_driver").map_or_else(String::new, |driver| format!(" ({driver})"));
    if governor == "performance" {
        return fine("EN-02", WHAT, format!("{governor}{driver}"));
    }
    let found = format!("{governor}{driver}: the clock follows the load, and not at once");
    row("EN-02", WHAT, CheckState::Warning, found, frequency_remedy(machine))
}

fn turbo(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "turbo";
    let is_on = match (machine.fact(FREQUENCY, "no_turbo"), machine.fact(FREQUENCY, "boost")) {
        (Some(off), _) => off == "0",
        (None, Some(on)) => on != "0",
        (None, None) => return unavailable("EN-02", WHAT, machine.why(FREQUENCY)),
    };
    if !is_on {
        return fine("EN-02", WHAT, "off");
    }
    let found = "on: the clock depends on heat and on how many CPUs are busy";
    row("EN-02", WHAT, CheckState::Note, found, frequency_remedy(machine))
}

/// What EN-02 advises when CPUs change their speed.
fn frequency_remedy(machine: &Machine<'_>) -> Option<String> {
    let mut evidence = machine.evidence();
    evidence.plan.target.address = here();
    count_on(&mut evidence, "throttling", "core_throttles", 1);
    remedy("EN-02", &evidence)
}

fn threads(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "SMT";
    let [cpus, cores] = ["cpus", "cores"].map(|name| machine.number("cpu", name));
    let (Some(cpus), Some(cores)) = (cpus, cores) else { return unavailable("LD-08", WHAT, machine.why("cpu")) };
    if cpus <= cores {
        return fine("LD-08", WHAT, format!("off: {cpus} CPUs are as many cores"));
    }
    let found = format!("on: {cpus} CPUs are {cores} cores, and two threads of one take each other's time");
    let advice = "keep client and server on different cores: --cpus, and taskset for the server".to_owned();
    row("LD-08", WHAT, CheckState::Note, found, Some(advice))
}

fn pages(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "huge pages";
    let Some(modes) = machine.fact("hugepages", "transparent_enabled") else {
        return unavailable("EN-05", WHAT, machine.why("hugepages"));
    };
    let chosen = modes.split(' ').find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']')).unwrap_or(modes);
    if chosen != "always" {
        return fine("EN-05", WHAT, format!("transparent: {chosen}"));
    }
    let found = "transparent: always: memory is moved into large pages at moments that nobody chose";
    let advice = "the same on all machines that are compared; where tails matter: \
                  echo madvise >/sys/kernel/mm/transparent_hugepage/enabled";
    row("EN-05", WHAT, CheckState::Note, found, Some(advice.to_owned()))
}

fn quota(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "CPU quota";
    let Some(quota) = machine.gauge(OWN_GROUP, "cpu_quota_ns_per_s") else {
        // A group without a quota is known by what else it tells.
        return match machine.unseen(OWN_GROUP) {
            Some(why) => unavailable("CL-10", WHAT, why),
            None => fine("CL-10", WHAT, "none"),
        };
    };
    let cpus = quota as f64 / NS_PER_S as f64;
    let threads = machine.plan.threads;
    let found = format!("{cpus:.2} CPUs for {threads} load threads");
    let mut evidence = machine.evidence();
    // The rule's remedy is that of a client which is stopped half of the time.
    count_on(&mut evidence, OWN_GROUP, "throttled_periods", 1);
    let half_ns = evidence.measured_ns / 2;
    count_on(&mut evidence, OWN_GROUP, "throttled_ns", half_ns);
    let advice = remedy("CL-10", &evidence);
    let state = if cpus < f64::from(threads) { CheckState::Warning } else { CheckState::Note };
    row("CL-10", WHAT, state, found, advice)
}

fn hypervisor(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "hypervisor";
    let Some(is_virtual) = machine.fact("hypervisor", "virtual_machine") else {
        return unavailable("EN-01", WHAT, machine.why("hypervisor"));
    };
    if is_virtual == "no" {
        return fine("EN-01", WHAT, "none: this is no virtual machine");
    }
    let names = ["sys_vendor", "product_name"].map(|name| machine.fact("hypervisor", name));
    let names: Vec<&str> = names.into_iter().flatten().collect();
    let whose = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let found = format!("a virtual machine{whose}: other virtual machines on its host can distort the results");
    let advice = "repeat the measurement at other hours; for numbers to publish, use a physical machine".to_owned();
    row("EN-01", WHAT, CheckState::Note, found, Some(advice))
}

fn stolen(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "steal";
    let rule = if machine.is_target_here { "EN-01" } else { "CL-08" };
    let evidence = machine.evidence();
    let Some(seen) = evidence.observed.as_ref().and_then(|observed| observed.machine.as_ref()) else {
        return unavailable(rule, WHAT, not_seen(machine));
    };
    let found = format!("{} of the CPU time in {}", percent(seen.steal_mean), length(machine));
    judged(rule, WHAT, found, ask(rule, &evidence))
}

fn background(machine: &Machine<'_>) -> CheckRow {
    const WHAT: &str = "other programs";
    // Whatever starves the client of a server that is elsewhere does so here.
    let rule = if machine.is_target_here { "EN-03" } else { "CL-09" };
    let mut evidence = machine.evidence();
    evidence.plan.target.address = here();
    let observed = evidence.observed.as_ref();
    let Some((seen, others)) = observed.and_then(|seen| Some((seen.machine.as_ref()?, seen.others.as_ref()?))) else {
        return unavailable(rule, WHAT, not_seen(machine));
    };
    let share = |cores: f64| percent(cores / f64::from(seen.cpus.max(1)));
    let named = others.processes.iter().take(NAMED_MAX).map(|one| format!("{} {}", one.name, share(one.cpu_cores)));
    let named: Vec<_> = named.collect();
    let names = if named.is_empty() { String::new() } else { format!(": {}", list(&named)) };
    let found = format!("{} of the CPUs in {}{names}", share(others.cpu_cores), length(machine));
    judged(rule, WHAT, found, ask("EN-03", &evidence))
}

fn length(machine: &Machine<'_>) -> String {
    time(machine.length_ns() as f64)
}

fn not_seen(machine: &Machine<'_>) -> String {
    machine.unseen("machine").unwrap_or_else(|| "there are too many processes for so short a look".to_owned())
}
