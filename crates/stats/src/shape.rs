//! Shape of a sweep's curve with intervals: which model it follows, knee, plateau, and fall past the peak.
//!
//! Over connections the pool model stands unless the Universal Scalability Law is better by an AICc of 4, within 10 % at
//! every load, and its peak was passed by half: for a pool of workers it is the wrong law. Its knee is where the line of
//! one connection meets the highest goodput, as with a pool `D * C`.
//!
//! Intervals, from three repeats on, are of curves drawn about the one that fits: of each load the mean of its repeats as [`crate::resample`]
//! draws it, apart for loads below and above the knee, which vary differently, with what the model is off by more than
//! the repeats explain. A batch of responses more or less in each window is added: it may be missing in all repeats alike.
//! Nothing goes beyond the loads that were measured.

use crate::knee::{Bend, Curve, Plateau, UslFit, aicc_of_both, bend_of, fit_usl, pool_of, rate_of, reaches};
use crate::peak::PEAK_SHARE;
use crate::resample::{LoadRepeats, Source, Spread, has_intervals, intervals};
use crate::{LoadPoint, PoolFitResult};
use model::{CurveModel, Estimate, Knee, ModelAicc, PoolFit, Retrograde, UslLaw};
use statrs::distribution::{ContinuousCDF, Normal};

/// The Universal Scalability Law must be better by so much.
const AICC_GAIN_MIN: f64 = 4.0;
/// And off by no more than this at any load.
const ERROR_MAX: f64 = 0.1;
/// A loss of more than this, with its interval, is a fall.
const LOSS_MIN: f64 = 0.03;
/// Without an interval only more than this is one.
const LOSS_ALONE_MIN: f64 = 0.1;
/// A load with less than this share of the highest goodput is not of the plateau that a fall is from.
const PLATEAU_SHARE: f64 = 0.9;
/// Share of plateaus that are called a fall by chance, at either end.
const CHANCE: f64 = 0.025;

/// What a curve looks like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveShape {
    /// Its model; none over rates, and where no knee was found.
    pub model: Option<CurveModel>,
    /// How good both models are, over connections.
    pub aicc: Option<ModelAicc>,
    /// Where more load stops buying throughput.
    pub knee: Option<Knee>,
    /// Goodput past the knee, of the model; per second.
    pub plateau: Option<Estimate>,
    /// Least and most goodput of any repeat past the knee, where the repeats are too few for an interval; per second.
    pub plateau_range_per_s: Option<[f64; 2]>,
    /// The pool model, if it has seen its knee.
    pub pool: Option<PoolFit>,
    /// The Universal Scalability Law, where it is the model.
    pub usl: Option<UslLaw>,
    /// The fall past the peak.
    pub retrograde: Option<Retrograde>,
}

/// Shape of a saturated curve. Knee and plateau are none where fewer than 4 loads have goodput, and where the sweep ended
/// too soon behind the knee ([`crate::fit_pool`], [`crate::fit_rate`]).
#[must_use]
pub fn curve_shape(loads: &[LoadRepeats], over_rate: bool) -> CurveShape {
    let mut loads = loads.to_vec();
    loads.sort_by(|a, b| a.load.total_cmp(&b.load));
    let retrograde = retrograde(&loads);
    let shape = if over_rate { of_rates(&loads) } else { of_connections(&loads) };
    CurveShape { retrograde, ..shape }
}

/// True if goodput falls past its peak by more than chance, down to the highest load.
#[must_use]
pub fn falls(loads: &[LoadRepeats]) -> bool {
    let mut loads = loads.to_vec();
    loads.sort_by(|a, b| a.load.total_cmp(&b.load));
    retrograde(&loads).is_some()
}

/// 95 % interval of the goodput at a load as shares of it, as repeats there and at all higher loads vary. None without
/// enough repeats.
#[must_use]
pub fn goodput_interval(loads: &[LoadRepeats], load: f64) -> Option<(f64, f64)> {
    let at = loads.iter().find(|other| other.load == load && other.goodput_per_s > 0.0)?;
    if !has_intervals(loads) {
        return None;
    }
    let spread = Spread::of(loads.iter().filter(|other| other.load >= load)).or_else(|| Spread::of(loads))?;
    let [(low, high)] = intervals(|source| [spread.draw(at.repeats_per_s.len(), source).exp()]);
    Some((low.min(1.0) * (1.0 - at.batch_share), high.max(1.0) * (1.0 + at.batch_share)))
}

