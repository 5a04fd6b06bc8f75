//! Lines that fit: wrapped text, labelled lines and tables without borders.
//!
//! Here text from outside becomes lines and cells, so that here control characters are made visible; colours come after that.

use super::Style;
pub(crate) use crate::text_table::{columns, table};
use crate::visible;
use crate::words::fact::{About, Fact, Tone};
use anstyle::AnsiColor;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Columns of a label and the space after it.
const LABEL: usize = 13;
/// From this width on labels and findings stand in a column of their own.
const WIDE: usize = 60;
/// Words that are not parted from the figure before them.
const UNITS: [&str; 10] = ["ns", "µs", "ms", "s", "B", "kB", "MB", "GB", "TB", "%"];
/// A space at which no line ends.
const NO_BREAK: char = '\u{a0}';
/// Room that text gets at least, however narrow the terminal is.
const TEXT_MIN: usize = 20;
/// What facts are about that are read first of a result.
const ANSWER: [About; 7] =
    [About::Verdict, About::Result, About::Figures, About::Summary, About::Limiter, About::LimiterDetail, About::Next];
/// What facts are about that say how it was measured.
const MEASURED: [About; 4] = [About::Load, About::Target, About::Machines, About::Agent];

impl Style {
    /// True if there is room to set text off to the right of a label.
    pub(crate) fn is_wide(self) -> bool {
        self.width >= WIDE
    }

    /// `text` in `style` if colours are wanted.
    pub(crate) fn paint(self, style: anstyle::Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Words of `text` in lines of at most `width` columns, the first of which begins with `head`, which may be coloured, and
/// the others with an indent of `rest`. A longer word (a URL) gets a line of its own, whole.
pub(crate) fn wrap(head: &str, text: &str, width: usize, rest: usize) -> String {
    let text = spaced(text);
    if text.is_empty() {
        return head.to_owned();
    }
    let indent = " ".repeat(rest);
    let options = Options::new(width.max(rest + TEXT_MIN))
        .initial_indent(head)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(&text, options).replace(NO_BREAK, " ")
}

/// The words of `text`, visible, with one space between them, at which a figure is not parted from its unit.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches(|c: char| ",;:.)".contains(c)));
        if is_unit && spaced.ends_with(|c: char| c.is_ascii_digit()) {
            spaced.push(NO_BREAK);
        } else if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(&visible::line(word));
    }
    spaced
}

/// What to do, after an arrow and an indent; ends with a newline.
pub(crate) fn advice(text: &str, indent: usize, style: Style) -> String {
    wrap(&format!("{:indent$}-> ", ""), text, style.width, indent + 3) + "\n"
}

