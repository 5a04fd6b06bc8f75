//! Where the load comes from, and where the server is observed: this machine, or others.

use crate::agents::connect::launcher::{self as connect, Meeting};
use crate::agents::connect::token::{TOKEN_VARIABLE, Token, TokenSource};
use crate::agents::host::Host;
use crate::agents::kubernetes::JobOptions;
use crate::agents::kubernetes::options::{self as kubernetes, KubernetesOptions};
use crate::agents::remote::{AGREE_NS, too_few};
use crate::agents::server_place::{ServePlace, ServerHostOptions};
use crate::agents::slurm::{self, SlurmOptions};
use crate::agents::source::{RemoteOptions, Source};
use crate::agents::ssh::Ssh;
use crate::cli::clients::{ClientArgs, LossArg};
use crate::cli::observe::ObserverArgs;
use crate::exit::CommandError;
use crate::serving;
use crate::settings::connect_override::Detour;
use crate::settings::draft::Draft;
use crate::settings::selectors::Selectors;
use crate::settings::trust::Trust;
use agent::OnLoss;
use model::{AGENTS_MAX, Duration, NS_PER_S, Redacted, Warmup};
use stack::Spec;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Agents reach this machine alone, unless an address is given.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Agents that others start are waited for so long.
pub(crate) const WAIT: Duration = Duration { ns: 120 * NS_PER_S };
const WAIT_FLAG: &str = "--agents-wait";

/// Other machines that take part in a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Machines {
    /// Those that generate the load; none: this one.
    pub(crate) clients: Option<RemoteOptions>,
    /// The one where the server is observed; none: this one.
    pub(crate) server: Option<ServerHostOptions>,
}

impl Machines {
    /// Those of the flags, beside these of `--serve`. The smallest load has so many connections, by a flag.
    pub(crate) fn new(
        args: &ClientArgs,
        serve: &[String],
        observer: &ObserverArgs,
        warmup: Warmup,
        smallest: (&str, u32),
    ) -> Result<Self, CommandError> {
        Ok(Self { clients: remote(args, warmup, smallest)?, server: server_host(args, serve, observer)? })
    }
}

/// The machines of `--client`; none without it. The smallest load has so many connections, by a flag.
fn remote(
    args: &ClientArgs,
    warmup: Warmup,
    (flag, connections): (&str, u32),
) -> Result<Option<RemoteOptions>, CommandError> {
    if args.client.is_empty() {
        return Ok(None);
    }
    if warmup == Warmup::Auto {
        return Err(CommandError::usage(
            "--warmup auto is for one machine: several would not agree when it ends; write a time",
        ));
    }
    let source = source(args)?;
    if (connections as usize) < source.agents() {
        return Err(too_few(flag, connections, source.agents()));
    }
    Ok(Some(RemoteOptions { source, on_loss: on_loss(args) }))
}

/// Number of agents of `--client`; none without it.
pub(crate) fn agents(args: &ClientArgs) -> Result<usize, CommandError> {
    if let Some(options) = in_cluster(args)? {
        return Ok(options.agents);
    }
    Ok(started_by_others(args)?.map_or(args.client.len(), |(_, agents)| agents))
}

/// Scheme and number of agents that are not started through ssh; none if there are no such.
fn started_by_others(args: &ClientArgs) -> Result<Option<(&'static str, usize)>, CommandError> {
    let found = [connect::SCHEME, slurm::SCHEME]
        .into_iter()
        .find_map(|scheme| args.client.iter().find_map(|text| Some((scheme, text.strip_prefix(scheme)?))));
    let Some((scheme, number)) = found else { return Ok(None) };
    alone(args, &format!("{scheme}N"))?;
    let agents = number.parse().ok().filter(|n| (1..=AGENTS_MAX).contains(n)).ok_or_else(|| {
        let shown = Redacted::url(&args.client[0]);
        CommandError::usage(format!(
            "--client {shown} needs a number of agents from 1 to {AGENTS_MAX}; write for example {scheme}2"
        ))
    })?;
    Ok(Some((scheme, agents)))
}

/// Refuses others beside an address of this form, which has the number of all agents.
fn alone(args: &ClientArgs, form: &str) -> Result<(), CommandError> {
    match args.client.len() {
        1 => Ok(()),
        _ => Err(CommandError::usage(format!("--client {form} goes alone: N is the number of all agents"))),
    }
}

/// Agents in a cluster of Kubernetes; none if no such are asked for.
fn in_cluster(args: &ClientArgs) -> Result<Option<KubernetesOptions>, CommandError> {
    let Some(text) = args.client.iter().find(|text| text.starts_with(kubernetes::SCHEME)) else { return Ok(None) };
    alone(args, &format!("{}NAMESPACE?replicas=N", kubernetes::SCHEME))?;
    KubernetesOptions::parse("--client", text, wait(args)).map(Some)
}

