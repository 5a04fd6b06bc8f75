//! Goodput against load as a small picture: braille dots, load in doublings.

use model::SweepRecord;
use model::human::short;
use textplots::{Chart, LabelBuilder, LabelFormat, Plot, Shape};

/// Lines of the picture itself; title, axis, ticks and marks come on top.
const ROWS: usize = 10;
/// Columns of the picture at most; a wider one tells no more.
const COLUMNS_MAX: usize = 66;
/// Columns below which there is no picture.
const COLUMNS_MIN: usize = 20;
/// What the horizontal axis does; left out where there is no room.
const SCALE: &str = " (each doubling the same width)";
/// Dots of the vertical line at the knee.
const KNEE_DOTS: usize = 20;

/// At most 16 lines, or none when there are fewer than two points or columns.
pub(crate) fn curve(record: &SweepRecord, axis: &str, width: usize) -> Option<String> {
    let points = points(record);
    let grid = Grid::around(&points, width)?;
    let knee = record.knee.filter(|knee| knee.load > 0.0).map(|knee| (knee.load, knee.load.log2() as f32));
    let knee = knee.filter(|(_, x)| (grid.left..=grid.right).contains(x));
    let top = grid.top as f32;
    let upright: Vec<_> =
        knee.map(|(_, x)| (0..KNEE_DOTS).map(|i| (x, top * i as f32 / KNEE_DOTS as f32)).collect()).unwrap_or_default();
    let lines = grid.picture(&[Shape::Lines(&points), Shape::Points(&upright)]);
    let mut out = grid.framed(&lines, axis, width, &ticks(&[record]));
    let mut marks = Vec::new();
    if let Some((load, x)) = knee {
        let ends = record.knee.and_then(|knee| knee.low.zip(knee.high)).filter(|(low, _)| *low > 0.0);
        let [left, right] = ends.map_or([x; 2], |(low, high)| [low.log2() as f32, high.log2() as f32]);
        let [left, right] = [left, right].map(|end| grid.column(end));
        marks.push((Mark { left, at: grid.column(x), right }, format!("knee {}", rounded(load))));
    }
    if let Some(peak) = record.peak.filter(|peak| peak.load > 0.0) {
        let at = grid.column(peak.load.log2() as f32);
        marks.push((Mark { left: at, at, right: at }, format!("peak {}", rounded(peak.load))));
    }
    for (mark, name) in marks {
        out.push_str(&mark_line(mark, &name, grid.margin, grid.columns));
    }
    Some(out)
}

/// Several curves in one picture, each with its letter at the points measured, and `*` where several fall together. At
/// most 14 lines, or none when there are fewer than two points or columns.
pub(crate) fn curves(all: &[(char, &SweepRecord)], axis: &str, width: usize) -> Option<String> {
    let each: Vec<_> = all.iter().map(|(letter, record)| (*letter, points(record))).collect();
    let mut points: Vec<_> = each.iter().flat_map(|(_, points)| points).copied().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let grid = Grid::around(&points, width)?;
    let shapes: Vec<_> = each.iter().map(|(_, points)| Shape::Lines(points)).collect();
    let mut lines: Vec<Vec<char>> = grid.picture(&shapes).iter().map(|line| line.chars().collect()).collect();
    for (letter, points) in &each {
        for (x, y) in points {
            let line = &mut lines[grid.row(*y)];
            line.resize(line.len().max(grid.columns), ' ');
            let place = &mut line[grid.column(*x)];
            *place = if place.is_ascii_graphic() && *place != *letter { '*' } else { *letter };
        }
    }
    let lines: Vec<String> = lines.into_iter().map(String::from_iter).collect();
    let records: Vec<_> = all.iter().map(|(_, record)| *record).collect();
    let mut out = grid.framed(&lines, axis, width, &ticks(&records));
    if lines.iter().any(|line| line.contains('*')) {
        out.push_str(&format!("{}* several\n", " ".repeat(grid.margin)));
    }
    Some(out)
}

/// Load in doublings and goodput of each point.
fn points(record: &SweepRecord) -> Vec<(f32, f32)> {
    let drawn = record.curve.iter().filter(|point| point.load > 0.0);
    drawn.map(|point| (point.load.log2() as f32, point.goodput_per_s as f32)).collect()
}

