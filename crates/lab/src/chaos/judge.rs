//! What a try has left, judged: pure functions of the files that are found and of how far the measurement was.

use super::follow::Standing;
use super::log::Log;
use super::verb::Verb;
use serde_json::Value;
use std::time::Duration;

/// What may be lost: the tick that has not ended.
const TICK: Duration = Duration::from_secs(1);
/// Time between the end of a tick and its line in the log.
pub(super) const HANDLING: Duration = Duration::from_millis(300);

/// What has become of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    /// There is no result of a server.
    NoResult,
    /// Nothing had been measured.
    Nothing,
    /// The result is on the disk.
    Whole,
    /// It was printed only.
    Printed,
    /// It is made of the events, or of the samples.
    Recovered,
    /// Lost.
    Broken,
}

/// What is found.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The file of the result, if it is there.
    pub(super) stored: Option<String>,
    pub(super) printed: String,
    /// The result that `report --recover` makes of the rest, or what it says.
    pub(super) again: Result<String, String>,
    /// Of the measurement as a whole.
    pub(super) log: Log,
    /// True if samples of a profile were written down.
    pub(super) has_samples: bool,
    /// The load that was under way at the instant, and its events.
    pub(super) under_way: Option<(Standing, Log)>,
}

/// What is to be said of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) kept: Kept,
    /// Measured time that is missing, where that is known.
    pub(super) lost: Option<Duration>,
    /// The result, wherever it is.
    pub(super) record: Option<Value>,
    /// What is not as it should be.
    pub(super) problems: Vec<String>,
}

impl Judged {
    fn new(kept: Kept, record: Option<Value>) -> Self {
        Self { kept, lost: None, record, problems: Vec::new() }
    }

    fn broken(problem: String) -> Self {
        Self { problems: vec![problem], ..Self::new(Kept::Broken, None) }
    }

    fn miss(&mut self, missing: Duration, standing: &Standing, of: &str) {
        self.lost = self.lost.max(Some(missing));
        if is_too_much(missing, standing) {
            self.problems.push(format!("{of} lacks {missing:.2?} of {:.2?}", standing.elapsed));
        }
    }
}

/// Judges what `verb` has left; `keeps_log` if its events must still be there.
pub(super) fn judge(verb: Verb, keeps_log: bool, seen: &Seen) -> Judged {
    let Some(window) = verb.window() else { return Judged::new(Kept::NoResult, None) };
    if verb == Verb::Profile {
        return profile(window, seen);
    }
    let mut judged = kept(verb, keeps_log, seen);
    if !keeps_log {
        return judged;
    }
    if let Some(line) = seen.log.wrong_line {
        judged.problems.push(format!("line {line} of its events is no event"));
    }
    if let Some((standing, log)) = &seen.under_way {
        judged.miss(lost(standing, window, log.measured_ns), standing, "events.jsonl");
        if verb.is_one_load() {
            let whole_ns = judged.record.as_ref().map_or(0, measured_ns);
            judged.miss(lost(standing, window, whole_ns), standing, "the result");
        }
        if let (true, Kept::Printed, Ok(again)) = (verb.is_one_load(), judged.kept, &seen.again) {
            let again_ns = complete(again).as_ref().map_or(0, measured_ns);
            judged.miss(lost(standing, window, again_ns), standing, "what can be recovered");
        }
    }
    judged.problems.extend(unrecovered(verb, &judged, seen));
    if verb.is_profiled() {
        judged.problems.extend(unsampled(&judged));
        judged.problems.extend(unprofiled(verb, &judged, seen));
    }
    judged
}

/// Measured time that is missing of a load.
pub(super) fn lost(standing: &Standing, window: Duration, measured_ns: u64) -> Duration {
    standing.elapsed.min(window).saturating_sub(Duration::from_nanos(measured_ns))
}

/// True if it is more than the last second, as far as this machine lets us tell.
pub(super) fn is_too_much(lost: Duration, standing: &Standing) -> bool {
    lost > TICK + HANDLING + standing.late
}

/// Its samples are written down as they come, and make place for the profile at the end.
fn profile(window: Duration, seen: &Seen) -> Judged {
    let again = seen.again.as_ref().ok().map(|again| complete(again));
    let mut judged = match (&seen.stored, complete(&seen.printed), again) {
        (Some(text), ..) => return complete(text).map_or_else(half, |record| Judged::new(Kept::Whole, Some(record))),
        (None, Some(record), _) => return Judged::new(Kept::Printed, Some(record)),
        (None, None, Some(Some(record))) => Judged::new(Kept::Recovered, Some(record)),
        (None, None, Some(None)) => return half(),
        (None, None, None) => Judged::new(Kept::Nothing, None),
    };
    if let Some((standing, _)) = &seen.under_way {
        let sampled_ns = judged.record.as_ref().map_or(0, sampled_ns);
        judged.miss(lost(standing, window, sampled_ns), standing, "the profile");
    }
    judged
}

/// What the samples of a run lack that its events have, where they were written down.
fn unsampled(judged: &Judged) -> Option<String> {
    let record =
        judged.record.as_ref().filter(|record| judged.kept == Kept::Recovered && record["profile"].is_object())?;
    let missing = Duration::from_nanos(measured_ns(record).saturating_sub(sampled_ns(record)));
    (missing > TICK).then(|| format!("its profile lacks {missing:.2?} of what was measured"))
}

