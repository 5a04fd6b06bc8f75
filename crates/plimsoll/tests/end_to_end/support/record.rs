//! Reads figures out of a JSON record; a missing one fails with its name.

use serde_json::Value;

/// The whole number at a path such as `requests.completed`.
#[track_caller]
pub(crate) fn count(record: &Value, path: &str) -> u64 {
    at(record, path).as_u64().unwrap_or_else(|| panic!("{path} is no whole number: {:#}", at(record, path)))
}

/// The number at a path.
#[track_caller]
pub(crate) fn number(record: &Value, path: &str) -> f64 {
    at(record, path).as_f64().unwrap_or_else(|| panic!("{path} is no number: {:#}", at(record, path)))
}

/// The text at a path.
#[track_caller]
pub(crate) fn text<'a>(record: &'a Value, path: &str) -> &'a str {
    at(record, path).as_str().unwrap_or_else(|| panic!("{path} is no text: {:#}", at(record, path)))
}

/// The value at a path; a name with a dot in it, such as a kind of failure, may only stand last.
#[track_caller]
fn at<'a>(record: &'a Value, path: &str) -> &'a Value {
    let (mut value, mut rest) = (record, path);
    loop {
        if let Some(last) = value.get(rest) {
            return last;
        }
        let step = |key: &str| value.get(key).or_else(|| value.get(key.parse::<usize>().ok()?));
        let next = rest.split_once('.').and_then(|(key, after)| Some((step(key)?, after)));
        (value, rest) = next.unwrap_or_else(|| panic!("no {path} in {record:#}"));
    }
}

/// Fails unless `value` lies within `share` of `expected`.
#[track_caller]
pub(crate) fn close_to(value: f64, expected: f64, share: f64, what: &str) {
    let band = share * expected.abs();
    assert!((value - expected).abs() <= band, "{what}: {value} is not {expected} +- {band}");
}

/// Rules about what else the machine does meanwhile, which is no fault of what is tested.
const SURROUNDINGS: [&str; 4] = ["CL-08", "CL-09", "EN-01", "EN-03"];

/// The findings of a verdict.
pub(crate) struct Findings<'a>(pub(crate) &'a Value);

impl<'a> Findings<'a> {
    /// The finding of a rule: its state and its message.
    #[track_caller]
    pub(crate) fn of(&self, rule: &str) -> (&'a str, &'a str) {
        let found = self.all().iter().find(|finding| finding["rule"] == rule);
        let finding = found.unwrap_or_else(|| panic!("{rule} did not fire: {:#}", self.0["verdict"]));
        (text(finding, "state"), text(finding, "message"))
    }

    /// Fails when the rule fired.
    #[track_caller]
    pub(crate) fn is_silent(&self, rule: &str) {
        let found = self.all().iter().find(|finding| finding["rule"] == rule);
        assert!(found.is_none(), "{:#}", found.unwrap_or(&Value::Null));
    }

    /// Fails when a rule made the result invalid that is not one of `expected`, and not about other programs.
    #[track_caller]
    pub(crate) fn invalid_only_by(&self, expected: &[&str]) {
        for finding in self.all().iter().filter(|finding| finding["state"] == "invalid") {
            let rule = text(finding, "rule");
            assert!(expected.contains(&rule) || SURROUNDINGS.contains(&rule), "{finding:#}");
        }
    }

    /// Fails when a rule of the server's errors (ER, but ER-09 and ER-10: that a server closes connections, or would send a
    /// browser a compressed page, is no error) or of missing connections (CL-06, CL-07) fired. The others depend on the machine when a run is short.
    #[track_caller]
    pub(crate) fn nothing_failed(&self) {
        for finding in self.all() {
            let rule = text(finding, "rule");
            let is_error = rule.starts_with("ER-") && !["ER-09", "ER-10"].contains(&rule);
            assert!(!is_error && !["CL-06", "CL-07"].contains(&rule), "{finding:#}");
        }
    }

    fn all(&self) -> &'a [Value] {
        self.0["verdict"]["findings"].as_array().expect("a list")
    }
}
