//! Who takes part in a load of agents, and who of them may be killed.

use crate::hosts::Network;
use std::fmt;
use std::rc::Rc;

/// How the coordinator gets its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::chaos) enum Means {
    /// A script in the place of ssh starts them on this machine.
    Script,
    /// They connect by themselves.
    Connect,
    /// Real ssh and sshd, between network namespaces.
    Ssh,
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::chaos) enum Victim {
    /// An agent of the load.
    Agent,
    /// That of the servers' machine.
    ServerAgent,
    /// A connection.
    Ssh,
    /// A server that is measured.
    Server,
    /// A cable.
    Link,
}

/// Machines that take part.
#[derive(Clone)]
pub(in crate::chaos) struct Party {
    pub(in crate::chaos) means: Means,
    /// True if an agent observes the servers.
    pub(in crate::chaos) has_server_host: bool,
    /// True if an agent starts the servers, too.
    pub(in crate::chaos) is_served: bool,
    /// Which of those of a kind is killed: 0 to 2.
    pub(in crate::chaos) which: usize,
    /// True if no machine has the program yet.
    pub(in crate::chaos) is_new: bool,
    /// Machines that are namespaces; with ssh alone.
    pub(in crate::chaos) network: Option<Rc<Network>>,
}

impl Party {
    /// What the coordinator is told of them.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let (clients, server) = match self.means {
            Means::Script => ("ssh://a,ssh://b", "ssh://s"),
            Means::Connect => ("connect://2", "ssh://s"),
            Means::Ssh => ("ssh://h1,ssh://h2", "ssh://t"),
        };
        let mut words = vec!["--client", clients];
        if self.means == Means::Connect {
            words.extend(["--agents-wait", "8s"]);
        }
        if self.has_server_host {
            words.extend(["--server-host", server]);
        }
        if self.is_served {
            words.extend(["--server-ip", self.address()]);
        }
        words
    }

    /// Where servers listen.
    pub(super) const fn address(&self) -> &'static str {
        match self.means {
            Means::Ssh => Network::SERVERS,
            Means::Script | Means::Connect => "127.0.0.1",
        }
    }

    /// The place of the machine whose connection is killed.
    pub(super) const fn host(&self) -> usize {
        if self.has_server_host { self.which } else { self.which % 2 }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))?;
        let is_told = self.is_new && self.means == Means::Ssh;
        if is_told { f.write_str(", without copies") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_of_the_servers_is_reached_by_ssh_whatever_the_load_comes_from() {
        let party = Party {
            means: Means::Connect,
            has_server_host: true,
            is_served: false,
            which: 2,
            is_new: true,
            network: None,
        };
        let said = "--client connect://2 --agents-wait 8s --server-host ssh://s";
        assert_eq!(party.to_string(), said);
        assert_eq!(party.host(), 2);
        let served = Party { means: Means::Ssh, is_served: true, is_new: false, ..party.clone() };
        let said = "--client ssh://h1,ssh://h2 --server-host ssh://t --server-ip 10.77.0.20";
        assert_eq!(served.to_string(), said);
        let alone = Party { means: Means::Ssh, has_server_host: false, is_new: false, ..party };
        assert_eq!((alone.to_string().as_str(), alone.host()), ("--client ssh://h1,ssh://h2", 0));
    }
}
