//! EN-04: goodput that drops within a run.

use crate::facts::undisturbed_per_s;
use crate::facts::whole_load::{AGENT_LOST, is_any_lost, whole_load};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate, time};
use model::{Evidence, FindingState, NS_PER_S, Second};

const WARNING_DROP: f64 = 0.05;
/// Fewer seconds show no level to fall from.
const SECONDS_MIN: usize = 20;
/// Part of the seconds that has to be on either side of the step.
const SIDE_SHARE: f64 = 0.2;
/// The step is so many times as large as the spread of the seconds on its two sides.
const SPREADS: f64 = 3.0;
/// Shorter ticks are pieces of a second at the end of a window.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

pub(crate) const RULE: Rule = Rule {
    id: "EN-04",
    title: "goodput drop within the run",
    detects: "Goodput dropped at one moment and stayed low, as when burst credits, turbo or a cache end.",
    fires: &[Fires::warning(
        "Goodput dropped by more than 5 % and by more than 3 times the spread of the seconds before and after, \
             and such a step fits better than a straight line.",
    )],
    remarks: "Only the undisturbed part of each second counts.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Requests],
    conditions: "one window with at least 20 seconds of which at least half is undisturbed",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.iterations != 1 {
        return Outcome::Unchecked("several windows");
    }
    // The load itself fell with an agent that was lost.
    let whole: Vec<&Second> = whole_load(evidence).filter(|second| second.length_ns >= TICK_MIN_NS).collect();
    if whole.len() < SECONDS_MIN && is_any_lost(evidence) {
        return Outcome::Unchecked(AGENT_LOST);
    }
    if whole.len() < SECONDS_MIN {
        return Outcome::Unchecked("window shorter than 20 s");
    }
    // A drop in what others have taken is named by the rules about that.
    let rated = whole.iter().filter_map(|second| Some((second.from_ns, undisturbed_per_s(evidence, second)?)));
    let (begins_ns, rates): (Vec<u64>, Vec<f64>) = rated.unzip();
    if rates.len() < SECONDS_MIN {
        return Outcome::Unchecked("fewer than 20 undisturbed seconds");
    }
    let Some(step) = Step::best(&rates) else { return Outcome::Pass };
    let drop = 1.0 - step.after / step.before;
    let is_step = step.before - step.after > SPREADS * step.spread && step.error < error_of_line(&rates);
    if drop <= WARNING_DROP || !is_step {
        return Outcome::Pass;
    }
    let at_ns = begins_ns[step.at] - whole[0].from_ns;
    let message = format!(
        "goodput fell by {} after {} and stayed low ({} before, {} after): the mean covers two states",
        percent(drop),
        time(at_ns as f64),
        rate(step.before),
        rate(step.after)
    );
    let remedy = "check for burst credits or turbo; measure longer and use the lasting level".to_owned();
    let figures =
        [("before_per_s", step.before), ("after_per_s", step.after), ("drop", drop), ("after_ns", at_ns as f64)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// Two levels, and where one ends.
struct Step {
    at: usize,
    before: f64,
    after: f64,
    /// Standard deviation on the two sides.
    spread: f64,
    /// Sum of squares that is left.
    error: f64,
}

impl Step {
    /// The step that leaves the least error; none when the series falls nowhere.
    fn best(rates: &[f64]) -> Option<Self> {
        let side = (rates.len() as f64 * SIDE_SHARE).ceil() as usize;
        let of = |at: usize| {
            let (front, back) = rates.split_at(at);
            let (before, after) = (mean(front), mean(back));
            let error = squares(front, before) + squares(back, after);
            Self { at, before, after, spread: (error / rates.len() as f64).sqrt(), error }
        };
        (side..rates.len() - side)
            .map(of)
            .filter(|step| step.after < step.before)
            .min_by(|a, b| a.error.total_cmp(&b.error))
    }
}

/// Sum of squares round the straight line that fits best.
fn error_of_line(rates: &[f64]) -> f64 {
    let middle = (rates.len() - 1) as f64 / 2.0;
    let mean = mean(rates);
    let places = || rates.iter().enumerate().map(|(i, rate)| (i as f64 - middle, rate - mean));
    let slope = places().map(|(x, y)| x * y).sum::<f64>() / places().map(|(x, _)| x * x).sum::<f64>();
    places().map(|(x, y)| (y - slope * x).powi(2)).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};
    use model::Disturbance;

    /// Thirty seconds with these goodputs, as parts of 10,000.
    fn run(part: impl Fn(u64) -> f64) -> Evidence {
        let mut evidence = clean_run();
        for (i, second) in evidence.seconds.iter_mut().enumerate() {
            let noise = 1.0 + 0.01 * ((i * 7 % 5) as f64 - 2.0);
            second.good = (10_000.0 * part(i as u64) * noise) as u64;
        }
        evidence
    }

    #[test]
    fn a_step_is_told_with_its_moment() {
        let found = finding(judged(&RULE, &run(|i| if i < 18 { 1.0 } else { 0.7 })));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("goodput fell by 30 % after 18.0 s"), "{}", found.message);
    }

    /// A neighbour that took CPU time from the 15th second on, all of which was set aside, was called a lack of burst credits.
    #[test]
    fn a_step_into_disturbed_seconds_is_none() {
        let disturbed = |clean_ns: u64| {
            let mut evidence = run(|i| if i < 22 { 1.0 } else { 0.7 });
            evidence.disturbance = Some(Disturbance::default());
            for (i, second) in evidence.seconds.iter_mut().enumerate() {
                (second.clean_ns, second.clean_good) = (second.length_ns, second.good);
                if i >= 22 {
                    (second.clean_ns, second.clean_good) = (clean_ns, clean_ns / 100_000);
                }
            }
            evidence
        };
        assert_eq!(judged(&RULE, &disturbed(NS_PER_S / 10)), Outcome::Pass, "too little of them is undisturbed");
        assert_eq!(judged(&RULE, &disturbed(NS_PER_S * 6 / 10)), Outcome::Pass, "10,000/s in what is");
        let mut lasting = disturbed(NS_PER_S);
        lasting.seconds[22..].iter_mut().for_each(|second| second.clean_good = 7_000);
        assert!(
            finding(judged(&RULE, &lasting)).message.starts_with("goodput fell by 30 % after 22.0 s"),
            "undisturbed too"
        );
        let mut short = disturbed(NS_PER_S / 10);
        short.seconds[..5].iter_mut().for_each(|second| second.clean_ns = 0);
        assert!(matches!(judged(&RULE, &short), Outcome::Unchecked(_)));
    }

    #[test]
    fn noise_a_slope_a_short_dip_and_a_rise_are_no_step() {
        for (name, evidence) in [
            ("noise", run(|_| 1.0)),
            ("slope", run(|i| 1.0 - 0.01 * i as f64)),
            ("dip", run(|i| if (10..13).contains(&i) { 0.5 } else { 1.0 })),
            ("rise", run(|i| if i < 15 { 0.7 } else { 1.0 })),
        ] {
            assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "{name}");
        }
    }

    #[test]
    fn short_or_several_windows_are_unchecked() {
        let mut evidence = run(|i| if i < 18 { 1.0 } else { 0.7 });
        evidence.iterations = 2;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.iterations = 1;
        evidence.seconds.truncate(19);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