fn of_connections(loads: &[LoadRepeats]) -> CurveShape {
    let points = points(loads);
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let Some((pool_aicc, usl_aicc)) = aicc_of_both(&points) else { return CurveShape::default() };
    let Some((curve, bend)) = bend_of(&points, Plateau::Free) else { return CurveShape::default() };
    let (pool, usl) = (pool_of(&points, &bend), fit_usl(&points));
    let shape = CurveShape {
        aicc: Some(ModelAicc { pool: finite(pool_aicc), usl: finite(usl_aicc) }),
        pool: pool.map(|found| found.fit),
        ..CurveShape::default()
    };
    let is_better = |usl: &UslFit| {
        usl_aicc + AICC_GAIN_MIN <= pool_aicc && usl.error_max <= ERROR_MAX && reaches(&points, usl.peak_load)
    };
    match (usl.filter(is_better), pool) {
        (Some(usl), _) => of_law(loads, &points, &usl, shape),
        (None, Some(pool)) => of_pool(loads, (&curve, &bend), pool, shape),
        (None, None) => shape,
    }
}

fn of_pool(
    loads: &[LoadRepeats],
    (curve, bend): (&Curve, &Bend),
    pool: PoolFitResult,
    shape: CurveShape,
) -> CurveShape {
    let drawn = Draws::of(loads, curve, &bend.errors, bend.log_knee, 3).map(|draws| {
        intervals(|source| {
            let drawn = draws.curve(source).bend_near(Plateau::Free, bend);
            [drawn.log_knee.exp(), drawn.log_plateau.exp()]
        })
    });
    with_intervals(
        loads,
        CurveShape { model: Some(CurveModel::Pool), ..shape },
        [pool.knee, pool.fit.plateau_per_s],
        drawn,
    )
}

fn of_law(loads: &[LoadRepeats], points: &[LoadPoint], usl: &UslFit, shape: CurveShape) -> CurveShape {
    let last = points.iter().filter(|point| point.goodput_per_s > 0.0).map(|point| point.load).fold(0.0, f64::max);
    let figures = |fit: &UslFit| {
        let highest = fit.at(fit.peak_load.clamp(points[0].load, last));
        [(highest / fit.single_per_s).clamp(points[0].load, last), highest]
    };
    let drawn = Curve::of(points).and_then(|curve| {
        let errors: Vec<f64> = curve.points.iter().map(|(u, v)| v - usl.at(u.exp()).ln()).collect();
        let draws = Draws::of(loads, &curve, &errors, usl.peak_load.ln(), 3)?;
        Some(intervals(|source| figures(&draws.curve(source).law_near(usl))))
    });
    let law = UslLaw {
        single_per_s: usl.single_per_s,
        contention: usl.contention,
        coherency: usl.coherency,
        peak_load: Some(usl.peak_load).filter(|load| load.is_finite()),
        error_max: usl.error_max,
    };
    let shape = CurveShape { model: Some(CurveModel::Usl), usl: Some(law), ..shape };
    with_intervals(loads, shape, figures(usl), drawn)
}

/// Over rates the knee is a measured rate, and what is known of it the next, which was not held.
fn of_rates(loads: &[LoadRepeats]) -> CurveShape {
    let points = points(loads);
    let Some((curve, bend)) = bend_of(&points, Plateau::AtKnee) else { return CurveShape::default() };
    let Some(fit) = rate_of(&points, &bend) else { return CurveShape::default() };
    let drawn = Draws::of(loads, &curve, &bend.errors, bend.log_knee, 2)
        .map(|draws| intervals(|source| [draws.curve(source).bend_near(Plateau::AtKnee, &bend).log_plateau.exp()]));
    let plateau = estimate(loads, fit.plateau_per_s, drawn.map(|[drawn]| around(loads, fit.plateau_per_s, drawn)));
    let next = |knee: f64| loads.iter().map(|load| load.load).find(|load| *load > knee);
    let knee = fit.knee.map(|load| Knee { load, low: Some(load), high: next(load), goodput_per_s: fit.plateau_per_s });
    let plateau_range_per_s = range(loads, fit.knee.unwrap_or(0.0), fit.plateau_per_s);
    CurveShape { knee, plateau: Some(plateau), plateau_range_per_s, ..CurveShape::default() }
}

