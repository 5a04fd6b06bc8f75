//! Tables of many measurements, for a paper or a spreadsheet: raw, aggregated by group, or as overhead over a baseline.
//!
//! A measurement is a run, a load of a sweep, or a trial of a capacity. Each aggregate of a field has a column of its own,
//! and the overhead of each is over the same aggregate of the baseline. Invalid measurements are in raw tables only.

mod aggregate;
mod fields;

pub use aggregate::Aggregate;
pub use fields::Field;

use crate::Named;
use crate::bounds::sign;
use crate::cells::csv_text;
use crate::text_table::table;
use fields::{Cell, Sample, samples};
use model::KnownFigure;
use model::human::{count, plural};

/// Fields of a raw or an aggregated table for which none are named.
pub const FIELDS_DEFAULT: [&str; 6] = ["goodput", "p50", "p99", "cpu-proc", "cpu-per-request", "rss"];
/// What measurements are grouped by where nothing is named.
pub const GROUP_BY_DEFAULT: [&str; 3] = ["instance", "connections", "rate"];

/// What a table is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRequest {
    /// Kind of the table.
    pub kind: TableKind,
    /// Its fields.
    pub fields: Vec<Field>,
    /// How several values become one, each in a column of its own.
    pub aggregates: Vec<Aggregate>,
    /// Fields whose values make a group.
    pub group_by: Vec<Field>,
    /// Measurements that are in it.
    pub filters: Vec<Filter>,
}

/// Kind of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// A row for each measurement.
    Raw,
    /// A row for each group.
    Aggregated,
    /// A row for each group, relative to the group that is the same but for its first field, which is this.
    Overhead {
        /// Value of the first field that groups.
        baseline: String,
    },
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    field: Field,
    /// `=`, `!=`, `<`, `>`, `<=` or `>=`.
    sign: &'static str,
    value: String,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Rounded, with units, in columns.
    Text,
    /// Not rounded, with commas.
    Csv,
    /// Not rounded, with tabs.
    Tsv,
}

/// A table as text, and what has to be known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tabulated {
    /// The table; ends with a newline.
    pub text: String,
    /// What was left out.
    pub notes: Vec<String>,
}

/// A column.
struct Column {
    field: Field,
    aggregate: Option<Aggregate>,
    /// True if its values are relative to the baseline.
    is_ratio: bool,
}

/// Measurements that make a row of an aggregated table, with the values that they share.
struct Group<'a, 'b> {
    by: Vec<Cell>,
    samples: Vec<&'b Sample<'a>>,
}

