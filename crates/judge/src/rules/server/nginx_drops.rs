//! SV-02: connections dropped by nginx.

use crate::facts::kernel::{growth, pages};
use crate::{About, Applies, BesideLimiter, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "SV-02",
    title: "nginx drops connections",
    detects: "Connections that nginx had accepted were dropped for lack of worker_connections.",
    fires: &[Fires::warning("In the window nginx accepted more connections than it handled.")],
    remarks: "By its documentation the two are equal unless a limit was reached.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::StatusPage(&["nginx"], "no status page of nginx")],
    conditions: "",
    check: Check::Run(check),
};

pub(crate) const BESIDE: BesideLimiter = BesideLimiter { rule: RULE.id, about: About::Limits(&["connection-limited"]) };

fn check(evidence: &Evidence) -> Outcome {
    let known =
        pages(evidence, &["nginx"]).filter_map(|(_, page)| Some((growth(page, "accepted")?, growth(page, "handled")?)));
    let known: Vec<_> = known.collect();
    if known.is_empty() {
        return Outcome::Unchecked("the status page of nginx does not count connections");
    }
    let dropped: f64 = known.iter().map(|(accepted, handled)| (accepted - handled).max(0.0)).sum();
    if dropped < 1.0 {
        return Outcome::Pass;
    }
    let connections = evidence.plan.load.connections();
    let message =
        format!("nginx dropped {} accepted connections for lack of worker_connections", count(dropped as u64));
    let remedy = format!(
        "raise worker_connections above {connections} (twice that for a proxy), and the open-file limit \
         (worker_rlimit_nofile)"
    );
    let figures = [("dropped", dropped), ("accepted", known.iter().map(|(accepted, _)| accepted).sum())];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_figure};
    use model::Around;

    #[test]
    fn what_was_accepted_and_not_handled_was_dropped() {
        let mut evidence = clean_run();
        set_figure(&mut evidence, "nginx", "accepted", 100.0, 164.0);
        set_figure(&mut evidence, "nginx", "handled", 90.0, 154.0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "those of before the window are left out");
        set_figure(&mut evidence, "nginx", "handled", 90.0, 104.0);
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.starts_with("nginx dropped 50 accepted connections"), "{}", found.message);
        // Without a connection left it answers in the window once or never.
        for page in &mut evidence.status {
            page.looks = 1;
        }
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        for (name, after) in [("accepted", 200.0), ("handled", 130.0)] {
            let page = evidence.status.iter_mut().find(|page| page.server.as_deref() == Some("nginx"));
            page.expect("it is there").around.insert(name.to_owned(), Around { before: 90.0, after });
        }
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.starts_with("nginx dropped 70 accepted connections"), "{}", found.message);
        evidence.status.clear();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