/// What is wrong with a recovered result that has no profile.
fn unprofiled(verb: Verb, judged: &Judged, seen: &Seen) -> Option<String> {
    let record = judged.record.as_ref().filter(|record| !record["profile"].is_object())?;
    let sampled_of =
        |(standing, log): &(Standing, Log)| standing.is_profiled() && log.measured_ns >= TICK.as_nanos() as u64;
    let is_sampled = seen.has_samples && (verb.is_one_load() || seen.under_way.as_ref().is_some_and(sampled_of));
    match judged.kept {
        Kept::Recovered if is_sampled => Some("its samples were not made a profile".into()),
        Kept::Recovered if !record["profile_unavailable"].is_string() => {
            Some("it has no profile and does not say why".into())
        }
        _ => None,
    }
}

/// The rule that says what a profile has cost.
const PROFILED: &str = "PR-01";

/// True if the stored result is the one that is on the disk before names are looked up, and another one has the profile, what is to
/// be said of that, and nothing else beside: it was made again of the samples, or the disk took it no more.
fn lacks_names_alone(stored: &str, other: &str) -> bool {
    let without = |text: &str| -> Option<(bool, Value)> {
        let mut record: Value = serde_json::from_str(text).ok()?;
        let profile = record.as_object_mut()?.remove("profile");
        record.as_object_mut()?.remove("profile_unavailable");
        if let Some(findings) = record["verdict"]["findings"].as_array_mut() {
            findings.retain(|finding| finding["rule"] != PROFILED);
        }
        Some((profile.is_some(), record))
    };
    let (Some((stored_has, stored)), Some((other_has, other))) = (without(stored), without(other)) else {
        return false;
    };
    !stored_has && other_has && stored == other
}

fn kept(verb: Verb, keeps_log: bool, seen: &Seen) -> Judged {
    let printed = complete(&seen.printed);
    if let Some(stored) = &seen.stored {
        let Some(record) = complete(stored) else { return half() };
        let mut judged = Judged::new(Kept::Whole, Some(record));
        match &seen.again {
            Ok(again) if keeps_log && again != stored && !(seen.has_samples && lacks_names_alone(stored, again)) => {
                judged.problems.push("made again it is another result".into());
            }
            Err(why) if keeps_log => judged.problems.push(format!("it cannot be made again: {why}")),
            _ => {}
        }
        if printed.is_some() && seen.printed != *stored && !lacks_names_alone(stored, &seen.printed) {
            judged.problems.push("another result was printed than stored".into());
        }
        return judged;
    }
    if printed.is_some() {
        return Judged::new(Kept::Printed, printed);
    }
    match &seen.again {
        Ok(again) => match complete(again) {
            Some(record) if measured_ns(&record) == 0 && verb.is_one_load() => Judged::new(Kept::Nothing, Some(record)),
            Some(record) => Judged::new(Kept::Recovered, Some(record)),
            None => half(),
        },
        Err(_) if !has_result(verb, &seen.log) => Judged::new(Kept::Nothing, None),
        Err(why) => Judged::broken(format!("it cannot be recovered: {why}")),
    }
}

fn half() -> Judged {
    Judged::broken("half a result passes for one".into())
}

/// Loads that had ended, and are neither in the result nor in the one that the events make: where the disk is full, the line that
/// names a load can find room, and its events none.
fn unrecovered(verb: Verb, judged: &Judged, seen: &Seen) -> Option<String> {
    let again = match &seen.again {
        Ok(again) => complete(again),
        // Told already where it is all there is.
        Err(why) if judged.kept == Kept::Printed && has_result(verb, &seen.log) => {
            return Some(format!("it was printed, and cannot be recovered: {why}"));
        }
        Err(_) => return None,
    };
    let parts = |record: &Value, name: &str| record[name].as_array().map_or(0, Vec::len);
    let loads =
        |record: &Option<Value>| record.as_ref().map_or(0, |record| parts(record, "points") + parts(record, "trials"));
    let missing = seen.log.parts().saturating_sub(loads(&again).max(loads(&judged.record)));
    (missing > 0).then(|| format!("{missing} load(s) that had ended are in no result"))
}

/// Why a result is not that of the whole plan, after an end with an exit code that says so.
pub(super) fn unfinished(verb: Verb, record: &Value) -> Option<String> {
    let planned_ns = verb.window().filter(|_| verb.is_one_load()).map_or(0, |window| window.as_nanos() as u64);
    match record["interrupted"].as_bool() {
        Some(true) => Some("its exit code says that it was whole, its result that it was interrupted".into()),
        _ if measured_ns(record) < planned_ns => {
            Some(format!("it measured {} ns of its plan only", measured_ns(record)))
        }
        _ => None,
    }
}

/// True if a result can be made of its events.
fn has_result(verb: Verb, log: &Log) -> bool {
    if verb.is_one_load() { log.measured_ns > 0 } else { log.parts() > 0 }
}

/// A result of ours, as a whole.
fn complete(text: &str) -> Option<Value> {
    let record: Value = serde_json::from_str(text).ok()?;
    record["format"].as_str()?.starts_with("plimsoll.").then_some(record)
}

/// Of a profile, or of a result with one.
fn sampled_ns(record: &Value) -> u64 {
    record["profile"]["sampled_ns"].as_u64().unwrap_or(0)
}

fn measured_ns(record: &Value) -> u64 {
    record["measured_ns"].as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests;
