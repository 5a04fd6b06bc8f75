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
use crate::words::changes;
use fields::{Cell, Sample, samples};
use model::KnownFigure;
use model::human::{count, plural};

/// Fields of a raw or an aggregated table for which none are named.
pub const FIELDS_DEFAULT: [&str; 6] = ["goodput", "p50", "p99", "cpu-proc", "cpu-per-request", "rss"];
/// What measurements are grouped by where nothing is named ...
pub const GROUP_BY_DEFAULT: [&str; 3] = ["instance", "connections", "rate"];
/// ... and those of an experiment, whose variants may share a server.
pub const GROUP_BY_OF_EXPERIMENTS: [&str; 3] = ["variant", "connections", "rate"];

/// A result, and the variant of an experiment that was measured in it.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The result.
    pub named: Named<'a>,
    /// Label of the variant; none outside an experiment.
    pub variant: Option<&'a str>,
}

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
        /// Value of the first field that groups; none for that of the first group.
        baseline: Option<String>,
    },
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    field: Field,
    /// `=`, `!=`, `<`, `>`, `<=` or `>=`.
    sign: &'static str,
    value: String,
    /// The same as a number, in the unit of the field's column; none where it is none.
    number: Option<f64>,
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
    shows: Shows,
}

/// What a column shows of its field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Its value.
    Value,
    /// An aggregate of a group.
    Aggregate(Aggregate),
    /// That over the same aggregate of the baseline.
    Ratio(Aggregate),
    /// The interval of the ratio of all values.
    Interval,
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
pub fn tabulate(results: &[Measured<'_>], request: &TableRequest, format: TableFormat) -> Result<Tabulated, String> {
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
        let columns: Vec<Column> =
            request.fields.iter().map(|field| Column { field: *field, shows: Shows::Value }).collect();
        let rows = kept.iter().map(|sample| request.fields.iter().map(|field| sample.cell(*field)).collect());
        return Ok(Tabulated { text: write(&columns, rows.collect(), format), notes: Vec::new() });
    }
    let valid: Vec<&Sample<'_>> = kept.iter().copied().filter(|sample| !sample.is_invalid()).collect();
    let invalid = kept.len() - valid.len();
    if valid.is_empty() {
        return Err(all_invalid(&kept));
    }
    let notes = (invalid > 0).then(|| format!("{} left out", plural(invalid as u64, "INVALID measurement")));
    let mut notes: Vec<String> = notes.into_iter().chain(bounds_left_out(&valid, &request.fields)).collect();
    let groups = groups(&valid, &request.group_by);
    let text = match &request.kind {
        TableKind::Overhead { baseline } => {
            let overhead = overhead(&groups, request, baseline.as_deref(), format)?;
            notes.extend(overhead.notes);
            overhead.text
        }
        _ => aggregated(&groups, request, format),
    };
    Ok(Tabulated { text, notes })
}

