//! One sample of the workers: who is there, and what each was doing.

use super::call::{Call, Doing, parse};
use super::classify::{self, CONDITION, End, Lookup, State, Worker};
use super::fold::{Fold, Sample};
use super::peers::Peers;
use super::program::Program;
use super::{Clocks, memory, wchan};
use crate::processes::{read_short, short};
use model::{STOPPED, Scheduled};
use procfs::FromRead;
use procfs::process::Schedstat;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

/// Threads that are asked what they do in one sample. Each costs 10 to 40 µs of CPU time; of more of them each sample has the
/// next ones.
const ASKED_MAX: usize = 64;
/// Processes whose threads are listed in one sample.
const LISTED_MAX: usize = 16;
/// Known processes whose title is read once more in one refresh, and new ones that are taken in.
const RETITLED_MAX: usize = 64;
const JOINING_MAX: usize = 256;

/// The processes to be watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Those of the server and of companions.
    pub(crate) pids: Vec<i32>,
    /// The listening sockets of the target.
    pub(crate) listening: BTreeSet<u64>,
}

/// Workers at the sample before.
#[derive(Debug)]
pub(super) struct Poller {
    programs: BTreeMap<i32, Program>,
    /// Processes that only watch others.
    masters: BTreeSet<i32>,
    /// Masters whose workers have a title, by the title; a place is given away when its master is gone.
    families: BTreeMap<String, Vec<i32>>,
    /// By process and thread.
    threads: BTreeMap<(i32, i32), Thread>,
    peers: Peers,
    monotonic_ns: fn() -> u64,
    /// Which processes are stopped, as far as that was asked in this sample.
    stopped: BTreeMap<i32, bool>,
    /// Whose turn is next: to be asked, to be listed, to be titled.
    asked: usize,
    listed: usize,
    titled: usize,
    /// True if the first sample is over: who comes later has begun.
    is_under_way: bool,
}

#[derive(Debug, Default)]
struct Thread {
    name: String,
    /// True if it was found waiting for a client of its own.
    talks: bool,
    /// True if it was found waiting for anything but a time or a child.
    works: bool,
    /// The scheduler's times of it at the sample before.
    account: Option<Account>,
}

/// What the scheduler had told of a thread at a moment; ns.
#[derive(Clone, Copy, Debug)]
struct Account {
    at_ns: u64,
    ran_ns: u64,
    waited_ns: u64,
    runs: u64,
}

impl Poller {
    pub(super) fn new(clocks: Clocks) -> Self {
        Self {
            programs: BTreeMap::new(),
            masters: BTreeSet::new(),
            families: BTreeMap::new(),
            threads: BTreeMap::new(),
            peers: Peers::new(clocks.thread_cpu_ns),
            monotonic_ns: clocks.monotonic_ns,
            stopped: BTreeMap::new(),
            asked: 0,
            listed: 0,
            titled: 0,
            is_under_way: false,
        }
    }

    /// Takes in the processes of now, once a second.
    pub(super) fn refresh(&mut self, tree: &Tree, fold: &mut Fold) {
        self.peers.refresh(&tree.pids, &tree.listening);
        let now: BTreeSet<i32> = tree.pids.iter().copied().collect();
        // Those that were found as children since are there as long as they live.
        let gone = |pid: &i32| !now.contains(pid) && Program::sample(*pid).is_none();
        let gone: Vec<i32> = self.programs.keys().copied().filter(gone).collect();
        gone.into_iter().for_each(|pid| self.forget(pid, fold));
        for pid in turn(self.programs.keys(), &mut self.titled, RETITLED_MAX) {
            self.join(pid, fold);
        }
        let new: Vec<i32> = now.into_iter().filter(|pid| !self.programs.contains_key(pid)).take(JOINING_MAX).collect();
        new.into_iter().for_each(|pid| self.join(pid, fold));
        self.find_masters();
    }

    /// Looks at the workers, or at as many as a sample may have.
    pub(super) fn sample(&mut self, fold: &mut Fold) {
        self.peers.begin_look();
        self.stopped.clear();
        self.find_children(fold);
        self.find_threads(fold);
        for key in turn(self.threads.keys(), &mut self.asked, ASKED_MAX) {
            self.ask(key, fold);
        }
        // Afterwards, as those that have ended were found by asking.
        for (key, thread) in &self.threads {
            if let Some((program, pool)) = place(&self.programs, *key, thread) {
                fold.present(&pool, &program.name);
            }
        }
        self.is_under_way = true;
    }

