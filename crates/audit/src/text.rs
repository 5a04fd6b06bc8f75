//! Saved output as lines: whatever encoding, line ends and colours it was saved with.

mod prefix;

use super::Unreadable;
use std::ops::Range;

/// Larger files are no output of a load generator; raw samples are not read.
pub const BYTES_MAX: usize = 4 << 20;

/// The lines of an output, trimmed, without colours.
#[derive(Clone, Debug)]
pub struct Text {
    /// Lines in front of these, of a part of a text.
    before: u64,
    lines: Vec<String>,
}

impl Text {
    /// Reads UTF-8 or UTF-16 with a byte order mark; drops ANSI escapes and what progress displays have overwritten.
    ///
    /// # Errors
    /// When it is too large, empty or no text.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.len() > BYTES_MAX {
            return Err(Unreadable::TooLarge);
        }
        let text = match bytes {
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        if text.contains('\0') {
            return Err(Unreadable::NotText);
        }
        let lines: Vec<String> = without_escapes(&text).split('\n').map(last_written).collect();
        if lines.iter().all(String::is_empty) {
            return Err(Unreadable::Empty);
        }
        let lines = prefix::stripped(lines);
        Ok(Self { before: 0, lines })
    }

    /// Lines that are not empty, numbered from 1.
    pub fn lines(&self) -> impl Iterator<Item = (u64, &str)> {
        let numbered = self.lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
        numbered.map(|(i, line)| (self.before + i as u64 + 1, line.as_str()))
    }

    /// Number of the first line.
    pub(crate) fn first(&self) -> u64 {
        self.before + 1
    }

    /// The lines of these numbers, which they keep; none where these are empty.
    pub(crate) fn part(&self, numbers: Range<u64>) -> Option<Self> {
        let place = |number: u64| usize::try_from(number.saturating_sub(self.first())).unwrap_or(usize::MAX);
        let (begin, end) = (place(numbers.start), place(numbers.end).min(self.lines.len()));
        let lines = self.lines.get(begin..end)?.to_vec();
        lines.iter().any(|line| !line.is_empty()).then(|| Self { before: self.before + begin as u64, lines })
    }

    /// The lines in front of this number.
    pub(crate) fn until(&self, number: u64) -> Option<Self> {
        self.part(self.first()..number)
    }

    /// True if any line holds `part`.
    pub(crate) fn has(&self, part: &str) -> bool {
        self.lines.iter().any(|line| line.contains(part))
    }

    /// Everything from the first line on that begins as JSON does, with its number; none without one.
    pub(crate) fn json(&self) -> Option<(u64, String)> {
        // What tools print above it may begin with `[error]`.
        let begins = |line: &String| {
            line.starts_with('{') || line.strip_prefix('[').is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
        };
        let at = self.lines.iter().position(begins)?;
        Some((self.first() + at as u64, self.lines[at..].join("\n")))
    }
}

/// The visible part of a line in a terminal: after the last carriage return.
fn last_written(line: &str) -> String {
    let line = line.trim_end();
    without_emphasis(line.rsplit('\r').next().unwrap_or(line).trim())
}

/// A figure that somebody has made bold in Markdown, `**296** requests`, as it was.
fn without_emphasis(line: &str) -> String {
    match line.matches("**").count() {
        marks if marks > 0 && marks.is_multiple_of(2) => line.replace("**", ""),
        _ => line.to_owned(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Drops `ESC [ ... letter`, `ESC ] ... BEL` and single-letter escapes.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => drop(chars.find(|c| ('@'..='~').contains(c))),
            Some(']') => drop(chars.find(|c| *c == '\u{7}' || *c == '\n')),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
        Text::decode(bytes).unwrap().lines().map(|(n, line)| (n, line.to_owned())).collect()
    }

    #[test]
    fn colours_line_ends_and_progress_are_gone() {
        assert_eq!(
            lines(b"\x1b[1;32mok\x1b[0m \r\n\r\n 1 %\r 2 %\r3 %\nend"),
            [(1, "ok".into()), (3, "3 %".into()), (4, "end".into())]
        );
    }

    #[test]
    fn what_powershell_saves_is_read() {
        let mut bytes = vec![0xff, 0xfe];
        bytes.extend("a µ\n".encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(lines(&bytes), [(1, "a µ".into())]);
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(matches!(Text::decode(b" \n\n"), Err(Unreadable::Empty)));
        assert!(matches!(Text::decode(b"PNG\0\0"), Err(Unreadable::NotText)));
        assert!(matches!(Text::decode(&vec![b'a'; BYTES_MAX + 1]), Err(Unreadable::TooLarge)));
    }
}
