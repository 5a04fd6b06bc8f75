//! The tables of the page: pure functions of what was measured.

use std::fmt::Write;

use super::figures::{median, ratio};
use super::latency::{ARITHMETIC, Said};
use super::pacing::Pacing;
use super::readers::Quantiles;
use super::throughput::{Case, Load, Outcome};
use super::tools::{Mode, Tool};

/// A figure of a load: how it is called, where it comes from, decimals shown.
pub(super) struct Figure {
    name: &'static str,
    pub(super) of: fn(&Load) -> f64,
    decimals: usize,
}

pub(super) const CPU: Figure = Figure { name: "client CPU, µs/request", of: Load::cpu_us_per_request, decimals: 2 };
const RATE: Figure = Figure { name: "requests/s", of: Load::per_s, decimals: 0 };
pub(super) const MEMORY: Figure =
    Figure { name: "peak memory, MiB", of: |load| load.cost.peak_kib as f64 / 1024.0, decimals: 1 };

/// Figures of a tool's loads, in the order of the rounds.
pub(super) fn values(loads: &[Load], figure: &Figure) -> Vec<f64> {
    loads.iter().map(figure.of).collect()
}

/// One case: a row for each tool, what is missing and why, what others used of the machine.
pub(super) fn case(case: &Case) -> String {
    let mut table = String::from("| tool |");
    for figure in [CPU, RATE, MEMORY] {
        let _ = write!(table, " {} | ÷ wrk |", figure.name);
    }
    table.push_str("\n| --- | --- | --- | --- | --- | --- | --- |\n");
    let mut notes = String::new();
    for (tool, outcome) in &case.outcomes {
        match outcome {
            Outcome::Measured(loads) => {
                table.push_str(&case_row(case, *tool, loads));
                notes.push_str(&reconnects(case, *tool, loads));
            }
            Outcome::Missing(reason) => {
                let _ = writeln!(table, "| {} | – | – | – | – | – | – |", tool.name());
                let _ = writeln!(notes, "- {}: {reason}.", tool.name());
            }
        }
    }
    let _ = write!(table, "\n{notes}");
    let most = case.others_cores.iter().copied().fold(0.0, f64::max);
    let _ = writeln!(
        table,
        "- Everything else on the machine used {:.2} cores in the median round, {most:.2} at most.",
        median(&case.others_cores),
    );
    if let (Some(plimsoll), Some(floor)) = (case.loads(Tool::Plimsoll), case.loads(Tool::BareLoop)) {
        let ratio = show_ratio(&values(plimsoll, &CPU), &values(floor, &CPU));
        let _ = writeln!(table, "- Client CPU, plimsoll ÷ bare loop: {ratio}.");
    }
    table
}

fn case_row(case: &Case, tool: Tool, loads: &[Load]) -> String {
    let name = if tool == Tool::Plimsoll { "**plimsoll**" } else { tool.name() };
    let mut row = format!("| {name} |");
    for figure in [CPU, RATE, MEMORY] {
        let (ours, decimals) = (values(loads, &figure), figure.decimals);
        let ratio = match case.loads(Tool::Wrk) {
            Some(wrk) if tool != Tool::Wrk => show_ratio(&ours, &values(wrk, &figure)),
            _ => "1".to_owned(),
        };
        let _ = write!(row, " {:.decimals$} | {ratio} |", median(&ours));
    }
    row + "\n"
}

/// Says when a tool that was to keep its connections opened many more.
fn reconnects(case: &Case, tool: Tool, loads: &[Load]) -> String {
    let opened: u64 = loads.iter().map(|load| load.counts.connections).sum();
    let asked = u64::from(case.connections) * loads.len() as u64;
    if case.mode == Mode::Close || opened <= 2 * asked {
        return String::new();
    }
    let requests: u64 = loads.iter().map(|load| load.counts.requests).sum();
    let each = requests as f64 / opened as f64;
    format!("- {}: did not keep all connections; {each:.1} requests on each.\n", tool.name())
}

