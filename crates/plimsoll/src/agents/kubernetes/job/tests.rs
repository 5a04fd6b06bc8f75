//! The manifest as a whole, and what is relied on in it.

use super::*;
use crate::agents::kubernetes::patch_file::PatchFile;
use serde_json::to_value;

/// The page that shows the manifest.
const PAGE: &str = include_str!("../../../../../../docs/reference/agents.md");
/// The manifest of `k8s://load?replicas=2&image=registry.example/plimsoll:0.1.0`.
const GOLDEN: &str = include_str!("manifest.yaml");
const FINGERPRINT: &str = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";

/// Whole seconds are asked for.
const WAIT: model::Duration = model::Duration { ns: 119_500_000_000 };

fn patched(address: &str, patch: Option<&str>) -> Job {
    let options =
        KubernetesOptions::parse("--client", address, WAIT).unwrap_or_else(|error| panic!("{}", error.message));
    let patch = patch.map(|text| PatchFile { name: "pods.yaml".to_owned(), text: text.to_owned() });
    let options = JobOptions { address: options, patch };
    let coordinator = FINGERPRINT.parse().expect("a fingerprint");
    job("plimsoll-0a1b2c3d", coordinator, &options).unwrap_or_else(|error| panic!("{}", error.message))
}

fn made(address: &str) -> Value {
    to_value(patched(address, None)).expect("it is written as JSON")
}

#[test]
fn the_manifest_is_the_golden_one_and_the_page_shows_it() {
    let job = patched("k8s://load?replicas=2&image=registry.example/plimsoll:0.1.0", None);
    let written = yaml(&job).expect("it is written");
    assert_eq!(written, GOLDEN);
    assert!(PAGE.contains(GOLDEN), "docs/reference/agents.md shows another manifest");
    let read: Job = serde_saphyr::from_str(&written).expect("it is YAML");
    assert_eq!(read, job);
}

#[test]
fn a_job_starts_each_agent_once_and_without_rights() {
    let job = made("k8s://load?replicas=3&cpus=2");
    let (spec, pod) = (&job["spec"], &job["spec"]["template"]["spec"]);
    for (key, value) in [("completions", 3), ("parallelism", 3), ("maxFailedIndexes", 3), ("backoffLimitPerIndex", 0)] {
        assert_eq!(spec[key], value, "{key}");
    }
    assert_eq!((&spec["completionMode"], &pod["restartPolicy"]), (&json!("Indexed"), &json!("Never")));
    assert_eq!(pod["automountServiceAccountToken"], false, "an agent has nothing to ask of the cluster");
    let container = &pod["containers"][0];
    let args = json!(["agent", "--listen", "7077", "--coordinator", FINGERPRINT, "--wait", "120s"]);
    assert_eq!(container["args"], args);
    assert_eq!(container["resources"]["limits"], json!({ "cpu": "2" }));
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(container["ports"], Value::Null, "no port of a node is claimed");
    let spread = &pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"][LABEL];
    assert_eq!(spread, &job["spec"]["template"]["metadata"]["labels"][LABEL]);
}

#[test]
fn an_image_of_the_nodes_is_looked_for_in_no_registry() {
    let pull = |address: &str| made(address)["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"].clone();
    assert_eq!(pull("k8s://load?replicas=1"), "Never");
    assert_eq!(pull("k8s://load?replicas=1&image=registry.example/plimsoll:0.1.0"), "IfNotPresent");
}

#[test]
fn two_jobs_have_other_names_and_coordinators() {
    let options = KubernetesOptions::parse("--client", "k8s://load?replicas=1", model::Duration { ns: 1 });
    let options = options.unwrap_or_else(|error| panic!("{}", error.message));
    let options = JobOptions { address: options, patch: None };
    let new = || to_value(preview(&options).unwrap_or_else(|error| panic!("{}", error.message))).expect("JSON");
    let (one, other) = (new(), new());
    let name = one["metadata"]["name"].as_str().expect("a name");
    assert!(name.len() == 17 && name.starts_with("plimsoll-"), "{name}");
    assert_ne!(one["metadata"]["name"], other["metadata"]["name"]);
    let coordinator = |job: &Value| job["spec"]["template"]["spec"]["containers"][0]["args"][4].clone();
    assert_ne!(coordinator(&one), coordinator(&other));
}

/// Two agents on the network of one node would want the same port of it.
#[test]
fn pods_on_the_network_of_their_node_claim_the_port_there() {
    let patch = "kind: Pod\nspec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet, containers: [{name: agent, ports: \
                 [{containerPort: 7077, hostIP: 0.0.0.0}, {containerPort: 9}]}]}";
    let job = to_value(patched("k8s://load?replicas=2", Some(patch))).expect("JSON");
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!((&pod["hostNetwork"], &pod["dnsPolicy"]), (&json!(true), &json!("ClusterFirstWithHostNet")));
    let claimed =
        json!({ "name": "agent", "containerPort": 7077, "hostPort": 7077, "hostIP": "127.0.0.1", "protocol": "TCP" });
    assert_eq!(pod["containers"][0]["ports"], json!([claimed, { "containerPort": 9 }]));
    let not = to_value(patched("k8s://load?replicas=2", Some("kind: Pod\nspec: {hostNetwork: false}"))).expect("JSON");
    assert_eq!(not["spec"]["template"]["spec"]["containers"][0]["ports"], Value::Null);
}
