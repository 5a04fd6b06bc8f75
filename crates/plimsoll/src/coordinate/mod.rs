//! Coordinators: pure searches that ask for one measurement after the other, and the loop that has these made.

pub(crate) mod capacity;
pub(crate) mod compare;
pub(crate) mod sweep;

use crate::exit::{CommandError, Exit};
use clock::Clock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Decides what is measured next. Knows neither target nor clock: times are ns since the first measurement began.
pub(crate) trait Search {
    /// One measurement.
    type Trial;
    /// What came of it, as far as the search needs it.
    type Outcome;

    /// The next measurement; none when there is nothing left to measure.
    fn next(&mut self, now_ns: u64) -> Option<Self::Trial>;

    /// Takes in what came of the measurement last asked for; false when it is no part of the result.
    fn apply(&mut self, trial: &Self::Trial, outcome: Self::Outcome, now_ns: u64) -> bool;
}

/// Makes the measurements of a search.
pub(crate) trait Measure<S: Search> {
    /// All that was measured.
    type Measured;

    fn measure(&mut self, trial: &S::Trial) -> Result<(S::Outcome, Self::Measured), CommandError>;

    /// Fails if what was measured last was cut short by something after which nothing more can be measured.
    fn is_whole(&self) -> Result<(), CommandError> {
        Ok(())
    }

    /// Takes leave of what is no part of the result.
    fn leave_out(&mut self, _measured: Self::Measured) {}

    /// Makes it a part of the result.
    fn keep(&mut self, trial: &S::Trial, measured: Self::Measured) -> Result<(), CommandError>;
}

/// Has everything measured that `search` asks for, until `stop` is set. What is no part of the result, or was cut short, is
/// kept only when it is all there is.
///
/// # Errors
/// The first of the measurements; what was kept before it stays.
pub(crate) fn walk<S: Search>(
    search: &mut S,
    measurements: &mut impl Measure<S>,
    stop: &AtomicBool,
) -> Result<(), CommandError> {
    let clock = Clock::start();
    let (mut is_empty, mut spare) = (true, None);
    let mut walked = Ok(());
    while !stop.load(Ordering::Relaxed) {
        let Some(trial) = search.next(clock.now_ns()) else { break };
        let (outcome, measured) = match measurements.measure(&trial) {
            Ok(made) => made,
            Err(error) => {
                walked = Err(error);
                break;
            }
        };
        let is_cut = stop.load(Ordering::Relaxed);
        let whole = measurements.is_whole();
        let is_part = whole.is_ok() && search.apply(&trial, outcome, clock.now_ns());
        if is_part && !is_cut {
            measurements.keep(&trial, measured)?;
            is_empty = false;
            spare.take().into_iter().for_each(|(_, measured)| measurements.leave_out(measured));
        } else if is_empty && spare.is_none() {
            spare = Some((trial, measured));
        } else {
            measurements.leave_out(measured);
        }
        if whole.is_err() {
            walked = whole;
            break;
        }
    }
    match spare {
        Some((trial, measured)) => measurements.keep(&trial, measured).and(walked),
        None => walked,
    }
}

/// What is to be told of the end of a walk after its result: ^C while a server starts is one as any other, and nothing was
/// wrong.
pub(crate) fn unless_interrupted(walked: Result<(), CommandError>) -> Result<(), CommandError> {
    walked.or_else(|error| if error.exit == Exit::Interrupted { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts down; odd numbers are no part of the result.
    struct Countdown(u32);

    impl Search for Countdown {
        type Trial = u32;
        type Outcome = ();

        fn next(&mut self, _: u64) -> Option<u32> {
            (self.0 > 0).then_some(self.0)
        }

        fn apply(&mut self, trial: &u32, (): (), _: u64) -> bool {
            self.0 -= 1;
            trial.is_multiple_of(2)
        }
    }

    /// Keeps what it is told to; `stop` is set, the measurement fails, or is cut short for good, at a number.
    #[derive(Default)]
    struct Kept<'a> {
        kept: Vec<u32>,
        stop_at: Option<(u32, &'a AtomicBool)>,
        fail_at: u32,
        cut_at: u32,
        last: u32,
    }

    impl Measure<Countdown> for Kept<'_> {
        type Measured = u32;

        fn measure(&mut self, trial: &u32) -> Result<((), u32), CommandError> {
            if let Some((at, stop)) = self.stop_at {
                stop.store(at == *trial, Ordering::Relaxed);
            }
            self.last = *trial;
            if *trial == self.fail_at { Err(CommandError::usage("it fails")) } else { Ok(((), *trial)) }
        }

        fn is_whole(&self) -> Result<(), CommandError> {
            if self.last == self.cut_at { Err(CommandError::usage("it was cut")) } else { Ok(()) }
        }

        fn keep(&mut self, trial: &u32, measured: u32) -> Result<(), CommandError> {
            assert_eq!(*trial, measured);
            self.kept.push(measured);
            Ok(())
        }
    }

    #[test]
    fn what_was_cut_short_for_good_ends_it_and_is_no_part_of_the_search() {
        for (cut_at, expected, left) in [(6, &[6][..], 6), (4, &[6], 4), (2, &[6, 4], 2)] {
            let mut search = Countdown(6);
            let mut kept = Kept { cut_at, ..Kept::default() };
            assert!(walk(&mut search, &mut kept, &AtomicBool::new(false)).is_err());
            assert_eq!((&kept.kept[..], search.0), (expected, left), "cut at {cut_at}");
        }
    }

    /// After the whole result it was said that nothing had been measured.
    #[test]
    fn an_interrupted_start_of_a_server_is_no_error_of_what_was_measured_before() {
        assert!(unless_interrupted(Err(CommandError::interrupted())).is_ok() && unless_interrupted(Ok(())).is_ok());
        assert_eq!(unless_interrupted(Err(CommandError::target("it is gone"))).unwrap_err().exit, Exit::Target);
    }

    #[test]
    fn what_the_search_takes_is_kept() {
        let mut kept = Kept::default();
        walk(&mut Countdown(5), &mut kept, &AtomicBool::new(false)).unwrap();
        assert_eq!(kept.kept, [4, 2]);
    }

    #[test]
    fn what_was_cut_short_or_refused_is_kept_only_when_it_is_all_there_is() {
        for (at, expected) in [(5, &[5][..]), (4, &[5]), (3, &[4]), (2, &[4])] {
            let stop = AtomicBool::new(false);
            let mut kept = Kept { stop_at: Some((at, &stop)), ..Kept::default() };
            walk(&mut Countdown(5), &mut kept, &stop).unwrap();
            assert_eq!(kept.kept, expected, "stopped at {at}");
        }
    }

    #[test]
    fn an_error_ends_it_and_leaves_what_was_kept() {
        let mut kept = Kept { fail_at: 3, ..Kept::default() };
        assert!(walk(&mut Countdown(5), &mut kept, &AtomicBool::new(false)).is_err());
        assert_eq!(kept.kept, [4]);
        let mut kept = Kept { fail_at: 4, ..Kept::default() };
        assert!(walk(&mut Countdown(5), &mut kept, &AtomicBool::new(false)).is_err());
        assert_eq!(kept.kept, [5], "it was refused, and is all there is");
    }
}
