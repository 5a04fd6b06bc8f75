//! What has to be equal for the figures of two results to be compared; see [`evidence::factors`].

use crate::record::AnyRecord;
use evidence::factors::{of_capacity, of_run, of_sweep};
use model::Factor;

/// The factors of a result; of several sweeps those of the first, and none of what is a comparison itself. Two results may
/// be compared if they have the same.
#[must_use]
pub fn factors(record: AnyRecord<'_>) -> Vec<Factor> {
    match record {
        AnyRecord::Run(record) => of_run(record),
        AnyRecord::Sweep(record) => of_sweep(record),
        AnyRecord::Sweeps(record) => record.sweeps.first().map_or_else(Vec::new, of_sweep),
        AnyRecord::Capacity(record) => of_capacity(record),
        AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => Vec::new(),
    }
}
