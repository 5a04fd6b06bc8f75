//! Has a cluster start agents, and forwards a stream to each.

use super::JobOptions;
use super::cluster::{Cluster, NotCreated, Reached};
use super::job;
use super::options::KubernetesOptions;
use crate::agents::connect::certificate::{Identity, Side};
use crate::agents::launcher::{Carrier, Launcher, START_NS, Stream, ended_until};
use crate::exit::CommandError;
use crate::lock::hold;
use crate::output::printer;
use agent::pods::PodState;
use clock::monotonic_ns;
use k8s_openapi::api::batch::v1::Job;
use kube::api::Portforwarder;
use model::{NS_PER_S, human};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Duration;
use tokio::io::{DuplexStream, WriteHalf};
use tokio::runtime::Runtime;
use tokio_rustls::server::TlsStream;
use tokio_util::io::SyncIoBridge;

/// How often the pods are looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How often one that waits for a pod looks at what is known.
const POLL: Duration = Duration::from_millis(50);
/// Time within which the end of an agent is seen in its pod: less than that after which a silent one is lost.
const WHY_NS: u64 = 4 * NS_PER_S;
/// Time within which the Job and its pods are gone.
const GONE_NS: u64 = 10 * NS_PER_S;

/// Has a Job started, and waits for its pods. The Job ends with this value.
pub(crate) struct KubernetesLauncher {
    shared: Arc<Shared>,
    until_ns: u64,
}

/// What the threads of all agents know.
struct Shared {
    options: KubernetesOptions,
    /// Name of the Job.
    job: String,
    /// What the agents know the coordinator by.
    identity: Identity,
    runtime: Runtime,
    cluster: Cluster,
    seen: Mutex<Seen>,
    is_closed: AtomicBool,
}

/// What the API server has said last.
struct Seen {
    /// By index.
    pods: Vec<PodState>,
    /// Why nothing newer is known.
    trouble: Option<String>,
}

impl KubernetesLauncher {
    /// Creates the Job.
    pub(crate) fn new(options: &JobOptions) -> Result<Self, CommandError> {
        let failed = |why: String| CommandError::usage(format!("no agents of Kubernetes: {why}"));
        let identity = Identity::random(Side::Coordinator).map_err(failed)?;
        let name = job::new_name()?;
        let job = job::job(&name, identity.fingerprint(), options)?;
        let options = &options.address;
        // Tasks only pass bytes on.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| failed(format!("cannot start a thread: {error}")))?;
        let cluster = runtime.block_on(Cluster::of_user(options)).map_err(failed)?;
        let seen = Seen { pods: vec![PodState::Waiting(None); options.agents], trouble: None };
        let shared = Arc::new(Shared {
            options: options.clone(),
            job: name,
            identity,
            runtime,
            cluster,
            seen: Mutex::new(seen),
            is_closed: AtomicBool::new(false),
        });
        let until_ns = monotonic_ns().saturating_add(options.wait.ns);
        // From here on it is deleted with this value.
        let launcher = Self { shared, until_ns };
        launcher.shared.create(&job).map_err(failed)?;
        let looking = Arc::clone(&launcher.shared);
        let spawned = Builder::new().name("kubernetes".into()).spawn(move || looking.look_on());
        spawned.map_err(|error| failed(format!("cannot start a thread: {error}")))?;
        Ok(launcher)
    }
}

impl Launcher for KubernetesLauncher {
    fn names(&self) -> Vec<String> {
        self.shared.options.names()
    }

    fn connect(&self, agent: usize) -> Result<Stream, String> {
        let mut last = None;
        loop {
            match self.shared.state(agent) {
                PodState::Running(pod) => match self.shared.reach(&pod) {
                    Ok(reached) => return Ok(self.shared.stream(agent, reached)),
                    // It runs, and does not listen yet.
                    Err(why) => last = Some(why),
                },
                PodState::Ended { pod, why } => return Err(self.shared.ended(&pod, why)),
                PodState::Waiting(why) => last = why.or(last),
            }
            if self.shared.is_closed.load(Ordering::Relaxed) {
                return Err("nobody waits for it any more".to_owned());
            }
            if monotonic_ns() >= self.until_ns {
                return Err(self.late(last));
            }
            std::thread::sleep(POLL);
        }
    }

    fn state(&self) -> String {
        let seen = hold(&self.shared.seen);
        let running = seen.pods.iter().filter(|pod| matches!(pod, PodState::Running(_))).count();
        let waits = seen.pods.iter().find_map(|pod| if let PodState::Waiting(why) = pod { why.clone() } else { None });
        let why = seen.trouble.clone().or(waits).map_or_else(String::new, |why| format!("; {why}"));
        let left_s = self.until_ns.saturating_sub(monotonic_ns()) / NS_PER_S;
        let wanted = human::plural(seen.pods.len() as u64, "pod");
        format!("waiting for {wanted} of Job {}, {running} run, {left_s} s left{why}", self.shared.job)
    }

    fn timeout_ns(&self) -> u64 {
        self.shared.options.wait.ns.saturating_add(START_NS)
    }

    fn has_own_loopback(&self) -> bool {
        true
    }

