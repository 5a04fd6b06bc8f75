//! Patches from their text to the Job, and why others are refused.

use super::*;
use crate::agents::kubernetes::options::KubernetesOptions;
use crate::agents::kubernetes::{JobOptions, job};
use serde_json::{Value, json, to_value};

/// The page that shows a patch.
const PAGE: &str = include_str!("../../../../../../docs/reference/agents.md");

fn file(text: &str) -> PatchFile {
    PatchFile { name: "pods.yaml".to_owned(), text: text.to_owned() }
}

/// The Job with a patch; else why there is none.
fn merged(text: &str) -> Result<Value, String> {
    let options = KubernetesOptions::parse("--client", "k8s://load?replicas=2", model::Duration { ns: 1 });
    let options = options.unwrap_or_else(|error| panic!("{}", error.message));
    let options = JobOptions { address: options, patch: Some(file(text)) };
    let job = job::preview(&options).map_err(|error| error.message)?;
    Ok(to_value(job).expect("it is written as JSON"))
}

fn refused(text: &str) -> String {
    let why = merged(text).expect_err(text);
    assert!(why.starts_with("patch pods.yaml:") && !why.contains('\n'), "{why}");
    why
}

#[test]
fn a_patch_adds_to_what_is_there_as_kubernetes_merges() {
    let job = merged(
        "kind: Pod
metadata:
  labels: {team: web, number: \"5\"}
spec:
  nodeSelector: {pool: load}
  imagePullSecrets: [{name: registry}]
  securityContext: {runAsUser: 1000}
  volumes: [{name: scratch, emptyDir: {}}]
  containers:
  - name: agent
    env: [{name: A, value: \"1\"}]
    resources: {requests: {memory: 1Gi}, limits: {memory: 1Gi, example.com/nic: 1}}
    volumeMounts: [{name: scratch, mountPath: /tmp}]
",
    );
    let job = job.unwrap_or_else(|why| panic!("{why}"));
    let (template, container) = (&job["spec"]["template"], &job["spec"]["template"]["spec"]["containers"]);
    let labels = &template["metadata"]["labels"];
    assert_eq!((&labels["team"], &labels["app.kubernetes.io/name"]), (&json!("web"), &json!("plimsoll")));
    assert_eq!(labels["plimsoll/agents"], job["metadata"]["name"], "the own label stays");
    assert_eq!(job["metadata"]["labels"]["team"], Value::Null, "labels of pods are not those of the Job");
    assert_eq!(template["spec"]["nodeSelector"], json!({ "pool": "load" }));
    let security = json!({ "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": { "type": "RuntimeDefault" } });
    assert_eq!(template["spec"]["securityContext"], security);
    assert_eq!(container.as_array().map(Vec::len), Some(1), "it is the same container");
    let resources = json!({
        "requests": { "cpu": "1", "memory": "1Gi" },
        "limits": { "cpu": "1", "memory": "1Gi", "example.com/nic": "1" },
    });
    assert_eq!(container[0]["resources"], resources);
    assert_eq!(container[0]["args"][0], "agent");
    assert_eq!(container[0]["volumeMounts"], json!([{ "name": "scratch", "mountPath": "/tmp" }]));
}

#[test]
fn a_partial_job_is_a_patch_and_json_is_yaml() {
    let job = merged(
        r#"{"kind": "Job", "metadata": {"annotations": {"a": "b"}, "labels": {"queue": "load"}},
            "spec": {"activeDeadlineSeconds": 60, "template": {"spec": {"priorityClassName": "high"}}}}"#,
    );
    let job = job.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        (&job["metadata"]["annotations"]["a"], &job["metadata"]["labels"]["queue"]),
        (&json!("b"), &json!("load"))
    );
    assert_eq!((&job["spec"]["activeDeadlineSeconds"], &job["spec"]["completions"]), (&json!(60), &json!(2)));
    assert_eq!(job["spec"]["template"]["spec"]["priorityClassName"], "high");
    let bare = merged("spec: {ttlSecondsAfterFinished: 60}").unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(bare["spec"]["ttlSecondsAfterFinished"], 60, "without a kind it is a Job");
}

#[test]
fn the_patch_of_the_page_is_one() {
    let patch = PAGE.split("```yaml\n").find(|block| block.starts_with("kind: Pod")).expect("a patch on the page");
    let job = merged(patch.split("```").next().unwrap_or_default()).unwrap_or_else(|why| panic!("{why}"));
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    assert!(pod["nodeSelector"].is_object() && pod["tolerations"].is_array() && pod["imagePullSecrets"].is_array());
    assert!(pod["containers"][0]["resources"]["limits"]["memory"].is_string());
}

#[test]
fn what_is_no_yaml_or_no_job_is_refused_with_its_line() {
    for (text, begin) in [
        ("kind: Pod\nspec:\n  nodeSelector: {a: b\n", "patch pods.yaml:"),
        ("kind: Pod\nspec:\n  hostNetwork: maybe\n", "patch pods.yaml:3:"),
        ("kind: Pod\nspec:\n  tolerations: 5\n", "patch pods.yaml:3:"),
        ("kind: Pod\nspec:\n  priority: high\n", "patch pods.yaml:3:"),
        ("kind: Pod\nkind: Pod\n", "patch pods.yaml:2:"),
        ("kind: Pod\n---\nkind: Pod\n", "patch pods.yaml:"),
        ("apiVersion: v2\nkind: Pod\n", "patch pods.yaml"),
    ] {
        let why = refused(text);
        assert!(why.starts_with(begin), "{text}: {why}");
    }
    for text in ["", "- a\n", "text\n", "kind: Deployment\n", "kind: 5\n"] {
        assert!(refused(text).contains("partial Job or Pod") || text.is_empty(), "{text}: {}", refused(text));
    }
}

#[test]
fn a_slip_in_a_name_or_a_place_is_refused_with_the_path() {
    let why = refused("kind: Pod\nspec: {nodeSelecter: {a: b}}");
    assert_eq!(
        why,
        "patch pods.yaml: spec.nodeSelecter is no field that Kubernetes knows there; correct its name or place"
    );
    // The field of a pod in a Job.
    let why = refused("spec: {nodeSelector: {a: b}}");
    assert!(why.contains("spec.nodeSelector is no field") && why.contains("without 'kind: Pod'"), "{why}");
    let why = refused("spec: {template: {spec: {containers: [{resources: {limits: {memory: 1Gi}}}]}}}");
    assert!(why.contains("spec.template.spec.containers[0].name is missing"), "{why}");
    assert!(refused("spec: {completions: 3}").contains("spec.completions cannot be changed by a patch"));
}

/// Aliases that refer to each other's lists make a file of some lines larger than the memory.
#[test]
fn a_file_that_would_fill_the_memory_is_refused() {
    let mut text = "kind: Pod\nmetadata:\n  annotations:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("    a{level}: &a{level} [{aliases}]\n"));
    }
    refused(&text);
    refused(&"[".repeat(100_000));
    refused(&format!("kind: Pod\nspec: {}1{}", "{a: ".repeat(10_000), "}".repeat(10_000)));
}
