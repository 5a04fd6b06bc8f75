//! EN-03: CPU time of other processes.

use crate::facts::disturbed::{self, INVALID_SHARE, Taken, account};
use crate::text::{list, observable, program};
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{
    Basis, Cause, Evidence, FindingState, MachineObserved, OTHER_VARIANT, OtherObserved, OthersObserved, known_program,
};

const WARNING_SHARE: f64 = 0.02;
/// Of the CPUs that the server may use, where these are a few.
const WARNING_OF_SERVERS: f64 = 0.05;
const BOUND_SHARE: f64 = 0.10;
/// Below it the server found a free CPU whenever it wanted one.
const BUSY_SHARE: f64 = 0.8;
/// Processes that are named.
const NAMED_MAX: usize = 3;
/// Does the network work of this very load.
const OWN_WORK: &str = "ksoftirqd/";
/// Threads of the kernel that every machine has a little to do for.
const KERNEL: [&str; 5] = ["kworker/", "kdamond", "rcu_", "migration/", "kcompactd"];
/// What a second one of this program is called.
const PLIMSOLL: &str = "plimsoll";
/// Programs that servers are written for, beside those that are servers themselves; a version may follow.
const RUNTIMES: [&str; 6] = ["java", "node", "php", "postgres", "python", "ruby"];
/// Share of what others used from which on the programs together took most of it.
const MOST: f64 = 0.5;
/// By as much the parts may differ from the sum, which is counted apart from them.
const ROUNDED: f64 = 0.02;
const CAUSES: &[Cause] = &[Cause::OtherPrograms, Cause::ServerWait];

pub(crate) const RULE: Rule = Rule {
    id: "EN-03",
    title: "background load",
    detects: "Other processes used the server's CPUs during the window.",
    fires: &[
        Fires::invalid(
            "Other processes used more than 75 % of the CPUs that the server may use, which were more than 80 % \
             busy; or a thread of the server waited because of them for more than 75 % of the remaining time.",
        ),
        Fires::bound(
            "Other processes used more than 10 % of the CPUs that the server may use, which were more than 80 % \
             busy; a thread of the server waited because of them for more than 5 % of the remaining time; or this \
             user cannot see whether processes that used more than 2 % of all CPUs work for the server.",
        ),
        Fires::warning(
            "On the server's CPUs other processes used more than 2 % of all CPUs, or more than 5 % of those that the \
             server may use.",
        ),
        Fires::note(
            "Other processes used less, but slices were set aside for it; or they used more, but a pool of workers \
             that mostly wait was the bottleneck and the CPUs had room.",
        ),
    ],
    remarks: "Other processes are neither the server, a companion or the load generator, nor connected to the \
              server. Slices of 100 ms in which they used at least 30 ms, or kept a thread of the server waiting for \
              at least 10 ms, are set aside first; only what is outside of these counts. A kernel thread counts if \
              it used more than 2 % of all CPUs.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Machine(Whose::Servers), Need::OtherProcesses],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let observed = evidence.observed.as_ref();
    let Some((machine, others)) = observed.and_then(|seen| Some((seen.machine.as_ref()?, seen.others.as_ref()?)))
    else {
        return Outcome::UNMET;
    };
    let place = Place::of(evidence, machine);
    let found = of_foreign(evidence, others, &place);
    match &found {
        Outcome::Fired(finding) if finding.state >= FindingState::Bound => found,
        _ => of_undecided(evidence, others, place.all).unwrap_or(found),
    }
}

/// The CPUs that the server may use, beside all of the machine.
struct Place {
    /// CPUs of the machine.
    all: f64,
    /// Those that the server may use.
    servers: f64,
    /// Busy share of them.
    busy: f64,
    /// Mean number of them that others can have had; none where the server may use all of the machine.
    had_by_others: Option<f64>,
}