    fn close(&self) {
        if !self.shared.is_closed.swap(true, Ordering::Relaxed)
            && let Err(why) = self.shared.delete()
        {
            let Shared { options, job, .. } = &*self.shared;
            printer::note(&format!(
                "Job {job} may still be there ({why}); kubectl --namespace {} delete job {job} ends it",
                options.namespace
            ));
        }
    }
}

impl KubernetesLauncher {
    /// That a pod is not there in time, for the last reason that was seen.
    fn late(&self, last: Option<String>) -> String {
        let KubernetesOptions { namespace, wait, .. } = &self.shared.options;
        let last = hold(&self.shared.seen).trouble.clone().or(last);
        let last = last.map_or_else(String::new, |why| format!(": {why}"));
        format!(
            "its pod was not there within {wait}{last}; kubectl --namespace {namespace} get events says more, and \
             --agents-wait waits longer"
        )
    }
}

impl Drop for KubernetesLauncher {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn create(&self, job: &Job) -> Result<(), String> {
        self.runtime.block_on(self.cluster.create(job)).map_err(|NotCreated { may_exist, why }| {
            // Nothing is to be deleted.
            self.is_closed.store(!may_exist, Ordering::Relaxed);
            why
        })
    }

    /// Looks at the pods until nobody waits for them any more.
    fn look_on(&self) {
        while !self.is_closed.load(Ordering::Relaxed) {
            let found = self.runtime.block_on(self.cluster.pods(&self.job));
            hold(&self.seen).learn(found);
            std::thread::sleep(LOOK);
        }
    }

    fn state(&self, agent: usize) -> PodState {
        hold(&self.seen).pods[agent].clone()
    }

    fn reach(&self, pod: &str) -> Result<Reached, String> {
        self.runtime.block_on(self.cluster.reach(pod, &self.identity))
    }

    /// Why a pod has ended, with the last that it has said.
    fn ended(&self, pod: &str, why: String) -> String {
        match self.runtime.block_on(self.cluster.last_said(pod)) {
            Some(said) => format!("{why}; it said: {said}"),
            None => why,
        }
    }

    /// A stream of blocking reads and writes.
    fn stream(self: &Arc<Self>, agent: usize, reached: Reached) -> Stream {
        let Reached { stream, forward } = reached;
        let (from, to) = tokio::io::split(stream);
        let handle = self.runtime.handle();
        let carrier = Arc::new(Forward { shared: Arc::clone(self), agent, forward, is_over: AtomicBool::new(false) });
        let from = SyncIoBridge::new_with_handle(from, handle.clone());
        let to = ToAgent(SyncIoBridge::new_with_handle(to, handle.clone()));
        Stream { from: Box::new(from), to: Box::new(to), carrier }
    }

    /// Has the Job deleted, and waits until it is gone.
    fn delete(&self) -> Result<(), String> {
        self.runtime.block_on(self.cluster.delete(&self.job))?;
        let look = || match self.runtime.block_on(self.cluster.is_gone(&self.job)) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(why) => Some(Err(why)),
        };
        let late = || Err(format!("it was not gone within {} s", GONE_NS / NS_PER_S));
        ended_until(monotonic_ns().saturating_add(GONE_NS), look).unwrap_or_else(late)
    }
}

impl Seen {
    /// What the API server says now. A pod that was there and is no more has ended.
    fn learn(&mut self, found: Result<Vec<(usize, PodState)>, String>) {
        let found = match found {
            Ok(found) => found,
            Err(why) => return self.trouble = Some(why),
        };
        self.trouble = None;
        for (index, known) in self.pods.iter_mut().enumerate() {
            let state = found.iter().find(|(of, _)| *of == index).map(|(_, state)| state.clone());
            match (state, &*known) {
                (Some(state), _) => *known = state,
                (None, PodState::Running(pod)) => {
                    *known = PodState::Ended { pod: pod.clone(), why: "its pod was deleted".to_owned() };
                }
                (None, PodState::Waiting(_) | PodState::Ended { .. }) => {}
            }
        }
    }
}

/// What is said to an agent; the stream ends when it is dropped.
struct ToAgent(SyncIoBridge<WriteHalf<TlsStream<DuplexStream>>>);

impl Write for ToAgent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for ToAgent {
    fn drop(&mut self) {
        // A stream that has ended already has.
        let _ = self.0.shutdown();
    }
}

/// What carries the stream of an agent.
struct Forward {
    shared: Arc<Shared>,
    agent: usize,
    forward: Portforwarder,
    is_over: AtomicBool,
}

impl Carrier for Forward {
    fn end(&self, until_ns: u64) {
        ended_until(until_ns, || self.is_over.load(Ordering::Relaxed).then_some(()));
        self.forward.abort();
    }

    fn why(&self) -> String {
        self.is_over.store(true, Ordering::Relaxed);
        let Shared { is_closed, .. } = &*self.shared;
        // Of a process that is gone the cluster knows a little later.
        let ended = ended_until(monotonic_ns().saturating_add(WHY_NS), || match self.shared.state(self.agent) {
            PodState::Ended { pod, why } => Some(self.shared.ended(&pod, why)),
            _ if is_closed.load(Ordering::Relaxed) => Some(String::new()),
            PodState::Running(_) | PodState::Waiting(_) => None,
        });
        self.forward.abort();
        let why = ended.filter(|why| !why.is_empty());
        why.unwrap_or_else(|| "its connection through the API server has ended".to_owned())
    }
}
