//! Pacing: how evenly an open loop sends, judged by arrivals that the server stamps.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::RUN_OVERHEAD_S;
use super::client::{outcome_of, run};
use super::figures::standard_deviation;
use super::lab::Lab;
use super::server::Server;
use super::tools::{RATE_PER_S, Tool};
use crate::progress::Progress;

const MS_PER_S: usize = 1000;

/// How evenly a tool sent.
pub(super) struct Pacing {
    pub(super) tool: Tool,
    /// Its arrivals, or why there are none.
    pub(super) outcome: Result<Arrivals, String>,
}

/// Arrivals at the server over full seconds, without the first and the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrivals {
    /// Arrivals ÷ what was asked for in the same time.
    pub(super) of_asked: f64,
    /// Standard deviation of arrivals per ms. Poisson arrivals at this rate would give 3.2.
    pub(super) sd_per_ms: f64,
    /// Most arrivals in one ms.
    pub(super) burst_max: u64,
    /// Longest run of ms without an arrival.
    pub(super) gap_max_ms: usize,
    /// Milliseconds that were judged.
    pub(super) judged_ms: usize,
    /// Cores that the tool used.
    pub(super) client_cores: f64,
}

/// How long it will take, for the forecast.
pub(super) fn expected_s(seconds: u32) -> f64 {
    let tools = Tool::ALL.iter().filter(|tool| tool.paced("", seconds).is_some()).count();
    tools as f64 * (f64::from(seconds) + RUN_OVERHEAD_S)
}

/// Every tool that has a rate against the built-in target, a fresh one each.
pub(super) fn measure(lab: &Lab, seconds: u32, progress: &mut Progress) -> Result<Vec<Pacing>> {
    let mut pacings = Vec::new();
    for tool in Tool::ALL {
        if tool.paced("", seconds).is_none() {
            continue;
        }
        progress.say(&format!("pacing at {RATE_PER_S} requests/s: {}", tool.name()));
        pacings.push(Pacing { tool, outcome: outcome_of(tool, arrivals(lab, tool, seconds))? });
        progress.did(f64::from(seconds) + RUN_OVERHEAD_S);
    }
    Ok(pacings)
}

fn arrivals(lab: &Lab, tool: Tool, seconds: u32) -> Result<Arrivals> {
    let label = format!("pacing-{}", tool.name());
    let log = lab.file(&format!("{label}-target.log"));
    let server = Server::target(&[], &log)?;
    let invocation = tool.paced(&server.url, seconds).context("it has no rate")?;
    let cost = run(lab, tool, &label, &invocation, seconds)?.cost;
    // The target completes its log when it stops.
    drop(server);
    let text = std::fs::read_to_string(&log).context("reading the target's log")?;
    let counts = interior(&read_log(&text)?);
    if counts.is_empty() {
        bail!("it sent for no full second between the first and the last");
    }
    Ok(judge(&counts, cost.cpu_s / f64::from(seconds)))
}

/// Figures of the counts per ms.
fn judge(counts: &[u64], client_cores: f64) -> Arrivals {
    let asked = counts.len() as f64 * f64::from(RATE_PER_S) / MS_PER_S as f64;
    Arrivals {
        of_asked: counts.iter().sum::<u64>() as f64 / asked,
        sd_per_ms: standard_deviation(counts),
        burst_max: counts.iter().copied().max().unwrap_or(0),
        gap_max_ms: counts.split(|&count| count > 0).map(<[u64]>::len).max().unwrap_or(0),
        judged_ms: counts.len(),
        client_cores,
    }
}

/// Arrivals by millisecond, from lines `{"arrivals_from_ns": T, "per_ms": [n, n, ...]}`; other lines are skipped.
fn read_log(text: &str) -> Result<BTreeMap<u64, u64>> {
    let mut arrivals = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("not JSON: `{line}`"))?;
        if !line["arrivals_lost_from_ns"].is_null() {
            bail!("the target's log lost arrivals: {line}");
        }
        let (Some(from_ns), Some(counts)) = (line["arrivals_from_ns"].as_u64(), line["per_ms"].as_array()) else {
            continue;
        };
        for (ms, count) in (from_ns / 1_000_000..).zip(counts) {
            *arrivals.entry(ms).or_insert(0) += count.as_u64().context("a count in per_ms is not a number")?;
        }
    }
    Ok(arrivals)
}

/// Counts of the full seconds inside the run; a ms that was not logged had none.
///
/// The run begins and ends where the second after or before holds half the planned arrivals, so that a probe sent
/// ahead of it does not count as its first second. One second at each end is left out.
fn interior(arrivals: &BTreeMap<u64, u64>) -> Vec<u64> {
    let (Some((&first, _)), Some((&last, _))) = (arrivals.first_key_value(), arrivals.last_key_value()) else {
        return Vec::new();
    };
    let counts: Vec<u64> = (first..=last).map(|ms| arrivals.get(&ms).copied().unwrap_or(0)).collect();
    let is_busy = |second: &[u64]| second.iter().sum::<u64>() >= u64::from(RATE_PER_S) / 2;
    let mut seconds = counts.windows(MS_PER_S);
    let Some(from) = seconds.position(is_busy) else { return Vec::new() };
    let to = from + 1 + seconds.rposition(is_busy).unwrap_or(0);
    // The first second is from..from + 1000, the last is to..to + 1000: what lies between is judged.
    let judged = counts.get(from + MS_PER_S..to).unwrap_or_default();
    judged[..judged.len() / MS_PER_S * MS_PER_S].to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{interior, judge, read_log};

    #[test]
    fn arrivals_are_judged_by_arithmetic() {
        let arrivals = judge(&[10, 10, 0, 0, 0, 30, 10, 0, 20, 10], 0.5);
        assert!((arrivals.of_asked - 0.9).abs() < 1e-12);
        assert_eq!((arrivals.burst_max, arrivals.gap_max_ms, arrivals.judged_ms), (30, 3, 10));
        assert!((arrivals.sd_per_ms - 89_f64.sqrt()).abs() < 1e-9);
    }

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
        // A probe at 0 ms; the run from 3,000 to 6,500 ms, 20 requests every other ms. Half a second's arrivals are
        // in sight from 2,501 ms on and until 6,998 ms at most, so 3,501 ms is judged and whole seconds follow.
        let run = (3000..6500).filter(|ms| ms % 2 == 0).map(|ms| (ms, 20));
        let counts = interior(&run.chain([(0, 1), (9000, 0)]).collect());
        assert_eq!(counts.len(), 2000);
        assert_eq!(counts[..4], [0, 20, 0, 20]);
    }

    #[test]
    fn a_run_without_an_interior_second_gives_nothing() {
        assert_eq!(interior(&(0..1500).map(|ms| (ms, 10)).collect()), [0_u64; 0]);
        assert_eq!(interior(&(0..5000).map(|ms| (ms, 1)).collect()), [0_u64; 0]);
        assert_eq!(interior(&BTreeMap::new()), [0_u64; 0]);
    }

    #[test]
    fn lost_arrivals_make_the_log_useless() {
        assert!(read_log("{\"arrivals_lost_from_ns\":1,\"until_ns\":2}\n").is_err());
    }
}
