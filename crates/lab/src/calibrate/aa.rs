//! Comparisons of something with itself: how often a difference is flagged that is none.

use super::blocks::{Blocks, Uneven};
use super::environment::{Environment, Machine};
use super::section::{Section, percent};
use super::sequential::{Sequential, THREE, TWELVE};
use crate::markdown::{Page, Table};
use model::Direction;
use stats::{CONFIDENCE, Looks, Quantity, effect};

/// Noise from trial to trial.
const NOISE: f64 = 0.02;
/// Trials within which a step comes.
const TRIALS: usize = 24;
/// Plan of the comparisons that are looked at after each block: the margin of 2 % and what follows from it.
pub(super) const LOOKS: Looks = Looks { wanted_half_width: 0.006, margin: 0.02, variants: 1 };
/// Blocks after which they are over in any case.
const BLOCKS_MAX: usize = 200;
/// False positives of these: fewer than of one look, as most of them are over after the first.
const LOOKED_FLAGGED: std::ops::RangeInclusive<f64> = 0.0..=0.05;
/// Variants of the comparisons that have several.
const SEVERAL: usize = 3;
/// False positives that are those of a nominal 5 %.
pub(super) const FLAGGED: std::ops::RangeInclusive<f64> = 0.03..=0.07;
/// Of any of several variants, whose intervals share the 5 % as if they had nothing in common; they have the baseline.
const SEVERAL_FLAGGED: std::ops::RangeInclusive<f64> = 0.0..=0.07;

/// -1, 0 or 1: the interval lies below 1, holds it, or lies above.
pub(crate) fn side(pairs: &[(f64, f64)], confidence: f64) -> i32 {
    let ratio = effect(pairs, confidence).map(|effect| effect.ratio).unwrap_or_default();
    match (ratio.low, ratio.high) {
        (Some(low), _) if low > 1.0 => 1,
        (_, Some(high)) if high < 1.0 => -1,
        _ => 0,
    }
}

fn blocks(environment: Environment, variants: usize, seed: u64) -> Blocks {
    Blocks::new(Machine::new(environment, NOISE, TRIALS, seed), &vec![1.0; variants], seed)
}

/// True if a comparison of so many blocks, planned beforehand, flags a difference.
fn fixed(environment: Environment, count: usize, seed: u64) -> bool {
    let mut blocks = blocks(environment, 1, seed);
    blocks.add(count);
    side(&blocks.pairs[0], CONFIDENCE) != 0
}

/// What decides of a variant: the CPU time of its requests.
pub(super) fn cpu_time(pairs: &[(f64, f64)]) -> Quantity {
    Quantity { pairs: pairs.to_vec(), wanted: Direction::LowerIsBetter }
}

/// Blocks of a comparison that is looked at after each, and whether any variant is flagged.
fn looked_at(environment: Environment, looks: Looks, seed: u64) -> (usize, bool) {
    let mut blocks = blocks(environment, looks.variants, seed);
    loop {
        blocks.add(1);
        let variants: Vec<Vec<Quantity>> = blocks.pairs.iter().map(|pairs| vec![cpu_time(pairs)]).collect();
        if looks.look(&variants).is_some() || blocks.made >= BLOCKS_MAX {
            let confidence = looks.confidence();
            return (blocks.made, blocks.pairs.iter().any(|pairs| side(pairs, confidence) != 0));
        }
    }
}

fn one_after_the_other(environment: Environment, design: Sequential, seed: u64) -> bool {
    design.compare(&mut Machine::new(environment, NOISE, 2 * design.trials, seed), 1.0) != 0
}

fn share(runs: u64, is: impl Fn(u64) -> bool) -> f64 {
    (0..runs).filter(|seed| is(*seed)).count() as f64 / runs as f64
}

