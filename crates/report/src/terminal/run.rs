//! One measured load in a terminal.

use super::Style;
use super::layout::{columns, fact_lines, labelled, shortened, table, top_lines};
use super::verdict::findings;
use crate::words::fact::About;
use crate::words::latency::{Latency, latencies, quantiles, response_times};
use crate::words::run::{MIX_HEADER, facts, mix_rows};
use model::human::time;
use model::{Quantile, RunRecord};

/// Requests of a mix shown.
const MIX_MAX: usize = 20;
/// Columns of the figures beside the name of a request.
const MIX_FIGURES: usize = 34;
/// Of such a name at least as much is shown.
const MIX_NAME_MIN: usize = 12;

/// The whole result of a run: verdict, headline, latencies, what failed, what was used, findings with remedies. Ends with a
/// newline.
#[must_use]
pub fn run(record: &RunRecord, style: &Style) -> String {
    let style = *style;
    let facts = facts(record);
    let mut out = top_lines(&facts, style);
    for part in [latency(record, style), mix(record, style)] {
        if !part.is_empty() {
            out.push('\n');
            out.push_str(&part);
        }
    }
    out.push('\n');
    out.push_str(&fact_lines(&facts, &[About::Requests, About::Use], style));
    out.push_str(&fact_lines(&facts, &[About::Threshold], style));
    out.push_str(&findings(&record.verdict, style));
    out
}

/// What the response times are made of, where that is more than they themselves: of an open loop, when all was asked for.
fn latency(record: &RunRecord, style: Style) -> String {
    let latency = &record.latency_ns;
    if latency.response.n == 0 {
        return labelled("latency", "no response time was recorded", style);
    }
    if record.plan.load.is_closed() || !style.verbose {
        return String::new();
    }
    let what = "response = since the scheduled send, service = since the actual send";
    let mut out = labelled("latency", what, style);
    let wide = by_row(record);
    if columns(&wide) <= style.width {
        out.push_str(&wide);
        return out;
    }
    out.push_str(&by_column(record));
    let [send, connection] = [&latency.slip_client, &latency.slip_blocked].map(|delay| time(delay.p99 as f64));
    out.push_str(&labelled("p99", &format!("send delay {send}, connection wait {connection}"), style));
    out
}

/// Quantiles across, latencies down.
fn by_row(record: &RunRecord) -> String {
    let names: Vec<_> = quantiles(record).iter().map(ToString::to_string).collect();
    let header: Vec<_> = [""].into_iter().chain(names.iter().map(String::as_str)).collect();
    let rows: Vec<_> = latencies(record).into_iter().map(|latency| latency.row(record)).collect();
    table(&header, &rows, 1, 2)
}

/// Response and service times across, quantiles down: for narrow terminals.
fn by_column(record: &RunRecord) -> String {
    let latencies = response_times(record);
    let header: Vec<_> = [""].into_iter().chain(latencies.iter().map(|latency| latency.name())).collect();
    let row = |quantile: Quantile| {
        let cells = latencies.iter().map(|latency: &Latency| latency.cell(record, quantile));
        [quantile.to_string()].into_iter().chain(cells).collect()
    };
    let rows: Vec<_> = quantiles(record).into_iter().map(row).collect();
    table(&header, &rows, 1, 2)
}

/// The requests of a mix, those that took most of the time first; empty when there is but one.
fn mix(record: &RunRecord, style: Style) -> String {
    let mut rows = mix_rows(record);
    let more = rows.len().saturating_sub(MIX_MAX);
    rows.truncate(MIX_MAX);
    let room = style.width.saturating_sub(MIX_FIGURES).max(MIX_NAME_MIN);
    for row in &mut rows {
        row[0] = shortened(&row[0], room);
    }
    match rows.len() {
        0 => String::new(),
        _ if more == 0 => table(&MIX_HEADER, &rows, 1, 2),
        _ => table(&MIX_HEADER, &rows, 1, 2) + &format!("and {more} more\n"),
    }
}
