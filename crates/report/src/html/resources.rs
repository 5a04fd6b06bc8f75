//! Memory, sockets and network against time.

use super::chart::{COLOURS, Chart, Curve, RED, SharedAxis, chart, from_zero, layout, left_out, nth_dash, thin};
use super::timeline::Timeline;
use model::{Observed, SeriesFigure};
use plotly::common::{DashType, Line};
use plotly::layout::Axis;

/// Processes whose memory is drawn, and interfaces: more lines than this are no longer told apart.
const DRAWN_MAX: usize = 4;
const HEIGHT_PX: u32 = 280;
/// Share of the busiest interface below which one is left out.
const HARDLY: f64 = 0.001;
/// The interface whose sent bytes are its received ones.
const LOOPBACK: &str = "lo";

/// Memory of server and companions by process.
pub(super) fn memory(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    let resident = timeline.series(SeriesFigure::RssBytes);
    let in_parts = timeline.series(SeriesFigure::PssBytes);
    let mut curves = Vec::new();
    for ((name, rss), colour) in resident.iter().zip(COLOURS).take(DRAWN_MAX) {
        curves.extend(curve(timeline, &format!("{name}, RSS"), colour, rss));
        let pss = in_parts.iter().find(|(of, _)| of == name);
        let pss = pss.and_then(|(_, pss)| curve(timeline, &format!("{name}, PSS"), colour, pss));
        curves.extend(pss.map(|pss| dashed(pss, colour)));
    }
    let left_out = left_out(resident.len().saturating_sub(DRAWN_MAX), "with less");
    let note = format!("of all processes of a name; RSS counts shared pages for each process, PSS in parts{left_out}");
    drawn("Memory", &note, curves, timeline, layout(clock, bytes_axis("B")), Observed::SERVER)
}

/// Sockets of the target's port by state, and connections that wait to be accepted.
pub(super) fn sockets(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    let mut curves = Vec::new();
    let states = timeline.series(SeriesFigure::Sockets);
    for (i, ((state, counts), colour)) in states.iter().zip(COLOURS).enumerate() {
        let drawn = curve(timeline, &state.replace('_', "-"), colour, counts);
        curves.extend(drawn.map(|drawn| drawn.line(Line::new().color(colour).width(1.5).dash(nth_dash(i)))));
    }
    for (_, waiting) in &timeline.series(SeriesFigure::AcceptQueue) {
        curves.extend(curve(timeline, "accept queue", RED, waiting));
    }
    let sockets = timeline.observed.sockets.as_ref();
    let ends = if sockets.is_some_and(|sockets| sockets.server.is_some()) { "server's" } else { "clients'" };
    let backlog = sockets.and_then(|sockets| sockets.accept_backlog);
    let backlog = backlog.map_or_else(String::new, |n| format!("; the accept queue has room for {n}"));
    let left_out = left_out(states.len().saturating_sub(COLOURS.len()), "more");
    let note = format!("of the target's port at the {ends} end, at each sample{backlog}{left_out}");
    drawn("Sockets", &note, curves, timeline, layout(clock, from_zero()), "sockets")
}

/// What each network interface moved.
pub(super) fn network(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    let most = |values: &[Option<f64>]| values.iter().flatten().copied().fold(0.0, f64::max);
    let received = timeline.series(SeriesFigure::ReceivedBytesPerS);
    let mut sent = timeline.series(SeriesFigure::SentBytesPerS);
    let busiest = sent.iter().chain(&received).map(|(_, values)| most(values)).fold(0.0, f64::max);
    // What hardly moves anything beside the others would be a line on the axis.
    let is_worth_it = |values: &[Option<f64>]| most(values) > busiest * HARDLY;
    sent.retain(|(name, sent)| {
        is_worth_it(sent) || received.iter().any(|(of, values)| of == name && is_worth_it(values))
    });
    let mut curves = Vec::new();
    for ((name, values), colour) in sent.iter().zip(COLOURS).take(DRAWN_MAX) {
        if *name == LOOPBACK {
            curves.extend(curve(timeline, "loopback", colour, values));
            continue;
        }
        curves.extend(curve(timeline, &format!("{name} sent"), colour, values));
        let back = received.iter().find(|(of, _)| of == name);
        let back = back.and_then(|(_, values)| curve(timeline, &format!("{name} received"), colour, values));
        curves.extend(back.map(|back| dashed(back, colour)));
    }
    let left_out = left_out(sent.len().saturating_sub(DRAWN_MAX), "more");
    let note = format!("bytes per second of this machine's interfaces, whoever sent them{left_out}");
    drawn("Network", &note, curves, timeline, layout(clock, bytes_axis("B/s")), "nic")
}

fn curve(timeline: &Timeline<'_>, name: &str, colour: &'static str, values: &[Option<f64>]) -> Option<Curve> {
    let (x, y) = timeline.known(values);
    (x.len() > 1).then(|| thin(name, colour, x, y))
}

fn dashed(curve: Curve, colour: &'static str) -> Curve {
    curve.line(Line::new().color(colour).width(1.5).dash(DashType::Dash))
}

fn bytes_axis(unit: &str) -> Axis {
    from_zero().tick_suffix(unit).hover_format(".3s")
}

fn drawn(
    title: &str,
    note: &str,
    curves: Vec<Curve>,
    timeline: &Timeline<'_>,
    axes: plotly::Layout,
    part: &str,
) -> Chart {
    if curves.is_empty() {
        return Chart::missing(title, timeline.why_not(part));
    }
    chart(title, note, curves, axes).on(SharedAxis::Time).height_px(HEIGHT_PX)
}
