//! Numbers out of measurements: estimates with intervals, knees, searches.
//!
//! Everything here is a pure and deterministic function of its arguments: no I/O,
//! no clock, no threads. What is random takes a seed.

mod arrivals;
mod batch;
mod blocks;
mod capacity;
mod change_points;
mod compare;
mod knee;
mod median;
mod minimise;
mod paired;
mod peak;
mod resample;
mod shape;
mod stationarity;
mod sweep;
#[cfg(test)]
mod testing;
mod unpaired;

pub use arrivals::{dispersion, dispersion_in, exponential_misfit, trend};
pub use batch::{
    BATCHES_MIN, CONFIDENCE, RUNS_MIN, coefficient_of_variation, mean, mean_of_runs, mean_of_series,
    relative_half_width, variance,
};
pub use blocks::shuffled_blocks;
pub use capacity::{
    CapacityOutcome, CapacityReason, CapacityResult, CapacitySearch, CapacitySettings, CapacityTimes, CapacityTrial,
    LoadClass, MoreTime, Obstacle, TrialPurpose, Vote, VoteGoal, backlog_grew, classify, conditional_throughput,
    runs_away,
};
pub use change_points::{ChangePoint, ChangePointSettings, LEVEL_MIN, change_points, change_points_n_min};
pub use compare::{
    BLOCK_REPEATS_MAX, FLAGGED_MAX, Looks, Quantity, Stop, blocks_needed, call, effect, floor, holm, precision,
    resolvable, share_interval, should_repeat_block, should_repeat_duet, with_holm,
};
pub use knee::{LoadPoint, PoolFitResult, RateFit, SHARPNESS_MAX, UslFit, fit_pool, fit_rate, fit_usl};
pub use median::{median, median_interval, strays};
pub use paired::{geometric_mean, paired_ratio};
pub use peak::{PEAK_SHARE, peak_index};
pub use resample::LoadRepeats;
pub use shape::{CurveShape, curve_shape, falls, goodput_interval};
pub use stationarity::{Mser5, mser5};
pub use sweep::{Next, Outcome, Sweep, SweepSettings};
pub use unpaired::unpaired_ratio;
