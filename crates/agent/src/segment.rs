//! Division of a load among agents, exact whatever their number.

use model::Segment;

/// Part of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its load threads.
    pub threads: u32,
    /// Which of all they are.
    pub segment: Segment,
}

/// Parts of agents that would like to have so many load threads each; fewer where there are fewer connections, as each thread
/// needs one. None if there are not even as many as agents.
#[must_use]
pub fn divide(threads: &[u32], connections: u32) -> Option<Vec<Part>> {
    if threads.is_empty() || (connections as usize) < threads.len() {
        return None;
    }
    let mut threads: Vec<u64> = threads.iter().map(|n| u64::from(*n).max(1)).collect();
    let wanted: u64 = threads.iter().sum();
    if wanted > u64::from(connections) {
        // In proportion first, then one by one, so that the largest gives most.
        threads.iter_mut().for_each(|n| *n = (*n * u64::from(connections) / wanted).max(1));
        while threads.iter().sum::<u64>() > u64::from(connections) {
            let largest = threads.iter_mut().max()?;
            *largest -= 1;
        }
    }
    let of = u32::try_from(threads.iter().sum::<u64>()).ok()?;
    let parts = threads.iter().scan(0, |first, n| {
        let threads = *n as u32;
        let segment = Segment { first: *first, of };
        *first += threads;
        Some(Part { threads, segment })
    });
    Some(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_follow_each_other_and_none_is_without_a_connection(
            threads in prop::collection::vec(0_u32..2000, 1..130),
            connections in 1_u32..100_000,
        ) {
            let Some(parts) = divide(&threads, connections) else {
                prop_assert!((connections as usize) < threads.len());
                return Ok(());
            };
            let of = parts[0].segment.of;
            prop_assert!(of <= connections);
            let mut next = 0;
            for (part, wanted) in parts.iter().zip(&threads) {
                prop_assert_eq!(part.segment, Segment { first: next, of });
                prop_assert!(part.threads >= 1 && part.threads <= (*wanted).max(1));
                next += part.threads;
            }
            prop_assert_eq!(next, of);
        }
    }

    #[test]
    fn a_small_load_is_divided_in_proportion() {
        let threads = |wanted: &[u32], connections| {
            divide(wanted, connections).map(|parts| parts.iter().map(|part| part.threads).collect::<Vec<_>>())
        };
        assert_eq!(threads(&[8, 8], 64), Some(vec![8, 8]));
        assert_eq!(threads(&[8, 4], 6), Some(vec![4, 2]));
        assert_eq!(threads(&[8, 8], 2), Some(vec![1, 1]));
        assert_eq!(threads(&[8, 8], 1), None);
    }
}
