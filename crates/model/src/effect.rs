//! Effect of a change: the ratio of two variants, what may be said of it, and what a machine can resolve.

use crate::Estimate;
use serde::{Deserialize, Serialize};

/// What may be said of a variant, given the interval of its effect and the margin below which a change does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The whole interval lies beyond the margin, on the good side.
    Better,
    /// The whole interval lies beyond the margin, on the bad side.
    Worse,
    /// There is a change, and it is within the margin.
    SmallChange,
    /// If there is a change, it is within the margin.
    Same,
    /// The interval allows more than one of these.
    CannotTell,
}

impl Call {
    /// In a word or two.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::SmallChange => "small change",
            Self::Same => "same",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Which way a quantity is wanted to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Such as goodput.
    HigherIsBetter,
    /// Such as a latency, or CPU time per request.
    LowerIsBetter,
}

/// How an effect was computed of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectMethod {
    /// Mean of the log ratios of the blocks, with Student's t.
    PairedT,
    /// Median of the means of all pairs of log ratios, with the interval of Wilcoxon's signed-rank test.
    HodgesLehmann,
    /// Mean of the log ratios of the blocks without the fifth of them at either end, with the interval of Tukey and McLaughlin.
    TrimmedT,
    /// Median of the log ratios of each value of one to each of the other, with the interval of Wilcoxon's rank-sum test: of
    /// results that were not measured together.
    RankSum,
}

impl EffectMethod {
    /// In a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::PairedT => "mean of log ratios, t interval",
            Self::HodgesLehmann => "Hodges-Lehmann, signed-rank interval",
            Self::TrimmedT => "mean of the middle three fifths of log ratios, t interval",
            Self::RankSum => "median of all ratios, rank-sum interval",
        }
    }
}

/// Effect of a variant on one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Variant over baseline, with its 95 % interval, which is wider where several looks or several variants share the 5 %;
    /// `n` is the number of blocks.
    pub ratio: Estimate,
    /// How it was computed.
    pub method: EffectMethod,
    /// Probability of a ratio as far from 1, or farther, if there were no effect; two-sided. Null where there is no
    /// interval.
    pub p_value: Option<f64>,
    /// The same for all variants together, by Holm; null for a single variant.
    pub p_adjusted: Option<f64>,
    /// Standard deviation of the log ratio from block to block; null below two blocks.
    pub sd_log: Option<f64>,
}

/// How precise an effect is, and what a wanted precision needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// Half of the interval as it is, relative: 0.01 is 1 %; null without an interval.
    pub half_width: Option<f64>,
    /// The same as it is wanted.
    pub wanted_half_width: f64,
    /// Blocks in all that the wanted precision needs, if they vary as those so far; null before they have a spread.
    pub blocks_needed: Option<u64>,
    /// Upper bound of it, as the spread is known from few blocks: enough in nine cases of ten.
    pub blocks_needed_at_most: Option<u64>,
    /// True if it is as precise as wanted.
    pub is_reached: bool,
}

/// What comparing something with itself gives on a machine (A/A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Comparisons, none of which has an effect.
    pub comparisons: u64,
    /// Of these, whose interval did not hold 1.
    pub flagged: u64,
    /// Share of these, 0 to 1, with its 95 % interval (Clopper and Pearson).
    pub false_positives: Estimate,
    /// Effect that 95 % of the comparisons stay below, relative; 0.01 is 1 %.
    pub effect_p95: f64,
    /// Change that a comparison of as many blocks as these shows in 80 % of cases, relative; null where blocks have no
    /// spread.
    pub resolvable: Option<f64>,
    /// True if more than one in ten was flagged: no effect below [`Self::effect_p95`] may be called on this machine.
    pub is_unreliable: bool,
}
