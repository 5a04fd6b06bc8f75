//! A history in words and rows.

use crate::words::fact::{About, Fact, Tone};
use crate::words::verdict::state_word;
use model::human::{bytes, factor, percent, plural, rate, short, time};
use model::{
    Change, Estimate, HistoryChange, HistoryFigure, HistoryQuantity, HistoryRecord, HistorySeries, VerdictState,
};

/// Differences that are named; of more there is a count.
const DIFFERS_MAX: usize = 6;
/// Heights of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Factors that name a series; the others are the same in all that a reader is likely to hold against it.
const NAMING: [&str; 7] = ["kind", "variant", "target", "page", "goal", "load", "requests"];

/// Columns of [`figure_rows`].
pub(crate) const FIGURES: [&str; 5] = ["figure", "level", "results", "changes", "oldest to latest"];
/// Columns of [`change_rows`].
pub(crate) const CHANGES: [&str; 9] =
    ["figure", "", "change", "95 % interval", "p", "level before", "level after", "first result", "measured"];

/// All that is known of a series: how many results it has, where their level moved, and where it did not.
pub(crate) fn facts(series: &HistorySeries) -> Vec<Fact> {
    let new = |label, text| Fact::new(About::Result, label, text);
    let mut facts = vec![new("results", extent(series))];
    for figure in &series.figures {
        for change in &figure.changes {
            let tone = match change.is_worse {
                _ if figure.quantity.is_of_machine() => Tone::Unsure,
                true => Tone::Bad,
                false => Tone::Good,
            };
            let text = change_text(figure.quantity, change);
            facts.push(new(call(figure.quantity, change), text).with_tone(tone));
            facts.extend(Fact::known(About::Result, "also differs", differs_text(change)));
        }
    }
    facts.extend(remarks(series).into_iter().map(|(label, text)| new(label, text)));
    facts
}

/// What a series is of, in a line.
pub(crate) fn title(series: &HistorySeries) -> String {
    let named = series.factors.iter().filter(|factor| NAMING.contains(&factor.name.as_str()));
    named.map(|factor| factor.value.as_str()).collect::<Vec<_>>().join(", ")
}

/// What else its results have in common.
pub(crate) fn conditions(series: &HistorySeries) -> String {
    let others = series.factors.iter().filter(|factor| !NAMING.contains(&factor.name.as_str()));
    others.map(|factor| format!("{}: {}", factor.name, factor.value)).collect::<Vec<_>>().join("; ")
}

/// How many results there are, and from when.
fn extent(series: &HistorySeries) -> String {
    let older = match series.older {
        0 => String::new(),
        n => format!("; {} older not looked at", plural(n, "result")),
    };
    let all = plural(series.runs.len() as u64, "result");
    match (series.runs.first(), series.runs.last()) {
        (Some(first), Some(last)) if series.runs.len() > 1 => {
            format!("{all} from {} to {}{older}", first.started, last.started)
        }
        (Some(only), _) => format!("{all}, {}{older}", only.started),
        _ => all,
    }
}

/// How changes were looked for.
pub(crate) fn method(record: &HistoryRecord) -> String {
    let settings = &record.settings;
    format!(
        "E-divisive with a permutation test, which finds a change in {} of figures without one; changes below {} are not reported",
        percent(settings.false_alarms),
        percent(settings.change_min)
    )
}

/// Each figure of a series: its latest level, and the results behind that.
pub(crate) fn figure_rows(series: &HistorySeries, columns: usize) -> Vec<Vec<String>> {
    let row = |figure: &HistoryFigure| {
        let (level, n) = latest(figure);
        vec![
            figure.quantity.words().to_owned(),
            level.map_or_else(|| "-".to_owned(), |level| value(figure.quantity, level)),
            n.to_string(),
            figure.changes.len().to_string(),
            sparkline(&figure.values, columns),
        ]
    };
    series.figures.iter().map(row).collect()
}

/// Geometric mean of the values since the last change, and their number.
fn latest(figure: &HistoryFigure) -> (Option<f64>, usize) {
    let begin = figure.changes.last().map_or(0, |change| change.at as usize);
    let values: Vec<f64> = figure.values.iter().skip(begin).flatten().copied().collect();
    let level = (!values.is_empty()).then(|| stats::geometric_mean(&values));
    (level, values.len())
}

