//! Bottleneck in words: for the terminal, the page and Markdown.

use model::human::{percent, rate};
use model::{Confidence, Limiter, NextLimiter, Prediction, Utilisation};

/// Label and text of each line about a limiter.
pub(crate) fn lines(limiter: &Limiter) -> Vec<(&'static str, String)> {
    let mut lines = vec![("limiter", headline(limiter))];
    let bought = limiter.prediction.as_ref().map(bought);
    let next = limiter.next.as_ref().map(next);
    let change: Vec<String> = [bought, next].into_iter().flatten().collect();
    if !change.is_empty() {
        lines.push(("predicted", change.join("; ")));
    }
    if let Some(tried) = &limiter.confirmation {
        lines.push(("tried", tried.says.clone()));
    }
    if let Some(why) = &limiter.confirmation_unavailable {
        lines.push(("not tried", why.clone()));
    }
    lines
}

/// Name, confidence and evidence. What names no limit has no confidence.
fn headline(limiter: &Limiter) -> String {
    let sure = match limiter.confidence {
        _ if limiter.resource.is_empty() => "",
        Confidence::Low => " (low confidence)",
        Confidence::Medium => " (medium confidence)",
        Confidence::High => " (high confidence)",
        Confidence::Confirmed => " (confirmed)",
    };
    format!("{}{sure}: {}", limiter.name, limiter.says)
}

fn bought(prediction: &Prediction) -> String {
    let setting = prediction.setting.as_ref().map_or_else(String::new, |setting| format!(" ({setting})"));
    format!("{}{setting}: {} expected", prediction.change, rate(prediction.expected_per_s))
}

fn next(next: &NextLimiter) -> String {
    format!("next limiter: {} at {}", next.name, rate(next.ceiling_per_s))
}

/// A resource in use: its name, its share, and the rate at which all of it is.
pub(crate) fn used(used: &Utilisation) -> String {
    let ceiling = used.ceiling_per_s.map_or_else(String::new, |per_s| format!(" (all of it at {})", rate(per_s)));
    format!("{} {}{ceiling}", used.resource, percent(used.share.min(1.0)))
}
