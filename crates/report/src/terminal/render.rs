//! A page render in a terminal: the quantities of one page, cold and warm, or of two pages against each other.

use super::Style;
use super::layout::{columns, labelled, labelled_rows, table};
use super::verdict::{all_findings, headline};
use crate::changes::{interval, signed};
use model::human::{bytes, plural, short, time};
use model::{CacheState, Estimate, RenderArm, RenderFigure, RenderMetric, RenderRecord};

/// What stands where a value is not known.
const NONE: &str = "-";

/// The whole result: verdict, what was measured with what, quantities, findings with remedies. Ends with a newline.
#[must_use]
pub fn render(record: &RenderRecord, style: &Style) -> String {
    let style = *style;
    let mut out = headline(&record.verdict, style);
    for (arm, role) in record.arms.iter().zip(roles(record)) {
        out.push_str(&labelled(role, &arm.url, style));
    }
    out.push_str(&labelled("browser", &browser(record), style));
    out.push_str(&labelled("loads", &loads(record), style));
    if record.interrupted {
        out.push_str(&labelled("interrupted", "stopped before all blocks were measured", style));
    }
    let (header, rows) = match &record.arms[..] {
        [page] => of_one(page),
        _ => of_two(record),
    };
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&lines(&header, &rows, style));
    }
    // Nothing is stored that could be asked for the rest.
    out.push_str(&all_findings(&record.verdict, style));
    out
}

fn roles(record: &RenderRecord) -> [&'static str; 2] {
    if record.arms.len() == 1 { ["page", ""] } else { ["baseline", "variant"] }
}

fn browser(record: &RenderRecord) -> String {
    let settings = &record.settings;
    let sandbox = if settings.sandbox { "" } else { ", without its sandbox" };
    format!("{}, window of {} x {} pixels{sandbox}", record.browser.version, settings.width_px, settings.height_px)
}

fn loads(record: &RenderRecord) -> String {
    let blocks = record.loads.iter().map(|load| load.block + 1).max().unwrap_or(0);
    let order = if record.arms.len() > 1 { ", both pages in shuffled order" } else { "" };
    format!("{} of a cold load (new profile) and a warm one (second visit){order}", plural(blocks, "block"))
}

