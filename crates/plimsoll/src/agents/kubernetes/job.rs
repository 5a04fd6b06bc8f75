//! The Job that starts agents: one pod for each index, none of which is ever started again.

use super::options::KubernetesOptions;
use serde_json::{Value, json};

/// Port of 127.0.0.1 in a pod at which its agent waits; nobody else is in its network.
pub(super) const PORT: u16 = 7077;
/// Label of the pods of one Job; its value is the Job's name.
pub(super) const LABEL: &str = "plimsoll/agents";
/// Name of the container.
pub(super) const CONTAINER: &str = "agent";
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

/// The Job of this name. It satisfies the level `restricted` of Pod Security Standards. CPU requests are limits, so that a node
/// with the static CPU manager gives whole CPUs; a limit of memory would end a load.
pub(super) fn manifest(name: &str, options: &KubernetesOptions) -> Value {
    let KubernetesOptions { agents, image, wait, .. } = options;
    let labels = json!({ "app.kubernetes.io/name": "plimsoll", LABEL: name });
    let pull = if image.starts_with(LOCAL) { "Never" } else { "IfNotPresent" };
    let cpus = options.cpus.to_string();
    let wait = format!("{}s", wait.ns.div_ceil(model::NS_PER_S));
    let container = json!({
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": pull,
        "args": ["agent", "--listen", PORT.to_string(), "--wait", wait],
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
        "metadata": { "name": name, "labels": labels },
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
mod tests {
    use super::*;

    fn made(address: &str) -> Value {
        let wait = model::Duration { ns: 1_500_000_000 };
        let options = KubernetesOptions::parse(address, wait).unwrap_or_else(|error| panic!("{}", error.message));
        manifest("plimsoll-0a1b", &options)
    }

    #[test]
    fn a_job_starts_each_agent_once_and_without_rights() {
        let job = made("k8s://load?replicas=3&cpus=2");
        let (spec, pod) = (&job["spec"], &job["spec"]["template"]["spec"]);
        for (key, value) in
            [("completions", 3), ("parallelism", 3), ("maxFailedIndexes", 3), ("backoffLimitPerIndex", 0)]
        {
            assert_eq!(spec[key], value, "{key}");
        }
        assert_eq!((&spec["completionMode"], &pod["restartPolicy"]), (&json!("Indexed"), &json!("Never")));
        assert_eq!(pod["automountServiceAccountToken"], false, "an agent has nothing to ask of the cluster");
        let container = &pod["containers"][0];
        assert_eq!(container["args"], json!(["agent", "--listen", "7077", "--wait", "2s"]));
        assert_eq!(container["resources"]["limits"], json!({ "cpu": "2" }));
        assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        let spread = &pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"][LABEL];
        assert_eq!(spread, &job["spec"]["template"]["metadata"]["labels"][LABEL]);
    }

    #[test]
    fn an_image_of_the_nodes_is_looked_for_in_no_registry() {
        let pull =
            |address: &str| made(address)["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"].clone();
        assert_eq!(pull("k8s://load?replicas=1"), "Never");
        assert_eq!(pull("k8s://load?replicas=1&image=registry.example/plimsoll:0.1.0"), "IfNotPresent");
    }
}
