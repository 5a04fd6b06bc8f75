//! Shape of a sweep's curve in words: knee, plateau, fall past the peak, each with its interval.

use crate::words::fact::{About, Fact};
use crate::words::over::Over;
use model::human::{percent, rate};
use model::{Estimate, Knee, Peak, Retrograde, SweepRecord, VerdictState};

/// Ends of an interval closer than this are told with one digit more.
const CLOSE: f64 = 0.2;
/// Loads from here on have no digits behind the point.
const WHOLE: f64 = 99.95;

/// The knee, and what is beyond it as far as that is known. `is_bound` if goodput is only a lower bound.
pub(crate) fn facts(record: &SweepRecord, over: Over, is_bound: bool) -> impl Iterator<Item = Fact> {
    let fact = |label, text| Fact::new(About::Result, label, text);
    let knee = fact("knee", knee_text(record, over));
    let beyond = match (record.retrograde, record.plateau) {
        (Some(fall), _) => Some(fact("retrograde", marked(record, fall_text(&fall, over)))),
        (None, Some(_)) if is_bound => record.peak.map(|peak| fact("plateau", bound_text(record, peak))),
        (None, Some(plateau)) => {
            Some(fact("plateau", marked(record, plateau_text(&plateau, record.plateau_range_per_s))))
        }
        (None, None) => None,
    };
    [Some(knee), beyond].into_iter().flatten()
}

/// A figure of the curve, which says of itself where the sweep is invalid.
fn marked(record: &SweepRecord, text: String) -> String {
    match record.verdict.state {
        VerdictState::Invalid => format!("{text}; not valid, as the sweep is not"),
        VerdictState::Valid | VerdictState::Bound => text,
    }
}

/// A plateau that is a lower bound: no more than what was measured, whatever the fit says.
fn bound_text(record: &SweepRecord, peak: Peak) -> String {
    let fitted = record.plateau.map_or(peak.goodput_per_s, |plateau| plateau.value);
    format!(">= {}", rate(fitted.min(peak.goodput_per_s)))
}

fn knee_text(record: &SweepRecord, over: Over) -> String {
    match record.knee {
        Some(knee) => {
            let knee = format!("{}{}", knee_place(&knee, over), knee_interval(&knee, over));
            match record.verdict.state {
                VerdictState::Invalid => marked(record, knee),
                VerdictState::Valid | VerdictState::Bound => {
                    format!("{knee}; beyond it, more load only adds queueing delay")
                }
            }
        }
        None => match (NoKnee::of(record), record.curve.last()) {
            (NoKnee::NotReached, Some(last)) => {
                format!("not reached: goodput was still rising at the highest load ({})", over.place(last.load))
            }
            (other, _) => other.sentence().to_owned(),
        },
    }
}

/// Why a curve has no knee.
#[derive(Clone, Copy)]
pub(crate) enum NoKnee {
    /// It has fewer than two loads.
    NotLookedFor,
    NothingGood,
    NotFound,
    NotReached,
}

impl NoKnee {
    pub(crate) fn of(record: &SweepRecord) -> Self {
        let mut loads = record.curve.iter().map(|point| point.load);
        let first = loads.next();
        if !loads.any(|load| Some(load) != first) {
            Self::NotLookedFor
        } else if !record.curve.iter().any(|point| point.goodput_per_s > 0.0) {
            Self::NothingGood
        } else if record.saturated {
            Self::NotFound
        } else {
            Self::NotReached
        }
    }

    /// True if the knee is beyond the highest load.
    pub(crate) fn is_beyond(record: &SweepRecord) -> bool {
        record.knee.is_none() && matches!(Self::of(record), Self::NotReached)
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::NotLookedFor => "not looked for, as that needs more than one load",
            Self::NothingGood => "none, as there was no good response",
            Self::NotFound => "not found, though more load gave no more goodput",
            Self::NotReached => "not reached: goodput was still rising at the highest load",
        }
    }

    /// In a cell of a table.
    pub(crate) const fn cell(self) -> &'static str {
        match self {
            Self::NotLookedFor | Self::NothingGood => "-",
            Self::NotFound => "not found",
            Self::NotReached => "not reached",
        }
    }
}