type Table = (Vec<&'static str>, Vec<Vec<String>>);

/// Cold beside warm.
fn of_one(page: &RenderArm) -> Table {
    let of = |metric: RenderMetric, cache: CacheState| page.figures.iter().find(|figure| figure.is(metric, cache));
    let row = |metric: RenderMetric| {
        let cells = CacheState::ALL.into_iter().flat_map(|cache| match of(metric, cache) {
            Some(figure) => [value(metric, figure.median.value), range(metric, &figure.median)],
            None => [NONE, NONE].map(str::to_owned),
        });
        let any = CacheState::ALL.into_iter().any(|cache| of(metric, cache).is_some());
        any.then(|| std::iter::once(metric.words().to_owned()).chain(cells).collect())
    };
    let header = vec!["median", "cold", "95 % interval", "warm", "95 % interval"];
    (header, RenderMetric::ALL.into_iter().filter_map(row).collect())
}

/// One page against the other.
fn of_two(record: &RenderRecord) -> Table {
    let median = |arm: usize, metric: RenderMetric, cache: CacheState| {
        let figure = record.arms.get(arm)?.figures.iter().find(|figure| figure.is(metric, cache))?;
        Some(value(metric, figure.median.value))
    };
    let rows = record.effects.iter().map(|effect| {
        let (metric, cache) = (effect.metric, effect.cache);
        let medians = [0, 1].map(|arm| median(arm, metric, cache).unwrap_or_else(|| NONE.to_owned()));
        let change = signed(effect.ratio.value - 1.0);
        let range = interval(&effect.ratio).unwrap_or_else(|| NONE.to_owned());
        let names = [metric.words(), cache.words()].map(str::to_owned);
        let call = effect.call.words().to_owned();
        names.into_iter().chain(medians).chain([change, range, call]).collect()
    });
    (vec!["quantity", "cache", "baseline", "variant", "change", "95 % interval", "call"], rows.collect())
}

/// A table, or a line or two for each row where there is no room for it.
fn lines(header: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let left = if header.contains(&"cache") { 2 } else { 1 };
    // With less room between columns it fits in more terminals.
    let tables = [2, 1].map(|gap| table(header, rows, left, gap));
    let fitting = tables.into_iter().find(|table| columns(table) <= style.width);
    fitting.unwrap_or_else(|| labelled_rows(header, rows, left, style))
}

fn value(metric: RenderMetric, value: f64) -> String {
    match metric {
        RenderMetric::TransferredBytes => bytes(value as u64),
        RenderMetric::Requests => short(value),
        RenderMetric::TtfbNs | RenderMetric::FcpNs | RenderMetric::LcpNs | RenderMetric::LoadNs => time(value),
    }
}

fn range(metric: RenderMetric, median: &Estimate) -> String {
    match (median.low, median.high) {
        (Some(low), Some(high)) => format!("{} to {}", value(metric, low), value(metric, high)),
        _ => NONE.to_owned(),
    }
}

/// A figure by its names.
trait Named {
    fn is(&self, metric: RenderMetric, cache: CacheState) -> bool;
}

impl Named for RenderFigure {
    fn is(&self, metric: RenderMetric, cache: CacheState) -> bool {
        (self.metric, self.cache) == (metric, cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Browser, Call, EffectMethod, Environment, RenderEffect, RenderSettings, Verdict, VerdictState};

    fn figure(metric: RenderMetric, cache: CacheState, value: f64) -> RenderFigure {
        let median = Estimate { value, low: Some(0.9 * value), high: Some(1.1 * value), n: 10 };
        RenderFigure { metric, cache, median }
    }

    fn record(urls: &[&str]) -> RenderRecord {
        let arm = |url: &&str| RenderArm {
            url: (*url).to_owned(),
            figures: vec![
                figure(RenderMetric::LcpNs, CacheState::Cold, 200e6),
                figure(RenderMetric::LcpNs, CacheState::Warm, 100e6),
                figure(RenderMetric::TransferredBytes, CacheState::Cold, 123_456.0),
            ],
        };
        let verdict = Verdict {
            state: VerdictState::Valid,
            findings: Vec::new(),
            unchecked: Vec::new(),
            unchecked_why: Default::default(),
        };
        let settings = RenderSettings {
            blocks: 10,
            timeout_ns: 30_000_000_000,
            margin: 0.02,
            seed: 1,
            width_px: 1350,
            height_px: 940,
            sandbox: true,
        };
        RenderRecord {
            format: model::FORMAT_RENDER.to_owned(),
            verdict,
            arms: urls.iter().map(arm).collect(),
            effects: Vec::new(),
            browser: Browser { program: "/usr/bin/chromium".to_owned(), version: "Chrome/156.0\u{1b}[2J".to_owned() },
            settings,
            loads: Vec::new(),
            spent_ns: 0,
            environment: Environment::default(),
            started: String::new(),
            interrupted: false,
        }
    }

    fn plain(width: usize) -> Style {
        Style { width, colour: false, verbose: false }
    }

    #[test]
    fn cold_stands_beside_warm_and_what_is_not_known_is_a_dash() {
        let text = render(&record(&["http://a.example/"]), &plain(100));
        let expected = "
median                            cold         95 % interval     warm       95 % interval
largest contentful paint (LCP)  200 ms      180 ms to 220 ms   100 ms  90.0 ms to 110 ms
bytes on the wire               123 kB  111 kB to 136 kB       -              -
";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(words(&text).ends_with(&words(expected)), "{text}");
        assert!(text.contains("Chrome/156.0\\u001b[2J, window of 1350 x 940 pixels\n"), "{text}");
    }

    #[test]
    fn figures_of_a_terminal_of_80_columns_have_their_labels() {
        for width in [40, 60, 80] {
            let text = render(&record(&["http://a.example/"]), &plain(width));
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_table = text.contains("median ");
            let lcp = "largest contentful paint (LCP): cold 200 ms, 95 % interval 180 ms to 220 ms, warm 100 ms";
            assert!(is_table || words.contains(lcp), "{width}: {text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
    }

    #[test]
    fn two_pages_have_their_change_and_its_call() {
        let mut record = record(&["http://a.example/", "http://b.example/"]);
        record.effects.push(RenderEffect {
            metric: RenderMetric::LcpNs,
            cache: CacheState::Cold,
            primary: true,
            ratio: Estimate { value: 0.5, low: Some(0.45), high: Some(0.55), n: 10 },
            call: Call::Better,
            method: EffectMethod::PairedT,
            p_value: Some(0.001),
            sd_log: Some(0.1),
        });
        let text = render(&record, &plain(110));
        assert!(text.contains("baseline     http://a.example/\nvariant      http://b.example/\n"), "{text}");
        let row = text.lines().find(|line| line.starts_with("largest")).expect("a row");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[4..], ["cold", "200", "ms", "200", "ms", "-50", "%", "-55.0", "to", "-45.0", "%", "better"]);
        let text = render(&record, &plain(80));
        let labelled = "baseline 200 ms, variant 200 ms, change -50 %, 95 % interval -55.0 to -45.0 %, call better";
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("largest contentful paint (LCP), cold: {labelled}")), "{text}");
        let narrow = render(&record, &plain(60));
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    }
}
