//! Links whose speed is known.

use super::input::LimiterInput;
use crate::facts::kernel::{carries_load, interface_bytes};
use std::collections::BTreeMap;

/// The fuller direction of every link whose speed is known, as a share of it; of those that carried the load.
pub(super) fn links(input: &LimiterInput<'_>) -> Vec<(String, f64)> {
    let of = |(name, counters): (&str, &BTreeMap<String, u64>)| {
        let bit_per_s = *input.context.links_bit_per_s.get(name)?;
        Some((name.to_owned(), interface_bytes(counters)? as f64 * 8.0 / input.seconds() / bit_per_s))
    };
    input.parts("nic").filter(|(_, counters)| carries_load(input.evidence, counters)).filter_map(of).collect()
}
