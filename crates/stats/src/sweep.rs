//! The search that walks a load up past saturation and fills in round the knee.
//!
//! A pure machine: [`Sweep::next`] says what to measure, [`Sweep::apply`] takes the outcome. First a rising
//! ramp, so that a server that breaks down under load breaks down last; then points round the knee; then all
//! points again in shuffled order, so that a drift of the machine does not look like a curve.

use crate::batch::mean;
use crate::blocks::shuffled_blocks;
use crate::{LoadPoint, fit_pool, fit_rate};

/// Step of the ramp.
const DOUBLE: f64 = 2.0;
/// With fewer doublings than this between the ends, the ramp takes smaller steps.
const DOUBLINGS_MIN: f64 = 3.0;
/// Points of a ramp with smaller steps.
const FINE_POINTS: usize = 5;
/// A doubling that gains less than this over the best before it bought nothing.
const GAIN_MIN: f64 = 1.03;
/// Steps in a row that must have bought nothing, or rates in a row not held, to end the ramp.
const FLAT_STEPS: usize = 2;
/// Less than this share of the peak is a fall, which ends the ramp at once.
const RETROGRADE_SHARE: f64 = 0.9;
/// A rate of which less than this comes back good is not held.
const HELD_SHARE: f64 = 0.95;
/// Less than this share of the rate really offered is the client's limit: going further up is no use.
const OFFERED_SHARE_MIN: f64 = 0.8;
/// A point where fewer requests than this were good does not say how many the server can work on at a time.
const GOOD_SHARE_MIN: f64 = 0.5;
/// Points put in round the knee even when the ramp has used up the plan.
const FILL_MIN: usize = 2;
/// Neighbours closer than this factor need no point between them.
const GAP_MIN: f64 = 1.1;
/// Further from the knee than this factor nothing is put in.
const KNEE_FAR: f64 = 4.0;

/// What to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepSettings {
    /// Smallest load: connections, or requests per second; above 0.
    pub from: f64,
    /// Largest load allowed.
    pub to: f64,
    /// Points wanted, about; a server with much to give needs more.
    pub points: usize,
    /// Times each point is measured; at least 1.
    pub iterations: usize,
    /// True if the load is a rate; connections are whole numbers.
    pub over_rate: bool,
    /// Seed of the order of the repeats.
    pub seed: u64,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Measure this load.
    Measure {
        /// Connections, or requests per second.
        load: f64,
        /// How many times it has been measured before.
        iteration: usize,
    },
    /// Nothing.
    Done {
        /// True if the curve was followed past saturation.
        saturated: bool,
    },
}

/// What was measured at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Good responses per second.
    pub goodput_per_s: f64,
    /// Requests per second that were really offered; none in closed loop.
    pub offered_per_s: Option<f64>,
    /// Share of the requests that were good, 0 to 1.
    pub good_share: f64,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Sweep {
    settings: SweepSettings,
    /// What has been measured, in rising order of load.
    points: Vec<Point>,
    stage: Stage,
}

#[derive(Clone, Debug)]
struct Point {
    load: f64,
    outcomes: Vec<Outcome>,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Going up these loads; `adaptive` when it may stop early and fill in afterwards.
    Ramp { loads: Vec<f64>, adaptive: bool },
    /// Putting in points round the knee: this one now, so many more after it.
    Fill { load: f64, more: usize },
    /// Going through these again.
    Repeat { loads: Vec<f64> },
    /// Done.
    Done,
}

impl Sweep {
    /// A search that finds its loads itself.
    #[must_use]
    pub fn new(settings: SweepSettings) -> Self {
        let stage = Stage::Ramp { loads: ramp(&settings), adaptive: true };
        Self { settings, points: Vec::new(), stage }
    }

    /// Measures these loads and no others: rising the first time, then shuffled.
    #[must_use]
    pub fn with_loads(mut loads: Vec<f64>, iterations: usize, seed: u64) -> Self {
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        let (from, to) = (loads.first().copied().unwrap_or(0.0), loads.last().copied().unwrap_or(0.0));
        let settings = SweepSettings { from, to, points: loads.len(), iterations, over_rate: false, seed };
        let stage = if loads.is_empty() { Stage::Done } else { Stage::Ramp { loads, adaptive: false } };
        Self { settings, points: Vec::new(), stage }
    }

    /// What to do next; the same answer until [`Sweep::apply`] is called.
    #[must_use]
    pub fn next(&self) -> Next {
        let load = match &self.stage {
            Stage::Ramp { loads, .. } => loads[self.points.len()],
            Stage::Fill { load, .. } => *load,
            Stage::Repeat { loads } => loads[0],
            Stage::Done => return Next::Done { saturated: self.saturated() },
        };
        Next::Measure { load, iteration: self.measured(load) }
    }

