//! Hosts as network namespaces on one switch, and plimsoll on that of the coordinator.

use crate::support::{Program, installed, wait_for};
use lab::hosts::words;
use rustix::process::{Pid, Signal, kill_process};
use std::ops::Deref;
use std::time::Duration;

/// What is left ends by itself within this time.
const SOON: Duration = Duration::from_secs(20);

/// They end with this value.
pub(crate) struct Network(lab::hosts::Network);

impl Deref for Network {
    type Target = lab::hosts::Network;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Network {
    pub(crate) const TARGET: &str = "http://10.77.0.20/bytes/10";
    /// That of the coordinator.
    pub(crate) const OWN_TARGET: &str = "http://10.77.0.1/bytes/10";

    /// The hosts; why there are none where the kernel does not let us make them.
    pub(crate) fn start() -> Result<Self, String> {
        installed("sshd", "openssh-server");
        lab::hosts::Network::start(env!("CARGO_BIN_EXE_plimsoll").as_ref()).map(Self)
    }

    /// `plimsoll` on the host of the coordinator, with an ssh that knows `hosts`: known, changed or unknown.
    pub(crate) fn plimsoll(&self, hosts: &str, args: &[&str]) -> Program {
        let on = self.on("c");
        let words: Vec<&str> = on.get_args().map(|word| word.to_str().expect("plain words")).collect();
        // The directory it is started in is not kept by nsenter.
        let outside = format!(r#"exec nsenter {} sh -c "$0" "$PWD" "$@""#, words.join(" "));
        let inside = r#"cd "$0" && export PLIMSOLL_SSH="$1" && shift && exec "$PLIMSOLL" "$@""#;
        let ssh = self.ssh(hosts);
        Program::new("sh", ["-c", outside.as_str(), inside, ssh.as_str()].into_iter().chain(args.iter().copied()))
    }

    /// Has a host carry out a command.
    #[track_caller]
    pub(crate) fn inside(&self, host: &str, command: &str) {
        self.shell(host, command).expect("it succeeds");
    }

    pub(crate) fn kill(pids: &[Pid]) {
        assert!(!pids.is_empty(), "there is nothing to kill");
        pids.iter().for_each(|pid| kill_process(*pid, Signal::KILL).expect("it runs"));
    }

    /// Neither an agent nor an ssh is left.
    #[track_caller]
    pub(crate) fn is_clean(&self) {
        let left = || [self.agents("h1"), self.agents("h2"), self.agents("t"), self.all_connections()].concat();
        let clean = wait_for(SOON, || left().is_empty().then_some(()));
        assert!(clean.is_some(), "left: {:?}", left().into_iter().map(words).collect::<Vec<_>>());
    }
}
