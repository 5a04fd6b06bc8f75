//! From counted stacks to folded lines and shares.

use super::debian;
use super::reader::NameReader;
use super::sampler::FREQUENCY_HZ;
use super::stacks::{Kind, Place, Recorded};
use super::symbols::{Frame, Known, Symbols};
use super::tree::Tree;
use model::{NS_PER_S, ProcessRole, Profiled, ProfiledFunction, ProfiledProcess};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Functions that are told by name.
const FUNCTIONS_MAX: usize = 20;
/// Least share of the samples that a file must have for its missing symbols to be worth a hint.
const HINT_SHARE_MIN: f64 = 0.01;
/// A chain with no more frames of the program than these has lost its callers: with frame pointers it would go on to where
/// the thread began.
const SHORT_CHAIN: usize = 2;
/// The process that runs when no other does. What is counted for it is interrupts.
const IDLE: u32 = 0;
const INTERRUPTS: &str = "(interrupts)";
/// The kernel's soft interrupts, before and since 6.11.
const SOFTIRQ: [&str; 2] = ["__do_softirq_[k]", "handle_softirqs_[k]"];
/// Functions of the kernel in which a thread waits for work: for events, connections, signals.
const FOR_WORK: [&str; 6] = [
    "ep_poll_[k]",
    "do_epoll_wait_[k]",
    "inet_csk_accept_[k]",
    "unix_accept_[k]",
    "sigsuspend_[k]",
    "do_sigtimedwait_[k]",
];
/// Functions that an interrupt of an idle CPU passes through.
const INTERRUPT: [&str; 2] = ["_interrupt_[k]", "irq_exit_rcu_[k]"];

/// Files without names of functions whose reasons are told.
const UNREAD_MAX: usize = 8;

/// What of a recording is wanted.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The processes that are the server, with their descendants.
    pub server: BTreeSet<u32>,
    /// What it hands requests to, with their descendants.
    pub companions: BTreeSet<u32>,
    /// True if all other processes are left out.
    pub only_server: bool,
    /// What the own process is to be called.
    pub own_name: &'static str,
}

/// A recording, named.
#[derive(Debug)]
pub struct Profile {
    /// Shares and figures.
    pub profiled: Profiled,
    /// One line for each stack: process and functions from the outside in, separated by semicolons, and the samples.
    pub folded: String,
    /// The same of where the server and its companions waited, in ns over the whole recording; waiting for work is left out.
    pub waits: String,
}

/// What is counted over the stacks of a scope.
#[derive(Default)]
struct Sums {
    lines: BTreeMap<String, u64>,
    processes: BTreeMap<String, ProcessSum>,
    functions: BTreeMap<(String, String), u64>,
    files: BTreeMap<String, u64>,
    samples: u64,
    idle: u64,
    symbols: u64,
    files_only: u64,
    generated: u64,
    kernel: u64,
    softirq: u64,
}

#[derive(Default)]
struct ProcessSum {
    pids: BTreeSet<u32>,
    role: ProcessRole,
    samples: u64,
    symbols: u64,
    files_only: u64,
    kernel: u64,
    softirq: u64,
    /// Samples in which a function of the program is known, and those of them whose callers are lost.
    in_program: u64,
    short_chains: u64,
}

impl Recorded {
    /// Names everything; program files are read by `reader`. Takes seconds when there is much to read; belongs after the load.
    #[must_use]
    pub fn resolve(mut self, scope: &Scope, reader: &NameReader) -> Profile {
        let mut tree = std::mem::take(&mut self.stacks.tree);
        let mut roles: BTreeMap<u32, ProcessRole> = BTreeMap::new();
        let stacks: Vec<_> = self
            .stacks
            .each(Kind::Running)
            .filter(|(pid, ..)| {
                let role = *roles.entry(*pid).or_insert_with(|| self.role(*pid, &mut tree, scope));
                role == ProcessRole::Server || !scope.only_server
            })
            .collect();
        let waiters: BTreeSet<u32> = scope.server.union(&scope.companions).copied().collect();
        let waits: Vec<_> = self.stacks.each(Kind::Waiting).filter(|(pid, ..)| tree.is_of(*pid, &waiters)).collect();
        let all = stacks.iter().chain(&waits);
        let places = all.flat_map(|(pid, places, _)| places.iter().map(|place| (*pid, *place)));
        let symbols = Symbols::new(places, &self.stacks.maps, self.names, reader);
        let mut sums = Sums::default();
        for (pid, places, count) in &stacks {
            let process = (self.name(*pid, &tree, scope), roles[pid]);
            sums.add(*pid, process, &frames(&symbols, *pid, places), *count);
        }
        let mut waited = BTreeMap::new();
        for (pid, places, ns) in &waits {
            add_wait(&mut waited, &self.name(*pid, &tree, scope), &frames(&symbols, *pid, places), *ns);
        }
        let mut profile = Profile { waits: folded(&waited), ..self.profile(sums) };
        profile.profiled.hints.splice(..0, shortened(symbols.unread));
        profile
    }

