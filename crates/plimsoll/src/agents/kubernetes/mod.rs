//! Agents in a Kubernetes cluster (`--client k8s://NAMESPACE?replicas=N`): one Indexed Job, whose pods are reached by port-forward
//! of the API server, so that no port has to be open and a laptop can be the coordinator.
//!
//! What is asked for (`options`), the Job (`job`) and what its pods say ([`agent::pods`]) know no cluster. `cluster` asks the API, and
//! `launcher` gives the streams, in builds with the feature `kubernetes`.

#[cfg(feature = "kubernetes")]
mod cluster;
#[cfg(any(feature = "kubernetes", test))]
mod job;
#[cfg(feature = "kubernetes")]
pub(crate) mod launcher;
pub(crate) mod options;
