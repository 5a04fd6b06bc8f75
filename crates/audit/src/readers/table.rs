//! A table of loads and throughput as people put it into a page: Markdown or CSV.

use super::Found;
use crate::Unreadable;
use crate::claim::{Claims, Mode, Row};
use crate::scan::{number, time_ns};
use crate::text::Text;
use model::Redacted;

/// Fewer rows are no table of loads.
const ROWS_MIN: usize = 2;
/// More are samples, not loads.
const ROWS_MAX: usize = 200;
const CONNECTIONS: [&str; 6] = ["concurrency", "connections", "clients", "users", "concurrent", "load"];
const RATES: [&str; 2] = ["offered", "rate"];
const THROUGHPUTS: [&str; 7] = ["throughput", "goodput", "req/s", "requests/s", "rps", "requests per second", "qps"];
const TIMES: [&str; 3] = ["time per req", "latency", "response time"];

/// Quantiles that are not below the mean, the lowest first: the lowest says most.
const HIGH: [&str; 6] = ["p90", "p95", "p99", "p99.9", "99%", "max"];

/// Columns of the table by meaning.
#[derive(Clone, Copy)]
struct Columns {
    load: usize,
    throughput: usize,
    /// With the scale of its unit to ns.
    time: Option<(usize, f64)>,
    /// A quantile from p90 on, or the maximum; its unit is in the column's name or in each cell.
    high: Option<(usize, Option<f64>)>,
    over_rate: bool,
}

/// Reads the tables of loads in a text.
pub(super) fn read(text: &Text) -> Result<Vec<Found>, Unreadable> {
    let lines: Vec<(u64, Vec<String>)> = text.lines().map(|(n, line)| (n, cells(line))).collect();
    let heads: Vec<(usize, Columns)> =
        lines.iter().enumerate().filter_map(|(i, (_, cells))| Some((i, columns(cells)?))).collect();
    let tables: Vec<(u64, Columns, Vec<Row>, usize)> = heads
        .into_iter()
        .filter_map(|(i, columns)| {
            let width = lines[i].1.len();
            let body = lines[i + 1..].iter().take_while(|(_, cells)| cells.len() == width);
            let body: Vec<_> = body.filter(|(_, cells)| !is_rule(cells)).take(ROWS_MAX + 1).collect();
            let rows: Option<Vec<Row>> = body.iter().map(|(_, cells)| row(cells, columns)).collect();
            let rows = rows.filter(|rows| (ROWS_MIN..=ROWS_MAX).contains(&rows.len()))?;
            Some((lines[i].0, columns, rows, body.len()))
        })
        .collect();
    match tables.as_slice() {
        [] => {
            let first =
                lines.first().and_then(|(n, _)| text.lines().find(|(at, _)| at == n)).map_or("", |(_, line)| line);
            let start: String = first.chars().take(60).collect();
            Err(Unreadable::Unknown { first: Redacted::text(&start).into_inner() })
        }
        several => {
            let of = |(line, columns, rows, body): &(u64, Columns, Vec<Row>, usize)| {
                let mut claims = Claims::new("table", (!columns.over_rate).then_some(Mode::Closed));
                claims.over_rate = columns.over_rate;
                claims.table = rows.clone();
                if several.len() == 1 {
                    // Head, rule and rows are what was read.
                    claims.unread_lines = (lines.len() as u64).saturating_sub(*body as u64 + 2);
                }
                (*line, Ok(claims))
            };
            Ok(several.iter().map(of).collect())
        }
    }
}

fn cells(line: &str) -> Vec<String> {
    let separator = if line.starts_with('|') { '|' } else { ',' };
    let inner = if separator == '|' { line.trim_matches('|') } else { line };
    inner.split(separator).map(|cell| cell.trim().trim_matches(['*', '"', '`']).to_owned()).collect()
}

fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c)))
}

fn columns(cells: &[String]) -> Option<Columns> {
    let names: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
    let find = |words: &[&str]| names.iter().position(|name| words.iter().any(|word| name.contains(word)));
    let throughput = find(&THROUGHPUTS)?;
    let other = |at: Option<usize>| at.filter(|at| *at != throughput);
    let (load, over_rate) = match (other(find(&CONNECTIONS)), other(find(&RATES))) {
        (Some(load), _) => (load, false),
        (None, Some(load)) => (load, true),
        (None, None) => return None,
    };
    let scale = |name: &str| {
        [("ns)", 1.0), ("(us", 1e3), ("(µs", 1e3), ("ms", 1e6), ("(s)", 1e9)]
            .into_iter()
            .find(|(unit, _)| name.contains(unit))
    };
    let time = find(&TIMES).and_then(|at| Some((at, scale(&names[at])?.1)));
    let is_high = |name: &String| {
        HIGH.iter().any(|quantile| name.split(|c: char| " (,/".contains(c)).any(|word| word == *quantile))
    };
    let high = names.iter().position(is_high).map(|at| (at, scale(&names[at]).map(|(_, scale)| scale)));
    Some(Columns { load, throughput, time, high, over_rate })
}

fn row(cells: &[String], columns: Columns) -> Option<Row> {
    let positive = |at: usize| number(cells.get(at)?).filter(|value| *value > 0.0);
    Some(Row {
        load: positive(columns.load)?,
        throughput_per_s: number(cells.get(columns.throughput)?)?,
        time_ns: columns.time.and_then(|(at, scale)| Some(number(cells.get(at)?)? * scale)),
        high_ns: columns.high.and_then(|(at, scale)| {
            let cell = cells.get(at)?;
            time_ns(cell).or_else(|| Some(number(cell)? * scale?))
        }),
    })
}
