//! Latency truth: what each tool reports when the whole server stands still for 200 ms in every second.

use anyhow::{Context, Result};

use super::RUN_OVERHEAD_S;
use super::client::{outcome_of, run};
use super::lab::Lab;
use super::readers::{Quantiles, read};
use super::server::Server;
use super::tools::{Stalled, Tool};
use crate::progress::Progress;

/// Arrivals spread evenly over the second: a fifth of them meet the stall and wait for what is left of it, uniformly
/// 0 to 200 ms. So the q-quantile is 200 ms × (q − 0.8) / 0.2 above 0.8, and nothing below.
pub(super) const ARITHMETIC: Quantiles =
    Quantiles { p50: Some(0.0), p90: Some(100.0), p99: Some(190.0), max: Some(200.0) };

/// From one stall to the next.
const STALL_PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

/// What a tool said under the stall.
pub(super) struct Said {
    pub(super) tool: Tool,
    /// The load, in words.
    pub(super) how: &'static str,
    /// Its figures, or why there are none.
    pub(super) outcome: Result<Quantiles, String>,
}

/// How long it will take, for the forecast.
pub(super) fn expected_s(seconds: u32) -> f64 {
    Stalled::all("", seconds).len() as f64 * (f64::from(seconds) + RUN_OVERHEAD_S)
}

/// Each tool in turn, in the load that serves the truth best.
pub(super) fn measure(lab: &Lab, seconds: u32, progress: &mut Progress) -> Result<Vec<Said>> {
    let server = Server::target(&["--stall", "200ms/1s"], &lab.file("stall-target.log"))?;
    // The first stall begins one period after the start; a window that began before it would lack a stall.
    std::thread::sleep(STALL_PERIOD);
    let mut said = Vec::new();
    for (index, stalled) in Stalled::all(&server.url, seconds).into_iter().enumerate() {
        let tool = stalled.tool;
        progress.say(&format!("whole-server stall of 200 ms every second: {}", tool.name()));
        let label = format!("stall{}-{}", index + 1, tool.name());
        let finished = run(lab, tool, &label, &stalled.invocation, seconds);
        let quantiles =
            finished.and_then(|finished| read(tool, &finished.stdout).context("its output holds no latencies"));
        said.push(Said { tool, how: stalled.how, outcome: outcome_of(tool, quantiles)? });
        progress.did(f64::from(seconds) + RUN_OVERHEAD_S);
    }
    Ok(said)
}