    /// What a process is called: one word, as in perf's folded stacks.
    fn name(&self, pid: u32, tree: &Tree, scope: &Scope) -> String {
        match pid {
            IDLE => INTERRUPTS.to_owned(),
            pid if pid == self.own => scope.own_name.to_owned(),
            pid => tree.name(pid).replace(|c: char| [' ', ';'].contains(&c) || c.is_control(), "_"),
        }
    }

    fn role(&self, pid: u32, tree: &mut Tree, scope: &Scope) -> ProcessRole {
        match pid {
            IDLE => ProcessRole::Interrupts,
            pid if tree.is_of(pid, &scope.server) => ProcessRole::Server,
            pid if tree.is_of(pid, &scope.companions) => ProcessRole::Companion,
            pid if pid == self.own => ProcessRole::Own,
            _ => ProcessRole::Other,
        }
    }

    fn profile(&self, sums: Sums) -> Profile {
        let share = |samples: u64| if sums.samples == 0 { 0.0 } else { samples as f64 / sums.samples as f64 };
        let machine_ns = self.sampled_ns.saturating_mul(u64::from(self.cpus)).max(1);
        let profiled = Profiled {
            event: "cpu-clock".into(),
            frequency_hz: FREQUENCY_HZ,
            sampled_ns: self.sampled_ns,
            cpus: self.cpus,
            samples: sums.samples,
            idle_samples: sums.idle,
            lost_samples: self.stacks.lost,
            symbol_share: share(sums.symbols),
            resolved_share: share(sums.symbols + sums.files_only),
            kernel_share: share(sums.kernel),
            softirq_share: share(sums.softirq),
            reader_share: self.stacks.reader_cpu_ns as f64 / machine_ns as f64,
            hints: hints(&sums).into_iter().chain(self.unseen_waits()).collect(),
            functions: functions(&sums),
            processes: processes(&sums),
            ..Profiled::default()
        };
        Profile { profiled, folded: folded(&sums.lines), waits: String::new() }
    }

    /// What is missing of the waiting, if anything.
    fn unseen_waits(&self) -> Option<String> {
        match (&self.no_waits, self.stacks.lost_waits) {
            (Some(why), _) => Some(format!("what threads waited for is told without functions: {why}")),
            (None, 0) => None,
            (None, lost) => Some(format!(
                "{lost} records of threads that left a CPU or came back were lost: the time they waited is told too short"
            )),
        }
    }
}

fn folded(lines: &BTreeMap<String, u64>) -> String {
    lines.iter().map(|(line, count)| format!("{line} {count}\n")).collect()
}

/// Adds the time in which a stack waited, unless that was for work.
fn add_wait(lines: &mut BTreeMap<String, u64>, process: &str, frames: &[&Frame], ns: u64) {
    let mut names = frames.iter().flat_map(|frame| &frame.names);
    if names.all(|name| !FOR_WORK.contains(&name.as_str())) {
        *lines.entry(line(process, frames)).or_default() += ns;
    }
}

