//! Goals as they are written: `p99<100ms,errors<0.1%`.

use super::{Condition, Quantity, Side};
use model::{ByteSize, Duration, Quantile, meant};

/// Conditions of every goal, unless it names the quantity itself: errors as in rule ER-01, send rate as in Nighthawk.
const DEFAULTS: [&str; 2] = ["errors<0.1%", "send-rate>99%"];
/// Begin of the names of quantiles of the time to the first byte.
pub(crate) const FIRST_BYTE: &str = "ttfb-";
/// Names besides those of quantiles of the response time, each with a condition as an example.
const NAMES: [(&str, &str); 8] = [
    ("ttfb-p95", "ttfb-p95<200ms"),
    ("mean", "mean<20ms"),
    ("max", "max<1s"),
    ("errors", "errors<0.1%"),
    ("send-rate", "send-rate>99%"),
    ("slo", "slo>=99%"),
    ("cpu", "cpu<80%"),
    ("rss", "rss<512MiB"),
];
/// Quantiles that a slip is compared with.
const QUANTILES: [&str; 5] = ["p50", "p90", "p95", "p99", "p99.9"];

/// The conditions of `text`, and those of every goal.
pub(super) fn conditions(text: Option<&str>) -> Result<Vec<Condition>, String> {
    let mut all: Vec<Condition> = match text {
        Some(text) => text.split(',').map(condition).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    contradiction(&all)?;
    for default in DEFAULTS {
        let default = condition(default)?;
        if all.iter().all(|condition| kind(condition.quantity) != kind(default.quantity)) {
            all.push(default);
        }
    }
    Ok(all)
}

fn condition(text: &str) -> Result<Condition, String> {
    let text: String = text.split_whitespace().collect();
    let at = text.find(['<', '>']).ok_or_else(|| format!("{text:?} has no < or >; write for example p99<100ms"))?;
    let (name, rest) = text.split_at(at);
    let (side, limit_text) = side(rest);
    let (quantity, limit) = limit(name, limit_text).map_err(|why| format!("{text:?}: {why}"))?;
    let condition = Condition { quantity, side, limit, text: text.clone() };
    match impossible(&condition, name, limit_text) {
        Some(why) => Err(format!("{text:?}: {why}")),
        None => Ok(condition),
    }
}

/// Side and what comes after it, of a text that begins with one.
pub(crate) fn side(text: &str) -> (Side, &str) {
    let sides = [("<=", Side::AtMost), (">=", Side::AtLeast), ("<", Side::Below), (">", Side::Above)];
    let found = sides.iter().find_map(|(sign, side)| text.strip_prefix(*sign).map(|rest| (*side, rest)));
    found.unwrap_or((Side::Below, text))
}

/// Quantity by its name, and its limit.
pub(crate) fn limit(name: &str, text: &str) -> Result<(Quantity, f64), String> {
    let share = || part(text, example(name));
    match name {
        "errors" => Ok((Quantity::Errors, share()?)),
        "send-rate" => Ok((Quantity::SendRate, share()?)),
        "slo" => Ok((Quantity::Slo, share()?)),
        "cpu" if text.ends_with('%') => Ok((Quantity::CpuShare, share()?)),
        "cpu" => {
            let cpus = number(text).ok_or("it is a share, such as cpu<80%, or a number of CPUs, such as cpu<1.5")?;
            Ok((Quantity::Cpus, cpus))
        }
        "rss" => {
            let bytes: ByteSize = text.parse().map_err(|error: model::ParseUnitError| error.to_string())?;
            Ok((Quantity::Rss, bytes.0 as f64))
        }
        name => {
            let quantity = match name {
                "mean" => Quantity::Mean,
                "max" => Quantity::Max,
                name => match name.strip_prefix(FIRST_BYTE) {
                    Some(quantile) => Quantity::FirstByte(quantile.parse().map_err(|_| unknown(name))?),
                    None => Quantity::Quantile(name.parse().map_err(|_| unknown(name))?),
                },
            };
            Ok((quantity, time_ns(text)?))
        }
    }
}

/// A time with its unit: taken for seconds, a bare number of milliseconds would be met by every load.
pub(crate) fn time_ns(text: &str) -> Result<f64, String> {
    Duration::with_unit(text).map(|time| time.ns as f64)
}

/// What is wrong with a condition by itself, which no load can meet, or which bounds a quantity from the wrong side.
fn impossible(condition: &Condition, name: &str, limit: &str) -> Option<String> {
    let is_upper = matches!(condition.side, Side::Below | Side::AtMost);
    let is_better_high = matches!(condition.quantity, Quantity::SendRate | Quantity::Slo);
    if is_upper == is_better_high {
        let (from, sign) = if is_better_high { ("below", '>') } else { ("above", '<') };
        return Some(format!("a goal bounds {name} from {from}; write {name}{sign}{limit}"));
    }
    let is_nothing = match condition.side {
        Side::Below => condition.limit <= 0.0,
        Side::AtMost => condition.limit <= 0.0 && condition.quantity != Quantity::Errors,
        Side::Above => condition.limit >= 1.0,
        Side::AtLeast => false,
    };
    is_nothing.then(|| format!("no load can meet it; write for example {}", example(name)))
}

/// Fails on conditions of which one says again, or against, what another says.
fn contradiction(all: &[Condition]) -> Result<(), String> {
    for (i, one) in all.iter().enumerate() {
        for other in &all[i + 1..] {
            if kind(one.quantity) == kind(other.quantity) {
                return Err(format!("{one} and {other} are about the same quantity; keep one of them"));
            }
            let Some((of_one, of_other)) = ranks(one.quantity, other.quantity) else { continue };
            let (lower, upper) = if of_one < of_other { (one, other) } else { (other, one) };
            if lower.limit > upper.limit {
                return Err(format!(
                    "{lower} says nothing beside {upper}, which asks for more; swap the limits, or leave {lower} out"
                ));
            }
        }
    }
    Ok(())
}

/// The quantity with one of all its units.
const fn kind(quantity: Quantity) -> Quantity {
    match quantity {
        Quantity::CpuShare => Quantity::Cpus,
        other => other,
    }
}

/// Places of two quantiles of the same latency among all; none of what are no such two.
const fn ranks(one: Quantity, other: Quantity) -> Option<(Quantile, Quantile)> {
    const fn of_response(quantity: Quantity) -> Option<Quantile> {
        match quantity {
            Quantity::Quantile(quantile) => Some(quantile),
            Quantity::Max => Some(Quantile::MAX),
            _ => None,
        }
    }
    match (one, other) {
        (Quantity::FirstByte(one), Quantity::FirstByte(other)) => Some((one, other)),
        _ => match (of_response(one), of_response(other)) {
            (Some(one), Some(other)) => Some((one, other)),
            _ => None,
        },
    }
}

fn unknown(name: &str) -> String {
    let known = NAMES.iter().map(|(known, _)| *known).chain(QUANTILES);
    let meant = question(name, known);
    let names: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
    format!("no such quantity{meant}; there are quantiles such as p50, p95, p99.9, and {}", names.join(", "))
}

/// A question about the known name that `name` is taken for a slip of; nothing where it is like none.
pub(crate) fn question<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    meant(name, known).map_or_else(String::new, |known| format!(" (did you mean {known}?)"))
}

