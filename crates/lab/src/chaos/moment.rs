//! Instants at random that follow from a seed, so that a try that has failed can be made again.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// Longest delay after the loads, in which a server is ended and the result is made and written.
const CLOSING_US: u64 = 600_000;
/// One in so many instants counts from there: that is where a result could be torn.
const CLOSING_ONE_IN: u64 = 4;
/// Shortest and longest time for which something lasts that is taken back.
const HOLD_US: (u64, u64) = (700_000, 2_500_000);

/// What an instant counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// The start of the program.
    Start,
    /// The end of its loads.
    Closing,
}

/// When something is done to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) since: Since,
    pub(super) delay: Duration,
    /// How long it lasts, where it is taken back.
    pub(super) hold: Duration,
}

impl Moment {
    /// That of a try of an ending, whatever else is tried: in the first `span` of the program, or after its loads if it has any.
    pub(super) fn new(seed: u64, ending: &str, number: u32, span: Duration, has_closing: bool) -> Self {
        let mut below = below((seed, ending, number));
        let is_closing = has_closing && below(CLOSING_ONE_IN) == 0;
        let (since, longest_us) =
            if is_closing { (Since::Closing, CLOSING_US) } else { (Since::Start, span.as_micros() as u64) };
        let delay = Duration::from_micros(below(longest_us));
        Self { since, delay, hold: Duration::from_micros(HOLD_US.0 + below(HOLD_US.1 - HOLD_US.0)) }
    }

    /// At once.
    pub(super) const fn start() -> Self {
        Self { since: Since::Start, delay: Duration::ZERO, hold: Duration::ZERO }
    }
}

/// Numbers from 0 to below a limit, at random by a seed that may be several things.
pub(super) fn below(seed: impl Hash) -> impl FnMut(u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(hasher.finish());
    move |limit| rng.next_u64() % limit.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(8);

    fn moments(seed: u64, has_closing: bool) -> Vec<Moment> {
        (1..=200).map(|number| Moment::new(seed, "power-cut", number, SPAN, has_closing)).collect()
    }

    #[test]
    fn the_same_seed_has_the_same_instants_and_another_has_others() {
        assert_eq!(moments(7, true), moments(7, true));
        let same = moments(7, true).iter().zip(&moments(8, true)).filter(|(a, b)| a == b).count();
        assert_eq!(same, 0);
        assert_ne!(Moment::new(7, "full-disk", 1, SPAN, true), Moment::new(7, "power-cut", 1, SPAN, true));
    }

    #[test]
    fn instants_are_everywhere_and_nowhere_else() {
        let all = moments(7, true);
        let closing = all.iter().filter(|moment| moment.since == Since::Closing).count();
        assert!((30..80).contains(&closing), "{closing} of 200");
        for eighth in 0..8 {
            let within = |moment: &&Moment| moment.since == Since::Start && moment.delay.as_secs() == eighth;
            assert!(all.iter().any(|moment| within(&moment)), "none in second {eighth}");
        }
        assert!(all.iter().all(|moment| moment.delay < SPAN && moment.hold.as_micros() as u64 >= HOLD_US.0));
        assert!(all.iter().all(|moment| moment.since == Since::Start || moment.delay.as_micros() as u64 <= CLOSING_US));
        assert!(moments(7, false).iter().all(|moment| moment.since == Since::Start));
    }
}
