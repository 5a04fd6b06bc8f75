//! A machine that stands still for a while.

use crate::chaos::ending::{Ending, NONE};
use crate::chaos::leaks::Left;
use crate::chaos::moment::Moment;
use crate::chaos::scene::Scene;
use crate::chaos::setting::{ORDINARY, Setting};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, geteuid, pidfd_send_signal};
use serde_json::Value;
use std::process::Command;

/// A machine that was suspended for a day before the start: its BOOTTIME is ahead, and stays so.
const A_DAY_AHEAD: &[&str] = &["unshare", "--time", "--fork", "--boottime", "86400"];

pub(in crate::chaos) const SUSPENDED: Ending = Ending {
    name: "suspended",
    made: "SIGSTOP for plimsoll, supervisor and server for 0.7 to 2.5 s, then SIGCONT, in a time namespace whose BOOTTIME is a \
           day ahead: that day is no suspension of this measurement, and must not be told as one",
    setting: Setting { wrapper: A_DAY_AHEAD, ..ORDINARY },
    missing,
    strike,
    check: is_told,
    ..NONE
};

fn missing() -> Option<String> {
    if !geteuid().is_root() {
        return Some("a time namespace needs root".into());
    }
    let tried = Command::new(A_DAY_AHEAD[0]).args(&A_DAY_AHEAD[1..]).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no time namespace: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("no time namespace: unshare: {error}")),
    }
}

fn strike(scene: &mut Scene, moment: Moment) -> Result<(), String> {
    let all = Left::new(scene.folder()).handles();
    send(&all, Signal::STOP);
    scene.hold(moment.hold);
    send(&all, Signal::CONT);
    Ok(())
}

/// To all that have not ended.
fn send(all: &[OwnedFd], signal: Signal) {
    all.iter().for_each(|process| {
        let _ = pidfd_send_signal(process, signal);
    });
}

/// A suspension that a result tells of.
fn is_told(record: &Value) -> Option<String> {
    let changes = record["environment"]["changes"].as_array()?;
    changes
        .iter()
        .find(|change| change["section"] == "clock")
        .map(|change| format!("it tells of a suspension: {change}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_suspension_that_was_none_is_found() {
        let record = |section: &str| json!({ "environment": { "changes": [{ "section": section }] } });
        assert!(is_told(&record("clock")).is_some());
        assert_eq!(is_told(&record("sysctl")), None);
        assert_eq!(is_told(&json!({})), None);
    }
}
