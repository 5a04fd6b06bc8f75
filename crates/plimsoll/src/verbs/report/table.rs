//! `plimsoll report --table`: all measurements of stored results in one table.

use crate::cli::FormatArg;
use crate::cli::table::{TableArg, TableArgs};
use crate::exit::CommandError;
use crate::output::printer;
use report::Named;
use report::tabulate::{
    Aggregate, FIELDS_DEFAULT, Field, Filter, GROUP_BY_DEFAULT, TableFormat, TableKind, TableRequest, tabulate,
};

/// The table that was asked for.
pub(super) fn table(args: &TableArgs, format: Option<FormatArg>, named: &[Named<'_>]) -> Result<String, CommandError> {
    let format = match format {
        None | Some(FormatArg::Text) => TableFormat::Text,
        Some(FormatArg::Csv) => TableFormat::Csv,
        Some(FormatArg::Tsv) => TableFormat::Tsv,
        Some(_) => {
            return Err(CommandError::usage("--table is written as --format text, csv or tsv"));
        }
    };
    let table =
        tabulate(named, &request(args.table.unwrap_or(TableArg::Raw), args)?, format).map_err(CommandError::usage)?;
    table.notes.iter().for_each(|note| printer::note(note));
    Ok(table.text)
}

fn request(kind: TableArg, args: &TableArgs) -> Result<TableRequest, CommandError> {
    let wrong = |flag: &str, why: String| CommandError::usage(format!("{flag}: {why}"));
    let fields = |flag, names: &[String], default: &[&str]| -> Result<Vec<Field>, CommandError> {
        let read = |name: &str| Field::parse(name).map_err(|why| wrong(flag, why));
        match names {
            [] => default.iter().map(|name| read(name)).collect(),
            names => names.iter().map(|name| read(name)).collect(),
        }
    };
    if kind == TableArg::Raw && (!args.aggregate.is_empty() || !args.group_by.is_empty()) {
        return Err(CommandError::usage(
            "--aggregate and --group-by have no use in a raw table; try --table aggregated",
        ));
    }
    let kind = match (kind, &args.baseline) {
        (TableArg::Overhead, Some(baseline)) => TableKind::Overhead { baseline: baseline.clone() },
        (TableArg::Overhead, None) => {
            return Err(CommandError::usage("--table overhead needs --baseline VALUE, such as 'nginx workers=1'"));
        }
        (_, Some(_)) => return Err(CommandError::usage("--baseline has no use without --table overhead")),
        (TableArg::Raw, None) => TableKind::Raw,
        (TableArg::Aggregated, None) => TableKind::Aggregated,
    };
    let group_by = fields("--group-by", &args.group_by, &GROUP_BY_DEFAULT)?;
    let mut shown = fields("--field", &args.field, &FIELDS_DEFAULT)?;
    if kind == TableKind::Raw && args.field.is_empty() {
        let first = fields("--field", &[], &["result", "instance", "verdict", "connections", "rate"])?;
        shown = [first, shown].concat();
    }
    let texts = shown.iter().find(|field| kind != TableKind::Raw && field.is_text());
    if let Some(field) = texts {
        return Err(CommandError::usage(format!("--field {}: it is text; put it into --group-by", field.name)));
    }
    let aggregates = args.aggregate.iter().map(|name| Aggregate::parse(name).map_err(|why| wrong("--aggregate", why)));
    let mut aggregates: Vec<Aggregate> = aggregates.collect::<Result<_, _>>()?;
    if aggregates.is_empty() {
        aggregates.push(Aggregate::Median);
    }
    let filters = args.filter.iter().map(|text| Filter::parse(text).map_err(|why| wrong("--filter", why)));
    Ok(TableRequest { kind, fields: shown, aggregates, group_by, filters: filters.collect::<Result<_, _>>()? })
}
