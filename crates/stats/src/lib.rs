//! Numbers out of measurements: estimates with intervals, knees, searches.
//!
//! Everything here is a pure and deterministic function of its arguments: no I/O,
//! no clock, no threads. What is random takes a seed.

mod arrivals;
mod batch;
mod blocks;
mod knee;
mod minimise;
mod paired;
mod peak;
mod stationarity;
mod sweep;
#[cfg(test)]
mod testing;

pub use arrivals::{dispersion, dispersion_in, exponential_misfit, trend};
pub use batch::{BATCHES_MIN, RUNS_MIN, coefficient_of_variation, mean, mean_of_runs, mean_of_series, variance};
pub use blocks::shuffled_blocks;
pub use knee::{LoadPoint, PoolFitResult, RateFit, SHARPNESS_MAX, UslFit, fit_pool, fit_rate, fit_usl};
pub use paired::{geometric_mean, paired_ratio};
pub use peak::{PEAK_SHARE, peak_index};
pub use stationarity::{Mser5, mser5};
pub use sweep::{Next, Outcome, Sweep, SweepSettings};
