//! Results in a terminal: what a person reads first comes first.

mod arms;
mod audit;
mod capacity;
mod check;
mod compare;
mod curve;
mod experiment;
mod history;
mod layout;
mod observation;
mod php;
mod probe;
mod profile;
mod render;
mod rules;
mod run;
mod sweep;
mod verdict;

pub use arms::sweeps;
pub use audit::{audit, audits};
pub use capacity::capacity;
pub use check::{check, check_row};
pub use compare::compare;
pub use experiment::{experiment, plan};
pub use history::history;
pub use observation::{missing, observation, observation_lines};
pub use php::php;
pub use probe::probe;
pub use profile::{functions_changed, php_functions_changed, profile, profile_change};
pub use render::render;
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
        AnyRecord::Capacity(record) => capacity(record, style),
        AnyRecord::Compare(record) => compare(record, style),
        AnyRecord::Experiment(record) => experiment(record, style),
        AnyRecord::Render(record) => render(record, style),
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
