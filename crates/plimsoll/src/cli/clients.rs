//! Flags of a load from other machines.

use clap::{Args, ValueEnum};

/// Load from other machines.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load from other machines")]
pub(crate) struct ClientArgs {
    /// Machines that generate the load, such as ssh://load1,ssh://user@10.0.0.2:22; repeatable
    ///
    /// Each is reached by the system's ssh with its configuration, keys and jump hosts, and gets a copy of this program in
    /// ~/.cache/plimsoll/agents. They share each load exactly and start at the same instant; --threads counts for each. The
    /// target has to be reachable from here too.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', requires = "url",
          conflicts_with_all = ["serve", "cpus", "unix_socket"])]
    pub(crate) client: Vec<String>,
    /// Command in the place of ssh, such as 'ssh -F FILE' [default: PLIMSOLL_SSH, else ssh]
    #[arg(long, value_name = "COMMAND", requires = "client")]
    pub(crate) ssh: Option<String>,
    /// What the loss of a machine does to a load, after which no other begins; the exit code is 4 with end, 5 with continue
    #[arg(long, value_enum, default_value_t = LossArg::End, requires = "client")]
    pub(crate) on_agent_loss: LossArg,
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
