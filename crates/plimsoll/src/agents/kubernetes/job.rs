//! The Job that starts agents: one pod for each index, none of which is ever started again.

use super::JobOptions;
use super::options::KubernetesOptions;
use crate::agents::connect::certificate::{Identity, Side};
use crate::agents::connect::fingerprint::Fingerprint;
use crate::exit::CommandError;
use crate::random;
use agent::pods::CONTAINER;
use k8s_openapi::DeepMerge;
use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, json};

/// Port of 127.0.0.1 in a pod at which its agent waits.
pub(super) const PORT: u16 = 7077;
/// Label of the pods of one Job; its value is the Job's name.
pub(super) const LABEL: &str = "plimsoll/agents";
/// Images that are on the nodes and in no registry have this begin.
const LOCAL: &str = "localhost/";
/// The end of a Job that everything else has forgotten; s.
const DEADLINE_S: u32 = 24 * 3600;
/// How long an ended Job can still be looked at if this program has been killed; s.
const KEPT_S: u32 = 300;
/// Agents end by themselves when their connection does; others are killed after this time; s.
const GRACE_S: u32 = 2;
/// A user without rights.
const NOBODY: u32 = 65534;

/// The Job of this name with its patch. Its agents obey the coordinator whose certificate has this fingerprint, and nobody else.
pub(super) fn job(name: &str, coordinator: Fingerprint, options: &JobOptions) -> Result<Job, CommandError> {
    let mut job = made(manifest(name, coordinator, &options.address))?;
    if let Some(patch) = &options.patch {
        patch.apply(&mut job)?;
    }
    if is_on_host_network(&job) {
        job.merge_from(made(port_claim())?);
    }
    Ok(job)
}

/// A Job with the kind of name and fingerprint that real ones have.
pub(super) fn preview(options: &JobOptions) -> Result<Job, CommandError> {
    let coordinator = Identity::random(Side::Coordinator).map_err(CommandError::usage)?;
    job(&new_name()?, coordinator.fingerprint(), options)
}

/// A name that no other Job has.
pub(super) fn new_name() -> Result<String, CommandError> {
    let number = u32::from_be_bytes(random::bytes().map_err(CommandError::usage)?);
    Ok(format!("plimsoll-{number:08x}"))
}

/// The manifest as people review it and kubectl reads it.
pub(super) fn yaml(job: &Job) -> Result<String, CommandError> {
    serde_saphyr::to_string(job).map_err(|error| CommandError::usage(format!("cannot write the Job as YAML: {error}")))
}

fn made(manifest: Value) -> Result<Job, CommandError> {
    serde_json::from_value(manifest).map_err(|error| CommandError::usage(format!("cannot make a Job: {error}")))
}

fn is_on_host_network(job: &Job) -> bool {
    let pod = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    pod.and_then(|pod| pod.host_network).unwrap_or_default()
}

/// What makes the port of the agents one of the node. All pods on the network of a node share its loopback, and the scheduler puts
/// no two pods on a node that claim the same port of it, of whatever Job and namespace they are.
fn port_claim() -> Value {
    let port =
        json!({ "name": "agent", "containerPort": PORT, "hostPort": PORT, "hostIP": "127.0.0.1", "protocol": "TCP" });
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": CONTAINER, "ports": [port] }] } } } })
}

/// The Job without a patch. It satisfies the level `restricted` of the Pod Security Standards. CPU limits are requests, which the
/// static CPU manager of a node needs to give whole CPUs; it also needs limits of memory that are requests, which only a patch can
/// name: a limit that is too low would end a load.
fn manifest(name: &str, coordinator: Fingerprint, options: &KubernetesOptions) -> Value {
    let KubernetesOptions { namespace, agents, image, wait, .. } = options;
    let labels = json!({ "app.kubernetes.io/name": "plimsoll", LABEL: name });
    let pull = if image.starts_with(LOCAL) { "Never" } else { "IfNotPresent" };
    let cpus = options.cpus.to_string();
    let wait = format!("{}s", wait.ns.div_ceil(model::NS_PER_S));
    let container = json!({
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": pull,
        "args": ["agent", "--listen", PORT.to_string(), "--coordinator", coordinator.to_string(), "--wait", wait],
        "resources": { "requests": { "cpu": cpus, "memory": "128Mi" }, "limits": { "cpu": cpus } },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
    });
    let pod = json!({
        "restartPolicy": "Never",
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": { "runAsNonRoot": true, "runAsUser": NOBODY, "seccompProfile": { "type": "RuntimeDefault" } },
        // Each on a node of its own, as far as there are such.
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": { LABEL: name } },
        }],
        "containers": [container],
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name, "namespace": namespace, "labels": labels },
        "spec": {
            "completionMode": "Indexed",
            "completions": agents,
            "parallelism": agents,
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": agents,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": DEADLINE_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    })
}

#[cfg(test)]
mod tests;