    /// Takes in what was measured at the load last asked for.
    ///
    /// # Panics
    /// If `load` is not the one that [`Sweep::next`] asks for.
    pub fn apply(&mut self, load: f64, outcome: Outcome) {
        assert!(
            matches!(self.next(), Next::Measure { load: asked, .. } if asked == load),
            "outcome of load {load}, which was not asked for"
        );
        let at = self.points.partition_point(|p| p.load < load);
        if self.points.get(at).is_none_or(|p| p.load != load) {
            self.points.insert(at, Point { load, outcomes: Vec::new() });
        }
        self.points[at].outcomes.push(outcome);
        self.stage = self.advanced();
    }

    /// Measurements in all, as far as can be foreseen: exact once the loads are settled.
    #[must_use]
    pub fn expected_measurements(&self) -> usize {
        let measured = self.points.len();
        let iterations = self.settings.iterations.max(1);
        match &self.stage {
            Stage::Ramp { loads, adaptive: false } => loads.len() * iterations,
            Stage::Ramp { adaptive: true, .. } => self.settings.points.max(measured + FILL_MIN + 1) * iterations,
            Stage::Fill { more, .. } => (measured + 1 + more) * iterations,
            Stage::Repeat { loads } => self.points.iter().map(|p| p.outcomes.len()).sum::<usize>() + loads.len(),
            Stage::Done => self.points.iter().map(|p| p.outcomes.len()).sum(),
        }
    }

    fn measured(&self, load: f64) -> usize {
        self.points.iter().find(|p| p.load == load).map_or(0, |p| p.outcomes.len())
    }

    /// The stage after the outcome just taken in.
    fn advanced(&mut self) -> Stage {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Ramp { loads, adaptive } if self.points.len() < loads.len() && !(adaptive && self.ramp_ends()) => {
                Stage::Ramp { loads, adaptive }
            }
            Stage::Ramp { adaptive: false, .. } => self.repeats(),
            // nothing good came at any load: a second time would not help
            Stage::Ramp { .. } if self.peak() == 0.0 => Stage::Done,
            Stage::Ramp { adaptive: true, .. } if self.saturated() => {
                self.fill(self.settings.points.saturating_sub(self.points.len()).max(FILL_MIN))
            }
            Stage::Ramp { .. } => self.repeats(),
            Stage::Fill { more, .. } => self.fill(more),
            Stage::Repeat { mut loads } => {
                loads.remove(0);
                if loads.is_empty() { Stage::Done } else { Stage::Repeat { loads } }
            }
            Stage::Done => Stage::Done,
        }
    }

    /// Up to `count` more points round the knee, then the repeats.
    fn fill(&self, count: usize) -> Stage {
        match self.gap().filter(|_| count > 0) {
            Some(load) => Stage::Fill { load, more: count - 1 },
            None => self.repeats(),
        }
    }

    /// Every point once more for each further iteration; each iteration is one shuffled block.
    fn repeats(&self) -> Stage {
        let once: Vec<f64> = self.points.iter().map(|p| p.load).collect();
        let further = self.settings.iterations.saturating_sub(1);
        let loads = shuffled_blocks(&once, further, self.settings.seed).concat();
        if loads.is_empty() { Stage::Done } else { Stage::Repeat { loads } }
    }

    /// True if going further up is no use: nothing gained twice, a fall, or two rates in a row either not held or
    /// beyond the client.
    fn ramp_ends(&self) -> bool {
        let Some(from) = self.points.len().checked_sub(FLAT_STEPS) else { return false };
        let tail = &self.points[from..];
        if tail[0].offered_per_s().is_some() {
            return tail.iter().all(|p| !p.held()) || tail.iter().all(Point::client_behind);
        }
        self.fell() || tail.iter().all(|p| self.flat(p, 1))
    }

    /// True if the largest load lies past saturation. Its gain is looked at over one doubling and over two,
    /// because noise hides a plateau from the first more often than from both.
    fn saturated(&self) -> bool {
        let Some(last) = self.points.last().filter(|_| self.peak() > 0.0) else { return false };
        if last.offered_per_s().is_some() {
            return !last.held();
        }
        self.fell() || self.flat(last, 1) || self.flat(last, 2)
    }

    /// True if goodput at the largest load is well below the peak.
    fn fell(&self) -> bool {
        self.points.last().is_some_and(|p| p.goodput_per_s() < RETROGRADE_SHARE * self.peak())
    }

    /// True if `point` gained too little over the best at loads smaller by so many doublings, or, where the sweep
    /// does not go down that far, over the smallest load.
    fn flat(&self, point: &Point, doublings: i32) -> bool {
        let smaller = (point.load / DOUBLE.powi(doublings)).max(self.points[0].load);
        if smaller >= point.load {
            return false;
        }
        let before = self.points.iter().filter(|p| p.load <= smaller).map(Point::goodput_per_s).fold(0.0, f64::max);
        point.goodput_per_s() <= before * GAIN_MIN.powf((point.load / smaller).log2())
    }

    fn peak(&self) -> f64 {
        self.points.iter().map(Point::goodput_per_s).fold(0.0, f64::max)
    }

    /// The load to put in next: between the neighbours that are furthest apart and nearest to the knee.
    fn gap(&self) -> Option<f64> {
        let knee = self.knee();
        let between = |pair: &[Point]| {
            let (low, high) = (pair[0].load, pair[1].load);
            let middle = (low * high).sqrt();
            let load = if self.settings.over_rate { middle } else { middle.round() };
            let off = (load / knee).ln().abs();
            let useful = high / low > GAP_MIN && low < load && load < high && off <= KNEE_FAR.ln();
            // distance costs as much as width is worth: both sides of the knee before either twice; a rate is
            // halved where it bends, for points past the capacity say nothing new
            let holds_knee = self.settings.over_rate && low <= knee && knee < high;
            let worth = if holds_knee { f64::INFINITY } else { (high / low).ln() * (-off).exp() };
            useful.then_some((load, worth))
        };
        self.points.windows(2).filter_map(between).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(load, _)| load)
    }

    /// Best guess of the knee so far.
    fn knee(&self) -> f64 {
        let curve: Vec<LoadPoint> = self
            .points
            .iter()
            .filter(|p| self.settings.over_rate || p.good_share() >= GOOD_SHARE_MIN)
            .map(|p| LoadPoint { load: p.load, goodput_per_s: p.goodput_per_s() })
            .collect();
        let fitted = if self.settings.over_rate {
            fit_rate(&curve).map(|fit| fit.plateau_per_s)
        } else {
            fit_pool(&curve).map(|fit| fit.knee)
        };
        // without a fit: the asymptotes of the first point and the peak (Little's law)
        let (first, last) = (&self.points[0], &self.points[self.points.len() - 1]);
        let crossing = first.load * self.peak() / first.goodput_per_s().max(f64::MIN_POSITIVE);
        fitted.unwrap_or(crossing).clamp(first.load, last.load)
    }
}