/// Median and range of the rounds' ratios.
fn show_ratio(ours: &[f64], theirs: &[f64]) -> String {
    let ratio = ratio(ours, theirs);
    format!("{:.2} ({:.2}..{:.2})", ratio.median, ratio.min, ratio.max)
}

/// What each tool said under the stall, below the truth.
pub(super) fn stall(said: &[Said]) -> String {
    let mut table = String::from("| tool | load | p50 | p90 | p99 | max |\n| --- | --- | --- | --- | --- | --- |\n");
    let truth = quantile_cells(&ARITHMETIC);
    let _ = writeln!(table, "| arithmetic | even arrivals | {truth} |");
    let mut notes = String::new();
    for Said { tool, how, outcome } in said {
        let cells = match outcome {
            Ok(quantiles) => quantile_cells(quantiles),
            Err(reason) => {
                let _ = writeln!(notes, "- {}: {reason}.", tool.name());
                quantile_cells(&Quantiles::default())
            }
        };
        let _ = writeln!(table, "| {} | {how} | {cells} |", tool.name());
    }
    if !notes.is_empty() {
        let _ = write!(table, "\n{notes}");
    }
    table
}

fn quantile_cells(quantiles: &Quantiles) -> String {
    let Quantiles { p50, p90, p99, max } = *quantiles;
    let cells = [(p50, 2), (p90, 1), (p99, 1), (max, 1)]
        .map(|(ms, decimals)| ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.decimals$}")));
    cells.join(" | ")
}