impl Place {
    fn of(evidence: &Evidence, machine: &MachineObserved) -> Self {
        let all = f64::from(machine.cpus.max(1));
        let whole = Self { all, servers: all, busy: machine.busy_mean, had_by_others: None };
        let Some(seen) = evidence.observed.as_ref() else { return whole };
        let allowed = seen.allowed_cpus();
        let busy: Option<f64> = allowed.iter().map(|cpu| machine.busy_of(*cpu)).sum();
        let is_confined = !allowed.is_empty() && allowed.len() < machine.cpus as usize;
        let Some((busy, own)) = busy.zip(seen.server_cpu_cores()).filter(|_| is_confined) else { return whole };
        // Interrupts and the hypervisor are no programs.
        let none: f64 =
            allowed.iter().filter_map(|cpu| machine.shares_of(*cpu)).map(|shares| shares.softirq + shares.steal).sum();
        let servers = allowed.len() as f64;
        Self { all, servers, busy: busy / servers, had_by_others: Some((busy - own - none).max(0.0)) }
    }

    /// Share of the server's CPUs from which on there is a warning: of few of many CPUs a little more is what any machine does.
    fn warning_share(&self) -> f64 {
        (WARNING_SHARE * self.all / self.servers).min(WARNING_OF_SERVERS)
    }

    /// "the CPUs", or which of them.
    const fn words(&self) -> &'static str {
        if self.had_by_others.is_some() { "the server's CPUs" } else { "the CPUs" }
    }
}

/// What programs did that have nothing to do with the server.
fn of_foreign(evidence: &Evidence, others: &OthersObserved, place: &Place) -> Outcome {
    let (noise, foreign): (Vec<_>, Vec<_>) = others.processes.iter().partition(|other| is_noise(other, place.all));
    // Those that are too small to be named are in the total.
    let cores = others.cpu_cores - noise.iter().map(|other| other.cpu_cores).sum::<f64>();
    let background = place.had_by_others.map_or(cores, |had| had.min(cores)) / place.servers;
    let left = left(evidence, background, place.servers);
    let waited = disturbed::left(evidence, &[Cause::ServerWait]).unwrap_or(0.0);
    let of_named: f64 = foreign.iter().map(|other| other.cpu_cores).sum();
    // On which CPUs a program ran is not known, so its part may be of others than the server's.
    let (which, named) = match of_named <= background * place.servers * (1.0 + ROUNDED) {
        true => (place.words(), named(&foreign, place.servers)),
        false => (place.words(), format!("of the whole machine: {}", named(&foreign, place.all))),
    };
    let mut facts = format!("other processes used {} of {which} ({named})", percent(background));
    if waited > WARNING_SHARE {
        facts +=
            &format!(", and a thread of the server waited for a CPU meanwhile for {} of the time", percent(waited));
    }
    let remedy = remedy(&foreign);
    // Where CPUs are idle the server found a free one whenever it wanted one.
    let bound_share = if place.busy > BUSY_SHARE { BOUND_SHARE } else { 1.0 };
    let taken = Taken::new(RULE.id, CAUSES, left, facts, &remedy);
    if waited > taken.bound_share {
        return Taken { share: waited.max(left), ..taken }.outcome(evidence);
    }
    Taken { warning_share: place.warning_share(), bound_share, ..taken }.outcome(evidence)
}

/// What is to be done about the programs that took most of it.
fn remedy(foreign: &[&OtherObserved]) -> String {
    // What the kernel does for a disk, a device or memory can be neither ended nor be the server's.
    let (kernel, mut programs): (Vec<&OtherObserved>, Vec<&OtherObserved>) =
        foreign.iter().copied().partition(|other| begins(&KERNEL, &other.name));
    programs.sort_by(|a, b| b.cpu_cores.total_cmp(&a.cpu_cores));
    let Some(first) = programs.first() else {
        return kernel.first().map_or_else(
            || "end other programs on this machine, and measure again".to_owned(),
            |thread| format!("measure again when the kernel has less to do: {} is a thread of its own", thread.name),
        );
    };
    let name = program(&first.name);
    if name == PLIMSOLL {
        return "another plimsoll is running on this machine: wait until it has ended, and measure again".to_owned();
    }
    let takers = takers(&programs);
    let they = if takers.len() == 1 { "it has" } else { "they have" };
    let end = format!("end {} or wait until {they} ended, and measure again", list(&takers));
    match is_server(name) {
        true => format!("{end}; if {name} works for the server, monitor it: --observe {}", observable(&first.name)),
        false => end,
    }
}