/// The knee in a sentence, with as many digits as its interval: rounded by itself it could lie outside of that.
fn knee_place(knee: &Knee, over: Over) -> String {
    match (knee.low, knee.high, over) {
        (Some(low), Some(high), Over::Connections) => format!("{} connections", knee_number(knee.load, [low, high])),
        _ => over.place(knee.load),
    }
}

/// A number of connections beside the interval of the knee.
fn knee_number(load: f64, [low, high]: [f64; 2]) -> String {
    let digits = if high - low < CLOSE { 2 } else { 1 };
    if load < WHOLE { format!("{load:.digits$}") } else { Over::Connections.number(load.round()) }
}

fn knee_interval(knee: &Knee, over: Over) -> String {
    match (knee.low, knee.high, over) {
        (Some(low), Some(high), Over::Connections) => {
            let number = |load: f64| knee_number(load, [low, high]);
            format!(" (95 % interval {} to {})", number(low), number(high))
        }
        (_, Some(high), Over::Rate) => format!(" (held; {} was not)", rate(high)),
        _ => String::new(),
    }
}

fn plateau_text(plateau: &Estimate, range: Option<[f64; 2]>) -> String {
    let known = match (plateau.low, plateau.high, range) {
        (Some(low), Some(high), _) => format!(" (95 % interval {} to {})", rate(low), rate(high)),
        (_, _, Some([low, high])) => format!(" (all iterations: {} to {})", rate(low), rate(high)),
        _ => String::new(),
    };
    format!("{}{known}", rate(plateau.value))
}

