//! The API server of a cluster, reached as kubectl reaches it: `KUBECONFIG` or `~/.kube/config`, else the account of the own pod.
//!
//! Each question is answered within a time; what is told of a failure is one bounded line.

use super::job::{LABEL, PORT};
use super::options::KubernetesOptions;
use crate::agents::connect::certificate::Identity;
use crate::agents::connect::fingerprint::Fingerprint;
use agent::checked;
use agent::pods::{self, CONTAINER, PodState};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, LogParams, Portforwarder, PostParams};
use kube::config::{Config, KubeConfigOptions};
use kube::{Client, Error};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Time of an answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Lines at the end of what a container has printed that are read, and bytes of its beginning or end.
const LAST_LINES: i64 = 5;
const PRINTED_BYTES: i64 = 4 << 10;
/// What the API says of something that is not there.
const NOT_FOUND: u16 = 404;

/// The Jobs and pods of a namespace.
pub(super) struct Cluster {
    jobs: Api<Job>,
    pods: Api<Pod>,
}

/// Stream of an agent that has proved to be the one in its pod.
pub(super) struct Reached {
    pub(super) stream: TlsStream<DuplexStream>,
    /// What carries the stream.
    pub(super) forward: Portforwarder,
}

/// A Job of which nobody knows that it is there.
pub(super) struct NotCreated {
    /// The answer may have got lost.
    pub(super) may_exist: bool,
    pub(super) why: String,
}

impl Cluster {
    /// The one of the user's configuration; nothing is asked of it yet.
    pub(super) async fn of_user(options: &KubernetesOptions) -> Result<Self, String> {
        let mut config = match &options.context {
            None => Config::infer().await.map_err(|error| no_configuration(&error))?,
            Some(context) => {
                let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
                Config::from_kubeconfig(&options).await.map_err(|error| no_configuration(&error))?
            }
        };
        config.connect_timeout = Some(ANSWER);
        let client = Client::try_from(config).map_err(|error| told(&error))?;
        let namespace = &options.namespace;
        Ok(Self { jobs: Api::namespaced(client.clone(), namespace), pods: Api::namespaced(client, namespace) })
    }

    /// Creates a Job.
    pub(super) async fn create(&self, job: &Job) -> Result<(), NotCreated> {
        match timeout(ANSWER, self.jobs.create(&PostParams::default(), job)).await {
            Ok(created) => created.map(drop).map_err(|error| NotCreated { may_exist: false, why: told(&error) }),
            Err(_) => Err(NotCreated { may_exist: true, why: silent() }),
        }
    }

    /// Indices and states of the pods of a Job.
    pub(super) async fn pods(&self, job: &str) -> Result<Vec<(usize, PodState)>, String> {
        let labels = format!("{LABEL}={job}");
        let found = answered(self.pods.list(&ListParams::default().labels(&labels))).await?;
        let states = found.items.iter().filter_map(|pod| pods::read(&serde_json::to_value(pod).ok()?));
        Ok(states.collect())
    }

    /// Stream to the agent in a pod. The API server tells what the container has printed, and with it the fingerprint of the agent's
    /// certificate: on the network of a node, another program could be at its port.
    pub(super) async fn reach(&self, pod: &str, own: &Identity) -> Result<Reached, String> {
        let agent = self.fingerprint(pod).await?;
        let acceptor = TlsAcceptor::from(Arc::new(own.coordinator_of(agent)?));
        let mut forward = answered(self.pods.portforward(pod, &[PORT])).await?;
        let (stream, refused) = (forward.take_stream(PORT), forward.take_error(PORT));
        let (Some(stream), Some(refused)) = (stream, refused) else {
            return Err("its port is not forwarded".to_owned());
        };
        let agreed = async {
            tokio::select! {
                biased;
                agreed = acceptor.accept(stream) => agreed.map_err(|error| not_agreed(&error)),
                Some(why) = refused => Err(checked::text(&why)),
            }
        };
        let agreed = timeout(ANSWER, agreed).await.unwrap_or_else(|_| Err("its agent says nothing".to_owned()));
        match agreed {
            Ok(stream) => Ok(Reached { stream, forward }),
            Err(why) => {
                forward.abort();
                Err(why)
            }
        }
    }

    /// The fingerprint that the agent in a pod has printed.
    async fn fingerprint(&self, pod: &str) -> Result<Fingerprint, String> {
        let printed = self.printed(pod, None).await?;
        let found = printed.lines().find_map(Fingerprint::announced);
        found.ok_or_else(|| "its agent has not printed the fingerprint of its certificate".to_owned())
    }

    /// The last line that the container of a pod has printed, if it is more than the fingerprint.
    pub(super) async fn last_said(&self, pod: &str) -> Option<String> {
        let printed = self.printed(pod, Some(LAST_LINES)).await.ok()?;
        let last = printed.lines().rev().find(|line| !checked::text(line).is_empty())?;
        Fingerprint::announced(last).is_none().then(|| checked::text(last))
    }

    /// The beginning of what the agent's container has printed, or that many of its last lines.
    async fn printed(&self, pod: &str, tail_lines: Option<i64>) -> Result<String, String> {
        let params = LogParams {
            container: Some(CONTAINER.to_owned()),
            tail_lines,
            limit_bytes: Some(PRINTED_BYTES),
            ..LogParams::default()
        };
        answered(self.pods.logs(pod, &params)).await
    }

    /// Has a Job deleted, and with it its pods.
    pub(super) async fn delete(&self, job: &str) -> Result<(), String> {
        match timeout(ANSWER, self.jobs.delete(job, &DeleteParams::foreground())).await {
            Err(_) => Err(silent()),
            Ok(Err(Error::Api(status))) if status.code == NOT_FOUND => Ok(()),
            Ok(deleted) => deleted.map(drop).map_err(|error| told(&error)),
        }
    }

    /// True if there is no such Job any more, nor pods of it.
    pub(super) async fn is_gone(&self, job: &str) -> Result<bool, String> {
        answered(self.jobs.get_opt(job)).await.map(|job| job.is_none())
    }
}

async fn answered<T>(question: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    timeout(ANSWER, question).await.map_err(|_| silent())?.map_err(|error| told(&error))
}

/// Why there is no stream that both ends trust.
fn not_agreed(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "its agent has ended the connection".to_owned(),
        _ => format!("what answers at its port is not its agent: {}", checked::text(&error.to_string())),
    }
}

fn silent() -> String {
    format!("the API server did not answer within {} s", ANSWER.as_secs())
}

fn no_configuration(error: &dyn std::error::Error) -> String {
    format!("no configuration of a cluster (KUBECONFIG, ~/.kube/config): {}", causes(error))
}

fn told(error: &Error) -> String {
    match error {
        Error::Api(status) => format!("the API server says: {}", checked::text(&status.message)),
        error => format!("no answer of the API server: {}", causes(error)),
    }
}

/// The last cause, which says what has happened.
fn causes(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    checked::text(&last.to_string())
}