/// The table of `results` that was asked for.
///
/// # Errors
/// One line, when nothing is left for the table, or the baseline is not there.
pub fn tabulate(results: &[Named<'_>], request: &TableRequest, format: TableFormat) -> Result<Tabulated, String> {
    let all = samples(results);
    let kept: Vec<&Sample<'_>> =
        all.iter().filter(|sample| request.filters.iter().all(|one| one.takes(sample))).collect();
    if kept.is_empty() {
        return Err(match all.len() {
            0 => "there is no measurement in these results".to_owned(),
            n => format!("--filter leaves none of the {}", plural(n as u64, "measurement")),
        });
    }
    if request.kind == TableKind::Raw {
        let columns: Vec<Column> = request.fields.iter().map(|field| Column::plain(*field)).collect();
        let rows = kept.iter().map(|sample| request.fields.iter().map(|field| sample.cell(*field)).collect());
        return Ok(Tabulated { text: write(&columns, rows.collect(), format), notes: Vec::new() });
    }
    let valid: Vec<&Sample<'_>> = kept.iter().copied().filter(|sample| !sample.is_invalid()).collect();
    let invalid = kept.len() - valid.len();
    if valid.is_empty() {
        return Err("all of its measurements are INVALID: nothing may be made of their numbers".to_owned());
    }
    let notes = (invalid > 0).then(|| format!("{} left out", plural(invalid as u64, "INVALID measurement")));
    let notes = notes.into_iter().chain(bounds_left_out(&valid, &request.fields)).collect();
    let groups = groups(&valid, &request.group_by);
    let text = match &request.kind {
        TableKind::Overhead { baseline } => overhead(&groups, request, baseline, format)?,
        _ => aggregated(&groups, request, format),
    };
    Ok(Tabulated { text, notes })
}

/// How many values count for nothing, as a bound is no number to compute with.
fn bounds_left_out(samples: &[&Sample<'_>], fields: &[Field]) -> Option<String> {
    let cells = samples.iter().flat_map(|sample| fields.iter().map(|field| sample.cell(*field)));
    match cells.filter(|cell| matches!(cell, Cell::Bound(..))).count() {
        0 => None,
        1 => Some("1 value left out, as it is only a bound".to_owned()),
        n => Some(format!("{} values left out, as they are only bounds", count(n as u64))),
    }
}

/// Groups in the order of their first measurements.
fn groups<'a, 'b>(samples: &[&'b Sample<'a>], by: &[Field]) -> Vec<Group<'a, 'b>> {
    let mut groups: Vec<Group<'a, 'b>> = Vec::new();
    for sample in samples {
        let cells: Vec<Cell> = by.iter().map(|field| sample.cell(*field)).collect();
        match groups.iter_mut().find(|group| group.by == cells) {
            Some(group) => group.samples.push(sample),
            None => groups.push(Group { by: cells, samples: vec![sample] }),
        }
    }
    groups
}

fn aggregated(groups: &[Group<'_, '_>], request: &TableRequest, format: TableFormat) -> String {
    let columns = request.columns(false);
    let rows = groups.iter().map(|group| [group.by.clone(), group.cells(request)].concat());
    write(&columns, rows.collect(), format)
}

/// Each group but those of the baseline over the one that is the same but for its first field.
fn overhead(
    groups: &[Group<'_, '_>],
    request: &TableRequest,
    baseline: &str,
    format: TableFormat,
) -> Result<String, String> {
    let first = request.group_by.first().ok_or("an overhead needs a field to group by, such as instance")?;
    let is_baseline = |group: &&Group<'_, '_>| group.by[0].is(baseline);
    if !groups.iter().any(|group| is_baseline(&group)) {
        let known: Vec<String> = groups.iter().map(|group| group.by[0].plain()).collect();
        return Err(format!("--baseline {baseline:?} is no {}; there are {}", first.name, unique(known).join(", ")));
    }
    let columns = request.columns(true);
    let rows = groups.iter().filter(|group| !is_baseline(group)).map(|group| {
        let other = groups.iter().filter(is_baseline).find(|other| other.by[1..] == group.by[1..]);
        let base = other.map(|other| other.cells(request));
        let own = group.cells(request);
        let cells = own.into_iter().enumerate().map(|(at, cell)| match columns[group.by.len() + at].is_ratio {
            false => cell,
            true => cell.over(base.as_ref().map(|base| &base[at])),
        });
        group.by.iter().cloned().chain(cells).collect::<Vec<Cell>>()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        return Err(format!("there is nothing beside --baseline {baseline:?} to have an overhead"));
    }
    Ok(write(&columns, rows, format))
}

fn unique(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

impl TableRequest {
    /// The columns of a row: those that group, then each aggregate of each field.
    fn columns(&self, relative: bool) -> Vec<Column> {
        let by = self.group_by.iter().map(|field| Column::plain(*field));
        let each = self.fields.iter().flat_map(|field| {
            self.aggregates.iter().map(move |aggregate| Column {
                field: *field,
                aggregate: Some(*aggregate),
                is_ratio: relative && aggregate.is_level(),
            })
        });
        by.chain(each).collect()
    }
}

impl Group<'_, '_> {
    /// Each aggregate of each field.
    fn cells(&self, request: &TableRequest) -> Vec<Cell> {
        let each = request.fields.iter().flat_map(|field| {
            let values: Vec<f64> = self.samples.iter().filter_map(|sample| sample.cell(*field).number()).collect();
            let of = move |aggregate: &Aggregate| aggregate.of(&values).map_or(Cell::Unknown, Cell::Number);
            request.aggregates.iter().map(of).collect::<Vec<Cell>>()
        });
        each.collect()
    }
}

impl Column {
    const fn plain(field: Field) -> Self {
        Self { field, aggregate: None, is_ratio: false }
    }

    /// Its name where values are not rounded.
    fn exact(&self) -> String {
        let ratio = if self.is_ratio { ":ratio" } else { "" };
        match self.aggregate {
            None => self.field.column.to_owned(),
            Some(aggregate) => format!("{}:{}{ratio}", self.field.column, aggregate.name()),
        }
    }

    fn name(&self) -> String {
        match self.aggregate {
            None => self.field.name.to_owned(),
            Some(aggregate) => format!("{} {}", self.field.name, aggregate.name()),
        }
    }

    /// A number for people.
    fn shown(&self, value: f64) -> String {
        match self.aggregate {
            _ if self.is_ratio => format!("{:+.1} %", 100.0 * (value - 1.0)),
            Some(Aggregate::StdevPercent) => format!("{value:.2} %"),
            Some(aggregate) if !aggregate.has_unit() => format!("{value}"),
            _ => self.field.shown(value),
        }
    }
}

impl Cell {
    fn of(figure: KnownFigure) -> Self {
        figure.bound.map_or(Self::Number(figure.value), |bound| Self::Bound(bound, figure.value))
    }

    /// A number that may be computed with.
    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Bound(..) | Self::Unknown => None,
        }
    }

    /// Its number, and be it a bound.
    fn value(&self) -> Option<f64> {
        match self {
            Self::Number(number) | Self::Bound(_, number) => Some(*number),
            Self::Text(_) | Self::Unknown => None,
        }
    }

    /// Not rounded; a bound with its sign, which makes it text; empty where it is not known.
    fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Bound(bound, number) => format!("{}{number}", sign(Some(*bound)).trim_end()),
            Self::Unknown => String::new(),
        }
    }

    /// True if it is what was written: as a number where it is one.
    fn is(&self, written: &str) -> bool {
        match self {
            Self::Text(text) => text == written,
            Self::Number(number) | Self::Bound(_, number) => written.parse::<f64>().is_ok_and(|value| value == *number),
            Self::Unknown => written.is_empty(),
        }
    }

    /// Its ratio to that of a baseline; not known without one above 0.
    fn over(&self, base: Option<&Self>) -> Self {
        let ratio = self.number().zip(base.and_then(Self::number)).filter(|(_, base)| *base > 0.0);
        ratio.map_or(Self::Unknown, |(value, base)| Self::Number(value / base))
    }
}

