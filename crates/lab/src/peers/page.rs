//! The page: a Markdown document with the tables and how they were made.

use super::lab::{CLIENT_CORE, Lab, SERVER_CORE};
use super::server::CIPHER_SUITE;
use super::tools::RATE_PER_S;
use super::tools::{Tool, package_version};
use super::{Results, Settings, goals, tables};
use crate::markdown::Page;

const INTRODUCTION: &str = "\
plimsoll and eight other HTTP load generators under the same loads.
";

const READING: &str = "\
- **Client CPU**: user + system time of the client process per request that the server counted; **peak memory**: largest
  resident set. Both are medians of the rounds.
- **÷ wrk**: median of the ratios in the same round (smallest..largest). Only ratios are claims: absolute figures vary with
  the machine, and requests/s are capped by the server.
- **Null server**: a fixed response, one read and one write per request. **nginx**: `return 200`, one worker. Bodies: 64 bytes.
- **Bare loop**: the least a client can do, an epoll loop without parsing, checks or histograms. plimsoll checks status and
  size of every response and records three histograms.
- httperf busy-waits, and uses its whole core.
";

const GOALS: &str = "\
Upper limits that plimsoll has set itself; latencies and pacing are valid on an idle machine only.
";

const ORDER: &str = "\
plimsoll sends on a connection as soon as its response has been checked; wrk after its next `epoll_wait`, so that requests may
arrive together, and a server with work for each wake-up, such as Node.js, has less of it (`cargo xtask floor --order
next-wait`: the bare loop in that order).
";

const STALL: &str = "\
The built-in server stops for 200 ms in every second: quantiles of evenly spread requests follow by arithmetic. Response
times in ms as each tool prints them (`–`: not printed):
";

const STALL_NOTES: &str = "\
Coordinated omission: a tool that waits for a response before it sends again, or starts its clock at the actual send, leaves
out requests that the stall delayed. wrk adds synthetic samples for them; rewrk's 99 % is the mean of the slowest 1 %;
httperf prints connection lifetimes.
";

/// The whole page, or the part of it that was measured.
pub(super) fn render(lab: &Lab, settings: &Settings, results: &Results) -> String {
    let page = Page::new("plimsoll beside other load generators").block(INTRODUCTION);
    let page = page.part(&conditions(lab, settings)).part(&body(results)).to_string();
    // Tools pad their columns: blanks at line ends are noise in a page that is kept.
    page.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn body(results: &Results) -> Page {
    let Results { cases, stall, pacing } = results;
    let mut page = Page::default().section("Goals").block(GOALS).block(goals::table(results));
    if !cases.is_empty() {
        page = page.section("Closed loop at full speed");
        for case in cases {
            page = page.block(format_args!("### {}", case.name)).part(&tables::case(case));
        }
        page = page.block(ORDER);
    }
    if !stall.is_empty() {
        page = page.section("Reported latency under a stall").block(STALL);
        page = page.part(&tables::stall(stall)).block(STALL_NOTES);
    }
    if !pacing.is_empty() {
        page = page.section("Pacing of open loops").block(pacing_text(results)).part(&tables::pacing(pacing));
    }
    page
}

fn conditions(lab: &Lab, settings: &Settings) -> Page {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("?", |pair| pair.1);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let versions = Tool::ALL.iter().filter(|tool| **tool != Tool::BareLoop);
    let versions: Vec<String> = versions.map(|tool| format!("{} {}", tool.name(), tool.version())).collect();
    let only = settings.only.as_ref().map(|only| format!(" --only {only}")).unwrap_or_default();
    let Settings { rounds, seconds, connections, .. } = settings;
    let command = format!("cargo xtask peers --rounds {rounds} --seconds {seconds} --connections {connections}{only}");
    let conditions = format!(
        "- **Machine**: {model}, {cores} cores, Linux {}; network: {}.\n\
         - **Versions**: {}, nginx {}.\n\
         - **Setup**: server pinned to core {SERVER_CORE}, client to core {CLIENT_CORE} with one thread where the tool \
         has a choice. In each round the clients take turns against the same server process, in reverse order every \
         other round. TLS: {CIPHER_SUITE}, self-signed certificate (ECDSA, P-256).\n{READING}",
        kernel.trim(),
        lab.isolation,
        versions.join(", "),
        package_version("nginx-common"),
    );
    Page::default().block(format_args!("Made by `{command}`.")).block(conditions)
}

fn pacing_text(results: &Results) -> String {
    let judged_ms = results.pacing.iter().filter_map(|pacing| Some(pacing.outcome.as_ref().ok()?.judged_ms)).min();
    format!(
        "{RATE_PER_S} requests/s at even intervals, timestamped by the built-in server (at least {} ms judged). Poisson \
         arrivals would have a standard deviation of 3.2 per ms. hey and h2load have a rate per connection (50 × 200/s), \
         httperf one of connections (1,000/s with 10 requests each); wrk, ab, siege and rewrk none.",
        judged_ms.unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::super::Results;
    use super::super::latency::{ARITHMETIC, Said};
    use super::super::pacing::{Arrivals, Pacing};
    use super::super::readers::Quantiles;
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
        let why = || "is not here".to_owned();
        let results = Results {
            cases: vec![sample("keep-alive")],
            stall: vec![
                Said { tool: Tool::Plimsoll, how: "open loop", outcome: Ok(ARITHMETIC) },
                Said { tool: Tool::H2load, how: "so", outcome: Ok(Quantiles { p50: None, p90: None, ..ARITHMETIC }) },
                Said { tool: Tool::Oha, how: "so", outcome: Err(why()) },
                Said { tool: Tool::Oha, how: "or so", outcome: Err(why()) },
            ],
            pacing: vec![
                Pacing { tool: Tool::Plimsoll, outcome: Ok(arrivals) },
                Pacing { tool: Tool::Oha, outcome: Err(why()) },
            ],
        };
        insta::assert_snapshot!("body", body(&results));
    }

    #[test]
    fn a_part_stands_for_itself() {
        let stall = vec![Said { tool: Tool::Plimsoll, how: "open loop", outcome: Ok(ARITHMETIC) }];
        let page = body(&Results { stall, ..Results::default() }).to_string();
        assert!(page.contains("| plimsoll | open loop | 0.00 | 100.0 | 190.0 | 200.0 |"), "{page}");
        assert!(!page.contains("Closed loop at full speed") && !page.contains("Pacing"), "{page}");
    }
}
