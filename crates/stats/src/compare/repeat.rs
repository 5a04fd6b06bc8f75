//! Blocks that are made again, whole, since disturbed time hit one of the variants more than another.

/// Difference of the undisturbed shares of two trials of a block above which they were not measured alike.
const UNLIKE: f64 = 0.1;
/// Undisturbed share below which a trial has too little of it.
const CLEAN_MIN: f64 = 0.5;
/// Times that a block is made again; then it counts as it is, and says so.
pub const BLOCK_REPEATS_MAX: u32 = 3;

/// True if a block is to be made again, by the undisturbed shares of all its trials, 0 to 1.
///
/// It treats all variants alike, and nothing that was measured of them is known here: whichever direction an effect has,
/// a block is neither kept nor dropped for it. Only one of all variants made again would not do, as the machine may have
/// changed since.
#[must_use]
pub fn should_repeat_block(clean_shares: &[f64]) -> bool {
    let least = clean_shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = clean_shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    least < CLEAN_MIN || most - least > UNLIKE
}

/// The same for two variants that were measured at the same time (a duet): what disturbed both of them alike cancels, however
/// much it was, and only a disturbance that one had more of than the other is in the way.
#[must_use]
pub fn should_repeat_duet(clean_shares: [f64; 2]) -> bool {
    (clean_shares[0] - clean_shares[1]).abs() > UNLIKE
}

#[cfg(test)]
mod tests {
    use super::{should_repeat_block, should_repeat_duet};

    #[test]
    fn what_disturbed_both_of_a_duet_alike_is_kept() {
        for (shares, repeats) in [([1.0, 1.0], false), ([0.3, 0.25], false), ([0.9, 0.7], true), ([0.2, 0.4], true)] {
            assert_eq!(should_repeat_duet(shares), repeats, "{shares:?}");
            assert_eq!(should_repeat_duet([shares[1], shares[0]]), repeats, "{shares:?}");
        }
    }

    #[test]
    fn a_block_is_repeated_if_its_trials_were_not_measured_alike() {
        for (shares, repeats) in [
            (&[][..], false),
            (&[1.0, 1.0], false),
            (&[0.95, 1.0], false),
            (&[0.7, 0.75, 0.72], false),
            (&[1.0, 0.8], true),
            (&[1.0, 0.98, 0.85], true),
            (&[0.4, 0.45], true),
        ] {
            assert_eq!(should_repeat_block(shares), repeats, "{shares:?}");
            let reversed: Vec<f64> = shares.iter().copied().rev().collect();
            assert_eq!(should_repeat_block(&reversed), repeats, "the order does not matter: {shares:?}");
        }
    }
}
