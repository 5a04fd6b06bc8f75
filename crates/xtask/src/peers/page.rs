//! The page: a Markdown document with the tables, how they were made, and every round behind them.

use std::fmt::Write;
use std::process::Command;

use super::Settings;
use super::client::Load;
use super::figures::{median, ratio};
use super::lab::{CLIENT_CORE, Lab, SERVER_CORE};
use super::latency::{ARITHMETIC, Quantiles, Stall};
use super::pacing::{Pacing, RATE_PER_S};
use super::throughput::Case;

/// A column of numbers: how it is called, where it comes from, decimals shown.
struct Figure {
    name: &'static str,
    of: fn(&Load) -> f64,
    decimals: usize,
}

const FIGURES: [Figure; 3] = [
    Figure { name: "client CPU, µs/request", of: |load| load.cpu_ns_per_request() / 1e3, decimals: 2 },
    Figure { name: "requests/s", of: |load| load.per_s, decimals: 0 },
    Figure { name: "peak memory, MiB", of: |load| load.cost.peak_kib as f64 / 1024.0, decimals: 1 },
];

/// The whole page.
pub(super) fn render(lab: &Lab, settings: &Settings, cases: &[Case], stall: &Stall, pacing: &Pacing) -> String {
    let mut page = String::from("# plimsoll beside wrk\n\n");
    page.push_str(&conditions(lab, settings));
    page.push_str("\n## Full speed, closed loop\n\n");
    page.push_str(&throughput_table(cases));
    page.push_str("\n## What a stall does to the reported latency\n\n");
    page.push_str(&stall_table(stall));
    page.push_str("\n## How evenly the open loop sends\n\n");
    page.push_str(&pacing_table(pacing));
    page.push_str("\n## Every round\n\n");
    page.push_str(&rounds_table(cases));
    let _ = write!(page, "\nwrk's own output of the stall run:\n\n```text\n{}\n```\n", stall.wrk_output.trim_end());
    // Tools pad their columns: blanks at line ends are noise in a page that is kept.
    page.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn conditions(lab: &Lab, settings: &Settings) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("?", |pair| pair.1);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let version = |program: &std::path::Path, flag: &str, prefix: &str| {
        let output = Command::new(program).arg(flag).output();
        let text = output.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let rest = text.split_once(prefix).map_or("", |pair| pair.1);
        rest.split_whitespace().next().unwrap_or("?").to_owned()
    };
    format!(
        "Made by `cargo xtask peers --rounds {} --seconds {} --connections {}`.\n\n\
         - Machine: {model}, {cores} cores seen, Linux {}; network: {}.\n\
         - Versions: plimsoll {}, wrk {}, nginx {}.\n\
         - Server on core {SERVER_CORE}, client on core {CLIENT_CORE} with one thread; the clients take turns \
         against the same running server, and wrk and plimsoll change places from round to round.\n\
         - CPU is user + system time of the client's whole process, start-up, probing and rendering included, divided \
         by the requests the tool itself counted. Peak memory is the largest resident set.\n\
         - Only the ratios are claims: each is the median of the ratios of the rounds, with the smallest and the \
         largest. Requests per second are capped by the server.\n\
         - The null server answers a fixed response with one read and one write; nginx answers with `return 200`. \
         Both send 64 bytes of body. The bare loop is an epoll loop that writes a request, reads once and counts: \
         nothing is parsed, checked or recorded.\n",
        settings.rounds,
        settings.seconds,
        settings.connections,
        kernel.trim(),
        lab.isolation,
        version(&lab.plimsoll, "--version", "plimsoll "),
        version(&lab.wrk, "-v", "wrk "),
        version(&lab.nginx, "-v", "nginx/"),
    )
}

fn throughput_table(cases: &[Case]) -> String {
    let mut table = String::from(
        "| case | figure | bare loop | wrk | plimsoll | plimsoll ÷ wrk | plimsoll ÷ bare loop |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for case in cases {
        for figure in &FIGURES {
            table.push_str(&throughput_row(case, figure));
        }
    }
    let others: Vec<f64> = cases.iter().flat_map(|case| case.rounds.iter().map(|round| round.others_cores)).collect();
    let most = others.iter().copied().fold(0.0, f64::max);
    let _ = writeln!(
        table,
        "\nMeanwhile everything else on the machine used {:.2} cores in the median round and {most:.2} at most.",
        median(&others),
    );
    table
}

fn throughput_row(case: &Case, figure: &Figure) -> String {
    let Figure { name, of, decimals } = figure;
    let wrk: Vec<f64> = case.rounds.iter().map(|round| of(&round.wrk)).collect();
    let plimsoll: Vec<f64> = case.rounds.iter().map(|round| of(&round.plimsoll)).collect();
    let floor: Vec<f64> = case.rounds.iter().filter_map(|round| round.floor.as_ref().map(of)).collect();
    let shown_floor = if floor.is_empty() { "–".to_owned() } else { format!("{:.decimals$}", median(&floor)) };
    format!(
        "| {} | {name} | {shown_floor} | {:.decimals$} | {:.decimals$} | {} | {} |\n",
        case.name,
        median(&wrk),
        median(&plimsoll),
        show_ratio(&plimsoll, &wrk),
        show_ratio(&plimsoll, &floor),
    )
}

