//! Page renders in words and rows.

use crate::Named;
use crate::record::AnyRecord;
use crate::words::changes::{interval, signed};
use crate::words::fact::{About, Fact, Tone};
use crate::words::interrupted;
use crate::words::verdict::{self, state_word};
use model::human::{bytes, plural, short, time};
use model::{CacheState, EffectMethod, Estimate, RenderArm, RenderEffect, RenderFigure, RenderMetric, RenderRecord};

/// What stands where a value is not known.
const NONE: &str = "-";
/// Columns of [`rows_beside`], before those of the quantities.
pub(crate) const BESIDE: [&str; 4] = ["result", "page", "verdict", "cache"];

/// A header, and rows under it.
pub(crate) type Table = (Vec<&'static str>, Vec<Vec<String>>);

/// All that is known of a page render.
pub(crate) fn facts(record: &RenderRecord) -> Vec<Fact> {
    let pages = record.arms.iter().zip(roles(record));
    let mut facts = vec![verdict::fact(&record.verdict, None)];
    facts.push(Fact::new(About::Cells, "result", summary(record)).with_tone(Tone::Headline));
    facts.extend(pages.map(|(arm, role)| Fact::new(About::Result, role, arm.url.clone())));
    facts.push(Fact::new(About::Load, "browser", browser(record)));
    facts.push(Fact::new(About::Load, "loads", loads(record)));
    facts.extend(interrupted(record.interrupted, "stopped before all blocks were measured"));
    facts
}

/// What each page is in the result.
pub(crate) fn roles(record: &RenderRecord) -> [&'static str; 2] {
    if record.arms.len() == 1 { ["page", ""] } else { ["baseline", "variant"] }
}

/// Browser and window.
fn browser(record: &RenderRecord) -> String {
    let settings = &record.settings;
    let sandbox = if settings.sandbox { "" } else { ", without its sandbox" };
    format!("{}, window of {} x {} pixels{sandbox}", record.browser.version, settings.width_px, settings.height_px)
}

/// How many loads there were, and in which order.
fn loads(record: &RenderRecord) -> String {
    let blocks = record.loads.iter().map(|load| load.block + 1).max().unwrap_or(0);
    let order = match record.arms.len() {
        0 | 1 => "",
        _ if is_stored_pair(record) => {
            "; the two results are of different times, and whatever else changed is in the change"
        }
        _ => ", both pages in shuffled order",
    };
    format!("{} of a cold load (new profile) and a warm one (second visit){order}", plural(blocks, "block"))
}

/// True if two results that were stored are held against each other.
fn is_stored_pair(record: &RenderRecord) -> bool {
    record.effects.iter().any(|effect| effect.method == EffectMethod::RankSum)
}

/// The quantities: of one page cold beside warm, of two pages one against the other.
pub(crate) fn table(record: &RenderRecord) -> Table {
    match &record.arms[..] {
        [page] => of_one(page),
        _ => of_two(record),
    }
}

/// True where a change is not that of the medians beside it.
pub(crate) fn remark(record: &RenderRecord) -> Option<&'static str> {
    let is_other =
        |effect: &RenderEffect| medians(record, effect).is_some_and(|at| change(effect, at) == Change::Within);
    record.effects.iter().any(is_other).then_some(
        "* the change within the blocks is another than that of the medians beside it: the loads of a page are of two kinds",
    )
}

/// Cold beside warm.
fn of_one(page: &RenderArm) -> Table {
    let row = |metric: RenderMetric| {
        let cells = CacheState::ALL.into_iter().flat_map(|cache| match figure(page, metric, cache) {
            Some(figure) => [value(metric, figure.median.value), range(metric, &figure.median)],
            None => [NONE, NONE].map(str::to_owned),
        });
        let any = CacheState::ALL.into_iter().any(|cache| figure(page, metric, cache).is_some());
        any.then(|| std::iter::once(metric.words().to_owned()).chain(cells).collect())
    };
    let header = vec!["median", "cold", "95 % interval", "warm", "95 % interval"];
    (header, RenderMetric::ALL.into_iter().filter_map(row).collect())
}