/// The changes of a series in rows.
pub(crate) fn change_rows(series: &HistorySeries) -> Vec<Vec<String>> {
    let each = series.figures.iter().flat_map(|figure| figure.changes.iter().map(move |change| (figure, change)));
    let row = |(figure, change): (&HistoryFigure, &HistoryChange)| {
        let quantity = figure.quantity;
        let level = |level, n| format!("{} ({})", value(quantity, level), plural(n, "result"));
        vec![
            quantity.words().to_owned(),
            call(quantity, change).to_owned(),
            signed(change.ratio.value),
            interval(change.ratio),
            p(change),
            level(change.before, change.before_n),
            level(change.after, change.after_n),
            change.run.clone(),
            change.started.clone(),
        ]
    };
    each.map(row).collect()
}

/// Whether a change is for the better, or not of the server at all.
const fn call(quantity: HistoryQuantity, change: &HistoryChange) -> &'static str {
    match change.is_worse {
        _ if quantity.is_of_machine() => "machine",
        true => "worse",
        false => "better",
    }
}

/// A change in a sentence.
fn change_text(quantity: HistoryQuantity, change: &HistoryChange) -> String {
    format!(
        "{} {} ({}, p {}): {} over {}, then {} over {}; from {} on, {}",
        quantity.words(),
        signed(change.ratio.value),
        interval(change.ratio),
        p(change),
        value(quantity, change.before),
        plural(change.before_n, "result"),
        value(quantity, change.after),
        plural(change.after_n, "result"),
        change.run,
        change.started
    )
}

/// What else is different there; none when nothing is known to be.
fn differs_text(change: &HistoryChange) -> Option<String> {
    let side = |text: &str| if text.is_empty() { "none".to_owned() } else { shortened(text) };
    let one = |change: &Change| {
        format!("{} {}: {}, then {}", change.section, change.name, side(&change.before), side(&change.after))
    };
    let named: Vec<String> = change.differs.iter().take(DIFFERS_MAX).map(one).collect();
    let more = match change.differs.len().saturating_sub(DIFFERS_MAX) {
        0 => String::new(),
        n => format!("; {} more", n),
    };
    (!named.is_empty()).then(|| format!("{}{more}", named.join("; ")))
}

/// The beginning of a long text: checksums, boot parameters.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Figures in which no change was found, or could not be, in lines.
fn remarks(series: &HistorySeries) -> Vec<(&'static str, String)> {
    let names = |figures: Vec<&HistoryFigure>| {
        figures.iter().map(|figure| figure.quantity.words()).collect::<Vec<_>>().join(", ")
    };
    let mut remarks = Vec::new();
    let steady: Vec<_> =
        series.figures.iter().filter(|figure| figure.changes.is_empty() && figure.needed.is_none()).collect();
    if !steady.is_empty() {
        remarks.push(("no change", names(steady)));
    }
    remarks.extend(too_few(series).map(|text| ("too few", text)));
    for figure in &series.figures {
        let name = figure.quantity.words();
        if figure.bounds > 0 {
            let of = plural(figure.bounds, "result");
            remarks.push(("left out", format!("{name} of {of}, where it is only a bound (--bounds counts it)")));
        }
    }
    remarks.extend(series.figures.iter().filter_map(related).map(|text| ("normalised", text)));
    if series.figures.is_empty() {
        remarks.push(("no figures", "none of its results has any".to_owned()));
    }
    remarks
}

