//! A page render in the terminal, as a page, as tables, and in a history.

use crate::golden::{NARROW, WIDE, golden};
use crate::pages::{charts, item, page};
use crate::renders::render;
use model::{HistoryQuantity, HistorySettings, RenderMetric, RenderRecord};
use report::Named;
use report::history::{entries, history};
use report::record::AnyRecord;
use report::terminal::{self, Style};

/// Its first page alone.
fn one_page() -> RenderRecord {
    let mut record = render();
    record.arms.truncate(1);
    record.effects.clear();
    record.loads.retain(|load| load.arm == 0);
    record
}

#[test]
fn texts() {
    let (two, one) = (render(), one_page());
    let named = |record| [Named { name: "before", record: AnyRecord::Render(record) }];
    golden("render", &terminal::results(&named(&two), &Style { width: 120, ..WIDE }));
    golden("render_one", &terminal::results(&named(&one), &WIDE));
    golden("render_one_40", &terminal::results(&named(&one), &NARROW));
    golden("render_verbose", &terminal::results(&named(&two), &Style { width: 120, verbose: true, ..WIDE }));
    golden("render_markdown", &report::markdown(&named(&two)));
    golden("render_summary", &report::summary(named(&two)[0]));
}

#[test]
fn a_page_has_the_quantities_and_each_load_in_the_order_of_time() {
    let record = render();
    let text = page(&[item("before", AnyRecord::Render(&record), None)]);
    assert!(text.contains("<h1>http://127.0.0.1:8080/</h1>") && text.contains("<h3>Quantities</h3>"), "no headline");
    assert!(text.contains("the document has HTTP status 503"), "the load that does not count has its reason");
    let charts = charts(&text);
    assert_eq!(charts.len(), 3, "TTFB, FCP and LCP");
    assert!(charts.iter().all(|chart| chart["data"].as_array().map(Vec::len) == Some(4)), "each page, cold and warm");
    let both =
        page(&[item("before", AnyRecord::Render(&record), None), item("after", AnyRecord::Render(&one_page()), None)]);
    assert!(both.contains("<h3>Page renders</h3>"), "results stand side by side");
}

#[test]
fn the_largest_contentful_paint_is_followed_through_a_history() {
    let days = (1..=24_u32).flat_map(|day| {
        let mut record = one_page();
        record.started = format!("2026-01-{day:02}T03:00:00Z");
        let lcp =
            record.arms[0].figures.iter_mut().find(|figure| figure.metric == RenderMetric::LcpNs).expect("it has one");
        lcp.median.value *= (if day < 13 { 1.0 } else { 1.2 }) + 0.002 * f64::from(day % 5);
        let name = format!("day-{day}");
        entries(Named { name: &name, record: AnyRecord::Render(&record) }).expect("one page")
    });
    let settings =
        HistorySettings { false_alarms: 0.01, change_min: 0.01, with_bounds: false, by_canary: true, seed: 1 };
    let record = history(days.collect(), settings, Vec::new());
    assert_eq!((record.series.len(), record.is_worse), (1, true));
    let figure =
        |quantity| record.series[0].figures.iter().find(|figure| figure.quantity == quantity).expect("followed");
    let changes = &figure(HistoryQuantity::LcpColdNs).changes;
    assert_eq!((changes.len(), changes[0].at, changes[0].is_worse), (1, 12, true), "{changes:?}");
    for steady in [HistoryQuantity::TransferredColdBytes, HistoryQuantity::RequestsCold, HistoryQuantity::LcpWarmNs] {
        assert_eq!(figure(steady).changes, [], "{steady:?}");
    }
    let shown = terminal::history(&record, &WIDE);
    assert!(shown.contains("page render, http://127.0.0.1:8080/"), "{shown}");
    assert!(shown.contains("largest contentful paint, cold +20 %") && shown.contains("682 kB"), "{shown}");
    // Both pages of a comparison are series of their own.
    let two = entries(Named { name: "two", record: AnyRecord::Render(&render()) }).expect("two pages");
    assert_eq!(history(two, settings, Vec::new()).series.len(), 2);
}
