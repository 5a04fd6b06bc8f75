//! Machines that generate a load, all of them this one, with the servers it goes to: started, one of them killed, and gone.

mod party;
mod strays;

pub(super) use party::{Means, Party, Victim};

use super::leaks::Left;
use super::processes::kill;
use super::verb::Verb;
use crate::child::{Killed, announced};
use crate::hosts::{Network, reach, running, words};
use rustix::process::{Signal, pidfd_send_signal};
use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing is left of a measurement after this time.
pub(super) const SOON: Duration = Duration::from_secs(10);
/// Time between two looks at all processes.
const LOOK: Duration = Duration::from_millis(50);
/// Names of the machines that a script leads to, and of those in namespaces: two of the load, and the servers'.
const HOMES: [&str; 3] = ["a", "b", "s"];
const HOSTS: [&str; 3] = ["h1", "h2", "t"];
/// Place of the servers' machine among them.
const SERVERS: usize = 2;
/// What a coordinator prints for whoever starts its agents.
const CONNECT: &str = "plimsoll agent --connect ";
/// A secret of tests.
const TOKEN: &str = "5db51d308f95821f99a85f967dabcffe";
/// Few requests, which leave this machine room.
const SLOW: [&str; 2] = ["--first-byte", "10ms"];
const PATH: &str = "/bytes/10";
/// The same where an agent starts them.
const SERVED: &str = "target first-byte=10ms path=/bytes/10";

/// Ends with this value.
pub(super) struct Fleet {
    party: Party,
    program: PathBuf,
    folder: PathBuf,
    servers: Vec<Server>,
    /// Those that connect.
    agents: Vec<Killed>,
    /// The place of the machine whose agent was killed.
    killed: Option<usize>,
    left: Left,
    /// Sockets of the namespaces before the measurement.
    sockets: Vec<String>,
    /// A machine whose link is down.
    cut: Option<&'static str>,
}

/// What is left of it, and since when nothing runs.
#[derive(Default)]
pub(super) struct Gone {
    /// A line each.
    pub(super) left: Vec<String>,
    /// None if something had to be ended.
    pub(super) after: Option<Duration>,
}

/// One that listens.
struct Server {
    child: Killed,
    url: String,
}

impl Fleet {
    /// Starts the servers of `verb`; agents are started by the coordinator, or connect to it.
    pub(super) fn start(party: &Party, program: &Path, verb: Verb, folder: &Path) -> Result<Self, String> {
        let (party, program, folder) = (party.clone(), program.to_owned(), folder.to_owned());
        reach(&folder).map_err(|error| format!("cannot write the script: {error}"))?;
        let caches = party.network.iter().flat_map(|network| HOSTS.map(|host| network.path().join(host)));
        let left = Left::new(&folder).with(caches.collect());
        let (servers, agents, sockets) = (Vec::new(), Vec::new(), Vec::new());
        let (killed, cut) = (None, None);
        let mut fleet = Self { party, program, folder, servers, agents, killed, left, sockets, cut };
        if let Some(network) = &fleet.party.network {
            strays::forget_copies(&HOSTS.map(|host| network.path().join(host)), fleet.party.is_new)?;
        }
        for number in 0..if fleet.party.is_served { 0 } else { servers_of(verb) } {
            let server = fleet.serve(9001 + number)?;
            fleet.servers.push(server);
        }
        fleet.sockets = fleet.listening()?;
        Ok(fleet)
    }

    /// Starts a server: on its machine if there is one, or on a free port of this one.
    fn serve(&self, port: u16) -> Result<Server, String> {
        let (mut command, address) = match &self.party.network {
            Some(network) => {
                let mut command = network.on(HOSTS[SERVERS]);
                command.arg(&self.program);
                (command, format!("{}:{port}", Network::SERVERS))
            }
            None => (Command::new(&self.program), "127.0.0.1:0".to_owned()),
        };
        command.args(["target", "--die-with-parent", "--listen", &address]).args(SLOW);
        command.env("TMPDIR", &self.folder).current_dir(&self.folder);
        // It warns of those that reach it: they are all ours.
        let started = announced(command.stderr(Stdio::null()));
        let (child, said) = started.map_err(|error| format!("cannot start a server: {error:#}"))?;
        let base = said["url"].as_str().ok_or("a server names no URL")?.trim_end_matches('/');
        Ok(Server { child, url: format!("{base}{PATH}") })
    }