/// Median and range of the rounds' ratios.
fn show_ratio(ours: &[f64], theirs: &[f64]) -> String {
    if theirs.is_empty() {
        return "–".to_owned();
    }
    let ratio = ratio(ours, theirs);
    format!("**{:.2}** ({:.2}..{:.2})", ratio.median, ratio.min, ratio.max)
}

fn stall_table(stall: &Stall) -> String {
    let mut table = String::from(
        "The built-in target stands still for 200 ms in every second. Requests that arrive evenly spread over the \
         second wait for what is left of the stall, so the quantiles follow by arithmetic. Response times in ms:\n\n\
         | | p50 | p90 | p99 | max |\n| --- | --- | --- | --- | --- |\n",
    );
    let rows = [
        ("arithmetic", ARITHMETIC),
        ("plimsoll, open loop, 1,000 requests/s", stall.plimsoll),
        ("wrk --latency, closed loop, 64 connections", stall.wrk),
    ];
    for (name, Quantiles { p50, p90, p99, max }) in rows {
        let _ = writeln!(table, "| {name} | {p50:.2} | {p90:.1} | {p99:.1} | {max:.1} |");
    }
    table.push_str(
        "\nwrk corrects for the requests a stall kept it from sending by adding synthetic samples; at full speed \
         that is the best it can do.\n",
    );
    table
}

fn pacing_table(pacing: &Pacing) -> String {
    format!(
        "Constant arrivals, {RATE_PER_S} requests/s asked for, stamped by the target at the other end ({} ms judged). \
         wrk has no open loop to stand beside it; Poisson arrivals would have a standard deviation of 3.2 per ms.\n\n\
         | figure | plimsoll |\n| --- | --- |\n\
         | sent ÷ planned | {:.5} |\n\
         | lateness of the generator itself, p99, µs | {:.1} |\n\
         | standard deviation of arrivals per ms | {:.2} |\n\
         | most arrivals in one ms | {} |\n\
         | cores used by the generator | {:.2} |\n",
        pacing.judged_ms,
        pacing.sent_of_planned,
        pacing.slip_client_p99_us,
        pacing.sd_per_ms,
        pacing.burst_max,
        pacing.client_cores,
    )
}

fn rounds_table(cases: &[Case]) -> String {
    let mut table = String::from(
        "| case | round | tool | requests | requests/s | CPU s | µs/request | peak KiB | others, cores |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for case in cases {
        for (index, round) in case.rounds.iter().enumerate() {
            let tools =
                [("wrk", Some(&round.wrk)), ("plimsoll", Some(&round.plimsoll)), ("bare loop", round.floor.as_ref())];
            for (tool, load) in tools {
                let Some(load) = load else { continue };
                let _ = writeln!(
                    table,
                    "| {} | {} | {tool} | {} | {:.0} | {:.2} | {:.3} | {} | {:.2} |",
                    case.name,
                    index + 1,
                    load.requests,
                    load.per_s,
                    load.cost.cpu_s,
                    load.cpu_ns_per_request() / 1e3,
                    load.cost.peak_kib,
                    round.others_cores,
                );
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::client::{Cost, Load};
    use super::super::throughput::{Case, Round};
    use super::{rounds_table, throughput_table};

    fn load(requests: u64, cpu_s: f64) -> Load {
        Load { requests, per_s: requests as f64 / 4.0, cost: Cost { cpu_s, peak_kib: 2048 } }
    }

    fn case() -> Case {
        let round = |cpu_s| Round {
            wrk: load(400_000, 4.0),
            plimsoll: load(400_000, cpu_s),
            floor: Some(load(400_000, 2.0)),
            others_cores: 0.25,
        };
        Case { name: "null".to_owned(), rounds: vec![round(2.0), round(3.0), round(4.0)] }
    }

    #[test]
    fn ratios_and_medians_stand_in_the_table() {
        let table = throughput_table(&[case()]);
        let expected =
            "| null | client CPU, µs/request | 5.00 | 10.00 | 7.50 | **0.75** (0.50..1.00) | **1.50** (1.00..2.00) |";
        assert!(table.lines().any(|line| line == expected), "{table}");
        assert!(table.contains("0.25 cores in the median round and 0.25 at most"), "{table}");
    }

    #[test]
    fn a_case_without_the_bare_loop_says_so() {
        let mut case = case();
        case.rounds.iter_mut().for_each(|round| round.floor = None);
        let table = throughput_table(&[case]);
        let expected = "| null | requests/s | – | 100000 | 100000 | **1.00** (1.00..1.00) | – |";
        assert!(table.lines().any(|line| line == expected), "{table}");
    }

    #[test]
    fn every_round_of_every_client_is_listed() {
        let table = rounds_table(&[case()]);
        assert_eq!(table.lines().count(), 2 + 9);
        assert!(table.contains("| null | 2 | plimsoll | 400000 | 100000 | 3.00 | 7.500 | 2048 | 0.25 |"), "{table}");
    }
}
