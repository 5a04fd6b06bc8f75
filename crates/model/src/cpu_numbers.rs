//! Numbers of CPUs beside lists that have a place for each: those that are offline leave gaps, so that a place is no number.

/// The numbers as they are kept: none where they are the places.
pub(crate) fn kept(numbers: Vec<u32>) -> Vec<u32> {
    let are_places = numbers.iter().copied().eq(0..numbers.len() as u32);
    if are_places { Vec::new() } else { numbers }
}

/// The number of each place, and of more than there are where none are kept.
pub(crate) fn told(kept: &[u32]) -> impl Iterator<Item = u32> {
    let places = if kept.is_empty() { 0..u32::MAX } else { 0..0 };
    kept.iter().copied().chain(places)
}

/// The place of a CPU; none if it has none, or of such a list may be beyond its end.
pub(crate) fn position(kept: &[u32], number: u32) -> Option<usize> {
    if kept.is_empty() { Some(number as usize) } else { kept.iter().position(|kept| *kept == number) }
}