impl Filter {
    /// Reads `FIELD=VALUE`, or another sign.
    ///
    /// # Errors
    /// One line that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        const SIGNS: [&str; 6] = ["!=", "<=", ">=", "=", "<", ">"];
        let at = text.find(['!', '<', '>', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(at);
        let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
        let sign = sign.ok_or_else(|| format!("{text:?} has no =; write for example connections=64"))?;
        let (field, value) = (Field::parse(name.trim())?, rest[sign.len()..].trim().to_owned());
        let is_order = sign.starts_with(['<', '>']);
        if is_order && (field.is_text() || value.parse::<f64>().is_err()) {
            return Err(format!(
                "{text:?}: {sign} needs a field of numbers and a plain number, such as connections>=64"
            ));
        }
        Ok(Self { field, sign, value })
    }

    fn takes(&self, sample: &Sample<'_>) -> bool {
        let cell = sample.cell(self.field);
        let order = cell.value().zip(self.value.parse::<f64>().ok()).and_then(|(own, other)| own.partial_cmp(&other));
        match self.sign {
            "=" => cell.is(&self.value),
            "!=" => !cell.is(&self.value),
            "<" => order.is_some_and(|order| order.is_lt()),
            ">" => order.is_some_and(|order| order.is_gt()),
            "<=" => order.is_some_and(|order| order.is_le()),
            _ => order.is_some_and(|order| order.is_ge()),
        }
    }
}

fn write(columns: &[Column], rows: Vec<Vec<Cell>>, format: TableFormat) -> String {
    if format == TableFormat::Text {
        let header: Vec<String> = columns.iter().map(Column::name).collect();
        let shown = |(column, cell): (&Column, Cell)| match cell {
            Cell::Text(text) => text,
            Cell::Number(number) => column.shown(number),
            Cell::Bound(bound, number) => format!("{}{}", sign(Some(bound)), column.shown(number)),
            Cell::Unknown => "-".to_owned(),
        };
        let rows: Vec<Vec<String>> = rows.into_iter().map(|row| columns.iter().zip(row).map(shown).collect()).collect();
        let left = columns.iter().take_while(|column| column.field.is_text()).count();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        return table(&header, &rows, left, 2);
    }
    let delimiter = if format == TableFormat::Csv { b',' } else { b'\t' };
    let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let mut put = |row: Vec<String>| out.write_record(row).expect("writing to memory cannot fail");
    put(columns.iter().map(Column::exact).collect());
    rows.into_iter().for_each(|row| {
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => csv_text(text),
            Cell::Number(_) | Cell::Bound(..) | Cell::Unknown => cell.plain(),
        };
        put(row.iter().map(cell).collect());
    });
    String::from_utf8(out.into_inner().expect("writing to memory cannot fail")).expect("text makes text")
}