/// What stands at the top of a result, above its tables: the answer, and how it was measured. Ends with a newline.
pub(crate) fn top_lines(facts: &[Fact], style: Style) -> String {
    let parts = [&ANSWER[..], &MEASURED].map(|about| fact_lines(facts, about, style));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Those of `facts` that are about something of `about`, in their order: a labelled line each, the texts in one column.
/// Details are left out unless all was asked for. Ends with a newline if there are any.
pub(crate) fn fact_lines(facts: &[Fact], about: &[About], style: Style) -> String {
    let is_shown = |fact: &&Fact| about.contains(&fact.about) && (style.verbose || fact.about != About::LimiterDetail);
    let shown = || facts.iter().filter(is_shown);
    let longest = shown().map(|fact| fact.label.chars().count()).max().unwrap_or(0);
    let column = if style.is_wide() { LABEL.max(longest + 1) } else { LABEL };
    shown().map(|fact| fact_line(fact, column, style)).collect()
}

fn fact_line(fact: &Fact, column: usize, style: Style) -> String {
    let line = labelled_at(column, fact.label, &fact.text, style);
    match fact.tone {
        Tone::Plain => line,
        Tone::Headline => with_bold_text(fact.label, &line, style),
        Tone::Good => with_painted_label(fact.label, &line, AnsiColor::Green, style),
        Tone::Unsure => with_painted_label(fact.label, &line, AnsiColor::Yellow, style),
        Tone::Bad => with_painted_label(fact.label, &line, AnsiColor::Red, style),
    }
}

/// `label        text`, the text wrapped beside the label; ends with a newline.
pub(crate) fn labelled(label: &str, text: &str, style: Style) -> String {
    labelled_at(LABEL, label, text, style)
}

/// The same with the text from a column on.
fn labelled_at(column: usize, label: &str, text: &str, style: Style) -> String {
    let rest = if style.is_wide() { column } else { 2 };
    let first = column.max(label.chars().count() + 1);
    wrap(&format!("{label:<first$}"), text, style.width, rest) + "\n"
}

/// As [`labelled`], with the label in a bold colour.
pub(crate) fn labelled_painted(label: &str, text: &str, colour: AnsiColor, style: Style) -> String {
    with_painted_label(label, &labelled(label, text, style), colour, style)
}

fn with_painted_label(label: &str, line: &str, colour: AnsiColor, style: Style) -> String {
    format!("{}{}", style.paint(bold(colour), label), &line[label.len()..])
}

/// As [`labelled`], with the text in bold.
pub(crate) fn labelled_bold(label: &str, text: &str, style: Style) -> String {
    with_bold_text(label, &labelled(label, text, style), style)
}

fn with_bold_text(label: &str, line: &str, style: Style) -> String {
    let (label, text) = line.split_at(line.len() - line.trim_start_matches(label).trim_start().len());
    format!("{label}{}\n", style.paint(anstyle::Style::new().bold(), text.trim_end()))
}

pub(crate) fn bold(colour: AnsiColor) -> anstyle::Style {
    colour.on_default().bold()
}

/// The rows of a table without room for one: a line or two each, in which every value has the label of its column. The first
/// `left` cells name the row.
pub(crate) fn labelled_rows(header: &[&str], rows: &[Vec<String>], left: usize, style: Style) -> String {
    let line = |row: &Vec<String>| {
        let name = row.iter().take(left).map(String::as_str).collect::<Vec<_>>().join(", ");
        let cells = header.iter().zip(row).skip(left).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> = cells.map(|(label, cell)| format!("{label} {cell}").trim_start().to_owned()).collect();
        wrap("", &format!("{name}: {}", cells.join(", ")), style.width, 2) + "\n"
    };
    rows.iter().map(line).collect()
}

/// At most `max` characters of a text: of a longer one the two ends, as a path says most there.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= max {
        return text.to_owned();
    }
    let front = (max - 1) / 2;
    let back = all.len() - (max - 1 - front);
    all[..front].iter().chain(&['…']).chain(&all[back..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_words_with_a_hanging_indent() {
        assert_eq!(wrap("no  ", "one two three  four\nfive six", 24, 2), "no  one two three four\n  five six");
        assert_eq!(wrap("", "a http://example.org/very/long/path b", 24, 0), "a\nhttp://example.org/very/long/path\nb");
        assert_eq!(wrap("", "waits for 1.00 s, then 2.00 s more", 26, 0), "waits for 1.00 s, then\n2.00 s more");
        let coloured = "\u{1b}[1mno\u{1b}[0m  ";
        assert_eq!(wrap(coloured, "one two three four", 24, 0), format!("{coloured}one two three four"));
        assert_eq!(wrap("no  ", "", 24, 0), "no  ");
    }

    #[test]
    fn control_characters_of_texts_and_cells_are_shown() {
        let style = Style { width: 80, colour: true, verbose: false };
        assert_eq!(labelled("target", "\u{1b}[2J a\rb\u{202e}", style), "target       \\u001b[2J a b\\u202e\n");
        let bold = labelled_bold("target", "\u{1b}[0mVALID", style);
        assert_eq!(bold, "target       \u{1b}[1m\\u001b[0mVALID\u{1b}[0m\n", "the only colours are our own");
        let rows = [vec!["a\nb".to_owned(), "\u{9b}".to_owned()]];
        assert_eq!(table(&["", "x"], &rows, 2, 1), "     x\na\\nb \\u009b\n");
    }

    #[test]
    fn tables_have_no_borders_and_numbers_to_the_right() {
        let rows = [vec!["response".to_owned(), "1 ms".to_owned()], vec!["a".to_owned(), "20 ms".to_owned()]];
        assert_eq!(table(&["", "p50"], &rows, 1, 2), "            p50\nresponse   1 ms\na         20 ms\n");
    }
}
