//! What the pods of a Job of Kubernetes say of themselves, as the API server tells it. Texts come from a cluster and are bounded.

use crate::checked;
use serde_json::Value;

/// Name of the container of an agent. Clusters may put other containers into its pod.
pub const CONTAINER: &str = "agent";
/// Where the index of a pod stands.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// What a container waits for that does not come by itself.
const STUCK: [&str; 6] = [
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// Longest name of a pod: that of a domain.
const NAME_MAX: usize = 253;

/// How far a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// It does not run yet; for what reason, if that is known.
    Waiting(Option<String>),
    /// It runs, under this name.
    Running(String),
    /// It never runs, or runs no more.
    Ended {
        /// Its name.
        pod: String,
        /// Why, in a line.
        why: String,
    },
}

/// Index and state of a pod; none if it is no pod of an Indexed Job.
#[must_use]
pub fn read(pod: &Value) -> Option<(usize, PodState)> {
    let metadata = &pod["metadata"];
    let text = |of: &str| metadata[of][INDEX].as_str();
    let index = text("labels").or_else(|| text("annotations"))?.parse().ok()?;
    let name = metadata["name"].as_str().filter(|name| is_name(name))?.to_owned();
    let status = &pod["status"];
    let container = state_of_agent(status);
    let terminated = &container["terminated"];
    let ended = match status["phase"].as_str().unwrap_or_default() {
        "Failed" | "Succeeded" => Some(ended(status, terminated)),
        _ if metadata["deletionTimestamp"].is_string() => Some(deleted(status)),
        _ if terminated.is_object() => Some(ended(status, terminated)),
        _ => states(status, "initContainerStatuses").chain([container]).find_map(|state| stuck(&state["waiting"])),
    };
    let state = match ended {
        Some(why) => PodState::Ended { pod: name, why },
        None if container["running"].is_object() => PodState::Running(name),
        None => PodState::Waiting(awaited(status, &container["waiting"])),
    };
    Some((index, state))
}

/// State of the agent's container.
fn state_of_agent(status: &Value) -> &Value {
    let containers = status["containerStatuses"].as_array().into_iter().flatten();
    let agent = containers.into_iter().find(|container| container["name"] == CONTAINER);
    agent.map_or(&Value::Null, |container| &container["state"])
}

/// States of containers in a list.
fn states<'a>(status: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    status[list].as_array().into_iter().flatten().map(|container| &container["state"])
}

/// True of names that pods can have: they are shown, and stand in the paths of later questions.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_part) && !text.contains("..")
}

/// Why a pod has ended.
fn ended(status: &Value, terminated: &Value) -> String {
    // Such as Evicted, or DeadlineExceeded.
    if let Some(why) = reason(status) {
        return format!("its pod has ended: {why}");
    }
    match (terminated["exitCode"].as_i64(), terminated["reason"].as_str()) {
        (Some(code), Some(reason)) => format!("its container has ended with {code} ({})", checked::text(reason)),
        (Some(code), None) => format!("its container has ended with {code}"),
        (None, _) => "its pod has ended".to_owned(),
    }
}

fn deleted(status: &Value) -> String {
    match reason(status) {
        Some(why) => format!("its pod is being deleted: {why}"),
        None => "its pod is being deleted".to_owned(),
    }
}

/// Why a container never runs; none if it may.
fn stuck(container: &Value) -> Option<String> {
    let is_stuck = container["reason"].as_str().is_some_and(|reason| STUCK.contains(&reason));
    reason(container).filter(|_| is_stuck).map(|why| format!("its pod cannot start: {why}"))
}

/// What a pod that does not run waits for.
fn awaited(status: &Value, container: &Value) -> Option<String> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut unscheduled =
        conditions.filter(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False");
    reason(container).or_else(|| unscheduled.find_map(reason))
}

