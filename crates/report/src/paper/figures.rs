//! Figures of a comparison for a paper: the forest plot and the strips of blocks, as plain SVG.

use super::svg::{Align, COLOURS, FONT, INK, SMALL, SOFT, Svg, WIDTH, text_width, ticks};
use crate::scales::factor_ticks;
use crate::words::blocks::place;
use crate::words::blocks::{Strip, StripLine, strips};
use crate::words::compare::baseline;
use crate::words::forest::{ForestLine, Scale, lines};
use model::human::percent;
use model::{Call, CompareRecord};

/// Height of a line of the forest plot.
const ROW: f64 = 16.0;
/// Height of a strip.
const STRIP: f64 = 120.0;
const AIR: f64 = 8.0;
/// Room for the words at an axis.
const AXIS: f64 = 30.0;
/// Room that the words of a factor take on an axis.
const TICK_ROOM: f64 = 36.0;
const BAND: &str = "#e4e4e4";

/// A figure and the name of its file, without a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the file.
    pub file: &'static str,
    /// SVG.
    pub svg: String,
}

/// The forest plot, and the strips by block where there are blocks; none where nothing was compared.
pub(crate) fn figures(record: &CompareRecord) -> Vec<Figure> {
    let forest = forest(record).map(|svg| Figure { file: "forest.svg", svg });
    let blocks = blocks(record).map(|svg| Figure { file: "blocks.svg", svg });
    forest.into_iter().chain(blocks).collect()
}

fn forest(record: &CompareRecord) -> Option<String> {
    let lines = lines(record);
    if lines.is_empty() {
        return None;
    }
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text_width(text, FONT)).fold(0.0, f64::max);
    let left = widest(&mut lines.iter().map(|line| line.label.as_str())).min(0.5 * WIDTH) + 2.0 * AIR;
    let right = WIDTH - widest(&mut lines.iter().map(|line| line.text.as_str())) - 2.0 * AIR;
    let height = AIR + ROW * lines.len() as f64 + AXIS;
    let bottom = height - AXIS;
    let scale = Scale::of(&lines, record.margin);
    let x = |ratio: f64| left + (right - left) * scale.share(ratio);
    let mut drawing = Svg::new(WIDTH, height);
    let (from, to) = (x(1.0 - record.margin), x(1.0 + record.margin));
    drawing.rectangle((from, AIR), (to - from, bottom - AIR), BAND);
    drawing.line((x(1.0), AIR), (x(1.0), bottom), INK, 0.8, "");
    drawing.line((left, bottom), (right, bottom), INK, 0.8, "");
    for (ratio, words) in ticks_of(scale, right - left) {
        drawing.line((x(ratio), bottom), (x(ratio), bottom + 3.0), INK, 0.8, "");
        drawing.text((x(ratio), bottom + 12.0), Align::Middle, SMALL, INK, &words);
    }
    let what = if matches!(scale, Scale::Factor { .. }) { "times" } else { "change against" };
    let about = format!("{what} {} (grey: less than {})", baseline(record), percent(record.margin));
    drawing.text((f64::midpoint(left, right), bottom + 24.0), Align::Middle, SMALL, SOFT, &about);
    for (i, line) in lines.iter().enumerate() {
        forest_line(&mut drawing, line, AIR + ROW * (i as f64 + 0.5), (left, right), x);
    }
    Some(drawing.finish("Changes with 95 % intervals"))
}

/// Ratios that an axis of so much room names, with their words.
fn ticks_of(scale: Scale, room: f64) -> Vec<(f64, String)> {
    match scale {
        Scale::Percent { low, high } => {
            let words = |change: f64| format!("{change:+}%").replace("+0%", "0%");
            ticks(low, high, 6).into_iter().map(|change| (1.0 + change / 100.0, words(change))).collect()
        }
        Scale::Factor { low, high } => {
            let all = factor_ticks(low, high);
            let one = all.iter().position(|(ratio, _)| *ratio >= 1.0).unwrap_or(0);
            let step = (all.len() as f64 * TICK_ROOM / room.max(TICK_ROOM)).ceil() as usize;
            all.into_iter()
                .enumerate()
                .filter(|(i, _)| i.abs_diff(one) % step.max(1) == 0)
                .map(|(_, tick)| tick)
                .collect()
        }
    }
}

fn forest_line(drawing: &mut Svg, line: &ForestLine, y: f64, (left, right): (f64, f64), x: impl Fn(f64) -> f64) {
    let colour = colour(line.call);
    let base = y + 0.35 * FONT;
    drawing.text((left - AIR, base), Align::Right, FONT, INK, &line.label);
    if let Some((low, high)) = line.interval {
        drawing.line((x(low), y), (x(high), y), colour, 1.4, "");
        for end in [low, high] {
            drawing.line((x(end), y - 3.0), (x(end), y + 3.0), colour, 1.4, "");
        }
    }
    drawing.mark((x(line.ratio), y), 3.0, colour, true);
    drawing.text((right + AIR, base), Align::Left, FONT, INK, &line.text);
}

