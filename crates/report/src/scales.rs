//! Places on logarithmic axes, for the page and for figures.

use model::human;

/// Labels an axis has room for on a narrow screen.
const TICKS_MAX: usize = 7;

/// Round values between two ends, or hardly outside of them; few enough for an axis.
pub(crate) fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let steps: [&[f64]; 3] = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0]];
    let mut choices = steps.into_iter().map(|steps| decades(low, high, steps));
    choices.find(|ticks| ticks.len() <= TICKS_MAX).unwrap_or_else(|| decades(low, high, &[1.0]))
}

/// Loads from `low` on, each the same number of doublings from the one before.
pub(crate) fn load_ticks(low: f64, high: f64) -> Vec<f64> {
    let doublings = (high / low).log2().max(1.0);
    let step = (doublings / (TICKS_MAX - 1) as f64).ceil().max(1.0);
    let count = (doublings / step).floor() as i32;
    (0..=count).map(|i| low * (step * f64::from(i)).exp2()).collect()
}

/// A time without the zeros of a round number: `20 ms`.
pub(crate) fn short_time(ns: f64) -> String {
    let text = human::time(ns);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    format!("{} {unit}", without_zeros(number))
}

/// A number without zeros at its end that say nothing.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Round factors between two ends with their words: `1/10`, `1`, `10`.
pub(crate) fn factor_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let words = |ratio: f64| if ratio < 1.0 { format!("1/{}", short_load(1.0 / ratio)) } else { short_load(ratio) };
    round_ticks(low, high).into_iter().map(|ratio| (ratio, words(ratio))).collect()
}

/// A load in little room.
pub(crate) fn short_load(load: f64) -> String {
    if load < 10_000.0 {
        return format!("{}", (load * 10.0).round() / 10.0);
    }
    let text = human::short(load);
    let (number, unit) = text.split_at(text.len() - 1);
    format!("{}{unit}", without_zeros(number))
}

/// Smallest and largest of the positive values; apart from each other, so that they make an axis.
pub(crate) fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    if high <= 0.0 { (1.0, 10.0) } else { (low, high.max(low * 1.5)) }
}

/// `steps` times powers of ten between `low` and `high`, or hardly outside of it.
fn decades(low: f64, high: f64, steps: &[f64]) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    all.filter(|tick| (low * 0.8..=high * 1.25).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(decades(1.5e6, 60e6, &[1.0, 2.0, 5.0]), [2e6, 5e6, 1e7, 2e7, 5e7]);
        assert_eq!(load_ticks(1.0, 1024.0), [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]);
        assert_eq!([1e6, 2e4, 5e8, 1e9].map(short_time), ["1 ms", "20 µs", "500 ms", "1 s"]);
        assert_eq!(extremes([0.0, 4.0, 9.0].into_iter()), (4.0, 9.0));
        let words: Vec<String> = factor_ticks(0.009, 800.0).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["1/100", "1/10", "1", "10", "100", "1000"]);
        assert_eq!(extremes([].into_iter()), (1.0, 10.0));
        assert_eq!(
            [1.0, 2.5, 4096.0, 20_000.0, 12_345.0, 1e6].map(short_load),
            ["1", "2.5", "4096", "20k", "12.3k", "1M"]
        );
    }
}
