//! A sweep in a terminal: the curve in words, figures and a picture.

use super::Style;
use super::curve::curve;
use super::layout::{columns, labelled, labelled_bold, limiter, table};
use super::observed::server_column;
use super::run::{busy, is_disturbed, measured, quantile};
use super::thresholds::thresholds;
use super::verdict::{findings, headline_of, is_bound_by};
use crate::STOPPED;
use crate::agents;
pub(crate) use crate::over::Over;
use crate::sent;
use crate::shape;
use crate::sums::sum;
use model::human::{percent, plural, rate, time};
use model::{Load, Peak, PointSummary, RiseEnd, SweepRecord};

/// Head of the column of the CPUs that the server and its companions kept busy.
pub(crate) const SERVER_COLUMN: &str = "server CPUs";

/// The whole result of a sweep: verdict, peak, knee, table, curve, findings with remedies. Ends with a newline.
#[must_use]
pub fn sweep(record: &SweepRecord, style: &Style) -> String {
    let style = *style;
    let over = Over::of(record);
    let mut out = headline_of(&record.verdict, record.points.first().map(|point| &point.plan), style);
    let peak =
        record.peak.map_or_else(|| "none, nothing was measured".to_owned(), |peak| peak_text(record, peak, over));
    out.push_str(&labelled_bold("peak", &peak, style));
    for (label, text) in shape::lines(record, over, is_peak_bound(record)) {
        out.push_str(&labelled(label, &text, style));
    }
    out.push_str(&limiter(record.limiter.as_ref(), style));
    out.push_str(&labelled("load", &load(record, over), style));
    if let Some(text) = unreached(record, over) {
        out.push_str(&labelled("not reached", &text, style));
    }
    out.extend(sent::line(record.sent_in_all).map(|text| labelled(sent::LABEL, &text, style)));
    if let Some(text) = disturbed(record) {
        out.push_str(&labelled("disturbed", &text, style));
    }
    if let Some(point) = record.points.first() {
        out.push_str(&labelled("target", &point.plan.target.to_string(), style));
        if let Some(served) = &record.environment.served {
            out.push_str(&labelled("server", &crate::served::line(served), style));
        }
    }
    if let Some(text) = agents::server_host(&record.environment) {
        out.push_str(&labelled("server", &text, style));
    }
    if let Some(text) = agents::bandwidth(&record.environment) {
        out.push_str(&labelled("bandwidth", &text, style));
    }
    if let Some(text) = agents::origin(record.points.iter()) {
        out.push_str(&labelled("agents", &text, style));
    }
    if record.interrupted {
        out.push_str(&labelled("interrupted", &format!("{STOPPED}; this is what was measured"), style));
    }
    if let Some(lost) = &record.agent_lost {
        out.push_str(&labelled("agent lost", &agents::lost(lost), style));
    }
    out.push('\n');
    out.push_str(&points(record, over, style));
    if let Some(picture) = curve(record, over.axis(), style.width) {
        out.push('\n');
        out.push_str(&picture);
    }
    let profile = super::profile::line(record.profile.as_ref(), record.profile_unavailable.as_deref());
    if let Some(text) = profile {
        out.push_str(&labelled("profile", &text, style));
    }
    out.push_str(&thresholds(&record.thresholds, style));
    out.push_str(&findings(&record.verdict, style));
    out
}

pub(crate) fn load(record: &SweepRecord, over: Over) -> String {
    let (Some(first), Some(last)) = (record.curve.first(), record.curve.last()) else {
        return "no load was measured".to_owned();
    };
    let model = match record.points.first().map(|point| point.plan.load) {
        Some(Load::Open { .. }) => "open loop",
        Some(Load::Closed { .. }) | None => "closed loop",
    };
    let each = record.points.first().map_or_else(String::new, |point| format!(", {} each", measured(point)));
    let loads = plural(record.curve.len() as u64, "load");
    format!("{model}, {loads} from {} to {}{each}", over.number(first.load), over.place(last.load))
}

/// The largest load allowed that was not tried, and why not; none where it was, and where something else ended the sweep.
pub(crate) fn unreached(record: &SweepRecord, over: Over) -> Option<String> {
    let (limit, last) = (record.limit?, record.curve.last()?);
    let end = record.rise_end.filter(|end| *end != RiseEnd::Reached && last.load < limit)?;
    Some(format!("the load of {} (--to) was not tried, because {}", over.place(limit), end.words()))
}