/// Names of the programs that together took most of what these took, the largest first.
fn takers(programs: &[&OtherObserved]) -> Vec<String> {
    let all: f64 = programs.iter().map(|other| other.cpu_cores).sum();
    let mut taken = 0.0;
    let is_needed = |other: &&&OtherObserved| {
        let is_needed = taken < MOST * all;
        taken += other.cpu_cores;
        is_needed
    };
    programs.iter().take(NAMED_MAX).take_while(is_needed).map(|other| program(&other.name).to_owned()).collect()
}

/// True if programs of this name serve: shells, compilers, tests and browsers do not.
fn is_server(name: &str) -> bool {
    let is_runtime = |runtime: &&'static str| {
        name.strip_prefix(*runtime).is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.'))
    };
    known_program(name).is_some() || RUNTIMES.iter().any(is_runtime)
}

/// What programs did of which it cannot be seen whether they work for the server; none where they did next to nothing.
fn of_undecided(evidence: &Evidence, others: &OthersObserved, cpus: f64) -> Option<Outcome> {
    let undecided = &others.undecided;
    let share = undecided.iter().map(|other| other.cpu_cores / cpus).sum::<f64>();
    let first = undecided.first().filter(|_| share > WARNING_SHARE)?;
    let names = named(&undecided.iter().collect::<Vec<_>>(), cpus);
    let facts = format!(
        "{names} of the CPUs: this user cannot see whether these programs work for the server; if they do not, they have \
         taken CPU time from it{}",
        certain(others, cpus)
    );
    let remedy = match program(&first.name) {
        name if is_server(name) => format!(
            "run plimsoll as root; or, if {name} works for the server, monitor it: --observe {}",
            observable(&first.name)
        ),
        name => format!("run plimsoll as root, or end {name} and measure again"),
    };
    // A backend of another user may use nearly all of the CPUs: that it may be one is no reason to give the numbers up.
    let taken = Taken::new(RULE.id, CAUSES, share.min(INVALID_SHARE), facts, &remedy);
    Some(Taken { warning_share: WARNING_SHARE, bound_share: WARNING_SHARE, ..taken }.outcome(evidence))
}

/// Those beside the undecided ones that do not work for the server, from a share on that is told.
fn certain(others: &OthersObserved, cpus: f64) -> String {
    let is_told = |other: &&OtherObserved| !is_noise(other, cpus) && other.cpu_cores / cpus > WARNING_SHARE;
    let certain: Vec<_> = others.processes.iter().filter(is_told).collect();
    if certain.is_empty() {
        return String::new();
    }
    format!("; {} of the CPUs went to programs that do not work for it", named(&certain, cpus))
}

/// True for what is measured at the same time, which has CPUs of its own, and for what the kernel does on every machine.
fn is_noise(other: &OtherObserved, cpus: f64) -> bool {
    begins(&[OWN_WORK, OTHER_VARIANT], &other.name)
        || (begins(&KERNEL, &other.name) && other.cpu_cores / cpus <= WARNING_SHARE)
}

/// Share of the CPUs that others used, of `background` in all, without what is set aside. It is a share of the whole window:
/// by how little the two counts differ would be a lot of a short rest.
fn left(evidence: &Evidence, background: f64, cpus: f64) -> f64 {
    let Some(seen) = account(evidence, CAUSES).filter(|seen| seen.basis == Basis::Clean) else { return background };
    let aside = seen.set_aside_others_ns as f64 / (seen.clean_ns + seen.set_aside_ns).max(1) as f64;
    // Recordings of before tell only what the CPU lost that lost most.
    let of_one = seen.taken.get(&CAUSES[0]).unwrap_or(&0.0) - seen.left.get(&CAUSES[0]).unwrap_or(&0.0);
    (background - aside.max(of_one) / cpus).max(0.0)
}

