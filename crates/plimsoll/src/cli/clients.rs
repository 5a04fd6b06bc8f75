//! Flags of other machines: those that generate the load, and that of the server.

use clap::{ArgGroup, Args, ValueEnum};
use std::net::IpAddr;

/// Load from other machines, and the server observed on another one.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Other machines", group = ArgGroup::new("machines").args(["client", "server_host"]).multiple(true))]
pub(crate) struct ClientArgs {
    /// Machines that generate the load, such as ssh://load1,ssh://user@10.0.0.2:22; repeatable
    ///
    /// Each is reached by the system's ssh with its configuration, keys and jump hosts, and gets a copy of this program in
    /// ~/.cache/plimsoll/agents. They share each load exactly and start at the same instant; --threads counts for each. The
    /// target has to be reachable from here too.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', requires = "url",
          conflicts_with_all = ["serve", "cpus", "unix_socket"])]
    pub(crate) client: Vec<String>,
    /// Machine of the server, such as ssh://web1, to observe it there as it would be here
    ///
    /// Reached like those of --client, with which it goes together. --server and --observe name processes of that machine.
    /// The server has to run already.
    #[arg(long, value_name = "HOST", requires = "url", conflicts_with_all = ["serve", "unix_socket", "no_observe"])]
    pub(crate) server_host: Option<String>,
    /// Address to connect to instead of the host of the URL, such as 10.0.0.10; its port stays
    ///
    /// Host header, SNI and certificate name stay those of the URL, as with --connect-to.
    #[arg(long, value_name = "ADDRESS", requires = "url", conflicts_with_all = ["serve", "unix_socket", "connect_to"])]
    pub(crate) server_ip: Option<IpAddr>,
    /// Probe the bandwidth between the machines of the load and that of --server-host before the load
    ///
    /// Takes 2 s: first one way, then the other, at most 1 s and 64 MiB each, over TCP connections to the address of the load and
    /// a port that the kernel chooses there. A firewall that forbids the port is a note, no error. The link is then named when
    /// the load fills it.
    #[arg(long, requires = "server_host")]
    pub(crate) probe_bandwidth: bool,
    /// Command in the place of ssh, such as 'ssh -F FILE' [default: PLIMSOLL_SSH, else ssh]
    #[arg(long, value_name = "COMMAND", requires = "machines")]
    pub(crate) ssh: Option<String>,
    /// What the loss of a machine does to a load, after which no other begins; the exit code is 4 with end, 5 with continue
    #[arg(long, value_enum, default_value_t = LossArg::End, requires = "machines")]
    pub(crate) on_agent_loss: LossArg,
}

impl ClientArgs {
    /// The first flag that another machine takes part by; none if none does.
    pub(crate) fn flag(&self) -> Option<&'static str> {
        let given = [
            ("--client", !self.client.is_empty()),
            ("--server-host", self.server_host.is_some()),
            ("--server-ip", self.server_ip.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

/// See [`agent::OnLoss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossArg {
    /// It ends
    #[default]
    End,
    /// The others go on with it, and the result is incomplete
    Continue,
}

/// Command line of an agent; internal.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {}