    /// The measurement, up to where its result goes.
    pub(super) fn command(&self, program: &Path, verb: Verb) -> Command {
        let mut command = match &self.party.network {
            Some(network) => {
                let mut command = network.on("c");
                // The directory it is started in is not kept on the way there.
                command.args(["sh", "-c", r#"cd "$0" && exec "$@""#]).arg(&self.folder).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.arg(verb.name()).args(self.servers.iter().map(|server| &server.url));
        if self.party.is_served {
            for _ in 0..servers_of(verb) {
                command.args(["--serve", SERVED]);
            }
            // Two of one name are no two variants.
            let names = ["--name", "one", "--name", "two"];
            command.args(names.iter().filter(|_| verb == Verb::Compare));
        }
        command.args(verb.words_of_agents()).args(self.party.words());
        let is_reached = self.party.means != Means::Connect || self.party.has_server_host;
        if is_reached {
            let ssh = self.party.network.as_ref().map(|network| network.ssh("known"));
            command.arg("--ssh").arg(ssh.unwrap_or_else(|| self.folder.join("reach").display().to_string()));
        }
        command.env("PLIMSOLL_TOKEN", TOKEN);
        command
    }

    /// Starts the agents that connect as soon as `stderr` of the coordinator says where to.
    pub(super) fn look(&mut self, stderr: &Path) {
        if self.party.means != Means::Connect || !self.agents.is_empty() {
            return;
        }
        let said = read_to_string(stderr).unwrap_or_default();
        let Some(address) = address(&said) else { return };
        for number in 1..=2 {
            let Ok(log) = File::create(self.folder.join(format!("agent-{number}"))) else { return };
            let mut command = Command::new(&self.program);
            command.args(["agent", "--connect", address]).env("PLIMSOLL_TOKEN", TOKEN).env("TMPDIR", &self.folder);
            command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            // One that is missing is told by the coordinator.
            self.agents.extend(command.spawn().map(Killed));
        }
    }

    /// Kills somebody, or cuts a link; false while there is nobody.
    pub(super) fn strike(&mut self, victim: Victim) -> Result<bool, String> {
        self.left.remember(Vec::new());
        let which = self.party.which;
        let pids: Vec<i32> = match (victim, &self.party.network) {
            (Victim::Server, _) if self.party.is_served => one_of(self.copies("target"), which),
            (Victim::Server, _) => {
                let at = which % self.servers.len();
                vec![self.servers[at].child.id().cast_signed()]
            }
            (Victim::Link, Some(network)) => {
                let host = HOSTS[which % SERVERS];
                network.shell("sw", &format!("ip link set {host} down"))?;
                self.cut = Some(host);
                return Ok(true);
            }
            (Victim::Ssh, Some(network)) => pids(&network.connections(HOSTS[self.party.host()])),
            (Victim::Agent, _) => self.agent(which % SERVERS),
            (Victim::ServerAgent, _) => one_of(self.copies("agent"), which),
            (Victim::Link | Victim::Ssh, None) => return Err("that needs machines of their own".into()),
        };
        // One that ends at this moment is none.
        let is_struck = !pids.is_empty() && pids.into_iter().all(|pid| kill(pid, Signal::KILL).is_ok());
        self.killed = match victim {
            Victim::Agent if is_struck => Some(which % SERVERS),
            Victim::ServerAgent if is_struck => Some(SERVERS),
            _ => None,
        };
        Ok(is_struck)
    }

    /// The process of an agent.
    fn agent(&self, host: usize) -> Vec<i32> {
        match (&self.party.network, self.party.means) {
            (Some(network), _) => pids(&network.agents(HOSTS[host])),
            (None, Means::Connect) => self.agents.get(host).map(|agent| agent.id().cast_signed()).into_iter().collect(),
            (None, _) => {
                let home = self.folder.join(HOMES[host]);
                let running = pids(&running(&home));
                if !running.is_empty() {
                    return running;
                }
                // Its shell, before that has come so far.
                let numbers = read_to_string(home.join("pid")).unwrap_or_default();
                numbers.lines().last().and_then(|pid| pid.parse().ok()).into_iter().collect()
            }
        }
    }

    /// Processes of the copy of the program on the servers' machine that carry out a verb.
    fn copies(&self, verb: &str) -> Vec<i32> {
        let all = match &self.party.network {
            Some(network) => network.agents(HOSTS[SERVERS]),
            None => running(&self.folder.join(HOMES[SERVERS])),
        };
        pids(&all.into_iter().filter(|pid| words(*pid).get(1).is_some_and(|word| word == verb)).collect::<Vec<_>>())
    }

    /// Waits until all have ended, until `limit` after `since`; what is left then. Servers, which are ours, are ended before.
    pub(super) fn gone(&mut self, since: Instant, limit: Duration) -> Gone {
        self.servers.clear();
        let (after, mut left) = match self.await_end(since, limit) {
            Ok(after) => (Some(after), Vec::new()),
            Err(why) => (None, vec![why]),
        };
        left.extend(self.wrong_agents());
        self.end_all();
        left.extend(self.left.sockets());
        left.extend(self.strays());
        Gone { left, after }
    }

    /// After which time nothing runs; what still ran after `limit` and the time for which the machine kept us waiting.
    fn await_end(&self, since: Instant, limit: Duration) -> Result<Duration, String> {
        let mut late = Duration::ZERO;
        loop {
            let looked = Instant::now();
            let processes = self.left.processes();
            let took = since.elapsed();
            match (processes.is_empty(), took <= limit + late) {
                (true, true) => return Ok(took),
                (true, false) => return Err(format!("the last process ended after {took:.1?} only")),
                (false, true) => {}
                (false, false) => return Err(format!("after {took:.1?} there was {}", processes.join(", "))),
            }
            std::thread::sleep(LOOK);
            late += looked.elapsed().saturating_sub(2 * LOOK);
        }
    }

    /// Files and sockets.
    fn strays(&self) -> Vec<String> {
        let caches: Vec<PathBuf> = match &self.party.network {
            Some(network) => HOSTS.map(|host| network.path().join(host)).to_vec(),
            None => HOMES.map(|home| self.folder.join(home)).to_vec(),
        };
        let of_one = |(place, cache): (usize, &PathBuf)| strays::files(cache, self.killed == Some(place));
        let mut strays: Vec<String> = caches.iter().enumerate().flat_map(of_one).collect();
        match self.listening() {
            Ok(listening) => {
                // Servers of ours have ended since.
                let new = listening.into_iter().filter(|socket| !self.sockets.contains(socket));
                strays.extend(new.map(|socket| format!("left socket {socket}")));
            }
            Err(why) => strays.push(why),
        }
        strays
    }

    /// Listening sockets of the namespaces; those of this machine are known by their processes.
    fn listening(&self) -> Result<Vec<String>, String> {
        let Some(network) = &self.party.network else { return Ok(Vec::new()) };
        let mut sockets = Vec::new();
        for host in HOSTS.iter().chain(&["c"]) {
            for table in ["tcp", "tcp6"] {
                let listening = strays::listening(&network.shell(host, &format!("cat /proc/net/{table}"))?)?;
                sockets.extend(listening.iter().map(|address| format!("{host} {address}")));
            }
        }
        Ok(sockets)
    }

    /// Agents that connect end with 0, or with 2 and a line, unless they were killed.
    fn wrong_agents(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, agent) in self.agents.iter_mut().enumerate() {
            let code = agent.try_wait().ok().flatten().map(|status| status.code());
            let is_victim = self.killed == Some(number);
            let said = read_to_string(self.folder.join(format!("agent-{}", number + 1))).unwrap_or_default();
            if !is_victim && (!matches!(code, Some(Some(0 | 2))) || said.contains("panicked at")) {
                wrong.push(format!("agent {} ended with {code:?}: {}", number + 1, said.trim()));
            }
        }
        wrong
    }

    /// Ends what is left, and mends what was cut.
    fn end_all(&mut self) {
        for process in self.left.handles() {
            // It has ended by itself, or does so now.
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
        self.agents.clear();
        if let (Some(network), Some(host)) = (&self.party.network, self.cut.take()) {
            // Where it stays down, the next try tells.
            let _ = network.shell("sw", &format!("ip link set {host} up"));
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.servers.clear();
        self.end_all();
    }
}

/// How many servers a verb measures.
fn servers_of(verb: Verb) -> u16 {
    if verb == Verb::Compare { 2 } else { 1 }
}

/// One of several, if there are any.
fn one_of(pids: Vec<i32>, which: usize) -> Vec<i32> {
    pids.get(which % pids.len().max(1)).copied().into_iter().collect()
}

fn pids(of: &[rustix::process::Pid]) -> Vec<i32> {
    of.iter().map(|pid| pid.as_raw_nonzero().get()).collect()
}

/// Where agents are to connect to, once the coordinator has said it in a whole line.
fn address(said: &str) -> Option<&str> {
    let (line, _) = said.split_once(CONNECT)?.1.split_once('\n')?;
    line.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_connect_to_what_a_whole_line_says() {
        let said = "waiting 20s for 2 agents\n  plimsoll agent --connect 127.0.0.1:7000\n";
        assert_eq!(address(said), Some("127.0.0.1:7000"));
        assert_eq!(address("  plimsoll agent --connect 127.0.0.1:70"), None, "the line goes on");
    }
}
