//! One measured load in a terminal.

use super::Style;
use super::layout::{TOP, columns, fact_lines, labelled, shortened, table};
use super::verdict::findings;
use crate::words::fact::About;
use crate::words::latency::{Latency, latencies, response_times};
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
    let mut out = fact_lines(&facts, &TOP, style);
    out.push('\n');
    out.push_str(&latency(record, style));
    out.push('\n');
    out.push_str(&mix(record, style));
    out.push_str(&fact_lines(&facts, &[About::Requests, About::Use], style));
    out.push_str(&fact_lines(&facts, &[About::Threshold], style));
    out.push_str(&findings(&record.verdict, style));
    out
}

fn latency(record: &RunRecord, style: Style) -> String {
    let latency = &record.latency_ns;
    if latency.response.n == 0 {
        return labelled("latency", "no response time was recorded", style);
    }
    let closed = record.plan.load.is_closed();
    let mut out = if closed {
        String::new()
    } else {
        labelled("latency", "response from the scheduled send time, service from the actual one", style)
    };
    let wide = by_row(record, if closed { "latency" } else { "" });
    if columns(&wide) <= style.width {
        out.push_str(&wide);
        return out;
    }
    out.push_str(&by_column(record));
    if !closed {
        let [send, connection] = [&latency.slip_client, &latency.slip_blocked].map(|delay| time(delay.p99 as f64));
        out.push_str(&labelled("p99", &format!("send delay {send}, connection wait {connection}"), style));
    }
    out
}

/// Quantiles across, latencies down.
fn by_row(record: &RunRecord, title: &str) -> String {
    let header: Vec<_> = [title].into_iter().chain(Quantile::ALL.map(Quantile::name)).collect();
    let rows: Vec<_> = latencies(record).into_iter().map(|latency| latency.row(record)).collect();
    table(&header, &rows, 1, 2)
}

/// Response and service times across, quantiles down: for narrow terminals.
fn by_column(record: &RunRecord) -> String {
    let latencies = response_times(record);
    let header: Vec<_> = [""].into_iter().chain(latencies.iter().map(|latency| latency.name())).collect();
    let row = |quantile: Quantile| {
        let cells = latencies.iter().map(|latency: &Latency| latency.cell(record, quantile));
        [quantile.name().to_owned()].into_iter().chain(cells).collect()
    };
    table(&header, &Quantile::ALL.map(row), 1, 2)
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
        _ if more == 0 => table(&MIX_HEADER, &rows, 1, 2) + "\n",
        _ => table(&MIX_HEADER, &rows, 1, 2) + &format!("and {more} more\n\n"),
    }
}
