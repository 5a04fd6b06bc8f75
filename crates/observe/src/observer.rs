//! All looks together: one sample from one look to the next.

use crate::companion::{Companion, Wanted};
use crate::generator::Generator;
use crate::kernel::Kernel;
use crate::listener::{Listener, Listening, Unfound};
use crate::machine::Machine;
use crate::others::Others;
use crate::processes::{Present, Processes};
use crate::server::Server;
use crate::sockets::SocketTable;
use crate::states::{StateSampler, Tree};
use model::{Address, Phase, Sample, ServerUse, StatesUse};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Looks at everything once a second; belongs on a thread that carries no load.
#[derive(Debug)]
pub struct Observer {
    listener: Listener,
    processes: Processes,
    server: Server,
    companions: Vec<Companion>,
    others: Others,
    machine: Machine,
    generator: Generator,
    sockets: SocketTable,
    kernel: Kernel,
    /// Only once it was asked for.
    states: Option<std::io::Result<StateSampler>>,
    looked_ns: u64,
    /// What was said about each part last, so that it is said once.
    said: BTreeMap<String, String>,
}

impl Observer {
    /// Will watch the server at `address`, whose processes are looked for when it `is_here`: on this machine. What is `wanted` besides is watched as far as it is not part of the server.
    #[must_use]
    pub fn new(address: impl Into<Address>, is_here: bool, wanted: &[Wanted]) -> Self {
        let mut observer = Self {
            listener: Listener::new(address.into(), is_here),
            processes: Processes::default(),
            server: Server::default(),
            companions: wanted.iter().cloned().map(Companion::new).collect(),
            others: Others::default(),
            machine: Machine::default(),
            generator: Generator::default(),
            sockets: SocketTable::default(),
            kernel: Kernel::default(),
            states: None,
            looked_ns: 0,
            said: BTreeMap::new(),
        };
        // The long look, at the sockets of every process of the machine, is done while nothing waits for it.
        observer.look_first(0);
        observer
    }

    /// The first look, from which the first sample counts. The load threads have to be there.
    pub fn start(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        self.generator.find_threads();
        // What is missing now will be missing in the first sample, which says so.
        let _ = self.machine.look();
        let _ = self.generator.look();
        self.look_first(now_ns);
    }

    /// Begins to look at what the workers do, on a thread of its own. `thread_cpu_ns` is the CPU time of the thread that
    /// calls it.
    pub fn watch_states(&mut self, thread_cpu_ns: fn() -> u64) {
        let listening = self.listener.look(&mut self.sockets);
        self.states = Some(StateSampler::start(self.tree(&listening), thread_cpu_ns));
    }

    /// The processes whose workers are looked at.
    fn tree(&self, listening: &Result<Listening, Unfound>) -> Tree {
        let listening = listening.as_ref().map_or_else(|_| BTreeSet::new(), |found| found.inodes.clone());
        Tree { pids: self.server_pids(), listening }
    }

    /// What the workers did since the look before.
    fn fetch_states(
        &mut self,
        listening: &Result<Listening, Unfound>,
        unavailable: &mut BTreeMap<String, String>,
    ) -> Option<StatesUse> {
        let tree = self.tree(listening);
        if let (Err(unfound), true) = (listening, tree.pids.is_empty()) {
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

    /// The processes of the server and of its companions, as they were seen last.
    pub(crate) fn server_pids(&self) -> Vec<i32> {
        let groups = [self.server.group()].into_iter().chain(self.companions.iter().map(Companion::group));
        groups.flat_map(|group| group.pids()).collect()
    }

    fn look_first(&mut self, now_ns: u64) {
        let listening = self.listener.look(&mut self.sockets);
        let present = self.processes.look(&BTreeSet::new(), true);
        if let Ok(listening) = &listening {
            self.server.start(&present, listening, now_ns);
        }
        let mut taken = self.taken_by_server();
        for companion in &mut self.companions {
            companion.start(&present, &taken, now_ns);
            taken.extend(companion.group().pids());
        }
        self.others.look(&present, &taken, now_ns);
        self.kernel.look(self.server.group().pids().first().copied());
    }

    /// What happened since the look before.
    #[must_use]
    pub fn sample(&mut self, now_ns: u64, phase: Phase) -> Sample {
        let mut unavailable = BTreeMap::new();
        let from_ns = std::mem::replace(&mut self.looked_ns, now_ns);
        // First what runs on, as it is to be of this very instant.
        let machine = self.machine.look();
        let generator = self.generator.look();
        let listening = self.listener.look(&mut self.sockets);
        let present = self.look_at_processes(&listening);
        let server = match &listening {
            Ok(found) => self.server.look(&present, found, now_ns),
            Err(unfound) => Err(unfound.clone()),
        };
        let (companions, taken) = self.look_at_companions(&present, now_ns, &mut unavailable);
        let others = self.others.look(&present, &taken, now_ns);
        let (kernel, missing) = self.kernel.look(self.server.group().pids().first().copied());
        for (part, why) in missing {
            self.told::<(), _>(part, Err(why), &mut unavailable);
        }
        let states = self.fetch_states(&listening, &mut unavailable);
        let sockets = match &listening {
            Ok(found) => self.sockets.count(self.listener.address(), Some(found)),
            Err(Unfound::Kernel(error)) => Err(Unfound::Kernel(error.clone())),
            Err(_) => self.sockets.count(self.listener.address(), None),
        };
        Sample {
            phase,
            from_ns,
            to_ns: now_ns,
            machine: self.told("machine", machine, &mut unavailable),
            server: self.told("server", server, &mut unavailable),
            generator: self.told("generator", generator, &mut unavailable),
            sockets: self.told("sockets", sockets, &mut unavailable),
            companions,
            others,
            kernel,
            states,
            look_cpu_ns: None,
            unavailable,
        }
    }

    fn look_at_processes(&mut self, listening: &Result<Listening, Unfound>) -> Present {
        let all = listening.as_ref().is_ok_and(|found| self.server.is_stranger_to(found));
        let groups = self.companions.iter().map(Companion::group).chain([self.server.group()]);
        let members = groups.flat_map(|group| group.pids()).collect();
        self.processes.look(&members, all)
    }

    /// What the companions used, and the processes that are now spoken for.
    fn look_at_companions(
        &mut self,
        present: &Present,
        now_ns: u64,
        unavailable: &mut BTreeMap<String, String>,
    ) -> (BTreeMap<String, ServerUse>, BTreeSet<i32>) {
        let mut taken = self.taken_by_server();
        let mut used = BTreeMap::new();
        let mut companions = std::mem::take(&mut self.companions);
        for companion in &mut companions {
            let looked = companion.look(present, &taken, now_ns);
            taken.extend(companion.group().pids());
            let label = companion.label();
            if let Some(Some(looked)) = self.told(&format!("companions/{label}"), looked, unavailable) {
                used.insert(label, looked);
            }
        }
        self.companions = companions;
        (used, taken)
    }

    /// The server's processes and the own one.
    fn taken_by_server(&self) -> BTreeSet<i32> {
        self.server.group().pids().into_iter().chain([std::process::id().cast_signed()]).collect()
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
