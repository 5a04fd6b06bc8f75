//! Comparison of variants that were measured in shuffled blocks: effect, call, blocks needed, when to stop, and the floor.
//!
//! Each block gives a log ratio `d = ln(variant / baseline)`; what is slow in the whole block, as drift is, is in both and
//! cancels. Everything here is symmetric in the two, so that none of them is favoured.

mod call;
mod effect;
mod floor;
mod holm;
mod looks;
mod precision;
mod repeat;
mod signed_rank;
mod trimmed;

pub use call::call;
pub use effect::effect;
pub use floor::{FLAGGED_MAX, floor, resolvable, share_interval};
pub use holm::{holm, with_holm};
pub use looks::{Looks, Quantity, Stop};
pub use precision::{blocks_needed, precision};
pub use repeat::{BLOCK_REPEATS_MAX, should_repeat_block, should_repeat_duet};