impl Sums {
    /// Counts the samples of a stack; `frames` innermost first.
    fn add(&mut self, pid: u32, (process, role): (String, ProcessRole), frames: &[&Frame], count: u64) {
        let names = || frames.iter().flat_map(|frame| &frame.names);
        let is_softirq = names().any(|name| SOFTIRQ.contains(&name.as_str()));
        let is_interrupt = is_softirq || names().any(|name| INTERRUPT.iter().any(|end| name.ends_with(end)));
        if pid == IDLE && !is_interrupt {
            self.idle += count;
            return;
        }
        let innermost = frames.first().and_then(|frame| frame.names.last()).map_or("[unknown]", String::as_str);
        let is_kernel = innermost.ends_with("_[k]");
        self.samples += count;
        let (mut symbols, mut files_only) = (0, 0);
        match frames.first().map(|frame| &frame.known) {
            Some(Known::Symbol) => symbols = count,
            Some(Known::Module(file)) => {
                files_only = count;
                *self.files.entry(file.clone()).or_default() += count;
            }
            Some(Known::Generated) => self.generated += count,
            Some(Known::Stray | Known::Nothing) | None => {}
        }
        self.symbols += symbols;
        self.files_only += files_only;
        self.kernel += if is_kernel { count } else { 0 };
        self.softirq += if is_softirq { count } else { 0 };
        *self.functions.entry((innermost.to_owned(), process.clone())).or_default() += count;
        *self.lines.entry(line(&process, frames)).or_default() += count;
        let of_process = self.processes.entry(process).or_default();
        of_process.pids.insert(pid);
        of_process.role = of_process.role.min(role);
        of_process.symbols += symbols;
        of_process.files_only += files_only;
        of_process.samples += count;
        of_process.kernel += if is_kernel { count } else { 0 };
        of_process.softirq += if is_softirq { count } else { 0 };
        match program_frames(frames) {
            0 => {}
            n => {
                of_process.in_program += count;
                of_process.short_chains += if n <= SHORT_CHAIN { count } else { 0 };
            }
        }
    }
}

/// How many frames of a chain are code of the program.
fn program_frames(frames: &[&Frame]) -> usize {
    let is_kernel = |frame: &Frame| frame.names.last().is_some_and(|name| name.ends_with("_[k]"));
    let is_code = |frame: &Frame| !matches!(frame.known, Known::Stray | Known::Nothing) && !is_kernel(frame);
    frames.iter().filter(|frame| is_code(frame)).count()
}

/// The folded stack of `frames`, which are innermost first.
fn line(process: &str, frames: &[&Frame]) -> String {
    let mut line = vec![process];
    for frame in frames.iter().rev() {
        // Of a chain without frame pointers whose process has ended dozens of addresses may be unknown.
        let is_named = frame.known == Known::Symbol;
        for name in frame.names.iter().map(String::as_str) {
            if is_named || line.last() != Some(&name) {
                line.push(name);
            }
        }
    }
    line.join(";")
}

fn frames<'a>(symbols: &'a Symbols, pid: u32, places: &[Place]) -> Vec<&'a Frame> {
    places.iter().map(|place| symbols.frame(pid, *place)).collect()
}

fn processes(sums: &Sums) -> Vec<ProfiledProcess> {
    let of = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    let mut processes: Vec<ProfiledProcess> = sums
        .processes
        .iter()
        .map(|(name, sum)| ProfiledProcess {
            name: name.clone(),
            role: sum.role,
            count: sum.pids.len() as u32,
            samples: sum.samples,
            share: of(sum.samples, sums.samples),
            symbol_share: of(sum.symbols, sum.samples),
            resolved_share: of(sum.symbols + sum.files_only, sum.samples),
            kernel_share: of(sum.kernel, sum.samples),
            softirq_share: of(sum.softirq, sum.samples),
            cpu_us_per_good_request: None,
        })
        .collect();
    processes.sort_by_key(|process| Reverse(process.samples));
    processes
}

fn functions(sums: &Sums) -> Vec<ProfiledFunction> {
    let share = |samples: u64| samples as f64 / sums.samples.max(1) as f64;
    let mut functions: Vec<ProfiledFunction> = sums
        .functions
        .iter()
        .map(|((name, process), samples)| ProfiledFunction {
            name: name.clone(),
            process: process.clone(),
            samples: *samples,
            share: share(*samples),
        })
        .collect();
    functions.sort_by_key(|function| Reverse(function.samples));
    functions.truncate(FUNCTIONS_MAX);
    functions
}

/// The first of the reasons why functions have no names: a process may map any number of files that cannot be read.
fn shortened(mut unread: Vec<String>) -> Vec<String> {
    let more = unread.len().saturating_sub(UNREAD_MAX);
    if more > 0 {
        unread.truncate(UNREAD_MAX);
        unread.push(format!("no names came from {more} more {}", if more == 1 { "file" } else { "files" }));
    }
    unread
}