/// Why no numbers are made of measurements none of which is valid, and what shows them.
fn all_invalid(samples: &[&Sample<'_>]) -> String {
    let mut rules: Vec<&str> = samples.iter().flat_map(|sample| sample.invalid_rules()).collect();
    rules.sort_unstable();
    rules.dedup();
    let all = match samples.len() {
        1 => "the only measurement is INVALID".to_owned(),
        n => format!("all {} are INVALID", plural(n as u64, "measurement")),
    };
    format!(
        "{all} ({}), and nothing may be made of such numbers; --table raw shows them, and plimsoll rules {} says what \
         to measure again",
        rules.join(", "),
        rules.first().unwrap_or(&"")
    )
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
    let rows = groups.iter().map(|group| {
        let cells = columns[group.by.len()..].iter().map(|column| group.cell(column, None));
        group.by.iter().cloned().chain(cells).collect()
    });
    write(&columns, rows.collect(), format)
}

/// Each group but those of the baseline over the one that is the same but for its first field.
fn overhead(
    groups: &[Group<'_, '_>],
    request: &TableRequest,
    baseline: Option<&str>,
    format: TableFormat,
) -> Result<Tabulated, String> {
    let first = request.group_by.first().ok_or("an overhead needs a field to group by, such as instance")?;
    let named =
        baseline.map_or_else(|| groups.first().map_or_else(String::new, |group| group.by[0].plain()), str::to_owned);
    let is_baseline = |group: &&Group<'_, '_>| group.by[0].is(&named, first.number(&named));
    if !groups.iter().any(|group| is_baseline(&group)) {
        let known: Vec<String> = groups.iter().map(|group| group.by[0].plain()).collect();
        return Err(format!("--baseline {named:?} is no {}; there are {}", first.name, unique(known).join(", ")));
    }
    let columns = request.columns(true);
    let mut fewest = usize::MAX;
    let rows = groups.iter().filter(|group| !is_baseline(group)).map(|group| {
        let base = groups.iter().filter(is_baseline).find(|other| other.by[1..] == group.by[1..]);
        fewest = fewest.min(group.samples.len()).min(base.map_or(usize::MAX, |base| base.samples.len()));
        let cells = columns[group.by.len()..].iter().map(|column| group.cell(column, base));
        group.by.iter().cloned().chain(cells).collect::<Vec<Cell>>()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if rows.is_empty() {
        return Err(format!("there is nothing beside {} {named:?} to have an overhead", first.name));
    }
    let mut notes = Vec::new();
    if baseline.is_none() {
        notes.push(format!("the baseline is {} {named:?}; --baseline names another", first.name));
    }
    if fewest < stats::RUNS_MIN {
        notes.push(format!(
            "an interval needs {} measurements of each group and of its baseline, and some have {fewest}: a change \
             without an interval may be chance",
            stats::RUNS_MIN
        ));
    }
    Ok(Tabulated { text: write(&columns, rows, format), notes })
}

fn unique(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

impl TableRequest {
    /// The columns of a row: those that group, then each aggregate of each field, and of an overhead the interval of it.
    fn columns(&self, relative: bool) -> Vec<Column> {
        let by = self.group_by.iter().map(|field| Column { field: *field, shows: Shows::Value });
        let shows = |aggregate: &Aggregate| match relative && aggregate.is_level() {
            true => Shows::Ratio(*aggregate),
            false => Shows::Aggregate(*aggregate),
        };
        let all: Vec<Shows> = self.aggregates.iter().map(shows).chain(relative.then_some(Shows::Interval)).collect();
        let each = self.fields.iter().flat_map(|field| all.iter().map(|shows| Column { field: *field, shows: *shows }));
        by.chain(each).collect()
    }
}

impl Group<'_, '_> {
    /// What a column shows of it, beside a baseline.
    fn cell(&self, column: &Column, base: Option<&Self>) -> Cell {
        let own = self.values(column.field);
        let of = |aggregate: Aggregate, values: &[f64]| aggregate.of(values).map_or(Cell::Unknown, Cell::Number);
        let base = || base.map(|base| base.values(column.field)).unwrap_or_default();
        match column.shows {
            Shows::Value => Cell::Unknown,
            Shows::Aggregate(aggregate) => of(aggregate, &own),
            Shows::Ratio(aggregate) => of(aggregate, &own).over(&of(aggregate, &base())),
            Shows::Interval => {
                let ratio = stats::unpaired_ratio(&base(), &own, stats::CONFIDENCE);
                let ends = ratio.and_then(|ratio| ratio.low.zip(ratio.high));
                ends.map_or(Cell::Unknown, |(low, high)| Cell::Interval(low, high))
            }
        }
    }

    fn values(&self, field: Field) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.cell(field).number()).collect()
    }
}

impl Column {
    /// Its names where values are not rounded: an interval has one for each end.
    fn exact(&self) -> Vec<String> {
        let field = self.field.column;
        match self.shows {
            Shows::Value => vec![field.to_owned()],
            Shows::Aggregate(aggregate) => vec![format!("{field}:{}", aggregate.name())],
            Shows::Ratio(aggregate) => vec![format!("{field}:{}:ratio", aggregate.name())],
            Shows::Interval => vec![format!("{field}:ratio:low"), format!("{field}:ratio:high")],
        }
    }

    fn name(&self) -> String {
        match self.shows {
            Shows::Value => self.field.name.to_owned(),
            Shows::Aggregate(aggregate) | Shows::Ratio(aggregate) => {
                format!("{} {}", self.field.name, aggregate.name())
            }
            Shows::Interval => "95 % interval".to_owned(),
        }
    }

    /// A number for people.
    fn shown(&self, value: f64) -> String {
        match self.shows {
            Shows::Ratio(_) => format!("{:+.1} %", 100.0 * (value - 1.0)),
            Shows::Aggregate(Aggregate::StdevPercent) => format!("{value:.2} %"),
            Shows::Aggregate(aggregate) if !aggregate.has_unit() => format!("{value}"),
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
            Self::Text(_) | Self::Bound(..) | Self::Interval(..) | Self::Unknown => None,
        }
    }

    /// Its number, and be it a bound.
    fn value(&self) -> Option<f64> {
        match self {
            Self::Number(number) | Self::Bound(_, number) => Some(*number),
            Self::Text(_) | Self::Interval(..) | Self::Unknown => None,
        }
    }

    /// Not rounded; a bound with its sign, which makes it text; empty where it is not known.
    fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Bound(bound, number) => format!("{}{number}", sign(Some(*bound)).trim_end()),
            Self::Interval(low, high) => format!("{low} to {high}"),
            Self::Unknown => String::new(),
        }
    }

    /// True if it is what was written: the `number` that this is where it is one.
    fn is(&self, written: &str, number: Option<f64>) -> bool {
        match self {
            Self::Text(text) => text == written,
            Self::Number(own) | Self::Bound(_, own) => number == Some(*own),
            Self::Interval(..) => false,
            Self::Unknown => written.is_empty(),
        }
    }

    /// Its ratio to that of a baseline; not known without one above 0.
    fn over(&self, base: &Self) -> Self {
        let ratio = self.number().zip(base.number()).filter(|(_, base)| *base > 0.0);
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
        let number = field.number(&value).filter(|_| !field.is_text());
        if is_order && number.is_none() {
            return Err(format!(
                "{text:?}: {sign} needs a field of numbers and a number, such as connections>=64 or p99>10ms"
            ));
        }
        Ok(Self { field, sign, value, number })
    }

    fn takes(&self, sample: &Sample<'_>) -> bool {
        let cell = sample.cell(self.field);
        let order = cell.value().zip(self.number).and_then(|(own, other)| own.partial_cmp(&other));
        match self.sign {
            "=" => cell.is(&self.value, self.number),
            "!=" => !cell.is(&self.value, self.number),
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
            Cell::Interval(low, high) => changes::between(low, high),
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
    put(columns.iter().flat_map(Column::exact).collect());
    rows.into_iter().for_each(|row| {
        let cells = |(column, cell): (&Column, &Cell)| match cell {
            Cell::Text(text) => vec![csv_text(text)],
            Cell::Interval(low, high) => vec![low.to_string(), high.to_string()],
            // Those of an interval are two.
            Cell::Unknown => vec![String::new(); column.exact().len()],
            Cell::Number(_) | Cell::Bound(..) => vec![cell.plain()],
        };
        put(columns.iter().zip(&row).flat_map(cells).collect());
    });
    String::from_utf8(out.into_inner().expect("writing to memory cannot fail")).expect("text makes text")
}