/// One page against the other.
fn of_two(record: &RenderRecord) -> Table {
    let rows = record.effects.iter().map(|effect| {
        let (metric, cache) = (effect.metric, effect.cache);
        let at = medians(record, effect);
        let shown = at.map_or_else(|| [NONE; 2].map(str::to_owned), |at| at.map(|median| value(metric, median)));
        let change = match at.map(|at| (at, change(effect, at))) {
            Some(([before, after], Change::OfMedians)) => signed(after / before - 1.0),
            Some((_, Change::Within)) => format!("{} *", signed(effect.ratio.value - 1.0)),
            None => signed(effect.ratio.value - 1.0),
        };
        let range = interval(&effect.ratio).unwrap_or_else(|| NONE.to_owned());
        let names = [metric.words(), cache.words()].map(str::to_owned);
        let call = effect.call.words().to_owned();
        names.into_iter().chain(shown).chain([change, range, call]).collect()
    });
    (vec!["quantity", "cache", "baseline", "variant", "change", "95 % interval", "call"], rows.collect())
}

/// Which change stands beside two medians.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// That of the medians themselves, which the interval has in it.
    OfMedians,
    /// That within the blocks.
    Within,
}

/// A change that contradicts the two numbers beside it helps nobody: where loads are of two kinds, "2 -> 5.50, change 0 %" was
/// printed.
fn change(effect: &RenderEffect, [before, after]: [f64; 2]) -> Change {
    let ratio = after / before;
    let is_inside = match (effect.ratio.low, effect.ratio.high) {
        (Some(low), Some(high)) => low <= ratio && ratio <= high,
        _ => true,
    };
    if ratio.is_finite() && is_inside { Change::OfMedians } else { Change::Within }
}

/// The medians of both pages, which are above 0 where there is an effect.
fn medians(record: &RenderRecord, effect: &RenderEffect) -> Option<[f64; 2]> {
    let of = |arm: usize| Some(figure(record.arms.get(arm)?, effect.metric, effect.cache)?.median.value);
    Some([of(0)?, of(1)?]).filter(|[before, _]| *before > 0.0)
}

pub(crate) fn figure(page: &RenderArm, metric: RenderMetric, cache: CacheState) -> Option<&RenderFigure> {
    page.figures.iter().find(|figure| (figure.metric, figure.cache) == (metric, cache))
}

/// A value in the unit of its quantity.
pub(crate) fn value(metric: RenderMetric, value: f64) -> String {
    match metric {
        RenderMetric::TransferredBytes => bytes(value as u64),
        RenderMetric::Requests => short(value),
        RenderMetric::TtfbNs | RenderMetric::FcpNs | RenderMetric::LcpNs | RenderMetric::LoadNs => time(value),
    }
}

fn range(metric: RenderMetric, median: &Estimate) -> String {
    match (median.low, median.high) {
        // Every load had it, so that there is no interval to speak of.
        (Some(low), Some(high)) if low == high => "=".to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", value(metric, low), value(metric, high)),
        _ => NONE.to_owned(),
    }
}

/// The header of several results beside each other.
pub(crate) fn header_beside() -> Vec<String> {
    BESIDE.into_iter().chain(RenderMetric::ALL.map(RenderMetric::words)).map(str::to_owned).collect()
}

/// The medians of each page of a result, cold and warm; none of another kind of result.
pub(crate) fn rows_beside(named: Named<'_>) -> Vec<Vec<String>> {
    let AnyRecord::Render(record) = named.record else { return Vec::new() };
    let of_page = |page: &RenderArm, cache: CacheState| {
        let verdict = state_word(record.verdict.state);
        let names = [named.name, &page.url, verdict, cache.words()].map(str::to_owned);
        let cell = |metric: RenderMetric| {
            figure(page, metric, cache).map_or_else(|| NONE.to_owned(), |figure| value(metric, figure.median.value))
        };
        names.into_iter().chain(RenderMetric::ALL.map(cell)).collect()
    };
    record.arms.iter().flat_map(|page| CacheState::ALL.map(|cache| of_page(page, cache))).collect()
}

/// The result in a line: the quantity that decides, cold.
pub(crate) fn summary(record: &RenderRecord) -> String {
    let lcp =
        |page: &RenderArm| figure(page, RenderMetric::PRIMARY, CacheState::Cold).map(|figure| figure.median.value);
    let shown = |page: &RenderArm| lcp(page).map_or_else(|| "not known".to_owned(), time);
    let medians = record.arms.iter().map(shown).collect::<Vec<_>>().join(", then ");
    let call = record.effects.iter().find(|effect| effect.primary);
    let call = call.map_or_else(String::new, |effect| format!(" ({})", effect.call.words()));
    format!("{} of cold loads {medians}{call}", RenderMetric::PRIMARY.words())
}
