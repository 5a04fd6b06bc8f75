//! A page render in a terminal: the quantities of one page, cold and warm, or of two pages against each other.

use super::Style;
use super::layout::{columns, labelled_rows, table, top_lines, wrap};
use super::verdict::findings;
use crate::words::render as renders;
use model::RenderRecord;

/// The whole result: verdict, what was measured with what, quantities, findings with remedies. Ends with a newline.
#[must_use]
pub fn render(record: &RenderRecord, style: &Style) -> String {
    let style = *style;
    let mut out = top_lines(&renders::facts(record), style);
    let (header, rows) = renders::table(record);
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&lines(&header, &rows, style));
    }
    if let Some(remark) = renders::remark(record) {
        out.push_str(&wrap("", remark, style.width, 2));
        out.push('\n');
    }
    out.push_str(&findings(&record.verdict, style));
    out
}

/// A table, or a line or two for each row where there is no room for it.
fn lines(header: &[&str], rows: &[Vec<String>], style: Style) -> String {
    let left = if header.contains(&"cache") { 2 } else { 1 };
    // With less room between columns it fits in more terminals.
    let tables = [2, 1].map(|gap| table(header, rows, left, gap));
    let fitting = tables.into_iter().find(|table| columns(table) <= style.width);
    fitting.unwrap_or_else(|| labelled_rows(header, rows, left, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::AnyRecord;
    use model::{
        Browser, CacheState, Call, EffectMethod, Environment, Estimate, RenderArm, RenderEffect, RenderFigure,
        RenderMetric, RenderSettings, Verdict, VerdictState,
    };

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
        record.arms[1].figures[0].median.value = 100e6;
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
        assert_eq!(cells[4..], ["cold", "200", "ms", "100", "ms", "-50", "%", "-55.0", "to", "-45.0", "%", "better"]);
        let text = render(&record, &plain(80));
        let labelled = "baseline 200 ms, variant 100 ms, change -50 %, 95 % interval -55.0 to -45.0 %, call better";
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("largest contentful paint (LCP), cold: {labelled}")), "{text}");
        let narrow = render(&record, &plain(60));
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    }

    /// "warm requests 2 -> 5.50, change 0 %, interval -43.8 % to 4.50 times" were three statements that did not agree.
    #[test]
    fn a_change_agrees_with_the_medians_beside_it_and_an_interval_has_one_unit() {
        let mut record = record(&["http://a.example/", "http://b.example/"]);
        for (arm, median) in record.arms.iter_mut().zip([2.0, 5.5]) {
            arm.figures.push(figure(RenderMetric::Requests, CacheState::Warm, median));
        }
        record.effects.push(RenderEffect {
            metric: RenderMetric::Requests,
            cache: CacheState::Warm,
            primary: false,
            ratio: Estimate { value: 1.0, low: Some(0.562), high: Some(4.5), n: 6 },
            call: Call::CannotTell,
            method: EffectMethod::HodgesLehmann,
            p_value: None,
            sd_log: None,
        });
        let row = |record: &RenderRecord| {
            let text = render(record, &plain(110));
            let row = text.lines().find(|line| line.starts_with("requests")).expect("a row").to_owned();
            (row.split_whitespace().collect::<Vec<_>>().join(" "), text)
        };
        let (shown, text) = row(&record);
        assert_eq!(shown, "requests warm 2 5.50 +175 % 0.56 to 4.50 times cannot tell");
        assert!(!text.contains('*'), "{text}");
        record.effects[0].ratio = Estimate { value: 1.0, low: Some(0.9), high: Some(1.2), n: 6 };
        let (shown, text) = row(&record);
        assert_eq!(shown, "requests warm 2 5.50 0 % * -10.0 to +20.0 % cannot tell");
        assert!(text.contains("* the change within the blocks is another"), "{text}");
    }

    #[test]
    fn stored_results_stand_beside_each_other_with_their_pages() {
        let record = record(&["http://a.example/", "http://b.example/"]);
        let rows = renders::rows_beside(crate::Named { name: "before", record: AnyRecord::Render(&record) });
        assert_eq!(rows.len(), 4, "each page, cold and warm");
        assert_eq!(rows[0][..4], ["before", "http://a.example/", "valid", "cold"].map(str::to_owned));
        assert_eq!((rows[0][6].as_str(), rows[1][6].as_str(), rows[0][4].as_str()), ("200 ms", "100 ms", "-"));
        assert_eq!(renders::header_beside().len(), rows[0].len());
    }
}