/// Colour of a call, of which the words stand beside it.
const fn colour(call: Call) -> &'static str {
    match call {
        Call::Better => "#009e73",
        Call::Worse => "#d55e00",
        Call::SmallChange => "#0072b2",
        Call::Same => "#444444",
        Call::CannotTell => "#8a8f98",
    }
}

fn blocks(record: &CompareRecord) -> Option<String> {
    let strips = strips(record);
    if strips.is_empty() {
        return None;
    }
    let mut drawing = Svg::new(WIDTH, STRIP * strips.len() as f64 + AXIS);
    for (i, strip) in strips.iter().enumerate() {
        draw_strip(&mut drawing, record, strip, STRIP * i as f64);
    }
    let bottom = STRIP * strips.len() as f64;
    drawing.text((WIDTH / 2.0, bottom + 20.0), Align::Middle, SMALL, SOFT, "block, in the order of time");
    Some(drawing.finish("Values by block"))
}

fn draw_strip(drawing: &mut Svg, record: &CompareRecord, strip: &Strip, from: f64) {
    let names = strip.arms.iter().chain([&strip.canary]).filter(|line| !line.points.is_empty());
    let named: Vec<&StripLine> = names.collect();
    let widest = named.iter().map(|line| text_width(&line.name, SMALL)).fold(0.0, f64::max).min(0.35 * WIDTH);
    let (left, right, top, bottom) = (44.0, WIDTH - widest - 24.0, from + 22.0, from + STRIP - 10.0);
    let values = || named.iter().flat_map(|line| &line.points).map(|point| point.relative);
    let (low, high) = (values().fold(1.0, f64::min), values().fold(1.0, f64::max));
    let air = 0.08 * (high - low).max(0.02);
    let (low, high) = (low - air, high + air);
    let last = record.blocks.len().max(2) as f64;
    let place_of = |block: usize, relative: f64| {
        let x = left + (right - left) * (block as f64 - 0.5) / last;
        (x, bottom - (bottom - top) * (relative - low) / (high - low))
    };
    let title = format!("{} {}, relative to {}", strip.metric.words(), place(record, strip.load), baseline(record));
    drawing.text((left, from + 14.0), Align::Left, FONT, INK, &title);
    for percent in ticks(100.0 * low, 100.0 * high, 4) {
        let (_, y) = place_of(1, percent / 100.0);
        drawing.line((left, y), (right, y), BAND, 0.6, "");
        drawing.text((left - 4.0, y + 0.35 * SMALL), Align::Right, SMALL, INK, &format!("{percent}%"));
    }
    for block in ticks(1.0, last, 10).into_iter().filter(|tick| tick.fract() == 0.0) {
        let (x, _) = place_of(block as usize, 1.0);
        drawing.text((x, bottom + 9.0), Align::Middle, SMALL, INK, &format!("{block}"));
    }
    for (i, line) in named.iter().enumerate() {
        let is_canary = i == strip.arms.len();
        let (colour, dash) = if is_canary { (SOFT, "2 2") } else { (COLOURS[i % COLOURS.len()], "") };
        let points: Vec<(f64, f64)> = line.points.iter().map(|point| place_of(point.block, point.relative)).collect();
        drawing.path(&points, colour, 0.9, dash);
        for (at, point) in points.iter().zip(&line.points) {
            drawing.mark(*at, if is_canary { 1.4 } else { 2.2 }, colour, point.counted);
        }
        let y = top + 12.0 * i as f64 + 6.0;
        drawing.line((right + 8.0, y - 3.0), (right + 18.0, y - 3.0), colour, 1.4, dash);
        drawing.text((right + 21.0, y), Align::Left, SMALL, INK, &line.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::testing::comparison;

    #[test]
    fn figures_are_documents_with_every_quantity_and_block() {
        let record = comparison();
        let all = figures(&record);
        assert_eq!(all.iter().map(|figure| figure.file).collect::<Vec<_>>(), ["forest.svg", "blocks.svg"]);
        let [forest, blocks] = &all[..] else { panic!("two figures") };
        assert!(forest.svg.contains(">goodput, saturation<") && forest.svg.contains(">-11 % (-13.0 to -9.0 %)<"));
        assert!(blocks.svg.contains(">canary (CPU per request)<"), "{}", blocks.svg);
        // two strips of two variants and the canary in 19 blocks
        assert_eq!(blocks.svg.matches("<circle").count(), 2 * 3 * 19);
        for figure in &all {
            assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf") && !figure.svg.contains("script"));
        }
    }

    #[test]
    fn words_of_factors_have_room_and_no_change_is_among_them() {
        let names = |room| ticks_of(Scale::Factor { low: 0.001, high: 900.0 }, room);
        let words: Vec<String> = names(100.0).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["1/1000", "1", "1000"]);
        assert_eq!(names(1e4).len(), 7);
    }

    #[test]
    fn a_foreign_record_draws_whatever_it_holds() {
        let mut record = comparison();
        for metric in &mut record.metrics {
            metric.ratio.value = 0.0;
            metric.ratio.low = None;
        }
        record.margin = 0.0;
        assert_eq!(figures(&record).len(), 2);
        record.arms.clear();
        record.blocks.clear();
        assert!(figures(&record).is_empty());
    }
}
