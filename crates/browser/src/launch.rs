//! The program of the browser and its arguments.

use crate::error::{BROWSERS, BrowserError};
use stack::Piped;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Width of the window: what is painted first depends on it; pixels.
pub const WIDTH_PX: u32 = 1350;
/// Its height; pixels.
pub const HEIGHT_PX: u32 = 940;

/// Arguments of every start: no window, the protocol on descriptors 3 and 4, and nothing that the browser does on its own account
/// while a page is measured. HTTP/3 is off: a first visit never uses it, a second one might.
const ARGUMENTS: [&str; 13] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--mute-audio",
];

/// How a browser is started.
#[derive(Clone, Debug, Default)]
pub struct BrowserOptions {
    /// The command line of the supervisor, as of [`stack::Options`].
    pub supervisor: Vec<OsString>,
    /// Program, as a path or a name; none: the first of [`BROWSERS`] that is installed.
    pub program: Option<PathBuf>,
    /// True to run pages without the sandbox of the browser.
    pub no_sandbox: bool,
    /// True to accept certificates that cannot be verified.
    pub insecure: bool,
}

/// Finds the program.
pub(crate) fn find(options: &BrowserOptions) -> Result<PathBuf, BrowserError> {
    stack::installed(options.program.as_deref(), &BROWSERS)?.ok_or(BrowserError::Missing)
}

/// Starts it.
pub(crate) fn start(program: &Path, options: &BrowserOptions) -> Result<Piped, BrowserError> {
    Ok(Piped::start("browser", program, |dir| arguments(dir, options), &options.supervisor, clock::monotonic_ns)?)
}

fn arguments(dir: &Path, options: &BrowserOptions) -> Vec<String> {
    let chosen = [(options.no_sandbox, "--no-sandbox"), (options.insecure, "--ignore-certificate-errors")];
    let own = [
        format!("--window-size={WIDTH_PX},{HEIGHT_PX}"),
        // The protocol is refused in the profile that is the default.
        format!("--user-data-dir={}", dir.join("data").display()),
    ];
    let chosen = chosen.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, argument)| argument);
    ARGUMENTS.into_iter().chain(chosen).map(str::to_owned).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_and_the_check_of_certificates_are_left_out_only_when_that_is_asked_for() {
        let given = |options: &BrowserOptions| arguments(Path::new("/x"), options);
        let plain = given(&BrowserOptions::default());
        assert!(plain.contains(&"--user-data-dir=/x/data".to_owned()), "{plain:?}");
        for flag in ["--no-sandbox", "--ignore-certificate-errors"] {
            assert!(!plain.contains(&flag.to_owned()), "{plain:?}");
            let both = BrowserOptions { no_sandbox: true, insecure: true, ..BrowserOptions::default() };
            assert!(given(&both).contains(&flag.to_owned()));
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let options = BrowserOptions { program: Some("/no/such/browser".into()), ..BrowserOptions::default() };
        let message = find(&options).expect_err("it is not there").to_string();
        assert_eq!(message, "/no/such/browser: there is no such program");
    }
}
