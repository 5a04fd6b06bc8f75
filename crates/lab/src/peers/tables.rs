//! Tables of the page and the figures of every round: pure functions of what was measured.

use std::fmt::Write;

use super::figures::ratio;
use super::latency::{ARITHMETIC, Said};
use super::pacing::{Arrivals, Pacing};
use super::readers::Quantiles;
use super::throughput::{Case, Load, Outcome};
use super::tools::{Mode, Tool};
use crate::markdown::{Page, Table};
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

/// Figures of a tool's loads, in the order of the rounds.
pub(super) fn values(loads: &[Load], figure: Figure) -> Vec<f64> {
    loads.iter().map(figure).collect()
}

/// One case: a row for each tool that was measured, then notes.
pub(super) fn case(case: &Case) -> Page {
    let mut table = Table::new("tool | client CPU, µs/request | ÷ wrk | requests/s ÷ wrk | peak memory, MiB");
    let (mut notes, mut absent) = (Vec::new(), Vec::new());
    for (tool, outcome) in &case.outcomes {
        match outcome {
            Outcome::Measured(loads) => {
                add(&mut table, case, *tool, loads);
                notes.extend(reconnects(case, *tool, loads));
            }
            Outcome::Missing(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    notes.extend(missing(&absent).into_iter().chain(others(&case.others_cores)));
    if let (Some(plimsoll), Some(floor)) = (case.loads(Tool::Plimsoll), case.loads(Tool::BareLoop)) {
        let ratio = show_ratio(&values(plimsoll, CPU), &values(floor, CPU));
        notes.push(format!("Client CPU, plimsoll ÷ bare loop: {ratio}."));
    }
    Page::default().block(table).list(notes)
}

/// Adds the row of a tool.
fn add(table: &mut Table, case: &Case, tool: Tool, loads: &[Load]) {
    let name = if tool == Tool::Plimsoll { "**plimsoll**" } else { tool.name() };
    let to_wrk = |figure: Figure| match case.loads(Tool::Wrk) {
        Some(wrk) if tool != Tool::Wrk => show_ratio(&values(loads, figure), &values(wrk, figure)),
        _ => "1".to_owned(),
    };
    let cpu = format!("{:.2}", median(&values(loads, CPU)));
    let memory = format!("{:.1}", median(&values(loads, MEMORY)));
    table.row(&[&name, &cpu, &to_wrk(CPU), &to_wrk(RATE), &memory]);
}

/// Notes on tools without a row, one for each reason.
fn missing(absent: &[(Tool, &str)]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for &(tool, reason) in absent {
        match by_reason.iter_mut().find(|known| known.0 == reason) {
            Some(known) => known.1.push(tool.name()),
            None => by_reason.push((reason, vec![tool.name()])),
        }
    }
    by_reason.iter().map(|(reason, names)| format!("No row for {}: {reason}.", names.join(", "))).collect()
}

/// Note on what others used of the machine, if it was enough to change figures.
fn others(cores: &[f64]) -> Option<String> {
    let (median, most) = (median(cores), cores.iter().copied().fold(0.0, f64::max));
    (most > OTHERS_MIN)
        .then(|| format!("Other processes and steal took {median:.2} cores in the median round, {most:.2} at most."))
}

/// Note on a tool that was to keep its connections and opened many more.
fn reconnects(case: &Case, tool: Tool, loads: &[Load]) -> Option<String> {
    let opened: u64 = loads.iter().map(|load| load.counts.connections).sum();
    let asked = u64::from(case.connections) * loads.len() as u64;
    if case.mode == Mode::Close || opened <= 2 * asked {
        return None;
    }
    let requests: u64 = loads.iter().map(|load| load.counts.requests).sum();
    let each = requests as f64 / opened as f64;
    Some(format!("{}: did not keep all connections; {each:.1} requests on each.", tool.name()))
}

/// Median and range of the rounds' ratios.
fn show_ratio(ours: &[f64], theirs: &[f64]) -> String {
    let ratio = ratio(ours, theirs);
    format!("{:.2} ({:.2}..{:.2})", ratio.median, ratio.min, ratio.max)
}

/// What each tool said under the stall, below the truth.
pub(super) fn stall(said: &[Said]) -> Page {
    let mut table = Table::new("tool | load | p50 | p90 | p99 | max");
    let mut add = |tool: &str, how: &str, quantiles: &Quantiles| {
        table.texts([tool.to_owned(), how.to_owned()].into_iter().chain(quantile_cells(quantiles)));
    };
    add("arithmetic", "even arrivals", &ARITHMETIC);
    let mut absent = Vec::new();
    for Said { tool, how, outcome } in said {
        match outcome {
            Ok(quantiles) => add(tool.name(), how, quantiles),
            Err(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    // A tool with two loads is named once.
    absent.dedup();
    Page::default().block(table).list(missing(&absent))
}

fn quantile_cells(quantiles: &Quantiles) -> [String; 4] {
    let Quantiles { p50, p90, p99, max } = *quantiles;
    [(p50, 2), (p90, 1), (p99, 1), (max, 1)]
        .map(|(ms, decimals)| ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.decimals$}")))
}

/// How evenly each tool with a rate sent.
pub(super) fn pacing(pacings: &[Pacing]) -> Page {
    let columns = "tool | arrived ÷ asked | standard deviation per ms | most in one ms | longest gap, ms | cores used";
    let mut table = Table::new(columns);
    let mut absent = Vec::new();
    for Pacing { tool, outcome } in pacings {
        match outcome {
            Ok(Arrivals { of_asked, sd_per_ms, burst_max, gap_max_ms, client_cores, .. }) => {
                let [sd_per_ms, cores] = [sd_per_ms, client_cores].map(|figure| format!("{figure:.2}"));
                let of_asked = format!("{of_asked:.4}");
                table.row(&[&tool.name(), &of_asked, &sd_per_ms, burst_max, gap_max_ms, &cores]);
            }
            Err(reason) => absent.push((*tool, reason.as_str())),
        }
    }
    Page::default().block(table).list(missing(&absent))
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
    use super::super::server::Counts;
    use super::super::throughput::{Case, Load, Outcome};
    use super::super::tools::{Mode, Tool};
    use super::{case, rounds};

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
    fn others_are_named_when_they_took_enough_to_matter() {
        let mut sample = sample("keep-alive");
        sample.others_cores = vec![0.0, 0.24, 0.05];
        has_line(
            &case(&sample).to_string(),
            "- Other processes and steal took 0.05 cores in the median round, 0.24 at most.",
        );
        sample.others_cores = vec![0.1; 3];
        let table = case(&sample).to_string();
        assert!(!table.contains("Other processes"), "{table}");
    }

    #[test]
    fn tools_that_are_missing_have_a_note_for_each_reason() {
        let mut sample = sample("keep-alive");
        sample.outcomes.push((Tool::Oha, Outcome::Missing("is not here".to_owned())));
        sample.outcomes.push((Tool::Rewrk, Outcome::Missing("has a headache".to_owned())));
        let table = case(&sample).to_string();
        has_line(&table, "- No row for siege, rewrk: has a headache.");
        has_line(&table, "- No row for oha: is not here.");
        assert!(!table.contains("| siege |"), "{table}");
    }

    #[test]
    fn connections_that_were_not_kept_are_told() {
        let mut sample = sample("keep-alive");
        let Outcome::Measured(loads) = &mut sample.outcomes[2].1 else { panic!("plimsoll is measured") };
        loads[0].counts.connections = 120_000 - 128;
        has_line(&case(&sample).to_string(), "- plimsoll: did not keep all connections; 10.0 requests on each.");
    }

    #[test]
    fn every_round_of_every_tool_is_listed() {
        let csv = rounds(&[sample("keep-alive")]);
        assert_eq!(csv.lines().count(), 1 + 9);
        has_line(&csv, "keep-alive,2,plimsoll,400000,64,100000,3.00,7.500,2048");
        let columns = |line: &str| line.split(',').count();
        assert!(csv.lines().all(|line| columns(line) == 9), "{csv}");
    }
}
