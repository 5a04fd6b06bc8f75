//! A true change of 2 %: how often it is called, within the blocks that were asked for.

use super::aa::cpu_time;
use super::blocks::Blocks;
use super::environment::{Environment, Machine};
use super::section::{Section, percent, quantile};
use super::sequential::THREE;
use crate::markdown::{Page, Table};
use model::Call;
use stats::{Looks, effect, precision};

/// Blocks from which the number is asked for.
const PILOT: usize = 6;
/// Server CPU time of the variant for a request, over that of the baseline.
const SLOWER: f64 = 1.02;
const MARGIN: f64 = 0.005;
/// Blocks beyond which no comparison is planned.
const BLOCKS_MAX: u64 = 5000;
const CALLED_MIN: f64 = 0.8;
/// Half width that is wanted without a look at the margin, for which there is no goal.
const PLAIN_HALF_WIDTH: f64 = 0.01;
/// Runs that make a share.
const RUNS_MIN: u64 = 20;

/// A comparison as it ended.
#[derive(Debug)]
struct Ended {
    asked: u64,
    made: usize,
    call: Call,
}

/// Pilot, the number of blocks that it asks for, and these blocks at most.
fn compared(environment: Environment, noise: f64, wanted_half_width: f64, ratio: f64, seed: u64) -> Ended {
    let looks = Looks { wanted_half_width, margin: MARGIN, variants: 1 };
    let mut blocks = Blocks::new(Machine::new(environment, noise, 24, seed), &[ratio], seed);
    blocks.add(PILOT);
    let confidence = looks.confidence();
    let pilot = effect(&blocks.pairs[0], confidence).map(|pilot| precision(&pilot, wanted_half_width, confidence));
    let asked = pilot.and_then(|pilot| pilot.blocks_needed).unwrap_or(BLOCKS_MAX).min(BLOCKS_MAX);
    loop {
        let variant = [vec![cpu_time(&blocks.pairs[0])]];
        if looks.look(&variant).is_some() || blocks.made as u64 >= asked {
            return Ended { asked, made: blocks.made, call: looks.call(&variant[0][0]) };
        }
        blocks.add(1);
    }
}

/// Calls of a change of 2 %, and of none, by a quarter of the runs, as these take hundreds of looks each.
pub(super) fn section(runs: u64) -> Section {
    let runs = (runs / 4).max(RUNS_MIN);
    let mut section = Section::default();
    let mut table = Table::new(COLUMNS);
    let machines = [
        (Environment::Quiet, 0.005),
        (Environment::Quiet, 0.01),
        (Environment::Quiet, 0.02),
        (Environment::Drift, 0.01),
    ];
    for (environment, noise) in machines {
        for wanted in [PLAIN_HALF_WIDTH, Looks::half_width_for(MARGIN)] {
            let all = |ratio| (0..runs).map(move |seed| compared(environment, noise, wanted, ratio, seed));
            let slower: Vec<Ended> = all(SLOWER).collect();
            let share = |ended: &[Ended], is: fn(Call) -> bool| {
                ended.iter().filter(|ended| is(ended.call)).count() as f64 / ended.len() as f64
            };
            let called = share(&slower, |call| call == Call::Worse);
            let itself: Vec<Ended> = all(1.0).collect();
            let wrongly = share(&itself, |call| matches!(call, Call::Worse | Call::Better));
            let same = share(&itself, |call| call == Call::Same);
            let mut asked: Vec<f64> = slower.iter().map(|ended| ended.asked as f64).collect();
            let mut made: Vec<f64> = slower.iter().map(|ended| ended.made as f64).collect();
            let machine = format!("{}, {}", environment.words(), percent(noise));
            if wanted < PLAIN_HALF_WIDTH {
                section.expect(&format!("power, {machine}"), called, CALLED_MIN..=1.0, runs);
            }
            section.expect(&format!("power, {machine}, no change"), wrongly, 0.0..=0.05, runs);
            let [asked, made] = [&mut asked, &mut made].map(|blocks| format!("{:.0}", quantile(blocks, 0.5)));
            let [called, wrongly, same] = [called, wrongly, same].map(percent);
            table.texts([machine, format!("{:.2} %", 100.0 * wanted), asked, made, called, wrongly, same]);
        }
    }
    let mut published = Table::new("machine, noise | 2 % slower: flagged as slower | as faster | no change: flagged");
    for (environment, noise) in machines {
        let flagged = |ratio: f64, side: fn(i32) -> bool| {
            let of = |seed| THREE.compare(&mut Machine::new(environment, noise, 2 * THREE.trials, seed), ratio);
            (0..runs).filter(|seed| side(of(*seed))).count() as f64 / runs as f64
        };
        let shares =
            [flagged(SLOWER, |side| side > 0), flagged(SLOWER, |side| side < 0), flagged(1.0, |side| side != 0)];
        let machine = format!("{}, {}", environment.words(), percent(noise));
        published.texts(std::iter::once(machine).chain(shares.map(percent)));
    }
    let page = Page::default().section("A true change of 2 %").block(TEXT).block(table);
    section.page = page.block(PUBLISHED).block(published);
    section
}

const COLUMNS: &str =
    "machine, noise | precise to | blocks asked for (median) | made (median) | called *worse* | wrong | same";

const TEXT: &str = "\
A variant whose server takes 2 % more CPU time for a request, margin 0.5 %. After a pilot of 6 blocks the precision
that is wanted gives the number of blocks; the comparison ends by its rules, at latest with that number. *Precise to*:
wanted half width, 1 %, or 0.15 % as follows from the margin. Goal of the latter: called *worse* in at least 80 % of
the runs. *Wrong*: variants that do not differ called *worse* or *better*, goal at most 5 %; *same*: called so. By a
quarter of the runs.
";

const PUBLISHED: &str = "\
The same by the usual design: three trials of the baseline, then three of the variant, and Student's t test at 5 %.
";