/// How evenly each tool with a rate sent.
pub(super) fn pacing(pacings: &[Pacing]) -> String {
    let mut table = String::from(
        "| tool | arrived ÷ asked | standard deviation per ms | most in one ms | longest gap, ms | cores used |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut notes = String::new();
    for Pacing { tool, outcome } in pacings {
        match outcome {
            Ok(arrivals) => {
                let _ = writeln!(
                    table,
                    "| {} | {:.4} | {:.2} | {} | {} | {:.2} |",
                    tool.name(),
                    arrivals.of_asked,
                    arrivals.sd_per_ms,
                    arrivals.burst_max,
                    arrivals.gap_max_ms,
                    arrivals.client_cores,
                );
            }
            Err(reason) => {
                let _ = writeln!(table, "| {} | – | – | – | – | – |", tool.name());
                let _ = writeln!(notes, "- {}: {reason}.", tool.name());
            }
        }
    }
    if !notes.is_empty() {
        let _ = write!(table, "\n{notes}");
    }
    table
}

/// Everything behind the medians.
pub(super) fn rounds(cases: &[Case]) -> String {
    let mut table = String::from(
        "| case | round | tool | requests | connections opened | requests/s | CPU s | µs/request | peak KiB |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for case in cases {
        for round in 0..case.others_cores.len() {
            for (tool, outcome) in &case.outcomes {
                let Outcome::Measured(loads) = outcome else { continue };
                let load = &loads[round];
                let _ = writeln!(
                    table,
                    "| {} | {} | {} | {} | {} | {:.0} | {:.2} | {:.3} | {} |",
                    case.name,
                    round + 1,
                    tool.name(),
                    load.counts.requests,
                    load.counts.connections,
                    load.per_s(),
                    load.cost.cpu_s,
                    load.cpu_us_per_request(),
                    load.cost.peak_kib,
                );
            }
        }
    }
    table
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::client::Cost;
    use super::super::latency::Said;
    use super::super::pacing::{Arrivals, Pacing};
    use super::super::readers::Quantiles;
    use super::super::server::Counts;
    use super::super::throughput::{Case, Load, Outcome};
    use super::super::tools::{Mode, Tool};
    use super::{case, pacing, rounds, stall};

    fn load(cpu_s: f64) -> Load {
        let counts = Counts { connections: 64, requests: 400_000 };
        Load { counts, cost: Cost { wall_s: 4.0, cpu_s, peak_kib: 2048 } }
    }

    /// Three rounds in which plimsoll takes a half, three quarters and all of what wrk takes.
    pub(in super::super) fn sample(key: &'static str) -> Case {
        let measured = |cpu_s: [f64; 3]| Outcome::Measured(cpu_s.map(load).to_vec());
        Case {
            key,
            name: "null".to_owned(),
            connections: 64,
            mode: Mode::KeepAlive,
            outcomes: vec![
                (Tool::BareLoop, measured([2.0; 3])),
                (Tool::Wrk, measured([4.0; 3])),
                (Tool::Plimsoll, measured([2.0, 3.0, 4.0])),
                (Tool::Siege, Outcome::Missing("has a headache".to_owned())),
            ],
            others_cores: vec![0.25; 3],
        }
    }

    fn has_line(text: &str, expected: &str) {
        assert!(text.lines().any(|line| line == expected), "`{expected}` is not in:\n{text}");
    }

    #[test]
    fn medians_and_ratios_stand_in_the_row_of_a_tool() {
        let table = case(&sample("keep-alive"));
        let same = "100000 | 1.00 (1.00..1.00) | 2.0 | 1.00 (1.00..1.00) |";
        has_line(&table, &format!("| **plimsoll** | 7.50 | 0.75 (0.50..1.00) | {same}"));
        has_line(&table, "| wrk | 10.00 | 1 | 100000 | 1 | 2.0 | 1 |");
        has_line(&table, "- Client CPU, plimsoll ÷ bare loop: 1.50 (1.00..2.00).");
        assert!(table.contains("0.25 cores in the median round, 0.25 at most"), "{table}");
    }

    #[test]
    fn a_tool_that_is_missing_says_why() {
        let table = case(&sample("keep-alive"));
        has_line(&table, "| siege | – | – | – | – | – | – |");
        has_line(&table, "- siege: has a headache.");
    }

    #[test]
    fn connections_that_were_not_kept_are_told() {
        let mut sample = sample("keep-alive");
        let Outcome::Measured(loads) = &mut sample.outcomes[2].1 else { panic!("plimsoll is measured") };
        loads[0].counts.connections = 120_000 - 128;
        has_line(&case(&sample), "- plimsoll: did not keep all connections; 10.0 requests on each.");
    }

    #[test]
    fn every_round_of_every_tool_is_listed() {
        let table = rounds(&[sample("keep-alive")]);
        assert_eq!(table.lines().count(), 2 + 9);
        has_line(&table, "| null | 2 | plimsoll | 400000 | 64 | 100000 | 3.00 | 7.500 | 2048 |");
    }

    #[test]
    fn what_a_tool_does_not_print_is_a_dash() {
        let max = Quantiles { max: Some(192.5), ..Quantiles::default() };
        let table = stall(&[
            Said { tool: Tool::H2load, how: "so", outcome: Ok(max) },
            Said { tool: Tool::Rewrk, how: "so", outcome: Err("is not here".to_owned()) },
        ]);
        has_line(&table, "| arithmetic | even arrivals | 0.00 | 100.0 | 190.0 | 200.0 |");
        has_line(&table, "| h2load | so | – | – | – | 192.5 |");
        has_line(&table, "| rewrk | so | – | – | – | – |");
        has_line(&table, "- rewrk: is not here.");
    }

    #[test]
    fn arrivals_have_a_row_for_each_tool() {
        let arrivals = Arrivals {
            of_asked: 1.0,
            sd_per_ms: 1.274,
            burst_max: 58,
            gap_max_ms: 4,
            judged_ms: 6000,
            client_cores: 0.5,
        };
        let table = pacing(&[
            Pacing { tool: Tool::Plimsoll, outcome: Ok(arrivals) },
            Pacing { tool: Tool::Oha, outcome: Err("is not here".to_owned()) },
        ]);
        has_line(&table, "| plimsoll | 1.0000 | 1.27 | 58 | 4 | 0.50 |");
        has_line(&table, "| oha | – | – | – | – | – |");
    }
}
