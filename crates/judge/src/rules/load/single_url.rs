//! LD-07: load of a single URL.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "LD-07",
    title: "one URL",
    detects: "The load is a single request, which caches can hold.",
    fires: &[Fires::note("All requests were the same, without a template.")],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Plan],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let requests = &evidence.plan.requests;
    if requests.len() > 1 || requests.iter().any(|request| request.template) {
        return Outcome::Pass;
    }
    let message = "one URL requested over and over: caches flatter the result".to_owned();
    let remedy = "measure a mix of pages (--urls FILE), or vary the request (--template)".to_owned();
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("urls", requests.len() as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, state};

    #[test]
    fn one_url_is_noted_a_mix_or_a_template_is_not() {
        let mut evidence = clean_run();
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        evidence.plan.requests[0].template = true;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.plan.requests[0].template = false;
        evidence.plan.requests.push(model::Request::get("/b"));
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }
}
