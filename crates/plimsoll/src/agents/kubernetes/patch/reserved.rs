//! Fields that a patch cannot change, because plimsoll relies on what they are in its Job.
//!
//! Of the Job's own fields there is a list of those that a patch may have: a field that a later version of Kubernetes adds to Jobs
//! changes how pods are counted, started again or deleted. Of the pod's fields, which are about where and how it runs, there is a
//! list of those that it may not have.

use super::Kind;
use crate::agents::kubernetes::job::LABEL;
use agent::pods::CONTAINER;
use serde_json::{Map, Value};

/// Fields that a patch may have, by the JSON pointer of the object that they are in.
const OPEN: [(&str, &[&str]); 3] = [
    ("/metadata", &["labels", "annotations"]),
    ("/spec", &["template", "activeDeadlineSeconds", "ttlSecondsAfterFinished"]),
    ("/spec/template/metadata", &["labels", "annotations"]),
];
/// Fields that a patch may not have, in the same way.
const CLOSED: [(&str, &[&str]); 3] = [
    ("/metadata/labels", &[LABEL]),
    ("/spec/template/metadata/labels", &[LABEL]),
    ("/spec/template/spec", &["restartPolicy", "ephemeralContainers"]),
];
const CLOSED_OF_CONTAINER: [&str; 4] = ["image", "command", "args", "restartPolicy"];
/// Fields of the file itself.
const OPEN_OF_FILE: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
/// Where the pod of a Job is.
const TEMPLATE: &str = "/spec/template";

/// Fails on the first field that a patch of this kind cannot change, and says what to do instead.
pub(super) fn check(kind: Kind, written: &Value) -> Result<(), String> {
    if let Some(key) = fields(written, "").find(|key| !OPEN_OF_FILE.contains(&key.as_str())) {
        return Err(refusal(key, key));
    }
    let in_file = |pointer: &'static str| match kind {
        Kind::Job => Some(pointer),
        Kind::Pod => pointer.strip_prefix(TEMPLATE),
    };
    let listed = OPEN.iter().map(|rule| (rule, true)).chain(CLOSED.iter().map(|rule| (rule, false)));
    for ((pointer, keys), is_open) in listed {
        let Some(pointer) = in_file(pointer) else { continue };
        if let Some(key) = fields(written, pointer).find(|key| keys.contains(&key.as_str()) != is_open) {
            return Err(refusal(&format!("{}.{key}", dotted(pointer)), key));
        }
    }
    let containers = in_file("/spec/template/spec/containers").unwrap_or_default();
    let listed = written.pointer(containers).and_then(Value::as_array).into_iter().flatten();
    listed
        .enumerate()
        .try_for_each(|(index, container)| check_container(&format!("{}[{index}]", dotted(containers)), container))
}

fn check_container(path: &str, container: &Value) -> Result<(), String> {
    let name = container["name"].as_str().unwrap_or_default();
    if name != CONTAINER {
        return Err(format!(
            "{path} is the container {name:?}, and a patch changes the container {CONTAINER:?} alone; put a helper into \
             initContainers with restartPolicy: Always, so that it ends with the agent"
        ));
    }
    match fields(container, "").find(|key| CLOSED_OF_CONTAINER.contains(&key.as_str())) {
        Some(key) => Err(refusal(&format!("{path}.{key}"), key)),
        None => Ok(()),
    }
}

fn refusal(path: &str, key: &str) -> String {
    let instead = match key {
        "completions" | "parallelism" => "write replicas=N in the address instead",
        "image" => "write image=IMAGE in the address instead",
        "namespace" => "the address names the namespace",
        _ => "leave it out",
    };
    format!("{path} cannot be changed by a patch, because plimsoll relies on its own value; {instead}")
}

/// Names of the fields of the object that a pointer leads to.
fn fields<'a>(written: &'a Value, pointer: &str) -> impl Iterator<Item = &'a String> {
    written.pointer(pointer).and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

