//! The ladder as a table, and as a page with published numbers beside it.

use std::collections::BTreeSet;
use std::fmt::Write;

use model::human::{rate, time};
use model::{Environment, ExperimentRecord, ExperimentRow, MetricRecord, RowQuantiles, VerdictState};

use super::layers;

/// An experiment with a page of its own.
pub(super) struct Page {
    /// Its name for `plimsoll experiment`.
    pub(super) experiment: &'static str,
    /// Where its result is kept.
    pub(super) folder: &'static str,
    /// Where the page is kept.
    pub(super) path: &'static str,
    title: &'static str,
    introduction: &'static str,
    /// Published numbers beside it.
    published: &'static [Published],
}

pub(super) const LADDER: Page = Page {
    experiment: "wordpress-ladder",
    folder: "target/ladder",
    path: "docs/wordpress-ladder.md",
    title: "The WordPress ladder, measured",
    introduction: "\
`cargo xtask ladder --write-docs` measures `plimsoll experiment wordpress-ladder` and writes this page. Each rung is a server of
its own, started anew for each block; blocks are shuffled. Settings are explained in [WordPress](wordpress.md).
",
    published: &PUBLISHED,
};

pub(super) const TABLES: Page = Page {
    experiment: "wordpress-tables",
    folder: "target/wordpress-tables",
    path: "docs/wordpress-tables.md",
    title: "Tables of WordPress, measured",
    introduction: "\
`cargo xtask ladder --tables --write-docs` measures `plimsoll experiment wordpress-tables` and writes this page: 1 to 20
connections, rising rates, and pages with a cache against those without. Each row is a server of its own, started anew for each
block; blocks are shuffled.
",
    published: &[],
};

const LEGEND: &str = "\
- *verdict*: the worst of all blocks, with the [rules](rules.md) that made it so; `2 of 6 blocks` where the others have no
  result, which then count for nothing.
- *goodput*: responses per second that met the contract, mean over the blocks, with a 95 % t interval from 6 blocks on; `>=`
  where the load took CPU time that the server would have used.
- *mean response*: of requests, over the blocks; `-` where requests have failed.
- *p50*, *p90*, *p99*: of the response times of all blocks together; `-` where fewer than 100 are longer.
- *CPU per response*: CPU time of web server, PHP, database and object cache together.
- *limiter*: that of most blocks; `-` where it is none in more than half of them.
- *predicted*: goodput that the limiter of the rung before lets expect, and by how much the measured one is off.
";

/// A number that others have published for a rung, and what is wrong with it.
struct Published {
    rung: &'static str,
    said: &'static str,
    wrong: &'static str,
}

const ABOUT_PUBLISHED: &str = "\
Numbers on other hardware cannot be compared with those above, and mostly not with each other. From a student report
(danbachar/swiss-knife, 2021: WordPress, php-fpm and MySQL or MariaDB behind nginx) and the benchmark page of a hosting panel
(ApisCP, 2020 to 2024):
";

const PUBLISHED: [Published; 9] = [
    Published {
        rung: "PHP hello",
        said: "\"highest feasible throughput\" of a PHP page",
        wrong: "the page is a syntax error (`<?php Hello from PHP`): status 500, or 200 with the text of the error; ab reports \
                neither as failed",
    },
    Published {
        rung: "25 workers",
        said: "\"now can reach 1400+ req/s\"",
        wrong: "redirects without a body were measured (275 bytes in place of 21,003), in single runs of 1.3 to 4 s; at the last \
                point 69 % are status 5xx, and goodput is 462/s",
    },
    Published {
        rung: "5 workers",
        said: "210/s, \"an average of 4.7 ms per request\"",
        wrong: "4.7 ms is one second over 210; the response time at that load was 730 to 1,140 ms",
    },
    Published {
        rung: "IO-bound page, 70 workers",
        said: "70 workers: 5,431.01/s",
        wrong: "134,832 of 163,092 responses are error pages: goodput is 941/s, below that of 25 workers; 8,984 of 10,000 \
                connections were never opened (limit of open files 1,024)",
    },
    Published {
        rung: "page cache in PHP",
        said: "35,543/s \"compared to the 5431.01 req/s without cache\"",
        wrong: "neither is valid: 1,006 connections in place of 10,000, 676 timeouts left out of the latencies, and the number \
                without cache is of error pages",
    },
    Published {
        rung: "new page",
        said: "1,000 POST requests: 5.3/s",
        wrong: "157 of them failed (4xx): goodput is 4.4/s; all have one slug, so that each takes longer than the one before \
                (13 to 325 ms)",
    },
    Published {
        rung: "MySQL",
        said: "MariaDB in place of MySQL \"allowed us to go beyond to 1400+\"",
        wrong: "single runs, of redirects; at equal rates 21.6 and 22.3 ms, which single runs cannot tell apart",
    },
    Published {
        rung: "image, no .htaccess",
        said: "without .htaccess \"from 4224 req/second to a blistering 15271\"",
        wrong: "4 connections against 8 (with 4 it is 13,583), in runs of 1,000 requests: 0.07 to 0.24 s",
    },
    Published {
        rung: "3 workers",
        said: "5.622 ms per request at 20 connections, 12.022 ms at one",
        wrong: "one second over the throughput; by Little's law 112 ms at 20 connections, 9.4 times that at one",
    },
];

