//! Monitoring overhead: a table for the terminal, and a page.

use model::Estimate;

use super::{CONNECTIONS, LOOKS_MAX, LOSS_MAX, Results, SLEEPERS, STATES_MAX, THREADS, UNACCOUNTED_MAX};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/observer-cost.md";

const METHOD: &str = "\
- CPU shares are of one core, from the thread's CPU clock (`observed.sampler` and `observed.pools_sampler` of a record). The
  more there is to sample, the longer the pauses between samples.
- *1 ms of CPU time a request*: windows of 3 s with and without samples (`--no-observe`), in random order in each block; target
  and client on one core each. The CPU time of a request is that of the thread that answers: without the speed of a shared
  CPU, and without what samples push out of its caches and the time of interrupts.
- *At full speed of one core* includes these, and what other machines do to the host, by which runs differ by 10 %: one long
  load without samples, beside a run of one request a second that samples the same server, and is stopped and continued every
  2 s, in random order in each pair.
- `--profile`: runs of 3 s with and without a profile in turn, both with samples.
- A figure is the geometric mean of the ratios of the blocks or pairs, with its 95 % interval (Student's t). *Undecided*: the
  interval has values on both sides of the goal; more blocks (`--blocks N`) or a quieter machine make it narrower.
";

/// A row for each goal.
pub(super) fn table(results: &Results) -> Table {
    let Results { looks, sockets, states, accounts, .. } = results;
    let cost = |cost: &super::Cost| {
        format!("{} ({:.2} ms each, {} samples)", share(cost.cpu_share), cost.ms_per_look, cost.looks)
    };
    let costs = [
        (
            format!(
                "CPU of a sample a second, beside {SLEEPERS} sleeping processes and {} sockets ({sockets} seen)",
                2 * CONNECTIONS
            ),
            format!("< {} of a core", share(LOOKS_MAX)),
            cost(looks),
            word(looks.cpu_share, LOOKS_MAX),
        ),
        (
            format!("CPU of ten samples a second of the states of {THREADS} threads"),
            format!("< {} of a core", share(STATES_MAX)),
            cost(states),
            word(states.cpu_share, STATES_MAX),
        ),
    ];
    let busy = [(
        "busy time of the machine that processes and interrupts account for".to_owned(),
        format!("within {}", share(UNACCOUNTED_MAX)),
        format!("processes {}, interrupts {}", share(accounts.processes), share(accounts.softirq)),
        word(accounts.missing(), UNACCOUNTED_MAX),
    )];
    let mut table = Table::new("what | goal | measured | ");
    let rows = costs.into_iter().chain(goodput(results)).chain(busy);
    rows.for_each(|(what, goal, measured, word)| table.row(&[&what, &goal, &measured, &word]));
    table
}

/// What it is, its goal, what was measured, and whether that reaches it.
type Row = (String, String, String, &'static str);

/// What is left of goodput.
fn goodput(results: &Results) -> [Row; 3] {
    let compared = |load: &str, unit: &str, estimate: &Estimate| {
        let what = format!("goodput with samples ÷ without, {load}");
        (what, format!("within {}", share(LOSS_MAX)), ratio(estimate, unit), within(estimate, LOSS_MAX))
    };
    let profiled = results.profiled.as_ref();
    [
        compared("1 ms of CPU time a request", "blocks", &results.steady),
        compared("at full speed of one core", "pairs", &results.toggled),
        (
            "goodput with `--profile` ÷ without, at full speed of one core".to_owned(),
            "stated".to_owned(),
            profiled.map_or_else(|why| format!("not available: {why}"), |profiled| ratio(profiled, "blocks")),
            "",
        ),
    ]
}

/// `docs/lab/observer-cost.md`.
pub(super) fn render(machine: &str, results: &Results) -> Page {
    let command = format!("cargo xtask sampler --blocks {} --write-docs", results.steady.n);
    Page::new("Monitoring overhead").made_by(&command, machine).block(table(results)).block(METHOD)
}

fn share(share: f64) -> String {
    format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned() + " %"
}

fn ratio(ratio: &Estimate, unit: &str) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{:.4} ({low:.4} to {high:.4}, {} {unit})", ratio.value, ratio.n),
        _ => format!("{:.4} ({} {unit})", ratio.value, ratio.n),
    }
}

const fn word(measured: f64, most: f64) -> &'static str {
    if measured < most { "reached" } else { "**missed**" }
}

/// True if a ratio is within `most` of 1, as far as its interval tells.
fn within(ratio: &Estimate, most: f64) -> &'static str {
    let (low, high) = (ratio.low.unwrap_or(ratio.value), ratio.high.unwrap_or(ratio.value));
    match (low > 1.0 - most && high < 1.0 + most, high < 1.0 - most || low > 1.0 + most) {
        (true, _) => "reached",
        (_, true) => "**missed**",
        _ => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::{Accounts, Cost};

    fn estimate(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { value, low: Some(low), high: Some(high), n: 6 }
    }

    #[test]
    fn a_goal_is_reached_or_missed_by_the_whole_interval() {
        for (low, high, expected) in [
            (0.995, 1.005, "reached"),
            (0.95, 0.985, "**missed**"),
            (0.98, 1.005, "undecided"),
            (0.98, 1.02, "undecided"),
            (1.02, 1.03, "**missed**"),
        ] {
            assert_eq!(within(&estimate(low, f64::midpoint(low, high), high), LOSS_MAX), expected, "{low} to {high}");
        }
    }

    #[test]
    fn every_goal_has_its_row_and_a_missed_one_says_so() {
        let results = Results {
            looks: Cost { looks: 15, ms_per_look: 6.2, cpu_share: 0.0062 },
            sockets: 2000,
            states: Cost { looks: 80, ms_per_look: 0.5, cpu_share: 0.005 },
            accounts: Accounts { processes: 0.7, softirq: 0.05 },
            steady: estimate(0.994, 0.998, 1.002),
            toggled: estimate(0.9, 0.95, 1.1),
            profiled: Err("perf_event_paranoid is 3".into()),
        };
        insta::assert_snapshot!("page", render("a machine", &results));
    }
}
