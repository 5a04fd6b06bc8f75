//! What peers say, bounded before it is used: numbers, times, names and texts.

use model::{Failure, MIX_TOLD_APART_MAX, NS_PER_S, Plausible, Redacted, SENDS_MAX, Sample, Tick};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Longest tick; they are cut each second.
const TICK_MAX_NS: u64 = 2 * NS_PER_S;
/// Slices of the disturbance account in a tick, with some of ticks before it.
const SLICES_MAX: usize = 64;
/// Statuses of HTTP.
const STATUSES: std::ops::RangeInclusive<u16> = 100..=999;
/// Characters of a text of a peer that are kept.
pub const TEXT_MAX: usize = 200;

/// Bytes of a name in a sample or a fingerprint, and entries of a list in it.
const NAME_MAX: usize = 4096;
const ENTRIES_MAX: usize = 1 << 16;

/// Names of failures that there are.
static FAILURES: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| (0..Failure::COUNT).map(|index| Failure::from_index(index).to_string()).collect());

/// A text of a peer as it may be shown and stored: its first line, short, without secrets or control characters.
#[must_use]
pub fn text(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    Redacted::line(line, TEXT_MAX).into_inner()
}

/// True if a measurement can have made all numbers of a message.
#[must_use]
pub fn is_plausible(message: &[u8]) -> bool {
    serde_json::from_slice::<Plausible>(message).is_ok()
}

/// Fails on a tick that no load of so many threads tells, after one that began at `after_ns`, when no more than `elapsed_ns`
/// have passed since the start.
///
/// # Errors
/// What is wrong with it.
pub fn tick(tick: &Tick, threads: u32, after_ns: u64, elapsed_ns: u64) -> Result<(), &'static str> {
    let length_ns = tick.to_ns.checked_sub(tick.from_ns).ok_or("a tick that ends before it begins")?;
    let cohort = &tick.cohort;
    let wrong = [
        (length_ns > TICK_MAX_NS, "a tick longer than a second"),
        (tick.from_ns < after_ns, "a tick that begins before the one before it"),
        (tick.to_ns > elapsed_ns, "a tick of time that has not come"),
        (tick.threads.len() != threads as usize, "a tick of another number of load threads"),
        (!tick.agents.is_empty(), "a tick of other agents"),
        (tick.sends_ns.len() > (threads as usize + 1) * SENDS_MAX, "a tick with more instants than it may have"),
        (tick.slices.len() > SLICES_MAX, "a tick with more slices than it may have"),
        (cohort.mix.len() > MIX_TOLD_APART_MAX, "a tick of more requests than there may be"),
        (cohort.status.keys().any(|status| !STATUSES.contains(status)), "a status that HTTP has not"),
        (cohort.failures.keys().any(|name| !FAILURES.contains(name)), "a failure that there is not"),
    ];
    wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map_or(Ok(()), |(_, why)| Err(why))
}

/// True if no name in a message is longer, and no list larger, than those of a machine.
#[must_use]
pub fn is_bounded(message: &[u8]) -> bool {
    serde_json::from_slice(message).is_ok_and(|value| has_bounds(&value))
}

fn has_bounds(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= NAME_MAX,
        Value::Array(values) => values.len() <= ENTRIES_MAX && values.iter().all(has_bounds),
        Value::Object(fields) => {
            fields.len() <= ENTRIES_MAX
                && fields.iter().all(|(name, value)| name.len() <= NAME_MAX && has_bounds(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Fails on a sample that does not follow one that ended at `after_ns`, or when no more than `elapsed_ns` have passed since
/// samples count.
///
/// # Errors
/// What is wrong with it.
pub fn sample(sample: &Sample, after_ns: u64, elapsed_ns: u64) -> Result<(), &'static str> {
    let wrong = [
        (sample.to_ns < sample.from_ns, "a sample that ends before it begins"),
        (sample.from_ns < after_ns, "a sample that begins before the end of the one before it"),
        (sample.to_ns > elapsed_ns, "a sample of time that has not come"),
    ];
    wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map_or(Ok(()), |(_, why)| Err(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Phase, ThreadUse};

    fn good() -> Tick {
        let mut good = Tick::empty(Phase::Measure, 5, 1_000_000_005);
        good.threads = vec![ThreadUse::default(); 2];
        good.cohort.status.insert(200, 1);
        good.cohort.failures.insert("connect.refused".into(), 1);
        good
    }

    #[test]
    fn ticks_of_no_load_are_refused() {
        let check = |tick_: &Tick| tick(tick_, 2, 5, 2_000_000_000);
        assert_eq!(check(&good()), Ok(()));
        let with = |change: fn(&mut Tick)| {
            let mut tick = good();
            change(&mut tick);
            check(&tick).expect_err("no load tells that")
        };
        assert_eq!(with(|tick| tick.to_ns = 4), "a tick that ends before it begins");
        assert_eq!(with(|tick| tick.from_ns = 4), "a tick that begins before the one before it");
        assert_eq!(with(|tick| tick.to_ns = 2_000_000_001), "a tick of time that has not come");
        assert_eq!(with(|tick| tick.threads.clear()), "a tick of another number of load threads");
        assert_eq!(with(|tick| tick.cohort.status = [(1000, 1)].into()), "a status that HTTP has not");
        assert_eq!(with(|tick| tick.cohort.failures = [("\x1b[2J".into(), 1)].into()), "a failure that there is not");
    }

    #[test]
    fn texts_are_one_short_line_without_secrets() {
        assert_eq!(text("\r\n  a\tb\x1b[2Jc\nd"), "a b [2Jc");
        assert_eq!(text(&"x".repeat(1000)).len(), TEXT_MAX);
        assert!(!text("Authorization: Bearer abcdef123456").contains("abcdef123456"));
    }
}
