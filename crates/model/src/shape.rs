//! Shape of a sweep's curve: which law it follows, and where it falls.

use serde::{Deserialize, Serialize};

/// The law that a curve of goodput over connections follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveModel {
    /// Workers that are free or busy: a rise that bends into a plateau ([`crate::PoolFit`]).
    Pool,
    /// Universal Scalability Law: work that waits for other work, and a peak with a fall behind it ([`crate::UslLaw`]).
    Usl,
}

/// Corrected Akaike criterion of both models over all loads with goodput, a fall included; smaller is better. Null where
/// the loads are too few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelAicc {
    /// Of the pool model.
    pub pool: Option<f64>,
    /// Of the Universal Scalability Law.
    pub usl: Option<f64>,
}

/// Universal Scalability Law (Gunther) `X = l N / (1 + s (N-1) + k N (N-1))`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UslLaw {
    /// Goodput of one connection, l; per second.
    pub single_per_s: f64,
    /// Contention, s, 0 to 1.
    pub contention: f64,
    /// Coherency, k, 0 to 1.
    pub coherency: f64,
    /// Connections at the peak of the law, `sqrt((1-s)/k)`; null without a peak.
    pub peak_load: Option<f64>,
    /// Largest relative error of the law at any load.
    pub error_max: f64,
}

/// Goodput that falls past its peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retrograde {
    /// The last measured load before the fall, within 1 % of the highest goodput: connections, or requests per second.
    pub from_load: f64,
    /// The highest measured load.
    pub load: f64,
    /// Goodput there; per second.
    pub goodput_per_s: f64,
    /// Share of the highest goodput that is lost there, 0 to 1.
    pub loss: f64,
    /// Lower end of the 95 % interval of the loss; null below 3 iterations.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
}
