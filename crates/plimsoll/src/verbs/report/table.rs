//! `plimsoll report --table`: all measurements of stored results in one table.

use crate::cli::FormatArg;
use crate::cli::table::{TableArg, TableArgs};
use crate::exit::CommandError;
use crate::output::printer;
use crate::store::experiment;
use crate::store::stored::{Record, Stored};
use model::human::plural;
use report::tabulate::{
    Aggregate, FIELDS_DEFAULT, Field, Filter, GROUP_BY_DEFAULT, GROUP_BY_OF_EXPERIMENTS, Measured, TableFormat,
    TableKind, TableRequest, tabulate,
};

/// The table that was asked for. Of an experiment it has what its steps have measured.
pub(super) fn table(args: &TableArgs, format: Option<FormatArg>, stored: &[Stored]) -> Result<String, CommandError> {
    let format = match format {
        None | Some(FormatArg::Text) => TableFormat::Text,
        Some(FormatArg::Csv) => TableFormat::Csv,
        Some(FormatArg::Tsv) => TableFormat::Tsv,
        Some(_) => {
            return Err(CommandError::usage("--table is written as --format text, csv or tsv"));
        }
    };
    let steps: Vec<Vec<(String, Stored)>> = stored.iter().map(steps).collect();
    let has_variants = steps.iter().any(|steps| !steps.is_empty());
    let measured: Vec<Measured<'_>> = stored
        .iter()
        .zip(&steps)
        .flat_map(|(result, steps)| {
            let own = steps.is_empty().then(|| Measured { named: result.named(), variant: None });
            let of_steps = steps.iter().map(|(variant, step)| Measured { named: step.named(), variant: Some(variant) });
            own.into_iter().chain(of_steps)
        })
        .collect();
    let request = request(args.table.unwrap_or(TableArg::Raw), args, has_variants)?;
    let table = tabulate(&measured, &request, format).map_err(CommandError::usage)?;
    table.notes.iter().for_each(|note| printer::note(note));
    Ok(table.text)
}

/// The results of the steps of an experiment with their variants, in the order of its file; none of another result.
fn steps(stored: &Stored) -> Vec<(String, Stored)> {
    let Record::Experiment(record) = &stored.record else { return Vec::new() };
    let (steps, missing) = experiment::step_results(&stored.directory, record);
    if missing > 0 {
        printer::note(&format!("{} of {} without a result left out", plural(missing, "step"), stored.name));
    }
    steps
}

fn request(kind: TableArg, args: &TableArgs, has_variants: bool) -> Result<TableRequest, CommandError> {
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
        (TableArg::Overhead, baseline) => TableKind::Overhead { baseline: baseline.clone() },
        (_, Some(_)) => return Err(CommandError::usage("--baseline has no use without --table overhead")),
        (TableArg::Raw, None) => TableKind::Raw,
        (TableArg::Aggregated, None) => TableKind::Aggregated,
    };
    let by_default = if has_variants { &GROUP_BY_OF_EXPERIMENTS } else { &GROUP_BY_DEFAULT };
    let group_by = fields("--group-by", &args.group_by, by_default)?;
    let mut shown = fields("--field", &args.field, &FIELDS_DEFAULT)?;
    if kind == TableKind::Raw && args.field.is_empty() {
        let first = fields("--field", &[], &["result", by_default[0], "verdict", "connections", "rate"])?;
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
