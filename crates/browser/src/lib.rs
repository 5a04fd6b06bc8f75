//! Chromium without a window, over the DevTools protocol: what it measures of one load of a page.
//!
//! [`Browser`] starts the program, and has it load a URL in a [`Profile`] of its own; `page` folds the events of the protocol
//! into a [`model::PageLoad`] and knows neither pipe nor clock. All times are those of the browser.
//!
//! The protocol goes over two pipes, not over a port that others could reach. The page is not trusted: it runs in the
//! browser's sandbox, as another user when we are root; what comes from it is bounded, and texts pass the redactor.

mod error;
mod events;
mod launch;
mod messages;
mod page;
mod pipe;
mod said;
mod session;
pub mod testing;
mod waiting;

pub use error::{BROWSERS, BrowserError};
pub use launch::{BrowserOptions, HEIGHT_PX, WIDTH_PX};
pub use session::{Browser, Profile};