/// How many results a change can be found in, and how many there are, where these are too few: of all figures at once.
fn too_few(series: &HistorySeries) -> Option<String> {
    let short = || series.figures.iter().filter(|figure| figure.needed.is_some());
    let needed = short().filter_map(|figure| figure.needed).max()?;
    let counts = short().map(|figure| figure.values.iter().flatten().count() as u64);
    let (least, most) = counts.fold((u64::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    let has = if least == most { plural(most, "result") } else { format!("{least} to {}", plural(most, "result")) };
    let names: Vec<_> = short().map(|figure| figure.quantity.words()).collect();
    let of = if names.len() == series.figures.len() { "every figure".to_owned() } else { names.join(", ") };
    Some(format!("a change can be found in {needed} results or more, and {of} has {has}"))
}

/// A result of the series in cells, one column a figure.
pub(crate) fn run_header(series: &HistorySeries) -> Vec<String> {
    let figures = series.figures.iter().map(|figure| figure.quantity.words());
    ["result", "measured", "verdict"].into_iter().chain(figures).map(str::to_owned).collect()
}

/// The results of a series, the latest first.
pub(crate) fn run_rows(series: &HistorySeries) -> Vec<Vec<String>> {
    let row = |at: usize| {
        let run = &series.runs[at];
        let cells = series.figures.iter().map(|figure| {
            let known = figure.values.get(at).copied().flatten();
            known.map_or_else(|| "-".to_owned(), |known| value(figure.quantity, known))
        });
        [run.name.clone(), run.started.clone(), state(run.state)].into_iter().chain(cells).collect()
    };
    (0..series.runs.len()).rev().map(row).collect()
}

fn state(state: VerdictState) -> String {
    state_word(state).to_owned()
}

/// A value in the unit of its quantity.
pub(crate) fn value(quantity: HistoryQuantity, value: f64) -> String {
    match quantity {
        ratio if ratio.is_ratio() => signed(value),
        HistoryQuantity::GoodputPerS | HistoryQuantity::CapacityPerS => rate(value),
        HistoryQuantity::TransferredColdBytes => bytes(value as u64),
        HistoryQuantity::RequestsCold => short(value),
        _ => time(value),
    }
}

/// What the values of a figure are related to; none of what is as it was measured.
pub(crate) fn related(figure: &HistoryFigure) -> Option<String> {
    let canary = time(figure.canary_ns?);
    Some(format!(
        "{} as on a machine whose canary takes {canary} per request, the median of these results",
        figure.quantity.words()
    ))
}

/// A ratio as a change: `+4.1 %`, `4.10 times`.
pub(crate) fn signed(ratio: f64) -> String {
    if let Some(times) = factor(ratio) {
        return times;
    }
    let change = 100.0 * (ratio - 1.0);
    if change.abs() < 9.95 { format!("{change:+.1} %") } else { format!("{change:+.0} %") }
}

fn interval(ratio: Estimate) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ => "no interval".to_owned(),
    }
}

fn p(change: &HistoryChange) -> String {
    format!("{:.3}", change.p)
}

/// The values as bars between the lowest and the highest, each the mean of as many as there is no room for; a gap where none
/// is known.
pub(crate) fn sparkline(values: &[Option<f64>], columns: usize) -> String {
    let each = values.len().div_ceil(columns.max(1)).max(1);
    let means: Vec<Option<f64>> = values
        .chunks(each)
        .map(|chunk| {
            let known: Vec<f64> = chunk.iter().flatten().copied().collect();
            (!known.is_empty()).then(|| stats::mean(&known))
        })
        .collect();
    let known = || means.iter().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let bar = |mean: f64| {
        let place = if high > low { (mean - low) / (high - low) } else { 0.5 };
        BARS[((place * BARS.len() as f64) as usize).min(BARS.len() - 1)]
    };
    means.into_iter().map(|mean| mean.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_between_lowest_and_highest_and_gaps_stay() {
        assert_eq!(sparkline(&[Some(1.0), None, Some(3.0), Some(5.0)], 10), "▁ ▅█");
        assert_eq!(sparkline(&[Some(1.0), Some(1.0), Some(5.0), Some(5.0), Some(9.0)], 3), "▁▅█");
        assert_eq!(sparkline(&[Some(2.0); 3], 10), "▅▅▅");
        assert_eq!(sparkline(&[], 10), "");
    }

    #[test]
    fn ratios_are_told_as_changes() {
        assert_eq!([0.95, 1.0, 1.123, 2.5].map(signed), ["-5.0 %", "+0.0 %", "+12 %", "+150 %"]);
    }
}