/// Reason and message of a part of a status.
fn reason(part: &Value) -> Option<String> {
    let text = |key: &str| part[key].as_str().map(checked::text).filter(|text| !text.is_empty());
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) if message.contains(&reason) => Some(message),
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (reason, message) => reason.or(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(status: Value) -> PodState {
        let pod = json!({ "metadata": { "name": "plimsoll-0a-1-x", "labels": { INDEX: "1" } }, "status": status });
        let (index, state) = read(&pod).expect("a pod of an Indexed Job");
        assert_eq!(index, 1);
        state
    }

    fn container(phase: &str, state: Value) -> Value {
        json!({ "phase": phase, "containerStatuses": [{ "name": CONTAINER, "state": state }] })
    }

    /// Why one has ended.
    fn ended(state: PodState) -> String {
        match state {
            PodState::Ended { pod, why } if pod == "plimsoll-0a-1-x" => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pod_without_a_node_says_why() {
        let message = "0/2 nodes are available: 2 Insufficient cpu.";
        let condition =
            json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message });
        let waits = state(json!({ "phase": "Pending", "conditions": [condition] }));
        assert_eq!(waits, PodState::Waiting(Some(format!("Unschedulable: {message}"))));
        assert_eq!(state(json!({ "phase": "Pending" })), PodState::Waiting(None));
        assert_eq!(state(Value::Null), PodState::Waiting(None));
    }

    #[test]
    fn an_image_that_is_not_there_does_not_come_and_a_container_that_is_made_does() {
        let missing =
            json!({ "waiting": { "reason": "ErrImageNeverPull", "message": "Container image \"a\" is not present" } });
        let why = ended(state(container("Pending", missing)));
        assert!(why.starts_with("its pod cannot start: ErrImageNeverPull: Container image"), "{why}");
        let made = json!({ "waiting": { "reason": "ContainerCreating" } });
        assert_eq!(state(container("Pending", made)), PodState::Waiting(Some("ContainerCreating".into())));
    }

    /// The containers of a pod are listed by their names.
    #[test]
    fn other_containers_of_a_pod_are_not_the_agent() {
        let (running, ended) = (json!({ "running": {} }), json!({ "terminated": { "exitCode": 1 } }));
        let both = |agent: &Value, other: &Value| {
            let containers =
                [json!({ "name": "a-helper", "state": other }), json!({ "name": CONTAINER, "state": agent })];
            state(json!({ "phase": "Running", "containerStatuses": containers }))
        };
        assert_eq!(both(&running, &ended), PodState::Running("plimsoll-0a-1-x".into()));
        assert_eq!(both(&Value::Null, &running), PodState::Waiting(None));
        assert_eq!(self::ended(both(&ended, &running)), "its container has ended with 1");
        let missing = json!({ "waiting": { "reason": "ImagePullBackOff", "message": "no image" } });
        let helper = json!({ "phase": "Pending", "initContainerStatuses": [{ "name": "helper", "state": missing }] });
        assert_eq!(self::ended(state(helper)), "its pod cannot start: ImagePullBackOff: no image");
    }

    #[test]
    fn a_pod_that_runs_no_more_says_why() {
        assert_eq!(state(container("Running", json!({ "running": {} }))), PodState::Running("plimsoll-0a-1-x".into()));
        let killed = json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
        let why = "its container has ended with 137 (OOMKilled)";
        assert_eq!(ended(state(container("Running", killed.clone()))), why);
        assert_eq!(ended(state(container("Failed", killed))), why);
        let evicted =
            json!({ "phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory." });
        assert_eq!(ended(state(evicted)), "its pod has ended: Evicted: The node was low on resource: memory.");
    }

    #[test]
    fn texts_of_a_cluster_are_one_bounded_line() {
        let flood = format!("a\u{1b}[31m{}", "b".repeat(10_000));
        let PodState::Waiting(Some(why)) = state(container("Pending", json!({ "waiting": { "reason": flood } })))
        else {
            panic!("it does not wait")
        };
        assert!(why.len() < 1000 && !why.contains(char::is_control), "{why:?}");
        assert_eq!(read(&json!({ "metadata": { "name": "other" } })), None, "a pod of another Job");
        for name in ["a\u{1b}[31m", "../../secrets/x", "", &"a".repeat(NAME_MAX + 1)] {
            assert_eq!(read(&json!({ "metadata": { "name": name, "labels": { INDEX: "1" } } })), None, "{name}");
        }
    }
}
