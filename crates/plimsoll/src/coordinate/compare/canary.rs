//! Canaries: blocks in which the machine itself was slower or faster than in the others.

use super::Block;
use stats::strays;

/// Blocks that count whose canary is far from the median of all; none while there are too few.
pub(crate) fn deviating(blocks: &[Block]) -> Vec<usize> {
    let known = blocks.iter().enumerate().filter(|(_, block)| block.counts());
    let (indices, values): (Vec<usize>, Vec<f64>) =
        known.filter_map(|(index, block)| Some((index, block.canary()?))).unzip();
    strays(&values).into_iter().map(|at| indices[at]).collect()
}
