//! The ladder as a table, and as a page with published numbers beside it.

use model::human::rate;
use model::{Environment, ExperimentRecord};
use report::experiment::effects;
use report::experiment_rows;

use super::layers;
use crate::markdown::{self, Table};

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
    path: "docs/lab/wordpress-ladder.md",
    title: "The WordPress ladder, measured",
    introduction: "\
`cargo xtask ladder --write-docs` measures `plimsoll experiment wordpress-ladder` and writes this page. Each rung is a server of
its own, started anew for each block; blocks are shuffled. Settings are explained in [WordPress](../reference/wordpress.md).
",
    published: &PUBLISHED,
};

pub(super) const TABLES: Page = Page {
    experiment: "wordpress-tables",
    folder: "target/wordpress-tables",
    path: "docs/lab/wordpress-tables.md",
    title: "Tables of WordPress, measured",
    introduction: "\
`cargo xtask ladder --tables --write-docs` measures `plimsoll experiment wordpress-tables` and writes this page: 1 to 20
connections, rising rates, and pages with a cache against those without. Each row is a server of its own, started anew for each
block; blocks are shuffled.
",
    published: &[],
};

const LEGEND: &str = "\
- *verdict*: the worst of all blocks, with the [rules](../reference/rules.md) that made it so.
- *limiter*: that of at least half of the blocks; `-` where there is none.
- *goodput*, *interval*: responses per second that met the contract, mean over the blocks, with a 95 % t interval from 6 blocks
  on; `>=` where the load took CPU time that the server would have used.
- *predicted*: goodput that the limiter of the rung before lets expect, and by how much the measured one is off.
- *mean response*: of requests, over the blocks; `-` where requests have failed.
- *p50*, *p90*, *p99*: of the response times of all blocks together; `-` where fewer than 100 are longer.
- *CPU per request*: CPU time of web server, PHP, database and object cache together.
- *n*: blocks with a result; the others count for nothing.
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
pub(super) fn render(about: &Page, record: &ExperimentRecord) -> markdown::Page {
    let Environment { cpus, cpu_model, kernel, .. } = &record.environment;
    let (date, blocks) = (record.started.split('T').next().unwrap_or_default(), record.plan.repetitions);
    let made = format!("Measured on {date} on {cpus} CPUs ({cpu_model}) with {kernel}, {blocks} blocks.");
    let mut page = markdown::Page::new(about.title).block(about.introduction).block(made);
    page = page.block(experiment_rows(record)).block(LEGEND);
    if let Some(layers) = layers::table(record) {
        page = page.section("Where the time of a response goes").block(layers).block(layers::LEGEND);
    }
    let compared = effects(record);
    if !compared.is_empty() {
        page = page.section("Comparisons").list(compared);
    }
    if !about.published.is_empty() {
        page = page.section("Published numbers").block(ABOUT_PUBLISHED).block(published(about.published, record));
    }
    page
}

fn published(all: &[Published], record: &ExperimentRecord) -> Table {
    let mut table = Table::new("rung | published | what is wrong with it | measured here");
    for Published { rung, said, wrong } in all {
        let row = record.rows.iter().find(|row| row.variant == *rung);
        let here = row.and_then(|row| row.goodput_per_s).map_or_else(|| "-".to_owned(), |goodput| rate(goodput.value));
        table.row(&[rung, said, wrong, &here]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, ExperimentPlan, ExperimentRow, Layer, PredictedRow, RowQuantiles, Verdict, VerdictState};

    fn row() -> ExperimentRow {
        let estimate = |value| Some(Estimate { value, low: Some(value - 1.0), high: Some(value + 1.0), n: 6 });
        ExperimentRow {
            variant: "2 workers".into(),
            load: "16 connections".into(),
            verb: "run".into(),
            verdict: Some(VerdictState::Valid),
            rules: Vec::new(),
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
        insta::assert_snapshot!("tables", render(&TABLES, &record(vec![row()])));
        let ns_per_response = Estimate { value: 2e7, low: None, high: None, n: 1 };
        let layers = vec![Layer { program: Some("php-fpm".into()), ns_per_response }];
        insta::assert_snapshot!("ladder", render(&LADDER, &record(vec![ExperimentRow { layers, ..row() }])));
    }
}
