//! Canaries: blocks in which the machine itself was slower or faster than in the others.

use super::Block;
use stats::strays;

/// Blocks that count, with what the canary cost in them, as far as that is known.
pub(crate) fn canaries(blocks: &[Block]) -> Vec<(usize, f64)> {
    let counted = blocks.iter().enumerate().filter(|(_, block)| block.counts());
    counted.filter_map(|(index, block)| Some((index, block.canary()?))).collect()
}

/// Those of them whose canary is far from the median of all; none while there are too few.
pub(crate) fn deviating(blocks: &[Block]) -> Vec<usize> {
    let (indices, values): (Vec<usize>, Vec<f64>) = canaries(blocks).into_iter().unzip();
    strays(&values).into_iter().map(|at| indices[at]).collect()
}
