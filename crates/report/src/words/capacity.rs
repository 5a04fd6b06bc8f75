//! A capacity in words and rows.

use crate::Named;
use crate::record::AnyRecord;
use crate::words::fact::{About, Fact, Tone};
use crate::words::unit::Unit;
use crate::words::verdict::{self, state_word};
use crate::words::{agents, brief, interrupted, limiter, next, recording, sent, served, thresholds};
use model::human::{percent, plural, rate, time};
use model::{CapacityRecord, ConditionRecord, TrialRecord};

/// Columns of [`row`].
pub(crate) const HEADER: [&str; 6] = ["result", "verdict", "capacity", "goal", "trials", "target"];
/// What is said of a load whose trials all counted for nothing.
const NOT_COUNTED: &str = "not counted";

/// All that is known of a capacity.
pub(crate) fn facts(record: &CapacityRecord) -> Vec<Fact> {
    let environment = &record.environment;
    let new = Fact::new;
    let known = Fact::known;
    let about = bracket_detail(record);
    let mut facts = vec![verdict::fact(&record.verdict, None)];
    facts.push(new(About::Result, "capacity", bracket(record)).with_tone(Tone::Headline));
    facts.extend(known(About::Result, "bracket", about));
    facts.push(new(About::Result, "goal", record.goal.replace(',', ", ")));
    facts.push(new(About::Result, "ended", record.capacity.reason.clone()));
    facts.extend(known(About::Result, "estimate", estimate(record)));
    facts.extend(known(About::Result, "more time", more(record)));
    facts.extend(brief::of_capacity(record));
    facts.extend(limiter::facts(record.limiter.as_ref()));
    facts.extend(next::after_capacity(record));
    facts.push(new(About::Load, "search", search(record)));
    facts.extend(sent::fact(record.sent_in_all));
    facts.extend(known(About::Target, "target", (!record.trials.is_empty()).then(|| target(record))));
    facts.extend(record.trials.first().and_then(|trial| recording::fact(&trial.plan)));
    facts.extend(served::fact(environment.served.as_ref()));
    facts.extend(agents::machines(environment, record.trials.iter()));
    facts.extend(interrupted(record.interrupted, "stopped before the search was done; this is what was found"));
    facts.extend(agents::lost(record.agent_lost.as_ref()));
    facts.extend(thresholds::facts(&record.thresholds));
    facts
}

/// A capacity in a sentence.
pub(crate) fn summary(record: &CapacityRecord) -> String {
    format!("capacity {} for {}", bracket(record), record.goal.replace(',', ", "))
}

/// The bracket: a range, or a bound.
fn bracket(record: &CapacityRecord) -> String {
    match (record.capacity.low, record.capacity.high) {
        (None, None) => "not known".to_owned(),
        (Some(low), None) => format!(">= {}", rate(low)),
        (None, Some(high)) => format!("< {}", rate(high)),
        (Some(low), Some(high)) => {
            let from = rate(low);
            let confirmed = record.capacity.low_confirmed && record.capacity.high_confirmed;
            let sure = if confirmed { "" } else { ", not confirmed" };
            format!("{} to {}{sure}", from.trim_end_matches("/s"), rate(high))
        }
    }
}

