//! Randomised blocks: each has everything once, in an order of its own, so that a drift does not look like an effect.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// So many blocks of `items`, each shuffled (Fisher and Yates).
#[must_use]
pub fn shuffled_blocks<T: Clone>(items: &[T], blocks: usize, seed: u64) -> Vec<Vec<T>> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let block = |_| {
        let mut block = items.to_vec();
        for i in (1..block.len()).rev() {
            block.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        block
    };
    (0..blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_everything_once_and_orders_differ() {
        let blocks = shuffled_blocks(&[1, 2, 3], 50, 7);
        let sorted = |block: &Vec<i32>| {
            let mut block = block.clone();
            block.sort_unstable();
            block
        };
        assert!(blocks.len() == 50 && blocks.iter().all(|block| sorted(block) == [1, 2, 3]));
        assert_eq!(blocks.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "every order occurs");
        assert_eq!(shuffled_blocks(&[1, 2, 3], 50, 7), blocks, "the same for the same seed");
    }
}
