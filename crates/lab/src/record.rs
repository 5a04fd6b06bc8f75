//! Records as plimsoll prints them, and figures in them.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Exit codes of a measurement that was made, be its result valid or not.
pub(crate) const MEASURED: [i32; 2] = [0, 4];
/// All exit codes of its own, where the record says how it has ended.
pub(crate) const ANY: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// The record that plimsoll prints, which has to end with one of these exit codes.
pub(crate) fn printed(plimsoll: &mut Command, codes: &[i32]) -> Result<Value> {
    let output = plimsoll.stdin(Stdio::null()).output().context("cannot start plimsoll")?;
    let words: Vec<_> = plimsoll.get_args().map(|word| word.to_string_lossy()).collect();
    let ended = || {
        let (line, stderr) = (words.join(" "), String::from_utf8_lossy(&output.stderr));
        format!("plimsoll {line} ended with {}: {}", output.status, stderr.trim())
    };
    ensure!(output.status.code().is_some_and(|code| codes.contains(&code)), "{}", ended());
    serde_json::from_slice(&output.stdout).with_context(ended)
}

/// A number at this place of a record.
pub(crate) fn number(record: &Value, path: &str) -> Result<f64> {
    record.pointer(path).and_then(Value::as_f64).with_context(|| format!("the record has no {path}"))
}

/// The same of a count, which is 0 where the record has none.
pub(crate) fn count(record: &Value, path: &str) -> u64 {
    record.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// Findings of the verdict.
pub(crate) fn findings(record: &Value) -> &[Value] {
    record.pointer("/verdict/findings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{MEASURED, printed};
    use std::process::Command;

    #[test]
    fn a_record_that_is_none_is_told_with_what_plimsoll_says() {
        let made = |script: &str| printed(Command::new("sh").args(["-c", script]), &MEASURED);
        assert_eq!(made("echo '{\"a\":1}'; exit 4").unwrap()["a"], 1);
        for (script, end) in
            [("echo '{}'; echo no >&2; exit 3", "exit status: 3: no"), ("echo no >&2", "status: 0: no")]
        {
            let error = made(script).unwrap_err().to_string();
            assert!(error.starts_with("plimsoll -c echo") && error.ends_with(end), "{error}");
        }
    }
}
