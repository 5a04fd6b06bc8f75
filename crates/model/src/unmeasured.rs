//! Numbers that are 0 where nothing was measured. They are written as null, so that nobody takes them for a measurement.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a number, and null for 0.
pub(crate) fn serialize<N: Serialize + Default + PartialEq, S: Serializer>(n: &N, to: S) -> Result<S::Ok, S::Error> {
    Some(n).filter(|n| **n != N::default()).serialize(to)
}

/// Reads a number, and 0 for null.
pub(crate) fn deserialize<'de, N: Deserialize<'de> + Default, D: Deserializer<'de>>(from: D) -> Result<N, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
