//! The only place that prints: stdout is the result that was asked for, stderr is everything else.
//!
//! Of control characters only line ends and tabs pass, and on stdout the colours of the renderers, who have taken those of
//! foreign text away. Help and usage errors are clap's: what stands in them was typed here.

use crate::exit::{CommandError, Exit};
use report::visible;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Width used when stdout is not a terminal.
const DEFAULT_WIDTH: usize = 100;
/// Widest text; longer lines are hard to read.
const MAX_WIDTH: usize = 110;

/// Prints the result. A reader that has closed the pipe is fine.
pub(crate) fn result(text: &str) -> Result<(), CommandError> {
    stream(text).map(drop)
}

/// Prints a part of a result that goes on; false when the reader has closed the pipe, and there is no use in going on.
pub(crate) fn stream(text: &str) -> Result<bool, CommandError> {
    let text = visible::rendered(text);
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::usage(format!("cannot write to stdout: {error}"))),
    }
}

/// Prints one line about what is going on, or several, without colours. Not `eprintln`: that panics when nobody reads stderr
/// any more, and what happens to messages must not decide what happens to a measurement.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible::block(text));
}

/// Prints what made the program end.
pub(crate) fn error(text: &str) {
    note(&format!("plimsoll: {text}"));
}

/// Prints help to stdout and usage errors to stderr; returns the code that goes with it.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing can be done when even this cannot be written.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Fine.into() }
}

/// How text on stdout is to look.
pub(crate) fn style() -> report::terminal::Style {
    let terminal = std::io::stdout().is_terminal();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    report::terminal::Style { width: width(), colour: terminal && !plain, verbose: false }
}

fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .map_or(DEFAULT_WIDTH, |columns| columns.min(MAX_WIDTH))
}
