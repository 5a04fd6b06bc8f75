//! Characters that act instead of being read, made visible: control characters, and those that turn or break lines.
//!
//! Text from outside (answers of servers, names of processes and files, logs, records of others) passes here where a
//! renderer takes it into a line, a cell, a chart or a graph. Colours are added after that: a sequence that comes with the
//! text cannot be one. What is printed without a renderer passes at the printer. A character is shown as JSON writes it,
//! such as `\u001b`, so that JSON stays what it was.

use std::borrow::Cow;

/// Sequences by which the renderers colour text: none, bold, and red, green, yellow, cyan and white.
const SGR: [&str; 7] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m", "\u{1b}[37m"];

/// Text for a place inside a line: no control character is left, line ends included.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, |_| 0)
}

/// Text of several lines: line ends and tabs stay.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    shown(text, white_space)
}

/// What a renderer has made: line ends, tabs and its colours stay.
#[must_use]
pub fn rendered(text: &str) -> Cow<'_, str> {
    let colour = |rest: &str| SGR.iter().find(|sgr| rest.starts_with(**sgr)).map_or(0, |sgr| sgr.len());
    shown(text, |rest| white_space(rest).max(colour(rest)))
}

/// True if a character acts where it should be read.
fn acts(c: char) -> bool {
    // Marks and overrides of direction, line and paragraph separators, isolates; and what no XML document may hold, where
    // JUnit and SVG could not be read.
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Bytes of a line end or a tab at the begin of `rest`.
fn white_space(rest: &str) -> usize {
    usize::from(rest.starts_with(['\n', '\t']))
}

/// `text` with what acts in it made visible; `stays` says how many bytes at the begin of a rest are left as they are.
fn shown(text: &str, stays: impl Fn(&str) -> usize) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text[at..].find(acts) {
        at += found;
        let kept = stays(&text[at..]);
        let Some(c) = text[at..].chars().next().filter(|_| kept == 0) else {
            at += kept;
            continue;
        };
        out.push_str(&text[copied..at]);
        out.push_str(&escape(c));
        at += c.len_utf8();
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn escape(c: char) -> String {
    match c {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        c => format!("\\u{:04x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    #[test]
    fn everything_that_acts_is_shown_and_nothing_else_is_touched() {
        let c0_and_c1 = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
        let bidi = ['\u{61c}', '\u{200e}', '\u{200f}'].into_iter();
        let bidi = bidi.chain('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        for c in c0_and_c1.chain(bidi).chain('\u{fffe}'..='\u{ffff}') {
            let text = format!("a{c}b");
            let shown = line(&text);
            assert!(!shown.contains(c) && shown.starts_with("a\\") && shown.ends_with('b'), "{c:?}: {shown:?}");
            let json = serde_json::from_str::<String>(&format!("\"{shown}\""));
            assert_eq!(json.ok(), Some(text), "in JSON it is the same character");
        }
        let plain = "ä € \u{a0} \\ \u{1f980} | <b>";
        assert!(matches!(line(plain), Cow::Borrowed(text) if text == plain));
    }

    #[test]
    fn what_a_title_or_a_cursor_would_move_is_text() {
        assert_eq!(line("\u{1b}]0;owned\u{7}\r\nx\t"), r"\u001b]0;owned\u0007\r\nx\t");
        assert_eq!(block("a\tb\n\u{9b}2J\r\n"), "a\tb\n\\u009b2J\\r\n");
        assert_eq!(block("\u{202e}gpj.exe"), r"\u202egpj.exe");
    }

    #[test]
    fn only_the_colours_of_the_renderers_stay() {
        use AnsiColor::{Cyan, Green, Red, White, Yellow};
        for colour in [Red, Green, Yellow, Cyan, White] {
            let style = colour.on_default().bold();
            let text = format!("{style}x{style:#}\n");
            assert_eq!(rendered(&text), text);
            assert!(!block(&text).contains('\u{1b}'), "elsewhere they are no colours");
        }
        let text = "\u{1b}[8mhidden\u{1b}[0m\u{1b}[2J\u{1b}[1;31m";
        assert_eq!(rendered(text), "\\u001b[8mhidden\u{1b}[0m\\u001b[2J\\u001b[1;31m");
    }
}