/// A condition with this quantity.
fn example(name: &str) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == name).map_or("p99<100ms", |(_, example)| example)
}

/// Share that a number of percent is; none without the sign.
pub(crate) fn share(text: &str) -> Option<f64> {
    number(text.strip_suffix('%')?).map(|percent| percent / 100.0)
}

/// Share of a whole, such as a figure has whose condition is `example`.
pub(crate) fn part(text: &str, example: &str) -> Result<f64, String> {
    let share = share(text).ok_or_else(|| format!("a share is written in percent, such as {example}"))?;
    if share <= 1.0 { Ok(share) } else { Err("a share is at most 100%".to_owned()) }
}

/// A change that is written with its sign: `-3%`, `+10%`.
pub(crate) fn change(text: &str) -> Option<f64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1.0, rest),
        ("-", rest) => (-1.0, rest),
        _ => return None,
    };
    share(rest).map(|share| sign * share)
}

/// A plain number that is not negative.
pub(crate) fn number(text: &str) -> Option<f64> {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Goal;

    #[track_caller]
    fn refused(text: &str) -> String {
        let error = Goal::parse(Some(text)).expect_err(text);
        assert!(!error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn conditions_are_read_with_their_units_and_the_usual_ones_are_added() {
        let goal = Goal::parse(Some(" p99 < 100 ms , errors<=1%,cpu<1.5")).unwrap();
        assert_eq!(goal.to_string(), "p99<100ms,errors<=1%,cpu<1.5,send-rate>99%");
        let read: Vec<_> = goal.conditions().iter().map(|one| (one.quantity, one.side, one.limit)).collect();
        let p99 = Quantity::Quantile(Quantile::P99);
        assert_eq!(
            read,
            [
                (p99, Side::Below, 100e6),
                (Quantity::Errors, Side::AtMost, 0.01),
                (Quantity::Cpus, Side::Below, 1.5),
                (Quantity::SendRate, Side::Above, 0.99),
            ]
        );
        assert_eq!(Goal::parse(Some(&goal.to_string())), Ok(goal), "its own text is the same goal");
        assert_eq!(Goal::parse(None).unwrap().to_string(), "errors<0.1%,send-rate>99%");
        let limits = Goal::parse(Some("rss<64MiB,max<=2s,cpu<80%,p99.9<1s,send-rate>=100%,errors<=0%")).unwrap();
        let limits: Vec<f64> = limits.conditions().iter().map(|one| one.limit).collect();
        assert_eq!(limits, [67_108_864.0, 2e9, 0.8, 1e9, 1.0, 0.0]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_in_a_line_that_says_what_to_write() {
        for (text, said) in [
            ("", "has no < or >; write for example p99<100ms"),
            ("p99", "has no < or >"),
            ("p99=100ms", "has no < or >"),
            ("ttfb<200ms", "p99.9, and ttfb-p95"),
            ("ttfb-p95>200ms", "bounds ttfb-p95 from above; write ttfb-p95<200ms"),
            ("p99<fast", "write for example 500ms"),
            ("p99<", "write for example 500ms"),
            ("errors<0.1", "in percent, such as errors<0.1%"),
            ("errors<x%", "in percent"),
            ("errors<-1%", "in percent"),
            ("cpu<much", "such as cpu<80%"),
            ("rss<lots", "write for example 100, 64KiB"),
            ("p99>100ms", "bounds p99 from above; write p99<100ms"),
            ("send-rate<99%", "bounds send-rate from below; write send-rate>99%"),
            ("errors<0%", "no load can meet it; write for example errors<0.1%"),
            ("p99<=0ms", "no load can meet it; write for example p99<100ms"),
            ("send-rate>100%", "no load can meet it"),
            ("cpu<120%", "at most 100%"),
            ("p99<100ms,,errors<1%", "has no < or >"),
        ] {
            let error = refused(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_slip_is_told_what_was_meant_and_other_names_what_there_is() {
        for (text, meant) in
            [("erors<1%", "errors"), ("sendrate>99%", "send-rate"), ("P99<1s", "p99"), ("RSS<1GiB", "rss")]
        {
            assert!(refused(text).contains(&format!("did you mean {meant}?")), "{text}: {}", refused(text));
        }
        for text in ["latency<1s", "goodput<5", "p100<1s", "<5ms"] {
            let error = refused(text);
            assert!(
                error.contains("there are quantiles such as p50, p95, p99.9, and ttfb-p95, mean, max, errors"),
                "{error}"
            );
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for text in ["p99<100ms,p99<50ms", "cpu<80%,cpu<1.5", "errors<1%,errors<0.1%"] {
            assert!(refused(text).contains("are about the same quantity"), "{text}");
        }
        assert!(refused("ttfb-p50<100ms,ttfb-p99<50ms").starts_with("ttfb-p50<100ms says nothing"));
        assert!(Goal::parse(Some("p50<50ms,ttfb-p99<60ms")).is_ok(), "they are different latencies");
        for text in ["p50<100ms,p99<50ms", "p99<50ms,p50<100ms"] {
            assert!(refused(text).starts_with("p50<100ms says nothing beside p99<50ms"), "{}", refused(text));
        }
        assert!(refused("max<1s,p99<2s").starts_with("p99<2s says nothing beside max<1s"));
        assert!(Goal::parse(Some("p50<50ms,p99<50ms,mean<1s")).is_ok(), "a mean may be above a median");
    }
}
