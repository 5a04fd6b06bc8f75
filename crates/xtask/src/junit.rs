//! JUnit report of cargo-nextest: how many tests ran, how long each took, and why some failed.

use std::time::Duration;

use crate::failures::Failure;
use crate::times::Timed;
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
    /// Of each test that has a time.
    pub(crate) test_times: Vec<Timed>,
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
    /// When it is no XML, does not say how many tests there were, or has a time that is none.
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
                    let duration = duration(&tag)?;
                    report.test_times.extend(duration.map(|time| Timed::new(format!("{binary} {test}"), time)));
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

/// Time of a test, from seconds. `None` for a test without one.
fn duration(tag: &BytesStart<'_>) -> Result<Option<Duration>> {
    let seconds = text_of(tag, "time")?;
    if seconds.is_empty() {
        return Ok(None);
    }
    let duration = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.map(Some).with_context(|| format!("a test of {seconds:?} seconds in the JUnit report"))
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
    use super::{Failed, REASON_MAX, Report, Timed};
    use std::time::Duration;

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
    fn each_test_has_its_time() {
        let text = "<testsuites tests=\"3\" failures=\"1\" errors=\"0\"><testsuite name=\"a::b\">\
            <testcase name=\"c\" classname=\"a::b\" time=\"12.345\"/><testcase name=\"d\" classname=\"a::b\"/>\
            <testcase name=\"e\" classname=\"a::b\" time=\"0.010\"><failure>no</failure></testcase></testsuite></testsuites>";
        let expected =
            [("a::b c", 12_345), ("a::b e", 10)].map(|(name, ms)| Timed::new(name, Duration::from_millis(ms)));
        assert_eq!(Report::read(text).unwrap().test_times, expected);
        let broken = Report::read(&text.replace("12.345", "long")).unwrap_err().to_string();
        assert!(broken.contains("long"), "{broken}");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        for text in ["", "<testsuites tests=\"many\"/>", "<a/>", "<testsuites tests=\"1\" failures=\"0\"/>"] {
            assert!(Report::read(text).is_err(), "{text}");
        }
    }
}
