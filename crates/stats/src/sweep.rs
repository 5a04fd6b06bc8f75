//! The search that walks a load up past saturation and fills in round the knee.
//!
//! A pure machine: [`Sweep::next`] says what to measure, [`Sweep::apply`] takes the outcome. First a rising
//! ramp, so that a server that breaks down under load breaks down last; where it looks like ending, the loads that its end
//! rests on once more; then points round the knee; then all points again in shuffled order, so that a drift of the
//! machine does not look like a curve.

mod point;
mod rise;

pub use point::Outcome;

use crate::blocks::shuffled_blocks;
use crate::{LoadPoint, fit_pool, fit_rate};
use model::RiseEnd;
use point::Point;
use rise::{Rise, peak, rise, saturated};

/// Step of the ramp.
const DOUBLE: f64 = 2.0;
/// With fewer doublings than this between the ends, the ramp takes smaller steps.
const DOUBLINGS_MIN: f64 = 3.0;
/// Points of a ramp with smaller steps.
const FINE_POINTS: usize = 5;
/// Loads of connections below which the rise does not end, but where nothing is good: so few are no curve.
const HANDFUL: usize = 5;
/// And of a plan of fewer.
const LOADS_MIN: usize = 3;
/// A point where fewer requests than this were good does not say how many the server can work on at a time.
const GOOD_SHARE_MIN: f64 = 0.5;
/// Points put in round the knee even when the ramp has used up the plan.
const FILL_MIN: usize = 2;
/// Neighbours closer than this factor need no point between them.
const GAP_MIN: f64 = 1.1;
/// Further from the knee than this factor nothing is put in.
const KNEE_FAR: f64 = 4.0;

/// What to search.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepSettings {
    /// The loads, all of which are measured and no others, in rising order; empty where the search finds them itself.
    pub loads: Vec<f64>,
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
    Done,
}

/// The search.
#[derive(Clone, Debug)]
pub struct Sweep {
    settings: SweepSettings,
    /// What has been measured, in rising order of load.
    points: Vec<Point>,
    stage: Stage,
    /// Why the ramp has ended; none while it goes on.
    end: Option<RiseEnd>,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Going up these loads; a load to measure once more before that goes on.
    Ramp { loads: Vec<f64>, again: Option<f64> },
    /// Putting in points round the knee: this one now, so many more after it.
    Fill { load: f64, more: usize },
    /// Going through these again.
    Repeat { loads: Vec<f64> },
    /// Done.
    Done,
}

impl Sweep {
    /// A search that begins with the smallest load.
    #[must_use]
    pub fn new(settings: SweepSettings) -> Self {
        let loads = if settings.loads.is_empty() { ramp(&settings) } else { settings.loads.clone() };
        let stage = Stage::Ramp { loads, again: None };
        Self { settings, points: Vec::new(), stage, end: None }
    }

    /// What to do next; the same answer until [`Sweep::apply`] is called.
    #[must_use]
    pub fn next(&self) -> Next {
        let load = match &self.stage {
            Stage::Ramp { again: Some(load), .. } => *load,
            Stage::Ramp { loads, again: None } => loads[self.points.len()],
            Stage::Fill { load, .. } => *load,
            Stage::Repeat { loads } => loads[0],
            Stage::Done => return Next::Done,
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
        let iterations = self.settings.iterations.max(1);
        let known: usize = self.points.iter().map(|p| p.outcomes.len().max(iterations)).sum();
        match &self.stage {
            Stage::Ramp { loads, .. } if self.is_listed() => known + (loads.len() - self.points.len()) * iterations,
            Stage::Ramp { .. } => {
                known + self.settings.points.saturating_sub(self.points.len()).max(FILL_MIN + 1) * iterations
            }
            Stage::Fill { more, .. } => known + (1 + more) * iterations,
            Stage::Repeat { loads } => self.points.iter().map(|p| p.outcomes.len()).sum::<usize>() + loads.len(),
            Stage::Done => self.points.iter().map(|p| p.outcomes.len()).sum(),
        }
    }

    /// Why no larger loads are tried; none while they may be.
    #[must_use]
    pub const fn rise_end(&self) -> Option<RiseEnd> {
        self.end
    }

    const fn is_listed(&self) -> bool {
        !self.settings.loads.is_empty()
    }

    fn measured(&self, load: f64) -> usize {
        self.points.iter().find(|p| p.load == load).map_or(0, |p| p.outcomes.len())
    }

    /// The stage after the outcome just taken in.
    fn advanced(&mut self) -> Stage {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Ramp { loads, .. } if self.points.len() < loads.len() && self.is_listed() => {
                Stage::Ramp { loads, again: None }
            }
            Stage::Ramp { loads, .. } if self.points.len() < loads.len() => match rise(&self.points, self.least()) {
                Rise::GoesOn => Stage::Ramp { loads, again: None },
                Rise::Doubtful(load) => Stage::Ramp { loads, again: Some(load) },
                Rise::Ended(end) => {
                    self.end = Some(end);
                    self.risen()
                }
            },
            Stage::Ramp { .. } => {
                let is_dead = peak(&self.points) == 0.0;
                self.end = Some(if is_dead { RiseEnd::NothingGood } else { RiseEnd::Reached });
                self.risen()
            }
            Stage::Fill { more, .. } => self.fill(more),
            Stage::Repeat { mut loads } => {
                loads.remove(0);
                if loads.is_empty() { Stage::Done } else { Stage::Repeat { loads } }
            }
            Stage::Done => Stage::Done,
        }
    }

    /// Loads of connections below which the rise does not end.
    fn least(&self) -> usize {
        self.settings.points.clamp(LOADS_MIN, HANDFUL)
    }

    /// What follows the ramp.
    fn risen(&self) -> Stage {
        match () {
            // nothing good came at any load: a second time would not help
            () if peak(&self.points) == 0.0 => Stage::Done,
            () if self.is_listed() => self.repeats(),
            () if saturated(&self.points) => {
                self.fill(self.settings.points.saturating_sub(self.points.len()).max(FILL_MIN))
            }
            () => self.repeats(),
        }
    }

    /// Up to `count` more points round the knee, then the repeats.
    fn fill(&self, count: usize) -> Stage {
        match self.gap().filter(|_| count > 0) {
            Some(load) => Stage::Fill { load, more: count - 1 },
            None => self.repeats(),
        }
    }

    /// Every point once more for each further iteration; each iteration is one shuffled block, of which those are left out
    /// that were measured so often when the ramp looked like ending.
    fn repeats(&self) -> Stage {
        let once: Vec<f64> = self.points.iter().map(|p| p.load).collect();
        let further = self.settings.iterations.saturating_sub(1);
        let blocks = shuffled_blocks(&once, further, self.settings.seed);
        let lacks = |block: usize, load: f64| self.measured(load) <= block + 1;
        let loads: Vec<f64> = blocks
            .into_iter()
            .enumerate()
            .flat_map(|(block, loads)| loads.into_iter().filter(move |load| lacks(block, *load)))
            .collect();
        if loads.is_empty() { Stage::Done } else { Stage::Repeat { loads } }
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
        let crossing = first.load * peak(&self.points) / first.goodput_per_s().max(f64::MIN_POSITIVE);
        fitted.unwrap_or(crossing).clamp(first.load, last.load)
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
mod tests;