pub(crate) fn peak_text(record: &SweepRecord, peak: Peak, over: Over) -> String {
    format!("{} at {}", peak_rate(record, peak), over.place(peak.load))
}

/// The goodput of the peak, as a lower bound where it is one.
pub(crate) fn peak_rate(record: &SweepRecord, peak: Peak) -> String {
    format!("{}{}", if is_peak_bound(record) { ">= " } else { "" }, rate(peak.goodput_per_s))
}

/// True if the goodput of the peak is only a lower bound.
pub(crate) fn is_peak_bound(record: &SweepRecord) -> bool {
    let is_bound = ["CL-01", "CL-18", "SA-01", "SA-03"].iter().any(|rule| is_bound_by(&record.verdict, rule));
    is_bound || is_disturbed(&record.verdict)
}

/// What was set aside over all loads; none when nothing was.
pub(crate) fn disturbed(record: &SweepRecord) -> Option<String> {
    let seen: Vec<_> = record.points.iter().filter_map(|point| point.disturbance.as_ref()).collect();
    let aside_ns = sum(seen.iter().map(|seen| seen.set_aside_ns));
    let most = seen.iter().max_by(|a, b| a.taken_share.total_cmp(&b.taken_share)).and_then(|seen| seen.cause);
    let cause = most.filter(|_| aside_ns > 0)?;
    let all_ns = sum(record.points.iter().map(|point| point.measured_ns));
    let stayed = match record.curve.iter().filter(|point| point.disturbed).count() {
        0 => String::new(),
        n => format!("; {} stayed disturbed", plural(n as u64, "load")),
    };
    Some(format!(
        "{} of {} set aside with the requests in flight in it ({} most){stayed}",
        time(aside_ns as f64),
        time(all_ns as f64),
        cause.words()
    ))
}

/// The table of points; on a narrow terminal only its most telling columns.
fn points(record: &SweepRecord, over: Over, style: Style) -> String {
    let rows: Vec<_> = record.curve.iter().enumerate().map(|(i, point)| row(record, i, point, over)).collect();
    let header = ["load", "goodput", "spread", "p50", "p99", "failed", "client busy", ""];
    if let Some(server) = server_column(&record.curve) {
        let with_server: Vec<_> = rows.iter().zip(server).map(|(row, cell)| before_last(row.clone(), cell)).collect();
        let header = before_last(header.to_vec(), SERVER_COLUMN);
        let widest = table(&header, &with_server, 0, 2);
        if columns(&widest) <= style.width {
            return widest;
        }
    }
    let wide = table(&header, &rows, 0, 2);
    if columns(&wide) <= style.width {
        return wide;
    }
    let narrow: Vec<_> = rows.iter().map(|row| [0, 1, 4, 5, 7].map(|i| row[i].clone()).to_vec()).collect();
    table(&["load", "goodput", "p99", "failed", ""], &narrow, 0, 1)
}

/// A row with a further cell, before the one that says what is special about it.
pub(crate) fn before_last<T>(mut row: Vec<T>, cell: T) -> Vec<T> {
    row.insert(row.len() - 1, cell);
    row
}

/// A point in the columns of the wide table.
pub(crate) fn row(record: &SweepRecord, i: usize, point: &PointSummary, over: Over) -> Vec<String> {
    let shown = |key: &str, ns: u64| match record.points.get(i) {
        Some(run) => quantile(&run.verdict, key, ns),
        None => time(ns as f64),
    };
    let is_peak = record.peak.is_some_and(|peak| peak.load == point.load);
    vec![
        over.number(point.load),
        rate(point.goodput_per_s),
        spread(point),
        shown("p50", point.response_p50_ns),
        shown("p99", point.response_p99_ns),
        percent(point.failed_share),
        busy(point.generator_busy_max).unwrap_or_else(|| "-".to_owned()),
        mark(is_peak, point.disturbed),
    ]
}

/// What is to be said of a point.
fn mark(is_peak: bool, is_disturbed: bool) -> String {
    let marks = [(is_peak, "peak"), (is_disturbed, "disturbed")];
    marks.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

/// Half the distance between the best and the worst iteration, relative to their mean.
fn spread(point: &PointSummary) -> String {
    let low = point.iterations_per_s.iter().copied().fold(f64::INFINITY, f64::min);
    let high = point.iterations_per_s.iter().copied().fold(0.0, f64::max);
    if point.iterations_per_s.len() < 2 || point.goodput_per_s <= 0.0 {
        return "-".to_owned();
    }
    format!("±{}", percent((high - low) / 2.0 / point.goodput_per_s))
}
