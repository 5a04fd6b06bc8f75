//! Why a server is not there.

use thiserror::Error;

/// Every message is one line that names the thing, the reason and what to do.
#[derive(Debug, Error)]
pub enum StackError {
    /// What is asked for cannot be.
    #[error("{0}")]
    Wrong(String),
    /// Programs or files that are not installed.
    #[error("{}", missing(.0))]
    Missing(Vec<Missing>),
    /// This machine refuses something that plimsoll itself needs.
    #[error("cannot {doing}: {reason}")]
    Machine {
        /// What was tried.
        doing: String,
        /// Why not.
        reason: String,
    },
    /// The server does not start, does not answer, or answers something else.
    #[error("{name} {what}{said}")]
    Server {
        /// The server.
        name: String,
        /// What it does instead.
        what: String,
        /// The last it wrote, in parentheses with a colon before; empty when it is silent.
        said: String,
    },
    /// ^C.
    #[error("interrupted before the server was ready")]
    Interrupted,
}

/// Something that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Name of a program, or path of a file.
    pub program: String,
    /// The Debian package that has it.
    pub package: &'static str,
}

impl StackError {
    /// True if the fault lies in what was asked for or in this machine, rather than in the server.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Missing(_) | Self::Machine { .. })
    }

    /// A refusal of the system while `doing` something with a file.
    pub(crate) fn file(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Machine { doing: format!("{doing} {}", path.display()), reason: error.to_string() }
    }
}

/// All that is missing, with the command that installs it.
fn missing(all: &[Missing]) -> String {
    let names: Vec<&str> = all.iter().map(|missing| missing.program.as_str()).collect();
    let mut packages: Vec<&str> = all.iter().map(|missing| missing.package).collect();
    packages.dedup();
    let (is, packages) = (if names.len() == 1 { "is" } else { "are" }, packages.join(" "));
    let other = match names[..] {
        [name] if !name.contains('/') => ", or name another with --binary PATH",
        _ => "",
    };
    format!("{} {is} not installed: apt-get install {packages}{other}", names.join(", "))
}

/// What a supervisor or a server wrote last, as the end of a message.
pub(crate) fn said(lines: &str) -> String {
    /// More than this makes no clear line.
    const SHOWN_CHARS: usize = 400;
    /// Varnish puts the line of an error seven lines before its last.
    const SHOWN_LINES: usize = 8;
    if let Some(error) = of_php(lines) {
        return format!(": {}", error.chars().take(SHOWN_CHARS).collect::<String>());
    }
    let lines: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    let text = lines[from..].join("; ");
    match text.char_indices().rev().nth(SHOWN_CHARS) {
        _ if text.is_empty() => String::new(),
        Some((at, _)) => format!(": ...{}", &text[at..]),
        None => format!(": {text}"),
    }
}

/// The last error of PHP in what was written: without the trace behind it, which is longer than any line.
fn of_php(lines: &str) -> Option<&str> {
    let at = ["PHP Fatal error:", "PHP Parse error:"].iter().filter_map(|error| lines.rfind(error)).max()?;
    lines[at..].lines().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_of_php_the_line_that_says_it_is_shown() {
        let log = "[error] 1#1: FastCGI sent in stderr: \"PHP message: PHP Fatal error:  Uncaught Error: no such thing in a.php:1\n\
                   Stack trace:\n#0 b.php(1): c()\n#1 {main}\n  thrown in a.php on line 1\" while reading upstream\n";
        assert_eq!(said(log), ": PHP Fatal error:  Uncaught Error: no such thing in a.php:1");
        assert_eq!(said("one\ntwo\n"), ": one; two");
    }
}
