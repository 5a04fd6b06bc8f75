//! All samples together: one sample from one sample to the next.
//!
//! Sockets, unrelated processes and threads are sampled less often the more there are; PSS and descriptors in turn.
//! The cost of each sample is measured and recorded.

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
use crate::processes::{Present, Processes};
use crate::selector::ProcessSelector;
use crate::server::Server;
use crate::sockets::SocketTable;
use crate::states::{Clocks, StateSampler, Tree};
use crate::threads::allowed_cpus;
use model::{Address, LISTENER_DROPS, Phase, Sample, ServerUse, Sockets, SourceId, StatesUse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::IpAddr;

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
        };
        // The long look, at the sockets of every process of the machine, is done while nothing waits for it.
        observer.sample_first(0);
        observer
    }

    /// The load `part`, 1 or 2, of two that run at the same time in this process: its threads are told from those of the other,
    /// and so are the processes `neighbours` of the other server, with all that they have started.
    #[must_use]
    pub fn beside_another(mut self, part: u32, neighbours: Vec<i32>) -> Self {
        self.generator = Generator::of_part(part);
        self.others.tell_apart(neighbours);
        self
    }

    /// The first sample, from which the first sample counts. The load threads have to be there.
    pub fn start(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.generator.find_threads();
        // What is missing now will be missing in the first sample, which says so.
        let _ = self.machine.sample();
        let _ = self.generator.sample();
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
            other_load_threads: self.generator.others().to_vec(),
            watched: self.watched(),
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
        Watched { pids: self.server_pids(), server: self.first_pid() }
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
    pub(crate) fn server_pids(&self) -> Vec<i32> {
        let groups = [self.server_group()].into_iter().chain(self.companions.iter().map(Companion::group));
        groups.flat_map(|group| group.pids()).collect()
    }

    /// CPUs that server and companions may run on, as they are now; empty when the server's processes are not known, or not
    /// all of their threads show it.
    #[must_use]
    pub fn server_cpus(&self) -> Vec<u32> {
        if self.server_group().is_empty() {
            return Vec::new();
        }
        allowed_cpus(&self.server_pids()).map_or_else(Vec::new, |cpus| cpus.into_iter().collect())
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
        let present = self.sample_processes(is_new);
        let server = self.sample_server(&present, listening.as_ref(), now_ns);
        let (companions, taken) = self.sample_companions(&present, now_ns, &mut unavailable);
        let companion_sockets = self.sample_endpoints(&mut unavailable);
        let others = self.others.sample(&present, &taken, now_ns);
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
            machine: self.told("machine", machine, &mut unavailable),
            server: server.and_then(|server| self.told("server", server, &mut unavailable)),
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

    /// What the companions used, and the processes that are now spoken for.
    fn sample_companions(
        &mut self,
        present: &Present,
        now_ns: u64,
        unavailable: &mut BTreeMap<String, String>,
    ) -> (BTreeMap<String, ServerUse>, BTreeSet<i32>) {
        let mut taken = self.taken_by_server();
        let mut used = BTreeMap::new();
        let mut companions = std::mem::take(&mut self.companions);
        let (own, may_overlap) = (own(), self.may_overlap());
        for companion in &mut companions {
            let looked = companion.sample(present, if may_overlap { &own } else { &taken }, now_ns);
            taken.extend(companion.group().pids());
            let label = companion.label();
            if let Some(Some(looked)) = self.told(&format!("companions/{label}"), looked, unavailable) {
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
