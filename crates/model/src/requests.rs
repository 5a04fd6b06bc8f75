//! The `requests` object of a record.

use crate::counts::is_zero;
use crate::{Cohort, Counts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What became of the requests intended in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// The counters of the cohort. Those that a record leaves out are 0.
    #[serde(flatten, with = "RecordedCounts")]
    pub counts: Counts,
    /// Complete responses by status code.
    pub status: BTreeMap<u16, u64>,
    /// Failures by name; only kinds that occurred.
    pub failures: BTreeMap<String, u64>,
    /// Each request of a mix; empty as [`crate::Cohort::mix`] is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixRecord>,
}

/// The fields of [`Counts`] in the order of a record. The compiler asks for a new counter here: whoever adds it says whether
/// a record has it or skips it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Counts")]
struct RecordedCounts {
    planned: u64,
    sent: u64,
    completed: u64,
    good: u64,
    censored: u64,
    #[serde(default)]
    body_checked: u64,
    #[serde(default)]
    bodies_compared: u64,
    #[serde(default)]
    bodies_other: u64,
    #[serde(skip)]
    broken_response_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    within_slo: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unfinished: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unfinished_ns: u64,
}

impl Requests {
    /// The requests of `cohort` as a record has them; `mix` are those of a mix one by one.
    #[must_use]
    pub fn new(cohort: &Cohort, mix: Vec<MixRecord>) -> Self {
        Self {
            // A record that is read back is the same as before it was written.
            counts: Counts { broken_response_ns: 0, ..cohort.counts },
            status: cohort.status.clone(),
            failures: cohort.failures.clone(),
            mix,
        }
    }
}

/// One request of a mix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixRecord {
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// How often it is sent, in proportion to the others.
    pub weight: u32,
    /// Answered completely.
    pub completed: u64,
    /// Meeting the contract.
    pub good: u64,
    /// Mean response time of the complete responses; null without one. ns
    #[serde(with = "crate::unmeasured")]
    pub response_mean_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_one_object_in_the_order_of_earlier_records_and_read_back() {
        let text = concat!(
            r#"{"planned":1,"sent":2,"completed":3,"good":4,"censored":9,"body_checked":5,"bodies_compared":6,"#,
            r#""bodies_other":7,"status":{"200":10},"failures":{}}"#
        );
        let requests: Requests = serde_json::from_str(text).unwrap();
        assert_eq!((requests.counts.planned, requests.counts.censored), (1, 9));
        assert_eq!(serde_json::to_string(&requests).unwrap(), text);
        let before = r#"{"planned":1,"sent":2,"completed":3,"good":4,"censored":9,"status":{},"failures":{}}"#;
        assert_eq!(serde_json::from_str::<Requests>(before).unwrap().counts.bodies_compared, 0);
    }

    #[test]
    fn what_a_record_leaves_out_is_not_there_before_it_is_written_either() {
        let counts = Counts { completed: 3, broken_response_ns: 8, ..Counts::default() };
        let requests = Requests::new(&Cohort { counts, ..Cohort::default() }, Vec::new());
        let text = serde_json::to_string(&requests).unwrap();
        assert_eq!(serde_json::from_str::<Requests>(&text).unwrap(), requests, "{text}");
    }
}