    /// Takes in a process, or what has changed of it.
    fn join(&mut self, pid: i32, fold: &mut Fold) {
        let Some(program) = Program::sample(pid) else { return self.forget(pid, fold) };
        match self.programs.get_mut(&pid) {
            Some(known) if known.began == program.began => known.renew(program),
            known => {
                if known.is_some() {
                    self.forget(pid, fold);
                }
                let mut program = program;
                program.family = family(&mut self.families, &self.masters, &program.title, program.ppid);
                self.programs.insert(pid, program);
            }
        }
    }

    fn forget(&mut self, pid: i32, fold: &mut Fold) {
        let threads: Vec<_> = self.threads.range((pid, 0)..=(pid, i32::MAX)).map(|(key, _)| *key).collect();
        threads.into_iter().for_each(|key| self.end(key, fold));
        self.programs.remove(&pid);
        self.masters.remove(&pid);
    }

    /// Not at once when a process has started another: for a moment that is the same program until it becomes its own.
    fn find_masters(&mut self) {
        let says_so = self.programs.iter().filter(|(_, program)| program.is_master()).map(|(pid, _)| *pid);
        let shown = self.programs.values().filter_map(|child| {
            let parent = self.programs.get(&child.ppid)?;
            parent.is_master_of(child).then_some(child.ppid)
        });
        self.masters = says_so.chain(shown).collect();
        for program in self.programs.values_mut() {
            program.family = family(&mut self.families, &self.masters, &program.title, program.ppid);
        }
        let masters = &self.masters;
        self.threads.retain(|(pid, _), _| !masters.contains(pid));
    }

    /// Takes in the processes that were started since the sample before by those that have started others.
    fn find_children(&mut self, fold: &mut Fold) {
        let parents: BTreeSet<i32> =
            self.programs.values().map(|program| program.ppid).chain(self.masters.iter().copied()).collect();
        for parent in parents.into_iter().filter(|pid| self.programs.contains_key(pid)).collect::<Vec<_>>() {
            // A kernel without this list leaves new ones to the refresh.
            let Some(children) = short(&format!("/proc/{parent}/task/{parent}/children")) else { continue };
            let children = String::from_utf8_lossy(&children).into_owned();
            let new = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
            for pid in new.filter(|pid| !self.programs.contains_key(pid)).collect::<Vec<i32>>() {
                self.join(pid, fold);
                if self.programs.get(&pid).is_some_and(Program::is_master) {
                    self.masters.insert(pid);
                }
            }
        }
    }

    /// Takes in threads that have begun, and counts those that have ended.
    fn find_threads(&mut self, fold: &mut Fold) {
        let workers: Vec<i32> = self.programs.keys().copied().filter(|pid| !self.masters.contains(pid)).collect();
        for pid in &workers {
            self.begin((*pid, *pid), fold);
        }
        let several = workers.iter().filter(|pid| self.programs[pid].threads > 1);
        for pid in turn(several, &mut self.listed, LISTED_MAX) {
            let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let now: BTreeSet<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
            let known = self.threads.range((pid, 0)..=(pid, i32::MAX)).map(|(key, _)| *key);
            let ended: Vec<_> = known.filter(|(_, tid)| !now.contains(tid)).collect();
            ended.into_iter().for_each(|key| self.end(key, fold));
            now.into_iter().for_each(|tid| self.begin((pid, tid), fold));
        }
    }

