//! Duets: two variants at the same time, on two sets of CPUs that are swapped in each block.

use super::aa::{FLAGGED, side};
use super::environment::{Environment, Machine};
use super::random::Random;
use super::section::{Section, percent, quantile};
use crate::markdown::{Page, Table};
use stats::{CONFIDENCE, effect, geometric_mean};

/// Noise of the whole machine from trial to trial, which two variants at the same time have in common.
const COMMON: f64 = 0.02;
/// Noise that each trial has for itself.
const OWN: f64 = 0.005;
/// What takes more on the second set of CPUs, where it is slower.
const SLOWER: f64 = 1.1;
const BLOCKS: usize = 12;
/// Trials within which a step comes.
const TRIALS: usize = 24;
/// Share of the runs in which the interval of a duet is the narrower one.
const NARROWER: std::ops::RangeInclusive<f64> = 0.95..=1.0;
/// Without the swap the slower set looks like an effect.
const UNSWAPPED_FLAGGED: std::ops::RangeInclusive<f64> = 0.99..=1.0;

/// How two variants that do not differ are measured; all take the same time for a block.
#[derive(Clone, Copy, Debug)]
enum Design {
    /// One after the other.
    InTurn,
    /// At the same time, twice, with the sets of CPUs swapped.
    Swapped,
    /// At the same time, twice, with the baseline on the first set.
    Unswapped,
}

/// Pairs (baseline, variant) of so many blocks; the second set of CPUs takes `slower` times as much.
fn pairs(design: Design, environment: Environment, slower: f64, blocks: usize, seed: u64) -> Vec<(f64, f64)> {
    let mut machine = Machine::new(environment, COMMON, TRIALS, seed);
    let mut random = Random::new(seed ^ 0x000d_0e70);
    let mut own = || OWN * random.normal();
    let sets = [0.0, slower.ln()];
    let block = |_| match design {
        Design::InTurn => ((machine.trial() + own()).exp(), (machine.trial() + own()).exp()),
        Design::Swapped | Design::Unswapped => {
            let mut at_once = |set: usize| {
                let common = machine.trial();
                ((common + sets[set] + own()).exp(), (common + sets[1 - set] + own()).exp())
            };
            let swapped = usize::from(matches!(design, Design::Swapped));
            let [(a, b), (c, d)] = [at_once(0), at_once(swapped)];
            (geometric_mean(&[a, c]), geometric_mean(&[b, d]))
        }
    };
    (0..blocks).map(block).collect()
}

/// Half of the interval, relative.
fn half_width(pairs: &[(f64, f64)]) -> f64 {
    let ratio = effect(pairs, CONFIDENCE).map(|effect| effect.ratio).unwrap_or_default();
    ratio.low.zip(ratio.high).map_or(f64::NAN, |(low, high)| (high / low).sqrt() - 1.0)
}

/// Widths and false positives by environment and design.
pub(super) fn section(runs: u64) -> Section {
    let mut section = Section::default();
    let mut table = Table::new(COLUMNS);
    for environment in Environment::ALL {
        let words = environment.words();
        let widths = |design| -> Vec<f64> {
            (0..runs).map(|seed| half_width(&pairs(design, environment, 1.0, BLOCKS, seed))).collect()
        };
        let (mut in_turn, mut duet) = (widths(Design::InTurn), widths(Design::Swapped));
        let narrower = in_turn.iter().zip(&duet).filter(|(in_turn, duet)| duet < in_turn).count() as f64 / runs as f64;
        section.expect(&format!("duet, {words}, narrower"), narrower, NARROWER, runs);
        let flagged = |design, slower, blocks| {
            let of = |seed: &u64| side(&pairs(design, environment, slower, blocks, *seed), CONFIDENCE) != 0;
            (0..runs).filter(of).count() as f64 / runs as f64
        };
        let alike = [BLOCKS, 2 * BLOCKS].map(|blocks| flagged(Design::Swapped, 1.0, blocks));
        let swapped = flagged(Design::Swapped, SLOWER, BLOCKS);
        for (what, share) in [("12 blocks", alike[0]), ("24 blocks", alike[1]), ("slower set, swapped", swapped)] {
            section.expect(&format!("duet, A/A, {words}, {what}"), share, FLAGGED, runs);
        }
        let unswapped = flagged(Design::Unswapped, SLOWER, BLOCKS);
        section.expect(&format!("duet, {words}, slower set, not swapped"), unswapped, UNSWAPPED_FLAGGED, runs);
        let widths = [&mut in_turn, &mut duet].map(|widths| format!("± {}", percent(quantile(widths, 0.5))));
        let shares = [narrower, alike[0], alike[1], swapped, unswapped].map(percent);
        table.texts(std::iter::once(words.to_owned()).chain(widths).chain(shares));
    }
    section.page = Page::default().section("Two variants at the same time").block(TEXT).block(table);
    section
}

const COLUMNS: &str = "machine | interval, in turn | interval, duet | narrower | 12 blocks | 24 blocks | slower set | \
                       slower set, not swapped";

const TEXT: &str = "\
Duets (`plimsoll compare --duet`) of two variants that do not differ. The noise of the machines above, of 2 %, is
common to what runs at the same time; each trial has 0.5 % of its own. A block has two times: in turn the baseline in
the one and the variant in the other, in a duet both in both, on two sets of CPUs that are swapped in between.
*Interval*: half of its width after 12 blocks, median; *narrower*: runs in which that of the duet is, goal at least
95 %. Flagged at nominal 5 %; goal 3 to 7 %, also where one set of CPUs takes 10 % more. *Not swapped*: the same with
the baseline always on the first set, which is flagged as an effect that is none.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_to_both_cancels_and_a_slower_set_only_when_swapped() {
        let ratio = |design, slower| {
            let pairs = pairs(design, Environment::Drift, slower, 400, 3);
            effect(&pairs, CONFIDENCE).map(|effect| effect.ratio.value).unwrap_or_default()
        };
        assert!((ratio(Design::Swapped, SLOWER) - 1.0).abs() < 0.002);
        assert!((ratio(Design::Unswapped, SLOWER) - SLOWER).abs() < 0.002);
        let width = |design| half_width(&pairs(design, Environment::Quiet, 1.0, 400, 3));
        // 2 % and 0.5 % in each of two, against 0.5 % in each of two twice.
        assert!((width(Design::InTurn) / width(Design::Swapped) - 5.8).abs() < 0.8);
    }
}
