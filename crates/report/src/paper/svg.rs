//! A plain SVG drawing: lines, marks and text, no scripts, no styles from elsewhere.

use crate::visible;
use std::fmt::Write as _;

/// Width of a figure across the page; points.
pub(super) const WIDTH: f64 = 500.0;
pub(super) const FONT: f64 = 9.0;
pub(super) const SMALL: f64 = 8.0;
pub(super) const INK: &str = "#222222";
pub(super) const SOFT: &str = "#777777";
/// Colours that differ in print and to the colour-blind (Okabe and Ito 2008); the first is the baseline.
pub(super) const COLOURS: [&str; 6] = ["#444444", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// Where a text begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// A drawing in points of print, the origin at the upper left.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        self.put(format_args!(
            r#"<line x1="{:.2}" y1="{:.2}" x2="{:.2}" y2="{:.2}" stroke="{colour}" stroke-width="{width}"{dash}/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        self.put(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>"#,
            points.join(" ")
        ));
    }

    /// A broad pale line through points; nothing through fewer than two.
    pub(super) fn broad(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        if points.len() < 2 {
            return;
        }
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        self.put(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-opacity="0.25" stroke-width="{width}"/>"#,
            points.join(" ")
        ));
    }

    /// Two strokes across a point.
    pub(super) fn cross(&mut self, (x, y): (f64, f64), size: f64, colour: &str) {
        self.line((x - size, y - size), (x + size, y + size), colour, 1.8, "");
        self.line((x - size, y + size), (x + size, y - size), colour, 1.8, "");
    }

    pub(super) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        self.put(format_args!(
            r#"<rect x="{:.2}" y="{:.2}" width="{:.2}" height="{:.2}" fill="{colour}"/>"#,
            at.0,
            at.1,
            size.0.max(0.0),
            size.1.max(0.0)
        ));
    }

    /// A mark: a disc, or a ring where `filled` is false.
    pub(super) fn mark(&mut self, at: (f64, f64), radius: f64, colour: &str, filled: bool) {
        let fill = if filled { colour } else { "white" };
        self.put(format_args!(
            r#"<circle cx="{:.2}" cy="{:.2}" r="{radius}" fill="{fill}" stroke="{colour}" stroke-width="1"/>"#,
            at.0, at.1
        ));
    }

    pub(super) fn text(&mut self, at: (f64, f64), align: Align, size: f64, colour: &str, text: &str) {
        let anchor = match align {
            Align::Left => "start",
            Align::Middle => "middle",
            Align::Right => "end",
        };
        self.put(format_args!(
            r#"<text x="{:.2}" y="{:.2}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{}</text>"#,
            at.0,
            at.1,
            escaped(text)
        ));
    }

    /// The document.
    pub(super) fn finish(self, title: &str) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}pt\" height=\"{height:.0}pt\" viewBox=\"0 0 \
             {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>{}</title>\n<rect \
             width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to memory cannot fail");
    }
}

/// About how wide a text is.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    WIDTH_PER_SIZE * size * text.chars().count() as f64
}

/// Mean width of a letter of Helvetica.
const WIDTH_PER_SIZE: f64 = 0.58;

/// Text that is no markup.
fn escaped(text: &str) -> String {
    let text = visible::line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What arithmetic may be off by.
const ROUNDING: f64 = 0.999_999;

/// Round values between two ends, about `count` of them; each prints with the digits that its step has.
pub(super) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = rough.log10().floor();
    let scale = 10f64.powf(power);
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * scale >= ROUNDING * rough).unwrap_or(10.0);
    let step = digit * scale;
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    // A tenth has no exact value: 3 / 10 is the nearest to 0.3, 3 * 0.1 is not.
    let value = |i: f64| if power < 0.0 { i * digit / 10f64.powf(-power) } else { i * step };
    (first..=last).map(|i| value(i as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_a_document_without_scripts_and_text_is_no_markup() {
        let mut drawing = Svg::new(100.0, 50.0);
        drawing.text((1.0, 2.0), Align::Right, 8.0, "black", "<script>alert('a & b')</script>\n");
        drawing.mark((1.0, 2.0), 3.0, "red", false);
        let text = drawing.finish("\"x\"");
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert!(
            !text.contains("<script") && text.contains("&lt;script&gt;alert('a &amp; b')&lt;/script&gt;\\n"),
            "{text}"
        );
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-13.0, 14.5, 6), [-10.0, -5.0, 0.0, 5.0, 10.0]);
        assert_eq!(ticks(0.97, 1.03, 3), [0.98, 1.0, 1.02]);
        assert_eq!(
            ticks(-0.1, 0.33, 5).iter().map(f64::to_string).collect::<Vec<_>>(),
            ["-0.1", "0", "0.1", "0.2", "0.3"]
        );
        assert!(ticks(1.0, 1.0, 5).is_empty() && ticks(f64::NAN, 1.0, 5).is_empty());
    }
}
