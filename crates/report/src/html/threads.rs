//! How busy each thread was, as a strip of colours for each.

use super::chart::{Chart, SharedAxis, chart, layout, plain};
use super::timeline::{Named, Timeline};
use model::{Observed, SeriesFigure, SeriesObserved};
use plotly::HeatMap;
use plotly::common::{ColorScale, ColorScaleElement, Font};
use plotly::layout::{Axis, AxisType, HoverMode};

/// Load threads that are drawn beside those of the server: the busiest.
const LOAD_THREADS_MAX: usize = 8;
/// Characters of a label that fit beside the axis; the whole name is told where one points.
const LABEL_MAX: usize = 9;
/// Height of a strip, and of what is around all of them; px.
const STRIP_PX: u32 = 22;
const AROUND_PX: u32 = 100;

/// Strips of the busiest threads of server and companions, and below them those of the load generator.
pub(super) fn timeline(timeline: &Timeline<'_>, clock: Axis) -> Chart {
    const TITLE: &str = "Busy threads";
    let all = timeline.series(SeriesFigure::ThreadBusy);
    let (loads, threads): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(name, _)| name.starts_with(SeriesObserved::GENERATOR));
    let drawn: Vec<Named<'_>> = threads.into_iter().chain(loads.into_iter().take(LOAD_THREADS_MAX)).collect();
    if drawn.is_empty() || !timeline.has_curves() {
        return Chart::missing(TITLE, timeline.why_not(Observed::SERVER));
    }
    let height_px = AROUND_PX + STRIP_PX * drawn.len() as u32;
    // From the top downwards.
    let (names, shares): (Vec<String>, Vec<_>) = drawn.into_iter().rev().map(|(name, of)| (plain(name), of)).unzip();
    let labels = names.iter().map(|name| label(name)).collect();
    let begins = std::iter::once(timeline.begin_s).chain(timeline.ends_s.iter().copied());
    let places = (0..names.len()).map(|i| i as f64).collect();
    let strips = HeatMap::new(begins.collect(), names, shares)
        .name("threads")
        .zauto(false)
        .zmin(0.0)
        .zmax(1.0)
        .y_gap(2)
        .color_scale(shades())
        .show_scale(false)
        .hover_on_gaps(false)
        .hover_template("%{y}: %{z:.0%} busy<extra></extra>");
    let small = Font::new().size(9);
    let axis =
        Axis::new().type_(AxisType::Category).tick_values(places).tick_text(labels).tick_font(small).tick_length(0);
    let clock = clock.show_grid(false).tick_length(0);
    let axes = layout(clock, axis.show_grid(false).zero_line(false)).hover_mode(HoverMode::Closest).show_legend(false);
    let each = timeline.each();
    let note = format!("share of its time that a thread was on a CPU, {each}: pale is idle, full colour is all of it");
    chart(TITLE, &note, vec![strips], axes).on(SharedAxis::Time).height_px(height_px)
}

/// From hardly visible to full colour, on white and on black.
fn shades() -> ColorScale {
    let shade = |share: f64, alpha: f64| ColorScaleElement(share, format!("rgba(214,90,49,{alpha})"));
    // Steeper where the eye tells less apart.
    ColorScale::Vector(vec![shade(0.0, 0.05), shade(0.1, 0.25), shade(0.5, 0.65), shade(1.0, 1.0)])
}

/// The name of a thread without its number and its group, as far as there is room.
fn label(name: &str) -> String {
    let own = name.rsplit_once(": ").map_or(name, |(_, own)| own);
    let own = own.rsplit_once(" (").map_or(own, |(own, _)| own);
    if own.chars().count() <= LABEL_MAX {
        return own.to_owned();
    }
    own.chars().take(LABEL_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fit() {
        let names = ["nginx (72)", "load generator: load-0", "tokio-runtime-w (7)"];
        assert_eq!(names.map(label), ["nginx", "load-0", "tokio-ru…"]);
    }
}
