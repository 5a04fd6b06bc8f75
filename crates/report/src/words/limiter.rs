//! The bottleneck in words.

use crate::words::fact::{About, Fact};
use model::human::{percent, rate};
use model::{Confidence, Limiter, NextLimiter, Prediction, Utilisation};

/// A change that is predicted to raise the limit by less than this is no advice.
const GAIN_MIN: f64 = 1.05;

/// What stops the server, the limiter itself first; empty where that was not looked for.
pub(crate) fn facts(limiter: Option<&Limiter>) -> Vec<Fact> {
    let Some(limiter) = limiter else { return Vec::new() };
    let known = |label, text| Fact::known(About::Limiter, label, text);
    let detail = |label, texts: Vec<String>, gap: &str| {
        (!texts.is_empty()).then(|| Fact::new(About::LimiterDetail, label, texts.join(gap)))
    };
    let facts = [
        known("limiter", Some(headline(limiter))),
        known("predicted", predicted(limiter)),
        known("tried", limiter.confirmation.as_ref().map(|tried| tried.says.clone())),
        known("not tried", limiter.confirmation_unavailable.clone()),
        detail("most used", limiter.utilisations.iter().map(used).collect(), ", "),
        detail("not looked for", limiter.unchecked.clone(), "; "),
    ];
    facts.into_iter().flatten().collect()
}

fn predicted(limiter: &Limiter) -> Option<String> {
    match (&limiter.prediction, &limiter.next) {
        (Some(prediction), Some(after)) if gains_little(limiter, prediction) => Some(format!(
            "{} alone would gain next to nothing: the next limit is {}, at {}; change both",
            prediction.change,
            after.name,
            rate(after.ceiling_per_s)
        )),
        (Some(prediction), Some(after)) => Some(format!("{}; {}", expected(prediction), next(after))),
        (Some(prediction), None) => Some(expected(prediction)),
        // No change of it is known, so that there is nothing that it would come after.
        (None, Some(NextLimiter { name, ceiling_per_s })) => {
            Some(format!("without this limit at most {}, the limit of {name}", rate(*ceiling_per_s)))
        }
        (None, None) => None,
    }
}

/// Name, confidence and evidence. What names no limit has no confidence.
fn headline(limiter: &Limiter) -> String {
    let sure = match limiter.confidence {
        _ if limiter.resource.is_empty() => String::new(),
        Confidence::Confirmed => " (confirmed)".to_owned(),
        confidence => format!(" ({} confidence)", confidence.word()),
    };
    format!("{}{sure}: {}", limiter.name, limiter.says)
}

fn expected(prediction: &Prediction) -> String {
    let setting = prediction.setting.as_ref().map_or_else(String::new, |setting| format!(" ({setting})"));
    let range = prediction.low_per_s.zip(prediction.high_per_s);
    let range = range.map_or_else(String::new, |(low, high)| format!(" ({} to {})", rate(low), rate(high)));
    format!("{}{setting}: {} expected{range}", prediction.change, rate(prediction.expected_per_s))
}

/// True where a change would raise the limit by less than can be told from noise.
fn gains_little(limiter: &Limiter, prediction: &Prediction) -> bool {
    limiter.ceiling_per_s.is_some_and(|now_per_s| prediction.expected_per_s < GAIN_MIN * now_per_s)
}

fn next(next: &NextLimiter) -> String {
    // What a request costs falls as the load grows: a limit that is far from full is higher than it seems.
    format!("then the next limit is {}, at {} or more", next.name, rate(next.ceiling_per_s))
}

/// A resource in use: its name, its share, and the rate at which all of it is.
fn used(used: &Utilisation) -> String {
    let ceiling = used.ceiling_per_s.map_or_else(String::new, |per_s| format!(" (all of it at {})", rate(per_s)));
    format!("{} {}{ceiling}", used.resource, percent(used.share.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_limiter_stands_behind_a_change_or_says_what_it_comes_after() {
        let next = NextLimiter { name: "server CPUs".to_owned(), ceiling_per_s: 186.0 };
        let mut limiter = Limiter { next: Some(next), ..Limiter::default() };
        let predicted = |limiter: &Limiter| facts(Some(limiter)).swap_remove(1).text;
        assert_eq!(predicted(&limiter), "without this limit at most 186/s, the limit of server CPUs");
        let change = "8 workers instead of 4".to_owned();
        let (low_per_s, high_per_s) = (None, None);
        let mut prediction =
            Prediction { change, setting: None, from: None, to: None, expected_per_s: 180.0, low_per_s, high_per_s };
        limiter.prediction = Some(prediction.clone());
        assert_eq!(
            predicted(&limiter),
            "8 workers instead of 4: 180/s expected; then the next limit is server CPUs, at 186/s or more"
        );
        (prediction.low_per_s, prediction.high_per_s) = (Some(144.0), Some(216.0));
        limiter.prediction = Some(prediction);
        assert!(predicted(&limiter).starts_with("8 workers instead of 4: 180/s expected (144/s to 216/s); then"));
    }
}
