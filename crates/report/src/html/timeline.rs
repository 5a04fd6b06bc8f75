//! The time axis that the charts of a run share, and what was seen beside the load along it.

use model::{Observed, RunRecord, SeriesFigure};
use plotly::layout::Axis;

/// Points of a curve; the seconds of a longer run are drawn in means of several.
const POINTS_MAX: usize = 600;
/// Air at the right end of the axis, in parts of it.
const AIR: f64 = 0.01;

/// What was seen beside the load, in points from the opening of the window.
pub(super) struct Timeline<'a> {
    pub(super) observed: &'a Observed,
    /// End of each point, seconds since the window opened.
    pub(super) ends_s: Vec<f64>,
    /// Begin of the first.
    pub(super) begin_s: f64,
    /// Seconds in a point.
    step: usize,
}

/// Something by name, with a value in each point where it is known.
pub(super) type Named<'a> = (&'a str, Vec<Option<f64>>);

impl<'a> Timeline<'a> {
    /// None without seconds, as there is no axis then, and of a record from before anything was observed.
    pub(super) fn of(record: &'a RunRecord) -> Option<Self> {
        let begin_ns = record.seconds.first()?.from_ns;
        let observed = record.observed.as_ref()?;
        let step = observed.seconds.len().div_ceil(POINTS_MAX).max(1);
        let at_s = |ns: u64| ns.saturating_sub(begin_ns) as f64 / 1e9;
        let ends = observed.seconds.chunks(step).filter_map(|seconds| seconds.last());
        let ends_s = ends.map(|second| to_digits(at_s(second.from_ns + second.length_ns))).collect();
        let begin_s = observed.seconds.first().map_or(0.0, |second| at_s(second.from_ns));
        Some(Self { observed, ends_s, begin_s, step })
    }

    /// True if there are enough points for a curve.
    pub(super) fn has_curves(&self) -> bool {
        self.ends_s.len() > 1
    }

    /// How much time a point stands for.
    pub(super) fn each(&self) -> String {
        if self.step == 1 { "each second".to_owned() } else { format!("means of {} s", self.step) }
    }

    /// The mean of each point; none where no value is known.
    pub(super) fn means(&self, values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
        let values: Vec<_> = values.collect();
        let mean = |of: &[Option<f64>]| {
            let known: Vec<f64> = of.iter().copied().flatten().collect();
            (!known.is_empty()).then(|| to_digits(known.iter().sum::<f64>() / known.len() as f64))
        };
        let mut means: Vec<_> = values.chunks(self.step).map(mean).collect();
        means.resize(self.ends_s.len(), None);
        means
    }

    /// All series of a figure, the largest on the whole first.
    pub(super) fn series(&self, figure: SeriesFigure) -> Vec<Named<'a>> {
        let of_figure = self.observed.series.iter().filter(|series| series.figure == figure);
        let mut named: Vec<Named<'_>> = of_figure
            .map(|series| (series.of.as_str(), self.means(series.values.iter().map(|value| value.map(f64::from)))))
            .collect();
        named.sort_by(|a, b| total(&b.1).total_cmp(&total(&a.1)));
        named
    }

    /// Where the values are known, and what they are.
    pub(super) fn known(&self, values: &[Option<f64>]) -> (Vec<f64>, Vec<f64>) {
        self.ends_s.iter().zip(values).filter_map(|(x, y)| Some((*x, (*y)?))).unzip()
    }

    /// Why there is nothing of `part`.
    pub(super) fn why_not(&self, part: &str) -> String {
        match self.observed.unavailable.get(part) {
            Some(why) => why.clone(),
            None if !self.has_curves() => "there are fewer than two seconds to draw".to_owned(),
            None if self.observed.series.is_empty() => "this result has it for the whole window only".to_owned(),
            None => "nothing of it was seen".to_owned(),
        }
    }
}

/// The axis of all of a run's charts, from the opening of the window to its end.
pub(super) fn clock(record: &RunRecord) -> Axis {
    let begin_ns = record.seconds.first().map_or(0, |second| second.from_ns);
    let loads = record.seconds.iter().map(|second| second.from_ns + second.length_ns);
    let looks = record.observed.iter().flat_map(|observed| &observed.seconds).map(|look| look.from_ns + look.length_ns);
    let end_s = loads.chain(looks).max().unwrap_or(0).saturating_sub(begin_ns) as f64 / 1e9;
    Axis::new()
        .title("seconds since the window opened")
        .hover_format(".1f")
        .range(vec![0.0, to_digits(end_s * (1.0 + AIR))])
        .zero_line(false)
}

fn total(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().sum()
}

/// As many digits as an eye can tell apart: pages are large enough.
pub(super) fn to_digits(value: f64) -> f64 {
    const DIGITS: i32 = 5;
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi((DIGITS - 1 - value.abs().log10().floor() as i32).clamp(-300, 300));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ObservedSecond, SeriesObserved};

    #[test]
    fn a_long_run_is_drawn_in_means() {
        let second =
            |i: u64| ObservedSecond { from_ns: i * 1_000_000_000, length_ns: 1_000_000_000, ..Default::default() };
        let values = (0..1_500).map(|i| (i != 2).then_some(i as f32)).collect();
        let series = vec![SeriesObserved { of: "x".into(), values, ..SeriesObserved::default() }];
        let observed = Observed { seconds: (0..1_500).map(second).collect(), series, ..Observed::default() };
        let (step, ends_s) = (3, (1..=500).map(|i| f64::from(i) * 3.0).collect());
        let timeline = Timeline { observed: &observed, ends_s, begin_s: 0.0, step };
        let named = timeline.series(SeriesFigure::CpuCores);
        assert_eq!((named[0].0, named[0].1.len()), ("x", 500));
        assert_eq!(named[0].1[..2], [Some(0.5), Some(4.0)]);
        assert_eq!(timeline.each(), "means of 3 s");
    }

    #[test]
    fn digits_are_few() {
        assert_eq!([0.0, 0.123_456_7, 1_234_567.0, 59.999_999].map(to_digits), [0.0, 0.12346, 1_234_600.0, 60.0]);
    }
}
