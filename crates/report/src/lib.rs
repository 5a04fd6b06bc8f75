//! Results as people and programs read them: pure functions from records to text.
//!
//! Responsibilities: the records themselves from evidence ([`record`]) and from JSON ([`stored`]), the terminal
//! ([`terminal`]), JSON ([`json`]), the HTML page ([`html`]), flame graphs ([`flame`], [`off_cpu`]), Markdown, CSV and what
//! Prometheus reads. Nothing here reads a clock, a file or the size of a window; the caller says how wide and whether to
//! colour. Everything is readable without colour. No character of a record acts where it is shown ([`visible`]).

mod arms;
mod exposition;
pub mod flame;
pub mod html;
pub mod json;
mod limiter;
pub mod off_cpu;
pub mod record;
pub mod rules;
mod served;
pub mod stored;
mod table;
pub mod terminal;
pub mod testing;
pub mod visible;

pub use exposition::{CONTENT_TYPE, exposition};
use record::AnyRecord;
pub use table::{csv, markdown};

/// A result and what it is called among others.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Name, as a rule of the run directory.
    pub name: &'a str,
    /// The result itself.
    pub record: AnyRecord<'a>,
}
