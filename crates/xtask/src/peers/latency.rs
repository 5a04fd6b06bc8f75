//! Latency truth: what each tool reports when the whole server stands still for 200 ms in every second.

use anyhow::{Context, Result};
use serde_json::Value;

use super::client::{plimsoll_record, run, words};
use super::lab::Lab;
use super::server::Server;

/// Quantiles of response time, in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantiles {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Arrivals spread evenly over the second: a fifth of them meet the stall and wait for what is left of it, uniformly
/// 0 to 200 ms. So the q-quantile is 200 ms × (q − 0.8) / 0.2 above 0.8, and nothing below.
pub(super) const ARITHMETIC: Quantiles = Quantiles { p50: 0.0, p90: 100.0, p99: 190.0, max: 200.0 };

/// From one stall to the next.
const STALL_PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

/// Both tools' answers and what they printed.
pub(super) struct Stall {
    pub(super) plimsoll: Quantiles,
    pub(super) wrk: Quantiles,
    pub(super) wrk_output: String,
}

/// plimsoll in open loop at 1,000 requests/s, then wrk, which has closed loop only.
pub(super) fn measure(lab: &Lab, seconds: u32) -> Result<Stall> {
    eprintln!("whole-server stall of 200 ms every second: {seconds} s each");
    let server = Server::target(lab, &["--stall", "200ms/1s"], &lab.file("stall-target.log"))?;
    // The first stall begins one period after the start; a window that began before it would lack a stall.
    std::thread::sleep(STALL_PERIOD);
    let options = "-R 1000 -c 256 -t 1 --arrivals constant";
    let (record, _) = plimsoll_record(lab, "stall-plimsoll", &server.url, seconds, options)?;
    let plimsoll = parse_plimsoll(&record).context("no latency_ns.response quantiles in plimsoll's record")?;
    let arguments = words(&format!("-t1 -c64 -d{seconds}s --latency {}", server.url));
    let (wrk_output, _) = run(lab, "stall-wrk", &lab.wrk, &arguments, seconds, &[0])?;
    let wrk = parse_wrk(&wrk_output).with_context(|| format!("cannot read what wrk printed:\n{wrk_output}"))?;
    Ok(Stall { plimsoll, wrk, wrk_output })
}

fn parse_plimsoll(record: &Value) -> Option<Quantiles> {
    let response = &record["latency_ns"]["response"];
    let ms = |name: &str| response[name].as_f64().map(|ns| ns / 1e6);
    Some(Quantiles { p50: ms("p50")?, p90: ms("p90")?, p99: ms("p99")?, max: ms("max")? })
}

/// The `Latency Distribution` lines and the third column of the `Latency` row.
fn parse_wrk(text: &str) -> Option<Quantiles> {
    let quantile = |name: &str| text.lines().find_map(|line| parse_time_ms(line.trim().strip_prefix(name)?.trim()));
    let row = text.lines().find_map(|line| line.trim().strip_prefix("Latency "))?;
    let max = parse_time_ms(row.split_whitespace().nth(2)?)?;
    Some(Quantiles { p50: quantile("50%")?, p90: quantile("90%")?, p99: quantile("99%")?, max })
}

/// wrk's times: a number with the unit `us`, `ms`, `s` or `m`.
fn parse_time_ms(text: &str) -> Option<f64> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = text[..text.len() - unit.len()].parse().ok()?;
    match unit {
        "us" => Some(value / 1e3),
        "ms" => Some(value),
        "s" => Some(value * 1e3),
        "m" => Some(value * 6e4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Quantiles, parse_plimsoll, parse_time_ms, parse_wrk};

    #[test]
    fn wrk_quantiles_are_read() {
        let text = "    Latency     1.99ms    6.45ms   1.20s    94.91%\n  Latency Distribution\n     50%  140.00us\n\
                    \x20    75%    1.36ms\n     90%    3.96ms\n     99%   31.04ms\n";
        assert_eq!(parse_wrk(text), Some(Quantiles { p50: 0.14, p90: 3.96, p99: 31.04, max: 1200.0 }));
        assert_eq!(parse_wrk("    Latency     1.99ms    6.45ms   1.20s    94.91%\n"), None);
    }

    #[test]
    fn units_of_wrk() {
        assert_eq!(parse_time_ms("1.00m"), Some(60_000.0));
        assert_eq!(parse_time_ms("-nan%"), None);
    }

    #[test]
    fn plimsoll_quantiles_are_read() {
        let response = json!({ "p50": 100_000, "p90": 100_000_000, "p99": 190_000_000, "max": 200_000_000 });
        let record = json!({ "latency_ns": { "response": response } });
        assert_eq!(parse_plimsoll(&record), Some(Quantiles { p50: 0.1, p90: 100.0, p99: 190.0, max: 200.0 }));
        assert_eq!(parse_plimsoll(&json!({})), None);
    }
}
