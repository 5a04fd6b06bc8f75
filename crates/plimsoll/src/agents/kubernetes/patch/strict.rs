//! Fields that the types of Kubernetes pass over in silence: one with a slip in its name is ignored, and one that is required and
//! missing becomes empty. Both are found by comparing a file with what was understood of it.

use k8s_openapi::serde::Serialize;
use serde_json::Value;

/// What was understood of a file; else the first field that was not understood as it stands there.
pub(super) fn checked<T: Serialize>(written: &Value, understood: T) -> Result<T, String> {
    let again = serde_json::to_value(&understood).map_err(|error| error.to_string())?;
    compare("", written, &again)?;
    Ok(understood)
}

fn compare(path: &str, written: &Value, understood: &Value) -> Result<(), String> {
    match (written, understood) {
        (Value::Object(written), Value::Object(understood)) => {
            for (key, value) in written {
                let path = below(path, key);
                match understood.get(key) {
                    Some(understood) => compare(&path, value, understood)?,
                    None if value.is_null() => {
                        return Err(format!("{path} is null, and a patch adds and replaces fields: it removes none"));
                    }
                    None => {
                        return Err(format!(
                            "{path} is no field that Kubernetes knows there; correct its name or place"
                        ));
                    }
                }
            }
            let missing = understood.iter().find(|(key, value)| !written.contains_key(*key) && is_empty(value));
            match missing {
                Some((key, _)) => Err(format!("{} is missing, and Kubernetes requires it", below(path, key))),
                None => Ok(()),
            }
        }
        (Value::Array(written), Value::Array(understood)) => {
            let pairs = written.iter().zip(understood).enumerate();
            pairs.into_iter().try_for_each(|(index, (written, understood))| {
                compare(&format!("{path}[{index}]"), written, understood)
            })
        }
        _ => Ok(()),
    }
}

/// True of the value that a required field has if it is missing. Empty objects and lists change nothing when they are merged.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(is_set) => !is_set,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::PodSpec;
    use serde_json::json;

    fn refused(pod: Value) -> String {
        let understood: PodSpec = serde_json::from_value(pod.clone()).expect("the types are right");
        checked(&pod, understood).err().unwrap_or_default()
    }

    #[test]
    fn a_field_that_would_be_ignored_is_named_with_its_path() {
        assert_eq!(
            refused(json!({ "nodeSelecter": {} })),
            "nodeSelecter is no field that Kubernetes knows there; correct its name or place"
        );
        let deep = json!({ "containers": [{ "name": "agent" }, { "name": "b", "resources": { "limit": {} } }] });
        assert!(refused(deep).starts_with("containers[1].resources.limit is no field"));
    }

    #[test]
    fn a_field_that_would_be_made_up_is_named_with_its_path() {
        let spread = json!({ "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": 1 }] });
        let why = "topologySpreadConstraints[0].whenUnsatisfiable is missing, and Kubernetes requires it";
        assert_eq!(refused(spread), why);
        assert!(refused(json!({ "containers": [{ "image": "a" }] })).starts_with("containers[0].name is missing"));
        assert!(refused(json!({ "priorityClassName": null })).starts_with("priorityClassName is null"));
    }

    #[test]
    fn what_was_understood_is_taken_in_whatever_form_it_was_written() {
        let limits = json!({ "cpu": 2, "memory": "1Gi", "example.com/nic": "1" });
        let pod = json!({
            "hostNetwork": false,
            "terminationGracePeriodSeconds": 0,
            "containers": [{ "name": "agent", "resources": { "limits": limits }, "env": [{ "name": "A", "value": "" }] }],
            "volumes": [{ "name": "scratch", "emptyDir": {} }],
        });
        assert_eq!(refused(pod), "");
    }
}