/// The loads of all curves in rising order, each once, and where they stand in doublings.
fn ticks(records: &[&SweepRecord]) -> Vec<(f32, f64)> {
    let points = records.iter().flat_map(|record| &record.curve);
    let mut loads: Vec<f64> = points.map(|point| point.load).filter(|load| *load > 0.0).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads.into_iter().map(|load| (load.log2() as f32, load)).collect()
}

/// Where things are in a picture.
struct Grid {
    /// Ends of the horizontal axis, in doublings.
    left: f32,
    right: f32,
    /// Upper end of the vertical axis.
    top: f64,
    /// Columns of the labels and the edge.
    margin: usize,
    /// Columns of the picture itself.
    columns: usize,
}

impl Grid {
    /// Room for `points`, which rise from left to right.
    fn around(points: &[(f32, f32)], width: usize) -> Option<Self> {
        let highest = points.iter().map(|(_, y)| *y).fold(0.0, f32::max);
        let (left, right) = (points.first()?.0, points.last()?.0);
        if right <= left || highest <= 0.0 {
            return None;
        }
        let top = nice_above(f64::from(highest));
        let margin = Self::labels(top).iter().map(|label| label.chars().count()).max().unwrap_or(0) + 2;
        let columns = width.checked_sub(margin + 1).filter(|columns| *columns >= COLUMNS_MIN)?.min(COLUMNS_MAX);
        Some(Self { left, right, top, margin, columns })
    }

    fn labels(top: f64) -> [String; 3] {
        [trimmed(top), trimmed(top / 2.0), "0".to_owned()]
    }

    fn column(&self, x: f32) -> usize {
        let column = (((x - self.left) / (self.right - self.left)) * (self.columns - 1) as f32).round() as usize;
        // In a foreign record the peak may be anywhere.
        column.min(self.columns - 1)
    }

    /// The line of a value, as the dots are placed.
    fn row(&self, y: f32) -> usize {
        let dots = 4 * ROWS - 1;
        let from_bottom = (y / self.top as f32 * dots as f32).round() as usize;
        dots.saturating_sub(from_bottom) / 4
    }

