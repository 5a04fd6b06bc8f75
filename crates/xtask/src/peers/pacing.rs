//! Pacing: how evenly an open loop sends, judged by arrivals that the server stamps.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::client::plimsoll_record;
use super::figures::standard_deviation;
use super::lab::Lab;
use super::server::Server;

/// Requests per second asked for.
pub(super) const RATE_PER_S: u32 = 10_000;
const MS_PER_S: u64 = 1000;

/// What the open loop did.
pub(super) struct Pacing {
    /// Requests sent ÷ requests planned.
    pub(super) sent_of_planned: f64,
    /// 99th percentile of the generator's own lateness, in µs.
    pub(super) slip_client_p99_us: f64,
    /// Standard deviation of arrivals per ms at the server. Poisson arrivals at this rate would give 3.2.
    pub(super) sd_per_ms: f64,
    /// Most arrivals in one ms.
    pub(super) burst_max: u64,
    /// Milliseconds that were judged: full seconds, without the first and the last.
    pub(super) judged_ms: usize,
    /// Cores the generator used.
    pub(super) client_cores: f64,
}

/// Constant-rate arrivals against the built-in target.
pub(super) fn measure(lab: &Lab, seconds: u32) -> Result<Pacing> {
    eprintln!("pacing at {RATE_PER_S} requests/s: {seconds} s");
    let log = lab.file("pacing-target.log");
    let server = Server::target(lab, &[], &log)?;
    let options = format!("-R {RATE_PER_S} -c 256 -t 1 --arrivals constant");
    let (record, cost) = plimsoll_record(lab, "pacing-plimsoll", &server.url, seconds, &options)?;
    // The target completes its log when it stops.
    drop(server);
    let counts = interior(&read_log(&std::fs::read_to_string(&log).context("reading the target's log")?)?);
    if counts.is_empty() {
        bail!("the target's log holds no full second between the first and the last");
    }
    let number = |path: &str| record.pointer(path).and_then(Value::as_f64).with_context(|| format!("no {path}"));
    Ok(Pacing {
        sent_of_planned: number("/requests/sent")? / number("/requests/planned")?,
        slip_client_p99_us: number("/latency_ns/slip_client/p99")? / 1e3,
        sd_per_ms: standard_deviation(&counts),
        burst_max: counts.iter().copied().max().unwrap_or(0),
        judged_ms: counts.len(),
        client_cores: cost.cpu_s / f64::from(seconds),
    })
}

/// Arrivals by millisecond, from lines `{"arrivals_from_ns": T, "per_ms": [n, n, ...]}`; other lines are skipped.
fn read_log(text: &str) -> Result<BTreeMap<u64, u64>> {
    let mut arrivals = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("not JSON: `{line}`"))?;
        let (Some(from_ns), Some(counts)) = (line["arrivals_from_ns"].as_u64(), line["per_ms"].as_array()) else {
            continue;
        };
        for (ms, count) in (from_ns / 1_000_000..).zip(counts) {
            *arrivals.entry(ms).or_insert(0) += count.as_u64().context("a count in per_ms is not a number")?;
        }
    }
    Ok(arrivals)
}

/// Counts of the full seconds between the first and the last second with arrivals; a ms that was not logged had none.
fn interior(arrivals: &BTreeMap<u64, u64>) -> Vec<u64> {
    let busy: Vec<u64> = arrivals.iter().filter(|&(_, &count)| count > 0).map(|(&ms, _)| ms).collect();
    let (Some(first), Some(last)) = (busy.first(), busy.last()) else { return Vec::new() };
    let from = first + MS_PER_S;
    let full_seconds = (last + 1).saturating_sub(from) / MS_PER_S;
    let to = from + full_seconds.saturating_sub(1) * MS_PER_S;
    (from..to).map(|ms| arrivals.get(&ms).copied().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::{interior, read_log};

    #[test]
    fn lines_of_the_log_join_into_one_timeline() {
        let log = "{\"note\":1}\n{\"arrivals_from_ns\":2000000,\"per_ms\":[1,2]}\n\
                   {\"arrivals_from_ns\":4000000,\"per_ms\":[3]}\n";
        let arrivals: Vec<(u64, u64)> = read_log(log).unwrap().into_iter().collect();
        assert_eq!(arrivals, [(2, 1), (3, 2), (4, 3)]);
        assert!(read_log("no json\n").is_err());
    }

    #[test]
    fn only_full_interior_seconds_count() {
        // Arrivals from 500 ms to 4,300 ms: the judged seconds start at 1,500 ms and the last one is left out.
        let arrivals = (500..4300).filter(|ms| ms % 2 == 0).map(|ms| (ms, 7)).collect();
        let counts = interior(&arrivals);
        assert_eq!(counts.len(), 1000);
        assert_eq!(counts[..4], [7, 0, 7, 0]);
        assert_eq!(interior(&(0..1500).map(|ms| (ms, 1)).collect()), [0_u64; 0]);
        assert_eq!(interior(&std::collections::BTreeMap::new()), [0_u64; 0]);
    }
}
