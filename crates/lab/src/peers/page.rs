//! The page: a Markdown document with the tables, how they were made, and every round behind them.

use std::fmt::Write;

use super::lab::{CLIENT_CORE, Lab, SERVER_CORE};
use super::server::CIPHER_SUITE;
use super::tools::RATE_PER_S;
use super::tools::{Tool, package_version};
use super::{Results, Settings, goals, tables};

const READING: &str = "\
- The clients take turns against the same running server, forwards in one round and backwards in the next.
- CPU is user + system time of the client's whole process, start-up, probing and rendering included, divided by the
  requests that **the server** counted. Requests/s are these over the process's life from start to end. Peak memory is
  the largest resident set. The server's count of connections shows that the load was of the kind named.
- Only the ratios are claims: each is the median of the ratios to wrk in the same round, with the smallest and the
  largest. Requests per second are capped by the server.
- The null server answers a fixed response with one read and one write; nginx answers with `return 200` from one worker.
  Both send 64 bytes of body. The bare loop is an epoll loop that writes a request, reads once and counts: nothing is
  parsed, checked or recorded.
- plimsoll checks status and size of every response and records three histograms meanwhile.
- httperf has no window: it is ended when the time is over, and it spins, so it uses its whole core whatever it does.
";

const GOALS: &str = "\
What plimsoll has set itself. A busy machine spoils latencies and pacing: each table says what else ran meanwhile.

";

const STALL: &str = "\
The built-in target stands still for 200 ms in every second. Requests that arrive evenly spread over the second wait for
what is left of the stall, so the quantiles follow by arithmetic. Response times in ms, as each tool prints them (`–`: it
prints no such figure):

";

const STALL_NOTES: &str = "
A tool that waits for an answer before it sends again, or starts its clock when it sends, leaves out the requests that a
stall kept it from sending: its p90 is small. wrk adds synthetic samples for them; at full speed that is the best it can
do. rewrk's percentages are means of the slowest: its 99 % is the mean of the slowest 1 %. httperf's figures are lives of
connections.
";

/// The whole page, or the part of it that was measured.
pub(super) fn render(lab: &Lab, settings: &Settings, results: &Results) -> String {
    let mut page = String::from("# plimsoll beside other load generators\n\n");
    page.push_str(&conditions(lab, settings));
    page.push_str(&body(results));
    // Tools pad their columns: blanks at line ends are noise in a page that is kept.
    page.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn body(results: &Results) -> String {
    let mut page = format!("\n## Goals\n\n{GOALS}{}", goals::table(results));
    if !results.cases.is_empty() {
        page.push_str("\n## Full speed, closed loop\n");
    }
    for case in &results.cases {
        let _ = write!(page, "\n### {}\n\n{}", case.name, tables::case(case));
    }
    if !results.stall.is_empty() {
        let table = tables::stall(&results.stall);
        let _ = write!(page, "\n## What a stall does to the reported latency\n\n{STALL}{table}{STALL_NOTES}");
    }
    if !results.pacing.is_empty() {
        let table = tables::pacing(&results.pacing);
        let _ = write!(page, "\n## How evenly open loops send\n\n{}{table}", pacing_text(results));
    }
    if !results.cases.is_empty() {
        let _ = write!(page, "\n## Every round\n\n{}", tables::rounds(&results.cases));
    }
    page
}

fn conditions(lab: &Lab, settings: &Settings) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("?", |pair| pair.1);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let versions = Tool::ALL.iter().filter(|tool| **tool != Tool::BareLoop);
    let versions: Vec<String> = versions.map(|tool| format!("{} {}", tool.name(), tool.version())).collect();
    let only = settings.only.as_ref().map(|only| format!(" --only {only}")).unwrap_or_default();
    let Settings { rounds, seconds, connections, .. } = settings;
    format!(
        "Made by `cargo xtask peers --rounds {rounds} --seconds {seconds} --connections {connections}{only}`.\n\n\
         - Machine: {model}, {cores} cores seen, Linux {}; network: {}.\n\
         - Versions: {}, nginx {}.\n\
         - Server on core {SERVER_CORE}, client on core {CLIENT_CORE} with one thread where the tool lets choose. With \
         TLS every client has to take {CIPHER_SUITE} and a self-signed certificate (ECDSA, P-256).\n{READING}",
        kernel.trim(),
        lab.isolation,
        versions.join(", "),
        package_version("nginx-common"),
    )
}

fn pacing_text(results: &Results) -> String {
    let judged_ms = results.pacing.iter().filter_map(|pacing| Some(pacing.outcome.as_ref().ok()?.judged_ms)).min();
    format!(
        "{RATE_PER_S} requests/s asked for, evenly spread, stamped by the target at the other end (at least {} ms \
         judged). Poisson arrivals would have a standard deviation of 3.2 per ms. wrk, ab, siege and rewrk have no \
         rate. The rates of hey and h2load are per connection (50 × 200/s), httperf's is of connections (1,000/s with \
         10 requests each).\n\n",
        judged_ms.unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::super::Results;
    use super::super::latency::{ARITHMETIC, Said};
    use super::super::pacing::{Arrivals, Pacing};
    use super::super::tables::tests::sample;
    use super::super::tools::Tool;
    use super::body;

    #[test]
    fn every_part_that_was_measured_has_its_section() {
        let arrivals = Arrivals {
            of_asked: 1.0,
            sd_per_ms: 1.2,
            burst_max: 58,
            gap_max_ms: 4,
            judged_ms: 6000,
            client_cores: 0.5,
        };
        let results = Results {
            cases: vec![sample("keep-alive")],
            stall: vec![Said { tool: Tool::Plimsoll, how: "open loop", outcome: Ok(ARITHMETIC) }],
            pacing: vec![Pacing { tool: Tool::Plimsoll, outcome: Ok(arrivals) }],
        };
        let page = body(&results);
        let heads: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        let expected = [
            "## Goals",
            "## Full speed, closed loop",
            "### null",
            "## What a stall does to the reported latency",
            "## How evenly open loops send",
            "## Every round",
        ];
        assert_eq!(heads, expected);
        assert!(page.contains("(at least 6000 ms judged)"), "{page}");
    }

    #[test]
    fn a_part_stands_for_itself() {
        let stall = vec![Said { tool: Tool::Plimsoll, how: "open loop", outcome: Ok(ARITHMETIC) }];
        let page = body(&Results { stall, ..Results::default() });
        assert!(page.contains("| plimsoll | open loop | 0.00 | 100.0 | 190.0 | 200.0 |"), "{page}");
        assert!(!page.contains("## Every round") && !page.contains("Full speed"), "{page}");
    }
}