/// What to install or to switch on so that more has a name.
fn hints(sums: &Sums) -> Vec<String> {
    let percent = |samples: u64| samples as f64 * 100.0 / sums.samples.max(1) as f64;
    let worth = |samples: u64| percent(samples) >= HINT_SHARE_MIN * 100.0;
    let mut hints = Vec::new();
    for (file, samples) in sums.files.iter().filter(|(_, samples)| worth(**samples)) {
        let share = percent(*samples);
        hints.push(match debian::debug_package(file) {
            Some(package) => format!(
                "{file} has no symbols for {share:.0} % of the samples: the package {package} (debian-debug archive) \
                 has them"
            ),
            None => format!("{file} has no symbols for {share:.0} % of the samples"),
        });
    }
    if worth(sums.generated) {
        hints.push(format!(
            "{:.0} % of the samples are in code that a program has compiled just in time; it leaves names in \
             /tmp/perf-PID.map when asked to: PHP with opcache.jit_debug=16, node with --perf-basic-prof",
            percent(sums.generated)
        ));
    }
    let servers = sums.processes.iter().filter(|(_, sum)| sum.role.is_serving());
    for (name, sum) in servers.filter(|(_, sum)| worth(sum.samples) && 2 * sum.short_chains > sum.in_program) {
        let share = sum.short_chains as f64 * 100.0 / sum.in_program.max(1) as f64;
        hints.push(format!(
            "in {share:.0} % of the samples of {name} the callers of the innermost function are lost, as its code keeps no \
             frame pointers; built with -fno-omit-frame-pointer (Rust: -C force-frame-pointers=yes) it shows them"
        ));
    }
    hints
}