fn fall_text(fall: &Retrograde, over: Over) -> String {
    let interval = fall.low.zip(fall.high);
    let interval = interval.map(|(low, high)| format!(" (95 % interval {} to {})", percent(low), percent(high)));
    format!(
        "goodput falls beyond {}: {} at {}, {} below the highest{}",
        over.place(fall.from_load),
        rate(fall.goodput_per_s),
        over.number(fall.load),
        percent(fall.loss),
        interval.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "knee 4.3 connections (95 % interval 4.32 to 4.37)".
    #[test]
    fn a_knee_is_never_rounded_out_of_its_interval() {
        let of = |load, low, high| {
            knee_place(&Knee { load, low: Some(low), high: Some(high), ..Knee::default() }, Over::Connections)
        };
        assert_eq!(of(4.34, 4.32, 4.37), "4.34 connections");
        assert_eq!(of(4.34, 3.9, 4.8), "4.3 connections");
        assert_eq!(of(180.4, 150.0, 200.0), "180 connections");
        assert_eq!(knee_place(&Knee { load: 4.34, ..Knee::default() }, Over::Connections), "4.3 connections");
    }

    #[test]
    fn ends_of_an_interval_have_the_digits_that_tell_them_apart() {
        let text = |load, low, high| {
            let knee = Knee { load, low: Some(low), high: Some(high), ..Knee::default() };
            knee_interval(&knee, Over::Connections)
        };
        assert_eq!(text(4.3, 4.271, 4.318), " (95 % interval 4.27 to 4.32)");
        assert_eq!(text(8.0, 7.66, 8.31), " (95 % interval 7.7 to 8.3)");
        assert_eq!(text(99.0, 95.04, 101.7), " (95 % interval 95.0 to 102)");
        assert_eq!(knee_interval(&Knee { load: 4.3, ..Knee::default() }, Over::Connections), "");
    }

    /// A sweep of so many loads, each with as much goodput.
    fn without_knee(loads: u32, goodput_per_s: f64) -> (String, &'static str) {
        let text = include_str!("../../tests/stored/sweep");
        let mut record: SweepRecord = serde_json::from_str(text).expect("a sweep");
        let point = record.curve[0].clone();
        let at = |load| model::PointSummary { load: f64::from(load), goodput_per_s, ..point.clone() };
        record.curve = (1..=loads).map(at).collect();
        (record.knee, record.saturated) = (None, false);
        (knee_text(&record, Over::Connections), NoKnee::of(&record).cell())
    }

    #[test]
    fn no_knee_is_claimed_to_lie_beyond_one_load_or_beyond_loads_without_a_good_response() {
        assert_eq!(without_knee(1, 100.0), ("not looked for, as that needs more than one load".to_owned(), "-"));
        assert_eq!(without_knee(0, 100.0).1, "-");
        assert_eq!(without_knee(3, 0.0), ("none, as there was no good response".to_owned(), "-"));
        assert_eq!(
            without_knee(3, 9.0),
            ("not reached: goodput was still rising at the highest load (3 connections)".to_owned(), "not reached")
        );
    }

    #[test]
    fn over_rates_the_next_rate_is_named() {
        let knee = Knee { load: 800.0, low: Some(800.0), high: Some(1_000.0), ..Knee::default() };
        assert_eq!(knee_interval(&knee, Over::Rate), " (held; 1,000/s was not)");
    }

    #[test]
    fn a_fall_says_from_where_how_far_and_how_surely() {
        let fall = Retrograde {
            from_load: 32.0,
            load: 128.0,
            goodput_per_s: 1_500.0,
            loss: 0.25,
            low: Some(0.22),
            high: Some(0.28),
        };
        let text = "goodput falls beyond 32 connections: 1,500/s at 128, 25 % below the highest";
        assert_eq!(fall_text(&fall, Over::Connections), format!("{text} (95 % interval 22 % to 28 %)"));
        assert_eq!(fall_text(&Retrograde { low: None, ..fall }, Over::Connections), text);
    }

    #[test]
    fn a_plateau_has_its_interval_or_the_range_of_its_iterations() {
        let plateau = Estimate { value: 2_000.0, low: Some(1_998.0), high: Some(2_002.0), n: 16 };
        assert_eq!(plateau_text(&plateau, None), "2,000/s (95 % interval 1,998/s to 2,002/s)");
        let of_two = Estimate { low: None, high: None, ..plateau };
        let range = Some([1_990.0, 2_004.0]);
        assert_eq!(plateau_text(&of_two, range), "2,000/s (all iterations: 1,990/s to 2,004/s)");
    }

    fn sweep(state: VerdictState) -> SweepRecord {
        let mut record: SweepRecord = serde_json::from_str(include_str!("../../tests/stored/sweep")).expect("a sweep");
        record.verdict.state = state;
        record.peak = Some(Peak { goodput_per_s: 1_980.0, ..record.peak.expect("a peak") });
        record.plateau = Some(Estimate { value: 2_000.0, low: None, high: None, n: 2 });
        record.knee = Some(Knee { load: 4.34, ..Knee::default() });
        record.retrograde = None;
        record
    }

    fn texts(record: &SweepRecord, is_bound: bool) -> Vec<String> {
        facts(record, Over::Connections, is_bound).map(|fact| fact.text).collect()
    }

    /// "plateau >= 2,000/s" stood below a peak of 1,980/s.
    #[test]
    fn a_plateau_that_is_a_bound_was_above_the_measured_peak() {
        assert_eq!(texts(&sweep(VerdictState::Bound), true)[1], ">= 1,980/s");
    }

    #[test]
    fn the_knee_of_an_invalid_sweep_was_not_marked() {
        let marked = "; not valid, as the sweep is not";
        let texts = texts(&sweep(VerdictState::Invalid), false);
        assert!(texts.iter().all(|text| text.ends_with(marked) && !text.contains(">=")), "{texts:?}");
        assert_eq!(texts[0], format!("4.3 connections{marked}"));
    }
}
