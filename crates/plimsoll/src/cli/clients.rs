//! Flags of other machines: those that generate the load, and that of the server.

use super::examples::Examples;
use clap::{ArgGroup, Args, ValueEnum};
use model::Duration;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Load from other machines, and the server observed on another one.
#[derive(Debug, Default, Args)]
#[command(
    next_help_heading = "Other machines",
    group = ArgGroup::new("machines").args(["client", "server_host"]).multiple(true),
    group = ArgGroup::new("named").args(["url", "serve"]).multiple(true)
)]
pub(crate) struct ClientArgs {
    /// Machines that generate the load, such as ssh://load1,ssh://user@10.0.0.2:22, connect://N, slurm://N or
    /// k8s://NAMESPACE?replicas=N; repeatable
    ///
    /// Each is reached by the system's ssh with its configuration, keys and jump hosts, and gets a copy of this program in
    /// ~/.cache/plimsoll/agents. They share each load exactly and start at the same instant; --threads counts for each. The
    /// target has to be reachable from here too. With connect://N, alone, N agents are started by other means, each
    /// with the
    /// command that is printed, and connect to --agents-listen; with slurm://N srun starts them on N nodes. With
    /// k8s://NAMESPACE?replicas=N a Job of Kubernetes does, reached through the API server of the kubeconfig; &image=IMAGE,
    /// &cpus=N for each, &context=NAME and &patch=FILE may follow. FILE is a partial Job or Pod (YAML or JSON) with what the
    /// cluster needs, such as tolerations, merged into the Job; plimsoll agent --manifest prints the Job.
    #[arg(hide_short_help = true, long, value_name = "HOSTS", value_delimiter = ',', requires = "named",
          conflicts_with_all = ["cpus", "unix_socket"])]
    pub(crate) client: Vec<String>,
    /// Machine of the server, such as ssh://web1, to observe it there as it would be here
    ///
    /// Reached like those of --client, with which it goes together. --server and --observe name processes of that machine.
    /// With --serve the server is started there, at the address of --server-ip; with a URL it has to run already.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "HOST",
        requires = "named",
        conflicts_with_all = ["unix_socket", "no_observe"]
    )]
    pub(crate) server_host: Option<String>,
    /// Address to connect to instead of the host of the URL, such as 10.0.0.10; its port stays
    ///
    /// Host header, SNI and certificate name stay those of the URL, as with --connect-to. With --serve it is where the
    /// server
    /// listens on the machine of --server-host.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "ADDRESS",
        requires = "named",
        conflicts_with_all = ["unix_socket", "connect_to"]
    )]
    pub(crate) server_ip: Option<IpAddr>,
    /// Probe the bandwidth between the machines of the load and that of --server-host before the load
    ///
    /// Takes 2 s: first one way, then the other, at most 1 s and 64 MiB each, over TCP connections to the address of
    /// the load and
    /// a port that the kernel chooses there. A firewall that forbids the port is a note, no error. The link is then
    /// named when
    /// the load fills it.
    #[arg(hide_short_help = true, long, requires = "server_host")]
    pub(crate) probe_bandwidth: bool,
    /// Command in the place of ssh, such as 'ssh -F FILE' [default: PLIMSOLL_SSH, else ssh]
    #[arg(hide_short_help = true, long, value_name = "COMMAND", requires = "machines")]
    pub(crate) ssh: Option<String>,
    /// Address of this machine that agents connect to (connect://, slurm://); port 0 is any free one [default: 127.0.0.1:0]
    #[arg(hide_short_help = true, long, value_name = "ADDRESS:PORT", requires = "client")]
    pub(crate) agents_listen: Option<SocketAddr>,
    /// Time within which agents have to be there (connect://, slurm://, k8s://) [default: 120s]
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "client")]
    pub(crate) agents_wait: Option<Duration>,
    /// File with the secret that agents have to present when they connect; it is created if it is missing [default:
    /// PLIMSOLL_TOKEN]
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "client")]
    pub(crate) token_file: Option<PathBuf>,
    /// Command to use instead of srun for slurm://N, such as 'srun --partition=load' [default: srun]
    #[arg(hide_short_help = true, long, value_name = "COMMAND", requires = "client", allow_hyphen_values = true)]
    pub(crate) srun: Option<String>,
    /// What to do when a load machine is lost: end the load, or let the others continue it; no other load begins. The exit
    /// code is 4 with end, 5 with continue
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        value_name = "REACTION",
        default_value_t = LossArg::End,
        requires = "machines"
    )]
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

const AGENT_EXAMPLES: Examples = Examples(&[
    (
        "connect to the coordinator, with the token from a variable",
        "PLIMSOLL_TOKEN=$(cat secret) plimsoll agent --connect 10.0.0.1:7000",
    ),
    (
        "with the token from a file, and more patience",
        "plimsoll agent --connect 10.0.0.1:7000 --token-file secret --wait 10m",
    ),
    (
        "have a Kubernetes cluster check the Job of its agents",
        "plimsoll agent --manifest 'k8s://load?replicas=2&patch=pods.yaml' |\nkubectl apply --dry-run=server -f -",
    ),
]);

/// Generate load on this machine for plimsoll on another one
///
/// Run there: plimsoll run URL --client connect://N --agents-listen 10.0.0.1:7000. Both ends prove to each other that they
/// know one secret, the token, and have to be the same build. The agent generates the load that it is told to, and ends
/// with the connection. Without --connect, --listen or --manifest it speaks on stdin and stdout, as ssh:// agents do.
#[derive(Debug, Args)]
#[command(after_help = AGENT_EXAMPLES.full(), group = ArgGroup::new("way").args(["connect", "listen", "manifest"]))]
pub(crate) struct AgentArgs {
    /// Address of the coordinator, as its --agents-listen prints it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// File of the token, with mode 0600 [default: PLIMSOLL_TOKEN]
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub(crate) token_file: Option<PathBuf>,
    /// Port of 127.0.0.1 on which to wait for the coordinator, as the pods of --client k8s:// do
    ///
    /// The agent prints the fingerprint of its certificate, which is new each time. It obeys the coordinator of --coordinator
    /// alone, and refuses whoever else connects.
    #[arg(long, value_name = "PORT", requires = "coordinator")]
    pub(crate) listen: Option<u16>,
    /// Fingerprint (SHA-256) of the certificate of the coordinator that may connect to the port of --listen
    #[arg(long, value_name = "FINGERPRINT", requires = "listen")]
    pub(crate) coordinator: Option<String>,
    /// Print the Job that --client k8s://NAMESPACE?replicas=N would create, as YAML, and create nothing
    ///
    /// The address is that of --client, with &image=, &cpus= and &patch= (see plimsoll run --help). No cluster is asked:
    /// pipe the Job into kubectl apply --dry-run=server -f - for the opinion of one.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) manifest: Option<String>,
    /// How long to try while nobody listens at that address, or to wait on that port; with --manifest the time of
    /// --agents-wait [default: 30s, with --manifest 120s]
    #[arg(long, value_name = "TIME", requires = "way")]
    pub(crate) wait: Option<Duration>,
}
