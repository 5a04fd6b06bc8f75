//! Several variants at once: Holm's step-down correction.

use model::Effect;

/// Adjusted p-values, in the order of the given ones: with them each of several variants may be held against 5 %, and one
/// that has no effect is flagged in at most 5 % of all comparisons (Holm, "A Simple Sequentially Rejective Multiple Test
/// Procedure", Scandinavian Journal of Statistics 6(2), 1979).
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut last = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        last = last.max((left * p_values[index]).min(1.0));
        adjusted[index] = last;
    }
    adjusted
}

/// Sets [`Effect::p_adjusted`] of the variants of one comparison; one variant needs none, and those without a p-value get
/// none.
pub fn with_holm(variants: &mut [Effect]) {
    if variants.len() < 2 {
        return;
    }
    let known: Vec<f64> = variants.iter().filter_map(|variant| variant.p_value).collect();
    let mut adjusted = holm(&known).into_iter();
    for variant in variants.iter_mut().filter(|variant| variant.p_value.is_some()) {
        variant.p_adjusted = adjusted.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect;

    /// As R's `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")` has it.
    #[test]
    fn each_is_multiplied_by_how_many_are_left() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (is, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((is - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!((holm(&[]), holm(&[0.2]), holm(&[0.9, 0.8])), (vec![], vec![0.2], vec![1.0, 1.0]));
    }

    #[test]
    fn variants_without_a_p_value_do_not_count() {
        let pairs = |ratio: f64| (0..8).map(|i| (100.0, 100.0 * ratio + f64::from(i % 3))).collect::<Vec<_>>();
        let of = |pairs: &[(f64, f64)]| effect(pairs, 0.95).unwrap();
        let mut variants = [of(&pairs(1.001)), of(&[(1.0, 2.0)]), of(&pairs(1.2))];
        with_holm(&mut variants);
        let [small, none, large] = variants;
        assert_eq!((small.p_adjusted, none.p_adjusted), (small.p_value, None));
        assert_eq!(large.p_adjusted, large.p_value.map(|p| 2.0 * p));
        let mut one = [of(&pairs(1.2))];
        with_holm(&mut one);
        assert_eq!(one[0].p_adjusted, None);
    }
}