impl Profile {
    /// How long it sampled; s.
    #[must_use]
    pub fn sampled_s(&self) -> f64 {
        self.profiled.sampled_ns as f64 / NS_PER_S as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::stacks::{Names, Stacks};
    use super::*;

    fn frame(name: &str, known: Known) -> Frame {
        Frame { names: vec![name.into()], known }
    }

    /// A second on two CPUs.
    fn recorded(stacks: Stacks, no_waits: Option<&str>) -> Recorded {
        let (own, names) = (std::process::id(), Names::Running);
        Recorded { stacks, no_waits: no_waits.map(str::to_owned), sampled_ns: NS_PER_S, cpus: 2, own, names }
    }

    fn sums() -> Sums {
        let mut sums = Sums::default();
        let send = frame("tcp_sendmsg_[k]", Known::Symbol);
        let soft = frame("handle_softirqs_[k]", Known::Symbol);
        let main = Frame { names: vec!["main".into(), "run_[i]".into()], known: Known::Symbol };
        let stripped = frame("[nginx]", Known::Module("/opt/nginx".into()));
        let halt = frame("pv_native_safe_halt_[k]", Known::Symbol);
        let jit = frame("[generated]", Known::Generated);
        let nginx = || ("nginx".to_owned(), ProcessRole::Server);
        let interrupts = || (INTERRUPTS.to_owned(), ProcessRole::Interrupts);
        sums.add(10, nginx(), &[&send, &main], 50);
        sums.add(11, nginx(), &[&send, &soft, &send, &main], 20);
        sums.add(11, nginx(), &[&stripped, &stripped, &main], 10);
        sums.add(12, ("php".into(), ProcessRole::Other), &[&jit], 15);
        sums.add(IDLE, interrupts(), &[&send, &soft], 5);
        sums.add(IDLE, interrupts(), &[&halt], 900);
        sums
    }

    #[test]
    fn what_the_server_hands_requests_to_is_its_companion() {
        let recorded = recorded(Stacks::default(), None);
        // Numbers above the largest that Linux gives out.
        let [nginx, fpm, worker, other] = [5_000_000, 5_000_001, 5_000_002, 5_000_003];
        let mut tree = Tree::default();
        tree.forked(worker, fpm);
        let scope = Scope { server: [nginx].into(), companions: [fpm].into(), ..Scope::default() };
        let roles = [nginx, fpm, worker, other, IDLE, recorded.own].map(|pid| recorded.role(pid, &mut tree, &scope));
        assert_eq!(
            roles,
            [
                ProcessRole::Server,
                ProcessRole::Companion,
                ProcessRole::Companion,
                ProcessRole::Other,
                ProcessRole::Interrupts,
                ProcessRole::Own
            ]
        );
    }

    #[test]
    fn waiting_for_work_is_no_waiting() {
        let main = frame("main", Known::Symbol);
        let of = |name| frame(name, Known::Symbol);
        let (poll, sleep) = (of("do_sys_poll_[k]"), of("do_nanosleep_[k]"));
        let mut lines = BTreeMap::new();
        add_wait(&mut lines, "php", &[&poll, &main], 5);
        add_wait(&mut lines, "php", &[&poll, &main], 6);
        add_wait(&mut lines, "php", &[&sleep, &main], 7);
        for work in FOR_WORK {
            add_wait(&mut lines, "php", &[&of(work), &main], 1000);
        }
        assert_eq!(folded(&lines), "php;main;do_nanosleep_[k] 7\nphp;main;do_sys_poll_[k] 11\n");
    }

    #[test]
    fn what_is_not_seen_of_waiting_is_a_hint() {
        let recorded = |no_waits: Option<&str>, lost_waits| {
            let mut stacks = Stacks::default();
            stacks.lost_waits = lost_waits;
            recorded(stacks, no_waits)
        };
        assert_eq!(recorded(None, 0).unseen_waits(), None);
        assert!(recorded(None, 3).unseen_waits().unwrap().starts_with("3 records"));
        assert!(recorded(Some("no such event"), 0).unseen_waits().unwrap().ends_with("no such event"));
    }

    #[test]
    fn shares_are_of_busy_samples_and_idle_ones_stand_apart() {
        let stacks = Stacks::default();
        let recorded = recorded(stacks, None);
        let Profile { profiled, folded, .. } = recorded.profile(sums());
        assert_eq!((profiled.samples, profiled.idle_samples), (100, 900));
        assert_eq!((profiled.symbol_share, profiled.resolved_share), (0.75, 0.85));
        assert_eq!((profiled.kernel_share, profiled.softirq_share), (0.75, 0.25));
        let nginx = &profiled.processes[0];
        assert_eq!((nginx.name.as_str(), nginx.count, nginx.role, nginx.share), ("nginx", 2, ProcessRole::Server, 0.8));
        assert_eq!((nginx.kernel_share, nginx.softirq_share), (0.875, 0.25));
        assert_eq!((nginx.symbol_share, nginx.resolved_share), (0.875, 1.0));
        let top = &profiled.functions[0];
        assert_eq!((top.name.as_str(), top.process.as_str(), top.samples), ("tcp_sendmsg_[k]", "nginx", 70));
        assert_eq!(
            folded.lines().collect::<Vec<_>>(),
            [
                "(interrupts);handle_softirqs_[k];tcp_sendmsg_[k] 5",
                "nginx;main;run_[i];[nginx] 10",
                "nginx;main;run_[i];tcp_sendmsg_[k] 50",
                "nginx;main;run_[i];tcp_sendmsg_[k];handle_softirqs_[k];tcp_sendmsg_[k] 20",
                "php;[generated] 15",
            ]
        );
        let hints = &profiled.hints;
        assert!(hints.len() == 3 && hints[0].contains("/opt/nginx has no symbols for 10 %"), "{hints:?}");
        assert!(hints[1].starts_with("15 % of the samples are in code that"), "{hints:?}");
    }

    #[test]
    fn any_number_of_unread_files_is_told_in_some_lines() {
        let told = |files: usize| shortened((0..files).map(|file| file.to_string()).collect());
        assert_eq!(told(8), ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(told(9)[7..], ["7", "no names came from 1 more file"]);
        assert_eq!((told(5000).len(), told(5000)[8].as_str()), (9, "no names came from 4992 more files"));
    }

    #[test]
    fn a_server_whose_chains_end_at_once_is_told_to_keep_no_frame_pointers() {
        let frames = ["send_[k]", "a", "b", "c"].map(|name| frame(name, Known::Symbol));
        let stray = frame("", Known::Stray);
        let hints_of = |role, short, long| {
            let mut sums = Sums::default();
            // Whatever else is on the stack was taken for a caller.
            sums.add(1, ("httpd".to_owned(), role), &[&frames[0], &frames[1], &stray, &stray], short);
            sums.add(1, ("httpd".to_owned(), role), &frames.iter().collect::<Vec<_>>(), long);
            sums.add(1, ("httpd".to_owned(), role), &[&frames[0]], 1000);
            hints(&sums)
        };
        let told = hints_of(ProcessRole::Server, 90, 10);
        assert!(told.len() == 1 && told[0].starts_with("in 90 % of the samples of httpd the callers"), "{told:?}");
        assert_eq!((hints_of(ProcessRole::Server, 10, 90), hints_of(ProcessRole::Other, 90, 10)), (vec![], vec![]));
    }
}