    fn begin(&mut self, key: (i32, i32), fold: &mut Fold) {
        let (pid, tid) = key;
        if self.threads.contains_key(&key) {
            return;
        }
        let name = short(&format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim_end().to_owned();
        let thread = Thread { name, account: self.account(key), ..Thread::default() };
        if let Some((program, pool)) = place(&self.programs, key, &thread)
            && self.is_under_way
        {
            fold.begun(&pool, &program.name);
        }
        self.threads.insert(key, thread);
    }

    fn end(&mut self, key: (i32, i32), fold: &mut Fold) {
        let Some(thread) = self.threads.remove(&key) else { return };
        if let Some((program, pool)) = place(&self.programs, key, &thread) {
            fold.ended(&pool, &program.name);
        }
    }

    /// What a thread is doing.
    fn ask(&mut self, key: (i32, i32), fold: &mut Fold) {
        let (pid, tid) = key;
        let sample = match read_short(&format!("/proc/{pid}/task/{tid}/syscall")) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(self.by_function(key)),
            Err(_) => None,
            Ok(line) => match parse(&String::from_utf8_lossy(&line)) {
                None => Some(Sample::Open),
                Some(Doing::Running) => Some(Sample::Running),
                Some(Doing::Waiting(call)) => self.waiting(key, &call),
            },
        };
        let Some(sample) = sample else {
            // The process as a whole, when it was its first thread; others may outlive that.
            return if pid == tid { self.forget(pid, fold) } else { self.end(key, fold) };
        };
        let now = self.account(key);
        let Some(thread) = self.threads.get_mut(&key) else { return };
        let before = std::mem::replace(&mut thread.account, now);
        if let Some((program, pool)) = place(&self.programs, key, thread) {
            fold.add(&pool, &program.name, sample);
            fold.scheduled(&pool, &program.name, now.zip(before).map(|(now, before)| now.since(before)));
        }
    }

    /// None when the kernel does not tell.
    fn account(&self, (pid, tid): (i32, i32)) -> Option<Account> {
        let told = Schedstat::from_read(&short(&format!("/proc/{pid}/task/{tid}/schedstat"))?[..]).ok()?;
        Some(Account {
            at_ns: (self.monotonic_ns)(),
            ran_ns: told.sum_exec_runtime,
            waited_ns: told.run_delay,
            runs: told.pcount,
        })
    }

    /// None when it has ended.
    fn waiting(&mut self, key: (i32, i32), call: &Call) -> Option<Sample> {
        let (pid, tid) = key;
        // A process that is stopped shows the call in which it was: it looks as if it waited for work.
        if *self.stopped.entry(pid).or_insert_with(|| is_stopped(pid)) {
            let thread = self.threads.get(&key)?;
            return Some(Sample::of(State::Blocked(STOPPED.to_owned()), &thread.name, STOPS, call.name));
        }
        let program = self.programs.get_mut(&pid)?;
        let talks = self.threads.get(&key)?.talks;
        let worker = Worker { style: program.style, leads: pid == tid && program.threads > 1, talks };
        let mut probe = Probe { pid, tid, program, peers: &mut self.peers, talks: false };
        let (state, letter) = classify::classify(call, worker, &mut probe);
        // Only those that serve a client are told to wait for a condition.
        let talks = probe.talks || matches!(&state, State::Blocked(on) if on == CONDITION);
        if matches!(letter, 'Z' | 'X') {
            return None;
        }
        let thread = self.threads.get_mut(&key)?;
        thread.talks |= talks;
        let only_watches = matches!(&state, State::Blocked(on) if ["sleep", "child"].contains(&on.as_str()));
        thread.works |= !only_watches;
        // A first thread that does nothing but look at the others from time to time is not occupied with requests.
        let state = if worker.leads && !thread.works { State::Idle } else { state };
        Some(Sample::of(state, &thread.name, letter, call.name))
    }

    /// What it does by the name of the kernel's function, where its call is not shown.
    fn by_function(&self, key: (i32, i32)) -> Sample {
        let (pid, tid) = key;
        match letter(key) {
            'R' => return Sample::Running,
            letter @ (STOPS | 't') => {
                let name = self.threads.get(&key).map_or("", |thread| thread.name.as_str());
                return Sample::of(State::Blocked(STOPPED.to_owned()), name, letter, "-");
            }
            _ => {}
        }
        let function = short(&format!("/proc/{pid}/task/{tid}/wchan")).unwrap_or_default();
        let name = self.threads.get(&key).map_or("", |thread| thread.name.as_str());
        match wchan::classify(&String::from_utf8_lossy(&function)) {
            Some(state) => Sample::of(state, name, letter(key), "-"),
            None => Sample::Open,
        }
    }
}

/// Which of the pools of this title the workers of the master `parent` are, from 0 on: two servers of one program may run, and
/// one of them may rest. 0 where the parent is no master.
fn family(families: &mut BTreeMap<String, Vec<i32>>, masters: &BTreeSet<i32>, title: &str, parent: i32) -> usize {
    if !masters.contains(&parent) {
        return 0;
    }
    let known = families.entry(title.to_owned()).or_default();
    if let Some(at) = known.iter().position(|master| *master == parent) {
        return at;
    }
    let place = known.iter().position(|master| !masters.contains(master));
    let at = place.unwrap_or(known.len());
    match known.get_mut(at) {
        Some(gone) => *gone = parent,
        None => known.push(parent),
    }
    at
}

