//! What a file of the user's changes in the Job of the agents: a partial Job or Pod with what the cluster needs, such as a node
//! selector, tolerations, a pull secret or a limit of memory. It is merged as Kubernetes merges: maps by key, and lists by the key of
//! their elements where there is one.

mod reserved;
mod strict;

use super::patch_file::PatchFile;
use crate::exit::CommandError;
use agent::checked;
use k8s_openapi::DeepMerge;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::serde::Deserialize;
use serde_json::Value;
use serde_saphyr::{MessageFormatter, UserMessageFormatter};

/// What a file says to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Job,
    /// The pods of the Job.
    Pod,
}

impl PatchFile {
    /// Merges the file into a Job.
    pub(super) fn apply(&self, job: &mut Job) -> Result<(), CommandError> {
        let patch = self.patch().map_err(|why| CommandError::usage(format!("patch {}{why}", self.name)))?;
        job.merge_from(patch);
        Ok(())
    }

    /// The file as a partial Job; else why it is none, with its place where that is known.
    fn patch(&self) -> Result<Job, String> {
        let written: Value = read(&self.text)?;
        let kind = Kind::of(&written).map_err(|why| format!(": {why}"))?;
        let patch = match kind {
            Kind::Job => strict::checked(&written, read::<Job>(&self.text)?),
            Kind::Pod => strict::checked(&written, read::<Pod>(&self.text)?).map(of_pod),
        };
        let kindless = if written["kind"].is_null() { "; without 'kind: Pod' the file is a partial Job" } else { "" };
        let patch = patch.map_err(|why| format!(": {why}{kindless}"))?;
        reserved::check(kind, &written).map_err(|why| format!(": {why}"))?;
        Ok(patch)
    }
}

impl Kind {
    /// The kind that a file names; a Job if it names none.
    fn of(written: &Value) -> Result<Self, String> {
        if !written.is_object() {
            return Err("a patch is a partial Job or Pod, such as 'kind: Pod' with 'spec:' below".to_owned());
        }
        match &written["kind"] {
            Value::Null => Ok(Self::Job),
            Value::String(kind) if kind == "Job" => Ok(Self::Job),
            Value::String(kind) if kind == "Pod" => Ok(Self::Pod),
            other => Err(format!("kind is {}, and a patch is a partial Job or Pod", checked::text(&other.to_string()))),
        }
    }
}

/// The Job whose pods are like this one.
fn of_pod(pod: Pod) -> Job {
    let template = PodTemplateSpec { metadata: Some(pod.metadata), spec: pod.spec };
    Job { spec: Some(JobSpec { template, ..JobSpec::default() }), ..Job::default() }
}

/// Reads a document of YAML, of which JSON is a part; else says where it is wrong, and why.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let place = error.location().map_or_else(String::new, |place| format!(":{}:{}", place.line(), place.column()));
        format!("{place}: {}", checked::text(&UserMessageFormatter.format_message(error)))
    })
}

#[cfg(test)]
mod tests;
