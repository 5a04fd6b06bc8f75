//! Sums of numbers of a record, which may come from anywhere.

/// At most the largest number there is.
pub(crate) fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}
