//! Results as people and programs read them: pure functions from records to text.
//!
//! Responsibilities: the records themselves from evidence ([`record`]), the terminal ([`terminal`]) and JSON
//! ([`json`]). Nothing here reads a clock, a file or the size of a window; the caller says how wide and whether to
//! colour. Everything is readable without colour.

pub mod json;
pub mod record;
pub mod terminal;