/// The page.
pub(super) fn render(page: &Page, record: &ExperimentRecord) -> String {
    let Page { title, introduction, .. } = page;
    let (blocks, table) = (record.plan.repetitions, table(record));
    let Environment { cpus, cpu_model, kernel, .. } = &record.environment;
    let date = record.started.split('T').next().unwrap_or_default();
    let mut text = format!(
        "# {title}\n\n{introduction}\nMeasured on {date} on {cpus} CPUs ({cpu_model}) with {kernel}, {blocks} blocks.\n\n{table}\n{LEGEND}"
    );
    if let Some(layers) = layers::table(record) {
        let _ = write!(text, "\n## Where the time of a response goes\n\n{layers}\n{}", layers::LEGEND);
    }
    let compared = compared(record);
    if !compared.is_empty() {
        let _ = write!(text, "\n## Comparisons\n\n{compared}");
    }
    if !page.published.is_empty() {
        let _ = write!(text, "\n## Published numbers\n\n{ABOUT_PUBLISHED}\n{}", published(page.published, record));
    }
    text
}

fn published(all: &[Published], record: &ExperimentRecord) -> String {
    let mut text =
        "| rung | published | what is wrong with it | measured here |\n| --- | --- | --- | --- |\n".to_owned();
    for Published { rung, said, wrong } in all {
        let row = record.rows.iter().find(|row| row.variant == *rung);
        let here = row.and_then(|row| row.goodput_per_s).map_or_else(|| "-".to_owned(), |goodput| rate(goodput.value));
        let _ = writeln!(text, "| {rung} | {said} | {wrong} | {here} |");
    }
    text
}

/// What comparisons among the steps have found, each change with its interval.
fn compared(record: &ExperimentRecord) -> String {
    let effects = record.steps.iter().filter_map(|step| step.result.as_ref()).flat_map(|result| &result.effects);
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    let mut text = String::new();
    for MetricRecord { arm, metric, load, ratio, call, .. } in effects {
        let ends = ratio.low.zip(ratio.high);
        let ends = ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", percent(low), percent(high)));
        let (metric, load, call) = (metric.words(), load.words(), call.words());
        let _ = writeln!(text, "- {arm}: {metric}, {load} {}{ends}, {call}", percent(ratio.value));
    }
    text
}

/// A row for each rung.
pub(super) fn table(record: &ExperimentRecord) -> String {
    let mut table =
        "| rung | load | verdict | goodput | mean response | p50 | p90 | p99 | CPU per response | limiter | predicted |\n"
            .to_owned();
    table.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for row in &record.rows {
        let cells = [
            row.variant.clone(),
            row.load.clone(),
            verdict(row, record),
            goodput(row),
            row.response_mean_ns.map_or_else(|| "-".to_owned(), |mean| time(mean.value)),
            quantile(row, "p50", |all| all.p50),
            quantile(row, "p90", |all| all.p90),
            quantile(row, "p99", |all| all.p99),
            row.server_cpu_ns_per_request.map_or_else(|| "-".to_owned(), |cpu| time(cpu.value)),
            limiter(row),
            predicted(row),
        ];
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

/// The verdict with its rules, and of how many blocks it is where some of them have no result.
fn verdict(row: &ExperimentRow, record: &ExperimentRecord) -> String {
    let state = match row.verdict {
        Some(VerdictState::Valid) => "valid",
        Some(VerdictState::Bound) => "bound",
        Some(VerdictState::Invalid) => "invalid",
        None => return "no result".to_owned(),
    };
    let steps = record.steps.iter().filter(|step| row.steps.contains(&step.number));
    let rules: BTreeSet<&str> =
        steps.filter_map(|step| step.result.as_ref()).flat_map(|step| &step.rules).map(String::as_str).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let verdict = if rules.is_empty() { state.to_owned() } else { format!("{state} ({})", rules.join(", ")) };
    match row.missing {
        0 => verdict,
        missing => format!("{verdict}, {} of {} blocks", row.steps.len(), row.steps.len() as u64 + missing),
    }
}

/// The limiter of most blocks, and of how many where it is not that of all.
fn limiter(row: &ExperimentRow) -> String {
    match &row.limiter {
        None => "-".to_owned(),
        Some(name) if row.limiter_steps == row.steps.len() as u64 => name.clone(),
        Some(name) => format!("{name} ({} of {})", row.limiter_steps, row.steps.len()),
    }
}

fn goodput(row: &ExperimentRow) -> String {
    let Some(goodput) = row.goodput_per_s else { return "-".to_owned() };
    let interval = goodput.low.zip(goodput.high).filter(|_| row.steps.len() > 1);
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" ({} to {})", rate(low), rate(high)));
    format!("{}{}{interval}", sign(row, "goodput"), rate(goodput.value))
}

