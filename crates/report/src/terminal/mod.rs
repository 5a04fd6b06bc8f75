//! Results in a terminal: what a person reads first comes first.

mod arms;
mod audit;
mod check;
mod curve;
mod layout;
mod observation;
pub(crate) mod observed;
mod probe;
pub(crate) mod profile;
mod rules;
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod verdict;

pub use arms::sweeps;
pub use audit::{audit, audits};
pub use check::{check, check_row};
pub use observation::{missing, observation, observation_lines};
pub use probe::probe;
pub use profile::{profile, profile_change};
pub use rules::{rule, rules};
pub use run::run;
pub use sweep::sweep;

use crate::Named;
use crate::record::AnyRecord;
use crate::visible;

/// Results of any kind: one in full, sweeps side by side, others one after the other. Ends with a newline.
#[must_use]
pub fn results(results: &[Named<'_>], style: &Style) -> String {
    let full = |named: &Named<'_>| match named.record {
        AnyRecord::Run(record) => run(record, style),
        AnyRecord::Sweep(record) => sweep(record, style),
        AnyRecord::Sweeps(_) => sweeps(&[*named], style),
    };
    match results {
        [only] => full(only),
        several if several.iter().all(|named| !named.record.sweeps().is_empty()) => sweeps(several, style),
        mixed => {
            let each = mixed.iter().map(|named| format!("== {}\n{}", visible::line(named.name), full(named)));
            each.collect::<Vec<_>>().join("\n")
        }
    }
}

/// How to render: what the caller knows about the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// True if to colour with ANSI escapes; nothing is told by colour alone.
    pub colour: bool,
    /// True if to show every finding, notes and rules that were not checked too.
    pub verbose: bool,
}