    /// The dots as lines of text, all as wide as the picture.
    fn picture(&self, shapes: &[Shape<'_>]) -> Vec<String> {
        // The canvas includes its last dot, hence one less than two dots a column and four a row.
        let (dots_wide, dots_high) = (2 * self.columns as u32 - 1, 4 * ROWS as u32 - 1);
        let mut chart = Chart::new_with_y_range(dots_wide, dots_high, self.left, self.right, 0.0, self.top as f32);
        let chart = chart.x_label_format(LabelFormat::None);
        let chart = shapes.iter().fold(chart, |chart, shape| chart.lineplot(shape));
        chart.figures();
        let frame = chart.frame();
        let mut lines: Vec<_> = frame.lines().map(str::to_owned).collect();
        lines.resize(ROWS, String::new());
        lines
    }

    /// The picture with its title, its axes and the loads below.
    fn framed(&self, lines: &[String], axis: &str, width: usize, ticks: &[(f32, f64)]) -> String {
        let labels = Self::labels(self.top);
        let mut out = format!("goodput per second by {axis}");
        if out.len() + SCALE.len() <= width {
            out.push_str(SCALE);
        }
        out.push('\n');
        for (i, line) in lines.iter().enumerate() {
            let label = match i {
                0 => labels[0].as_str(),
                _ if i == ROWS / 2 => labels[1].as_str(),
                _ if i == ROWS - 1 => labels[2].as_str(),
                _ => "",
            };
            let edge = if label.is_empty() { '│' } else { '┤' };
            out.push_str(format!("{label:>w$} {edge}{line}", w = self.margin - 2).trim_end());
            out.push('\n');
        }
        out.push_str(&format!("{}└{}\n", " ".repeat(self.margin - 1), "─".repeat(self.columns)));
        out.push_str(&tick_line(ticks, self.margin, self.columns, |x| self.column(x)));
        out
    }
}

/// Loads under their place, as many as fit without touching.
fn tick_line(ticks: &[(f32, f64)], margin: usize, columns: usize, place: impl Fn(f32) -> usize) -> String {
    let mut line: Vec<char> = vec![' '; margin + columns + 8];
    let mut put = |x: f32, load: f64| {
        let text: Vec<char> = rounded(load).chars().collect();
        let start = (margin + place(x)).saturating_sub(text.len() / 2);
        let start = start.min((margin + columns).saturating_sub(text.len()));
        let room = start.saturating_sub(1)..(start + text.len() + 1).min(line.len());
        if line[room].iter().all(|c| *c == ' ') {
            line[start..start + text.len()].copy_from_slice(&text);
        }
    };
    // The ends first: they matter most.
    let inner = ticks.len().saturating_sub(1).max(1);
    for (x, load) in ticks.first().into_iter().chain(ticks.last()).chain(&ticks[1..inner]) {
        put(*x, *load);
    }
    line.into_iter().collect::<String>().trim_end().to_owned() + "\n"
}

/// Columns of a place below the picture and of the interval round it.
#[derive(Clone, Copy)]
struct Mark {
    left: usize,
    at: usize,
    right: usize,
}

/// `├─^─┤ name` below its columns, or `name ├─^─┤` where there is no room to the right.
fn mark_line(mark: Mark, name: &str, margin: usize, columns: usize) -> String {
    let (left, right) = (mark.left.min(mark.at), mark.right.max(mark.at));
    let symbol = |column: usize| match column {
        _ if column == mark.at => '^',
        _ if column == left => '├',
        _ if column == right => '┤',
        _ => '─',
    };
    let drawn: String = (left..=right).map(symbol).collect();
    let length = name.chars().count() + 1;
    if right + 1 + length <= columns {
        format!("{}{drawn} {name}\n", " ".repeat(margin + left))
    } else {
        format!("{}{name} {drawn}\n", " ".repeat((margin + left).saturating_sub(length)))
    }
}

/// A load in little room: exact as far as people read it.
fn rounded(load: f64) -> String {
    match load {
        v if v < 99.95 && v.fract() != 0.0 => format!("{v:.1}"),
        v if v < 10_000.0 => format!("{v:.0}"),
        v => trimmed(v),
    }
}

/// A round number without its zeros: `4k` for 4000.
fn trimmed(value: f64) -> String {
    let text = short(value);
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

/// The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten.
fn nice_above(value: f64) -> f64 {
    let scale = 10f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.iter().map(|step| step * scale).find(|top| *top >= value).unwrap_or(10.0 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_the_scale_is_round_and_above() {
        assert_eq!([0.7, 1.0, 99.0, 101.0, 176.0, 33_333.0].map(nice_above), [0.8, 1.0, 100.0, 150.0, 200.0, 40_000.0]);
    }

    #[test]
    fn marks_turn_round_at_the_right_edge() {
        let at = |at| Mark { left: at, at, right: at };
        assert_eq!(mark_line(at(0), "knee 2.1", 3, 20), "   ^ knee 2.1\n");
        assert_eq!(mark_line(at(19), "peak 16", 3, 20), "              peak 16 ^\n");
    }

    #[test]
    fn an_interval_is_drawn_round_its_mark() {
        assert_eq!(mark_line(Mark { left: 4, at: 6, right: 7 }, "knee 4", 3, 20), "       ├─^┤ knee 4\n");
        assert_eq!(mark_line(Mark { left: 17, at: 17, right: 19 }, "knee 9", 3, 20), "             knee 9 ^─┤\n");
        // an end of a foreign record may be on the wrong side
        assert_eq!(mark_line(Mark { left: 7, at: 6, right: 4 }, "knee 4", 3, 20), "         ^ knee 4\n");
    }

    #[test]
    fn ticks_do_not_touch() {
        let ticks: Vec<_> = (0..11).map(|i| (i as f32, f64::from(1 << i))).collect();
        let line = tick_line(&ticks, 2, 21, |x| (x * 2.0) as usize);
        assert!(line.trim_end().ends_with("1024") && line.trim_start().starts_with('1'), "{line}");
        assert!(line.trim_end().len() <= 23 && !line.contains("816"), "{line}");
    }
}
