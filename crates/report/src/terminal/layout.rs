//! Lines that fit: wrapped text, labelled lines and tables without borders.
//!
//! Here text from outside becomes lines and cells, so that here control characters are made visible; colours come after that.

use super::Style;
use crate::visible;
use comfy_table::{Cell, CellAlignment, Table, presets};
use model::Limiter;
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

/// `label        text`, the text wrapped beside the label; ends with a newline.
pub(crate) fn labelled(label: &str, text: &str, style: Style) -> String {
    let rest = if style.is_wide() { LABEL } else { 2 };
    let first = LABEL.max(label.chars().count() + 1);
    wrap(&format!("{label:<first$}"), text, style.width, rest) + "\n"
}

/// As [`labelled`], with the label in `paint`.
pub(crate) fn labelled_painted(label: &str, text: &str, paint: anstyle::Style, style: Style) -> String {
    let line = labelled(label, text, style);
    format!("{}{}", style.paint(paint, label), &line[label.len()..])
}

/// As [`labelled`], with the text in bold.
pub(crate) fn labelled_bold(label: &str, text: &str, style: Style) -> String {
    let line = labelled(label, text, style);
    let (label, text) = line.split_at(line.len() - line.trim_start_matches(label).trim_start().len());
    format!("{label}{}\n", style.paint(anstyle::Style::new().bold(), text.trim_end()))
}

/// The lines about what stops the server; none where that was not looked for.
pub(crate) fn limiter(limiter: Option<&Limiter>, style: Style) -> String {
    let lines = limiter.into_iter().flat_map(crate::limiter::lines);
    lines.map(|(label, text)| labelled(label, &text, style)).collect()
}

/// A table without borders, numbers to the right, the first `left` columns to the left; ends with a newline.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], left: usize, gap: u16) -> String {
    let align = |i| if i < left { CellAlignment::Left } else { CellAlignment::Right };
    let cell = |(i, text): (usize, &str)| Cell::new(visible::line(text)).set_alignment(align(i));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().copied().enumerate().map(cell));
    for row in rows {
        table.add_row(row.iter().map(String::as_str).enumerate().map(cell));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { gap }, 0));
    }
    table.trim_fmt() + "\n"
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

/// Columns the widest line takes.
pub(crate) fn columns(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// Characters of a function's name that are shown: as many of its end, which tells it apart.
const NAME_MAX: usize = 60;

/// The end of a long name, without the marks that flame graphs colour by, which go into words.
pub(super) fn short(name: &str) -> String {
    let marks = [("_[k]", " (kernel)"), ("_[i]", " (inlined)"), ("_[j]", " (JIT)")];
    let found = marks.iter().find_map(|(mark, words)| Some((name.strip_suffix(mark)?, *words)));
    let (name, words) = found.unwrap_or((name, ""));
    let length = name.chars().count();
    match length > NAME_MAX {
        true => format!("...{}{words}", name.chars().skip(length - NAME_MAX + 3).collect::<String>()),
        false => format!("{name}{words}"),
    }
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

    #[test]
    fn long_names_keep_their_end_and_marks_become_words() {
        assert_eq!(short("tcp_sendmsg_[k]"), "tcp_sendmsg (kernel)");
        let long = format!("{}::poll", "a".repeat(80));
        assert_eq!(short(&long), format!("...{}::poll", "a".repeat(NAME_MAX - 9)));
    }
}
