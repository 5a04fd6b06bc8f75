//! Wording that all renderers share: a result, a figure or a finding as sentences, labelled lines and rows.
//!
//! Pure functions from records to text. Nothing here knows how wide a line is, a colour or markup: terminal, page, Markdown,
//! summary, JUnit XML and history lay the same words out, and none of them takes a word from another.

pub(crate) mod agents;
pub(crate) mod arms;
mod block_changes;
pub(crate) mod blocks;
pub(crate) mod brief;
pub(crate) mod capacity;
pub(crate) mod changes;
pub(crate) mod compare;
pub(crate) mod compared;
pub mod experiment;
pub(crate) mod fact;
pub(crate) mod forest;
pub(crate) mod functions;
pub(crate) mod history;
pub(crate) mod latency;
pub(crate) mod limiter;
pub(crate) mod next;
pub(crate) mod observed;
pub(crate) mod over;
pub(crate) mod overhead;
pub(crate) mod php;
pub(crate) mod profile;
pub(crate) mod recording;
pub(crate) mod render;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sent;
pub(crate) mod served;
pub(crate) mod shape;
pub(crate) mod sweep;
#[cfg(test)]
pub(crate) mod testing;
pub mod thresholds;
pub(crate) mod unit;
pub(crate) mod verdict;

use crate::record::AnyRecord;
use fact::{About, Fact, Tone};
use model::RunRecord;

/// The words for a result that is not whole.
pub(crate) const STOPPED: &str = "stopped before the plan was done";

/// The fact of a result that was interrupted, with what there is of it.
pub(crate) fn interrupted(is_interrupted: bool, text: impl Into<String>) -> Option<Fact> {
    is_interrupted.then(|| Fact::new(About::Load, "interrupted", text).with_tone(Tone::Unsure))
}

/// Why a result is not all that was planned, in a line; none of one that is.
pub(crate) fn why_interrupted(record: AnyRecord<'_>) -> Option<String> {
    match record {
        AnyRecord::Run(record) if record.agent_lost.is_some() => {
            agents::shortfall(record).map(|fact| format!("{}: {}", fact.label, fact.text))
        }
        AnyRecord::Run(RunRecord { aborted: Some(aborted), .. }) => Some(thresholds::why_aborted(aborted)),
        _ => record.is_interrupted().then(|| STOPPED.to_owned()),
    }
}
