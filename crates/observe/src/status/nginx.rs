//! `stub_status` of nginx.

use super::status;
use model::ServerStatus;

pub(super) fn read(text: &str) -> Option<ServerStatus> {
    let mut lines = text.lines();
    let active = lines.next()?.strip_prefix("Active connections:")?.trim().parse().ok()?;
    lines.next()?.contains("accepts handled requests").then_some(())?;
    let counts: Vec<f64> = lines.next()?.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [accepted, handled, requests] = counts[..] else { return None };
    let words: Vec<&str> = lines.next()?.split_whitespace().collect();
    let after = |name: &str| words.get(words.iter().position(|word| *word == name)? + 1)?.parse().ok();
    let figures = vec![
        ("connections_active", active),
        ("accepted", accepted),
        ("handled", handled),
        ("requests", requests),
        ("reading", after("Reading:")?),
        ("writing", after("Writing:")?),
        ("waiting", after("Waiting:")?),
    ];
    status("nginx", figures)
}
