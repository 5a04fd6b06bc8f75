//! LD-09: load from a recording of which a part was left out.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState, Recording};

/// Where a smaller share of a recording was taken, the load is hardly what was recorded.
const TAKEN_MIN: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    id: "LD-09",
    title: "part of a recording left out",
    detects: "The load is from a recording (--har) of which some requests were left out.",
    fires: &[
        Fires::warning(
            "Less than half of the answered requests were taken, or a request was left out whose body was not recorded.",
        ),
        Fires::note("Requests to other servers, or redirects, were left out."),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Plan],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(recording) = &evidence.plan.recording else { return Outcome::Pass };
    let Some(left_out) = recording.left_out() else { return Outcome::Pass };
    let Recording { origin: _, taken, recorded, other_servers, redirects, without_body } = recording;
    let share = *taken as f64 / *recorded as f64;
    let is_wrong = share < TAKEN_MIN || *without_body > 0;
    let state = if is_wrong { FindingState::Warning } else { FindingState::Note };
    let message = format!("{recording}, are in the load: left out were {left_out}");
    let remedy = match *without_body {
        0 if *other_servers > 0 => "name the server to measure on the command line, if another one was meant",
        0 => "nothing, as the pages that the redirects lead to are in the load",
        _ => "record again with a browser that saves the bodies of requests, or write them into a list (--urls FILE)",
    };
    let figures = [
        ("taken", *taken),
        ("recorded", *recorded),
        ("other_servers", *other_servers),
        ("redirects", *redirects),
        ("without_body", *without_body),
    ];
    let figures = figures.map(|(name, value)| (name, value as f64));
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, state};

    fn outcome(taken: u64, other_servers: u64, redirects: u64, without_body: u64) -> Outcome {
        let mut evidence = clean_run();
        let recorded = taken + other_servers + redirects + without_body;
        let origin = "http://shop.example".to_owned();
        evidence.plan.recording = Some(Recording { origin, taken, recorded, other_servers, redirects, without_body });
        judged(&RULE, &evidence)
    }

    #[test]
    fn what_is_left_out_is_a_note_and_half_of_it_or_a_body_a_warning() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass, "no recording");
        assert_eq!(outcome(41, 0, 0, 0), Outcome::Pass);
        assert_eq!(state(&outcome(37, 2, 2, 0)), Some(FindingState::Note));
        assert_eq!(state(&outcome(20, 20, 0, 0)), Some(FindingState::Note));
        assert_eq!(state(&outcome(19, 20, 0, 0)), Some(FindingState::Warning));
        assert_eq!(state(&outcome(40, 0, 0, 1)), Some(FindingState::Warning));
    }
}
