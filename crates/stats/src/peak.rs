//! The peak of a curve: where its plateau begins.

/// Goodput of at least this share of the highest counts as just as high. On a plateau the highest point is the
/// highest by chance, and repeats of one load differ by about one percent on a quiet machine.
pub const PEAK_SHARE: f64 = 0.99;

/// Position of the peak in a curve of rising load: the first point within 1 % ([`PEAK_SHARE`]) of the highest
/// goodput, which is the least load that gets out what there is to get. None for an empty curve.
#[must_use]
pub fn peak_index(goodput_per_s: &[f64]) -> Option<usize> {
    let highest = goodput_per_s.iter().copied().fold(0.0, f64::max);
    goodput_per_s.iter().position(|value| *value >= PEAK_SHARE * highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_where_the_plateau_begins() {
        assert_eq!(peak_index(&[458.0, 1_826.0, 1_943.0, 1_982.0, 1_988.0, 1_996.0]), Some(3));
        assert_eq!(peak_index(&[100.0, 200.0, 150.0]), Some(1));
        assert_eq!(peak_index(&[100.0, 197.9, 200.0]), Some(2));
        assert_eq!(peak_index(&[100.0, 198.0, 200.0]), Some(1));
    }

    #[test]
    fn nothing_good_peaks_at_the_first_load_and_no_point_nowhere() {
        assert_eq!(peak_index(&[0.0, 0.0]), Some(0));
        assert_eq!(peak_index(&[]), None);
    }
}
