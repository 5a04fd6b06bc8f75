//! Pages of `docs/` and their tables, as Markdown: the one place that knows how a heading, a list and a row are written.

use std::fmt::{self, Display};

use anyhow::Result;
use xtask::workspace;

/// A page, or a part of one: blocks with a blank line before each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// A page that has its title alone.
    pub(crate) fn new(title: &str) -> Self {
        Self(format!("# {title}\n"))
    }

    /// Adds the note by which command the page was made, and on which machine.
    pub(crate) fn made_by(self, command: &str, machine: &str) -> Self {
        self.block(format_args!("Made by `{command}` on {machine}."))
    }

    /// Adds the heading of a section.
    pub(crate) fn section(self, title: &str) -> Self {
        self.block(format_args!("## {title}"))
    }

    /// Adds a paragraph, a list or a table, whose last line may lack its end.
    pub(crate) fn block(mut self, text: impl Display) -> Self {
        self.0 += &format!("\n{text}");
        if !self.0.ends_with('\n') {
            self.0.push('\n');
        }
        self
    }

    /// Adds a list; nothing where it has no items.
    pub(crate) fn list(self, items: impl IntoIterator<Item = impl Display>) -> Self {
        let items: String = items.into_iter().map(|item| format!("- {item}\n")).collect();
        if items.is_empty() { self } else { self.block(items) }
    }

    /// Adds the blocks of a part.
    pub(crate) fn part(mut self, part: &Self) -> Self {
        self.0 += &part.0;
        self
    }

    /// Writes it into the repository.
    pub(crate) fn write(&self, path: &str) -> Result<()> {
        workspace::write(path, &self.0)
    }
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A table: its head, and a line for each row.
#[derive(Clone, Debug)]
pub(crate) struct Table(String);

impl Table {
    /// A table without a row. Its columns have ` | ` between them; one may lack its title.
    pub(crate) fn new(columns: &str) -> Self {
        Self::with_figures(columns, usize::MAX)
    }

    /// The same, with its columns from a place on, which counts from 0, to the right, as figures are.
    pub(crate) fn with_figures(columns: &str, first: usize) -> Self {
        let title = |column: &str| if column.is_empty() { " |".to_owned() } else { format!(" {column} |") };
        let titles: String = columns.split(" | ").map(title).collect();
        let rule = |(place, _)| if place < first { " --- |" } else { " ---: |" };
        let rule: String = columns.split(" | ").enumerate().map(rule).collect();
        Self(format!("|{titles}\n|{rule}\n"))
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: &[&dyn Display]) {
        self.texts(cells);
    }

    /// The same, of cells of one type.
    pub(crate) fn texts(&mut self, cells: impl IntoIterator<Item = impl Display>) {
        self.line(&line(cells));
    }

    /// Adds a row that is a line already, of an older page perhaps.
    pub(crate) fn line(&mut self, line: &str) {
        self.0 += line;
        self.0.push('\n');
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A row of a table, as a line without its end. What would end a cell or the line does not.
pub(crate) fn line(cells: impl IntoIterator<Item = impl Display>) -> String {
    let cell = |cell: String| format!(" {} |", cell.replace('|', "\\|").replace('\n', " "));
    cells.into_iter().fold("|".to_owned(), |line, next| line + &cell(next.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{Page, Table};

    #[test]
    fn blocks_have_a_blank_line_before_them_whether_or_not_their_last_line_is_ended() {
        let part = Page::default().section("A part").block("text\n");
        let page = Page::new("A page").made_by("xtask", "a machine").list(["a", "b"]).list([""; 0]).part(&part);
        let expected = "# A page\n\nMade by `xtask` on a machine.\n\n- a\n- b\n\n## A part\n\ntext\n";
        assert_eq!(page.to_string(), expected);
    }

    #[test]
    fn what_stands_in_a_cell_ends_neither_the_cell_nor_the_line() {
        let mut table = Table::with_figures("what | figure | ", 1);
        table.row(&[&"a|b\nc", &1.5, &""]);
        assert_eq!(table.to_string(), "| what | figure | |\n| --- | ---: | ---: |\n| a\\|b c | 1.5 |  |\n");
    }
}
