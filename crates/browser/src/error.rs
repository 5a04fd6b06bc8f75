//! Why there is no browser.

use stack::StackError;
use thiserror::Error;

/// Programs that are looked for, in this order.
pub const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Debian's package that has the first.
const PACKAGE: &str = "chromium";

/// Every message is one line that names the thing, the reason and what to do.
#[derive(Debug, Error)]
pub enum BrowserError {
    /// None is installed.
    #[error("no browser is installed ({}): apt-get install {PACKAGE}, or name one with --browser PATH", BROWSERS.join(", "))]
    Missing,
    /// It cannot be started, or this machine refuses something.
    #[error(transparent)]
    Machine(#[from] StackError),
    /// It ended, or does not speak the protocol.
    #[error("the browser {0}{hint}", hint = hint(.0))]
    Ended(String),
    /// Stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

/// What to do where its sandbox does not work.
fn hint(what: &str) -> &'static str {
    let is_sandbox = what.to_ascii_lowercase().contains("sandbox");
    if is_sandbox { "; --no-sandbox does without it, for pages that you trust" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_do() {
        let missing = BrowserError::Missing.to_string();
        assert!(missing.contains("apt-get install chromium") && missing.contains("google-chrome"), "{missing}");
        let hinted = BrowserError::Ended("ended with exit code 1: FATAL: No usable sandbox!".into()).to_string();
        assert!(hinted.contains("--no-sandbox"), "{hinted}");
        assert_eq!(BrowserError::Ended("was ended by SIGKILL".into()).to_string(), "the browser was ended by SIGKILL");
    }
}
