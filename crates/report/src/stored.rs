//! Results from their JSON, which may come from anywhere.

use crate::record::AnyRecord;
use crate::visible;
use model::{
    COMPARE_ARMS_MAX, COMPARE_BLOCKS_MAX, CapacityRecord, CompareMetric, CompareRecord, ExperimentRecord,
    FORMAT_CAPACITY, FORMAT_COMPARE, FORMAT_EXPERIMENT, FORMAT_RENDER, FORMAT_RUN, FORMAT_SWEEP, FORMAT_SWEEPS,
    Plausible, RenderRecord, RunRecord, SweepRecord, SweepsRecord,
};
use serde::Deserialize;
use stats::BLOCK_REPEATS_MAX;

/// Series of a run at most: a measurement makes some 24 of each of a dozen figures.
const SERIES_MAX: usize = 4096;
/// Blocks of a comparison at most, those that were measured again included.
const BLOCKS_MAX: u64 = COMPARE_BLOCKS_MAX * (BLOCK_REPEATS_MAX as u64 + 1);
/// Quantities of a comparison at most: each of each variant at each load, and as much again for loads still to come.
const METRICS_MAX: usize = 2 * COMPARE_ARMS_MAX as usize * CompareMetric::ALL.len() * 5;

/// Pages of a render at most, loads of it (two of each page in 1,000 blocks, and the first ones), and its quantities.
const RENDER_PAGES_MAX: usize = 2;
const RENDER_LOADS_MAX: usize = 4_100;
const RENDER_FIGURES_MAX: usize = 12;

/// A result of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// One load.
    Run(Box<RunRecord>),
    /// Rising load.
    Sweep(Box<SweepRecord>),
    /// Rising load on several arms, one after the other.
    Sweeps(Box<SweepsRecord>),
    /// Highest load that meets a goal.
    Capacity(Box<CapacityRecord>),
    /// Variants against a baseline.
    Compare(Box<CompareRecord>),
    /// Steps of any other kind.
    Experiment(Box<ExperimentRecord>),
    /// Pages in a browser.
    Render(Box<RenderRecord>),
}

/// What every version of every format says of itself.
#[derive(Deserialize)]
struct AnyFormat {
    format: Option<String>,
}

impl Record {
    /// Reads the `text` of a `run.json`. Beside it nothing is in memory but the record.
    ///
    /// # Errors
    /// What is wrong with it, in one line: it is no JSON, no result, or has numbers that no measurement makes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let any: AnyFormat = serde_json::from_str(text).map_err(|error| match error.is_data() {
            true => unknown(),
            false => format!("its run.json is no JSON: {error}"),
        })?;
        let format = any.format.unwrap_or_default();
        let damaged = |error: serde_json::Error| {
            // Names that serde does not know stand in its messages as they are.
            format!("its run.json is no complete {format}: {}", visible::line(&error.to_string()))
        };
        if [FORMAT_RUN, FORMAT_SWEEP, FORMAT_SWEEPS, FORMAT_CAPACITY, FORMAT_COMPARE, FORMAT_EXPERIMENT, FORMAT_RENDER]
            .contains(&format.as_str())
        {
            serde_json::from_str::<Plausible>(text).map_err(damaged)?;
        }
        // From the text, as numbers have to be the same to the bit.
        let record = match format.as_str() {
            FORMAT_RUN => serde_json::from_str(text).map(Self::Run).map_err(damaged),
            FORMAT_SWEEP => serde_json::from_str(text).map(Self::Sweep).map_err(damaged),
            FORMAT_CAPACITY => serde_json::from_str(text).map(Self::Capacity).map_err(damaged),
            FORMAT_COMPARE => serde_json::from_str(text).map(Self::Compare).map_err(damaged),
            FORMAT_EXPERIMENT => serde_json::from_str(text).map(Self::Experiment).map_err(damaged),
            FORMAT_RENDER => serde_json::from_str(text).map(Self::Render).map_err(damaged),
            FORMAT_SWEEPS => match serde_json::from_str(text).map_err(damaged)? {
                SweepsRecord { sweeps, .. } if sweeps.is_empty() => {
                    Err(format!("its run.json is no complete {format}: there is no sweep in it"))
                }
                record => Ok(Self::Sweeps(Box::new(record))),
            },
            other if other.starts_with("plimsoll.") => Err(format!(
                "its format is {other:?}, and this plimsoll reads {FORMAT_RUN}, {FORMAT_SWEEP}, {FORMAT_SWEEPS}, \
                 {FORMAT_CAPACITY}, {FORMAT_COMPARE}, {FORMAT_EXPERIMENT} and {FORMAT_RENDER}"
            )),
            _ => Err(unknown()),
        }?;
        record.check_lengths()?;
        Ok(record)
    }

    /// Refuses lists longer than those of any measurement, of which a page would be many times as large as the file.
    fn check_lengths(&self) -> Result<(), String> {
        let lengths = match self {
            Self::Run(record) => {
                vec![("series", record.observed.as_ref().map_or(0, |observed| observed.series.len()), SERIES_MAX)]
            }
            Self::Compare(record) => vec![
                ("variants", record.arms.len(), COMPARE_ARMS_MAX as usize),
                ("blocks", record.blocks.len(), BLOCKS_MAX as usize),
                ("quantities", record.metrics.len(), METRICS_MAX),
            ],
            Self::Render(record) => vec![
                ("pages", record.arms.len(), RENDER_PAGES_MAX),
                ("loads", record.loads.len(), RENDER_LOADS_MAX),
                ("changes", record.effects.len(), RENDER_FIGURES_MAX),
                (
                    "quantities",
                    record.arms.iter().map(|arm| arm.figures.len()).sum(),
                    RENDER_PAGES_MAX * RENDER_FIGURES_MAX,
                ),
            ],
            Self::Sweep(_) | Self::Sweeps(_) | Self::Capacity(_) | Self::Experiment(_) => Vec::new(),
        };
        match lengths.into_iter().find(|(_, n, most)| n > most) {
            Some((what, n, most)) => {
                Err(format!("its run.json has {n} {what}, and this plimsoll reads at most {most}"))
            }
            None => Ok(()),
        }
    }

    /// The result, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> AnyRecord<'_> {
        match self {
            Self::Run(record) => AnyRecord::Run(record),
            Self::Sweep(record) => AnyRecord::Sweep(record),
            Self::Sweeps(record) => AnyRecord::Sweeps(record),
            Self::Capacity(record) => AnyRecord::Capacity(record),
            Self::Compare(record) => AnyRecord::Compare(record),
            Self::Experiment(record) => AnyRecord::Experiment(record),
            Self::Render(record) => AnyRecord::Render(record),
        }
    }
}

