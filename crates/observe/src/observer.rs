//! All samples together: one sample from one sample to the next.
//!
//! Sockets, unrelated processes and threads are sampled less often the more there are; PSS and descriptors in turn.
//! The cost of each sample is measured and recorded.

use crate::backends::{Backends, standing_alone};
use crate::companion::Companion;
use crate::disturbance::{DisturbanceSampler, LoadClock, Publish, Setup, Watched};
use crate::files::Files;
use crate::generator::Generator;
use crate::group::Group;
use crate::kernel::{CpuGroup, Kernel};
use crate::listener::Listener;
use crate::listening::{Listening, Unfound};
use crate::machine::Machine;
use crate::others::Others;
use crate::processes::{self, Present, Processes};
use crate::selector::ProcessSelector;
use crate::server::Server;
use crate::sockets::SocketTable;
use crate::states::{Clocks, StateSampler, Tree};
use crate::threads::allowed_cpus;
use model::{
    Address, LISTENER_DROPS, Observed, Phase, ProcessFigures, Sample, ServerUse, Sockets, SourceId, StatesUse,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::IpAddr;

/// Samples that look who is behind the server; after them once in so many do, and whenever other programs use CPU time.
const BACKENDS_FIRST: u32 = 5;
const BACKENDS_EVERY: u32 = 10;
/// CPU time that other programs use between two samples to make it worth asking whether they are behind the server: 1 %.
const OTHERS_SUSPECT: u64 = 100;

/// Looks at everything once a second; belongs on a thread that carries no load.
#[derive(Debug)]
pub struct Observer {
    /// Where the target listens; none when nothing is loaded and so nobody is the server.
    listener: Option<Listener>,
    processes: Processes,
    server: Server,
    /// Who is the server, whoever listens.
    chosen: Option<Companion>,
    companions: Vec<Companion>,
    /// Who is behind the server, also as other observers of it have found.
    backends: Backends,
    /// Samples so far, and whether other programs used CPU time in the last.
    samples: u32,
    has_suspects: bool,
    others: Others,
    machine: Machine,
    generator: Generator,
    sockets: SocketTable,
    kernel: Kernel,
    /// Only once it was asked for.
    states: Option<std::io::Result<StateSampler>>,
    /// The same.
    disturbance: Option<DisturbanceSampler>,
    looked_ns: u64,
    /// Connection attempts that each listening socket of the target had dropped at the sample before.
    dropped: BTreeMap<u64, u64>,
    /// What was said about each part last, so that it is said once.
    said: BTreeMap<String, String>,
    /// True if the other server has the same CPUs, and its turns between those of this one: then it is no stranger.
    takes_turns: bool,
}

impl Observer {
    /// Will watch the server at `address`, whose processes are looked for when it `is_here`: on this machine. What is `wanted` besides is watched as far as it is not part of the server.
    #[must_use]
    pub fn new(address: impl Into<Address>, is_here: bool, wanted: &[ProcessSelector]) -> Self {
        Self::of(Some(Listener::new(address.into(), is_here)), None, wanted)
    }

    /// The same where it is not told by who listens at `address` which processes are the `server`.
    #[must_use]
    pub fn with_server(
        address: impl Into<Address>,
        is_here: bool,
        server: &ProcessSelector,
        wanted: &[ProcessSelector],
    ) -> Self {
        Self::of(Some(Listener::new(address.into(), is_here)), Some(server), wanted)
    }

    /// Will watch the machine and what is `wanted`: there is no load and no server.
    #[must_use]
    pub fn without_load(wanted: &[ProcessSelector]) -> Self {
        Self::of(None, None, wanted)
    }

    fn of(listener: Option<Listener>, server: Option<&ProcessSelector>, wanted: &[ProcessSelector]) -> Self {
        let mut observer = Self {
            listener,
            processes: Processes::default(),
            server: Server::default(),
            chosen: server.cloned().map(Companion::new),
            companions: wanted.iter().cloned().map(Companion::new).collect(),
            backends: Backends::default(),
            samples: 0,
            has_suspects: false,
            others: Others::default(),
            machine: Machine::default(),
            generator: Generator::default(),
            sockets: SocketTable::default(),
            kernel: Kernel::default(),
            states: None,
            disturbance: None,
            looked_ns: 0,
            dropped: BTreeMap::new(),
            said: BTreeMap::new(),
            takes_turns: false,
        };
        // The long look, at the sockets of every process of the machine, is done while nothing waits for it.
        observer.sample_first(0);
        observer
    }

    /// The load `part`, 1 or 2, of two that run at the same time in this process: its threads are told from those of the other,
    /// and so are the processes `neighbours` of the other server, with all that they have started. Where `takes_turns` is set,
    /// both have the same CPUs in turns, and neither is a stranger to the other.
    #[must_use]
    pub fn beside_another(mut self, part: u32, neighbours: Vec<i32>, takes_turns: bool) -> Self {
        self.takes_turns = takes_turns;
        self.generator = Generator::of_part(part);
        self.others.tell_apart(neighbours);
        self
    }

    /// Shares what is known of the programs behind the server with others that observe it, before or after this one.
    #[must_use]
    pub fn knowing(mut self, backends: &Backends) -> Self {
        self.backends = backends.clone();
        self
    }

    /// Is told what the server calls itself: where its sockets are not shown, that and its user tell who it is.
    #[must_use]
    pub fn of_product(mut self, product: Option<&str>) -> Self {
        self.server.is_called(product.map(str::to_owned));
        if self.server.is_hidden() {
            self.sample_first(0);
        }
        self
    }

    /// The first sample, from which the first sample counts. The load threads have to be there.
    pub fn start(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.generator.find_threads();
        // What is missing now will be missing in the first sample, which says so.
        let _ = self.machine.sample();
        let _ = self.generator.sample();
        self.look_backends();
        self.take_in_backends();
        self.sample_first(now_ns);
    }

    /// Begins to look at what the workers do, on a thread of its own.
    pub fn watch_states(&mut self, clocks: Clocks) {
        let (listening, _) = self.listen();
        self.states = Some(StateSampler::start(self.tree(listening.as_ref()), clocks));
    }

    /// Begins to keep the account of what is taken from the CPUs of client and server, on a thread of its own, from when
    /// `clock` starts; `quota_at_begin_ns` is what the server might use each second before the first load.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn watch_disturbance(
        &mut self,
        clocks: Clocks,
        clock: LoadClock,
        quota_at_begin_ns: Option<u64>,
        publish: Publish,
    ) -> std::io::Result<()> {
        let setup = Setup {
            client_cpus: self.generator.cpus().to_vec(),
            server_cpus: self.server_cpus(),
            load_threads: self.generator.threads().collect(),
            other_load_threads: if self.takes_turns { Vec::new() } else { self.generator.others().to_vec() },
            watched: self.watched(),
            backends: self.backends.clone(),
            quota_at_begin_ns,
        };
        self.disturbance = Some(DisturbanceSampler::start(setup, clocks, clock, publish)?);
        Ok(())
    }

    /// CPU time that the server's control group may use each second; none without a quota. ns
    #[must_use]
    pub fn server_quota_ns(&self) -> Option<u64> {
        let pid = self.first_pid()?.to_string();
        CpuGroup::of(&Files::default(), &pid)?.quota_ns_per_s
    }

    /// The processes that are no strangers to the account.
    fn watched(&self) -> Watched {
        let mut pids = self.server_pids();
        if self.takes_turns {
            pids.extend(self.others.neighbours());
        }
        let alone = standing_alone(&self.server_group().pids());
        Watched { pids, server: self.first_pid(), alone, undecided: self.others.undecided().clone() }
    }

    /// The processes whose workers are looked at.
    fn tree(&self, listening: Option<&Result<Listening, Unfound>>) -> Tree {
        let found = listening.and_then(|found| found.as_ref().ok());
        let listening = found.map_or_else(BTreeSet::new, |found| found.inodes.clone());
        Tree { pids: self.server_pids(), listening }
    }

    /// What the workers did since the sample before.
    fn fetch_states(
        &mut self,
        listening: Option<&Result<Listening, Unfound>>,
        unavailable: &mut BTreeMap<String, String>,
    ) -> Option<StatesUse> {
        let tree = self.tree(listening);
        if let (Some(Err(unfound)), true) = (listening, tree.pids.is_empty()) {
            self.states.as_ref()?;
            return self.told("pools", Err(unfound), unavailable);
        }
        let (states, untold) = match self.states.as_ref()? {
            Ok(sampler) => sampler.fetch(tree),
            Err(error) => {
                let error = format!("cannot start the thread that looks at them: {error}");
                return self.told("pools", Err(error), unavailable);
            }
        };
        for (pool, why) in untold {
            self.told::<(), _>(&pool, Err(why), unavailable);
        }
        states
    }

    /// Where packets to the target go; none where there is none, or by a Unix socket.
    pub(crate) fn target_ip(&self) -> Option<IpAddr> {
        self.listener.as_ref()?.ip()
    }

    /// The processes of the server and of its companions, as they were seen last.
    #[must_use]
    pub fn server_pids(&self) -> Vec<i32> {
        let groups = [self.server_group()].into_iter().chain(self.companions.iter().map(Companion::group));
        groups.flat_map(|group| group.pids()).collect()
    }

    /// Those of them that were asked for: who is found to be behind the server depends on the moment.
    pub(crate) fn asked_pids(&self) -> Vec<i32> {
        let asked = self.companions.iter().filter(|companion| !companion.is_connected()).map(Companion::group);
        [self.server_group()].into_iter().chain(asked).flat_map(|group| group.pids()).collect()
    }

    /// CPUs that server and companions may run on, as they are now; empty when the server's processes are not known, or not
    /// all of their threads show it.
    #[must_use]
    pub fn server_cpus(&self) -> Vec<u32> {
        if self.server_group().is_empty() {
            return Vec::new();
        }
        allowed_cpus(&self.asked_pids()).map_or_else(Vec::new, |cpus| cpus.into_iter().collect())
    }

    /// The processes that count as the server.
    fn server_group(&self) -> &Group {
        self.chosen.as_ref().map_or_else(|| self.server.group(), Companion::group)
    }

    fn sample_first(&mut self, now_ns: u64) {
        let (listening, _) = self.listen();
        let present = self.processes.sample(&BTreeSet::new(), true, None);
        match (&mut self.chosen, &listening) {
            (Some(chosen), _) => chosen.start(&present, &own(), now_ns),
            (None, Some(Ok(listening))) => self.server.start(&present, listening, now_ns),
            (None, _) => {}
        }
        let mut taken = self.taken_by_server();
        let (own, may_overlap) = (own(), self.may_overlap());
        for companion in &mut self.companions {
            companion.start(&present, if may_overlap { &own } else { &taken }, now_ns);
            taken.extend(companion.group().pids());
        }
        self.find_undecided(&present, &taken);
        self.others.sample(&present, &taken, now_ns);
        self.kernel.sample(self.first_pid());
        self.sample_dropped(listening.as_ref());
    }

    /// Connection attempts that the target's listening sockets have dropped since the sample before; none when that is not
    /// told.
    fn sample_dropped(&mut self, listening: Option<&Result<Listening, Unfound>>) -> Option<u64> {
        let listening = listening?.as_ref().ok()?;
        let grown = listening.dropped_since(&self.dropped);
        self.dropped = listening.dropped.clone().unwrap_or_default();
        grown
    }

    /// Who listens where something is asked for, and whether that is not who did at the sample before.
    fn listen(&mut self) -> (Option<Result<Listening, Unfound>>, bool) {
        let listening = self.listener.as_ref().map(|listener| listener.sample(&mut self.sockets));
        let server = listening.as_ref().is_some_and(|found| {
            found.as_ref().is_ok_and(|found| self.chosen.is_none() && self.server.is_stranger_to(found))
        });
        let asked = self.chosen.iter_mut().chain(&mut self.companions);
        // Each has to look.
        let others = asked.map(Companion::listen).filter(|is_new| *is_new).count();
        (listening, server || others > 0)
    }

    /// What happened since the sample before.
    #[must_use]
    pub fn sample(&mut self, now_ns: u64, phase: Phase) -> Sample {
        let mut unavailable = BTreeMap::new();
        let from_ns = std::mem::replace(&mut self.looked_ns, now_ns);
        // First what runs on, as it is to be of this very instant.
        let machine = self.machine.sample();
        let generator = self.generator.sample();
        let (listening, is_new) = self.listen();
        let joined = self.look_behind();
        let present = self.sample_processes(is_new || !joined.is_empty());
        let server = self.sample_server(&present, listening.as_ref(), now_ns);
        let (companions, taken) = self.sample_companions(&present, &joined, now_ns, &mut unavailable);
        let companion_sockets = self.sample_endpoints(&mut unavailable);
        self.find_undecided(&present, &taken);
        let others = self.others.sample(&present, &taken, now_ns);
        if let Some(others) = &others {
            let used_ns = ProcessFigures::of(&others.processes).cpu_ns;
            self.has_suspects = used_ns > now_ns.saturating_sub(others.from_ns) / OTHERS_SUSPECT;
        }
        let (mut kernel, missing) = self.kernel.sample(self.first_pid());
        if let Some(dropped) = self.sample_dropped(listening.as_ref()) {
            let [part, name] = LISTENER_DROPS.map(str::to_owned);
            kernel.counters.entry(part).or_default().insert(name, dropped);
        }
        for (part, why) in missing {
            self.told::<(), _>(part, Err(why), &mut unavailable);
        }
        let states = self.fetch_states(listening.as_ref(), &mut unavailable);
        let sockets = self.sample_sockets(listening.as_ref());
        if let Some(disturbance) = &self.disturbance {
            disturbance.watch(self.watched());
        }
        Sample {
            source: SourceId::LOCAL,
            phase,
            from_ns,
            to_ns: now_ns,
            machine: self.told(Observed::MACHINE, machine, &mut unavailable),
            server: server.and_then(|server| self.told(Observed::SERVER, server, &mut unavailable)),
            generator: self.told("generator", generator, &mut unavailable),
            sockets: sockets.and_then(|sockets| self.told("sockets", sockets, &mut unavailable)),
            companions,
            companion_sockets,
            others,
            kernel,
            states,
            look_cpu_ns: None,
            unavailable,
        }
    }

    /// Tells those apart that may belong to a server of this machine.
    fn find_undecided(&mut self, present: &Present, taken: &BTreeSet<i32>) {
        if self.listener.as_ref().is_some_and(Listener::is_here) || self.chosen.is_some() {
            self.others.find_undecided(present, taken);
        }
    }

    /// What this user cannot see of the server, and what helps, in a sentence; none where it sees all.
    #[must_use]
    pub fn unseen(&self) -> Option<String> {
        const WHY: &str = "which sockets a process has is shown to its own user and to root only";
        if self.chosen.is_some() || !self.server.is_hidden() {
            return None;
        }
        let name = self.server.group().pids().first().and_then(|pid| processes::seen(*pid)).map(|seen| seen.name);
        Some(match name {
            Some(name) => format!(
                "{name} is taken to be the server, as that is what it calls itself and whose port it is; {WHY}, so that \
                 programs behind it cannot be followed: run plimsoll as root, or name them by --observe"
            ),
            None => format!(
                "the processes of the server are not known: {WHY}; run plimsoll as root, or name them by --server NAME"
            ),
        })
    }

    /// Looks who is behind the server when it is time to; the labels of companions that were not there.
    fn look_behind(&mut self) -> BTreeSet<String> {
        self.samples = self.samples.saturating_add(1);
        let is_due = self.samples <= BACKENDS_FIRST || self.samples.is_multiple_of(BACKENDS_EVERY);
        if is_due || self.has_suspects {
            self.look_backends();
        }
        self.take_in_backends()
    }

    /// Without a load nobody is the server, and nobody is behind it.
    fn look_backends(&self) {
        if self.listener.is_some() && !self.server_group().is_empty() {
            self.backends.look(&self.server_pids(), &[]);
        }
    }

    /// Makes companions of those who are found to be behind the server, unless they are watched already; the labels of those
    /// that are new.
    fn take_in_backends(&mut self) -> BTreeSet<String> {
        let mut joined = BTreeSet::new();
        if self.listener.is_none() || self.server_group().is_empty() {
            return joined;
        }
        let watched: BTreeSet<i32> = self.server_pids().into_iter().collect();
        let alone = standing_alone(&self.server_group().pids());
        for backend in self.backends.found().into_iter().filter(|backend| !watched.contains(&backend.pid)) {
            let is_asked = self.companions.iter().any(|one| !one.is_connected() && one.label() == backend.label);
            let label = if is_asked { format!("{} (connected)", backend.label) } else { backend.label };
            let known = self.companions.iter_mut().find(|one| one.is_connected() && one.label() == label);
            match known {
                Some(companion) => companion.connect(backend.pid),
                None => {
                    let mut companion = Companion::connected(label.clone(), alone.clone());
                    companion.connect(backend.pid);
                    self.companions.push(companion);
                    joined.insert(label);
                }
            }
        }
        joined
    }

    fn sample_processes(&mut self, all: bool) -> Present {
        self.processes.sample(&self.server_pids().into_iter().collect(), all, self.machine.begun_ever)
    }

    /// What the server used, or why that is not known; none when nobody is the server.
    fn sample_server(
        &mut self,
        present: &Present,
        listening: Option<&Result<Listening, Unfound>>,
        now_ns: u64,
    ) -> Option<Result<ServerUse, String>> {
        if let Some(chosen) = &mut self.chosen {
            let used = chosen.sample(present, &own(), now_ns).map_err(|unmet| unmet.to_string());
            return used.transpose();
        }
        let used = match listening? {
            Ok(found) => self.server.sample(present, found, now_ns),
            Err(unfound) => Err(unfound.clone()),
        };
        Some(used.map_err(|unfound| unfound.to_string()))
    }

    /// The sockets of the target; none when there is none.
    fn sample_sockets(&mut self, listening: Option<&Result<Listening, Unfound>>) -> Option<Result<Sockets, Unfound>> {
        let listener = self.listener.as_ref()?;
        Some(match listening? {
            Ok(found) => listener.sockets(&mut self.sockets, Some(found)),
            Err(Unfound::Kernel(error)) => Err(Unfound::Kernel(error.clone())),
            Err(_) => listener.sockets(&mut self.sockets, None),
        })
    }

    /// The sockets of companions that are known by where they listen.
    fn sample_endpoints(&mut self, unavailable: &mut BTreeMap<String, String>) -> BTreeMap<String, Sockets> {
        let looked: Vec<_> = self
            .companions
            .iter_mut()
            .filter_map(|companion| Some((companion.label(), companion.sockets()?)))
            .collect();
        let told = looked.into_iter().filter_map(|(label, sockets)| {
            let sockets = self.told(&format!("companion_sockets/{label}"), sockets, unavailable)?;
            Some((label, sockets))
        });
        told.collect()
    }

    /// What the companions used, and the processes that are now spoken for. Those that have just `joined` count from now on.
    fn sample_companions(
        &mut self,
        present: &Present,
        joined: &BTreeSet<String>,
        now_ns: u64,
        unavailable: &mut BTreeMap<String, String>,
    ) -> (BTreeMap<String, ServerUse>, BTreeSet<i32>) {
        let mut taken = self.taken_by_server();
        let mut used = BTreeMap::new();
        let mut companions = std::mem::take(&mut self.companions);
        let (own, may_overlap) = (own(), self.may_overlap());
        for companion in &mut companions {
            let label = companion.label();
            let elsewhere = if may_overlap { &own } else { &taken };
            if joined.contains(&label) {
                companion.start(present, elsewhere, now_ns);
                taken.extend(companion.group().pids());
                continue;
            }
            let looked = companion.sample(present, elsewhere, now_ns);
            taken.extend(companion.group().pids());
            if let Some(Some(looked)) = self.told(&format!("{}{label}", Observed::COMPANION), looked, unavailable) {
                used.insert(label, looked);
            }
        }
        self.companions = companions;
        (used, taken)
    }

    /// True if one process may be told in several places: beside a load each counts once, so that all together are the
    /// busy time of the machine.
    const fn may_overlap(&self) -> bool {
        self.listener.is_none()
    }

    /// The server's processes and the own one.
    fn taken_by_server(&self) -> BTreeSet<i32> {
        self.server_group().pids().into_iter().chain(own()).collect()
    }

    /// A process of the server, or of what is watched when there is no load.
    fn first_pid(&self) -> Option<i32> {
        match &self.listener {
            Some(_) => self.server_group().pids().first().copied(),
            None => self.server_pids().first().copied(),
        }
    }

    /// The value, or why there is none unless that was said before.
    fn told<T, E: Display>(
        &mut self,
        part: &str,
        looked: Result<T, E>,
        unavailable: &mut BTreeMap<String, String>,
    ) -> Option<T> {
        let why = match looked {
            Ok(value) => return Some(value),
            Err(error) => error.to_string(),
        };
        if self.said.get(part) != Some(&why) {
            self.said.insert(part.to_owned(), why.clone());
            unavailable.insert(part.to_owned(), why);
        }
        None
    }
}

/// The own process, which is part of nothing that is watched.
fn own() -> BTreeSet<i32> {
    [std::process::id().cast_signed()].into()
}
