//! Readers of the latencies that each tool prints.

use audit::{Context, Figure};
use serde_json::Value;

use super::tools::Tool;

/// Response times as printed, in ms; none where the tool prints no such figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Quantiles {
    pub(super) p50: Option<f64>,
    pub(super) p90: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) max: Option<f64>,
}

/// The quantiles in what `tool` printed; none when there are none at all.
pub(super) fn read(tool: Tool, text: &str) -> Option<Quantiles> {
    let found = match tool {
        Tool::Plimsoll => json(text),
        Tool::Httperf => {
            let times = |index| after(text, "Connection time [ms]: min ", index);
            Quantiles { p50: times(6), max: times(4), ..Quantiles::default() }
        }
        Tool::Rewrk => {
            let row = text.lines().skip_while(|line| !line.trim().starts_with("Avg ")).nth(1).unwrap_or_default();
            let max = row.split_whitespace().nth(3).and_then(milliseconds);
            Quantiles { p50: percent(text, "50%"), p90: percent(text, "90%"), p99: percent(text, "99%"), max }
        }
        Tool::BareLoop => Quantiles::default(),
        _ => claimed(text).unwrap_or_default(),
    };
    (found != Quantiles::default()).then_some(found)
}

/// Of the tools that `plimsoll audit` reads.
fn claimed(text: &str) -> Option<Quantiles> {
    let claims = audit::audit("", text.as_bytes(), &Context::default()).ok()?.claims;
    let ms = |figure| claims.get(figure).map(|ns| ns / 1e6);
    let [p50, p90, p99] = [Figure::LatencyP50, Figure::LatencyP90, Figure::LatencyP99].map(ms);
    Some(Quantiles { p50, p90, p99, max: ms(Figure::LatencyMax) })
}

fn json(text: &str) -> Quantiles {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Quantiles::default() };
    let ms = |name: &str| value["latency_ns"]["response"][name].as_f64().map(|ns| ns / 1e6);
    Quantiles { p50: ms("p50"), p90: ms("p90"), p99: ms("p99"), max: ms("max") }
}

/// Lines `|  50%  |  1.36ms  |`.
fn percent(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let mut words = line.split([' ', '|']).filter(|word| !word.is_empty());
        (words.next()? == name).then(|| milliseconds(words.next()?)).flatten()
    })
}

/// The word number `index` behind `label`.
fn after(text: &str, label: &str, index: usize) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    milliseconds(rest.split_whitespace().nth(index)?)
}

/// A number with its unit; without one it is in ms already.
fn milliseconds(word: &str) -> Option<f64> {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = word[..word.len() - unit.len()].parse().ok()?;
    match unit {
        "us" => Some(value / 1e3),
        "" | "ms" => Some(value),
        "s" => Some(value * 1e3),
        "m" => Some(value * 6e4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tools::Tool;
    use super::{Quantiles, milliseconds, read};

    fn quantiles(p50: f64, p90: f64, p99: f64, max: f64) -> Option<Quantiles> {
        Some(Quantiles { p50: Some(p50), p90: Some(p90), p99: Some(p99), max: Some(max) })
    }

    #[test]
    fn what_a_tool_prints_is_read_and_nothing_else() {
        let only_max = |ms| Some(Quantiles { max: Some(ms), ..Quantiles::default() });
        // Of connections.
        let of_httperf = Some(Quantiles { p50: Some(14.5), max: Some(481.5), ..Quantiles::default() });
        for (tool, text, expected) in [
            (Tool::Wrk, include_str!("captured/wrk.txt"), quantiles(3.3, 71.81, 193.86, 207.44)),
            (Tool::Wrk, "unable to connect to 127.0.0.1:1 Connection refused\n", None),
            (Tool::Ab, include_str!("captured/ab.txt"), quantiles(0.0, 8.0, 24.0, 208.0)),
            (Tool::Hey, include_str!("captured/hey.txt"), quantiles(1.5, 5.8, 187.4, 193.8)),
            (Tool::H2load, include_str!("captured/h2load.txt"), only_max(192.5)),
            (Tool::Httperf, include_str!("captured/httperf.txt"), of_httperf),
            (Tool::Siege, include_str!("captured/siege.json"), only_max(240.0)),
            (Tool::Rewrk, include_str!("captured/rewrk.txt"), quantiles(6.59, 16.48, 83.68, 204.41)),
            (
                Tool::Plimsoll,
                r#"{"latency_ns":{"response":{"p50":100000,"p90":100000000,"p99":190000000,"max":200000000}}}"#,
                quantiles(0.1, 100.0, 190.0, 200.0),
            ),
            (Tool::Plimsoll, "{}", None),
        ] {
            assert_eq!(read(tool, text), expected, "{}", tool.name());
        }
    }

    #[test]
    fn oha() {
        let found = read(Tool::Oha, include_str!("captured/oha.json")).unwrap();
        let rounded = [found.p50, found.p90, found.p99, found.max].map(|ms| (ms.unwrap() * 100.0).round() / 100.0);
        assert_eq!(rounded, [0.1, 2.28, 191.43, 202.93]);
    }

    #[test]
    fn units() {
        assert_eq!(milliseconds("1.00m"), Some(60_000.0));
        assert_eq!(milliseconds("250us"), Some(0.25));
        assert_eq!(milliseconds("-nan%"), None);
    }
}
