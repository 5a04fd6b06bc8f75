//! PR-01: profiling overhead.
//!
//! A sweep is profiled by one more measurement that is no point of it, so that its numbers do not pay for the
//! samples.

use crate::{Applies, Check, Fires, Outcome, Rule};
use model::human::plural;
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "PR-01",
    title: "profiling overhead",
    detects: "The server was interrupted for samples, which lowers its capacity slightly.",
    fires: &[Fires::warning("CPUs were sampled for a profile during the window.")],
    remarks: "",
    applies: Applies::Always,
    needs: &[],
    conditions: "a profile, where one was made",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(profile) = &evidence.profile else { return Outcome::Pass };
    let lost = match profile.lost_samples {
        0 => String::new(),
        n => format!(" ({} lost)", plural(n, "sample")),
    };
    let message =
        format!("profiled at {} Hz{lost}: profiling overhead affects goodput and latency", profile.frequency_hz);
    let remedy = "measure again without --profile for goodput and latency".to_owned();
    let figures = [
        ("frequency_hz", f64::from(profile.frequency_hz)),
        ("samples", profile.samples as f64),
        ("lost_samples", profile.lost_samples as f64),
        ("reader_share", profile.reader_share),
    ];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};
    use model::Profiled;

    #[test]
    fn always_warns_of_a_profiled_run_and_of_no_other() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.profile = Some(Profiled { frequency_hz: 99, samples: 500, lost_samples: 2, ..Profiled::default() });
        let found = finding(judged(&RULE, &evidence));
        assert_eq!((found.state, found.evidence["samples"]), (FindingState::Warning, 500.0));
        assert!(found.message.starts_with("profiled at 99 Hz (2 samples lost): "), "{}", found.message);
    }
}
