//! Load from agents, and a server observed by one, reached by a command that runs them on this machine.

mod bandwidth;
mod cluster;
mod comparisons;
mod connected;
mod host_experiment;
mod hosts;
mod killed;
mod local;
mod losses;
mod network;
mod searches;
mod served;
mod server_host;
mod server_seen;
mod slurm;

use crate::support::{Program, Target, count, decide_watched, list, plimsoll, wait_for};
use lab::hosts::{reach, running};
use rustix::process::{Pid, test_kill_process};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// The load comes from two of them.
const CLIENTS: [&str; 4] = ["--client", "ssh://a,ssh://b", "--warmup", "500ms"];

/// A stopped load ends, and an agent without a coordinator is gone, within this time.
const SOON: Duration = Duration::from_secs(15);

/// Hosts that are directories.
pub(crate) struct Hosts {
    directory: TempDir,
}

impl Hosts {
    pub(crate) fn new() -> Self {
        Self::with_profile("")
    }

    /// Each begins with these lines.
    fn with_profile(profile: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        reach(directory.path()).expect("a script");
        std::fs::write(directory.path().join("profile"), profile).expect("a profile");
        Self { directory }
    }

    pub(crate) fn run(&self, url: &str, more: &[&str]) -> Program {
        self.measure("run", url, more)
    }

    /// A verb that measures, with load of two of them.
    fn measure(&self, verb: &str, url: &str, more: &[&str]) -> Program {
        self.reached(verb, url, &[&CLIENTS, more].concat())
    }

    /// A comparison of two servers, with load of two of them.
    fn compare(&self, urls: [&str; 2], more: &[&str]) -> Program {
        self.reached("compare", urls[0], &[&[urls[1]][..], &CLIENTS, more].concat())
    }

    /// The same with the machines that `more` names.
    fn reached(&self, verb: &str, url: &str, more: &[&str]) -> Program {
        let reach = self.directory.path().join("reach");
        let args = [verb, url, "--ssh", reach.to_str().expect("a plain path"), "--json"];
        plimsoll(args.into_iter().chain(more.iter().copied()))
    }

    pub(crate) fn home(&self, host: &str) -> PathBuf {
        self.directory.path().join(host)
    }

    /// The copy of the program.
    fn copy(&self, host: &str) -> PathBuf {
        let copies = list(&self.home(host).join(".cache/plimsoll/agents"));
        assert_eq!(copies.len(), 1, "{copies:?}");
        let files = list(&copies[0]);
        assert_eq!(files, [copies[0].join("plimsoll")]);
        files[0].clone()
    }

    /// The agent itself.
    fn pid(&self, host: &str) -> Pid {
        *running(&self.home(host)).last().expect("it runs")
    }

    /// The shell that was started last, which becomes what runs it.
    fn shell(&self, host: &str) -> Pid {
        let numbers = self.numbers(host);
        let last = numbers.lines().last().expect("it was started");
        Pid::from_raw(last.parse().expect("a number")).expect("above 0")
    }

    /// How often an agent was started on a host.
    fn starts(&self, host: &str) -> usize {
        self.numbers(host).lines().count()
    }

    /// Of the processes of its agents, a line each.
    fn numbers(&self, host: &str) -> String {
        std::fs::read_to_string(self.home(host).join("pid")).expect("it was started")
    }

    #[track_caller]
    fn are_gone(&self) {
        ["a", "b"].into_iter().for_each(|host| self.is_gone(host));
    }

    #[track_caller]
    fn is_gone(&self, host: &str) {
        let (home, shell) = (self.home(host), self.shell(host));
        let is_gone = || running(&home).is_empty() && test_kill_process(shell).is_err();
        assert!(wait_for(SOON, || is_gone().then_some(())).is_some(), "left of {host}: {:?}", running(&home));
    }
}

#[test]
fn two_agents_share_one_load_and_all_of_it_is_in_one_result() {
    decide_watched(|| {
        let (target, hosts) = (Target::start(&[]), Hosts::new());
        let ended = hosts.run(&target.url("/bytes/10"), &["-R", "400", "-c", "9", "-d", "3s"]).run();
        let record = ended.measured().json();
        let agents = record["agents"].as_array().expect("agents");
        assert_eq!(agents.len(), 2, "{record:#}");
        let sent: u64 = agents.iter().map(|agent| count(agent, "flow.sent")).sum();
        assert!((1_200..1_700).contains(&sent), "{sent} of 400/s in 3.5 s");
        assert!(agents.iter().all(|agent| count(agent, "flow.sent") > sent / 4), "{agents:#?}");
        let responses: u64 = agents.iter().map(|agent| count(agent, "response_ns.n")).sum();
        assert_eq!(responses, count(&record, "latency_ns.response.n"), "histograms are added, not averaged");
        assert_eq!(count(&record, "requests.planned"), responses);
        let in_window: u64 = agents.iter().map(|agent| count(agent, "window.sent")).sum();
        assert!(in_window < sent && in_window > responses / 2, "{in_window} of {sent}, without the warm-up");
        let probed = 3;
        assert_eq!(target.seen().1, sent + probed, "the server has seen what the agents say");
        assert!(agents.iter().all(|agent| count(agent, "start_error_ns") < 20_000_000), "{agents:#?}");
        assert_eq!(ended.recorded("run.json"), ended.stdout);
        // The schedule is the same whoever sends it: all instants of Poisson arrivals are there once.
        // Not prolonged, as several machines are not.
        let load = ["-R", "400", "-c", "9", "-d", "3s", "--warmup", "500ms", "--budget", "0s", "--json"];
        let url = target.url("/bytes/10");
        let alone = plimsoll(["run", url.as_str()].into_iter().chain(load)).run();
        assert_eq!(count(&alone.measured().json(), "requests.planned"), responses);
        hosts.are_gone();
    });
}