/// What stands before a figure that is only a bound.
fn sign(row: &ExperimentRow, figure: &str) -> &'static str {
    row.bounds.get(figure).map_or("", |bound| bound.sign())
}

fn quantile(row: &ExperimentRow, key: &str, of: impl Fn(RowQuantiles) -> Option<u64>) -> String {
    let known = row.response_ns.and_then(of);
    known.map_or_else(|| "-".to_owned(), |ns| format!("{}{}", sign(row, key), time(ns as f64)))
}

fn predicted(row: &ExperimentRow) -> String {
    let Some(predicted) = &row.predicted else { return "-".to_owned() };
    let off = predicted.measured_ratio.map_or_else(String::new, |ratio| format!(", {:+.0} %", 100.0 * (ratio - 1.0)));
    format!("{}{off}", rate(predicted.expected_per_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, ExperimentPlan, Layer, PredictedRow, Verdict};

    fn row() -> ExperimentRow {
        let estimate = |value| Some(Estimate { value, low: Some(value - 1.0), high: Some(value + 1.0), n: 6 });
        ExperimentRow {
            variant: "2 workers".into(),
            load: "16 connections".into(),
            verb: "run".into(),
            verdict: Some(VerdictState::Valid),
            steps: vec![1, 2],
            missing: 0,
            goodput_per_s: estimate(42.0),
            response_ns: Some(RowQuantiles { n: 2_000, p50: Some(500_000), p90: Some(1_000_000), p99: None }),
            response_p99_ns: Vec::new(),
            server_cpu_ns_per_request: None,
            response_mean_ns: None,
            layers: Vec::new(),
            capacity: None,
            limiter: Some("cpu-limited".into()),
            limiter_steps: 2,
            bounds: [].into(),
            predicted: Some(PredictedRow {
                after: "1 worker".into(),
                expected_per_s: 40.0,
                measured_ratio: Some(1.05),
            }),
        }
    }

    #[test]
    fn a_prediction_stands_beside_what_was_measured() {
        let row = row();
        assert_eq!(goodput(&row), "42.0/s (41.0/s to 43.0/s)");
        assert_eq!(
            (quantile(&row, "p90", |all| all.p90).as_str(), predicted(&row).as_str()),
            ("1.00 ms", "40.0/s, +5 %")
        );
    }

    #[test]
    fn blocks_without_a_result_are_told() {
        let verdict = |row: &ExperimentRow| verdict(row, &record(Vec::new()));
        assert_eq!(verdict(&row()), "valid");
        assert_eq!(verdict(&ExperimentRow { missing: 4, ..row() }), "valid, 2 of 6 blocks");
        assert_eq!(verdict(&ExperimentRow { verdict: None, steps: vec![], missing: 6, ..row() }), "no result");
    }

    fn record(rows: Vec<ExperimentRow>) -> ExperimentRecord {
        let verdict =
            Verdict { state: VerdictState::Valid, findings: vec![], unchecked: vec![], unchecked_why: [].into() };
        let plan = ExperimentPlan {
            format: String::new(),
            name: String::new(),
            plimsoll: String::new(),
            seed: 1,
            repetitions: 6,
            budget_ns: None,
            steps: Vec::new(),
        };
        ExperimentRecord {
            format: String::new(),
            verdict,
            rows,
            steps: Vec::new(),
            plan,
            environment: Environment {
                cpus: 2,
                cpu_model: "a model".into(),
                kernel: "Linux".into(),
                ..Environment::default()
            },
            started: "2026-11-28T03:41:00Z".into(),
            interrupted: false,
        }
    }

    #[test]
    fn a_page_has_what_is_known_and_nothing_else() {
        let text = render(&TABLES, &record(vec![row()]));
        assert!(
            text.starts_with("# Tables of WordPress, measured\n")
                && text.contains("Measured on 2026-11-28 on 2 CPUs (a model) with Linux, 6 blocks."),
            "{text}"
        );
        assert!(
            text.contains(
                "| 2 workers | 16 connections | valid | 42.0/s (41.0/s to 43.0/s) | - | 500 µs | 1.00 ms | - |"
            ),
            "{text}"
        );
        assert!(
            !text.contains("Published") && !text.contains("Where the time") && !text.contains("Comparisons"),
            "{text}"
        );
        let ns_per_response = Estimate { value: 2e7, low: None, high: None, n: 1 };
        let layers = vec![Layer { program: Some("php-fpm".into()), ns_per_response }];
        let text = render(&LADDER, &record(vec![ExperimentRow { layers, ..row() }]));
        assert!(text.contains("## Where the time of a response goes\n") && text.contains("| 20.0 ms |"), "{text}");
        assert!(text.contains("## Published numbers\n"), "{text}");
    }
}