fn with_intervals(
    loads: &[LoadRepeats],
    shape: CurveShape,
    [knee, plateau]: [f64; 2],
    drawn: Option<[(f64, f64); 2]>,
) -> CurveShape {
    let of_knee = drawn.map(|[drawn, _]| around(loads, knee, drawn));
    CurveShape {
        knee: Some(Knee {
            load: knee,
            low: of_knee.map(|(low, _)| low),
            high: of_knee.map(|(_, high)| high),
            goodput_per_s: plateau,
        }),
        plateau: Some(estimate(loads, plateau, drawn.map(|[_, drawn]| around(loads, plateau, drawn)))),
        plateau_range_per_s: range(loads, knee, plateau),
        ..shape
    }
}

/// What was drawn about a value, of which few draws may miss it, and a batch of responses more or less in each window.
fn around(loads: &[LoadRepeats], value: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let batch = batch_share(loads);
    (low.min(value) * (1.0 - batch), high.max(value) * (1.0 + batch))
}

/// The largest share that one batch of responses is of a window.
fn batch_share(loads: &[LoadRepeats]) -> f64 {
    loads.iter().map(|load| load.batch_share).fold(0.0, f64::max).min(1.0)
}

/// Least and most of any repeat past the knee, where there are repeats, and too few for an interval.
fn range(loads: &[LoadRepeats], knee: f64, plateau_per_s: f64) -> Option<[f64; 2]> {
    let past: Vec<&LoadRepeats> =
        loads.iter().filter(|load| load.load >= knee && load.repeats_per_s.len() > 1).collect();
    if past.is_empty() || has_intervals(loads) {
        return None;
    }
    let each = past.into_iter().flat_map(|load| {
        // Goodput may have been corrected for time that was taken, its repeats not.
        let factor = load.goodput_per_s / crate::mean(&load.repeats_per_s).max(f64::MIN_POSITIVE);
        load.repeats_per_s.iter().map(move |per_s| factor * per_s)
    });
    let ends = each.fold((plateau_per_s, plateau_per_s), |(low, high), per_s| (low.min(per_s), high.max(per_s)));
    let (low, high) = around(loads, plateau_per_s, ends);
    Some([low, high])
}

fn estimate(loads: &[LoadRepeats], value: f64, interval: Option<(f64, f64)>) -> Estimate {
    let n = loads.iter().map(|load| load.repeats_per_s.len() as u64).sum();
    Estimate { value, low: interval.map(|(low, _)| low), high: interval.map(|(_, high)| high), n }
}

fn points(loads: &[LoadRepeats]) -> Vec<LoadPoint> {
    loads.iter().map(|load| LoadPoint { load: load.load, goodput_per_s: load.goodput_per_s }).collect()
}

/// Curves about the one that fits.
struct Draws<'a> {
    curve: &'a Curve,
    /// Of each load: what fits, repeats, and which spread is its own.
    loads: Vec<(f64, usize, usize)>,
    spreads: [Spread; 2],
    /// What the model is off by at each load beyond what repeats explain.
    misfits: Vec<f64>,
}

impl<'a> Draws<'a> {
    /// About `curve` less its `errors` from a model of so many parameters; none where the repeats are too few.
    fn of(loads: &[LoadRepeats], curve: &'a Curve, errors: &[f64], log_knee: f64, parameters: usize) -> Option<Self> {
        if !has_intervals(loads) {
            return None;
        }
        let side = |load: f64| usize::from(load.ln() > log_knee);
        let near = |which: usize| Spread::of(loads.iter().filter(|load| side(load.load) == which));
        let spreads = [near(0).or_else(|| Spread::of(loads))?, near(1).or_else(|| Spread::of(loads))?];
        let each: Vec<(f64, usize, usize)> = curve
            .points
            .iter()
            .zip(errors)
            .map(|((u, v), error)| {
                let same = |load: &&LoadRepeats| load.load.ln() == *u;
                let repeats = loads.iter().find(same).map_or(1, |load| load.repeats_per_s.len().max(1));
                (v - error, repeats, side(u.exp()))
            })
            .collect();
        let explained = each.iter().map(|(_, repeats, side)| spreads[*side].square() / *repeats as f64).sum::<f64>();
        let misfits = misfits(curve, errors, explained / each.len() as f64, parameters);
        Some(Self { curve, loads: each, spreads, misfits })
    }