/// A pointer as paths are written in messages.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(kind: Kind, written: &Value) -> String {
        check(kind, written).err().unwrap_or_default()
    }

    fn pod(spec: Value) -> Value {
        json!({ "kind": "Pod", "spec": spec })
    }

    #[test]
    fn a_field_of_the_job_that_plimsoll_decides_is_refused_with_what_to_do() {
        for (patch, named) in [
            (json!({ "metadata": { "name": "other" } }), "metadata.name cannot be changed"),
            (
                json!({ "metadata": { "namespace": "b" } }),
                "metadata.namespace cannot be changed by a patch, because \
              plimsoll relies on its own value; the address names the namespace",
            ),
            (json!({ "metadata": { "labels": { LABEL: "other" } } }), "metadata.labels.plimsoll/agents cannot"),
            (json!({ "spec": { "completions": 3 } }), "write replicas=N in the address instead"),
            (json!({ "spec": { "parallelism": 3 } }), "spec.parallelism cannot"),
            (json!({ "spec": { "completionMode": "NonIndexed" } }), "spec.completionMode cannot"),
            (json!({ "spec": { "backoffLimit": 6 } }), "spec.backoffLimit cannot"),
            (json!({ "spec": { "backoffLimitPerIndex": 6 } }), "spec.backoffLimitPerIndex cannot"),
            (json!({ "spec": { "suspend": true } }), "spec.suspend cannot"),
            (json!({ "status": {} }), "status cannot"),
        ] {
            let why = refused(Kind::Job, &patch);
            assert!(why.contains(named), "{patch}: {why}");
        }
    }

    #[test]
    fn a_field_of_the_pods_that_plimsoll_decides_is_refused_by_its_path_in_the_file() {
        let agent = |field: &str, value: Value| pod(json!({ "containers": [{ "name": "agent", field: value }] }));
        for (patch, named) in [
            (pod(json!({ "restartPolicy": "OnFailure" })), "spec.restartPolicy cannot"),
            (json!({ "kind": "Pod", "metadata": { "generateName": "a" } }), "metadata.generateName cannot"),
            (
                json!({ "kind": "Pod", "metadata": { "labels": { LABEL: "a" } } }),
                "metadata.labels.plimsoll/agents cannot",
            ),
            (
                agent("image", json!("a")),
                "spec.containers[0].image cannot be changed by a patch, because plimsoll \
              relies on its own value; write image=IMAGE in the address instead",
            ),
            (agent("args", json!([])), "spec.containers[0].args cannot"),
            (agent("command", json!([])), "spec.containers[0].command cannot"),
            (pod(json!({ "containers": [{ "name": "agnet" }] })), "spec.containers[0] is the container \"agnet\""),
        ] {
            let why = refused(Kind::Pod, &patch);
            assert!(why.starts_with(named) || why == named, "{patch}: {why}");
        }
        let of_job = json!({ "spec": { "template": { "spec": { "restartPolicy": "OnFailure" } } } });
        assert!(refused(Kind::Job, &of_job).starts_with("spec.template.spec.restartPolicy cannot"));
    }

    #[test]
    fn what_a_cluster_needs_may_be_there() {
        let spec = json!({
            "nodeSelector": { "pool": "load" },
            "tolerations": [{ "operator": "Exists" }],
            "initContainers": [{ "name": "helper", "image": "a", "restartPolicy": "Always" }],
            "containers": [{ "name": "agent", "resources": { "limits": { "memory": "1Gi" } } }],
        });
        let metadata = json!({ "labels": { "team": "a" }, "annotations": { "b": "c" } });
        assert_eq!(check(Kind::Pod, &json!({ "kind": "Pod", "metadata": metadata, "spec": spec })), Ok(()));
        let job = json!({
            "kind": "Job",
            "metadata": metadata,
            "spec": { "ttlSecondsAfterFinished": 60, "template": { "metadata": metadata, "spec": spec } },
        });
        assert_eq!(check(Kind::Job, &job), Ok(()));
    }
}