/// False positives by environment and design.
pub(super) fn designs(runs: u64) -> Section {
    let mut section = Section::default();
    let mut table = Table::new(COLUMNS);
    for environment in Environment::ALL {
        let words = environment.words();
        let (mut made, mut flagged) = (0, 0_u32);
        for seed in 0..runs {
            let (blocks, is_flagged) = looked_at(environment, LOOKS, seed);
            made += blocks;
            flagged += u32::from(is_flagged);
        }
        let looked = f64::from(flagged) / runs as f64;
        let several = Looks { variants: SEVERAL, ..LOOKS };
        let shares = [
            ("12 blocks", share(runs, |seed| fixed(environment, 12, seed))),
            ("24 blocks", share(runs, |seed| fixed(environment, 24, seed))),
            ("until decided", looked),
            ("3 variants until decided", share(runs, |seed| looked_at(environment, several, seed).1)),
        ];
        for (design, share) in shares {
            let goal = match design {
                "until decided" => LOOKED_FLAGGED,
                _ if design.starts_with("3 variants") => SEVERAL_FLAGGED,
                _ => FLAGGED,
            };
            section.expect(&format!("A/A, {words}, {design}"), share, goal, runs);
        }
        let sequential =
            [THREE, TWELVE].map(|design| share(runs, |seed| one_after_the_other(environment, design, seed)));
        let cells = shares.into_iter().map(|(_, share)| share).chain(sequential).map(percent);
        let made = format!("{:.0}", made as f64 / runs as f64);
        table.texts(std::iter::once(words.to_owned()).chain(cells).chain([made]));
    }
    section.page = Page::default().section("Something compared with itself").block(ITSELF).block(table);
    section
}

const COLUMNS: &str = "machine | 12 blocks | 24 blocks | until decided | 3 variants, until decided | \
                       3 + 3 one after the other | 12 + 12 | blocks";

const ITSELF: &str = "\
False positives at nominal 5 %; goal of the blocks: 3 to 7 %. Trials have 2 % of noise, and

- *drift*: a level that moves by an autoregression (0.95 from trial to trial, standard deviation 5 %);
- *step*: everything 10 % slower from some trial on;
- *heavy tails*: Student's t with 2.5 degrees of freedom as the noise;
- *slow trials*: one trial in ten is slower, by 10 % on average, exponentially distributed.

*Until decided*: ended by the rules of `stats::Looks` for a margin of 2 % (after 6, 12, 24, ... blocks if the change can
be called, and after any if the half width is 0.6 %), goal at most 5 %; *blocks*: how many that took on average. *3
variants*: any of them flagged, goal at most 7 %, as they share the 5 % and the baseline. *One after the other*: all
trials of the baseline, then all of the variant, and Student's t test, as most published comparisons do.
";

/// False positives where disturbed time hits one of both more often.
pub(super) fn uneven(runs: u64) -> Section {
    let mut section = Section::default();
    let mut table = Table::new("more disturbed | blocks | taken as they are | made again | made for each that counts");
    for (whose, chances) in [("variant", (0.1, 0.4)), ("baseline", (0.4, 0.1)), ("both alike", (0.4, 0.4))] {
        for count in [12, 48] {
            let mut cells = vec![whose.to_owned(), count.to_string()];
            for repeats in [false, true] {
                let (mut lower, mut higher, mut made) = (0_u32, 0_u32, 0);
                for seed in 0..runs {
                    let mut blocks = blocks(Environment::Quiet, 1, seed).beside(Uneven { chances, repeats });
                    blocks.add(count);
                    made += blocks.made;
                    let side = side(&blocks.pairs[0], CONFIDENCE);
                    lower += u32::from(side < 0);
                    higher += u32::from(side > 0);
                }
                let [lower, higher] = [lower, higher].map(|n| f64::from(n) / runs as f64);
                cells.push(format!("{} + {}", percent(lower), percent(higher)));
                if repeats {
                    cells.push(format!("{:.2}", made as f64 / (runs * count as u64) as f64));
                    section.expect(&format!("A/A, {whose} disturbed, {count} blocks"), lower + higher, FLAGGED, runs);
                }
            }
            table.texts(cells);
        }
    }
    let page = Page::default().section("Disturbed time that hits one of both more often");
    section.page = page.block(UNEVEN).block(table);
    section
}

const UNEVEN: &str = "\
One trial in ten of the one and four in ten of the other have a disturbance of up to 60 % of their window, a tenth of
which is still in what is measured in the undisturbed rest. A block whose trials were not disturbed alike is made
again, whole, at most three times (`stats::should_repeat_block`, which knows nothing of what was measured). Flagged as
lower + as higher, at nominal 5 %; goal: 3 to 7 % together.
";