fn begins(names: &[&str], name: &str) -> bool {
    names.iter().any(|begin| name.starts_with(begin))
}

/// The first few with their shares.
fn named(processes: &[&OtherObserved], cpus: f64) -> String {
    let one = |other: &&OtherObserved| format!("{} {}", other.name, percent(other.cpu_cores / cpus));
    let all: Vec<_> = processes.iter().take(NAMED_MAX).map(one).collect();
    if all.is_empty() { "many small ones".to_owned() } else { list(&all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, state};
    use model::{CpuShares, Disturbance, NS_PER_S, OthersObserved, Stretch};

    /// On 2 CPUs.
    fn with(others: &[(&str, f64)], busy_mean: f64) -> Evidence {
        let mut evidence = clean_run();
        let observed = evidence.observed.as_mut().expect("seen");
        let machine = observed.machine.as_mut().expect("seen");
        (machine.cpus, machine.busy_mean) = (2, busy_mean);
        let processes: Vec<_> =
            others.iter().map(|(name, cores)| OtherObserved { name: (*name).to_owned(), cpu_cores: *cores }).collect();
        observed.server.as_mut().expect("seen").cpus.clear();
        let cpu_cores = others.iter().map(|(_, cores)| cores).sum();
        observed.others = Some(OthersObserved { cpu_cores, processes, undecided: Vec::new() });
        evidence
    }

    #[test]
    fn shares_of_all_processors_decide_and_a_machine_with_idle_ones_is_not_spoilt() {
        assert_eq!(judged(&RULE, &with(&[("sshd", 0.02), ("cron", 0.02)], 0.9)), Outcome::Pass);
        let found = finding(judged(&RULE, &with(&[("stress-ng", 0.19), ("sh", 0.001)], 0.9)));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.contains("used 9.6 % of the CPUs (stress-ng 9.5 % and sh"), "{}", found.message);
        assert_eq!(state(&judged(&RULE, &with(&[("stress-ng", 0.5)], 0.9))), Some(FindingState::Bound));
        assert_eq!(state(&judged(&RULE, &with(&[("stress-ng", 0.5)], 0.7))), Some(FindingState::Warning));
    }

    /// A build on 12 of 16 CPUs, and the server on two others: "other processes used 75 % of the CPUs", BOUND.
    #[test]
    fn what_runs_on_cpus_that_the_server_may_not_use_is_none_of_its_concern() {
        let mut evidence = with(&[("cc1plus", 12.0)], 0.97);
        let observed = evidence.observed.as_mut().expect("seen");
        let machine = observed.machine.as_mut().expect("seen");
        machine.cpus = 16;
        machine.cpu_busy_mean = vec![1.0; 16];
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound));
        let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
        (server.cpus, server.cpu_cores) = (vec![0, 1], 1.99);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        server_uses(&mut evidence, 1.0);
        assert_ne!(judged(&RULE, &evidence), Outcome::Pass, "something has half of them");
    }

    /// A program that takes a fifth of the only CPU that the server may use was 8 % "of the CPUs", VALID, and the goodput was 15 % too
    /// low.
    #[test]
    fn shares_are_of_the_cpus_that_the_server_may_use() {
        let mut evidence = with(&[("php-fpm", 0.2)], 0.6);
        let observed = evidence.observed.as_mut().expect("seen");
        let machine = observed.machine.as_mut().expect("seen");
        (machine.cpu_busy_mean, machine.cpu_shares) = (vec![1.0, 0.2], vec![CpuShares::default(); 2]);
        let server = observed.server.as_mut().expect("seen");
        (server.cpus, server.cpu_cores) = (vec![0], 0.8);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound, "{}", found.message);
        assert!(
            found.message.starts_with("other processes used 20 % of the server's CPUs (php-fpm 20 %)"),
            "{found:?}"
        );
        // Interrupts of the load are no program.
        let machine = evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen");
        machine.cpu_shares[0].softirq = 0.19;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    fn server_uses(evidence: &mut Evidence, cores: f64) {
        evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen").cpu_cores = cores;
    }

    #[test]
    fn the_kernel_has_a_little_to_do_and_the_load_its_interrupts() {
        let noise = [("kdamond.0", 0.039), ("kworker/0:1-events", 0.03), ("ksoftirqd/1", 0.6)];
        assert_eq!(judged(&RULE, &with(&noise, 0.9)), Outcome::Pass);
        assert_eq!(judged(&RULE, &with(&[("other variant: php-fpm", 0.9)], 0.9)), Outcome::Pass, "a duet");
        assert_eq!(state(&judged(&RULE, &with(&[("kdamond.0", 0.1)], 0.9))), Some(FindingState::Warning));
    }

    fn remedy_of(others: &[(&str, f64)]) -> String {
        finding(judged(&RULE, &with(others, 0.9))).remedy
    }

    #[test]
    fn advice_has_names_that_can_be_typed() {
        let worker = ("kworker/0:1-events", 0.6);
        assert!(remedy_of(&[("php-fpm8.2 (ended children)", 1.2)]).ends_with("--observe php-fpm8.2"));
        assert!(remedy_of(&[worker, ("nginx", 0.5)]).ends_with("--observe nginx"));
        assert!(remedy_of(&[worker]).ends_with("kworker/0:1-events is a thread of its own"));
        assert_eq!([observable("tmux: server"), observable("it's")], ["'tmux: server'", r"'it'\''s'"]);
    }

    /// "Another plimsoll measures on this machine", of one with 2 %, where a test binary took 60 %; "--observe bash".
    #[test]
    fn advice_was_about_a_program_that_had_taken_little() {
        let found = remedy_of(&[("plimsoll", 0.04), ("end_to_end-7b1c", 1.2)]);
        assert_eq!(found, "end end_to_end-7b1c or wait until it has ended, and measure again");
        let found =
            remedy_of(&[("bash (ended children)", 0.4), ("cc1plus", 0.5), ("chromium", 0.4), ("plimsoll", 0.1)]);
        assert_eq!(found, "end cc1plus and bash or wait until they have ended, and measure again");
        let found = remedy_of(&[("plimsoll", 0.5), ("cc1plus", 0.2)]);
        assert_eq!(found, "another plimsoll is running on this machine: wait until it has ended, and measure again");
    }

    /// `rustc` ran on CPUs that the server may not use as well: "used 20 % of the server's CPUs (rustc 180 %)".
    #[test]
    fn shares_of_named_programs_added_up_to_more_than_the_whole() {
        let mut evidence = with(&[("rustc", 1.8)], 0.6);
        let observed = evidence.observed.as_mut().expect("seen");
        let machine = observed.machine.as_mut().expect("seen");
        (machine.cpu_busy_mean, machine.cpu_shares) = (vec![1.0, 0.2], vec![CpuShares::default(); 2]);
        let server = observed.server.as_mut().expect("seen");
        (server.cpus, server.cpu_cores) = (vec![0], 0.8);
        let found = finding(judged(&RULE, &evidence));
        let words = "other processes used 20 % of the server's CPUs (of the whole machine: rustc 90 %)";
        assert!(found.message.starts_with(words), "{}", found.message);
    }

    /// Programs of these names were "may work for this server", a note, and a load beside them ended VALID with 1,664/s of 2,000/s.
    #[test]
    fn a_program_is_no_part_of_the_server_by_its_name() {
        for name in ["php-fpm8.2", "python3.11", "node", "java", "ruby", "mariadbd", "nginx", "postgres"] {
            let found = finding(judged(&RULE, &with(&[(name, 0.5)], 0.9)));
            assert_eq!(found.state, FindingState::Bound, "{name}");
            assert!(found.remedy.ends_with(&format!("--observe {name}")), "{}", found.remedy);
        }
        let mut evidence = clean_run();
        evidence.observed.as_mut().expect("seen").others = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    /// A user without root was told that the nginx under test is a stranger, and that the numbers stand.
    #[test]
    fn where_it_is_not_seen_who_works_for_the_server_the_numbers_are_bounds() {
        let mut evidence = with(&[("cron", 0.01)], 0.5);
        let undecided = |evidence: &mut Evidence, cpu_cores| {
            let others = evidence.observed.as_mut().and_then(|seen| seen.others.as_mut()).expect("seen");
            others.undecided = vec![OtherObserved { name: "mariadbd".to_owned(), cpu_cores }];
        };
        undecided(&mut evidence, 0.02);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        undecided(&mut evidence, 0.5);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(!found.message.contains("do not work for it"), "cron uses next to nothing: {}", found.message);
        // A program of this user's own was left out beside those of others.
        let others = evidence.observed.as_mut().and_then(|seen| seen.others.as_mut()).expect("seen");
        others.processes = vec![OtherObserved { name: "python3".to_owned(), cpu_cores: 0.12 }];
        let found = finding(judged(&RULE, &evidence));
        let words = "; python3 6.0 % of the CPUs went to programs that do not work for it";
        assert!(found.message.contains(words), "{}", found.message);
        undecided(&mut evidence, 1.9);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound), "it may be most of the server");
        assert!(found.message.starts_with("mariadbd 25 % of the CPUs: this user cannot see"), "{}", found.message);
        assert!(found.remedy.contains("as root") && found.remedy.ends_with("--observe mariadbd"), "{}", found.remedy);
    }

    #[test]
    fn a_server_that_waits_for_strangers_has_bounds_also_where_cpus_are_idle() {
        let mut evidence = with(&[("backup", 0.1)], 0.6);
        let waited = |share| Disturbance { left: [(Cause::ServerWait, share)].into(), ..Disturbance::default() };
        evidence.disturbance = Some(waited(0.04));
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        evidence.disturbance = Some(waited(0.2));
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.contains("waited for a CPU meanwhile for 20 % of the time"), "{}", found.message);
    }

    /// Eight compilers for 6 s of 30, all of it set aside, were told as 17 % of remaining use: "at least".
    #[test]
    fn what_was_set_aside_on_eight_cpus_is_no_background_load() {
        let mut evidence = with(&[("cc1plus", 1.6)], 0.9);
        evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen").cpus = 8;
        let stretch = Stretch { from_ns: 0, to_ns: 6 * NS_PER_S, cause: Cause::OtherPrograms, taken_ns: 100_000_000 };
        let seen = Disturbance {
            basis: Basis::Clean,
            clean_ns: 24 * NS_PER_S,
            set_aside_ns: 6 * NS_PER_S,
            set_aside_others_ns: 47 * NS_PER_S,
            taken: [(Cause::OtherPrograms, 0.2)].into(),
            stretches: vec![stretch],
            ..Disturbance::default()
        };
        evidence.disturbance = Some(seen.clone());
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Note, "{}", found.message);
        assert!(found.message.contains("6.00 s of 30.0 s set aside"), "{}", found.message);
        // What they use beside it remains.
        evidence.disturbance = Some(Disturbance { set_aside_others_ns: 24 * NS_PER_S, ..seen.clone() });
        let found = finding(judged(&RULE, &evidence));
        assert_eq!((found.state, found.evidence["share"]), (FindingState::Warning, 0.1));
        evidence.disturbance = Some(Disturbance { set_aside_others_ns: 0, ..seen });
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound), "a recording of before");
    }
}