    fn curve(&self, source: &mut Source) -> Curve {
        let goodput = |(fitted, repeats, side): &(f64, usize, usize)| {
            fitted + self.spreads[*side].draw(*repeats, source) + source.sign() * source.one_of(&self.misfits)
        };
        self.curve.with_goodputs(&self.loads.iter().map(goodput).collect::<Vec<_>>())
    }
}

/// The errors, scaled down so that their mean square is what repeats do not explain; one 0 where they explain all.
fn misfits(curve: &Curve, errors: &[f64], explained: f64, parameters: usize) -> Vec<f64> {
    let weighted: Vec<f64> = errors.iter().zip(&curve.weights).map(|(error, weight)| error * weight.sqrt()).collect();
    let squares: f64 = weighted.iter().map(|error| error.powi(2)).sum();
    let free = errors.len().saturating_sub(parameters).max(1) as f64;
    let left = squares / free - explained;
    if left <= 0.0 {
        return vec![0.0];
    }
    let scale = (left / (squares / errors.len() as f64)).sqrt();
    weighted.iter().map(|error| scale * error).collect()
}

/// The fall past the peak: from the highest goodput to that at the highest load.
///
/// The highest of several loads on a plateau is so by chance, and the more of them there are, the more it is higher than the
/// last: the loss is tested as the largest of as many differences (Bonferroni), against what repeats differ by, and no less
/// than what so few responses as a window has differ by.
fn retrograde(loads: &[LoadRepeats]) -> Option<Retrograde> {
    let goodput = |i: usize| loads[i].goodput_per_s;
    let top = (0..loads.len()).max_by(|a, b| goodput(*a).total_cmp(&goodput(*b))).filter(|i| goodput(*i) > 0.0)?;
    let bottom = (loads.len() - 1 > top).then_some(loads.len() - 1)?;
    let from = (top..bottom).rfind(|i| goodput(*i) >= PEAK_SHARE * goodput(top))?;
    let share = goodput(bottom) / goodput(top);
    let spread = Spread::of(&loads[top..]).or_else(|| Spread::of(loads)).filter(|_| share > 0.0);
    let square = spread.as_ref().map_or(0.0, Spread::square);
    let error = [top, bottom].iter().map(|i| square_error(&loads[*i], square)).sum::<f64>().sqrt();
    let off = |errors: f64| 1.0 - share * (errors * error).exp();
    let on_plateau = (0..bottom).filter(|i| goodput(*i) >= PLATEAU_SHARE * goodput(top)).count();
    let least = off(quantile(1.0 - CHANCE / on_plateau.max(1) as f64));
    let is_fall = match spread {
        Some(_) => least > LOSS_MIN,
        None => 1.0 - share > LOSS_ALONE_MIN && least > 0.0,
    };
    let has_interval = spread.is_some() && has_intervals(loads);
    let ends = has_interval.then(|| [1.0, -1.0].map(|side| off(side * quantile(1.0 - CHANCE))));
    is_fall.then(|| Retrograde {
        from_load: loads[from].load,
        load: loads[bottom].load,
        goodput_per_s: goodput(bottom),
        loss: 1.0 - share,
        low: ends.map(|[low, _]| low),
        high: ends.map(|[_, high]| high),
    })
}

/// Square of the error of the logarithm of a goodput, where one repeat is off by the root of `square`. A batch more or less is
/// as likely as none, and the same in each repeat.
fn square_error(load: &LoadRepeats, square: f64) -> f64 {
    let repeats = load.repeats_per_s.len().max(1) as f64;
    square.max(load.sampling_error.powi(2)) / repeats + load.batch_share.powi(2) / 3.0
}

fn quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

#[cfg(test)]
mod tests;