impl Point {
    fn goodput_per_s(&self) -> f64 {
        self.mean_of(|o| o.goodput_per_s)
    }

    fn good_share(&self) -> f64 {
        self.mean_of(|o| o.good_share)
    }

    /// What was offered, if it was a rate.
    fn offered_per_s(&self) -> Option<f64> {
        self.outcomes.first()?.offered_per_s?;
        Some(self.mean_of(|o| o.offered_per_s.unwrap_or(self.load)))
    }

    /// True if what was offered came back good.
    fn held(&self) -> bool {
        self.goodput_per_s() >= HELD_SHARE * self.offered_per_s().unwrap_or(self.load)
    }

    /// True if the client could not offer the rate asked for, which says nothing about the server.
    fn client_behind(&self) -> bool {
        self.offered_per_s().is_some_and(|offered| offered < OFFERED_SHARE_MIN * self.load)
    }

    fn mean_of(&self, field: impl Fn(&Outcome) -> f64) -> f64 {
        mean(&self.outcomes.iter().map(field).collect::<Vec<_>>())
    }
}

/// The loads of the ramp, both ends included.
fn ramp(settings: &SweepSettings) -> Vec<f64> {
    let (from, to) = (settings.from, settings.to.max(settings.from));
    let fine = (to / from).log2() < DOUBLINGS_MIN;
    let steps = FINE_POINTS.min(settings.points.max(2)) - 1;
    let factor = if fine { (to / from).powf(1.0 / steps as f64) } else { DOUBLE };
    let mut loads = Vec::new();
    let mut load = from;
    // a last step of less than a gap is left out: the end itself is measured
    while factor > 1.0 && load * GAP_MIN < to {
        loads.push(if settings.over_rate { load } else { load.round() });
        load *= factor;
    }
    loads.push(to);
    loads.dedup();
    loads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const NOISE: f64 = 0.03;

    fn closed(to: f64, seed: u64) -> SweepSettings {
        SweepSettings { from: 1.0, to, points: 8, iterations: 2, over_rate: false, seed }
    }

    /// Runs a sweep against `goodput(load)` with noise; gives the sweep, its first pass and the verdict.
    fn run(mut sweep: Sweep, seed: u64, goodput: impl Fn(f64) -> f64) -> (Sweep, Vec<f64>, bool) {
        let mut noise = Noise::new(seed);
        let over_rate = sweep.settings.over_rate;
        let mut first_pass = Vec::new();
        loop {
            match sweep.next() {
                Next::Done { saturated } => return (sweep, first_pass, saturated),
                Next::Measure { load, iteration } => {
                    if iteration == 0 {
                        first_pass.push(load);
                    }
                    let exact = goodput(load);
                    let held = over_rate && exact >= load;
                    let outcome = Outcome {
                        goodput_per_s: if held { load } else { noise.jitter(exact, NOISE) },
                        offered_per_s: over_rate.then_some(load),
                        good_share: 1.0,
                    };
                    sweep.apply(load, outcome);
                }
            }
        }
    }

    fn curve(sweep: &Sweep) -> Vec<LoadPoint> {
        sweep.points.iter().map(|p| LoadPoint { load: p.load, goodput_per_s: p.goodput_per_s() }).collect()
    }

    #[test]
    fn pools_are_followed_past_saturation_and_no_further() {
        for workers in [1.0, 2.0, 4.0, 5.0, 16.0, 23.0, 64.0] {
            let (mut most, mut off_most, mut missed) = (0, 0.0_f64, 0);
            for seed in 0..60 {
                let (sweep, first, saturated) = run(Sweep::new(closed(1024.0, seed)), seed, |n| 200.0 * n.min(workers));
                missed += usize::from(!saturated);
                assert!(first.iter().any(|n| *n >= 1.5 * workers), "{workers} {seed}: {first:?}");
                assert!(first.iter().all(|n| n.fract() == 0.0));
                most = most.max(first.len());
                let pool = fit_pool(&curve(&sweep)).unwrap();
                off_most = off_most.max((pool.knee / workers - 1.0).abs());
            }
            assert!(missed <= 2, "{workers}: {missed} of 60 plateaus not believed");
            assert!(most <= 13, "{workers}: {most} points");
            assert!(off_most < 0.15, "{workers}: knee off by {off_most}");
        }
    }

    #[test]
    fn the_knee_is_filled_in_on_both_sides() {
        for seed in 0..60 {
            let (_, first, _) = run(Sweep::new(closed(1024.0, seed)), seed, |n| 200.0 * n.min(4.0));
            assert!(first.contains(&3.0) && (first.contains(&5.0) || first.contains(&6.0)), "{seed}: {first:?}");
        }
        // the ramp alone uses up the plan, and still the knee gets its points
        let (_, first, _) = run(Sweep::new(closed(1024.0, 1)), 1, |n| 200.0 * n.min(64.0));
        assert!(first.contains(&45.0) && first.contains(&91.0), "{first:?}");
    }

    #[test]
    fn the_ramp_rises_and_the_repeats_are_shuffled_blocks() {
        let settings = SweepSettings { iterations: 3, ..closed(1024.0, 7) };
        let mut sweep = Sweep::new(settings);
        let mut order: Vec<Vec<f64>> = vec![Vec::new(); 3];
        let mut total = 0;
        while let Next::Measure { load, iteration } = sweep.next() {
            order[iteration].push(load);
            total += 1;
            sweep.apply(load, Outcome { goodput_per_s: load.min(4.0), offered_per_s: None, good_share: 1.0 });
            if iteration > 0 {
                assert_eq!(sweep.expected_measurements(), 3 * order[0].len());
            }
        }
        assert_eq!(order[0][..4], [1.0, 2.0, 4.0, 8.0]);
        assert_eq!((order[0].len(), total), (8, 24));
        assert_eq!(sweep.expected_measurements(), 24);
        assert_ne!(order[1], order[2]);
        for block in &mut order {
            block.sort_by(f64::total_cmp);
        }
        assert_eq!(order[0], order[1]);
        assert_eq!(order[0], order[2]);
    }

    #[test]
    fn two_cores_are_recognised() {
        // C = 175/s, D = 12 ms, soft: the published curve of a site on two cores
        let soft = |n: f64| ((0.012 / n).powi(8) + (1.0_f64 / 175.0).powi(8)).powf(-1.0 / 8.0);
        for seed in 0..60 {
            let (sweep, first, saturated) = run(Sweep::new(closed(1024.0, seed)), seed, soft);
            assert!(saturated && first.len() <= 13, "{seed}: {first:?}");
            let knee = fit_pool(&curve(&sweep)).unwrap().knee;
            assert!((knee / 2.1 - 1.0).abs() < 0.15, "{seed}: {knee}");
        }
    }

    #[test]
    fn a_fall_ends_the_ramp_at_once() {
        for seed in 0..60 {
            let server = |n: f64| 100.0 * n.min(8.0) / (1.0 + 0.02 * (n - 8.0).max(0.0));
            let (_, first, saturated) = run(Sweep::new(closed(1024.0, seed)), seed, server);
            assert!(saturated && first.iter().all(|n| *n <= 32.0), "{seed}: {first:?}");
        }
    }

    #[test]
    fn a_rising_curve_is_followed_to_the_end() {
        for seed in 0..200 {
            let (_, first, saturated) = run(Sweep::new(closed(256.0, seed)), seed, |n| 90.0 * n);
            assert_eq!(first, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0], "{seed}");
            assert!(!saturated);
        }
        // 12 % a doubling is little, and still not nothing
        let stopped = (0..200)
            .filter(|seed| !run(Sweep::new(closed(256.0, *seed)), *seed, |n| 90.0 * n.powf(0.165)).1.contains(&256.0))
            .count();
        assert!(stopped < 10, "{stopped} of 200 stopped early");
    }

    #[test]
    fn a_rate_is_bisected_round_the_capacity() {
        for seed in 0..60 {
            let settings = SweepSettings { from: 100.0, over_rate: true, ..closed(100_000.0, seed) };
            let (sweep, first, saturated) = run(Sweep::new(settings), seed, |r| r.min(700.0));
            assert!(saturated && first.len() <= 9, "{seed}: {first:?}");
            assert_eq!(first[..5], [100.0, 200.0, 400.0, 800.0, 1600.0], "{seed}");
            let fit = fit_rate(&curve(&sweep)).unwrap();
            assert!((fit.plateau_per_s / 700.0 - 1.0).abs() < 0.05, "{seed}: {fit:?}");
            assert!(fit.knee.is_some_and(|r| (560.0..=745.0).contains(&r)), "{seed}: {fit:?}");
        }
    }

    #[test]
    fn a_rate_beyond_the_client_is_not_the_servers_limit() {
        let mut sweep = Sweep::new(SweepSettings { over_rate: true, iterations: 1, ..closed(1e6, 0) });
        let mut tried = 0;
        while let Next::Measure { load, .. } = sweep.next() {
            tried += 1;
            let offered = load.min(1000.0);
            sweep.apply(load, Outcome { goodput_per_s: offered, offered_per_s: Some(offered), good_share: 1.0 });
        }
        assert_eq!(sweep.next(), Next::Done { saturated: false });
        assert_eq!(tried, 13, "1 to 4096: two past 1250");
    }

    #[test]
    fn a_narrow_range_gets_smaller_steps() {
        let (_, first, saturated) = run(Sweep::new(SweepSettings { from: 4.0, ..closed(16.0, 0) }), 0, |n| n);
        assert_eq!(first, [4.0, 6.0, 8.0, 11.0, 16.0]);
        assert!(!saturated);
        let one = SweepSettings { from: 4.0, ..closed(4.0, 0) };
        assert_eq!(run(Sweep::new(one), 0, |n| n).1, [4.0]);
    }

    #[test]
    fn a_dead_target_is_given_up() {
        let (sweep, first, saturated) = run(Sweep::new(closed(1024.0, 0)), 0, |_| 0.0);
        assert!(first.len() <= 3 && !saturated, "{first:?}");
        assert_eq!(sweep.expected_measurements(), first.len());
    }

    #[test]
    fn given_loads_are_all_there_is() {
        let sweep = Sweep::with_loads(vec![8.0, 1.0, 2.0, 8.0, 4.0], 2, 3);
        assert_eq!(sweep.expected_measurements(), 8);
        let (sweep, first, saturated) = run(sweep, 0, |n| n.min(2.0));
        assert_eq!(first, [1.0, 2.0, 4.0, 8.0]);
        assert!(saturated);
        assert!(sweep.points.iter().all(|p| p.outcomes.len() == 2));
        assert_eq!(Sweep::with_loads(Vec::new(), 2, 3).next(), Next::Done { saturated: false });
    }

    #[test]
    #[should_panic(expected = "was not asked for")]
    fn an_outcome_nobody_asked_for_is_a_bug() {
        let outcome = Outcome { goodput_per_s: 1.0, offered_per_s: None, good_share: 1.0 };
        Sweep::new(closed(8.0, 0)).apply(3.0, outcome);
    }
}