/// How the agents of `--client` are started.
fn source(args: &ClientArgs) -> Result<Source, CommandError> {
    if let Some(options) = in_cluster(args)? {
        refuse(meeting_flags(args).into_iter().filter(|(flag, _)| *flag != WAIT_FLAG))?;
        no_ssh(args)?;
        return JobOptions::read(options).map(Source::Kubernetes);
    }
    let Some((scheme, agents)) = started_by_others(args)? else {
        refuse(meeting_flags(args))?;
        return Ok(Source::Ssh(Host::list(&args.client)?, Ssh::new(args.ssh.as_deref())?));
    };
    no_ssh(args)?;
    if scheme == slurm::SCHEME {
        return slurm(args, agents).map(Source::Slurm);
    }
    if args.srun.is_some() {
        return Err(CommandError::usage(format!("--srun is for --client {}N", slurm::SCHEME)));
    }
    let token = TokenSource::find(args.token_file.as_deref())?.ok_or_else(|| {
        CommandError::usage(format!(
            "--client {scheme}{agents} needs a secret that this program and its agents know: export \
             {TOKEN_VARIABLE}=$(openssl rand -hex 32), or write --token-file FILE, which is made"
        ))
    })?;
    Ok(Source::Connect(meeting(args, agents, args.agents_listen.unwrap_or(LISTEN), token)))
}

/// Agents that Slurm starts; without a token of the user they have one of their own.
fn slurm(args: &ClientArgs, agents: usize) -> Result<SlurmOptions, CommandError> {
    let listen = args.agents_listen.ok_or_else(|| {
        CommandError::usage(format!(
            "--client {}{agents} needs an address of this machine that the nodes reach; write for example --agents-listen \
             10.0.0.1:0",
            slurm::SCHEME
        ))
    })?;
    let text = args.srun.as_deref().unwrap_or("srun");
    let srun = shlex::split(text).filter(|words| !words.is_empty());
    let srun = srun.ok_or_else(|| CommandError::usage("--srun is no command: quotes do not match"))?;
    let token = match TokenSource::find(args.token_file.as_deref())? {
        Some(token) => token,
        None => TokenSource::Known(Token::random()?),
    };
    Ok(SlurmOptions { meeting: meeting(args, agents, listen, token), srun })
}

/// Time within which agents that are not reached through ssh have to be there.
fn wait(args: &ClientArgs) -> Duration {
    args.agents_wait.unwrap_or(WAIT)
}

/// Where agents connect to.
fn meeting(args: &ClientArgs, agents: usize, listen: SocketAddr, token: TokenSource) -> Meeting {
    Meeting { agents, listen, wait: wait(args), token, token_file: args.token_file.clone() }
}