/// How far the ends of the bracket are apart, and the goodput at the lower one, as far as they are known.
fn bracket_detail(record: &CapacityRecord) -> Option<String> {
    let ends = record.capacity.low.zip(record.capacity.high).filter(|(low, _)| *low > 0.0);
    let width = ends.map(|(low, high)| {
        format!("the goal was met at the lower rate and missed at the upper one, {} apart", percent(high / low - 1.0))
    });
    let good = record.capacity.value.map(|value| format!("{} of good responses at the lower rate", rate(value)));
    let parts: Vec<String> = width.into_iter().chain(good).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Where all trials together put the capacity; none when that is not known.
fn estimate(record: &CapacityRecord) -> Option<String> {
    let estimate = record.capacity.estimate_per_s?;
    let range = estimate.low.zip(estimate.high);
    let range = range.map_or_else(String::new, |(low, high)| {
        let from = rate(low);
        format!(" ({} to {})", from.trim_end_matches("/s"), rate(high))
    });
    let noise = record.capacity.noise;
    let noise = noise.map_or_else(String::new, |noise| format!("; {} noise from trial to trial", percent(noise)));
    Some(format!("{}{range} by all {}{noise}", rate(estimate.value), plural(estimate.n, "trial")))
}

/// What was done for it.
fn search(record: &CapacityRecord) -> String {
    let capacity = &record.capacity;
    let times = &record.search.times;
    let not_counted = match capacity.disturbed {
        0 => String::new(),
        n => format!("; {} more too disturbed to count", plural(n, "trial")),
    };
    format!(
        "open loop, {} in {} of {}, windows of {}{not_counted}",
        plural(capacity.n, "trial"),
        time(record.spent_ns as f64),
        time(times.budget_ns as f64),
        time(times.full_ns as f64)
    )
}

/// What more time would buy; none where time is not what is missing.
fn more(record: &CapacityRecord) -> Option<String> {
    let more = record.capacity.more?;
    Some(format!("about {} more would narrow the bracket to {}", time(more.ns as f64), percent(more.width)))
}

/// The conditions of the goal, as far as a trial has them.
fn conditions(record: &CapacityRecord) -> &[ConditionRecord] {
    match record.outcomes.first() {
        Some(first) => &first.conditions,
        None => &[],
    }
}

/// Columns of [`load_rows`]. The last one says what is special about a load.
pub(crate) fn load_header(record: &CapacityRecord) -> Vec<String> {
    let conditions = conditions(record).iter().map(|one| one.condition.clone());
    let first = ["offered rate", "goal met", "goodput"].map(str::to_owned);
    first.into_iter().chain(conditions).chain([String::new()]).collect()
}

/// Each load in rising order: how many of its trials held, mean goodput, and the median of each condition over the trials of
/// which it is known.
pub(crate) fn load_rows(record: &CapacityRecord) -> Vec<Vec<String>> {
    let mut loads: Vec<f64> = record.outcomes.iter().map(|trial| trial.load_per_s).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads.into_iter().map(|load| load_row(record, load)).collect()
}

fn load_row(record: &CapacityRecord, load: f64) -> Vec<String> {
    let trials: Vec<&TrialRecord> =
        record.outcomes.iter().filter(|trial| trial.counted && trial.load_per_s == load).collect();
    let held = trials.iter().filter(|trial| trial.held).count();
    let goodput = trials.iter().map(|trial| trial.goodput_per_s).sum::<f64>() / trials.len().max(1) as f64;
    let of_condition = |at: usize| {
        let of_load: Vec<&ConditionRecord> = trials.iter().filter_map(|trial| trial.conditions.get(at)).collect();
        let known: Vec<f64> = of_load.iter().filter_map(|one| one.value).collect();
        let median = (!known.is_empty()).then(|| stats::median(&known));
        of_load.first().map_or_else(|| "-".to_owned(), |one| shown(&one.condition, median))
    };
    let none = || "-".to_owned();
    let (held, goodput) = match trials.is_empty() {
        true => (none(), none()),
        false => (format!("{held} of {}", trials.len()), rate(goodput)),
    };
    let cells = [rate(load), held, goodput];
    let values = (0..conditions(record).len()).map(of_condition);
    cells.into_iter().chain(values).chain([mark(record, load, trials.is_empty())]).collect()
}

/// What is special about a load.
fn mark(record: &CapacityRecord, load: f64, is_uncounted: bool) -> String {
    let capacity = &record.capacity;
    let end = |name: &str, is_confirmed: bool| match is_confirmed {
        true => name.to_owned(),
        false => format!("{name}, not confirmed"),
    };
    if capacity.low == Some(load) {
        end("highest met", capacity.low_confirmed)
    } else if capacity.high == Some(load) {
        end("lowest missed", capacity.high_confirmed)
    } else if is_uncounted {
        NOT_COUNTED.to_owned()
    } else {
        String::new()
    }
}

/// Columns of [`trial_rows`].
pub(crate) fn trial_header(record: &CapacityRecord) -> Vec<String> {
    let first = ["trial", "for", "offered rate", "outcome", "goodput"].map(str::to_owned);
    let conditions = conditions(record).iter().map(|one| one.condition.clone());
    first.into_iter().chain(conditions).chain(["undisturbed", "took"].map(str::to_owned)).collect()
}

/// Each trial, in the order made.
pub(crate) fn trial_rows(record: &CapacityRecord) -> Vec<Vec<String>> {
    let width = conditions(record).len();
    let row = |(i, trial): (usize, &TrialRecord)| -> Vec<String> {
        let first = [
            (i + 1).to_string(),
            trial.purpose.words().to_owned(),
            rate(trial.load_per_s),
            outcome(trial),
            rate(trial.goodput_per_s),
        ];
        let values = (0..width).map(|at| trial.conditions.get(at).map_or_else(|| "-".to_owned(), value));
        let undisturbed = trial.clean_share.map_or_else(|| "-".to_owned(), percent);
        first.into_iter().chain(values).chain([undisturbed, time(trial.took_ns as f64)]).collect()
    };
    record.outcomes.iter().enumerate().map(row).collect()
}

/// What came of a trial.
pub(crate) fn outcome(trial: &TrialRecord) -> String {
    let backlog = match (trial.ran_away, trial.backlog_grew) {
        (true, _) => Some("backlog ran away"),
        (false, true) => Some("backlog grew"),
        (false, false) => None,
    };
    let failed = trial.conditions.iter().filter(|one| !one.held).map(|one| one.condition.as_str()).chain(backlog);
    let said = match &trial.obstacle {
        Some(obstacle) => obstacle.clone(),
        None if trial.held => "met".to_owned(),
        None => format!("missed: {}", failed.collect::<Vec<_>>().join(", ")),
    };
    if trial.counted { said } else { format!("{said} ({NOT_COUNTED})") }
}

/// What was measured of a condition, in the unit of its quantity.
fn value(one: &ConditionRecord) -> String {
    shown(&one.condition, one.value)
}

fn shown(condition: &str, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| Unit::of(condition).text(value))
}

/// True if it is a condition on a response time.
pub(crate) fn is_latency(one: &ConditionRecord) -> bool {
    Unit::of(&one.condition) == Unit::Time
}

/// A capacity in a line among others.
pub(crate) fn row(named: Named<'_>) -> Option<Vec<String>> {
    let AnyRecord::Capacity(record) = named.record else { return None };
    Some(vec![
        named.name.to_owned(),
        state_word(record.verdict.state).to_owned(),
        bracket(record),
        record.goal.clone(),
        record.capacity.n.to_string(),
        target(record),
    ])
}

/// What was measured.
fn target(record: &CapacityRecord) -> String {
    record.trials.first().map_or_else(|| "-".to_owned(), |run| run.plan.target.to_string())
}