fn unknown() -> String {
    "its run.json is not of plimsoll (no format it knows)".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_result_is_told_in_one_line() {
        for (text, said) in [
            ("", "no JSON"),
            ("{", "no JSON"),
            ("[1]", "not of plimsoll"),
            (r#"{"format":5}"#, "not of plimsoll"),
            (r#"{"format":"other/1"}"#, "not of plimsoll"),
            (r#"{"format":"plimsoll.run/2\n"}"#, "\"plimsoll.run/2\\n\", and this plimsoll reads plimsoll.run/1"),
            (r#"{"format":"plimsoll.sweep/1"}"#, "no complete plimsoll.sweep/1"),
            (r#"{"format":"plimsoll.sweeps/1"}"#, "no complete plimsoll.sweeps/1"),
            (r#"{"format":"plimsoll.capacity/1"}"#, "no complete plimsoll.capacity/1"),
            (r#"{"format":"plimsoll.experiment/1"}"#, "no complete plimsoll.experiment/1"),
            (r#"{"format":"plimsoll.render/1"}"#, "no complete plimsoll.render/1"),
        ] {
            let error = Record::parse(text).unwrap_err();
            assert!(error.contains(said) && error.lines().count() == 1, "{text}: {error}");
        }
        let without_sweeps = crate::json::sweeps(&crate::record::sweeps_record(Vec::new()));
        assert!(Record::parse(&without_sweeps).unwrap_err().contains("there is no sweep in it"));
    }

    #[test]
    fn lists_that_no_measurement_makes_are_refused_before_a_page_is_made_of_them() {
        let Ok(Record::Run(mut run)) = Record::parse(include_str!("../tests/stored/run")) else { panic!("a run") };
        let series = vec![Default::default(); SERIES_MAX + 1];
        run.observed = Some(model::Observed { series, ..model::Observed::default() });
        let error = Record::parse(&crate::json::run(&run)).unwrap_err();
        assert_eq!(error, "its run.json has 4097 series, and this plimsoll reads at most 4096");
        let comparison = crate::words::testing::comparison;
        let error = |record: CompareRecord| Record::parse(&crate::json::compare(&record)).unwrap_err();
        let mut many = comparison();
        many.arms = vec![many.arms[0].clone(); COMPARE_ARMS_MAX as usize + 1];
        assert!(error(many).contains("17 variants, and this plimsoll reads at most 16"));
        let mut many = comparison();
        many.blocks = vec![many.blocks[0].clone(); BLOCKS_MAX as usize + 1];
        assert!(error(many).contains(" blocks, and"));
        let mut many = comparison();
        many.metrics = vec![many.metrics[0].clone(); METRICS_MAX + 1];
        assert!(error(many).contains(" quantities, and"));
        assert!(Record::parse(&crate::json::compare(&comparison())).is_ok());
    }

    #[test]
    fn numbers_that_overflow_when_they_are_added_are_refused() {
        let text = r#"{"format":"plimsoll.run/1","requests":{"failures":{"a":18446744073709551615,"b":1}}}"#;
        let error = Record::parse(text).unwrap_err();
        assert!(error.contains("no complete plimsoll.run/1") && error.contains("18446744073709551615"), "{error}");
    }
}