/// The program of a thread, and its pool.
fn place<'a>(
    programs: &'a BTreeMap<i32, Program>,
    (pid, tid): (i32, i32),
    thread: &Thread,
) -> Option<(&'a Program, String)> {
    let program = programs.get(&pid)?;
    Some((program, program.pool(&thread.name, pid == tid, thread.talks)))
}

/// As many as one sample may have, after those that were taken last.
fn turn<'a, T: Copy + 'a>(all: impl Iterator<Item = &'a T>, next: &mut usize, most: usize) -> Vec<T> {
    let all: Vec<T> = all.copied().collect();
    if all.len() <= most {
        return all;
    }
    let from = *next % all.len();
    *next = from + most;
    all.iter().cycle().skip(from).take(most).copied().collect()
}

impl Account {
    fn since(self, before: Self) -> Scheduled {
        Scheduled {
            span_ns: self.at_ns.saturating_sub(before.at_ns),
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            runs: Some(self.runs.saturating_sub(before.runs)),
        }
    }
}

/// The kernel's letter for a thread that a signal has stopped.
const STOPS: char = 'T';

/// True if something has stopped a process, which it does with all its threads.
fn is_stopped(pid: i32) -> bool {
    let function = short(&format!("/proc/{pid}/wchan")).unwrap_or_default();
    wchan::is_stop(&String::from_utf8_lossy(&function))
}

/// The kernel's letter for the state; `X` when it has ended.
fn letter((pid, tid): (i32, i32)) -> char {
    let stat = short(&format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // After the name, which may have any sign in it.
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('X')
}

/// What is looked up of one thread.
struct Probe<'a> {
    pid: i32,
    tid: i32,
    program: &'a mut Program,
    peers: &'a mut Peers,
    /// True if it waits for a client of its own.
    talks: bool,
}

impl Lookup for Probe<'_> {
    fn end(&mut self, fd: i32) -> End {
        let end = self.peers.end(self.pid, fd);
        self.talks |= matches!(end, End::Client(_));
        end
    }

    fn reader(&mut self, fd: i32) -> Option<String> {
        self.peers.reader(self.pid, fd)
    }

    fn polled(&mut self, call: &Call) -> Option<Vec<i32>> {
        memory::polled(self.pid, call)
    }

    fn watched(&mut self, call: &Call) -> Option<Vec<i32>> {
        let text = short(&format!("/proc/{}/fdinfo/{}", self.pid, call.descriptor(0)))?;
        // `tfd:        5 events: ...`
        let watched = |line: &str| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok();
        Some(String::from_utf8_lossy(&text).lines().filter_map(watched).collect())
    }

    fn letter(&mut self) -> char {
        letter((self.pid, self.tid))
    }

    fn is_static(&mut self, address: u64) -> bool {
        self.program.is_static(self.pid, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle php-fpm beside a full one made one pool that was half occupied, and no limiter.
    #[test]
    fn pools_of_the_same_name_are_told_apart_by_their_masters() {
        let mut families = BTreeMap::new();
        let masters = [10, 20].into();
        let mut of = |masters: &BTreeSet<i32>, title, parent| family(&mut families, masters, title, parent);
        assert_eq!([of(&masters, "www", 10), of(&masters, "www", 20), of(&masters, "www", 10)], [0, 1, 0]);
        assert_eq!([of(&masters, "api", 20), of(&masters, "www", 1)], [0, 0], "another title; and no master");
        // A master that was started again has the place of the one that is gone.
        let restarted = [20, 30].into();
        assert_eq!([of(&restarted, "www", 30), of(&restarted, "www", 20)], [0, 1]);
    }

    #[test]
    fn everyone_has_a_turn_when_there_are_more_than_a_look_may_have() {
        let all: Vec<i32> = (0..5).collect();
        let mut next = 0;
        let looks: Vec<Vec<i32>> = (0..5).map(|_| turn(all.iter(), &mut next, 3)).collect();
        assert_eq!(looks[..3], [[0, 1, 2], [3, 4, 0], [1, 2, 3]]);
        for one in all {
            assert_eq!(looks.iter().flatten().filter(|seen| **seen == one).count(), 3);
        }
        assert_eq!(turn([7, 8].iter(), &mut next, 3), [7, 8]);
    }
}
