//! Goals of plimsoll against what was measured.

use super::figures::ratio;
use super::latency::Said;
use super::pacing::Pacing;
use super::readers::Quantiles;
use super::tables::{CPU, Figure, MEMORY, values};
use super::throughput::Case;
use super::tools::Tool;
use super::{Results, latency};
use crate::markdown::Table;
use stats::median;

/// An upper limit and what was measured.
struct Goal {
    what: &'static str,
    measured: f64,
    limit: f64,
}

/// A row for each goal whose case was measured.
pub(super) fn table(results: &Results) -> Table {
    let mut table = Table::new("goal | at most | measured | ");
    for Goal { what, measured, limit } in reached(results) {
        let word = if measured <= limit { "reached" } else { "**missed**" };
        table.row(&[&what, &limit, &format_args!("{measured:.3}"), &word]);
    }
    table
}

fn reached(results: &Results) -> Vec<Goal> {
    let case = |key: &str| results.cases.iter().find(|case| case.key == key);
    let against = |key: &str, figure: Figure, other| case(key).and_then(|case| plimsoll_to(case, other, figure));
    let memory = |key: &str| Some(median(&values(case(key)?.loads(Tool::Plimsoll)?, MEMORY)));
    let arrivals = results.pacing.iter().find_map(|Pacing { tool, outcome }| match outcome {
        Ok(arrivals) if *tool == Tool::Plimsoll => Some(arrivals),
        _ => None,
    });
    let goals = [
        ("null server, 64 connections: client CPU ÷ wrk", 0.78, against("keep-alive", CPU, Tool::Wrk)),
        ("null server, 64 connections: client CPU ÷ bare loop", 1.12, against("keep-alive", CPU, Tool::BareLoop)),
        ("TLS 1.3: client CPU ÷ wrk", 1.0, against("tls", CPU, Tool::Wrk)),
        ("connection per request: client CPU ÷ wrk", 0.95, against("close", CPU, Tool::Wrk)),
        ("64 connections: peak memory ÷ wrk", 2.0, against("keep-alive", MEMORY, Tool::Wrk)),
        ("1,024 connections: peak memory, MiB", 11.0, memory("many")),
        ("stall: error of p90, p99 and max", 0.02, stall_error(&results.stall)),
        ("open loop: error of the rate", 0.001, arrivals.map(|arrivals| (arrivals.of_asked - 1.0).abs())),
        ("open loop: standard deviation of arrivals per ms", 2.0, arrivals.map(|arrivals| arrivals.sd_per_ms)),
    ];
    let known = |(what, limit, measured): (_, _, Option<f64>)| Some(Goal { what, limit, measured: measured? });
    goals.into_iter().filter_map(known).collect()
}

/// Median of the rounds' ratios.
fn plimsoll_to(case: &Case, other: Tool, figure: Figure) -> Option<f64> {
    let ours = values(case.loads(Tool::Plimsoll)?, figure);
    Some(ratio(&ours, &values(case.loads(other)?, figure)).median)
}

/// Largest relative error of plimsoll's quantiles that have a truth other than 0.
fn stall_error(said: &[Said]) -> Option<f64> {
    let ours = said.iter().find(|said| said.tool == Tool::Plimsoll)?.outcome.as_ref().ok()?;
    let large = |quantiles: &Quantiles| [quantiles.p90, quantiles.p99, quantiles.max];
    let pairs = large(ours).into_iter().zip(large(&latency::ARITHMETIC));
    pairs
        .map(|(ours, truth)| Some((ours? / truth? - 1.0).abs()))
        .try_fold(0.0, |most, error| Some(f64::max(most, error?)))
}

#[cfg(test)]
mod tests {
    use super::super::Results;
    use super::super::latency::Said;
    use super::super::readers::Quantiles;
    use super::super::tables::tests::sample;
    use super::super::tools::Tool;
    use super::table;

    #[test]
    fn goals_are_reached_or_missed_by_arithmetic() {
        let results = Results { cases: vec![sample("keep-alive"), sample("tls")], ..Results::default() };
        let table = table(&results).to_string();
        assert!(
            table.contains("| null server, 64 connections: client CPU ÷ wrk | 0.78 | 0.750 | reached |"),
            "{table}"
        );
        assert!(table.contains("client CPU ÷ bare loop | 1.12 | 1.500 | **missed** |"), "{table}");
        assert!(table.contains("| TLS 1.3: client CPU ÷ wrk | 1 | 0.750 | reached |"), "{table}");
        assert!(!table.contains("stall"), "what was not measured is neither: {table}");
    }

    #[test]
    fn the_largest_error_under_the_stall_counts() {
        let quantiles = Quantiles { p50: Some(0.1), p90: Some(101.0), p99: Some(171.0), max: Some(200.0) };
        let said = Said { tool: Tool::Plimsoll, how: "", outcome: Ok(quantiles) };
        let table = table(&Results { stall: vec![said], ..Results::default() }).to_string();
        assert!(table.contains("| stall: error of p90, p99 and max | 0.02 | 0.100 | **missed** |"), "{table}");
    }
}
