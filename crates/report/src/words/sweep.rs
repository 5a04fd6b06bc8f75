//! A sweep in words and rows: for the terminal, the page, Markdown and the summary.

use crate::bounds::is_peak_bound;
use crate::record::peak_point;
use crate::sums::sum;
use crate::words::fact::{About, Fact, Tone};
use crate::words::latency::quantile_text;
use crate::words::observed::{SERVER_COLUMN, server_column};
use crate::words::over::Over;
use crate::words::run::{busy, errors, measured, response_times};
use crate::words::verdict::{self, state_word};
use crate::words::{
    STOPPED, agents, brief, interrupted, limiter, next, profile, recording, sent, served, shape, thresholds,
};
use model::human::{percent, plural, rate, time};
use model::{Load, Peak, PointSummary, Quantile, RiseEnd, SweepRecord};

/// All that is known of a sweep.
pub(crate) fn facts(record: &SweepRecord) -> Vec<Fact> {
    let (over, environment) = (Over::of(record), &record.environment);
    let plan = record.points.first().map(|point| &point.plan);
    let known = Fact::known;
    let peak = record.peak.map(|peak| format!("{} at {}", peak_rate(record, peak), over.place(peak.load)));
    let peak = peak.unwrap_or_else(|| "none, nothing was measured".to_owned());
    let mut facts = vec![verdict::fact(&record.verdict, plan)];
    facts.push(Fact::new(About::Result, "peak goodput", peak).with_tone(Tone::Headline));
    facts.extend(known(About::Figures, "there", at_peak(record)));
    facts.extend(shape::facts(record, over, is_peak_bound(record)));
    facts.extend(brief::of_sweep(record));
    facts.extend(limiter::facts(record.limiter.as_ref()));
    facts.extend(next::after_sweep(record));
    facts.push(Fact::new(About::Load, "load", load(record, over)));
    facts.extend(known(About::Load, "not reached", unreached(record, over)));
    facts.extend(sent::fact(record.sent_in_all));
    facts.extend(known(About::Load, "disturbed", disturbed(record)));
    facts.extend(known(About::Target, "target", plan.map(|plan| plan.target.to_string())));
    facts.extend(plan.and_then(recording::fact));
    facts.extend(served::fact(environment.served.as_ref().filter(|_| plan.is_some())));
    facts.extend(agents::machines(environment, record.points.iter()));
    facts.extend(interrupted(record.interrupted, format!("{STOPPED}; this is what was measured")));
    facts.extend(agents::lost(record.agent_lost.as_ref()));
    let profile = profile::line(record.profile.as_ref(), record.profile_unavailable.as_deref());
    facts.extend(known(About::Use, "profile", profile));
    facts.extend(thresholds::facts(&record.thresholds));
    facts
}

/// Response times and errors at the peak.
fn at_peak(record: &SweepRecord) -> Option<String> {
    let run = peak_point(record)?;
    let times = response_times(run).map_or_else(String::new, |times| format!("{times}; "));
    Some(format!("{times}errors: {}", errors(run)))
}

/// A sweep in a sentence.
pub(crate) fn summary(record: &SweepRecord) -> String {
    record.peak.map_or_else(|| "nothing was measured".to_owned(), |peak| format!("peak {}", peak_rate(record, peak)))
}

fn load(record: &SweepRecord, over: Over) -> String {
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
fn unreached(record: &SweepRecord, over: Over) -> Option<String> {
    let (limit, last) = (record.limit?, record.curve.last()?);
    let end = record.rise_end.filter(|end| *end != RiseEnd::Reached && last.load < limit)?;
    Some(format!("the load of {} (--to) was not tried, because {}", over.place(limit), end.words()))
}

/// The goodput of the peak, as a lower bound where it is one.
pub(crate) fn peak_rate(record: &SweepRecord, peak: Peak) -> String {
    format!("{}{}", if is_peak_bound(record) { ">= " } else { "" }, rate(peak.goodput_per_s))
}

/// What was set aside over all loads; none when nothing was.
fn disturbed(record: &SweepRecord) -> Option<String> {
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
        "{} of {} was set aside with the requests in flight in it, mostly because of {}{stayed}",
        time(aside_ns as f64),
        time(all_ns as f64),
        cause.words()
    ))
}

/// A row with a further cell, before the one that says what is special about it.
pub(crate) fn before_last<T>(mut row: Vec<T>, cell: T) -> Vec<T> {
    row.insert(row.len() - 1, cell);
    row
}

/// A point in the columns of the wide table.
pub(crate) fn row(record: &SweepRecord, i: usize, point: &PointSummary, over: Over) -> Vec<String> {
    let shown = |quantile: Quantile, ns: u64| match record.points.get(i) {
        Some(run) => quantile_text(&run.verdict, quantile, ns),
        None => time(ns as f64),
    };
    let is_peak = record.peak.is_some_and(|peak| peak.load == point.load);
    vec![
        over.number(point.load),
        rate(point.goodput_per_s),
        spread(point),
        shown(Quantile::P50, point.response_p50_ns),
        shown(Quantile::P99, point.response_p99_ns),
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

/// Columns of [`point_rows`].
pub(crate) fn point_header(record: &SweepRecord) -> Vec<String> {
    let axis = Over::of(record).axis();
    let header = [axis, "goodput", "spread", "p50", "p99", "failed", "client busy", "verdict", ""].to_vec();
    let server = server_column(&record.curve).is_some();
    let header = if server { before_last(header, SERVER_COLUMN) } else { header };
    header.into_iter().map(str::to_owned).collect()
}

/// The points of a sweep, in the words of the terminal.
pub(crate) fn point_rows(record: &SweepRecord) -> Vec<Vec<String>> {
    let over = Over::of(record);
    let server = server_column(&record.curve);
    let rows = record.curve.iter().enumerate().map(|(i, point)| {
        let verdict = record.points.get(i).map_or("-", |run| state_word(run.verdict.state));
        let cells = before_last(row(record, i, point, over), verdict.to_owned());
        match &server {
            Some(column) => before_last(cells, column[i].clone()),
            None => cells,
        }
    });
    rows.collect()
}
