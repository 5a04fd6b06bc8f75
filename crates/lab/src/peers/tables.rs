//! Tables of the page and the figures of every round: pure functions of what was measured.

use std::fmt::Write;

use super::figures::ratio;
use super::latency::{ARITHMETIC, Said};
use super::pacing::Pacing;
use super::readers::Quantiles;
use super::throughput::{Case, Load, Outcome};
use super::tools::{Mode, Tool};
use stats::median;

/// A figure of a load.
pub(super) type Figure = fn(&Load) -> f64;

/// CPU time of the client per request, in µs.
pub(super) const CPU: Figure = Load::cpu_us_per_request;
/// Requests per second.
const RATE: Figure = Load::per_s;
/// Largest resident set of the client, in MiB.
pub(super) const MEMORY: Figure = |load| load.cost.peak_kib as f64 / 1024.0;

/// Cores above which other processes have a note.
const OTHERS_MIN: f64 = 0.1;

const CASE_HEAD: &str = "\
| tool | client CPU, µs/request | ÷ wrk | requests/s ÷ wrk | peak memory, MiB |
| --- | --- | --- | --- | --- |
";

/// Figures of a tool's loads, in the order of the rounds.
pub(super) fn values(loads: &[Load], figure: Figure) -> Vec<f64> {
    loads.iter().map(figure).collect()
}

/// One case: a row for each tool that was measured, then notes.
pub(super) fn case(case: &Case) -> String {
    let mut table = CASE_HEAD.to_owned();
    let (mut notes, mut absent) = (String::new(), Vec::new());
    for (tool, outcome) in &case.outcomes {
        match outcome {
            Outcome::Measured(loads) => {
                table.push_str(&case_row(case, *tool, loads));
                notes.push_str(&reconnects(case, *tool, loads));
            }
            Outcome::Missing(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    notes.push_str(&missing(&absent));
    notes.push_str(&others(&case.others_cores));
    if let (Some(plimsoll), Some(floor)) = (case.loads(Tool::Plimsoll), case.loads(Tool::BareLoop)) {
        let ratio = show_ratio(&values(plimsoll, CPU), &values(floor, CPU));
        let _ = writeln!(notes, "- Client CPU, plimsoll ÷ bare loop: {ratio}.");
    }
    with_notes(table, &notes)
}

fn case_row(case: &Case, tool: Tool, loads: &[Load]) -> String {
    let name = if tool == Tool::Plimsoll { "**plimsoll**" } else { tool.name() };
    let to_wrk = |figure: Figure| match case.loads(Tool::Wrk) {
        Some(wrk) if tool != Tool::Wrk => show_ratio(&values(loads, figure), &values(wrk, figure)),
        _ => "1".to_owned(),
    };
    let (cpu, memory) = (median(&values(loads, CPU)), median(&values(loads, MEMORY)));
    format!("| {name} | {cpu:.2} | {} | {} | {memory:.1} |\n", to_wrk(CPU), to_wrk(RATE))
}

/// Notes on tools without a row, one for each reason.
fn missing(absent: &[(Tool, &str)]) -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for &(tool, reason) in absent {
        match by_reason.iter_mut().find(|known| known.0 == reason) {
            Some(known) => known.1.push(tool.name()),
            None => by_reason.push((reason, vec![tool.name()])),
        }
    }
    by_reason.iter().map(|(reason, names)| format!("- No row for {}: {reason}.\n", names.join(", "))).collect()
}

/// Note on what others used of the machine, if it was enough to change figures.
fn others(cores: &[f64]) -> String {
    let most = cores.iter().copied().fold(0.0, f64::max);
    if most <= OTHERS_MIN {
        return String::new();
    }
    let median = median(cores);
    format!("- Other processes and steal took {median:.2} cores in the median round, {most:.2} at most.\n")
}

/// Table with its notes below it.
fn with_notes(table: String, notes: &str) -> String {
    if notes.is_empty() { table } else { format!("{table}\n{notes}") }
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
    let mut absent = Vec::new();
    for Said { tool, how, outcome } in said {
        match outcome {
            Ok(quantiles) => {
                let _ = writeln!(table, "| {} | {how} | {} |", tool.name(), quantile_cells(quantiles));
            }
            Err(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    // A tool with two loads is named once.
    absent.dedup();
    with_notes(table, &missing(&absent))
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
    let mut absent = Vec::new();
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
            Err(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    with_notes(table, &missing(&absent))
}

/// Figures of every round as CSV; cases are called as `--only` calls them.
pub(super) fn rounds(cases: &[Case]) -> String {
    let mut csv =
        String::from("case,round,tool,requests,connections_opened,requests_per_s,cpu_s,cpu_us_per_request,peak_kib\n");
    for case in cases {
        for round in 0..case.others_cores.len() {
            for (tool, outcome) in &case.outcomes {
                let Outcome::Measured(loads) = outcome else { continue };
                let load = &loads[round];
                let _ = writeln!(
                    csv,
                    "{},{},{},{},{},{:.0},{:.2},{:.3},{}",
                    case.key,
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
    csv
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
        has_line(&table, "| **plimsoll** | 7.50 | 0.75 (0.50..1.00) | 1.00 (1.00..1.00) | 2.0 |");
        has_line(&table, "| wrk | 10.00 | 1 | 1 | 2.0 |");
        has_line(&table, "- Client CPU, plimsoll ÷ bare loop: 1.50 (1.00..2.00).");
    }

    #[test]
    fn others_are_named_when_they_took_enough_to_matter() {
        let mut sample = sample("keep-alive");
        sample.others_cores = vec![0.0, 0.24, 0.05];
        has_line(&case(&sample), "- Other processes and steal took 0.05 cores in the median round, 0.24 at most.");
        sample.others_cores = vec![0.1; 3];
        let table = case(&sample);
        assert!(!table.contains("Other processes"), "{table}");
    }

    #[test]
    fn tools_that_are_missing_have_a_note_for_each_reason() {
        let mut sample = sample("keep-alive");
        sample.outcomes.push((Tool::Oha, Outcome::Missing("is not here".to_owned())));
        sample.outcomes.push((Tool::Rewrk, Outcome::Missing("has a headache".to_owned())));
        let table = case(&sample);
        has_line(&table, "- No row for siege, rewrk: has a headache.");
        has_line(&table, "- No row for oha: is not here.");
        assert!(!table.contains("| siege |"), "{table}");
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
        let csv = rounds(&[sample("keep-alive")]);
        assert_eq!(csv.lines().count(), 1 + 9);
        has_line(&csv, "keep-alive,2,plimsoll,400000,64,100000,3.00,7.500,2048");
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 9), "{csv}");
    }

    #[test]
    fn what_a_tool_does_not_print_is_a_dash() {
        let max = Quantiles { max: Some(192.5), ..Quantiles::default() };
        let absent = |how| Said { tool: Tool::Oha, how, outcome: Err("is not here".to_owned()) };
        let h2load = Said { tool: Tool::H2load, how: "so", outcome: Ok(max) };
        let table = stall(&[h2load, absent("so"), absent("or so")]);
        has_line(&table, "| arithmetic | even arrivals | 0.00 | 100.0 | 190.0 | 200.0 |");
        has_line(&table, "| h2load | so | – | – | – | 192.5 |");
        has_line(&table, "- No row for oha: is not here.");
        assert!(!table.contains("| oha |"), "{table}");
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
        has_line(&table, "- No row for oha: is not here.");
    }
}
