//! ER-11: responses from a cache.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "ER-11",
    title: "cache measured",
    detects: "A cache in front of the application answered the probe.",
    fires: &[Fires::warning(
        "One of the probe's responses had an Age above 0, a hit in X-Cache or a similar header, or two numbers \
             in X-Varnish.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Probe],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(probe) = &evidence.probe else {
        return Outcome::UNMET;
    };
    let hits = probe.fetches.iter().filter(|fetch| fetch.cached.is_some()).count();
    let Some(header) = probe.fetches.iter().rev().find_map(|fetch| fetch.cached.as_deref()) else {
        return Outcome::Pass;
    };
    let message = format!("a cache answered the probe ({header}): this measures the cache, not the application");
    let remedy = "bypass the cache unless you measure it: another port, --connect-to, or uncached URLs (--template \
                  with {{counter}})";
    let figures = [("hits", hits as f64), ("fetches", probe.fetches.len() as f64)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};

    #[test]
    fn a_hit_warns_none_passes_and_no_probe_is_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.probe.as_mut().expect("a probe").fetches[0].cached = Some("X-Cache: HIT".into());
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("a cache answered the probe (X-Cache: HIT)"), "{}", found.message);
        evidence.probe = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
