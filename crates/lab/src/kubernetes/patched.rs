//! Agents whose Job a file has changed: the pods of the cluster have what the file says, and the load is measured.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::running::{RUN_WORDS, clean, count, ended, start};

/// Label of the pods of these cases.
const LABEL: (&str, &str) = ("lab", "patched");
/// Limit of memory: the load needs less.
const MEMORY: &str = "256Mi";
/// The node that nobody else may use.
const NODE: &str = "n2";

/// A partial pod with this specification, in a file; the address of agents with it.
fn address(cluster: &Cluster, replicas: usize, spec: Value) -> Result<String> {
    let path = cluster.path().join("pods.yaml");
    let patch = json!({ "kind": "Pod", "metadata": { "labels": { LABEL.0: LABEL.1 } }, "spec": spec });
    fs::write(&path, patch.to_string())?;
    Ok(format!("load?replicas={replicas}&patch={}", path.display()))
}

/// The pods with the label.
fn pods(cluster: &Cluster) -> Result<Vec<Value>> {
    let (key, value) = LABEL;
    let listed: Value =
        serde_json::from_str(&cluster.kubectl(&format!("get pods --selector {key}={value} --output json"))?)?;
    Ok(listed["items"].as_array().context("a list of pods")?.clone())
}

/// Runs a load and returns its good responses, and the pods as the cluster has them meanwhile.
fn run(cluster: &Cluster, client: &str) -> Result<(u64, Vec<Value>)> {
    let running = start(cluster, "load", client, &["run", "-c", "8", "--warmup", "0s", "-d", "4s"])?;
    running.ticks(1)?;
    let pods = pods(cluster)?;
    let good = count(&running.end()?.record(&[0, 4])?, "good");
    ensure!(good > 200, "{good} good responses");
    clean(cluster)?;
    Ok((good, pods))
}

/// The pods run on a node that repels all others, with a label and a limit of memory. The manifest is what the cluster takes.
pub(super) fn on_a_tainted_node(cluster: &Cluster) -> Result<String> {
    let toleration = json!({ "key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoSchedule" });
    let memory = json!({ "memory": MEMORY });
    let agent = json!({ "name": "agent", "resources": { "requests": memory, "limits": memory } });
    let spec = json!({
        "nodeSelector": { "kubernetes.io/hostname": NODE },
        "tolerations": [toleration],
        "containers": [agent],
    });
    let client = address(cluster, 2, spec)?;
    let manifest = cluster.path().join("manifest.yaml");
    fs::write(&manifest, manifest_of(cluster, &client)?)?;
    let said = cluster.kubectl(&format!("apply --dry-run=server --filename {}", manifest.display()))?;
    ensure!(said.starts_with("job.batch/plimsoll-") && said.ends_with("created (server dry run)"), "{said}");
    cluster.kubectl(&format!("taint node {NODE} dedicated=load:NoSchedule"))?;
    let ran = run(cluster, &client);
    cluster.kubectl(&format!("taint node {NODE} dedicated-"))?;
    let (good, pods) = ran?;
    let is_there = |pod: &Value| {
        let limits = &pod["spec"]["containers"][0]["resources"]["limits"];
        pod["spec"]["nodeName"] == NODE && limits["memory"] == MEMORY && limits["cpu"] == "1"
    };
    ensure!(pods.len() == 2 && pods.iter().all(is_there), "{pods:?}");
    Ok(format!("{good} good responses of 2 pods on the tainted node, with the label and {MEMORY}"))
}

/// What the dry run prints, which needs no cluster.
fn manifest_of(cluster: &Cluster, client: &str) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let mut command = cluster.plimsoll("missing", folder.path());
    let output = command.args(["agent", "--manifest", &format!("k8s://{client}")]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Each pod has the network of a node for itself, and there are two nodes.
pub(super) fn on_the_network_of_its_node(cluster: &Cluster) -> Result<String> {
    let spec = json!({ "hostNetwork": true, "dnsPolicy": "ClusterFirstWithHostNet" });
    let (good, pods) = run(cluster, &address(cluster, 2, spec.clone())?)?;
    let mut nodes: Vec<_> = pods.iter().filter_map(|pod| pod["spec"]["nodeName"].as_str()).collect();
    nodes.sort_unstable();
    ensure!(nodes == ["n1", "n2"], "{nodes:?}");
    let is_on_host =
        |pod: &Value| pod["status"]["podIP"].is_string() && pod["status"]["podIP"] == pod["status"]["hostIP"];
    ensure!(pods.iter().all(is_on_host), "{pods:?}");
    let words = [&RUN_WORDS[..], &["--agents-wait", "6s"]].concat();
    let named = ["k8s://load/", "free ports", "6s"];
    ended(cluster, "load", &address(cluster, 3, spec)?, &words)?.fails(&named)?;
    clean(cluster)?;
    Ok(format!("{good} good responses of 2 pods, each on the network of its node; a third pod finds no node"))
}
