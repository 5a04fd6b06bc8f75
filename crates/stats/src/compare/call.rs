//! What may be said of an effect, given the margin below which a change does not matter.

use model::{Call, Direction, Estimate};

/// Call of a ratio by where its whole interval lies; `margin` is relative: 0.02 is 2 %.
///
/// - beyond `1 - margin` or `1 + margin`: *better* or *worse*;
/// - within them, beside 1: *small change*;
/// - within them, around 1: *same* (an equivalence test by the inclusion of the interval: Schuirmann, Journal of
///   Pharmacokinetics and Biopharmaceutics 15(6), 1987);
/// - in all other cases, and without an interval: *cannot tell*.
///
/// An end that is not known is open: a ratio that is a bound may still be better or worse.
///
/// An interval beside 1 that has a limit in it shows that there is a change, and not whether it matters: *cannot tell*, as
/// each of the other words would be wrong more often than its 5 %. An end on a limit lies within it.
#[must_use]
pub fn call(ratio: &Estimate, wanted: Direction, margin: f64) -> Call {
    let (low, high) = (ratio.low.unwrap_or(0.0), ratio.high.unwrap_or(f64::INFINITY));
    let (smallest, largest) = (1.0 - margin, 1.0 + margin);
    let (below, above) = match wanted {
        Direction::HigherIsBetter => (Call::Worse, Call::Better),
        Direction::LowerIsBetter => (Call::Better, Call::Worse),
    };
    if high < smallest {
        below
    } else if low > largest {
        above
    } else if low >= smallest && high <= largest {
        if low <= 1.0 && 1.0 <= high { Call::Same } else { Call::SmallChange }
    } else {
        Call::CannotTell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: f64, high: f64) -> [Call; 2] {
        let ratio = Estimate { value: f64::midpoint(low, high), low: Some(low), high: Some(high), n: 9 };
        [Direction::HigherIsBetter, Direction::LowerIsBetter].map(|wanted| call(&ratio, wanted, 0.02))
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(of(0.90, 0.97), [Call::Worse, Call::Better]);
        assert_eq!(of(1.03, 1.10), [Call::Better, Call::Worse]);
        for (low, high, call) in [
            (0.985, 0.995, Call::SmallChange),
            (1.005, 1.02, Call::SmallChange),
            (0.98, 1.02, Call::Same),
            (0.995, 1.0, Call::Same),
            (0.97, 1.01, Call::CannotTell),
            (0.9, 1.1, Call::CannotTell),
            // a change for certain, of which nobody knows whether it matters
            (1.01, 1.06, Call::CannotTell),
            (0.96, 0.99, Call::CannotTell),
            (1.02, 1.06, Call::CannotTell),
        ] {
            assert_eq!(of(low, high), [call; 2], "{low} {high}");
        }
    }

    #[test]
    fn without_an_interval_nothing_is_said() {
        let ratio = Estimate { value: 0.5, low: None, high: None, n: 3 };
        assert_eq!(call(&ratio, Direction::HigherIsBetter, 0.02), Call::CannotTell);
    }

    #[test]
    fn a_bound_decides_where_the_end_that_is_known_is_enough() {
        let of = |low, high| {
            let ratio = Estimate { value: 1.0, low, high, n: 6 };
            call(&ratio, Direction::HigherIsBetter, 0.02)
        };
        assert_eq!((of(Some(1.1), None), of(None, Some(0.9))), (Call::Better, Call::Worse));
        assert_eq!((of(Some(1.0), None), of(None, Some(1.0))), (Call::CannotTell, Call::CannotTell));
    }

    #[test]
    fn without_a_margin_every_change_that_is_seen_counts() {
        let ratio = Estimate { value: 0.995, low: Some(0.99), high: Some(0.999), n: 9 };
        assert_eq!(call(&ratio, Direction::HigherIsBetter, 0.0), Call::Worse);
    }
}
