//! Agents in a Kubernetes cluster (`--client k8s://NAMESPACE?replicas=N`): one Indexed Job, whose pods are reached by port-forward
//! of the API server, so that no port has to be open and a laptop can be the coordinator.
//!
//! What is asked for (`options`), the Job (`job`), what a file of the user's changes in it (`patch_file`, `patch`) and what its pods
//! say ([`agent::pods`]) know no cluster. `cluster` asks the API, and `launcher` gives the streams, in builds with the feature
//! `kubernetes`.

#[cfg(feature = "kubernetes")]
mod cluster;
#[cfg(any(feature = "kubernetes", test))]
mod job;
#[cfg(feature = "kubernetes")]
pub(crate) mod launcher;
pub(crate) mod options;
#[cfg(any(feature = "kubernetes", test))]
mod patch;
pub(crate) mod patch_file;

use crate::exit::CommandError;
use model::Duration;
use options::KubernetesOptions;
use patch_file::PatchFile;

/// What a Job is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobOptions {
    pub(crate) address: KubernetesOptions,
    /// The file that the address names.
    patch: Option<PatchFile>,
}

impl JobOptions {
    /// Those of an address, whose file is read. Fails if the file cannot be merged into the Job, so that nothing is measured before
    /// that is known.
    pub(crate) fn read(address: KubernetesOptions) -> Result<Self, CommandError> {
        let patch = address.patch.as_deref().map(PatchFile::read).transpose()?;
        let options = Self { address, patch };
        #[cfg(feature = "kubernetes")]
        job::preview(&options)?;
        Ok(options)
    }
}

/// The Job that an address asks for, as YAML; no cluster is asked. Its name and its fingerprint of a coordinator are new, as those
/// of each Job are.
pub(crate) fn manifest(address: &str, wait: Duration) -> Result<String, CommandError> {
    yaml(&JobOptions::read(KubernetesOptions::parse("--manifest", address, wait)?)?)
}

#[cfg(feature = "kubernetes")]
fn yaml(options: &JobOptions) -> Result<String, CommandError> {
    job::preview(options).and_then(|job| job::yaml(&job))
}

#[cfg(not(feature = "kubernetes"))]
fn yaml(_: &JobOptions) -> Result<String, CommandError> {
    Err(not_in_this_build())
}

/// That a build without the feature starts no agents in a cluster.
#[cfg(not(feature = "kubernetes"))]
pub(crate) fn not_in_this_build() -> CommandError {
    CommandError::usage(format!(
        "{} needs a plimsoll with Kubernetes, as releases are; this one was built without: cargo build --release --features \
         kubernetes",
        options::SCHEME
    ))
}
