//! Results as people and programs read them: pure functions from records to text.
//!
//! Responsibilities: the records themselves from evidence ([`record`]) and from JSON ([`stored`]), what they say in words that
//! all renderers share (`words`), the terminal ([`terminal`]), JSON ([`json`]), the HTML page ([`html`]), flame graphs
//! ([`flame`], [`off_cpu`]), Markdown, CSV, JUnit XML and what Prometheus reads. Nothing here reads a clock, a file or the size
//! of a window; the caller says how wide and whether to colour. Everything is readable without colour. No character of a record
//! acts where it is shown ([`visible`]).

mod bounds;
mod cells;
mod exposition;
pub mod factors;
pub mod figures;
pub mod flame;
pub mod history;
pub mod html;
pub mod json;
mod junit;
pub mod off_cpu;
mod operating;
mod paper;
pub mod record;
pub mod rules;
mod scales;
pub mod stored;
mod summary;
mod sums;
mod table;
pub mod tabulate;
pub mod terminal;
pub mod testing;
mod text_table;
pub mod visible;
mod words;

pub use exposition::{CONTENT_TYPE, exposition};
pub use junit::junit;
pub use paper::{Figure, latex, overhead, svg_figures};
use record::AnyRecord;
pub use summary::summary;
pub use table::{csv, experiment_rows, markdown};
pub use words::{experiment, thresholds};

/// A result and what it is called among others.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Name, as a rule of the run directory.
    pub name: &'a str,
    /// The result itself.
    pub record: AnyRecord<'a>,
}
