//! Results in a terminal: what a person reads first comes first.

mod curve;
mod layout;
pub(crate) mod observed;
mod probe;
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod verdict;

pub use probe::probe;
pub use run::run;
pub use sweep::sweep;

/// How to render: what the caller knows about the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns.
    pub width: usize,
    /// Whether to colour with ANSI escapes; nothing is told by colour alone.
    pub colour: bool,
}
