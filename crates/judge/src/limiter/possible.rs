//! Limits that are possible where the evidence names none, and the change that would tell.

use super::input::LimiterInput;
use super::signal::Signal;
use super::{UNKNOWN, detect, is_same, named, none};
use crate::text::list;
use model::human::percent;
use model::{Confidence, Limiter};

/// Limits that are named: of more than two hardly any is likely.
const NAMED_MAX: usize = 2;

/// No limit, for the reason `known`, and those that are possible: resources that are used more than a server with room uses
/// them, the one that allows the least first.
pub(super) fn undecided(input: &LimiterInput<'_>, known: String) -> Limiter {
    let perhaps_full = input.with_perhaps_full();
    let mut found = detect(&perhaps_full).0;
    found.retain(|signal| !signal.is_inferred && signal.share.is_some() && signal.ceiling_per_s.is_some());
    let ceiling_per_s = |signal: &Signal| signal.ceiling_per_s.unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| ceiling_per_s(a).total_cmp(&ceiling_per_s(b)));
    found.dedup_by(|later, first| is_same(&later.resource, &first.resource) || first.also.contains(&later.resource));
    found.truncate(NAMED_MAX);
    let says = known + &sentence(&found);
    let as_if = |signal: &Signal| Limiter { confidence: Confidence::Low, ..named(&perhaps_full, signal) };
    Limiter { possible: found.iter().map(as_if).collect(), ..none(UNKNOWN, says) }
}

/// What is possible and what would tell, behind what is known; empty where nothing is.
fn sentence(found: &[Signal]) -> String {
    let used = |signal: &Signal| format!("{} ({} in use)", signal.resource, percent(signal.share.unwrap_or_default()));
    let all = list(&found.iter().map(used).collect::<Vec<_>>());
    let which = match found.len() {
        0 => return String::new(),
        1 => format!("; possible is {all}"),
        _ => format!("; these two are possible: {all}"),
    };
    let changes = || found.iter().filter_map(|signal| signal.change.as_ref());
    // What a setting changes is the easier experiment.
    let experiment = changes().find(|change| change.setting.is_some()).or_else(|| changes().next());
    let tells = experiment.map_or_else(String::new, |change| {
        let setting = change.setting.as_ref().map_or_else(String::new, |setting| format!(" ({setting})"));
        format!("; an experiment with {}{setting} would tell", change.words)
    });
    which + &tells
}
