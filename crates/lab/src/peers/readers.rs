//! Readers of the latencies that each tool prints.

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
        Tool::Plimsoll => json(text, "/latency_ns/response", "/latency_ns/response/max", 1e6),
        Tool::Oha => json(text, "/latencyPercentiles", "/summary/slowest", 1e-3),
        Tool::Siege => json(text, "", "/longest_transaction", 1e-3),
        Tool::Wrk => Quantiles { max: after(text, "Latency ", 2), ..percents(text) },
        Tool::Ab => Quantiles { max: percent(text, "100%"), ..percents(text) },
        Tool::Hey => Quantiles { max: after(text, "Slowest:", 0), ..percents(text) },
        Tool::H2load => Quantiles { max: after(text, "time for request:", 1), ..Quantiles::default() },
        Tool::Httperf => {
            let times = |index| after(text, "Connection time [ms]: min ", index);
            Quantiles { p50: times(6), max: times(4), ..Quantiles::default() }
        }
        Tool::Rewrk => {
            let row = text.lines().skip_while(|line| !line.trim().starts_with("Avg ")).nth(1).unwrap_or_default();
            let max = row.split_whitespace().nth(3).and_then(|word| milliseconds(word, None));
            Quantiles { max, ..percents(text) }
        }
        Tool::BareLoop => Quantiles::default(),
    };
    (found != Quantiles::default()).then_some(found)
}

fn json(text: &str, quantiles: &str, max: &str, per_ms: f64) -> Quantiles {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Quantiles::default() };
    let ms = |path: &str| value.pointer(path).and_then(Value::as_f64).map(|number| number / per_ms);
    let quantile = |name: &str| ms(&format!("{quantiles}/{name}"));
    Quantiles { p50: quantile("p50"), p90: quantile("p90"), p99: quantile("p99"), max: ms(max) }
}

fn percents(text: &str) -> Quantiles {
    Quantiles { p50: percent(text, "50%"), p90: percent(text, "90%"), p99: percent(text, "99%"), max: None }
}

/// Lines `  50%    1.36ms`, `  50% in 0.0013 secs`, `  50%      1` and `|  50%  |  1.36ms  |`.
fn percent(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let mut words = line.split([' ', '|']).filter(|word| !word.is_empty() && *word != "in");
        (words.next()? == name).then_some(())?;
        milliseconds(words.next()?, words.next())
    })
}

/// The word number `index` behind `label`, with its unit.
fn after(text: &str, label: &str, index: usize) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    let mut words = rest.split_whitespace().skip(index);
    milliseconds(words.next()?, words.next())
}

/// A number with its unit, which may be the next word; without one it is in ms already.
fn milliseconds(word: &str, next: Option<&str>) -> Option<f64> {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = word[..word.len() - unit.len()].parse().ok()?;
    match unit {
        "us" => Some(value / 1e3),
        "" if next == Some("secs") => Some(value * 1e3),
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
    fn wrk() {
        let text = include_str!("captured/wrk.txt");
        assert_eq!(read(Tool::Wrk, text), quantiles(3.3, 71.81, 193.86, 207.44));
        let refused = "unable to connect to 127.0.0.1:1 Connection refused\n";
        assert_eq!(read(Tool::Wrk, refused), None);
    }

    #[test]
    fn ab() {
        assert_eq!(read(Tool::Ab, include_str!("captured/ab.txt")), quantiles(0.0, 8.0, 24.0, 208.0));
    }

    #[test]
    fn hey() {
        assert_eq!(read(Tool::Hey, include_str!("captured/hey.txt")), quantiles(1.5, 5.8, 187.4, 193.8));
    }

    #[test]
    fn h2load_prints_the_largest_only() {
        let expected = Quantiles { max: Some(192.5), ..Quantiles::default() };
        assert_eq!(read(Tool::H2load, include_str!("captured/h2load.txt")), Some(expected));
    }

    #[test]
    fn httperf_prints_median_and_largest_of_connections() {
        let expected = Quantiles { p50: Some(14.5), max: Some(481.5), ..Quantiles::default() };
        assert_eq!(read(Tool::Httperf, include_str!("captured/httperf.txt")), Some(expected));
    }

    #[test]
    fn siege_prints_the_longest_only() {
        let expected = Quantiles { max: Some(240.0), ..Quantiles::default() };
        assert_eq!(read(Tool::Siege, include_str!("captured/siege.json")), Some(expected));
    }

    #[test]
    fn oha() {
        let found = read(Tool::Oha, include_str!("captured/oha.json")).unwrap();
        let rounded = [found.p50, found.p90, found.p99, found.max].map(|ms| (ms.unwrap() * 100.0).round() / 100.0);
        assert_eq!(rounded, [0.1, 2.28, 191.43, 202.93]);
    }

    #[test]
    fn rewrk() {
        assert_eq!(read(Tool::Rewrk, include_str!("captured/rewrk.txt")), quantiles(6.59, 16.48, 83.68, 204.41));
    }

    #[test]
    fn plimsoll() {
        let text = r#"{"latency_ns":{"response":{"p50":100000,"p90":100000000,"p99":190000000,"max":200000000}}}"#;
        assert_eq!(read(Tool::Plimsoll, text), quantiles(0.1, 100.0, 190.0, 200.0));
        assert_eq!(read(Tool::Plimsoll, "{}"), None);
    }

    #[test]
    fn units() {
        assert_eq!(milliseconds("1.00m", None), Some(60_000.0));
        assert_eq!(milliseconds("250us", None), Some(0.25));
        assert_eq!(milliseconds("-nan%", None), None);
    }
}
