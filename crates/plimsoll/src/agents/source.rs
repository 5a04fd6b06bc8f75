//! Source of the agents that generate a load: `--client`.

use crate::agents::connect::launcher::{ConnectLauncher, Meeting, SCHEME};
use crate::agents::host::Host;
use crate::agents::kubernetes::JobOptions;
#[cfg(feature = "kubernetes")]
use crate::agents::kubernetes::launcher::KubernetesLauncher;
use crate::agents::launcher::Launcher;
use crate::agents::slurm::{SlurmLauncher, SlurmOptions};
use crate::agents::ssh::Ssh;
use crate::agents::ssh_launcher::SshLauncher;
use crate::exit::CommandError;
use agent::OnLoss;
use std::sync::Arc;

/// Where a load comes from, if not from this machine.
#[derive(Clone, Debug)]
pub(crate) struct RemoteOptions {
    pub(crate) source: Source,
    pub(crate) on_loss: OnLoss,
}

/// Way in which agents are started.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// On these machines, through ssh.
    Ssh(Vec<Host>, Ssh),
    /// By others: they connect.
    Connect(Meeting),
    /// By Slurm: they connect.
    Slurm(SlurmOptions),
    /// In a cluster of Kubernetes.
    Kubernetes(JobOptions),
}

impl Source {
    /// Number of agents.
    pub(crate) fn agents(&self) -> usize {
        match self {
            Self::Ssh(hosts, _) => hosts.len(),
            Self::Connect(meeting) => meeting.agents,
            Self::Slurm(options) => options.meeting.agents,
            Self::Kubernetes(options) => options.address.agents,
        }
    }

    /// Begins to start them, or to wait for them.
    pub(crate) fn launcher(&self) -> Result<Arc<dyn Launcher>, CommandError> {
        Ok(match self {
            Self::Ssh(hosts, ssh) => Arc::new(SshLauncher::new(hosts.clone(), ssh.clone())?),
            Self::Connect(meeting) => Arc::new(ConnectLauncher::new(meeting.clone(), SCHEME)?),
            Self::Slurm(options) => Arc::new(SlurmLauncher::new(options)?),
            #[cfg(feature = "kubernetes")]
            Self::Kubernetes(options) => Arc::new(KubernetesLauncher::new(options)?),
            #[cfg(not(feature = "kubernetes"))]
            Self::Kubernetes(_) => return Err(crate::agents::kubernetes::not_in_this_build()),
        })
    }
}
