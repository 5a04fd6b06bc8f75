//! The only place that prints: stdout is the result that was asked for, stderr is everything else.
//!
//! Of control characters only line ends and tabs pass, and on stdout the colours of the renderers, who have taken those of
//! foreign text away. Help and usage errors are clap's: what stands in them was typed here.

use super::ascii;
use crate::exit::{CommandError, Exit};
use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use report::visible;
use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;
use std::sync::LazyLock;

/// Width used when stdout is not a terminal, and COLUMNS says nothing.
const DEFAULT_WIDTH: usize = 100;
/// Widest text; longer lines are hard to read.
const MAX_WIDTH: usize = 110;
/// Narrowest and widest text that COLUMNS may ask for.
const MIN_WIDTH: usize = 20;
const MAX_GIVEN: usize = 1_000;

/// Beginning of each line that says why the program ends, whoever has found the error.
const NAME: &str = "plimsoll:";
/// How clap begins such a line.
const OF_CLAP: &str = "error:";
/// Colour of that beginning, and its end.
const BOLD_RED: (&str, &str) = ("\u{1b}[1m\u{1b}[31m", "\u{1b}[0m");

/// Decides about colours, for all that is printed; `None` leaves it to terminal and environment.
pub(crate) fn choose_colour(choice: Option<clap::ColorChoice>) {
    let choice = match choice.unwrap_or(clap::ColorChoice::Auto) {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Prints the result for people. A reader that has closed the pipe is fine.
pub(crate) fn result(text: &str) -> Result<(), CommandError> {
    stream(text).map(drop)
}

/// Prints the result for programs, which is UTF-8 whatever the locale is.
pub(crate) fn data(text: &str) -> Result<(), CommandError> {
    stream_data(text).map(drop)
}

/// Prints a part of a result that goes on; false when the reader has closed the pipe, and there is no use in going on.
pub(crate) fn stream(text: &str) -> Result<bool, CommandError> {
    written(&in_locale(&visible::rendered(text)))
}

/// As [`stream`], for programs.
pub(crate) fn stream_data(text: &str) -> Result<bool, CommandError> {
    written(&visible::rendered(text))
}

fn written(text: &str) -> Result<bool, CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CommandError::usage(format!("cannot write to stdout: {error}"))),
    }
}

/// The text in the character set of the locale.
pub(crate) fn in_locale(text: &str) -> Cow<'_, str> {
    if has_ascii_only() { ascii::text(text) } else { Cow::Borrowed(text) }
}

/// True if the locale has no UTF-8.
pub(crate) fn has_ascii_only() -> bool {
    static ASCII_ONLY: LazyLock<bool> = LazyLock::new(|| ascii::is_wanted(|name| std::env::var_os(name)));
    *ASCII_ONLY
}

/// Prints one line about what is going on, or several, without colours. Not `eprintln`: that panics when nobody reads stderr
/// any more, and what happens to messages must not decide what happens to a measurement.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", in_locale(&visible::block(text)));
}

/// Prints what made the program end.
pub(crate) fn error(text: &str) {
    let (begin, end) = if is_coloured(&std::io::stderr()) { BOLD_RED } else { ("", "") };
    let _ = writeln!(std::io::stderr(), "{begin}{NAME}{end} {}", in_locale(&visible::block(text)));
}

/// Prints help to stdout and usage errors to stderr; returns the code that goes with it.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().ansi().to_string();
    // Nothing can be done when even this cannot be written.
    if error.use_stderr() {
        let text = text.replacen(OF_CLAP, NAME, 1);
        let _ = write!(anstream::stderr(), "{}", in_locale(&text));
        Exit::Usage.into()
    } else {
        let _ = write!(anstream::stdout(), "{}", in_locale(&text));
        Exit::Fine.into()
    }
}

/// How text on stdout is to look.
pub(crate) fn style() -> report::terminal::Style {
    report::terminal::Style { width: width(), colour: is_coloured(&std::io::stdout()), verbose: false }
}

/// True if a stream gets colours: by --color, NO_COLOR, CLICOLOR_FORCE, CLICOLOR, and the terminal, in this order.
fn is_coloured<S: RawStream>(stream: &S) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

fn width() -> usize {
    let of_terminal = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let given = || {
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).map(|columns: usize| columns.max(MIN_WIDTH))
    };
    of_terminal
        .filter(|columns| *columns > 0)
        .map(|columns| columns.min(MAX_WIDTH))
        .or_else(given)
        .map_or(DEFAULT_WIDTH, |columns| columns.min(MAX_GIVEN))
}
