//! Why a ratio is a bound.

use crate::coordinate::compare::{Block, BlockSearch};
use model::human::plural;
use model::{ArmRecord, Bound, CompareLoad};

/// Which of the two variants has bounds, of which kind, in how many blocks; none where all values are known.
pub(super) fn why(search: &BlockSearch, arms: &[ArmRecord], arm: usize, load: CompareLoad) -> Option<String> {
    let blocks: Vec<&Block> = search.blocks().iter().filter(|block| block.counts()).collect();
    let mut said = Vec::new();
    for of in [0, arm] {
        for (bound, words) in
            [(Bound::AtLeast, "held the highest rate tried"), (Bound::AtMost, "failed at every rate tried")]
        {
            let bounded = blocks.iter().filter(|block| block.bound(of, load) == Some(bound)).count() as u64;
            if bounded > 0 {
                let name = super::name(arms, of);
                said.push(format!("'{name}' {words} in {bounded} of {}", plural(blocks.len() as u64, "block")));
            }
        }
    }
    (!said.is_empty()).then(|| said.join(", and "))
}
