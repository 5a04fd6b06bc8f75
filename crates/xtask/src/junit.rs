//! JUnit report of cargo-nextest: how many tests ran, and why some failed.

use crate::failures::Failure;
use anyhow::{Context, Result};
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Longest reason; characters.
const REASON_MAX: usize = 400;

/// What a report says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) tests: u64,
    pub(crate) failed: u64,
    pub(crate) failures: Vec<Failed>,
}

/// A test that failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Failed {
    /// What cargo-nextest calls its binary, such as `plimsoll::end_to_end`.
    binary: String,
    test: String,
    /// Its panic, in one line.
    reason: String,
}

impl Failed {
    /// With the command that runs it alone. The binaries are all test targets of a package.
    pub(crate) fn failure(&self) -> Failure {
        let Self { binary, test, reason } = self;
        let (package, target) = binary.split_once("::").unwrap_or((binary, binary));
        let command = format!("cargo test -p {package} --test {target} -- --exact '{test}'");
        Failure::new(format!("{binary} {test}: {reason}"), command)
    }
}

impl Report {
    /// # Errors
    /// When it is no XML, or does not say how many tests there were.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut reader = Reader::from_str(text);
        let (mut report, mut case, mut has_counts) = (Self::default(), Failed::default(), false);
        loop {
            let tag = match reader.read_event()? {
                Event::Eof => break,
                Event::Start(tag) if [b"failure".as_slice(), b"error"].contains(&tag.name().as_ref()) => {
                    let output = reader.read_text(tag.name())?.decode()?.into_owned();
                    let reason = reason(&unescape(&output)?);
                    report.failures.push(Failed { reason, ..std::mem::take(&mut case) });
                    continue;
                }
                Event::Start(tag) | Event::Empty(tag) => tag,
                _ => continue,
            };
            match tag.name().as_ref() {
                b"testsuites" => {
                    report.tests = number(&tag, "tests")?;
                    report.failed = number(&tag, "failures")? + number(&tag, "errors")?;
                    has_counts = true;
                }
                b"testcase" => {
                    let (binary, test) = (text_of(&tag, "classname")?, text_of(&tag, "name")?);
                    case = Failed { binary, test, reason: String::new() };
                }
                _ => {}
            }
        }
        has_counts.then_some(report).context("a JUnit report without <testsuites>")
    }
}

fn number(tag: &BytesStart<'_>, name: &str) -> Result<u64> {
    text_of(tag, name)?.parse().with_context(|| format!("no number of {name} in the JUnit report"))
}

/// Value of an attribute; empty where there is none.
fn text_of(tag: &BytesStart<'_>, name: &str) -> Result<String> {
    let Some(attribute) = tag.try_get_attribute(name)? else { return Ok(String::new()) };
    Ok(attribute.normalized_value(XmlVersion::default())?.into_owned())
}

/// Panic of a test, from what it printed, in one line of bounded length.
fn reason(output: &str) -> String {
    let panic = output.split_once("stack backtrace:").map_or(output, |(panic, _)| panic);
    panic.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{Failed, REASON_MAX, Report};

    #[test]
    fn tests_that_failed_are_told_with_their_reason() {
        let text = "<?xml version=\"1.0\"?>\n<testsuites name=\"run\" tests=\"9\" failures=\"1\" errors=\"1\">\
            <testsuite name=\"plimsoll::end_to_end\" tests=\"9\"><testcase name=\"pools::a\" classname=\"plimsoll::end_to_end\"/>\
            <testcase name=\"pools::b\" classname=\"plimsoll::end_to_end\"><failure message=\"thread 'b' panicked at b.rs:1:2\" \
            type=\"test failure\">thread 'b' panicked at b.rs:1:2:\n0.9 &lt; 1\nstack backtrace:\n 0: all</failure></testcase></testsuite></testsuites>";
        let report = Report::read(text).unwrap();
        assert_eq!((report.tests, report.failed), (9, 2));
        let [failure] = &report.failures.iter().map(Failed::failure).collect::<Vec<_>>()[..] else {
            panic!("{report:?}")
        };
        assert_eq!(failure.what, "plimsoll::end_to_end pools::b: thread 'b' panicked at b.rs:1:2: 0.9 < 1");
        assert_eq!(failure.command, "cargo test -p plimsoll --test end_to_end -- --exact 'pools::b'");
        let long = text.replace("0.9", &"x ".repeat(1000));
        assert!(Report::read(&long).unwrap().failures[0].reason.len() < REASON_MAX + 100);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for text in ["", "<testsuites tests=\"many\"/>", "<a/>", "<testsuites tests=\"1\" failures=\"0\"/>"] {
            assert!(Report::read(text).is_err(), "{text}");
        }
    }
}