/// Flags of agents who connect, and whether they are given.
fn meeting_flags(args: &ClientArgs) -> [(&'static str, bool); 4] {
    [
        ("--agents-listen", args.agents_listen.is_some()),
        (WAIT_FLAG, args.agents_wait.is_some()),
        ("--token-file", args.token_file.is_some()),
        ("--srun", args.srun.is_some()),
    ]
}

/// Refuses flags that agents do not need.
fn refuse(flags: impl IntoIterator<Item = (&'static str, bool)>) -> Result<(), CommandError> {
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(CommandError::usage(format!(
            "{flag} is for --client {}N or {}N, whose agents connect",
            connect::SCHEME,
            slurm::SCHEME
        ))),
        None => Ok(()),
    }
}

/// Refuses `--ssh` where no machine is reached through ssh.
fn no_ssh(args: &ClientArgs) -> Result<(), CommandError> {
    match args.ssh.is_some() && args.server_host.is_none() {
        true => Err(CommandError::usage("--ssh is for --client ssh://HOST and --server-host; leave it out")),
        false => Ok(()),
    }
}

/// The machine of `--server-host`; none without it.
fn server_host(
    args: &ClientArgs,
    serve: &[String],
    observer: &ObserverArgs,
) -> Result<Option<ServerHostOptions>, CommandError> {
    let Some(text) = &args.server_host else { return starts_here(args, serve).map(|()| None) };
    let (host, ssh) = (Host::parse("--server-host", text)?, Ssh::new(args.ssh.as_deref())?);
    let place = match (serve, args.server_ip) {
        ([], _) => None,
        (_, Some(IpAddr::V4(address))) => Some(ServePlace { host: host.clone(), ssh: ssh.clone(), address }),
        (_, Some(IpAddr::V6(_))) => {
            return Err(CommandError::usage("--server-ip: servers that --serve starts listen at IPv4 addresses only"));
        }
        (_, None) => {
            return Err(CommandError::usage(
                "--serve with --server-host needs --server-ip: the address of that machine at which the server is to \
                 listen, such as 10.0.0.10",
            ));
        }
    };
    Ok(Some(ServerHostOptions {
        host,
        ssh,
        place,
        on_loss: on_loss(args),
        server: observer.server.clone(),
        observe: observer.observe.clone(),
        is_probed: args.probe_bandwidth,
    }))
}

/// Fails where servers are to be started on this machine, and a flag is about others.
fn starts_here(args: &ClientArgs, serve: &[String]) -> Result<(), CommandError> {
    let flag = [("--client", !args.client.is_empty()), ("--server-ip", args.server_ip.is_some())];
    match flag.into_iter().find(|(_, is_given)| *is_given && !serve.is_empty()) {
        Some((flag, _)) => Err(CommandError::usage(format!(
            "--serve with {flag} needs --server-host: the machine that the server is to be started on"
        ))),
        None => Ok(()),
    }
}

/// What `--serve` asks for, on the machine of `--server-host` or else on this one.
pub(crate) fn specs(args: &ClientArgs, serve: &[String]) -> Result<Vec<Spec>, CommandError> {
    if args.server_host.is_some() { serving::specs_elsewhere(serve) } else { serving::specs(serve) }
}

/// What is looked at from here.
pub(crate) fn selectors(args: &ClientArgs, observer: &ObserverArgs, trust: &Trust) -> Result<Selectors, CommandError> {
    if args.server_host.is_some() { Selectors::of_pages(observer, trust) } else { Selectors::read(observer, trust) }
}

/// The address of `--server-ip` in the place of the URL's host; a server that is started has it in its URL.
pub(crate) fn direct(args: &ClientArgs, serve: &[String], mut draft: Draft) -> Draft {
    let address = args.server_ip.filter(|_| serve.is_empty());
    draft.detour = address.map(Detour::ServerIp).or(draft.detour);
    draft
}

const fn on_loss(args: &ClientArgs) -> OnLoss {
    match args.on_agent_loss {
        LossArg::End => OnLoss::End,
        LossArg::Continue => OnLoss::Continue,
    }
}

/// About how long a load takes before it starts, beyond what one of this machine does; ns.
pub(crate) const fn agree_ns(args: &ClientArgs) -> u64 {
    if args.client.is_empty() { 0 } else { AGREE_NS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn args(client: &[&str], token_file: Option<&Path>) -> ClientArgs {
        let client = client.iter().map(ToString::to_string).collect();
        ClientArgs { client, token_file: token_file.map(Path::to_path_buf), ..ClientArgs::default() }
    }

    #[test]
    fn agents_that_one_flag_names_count_as_many() {
        let count = |client: &[&str]| agents(&args(client, None)).map_err(|error| error.message);
        assert_eq!([count(&[]), count(&["ssh://a", "ssh://b"])], [Ok(0), Ok(2)]);
        assert_eq!([count(&["connect://3"]), count(&["slurm://5"])], [Ok(3), Ok(5)]);
        assert_eq!(count(&["k8s://load?replicas=7"]), Ok(7));
        let both = count(&["k8s://load?replicas=2", "ssh://a"]).expect_err("N is the number of all");
        assert!(both.contains("k8s://NAMESPACE?replicas=N goes alone"), "{both}");
    }

    /// It was ignored.
    #[test]
    fn a_command_in_the_place_of_ssh_is_refused_where_nothing_is_reached_through_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let token = directory.path().join("token");
        let with = |client: &str, server_host: Option<&str>| {
            let token_file = Some(token.as_path()).filter(|_| !client.starts_with(kubernetes::SCHEME));
            let agents_listen = client.starts_with(slurm::SCHEME).then_some(LISTEN);
            let (ssh, server_host) = (Some("ssh -F other".to_owned()), server_host.map(str::to_owned));
            let args = ClientArgs { ssh, server_host, agents_listen, ..args(&[client], token_file) };
            source(&args).map(drop).map_err(|error| error.message)
        };
        for client in ["connect://2", "slurm://2", "k8s://load?replicas=2"] {
            let message = with(client, None).expect_err(client);
            assert_eq!(message, "--ssh is for --client ssh://HOST and --server-host; leave it out");
            assert_eq!(with(client, Some("ssh://web1")), Ok(()), "{client}");
        }
    }

    #[test]
    fn what_is_only_read_makes_no_token_file() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("token");
        let source = source(&args(&["connect://2"], Some(&path))).unwrap_or_else(|error| panic!("{}", error.message));
        assert!(!path.exists(), "nobody is to connect yet");
        let Source::Connect(meeting) = source else { panic!("another source") };
        assert!(meeting.token.token().is_ok() && path.exists());
    }
}
