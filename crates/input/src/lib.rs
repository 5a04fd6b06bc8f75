//! Input that is not trusted: URLs, lists of requests, recordings of browsers, experiments and what came of them, files with
//! a limit.
//!
//! Responsibilities: what may come from somebody else is read within a limit, checked, and refused in one line that names
//! the thing and the reason. What is read of a file takes at most as much memory as the file once more.

mod error;
pub mod experiment;
mod files;
mod requests;
mod target_url;
pub mod testing;

pub use error::InputError;
pub use files::{ReadError, open_file, read_at_most, read_open, text_at_most};
pub use requests::{Listed, RequestFile, body_file, method};
pub use target_url::{Scheme, TargetUrl};
