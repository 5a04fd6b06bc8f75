//! SV-06: connections refused by the database.

use crate::facts::database::{Connections, connections};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "SV-06",
    title: "database refuses connections",
    detects: "MariaDB or MySQL refused connections or reached its limit.",
    fires: &[
        Fires::invalid("The database refused at least one connection (Connection_errors_max_connections)."),
        Fires::warning("All connections that max_connections allows were in use."),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Database],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(Connections { refused, used_max, limit, .. }) = connections(evidence) else {
        return Outcome::UNMET;
    };
    let remedy = "raise max_connections or use fewer workers; then check that pages are complete (--expect)";
    let figures = [("refused", refused), ("used_max", used_max), ("max_connections", limit.unwrap_or(0.0))];
    let (state, message) = match limit {
        _ if refused > 0.0 => {
            let full = limit.map_or_else(String::new, |limit| {
                // One more than it allows is kept for who looks after it.
                let used = count(used_max.min(limit) as u64);
                format!(", with up to {used} of {} in use (max_connections)", count(limit as u64))
            });
            let refused = count(refused as u64);
            let so_what = "pages without their data are faster";
            (FindingState::Invalid, format!("the database refused {refused} connections{full}: {so_what}"))
        }
        Some(limit) if used_max >= limit => (
            FindingState::Warning,
            format!(
                "all {} database connections were in use (max_connections): more would be refused",
                count(limit as u64)
            ),
        ),
        _ => return Outcome::Pass,
    };
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_figure, state};
    use model::StatusRecord;

    #[test]
    fn refusals_invalidate_and_a_limit_reached_in_the_window_warns() {
        let mut evidence = clean_run();
        set_figure(&mut evidence, "mysql", "connections_max", 151.0, 151.0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "it was reached before");
        set_figure(&mut evidence, "mysql", "connections_max", 20.0, 151.0);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        set_figure(&mut evidence, "mysql", "connections_max", 6.0, 6.0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_figure(&mut evidence, "mysql", "threads_connected", 3.0, 151.0);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        set_figure(&mut evidence, "mysql", "connections_refused", 4.0, 5.0);
        let refused = finding(judged(&RULE, &evidence));
        assert_eq!(refused.state, FindingState::Invalid);
        assert!(refused.message.contains("refused 1 connections, with up to 151 of 151 in use"), "{}", refused.message);
        evidence.status.clear();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    #[test]
    fn a_refused_password_is_another_reason_than_nobody_asked() {
        let mut evidence = clean_run();
        let asked = |reason: &str| StatusRecord {
            url: "mysql://ob@localhost".to_owned(),
            reason: Some(reason.to_owned()),
            ..StatusRecord::default()
        };
        evidence.status = vec![asked("it does not let ob in (1045); a password")];
        assert_eq!(
            judged(&RULE, &evidence),
            Outcome::Unchecked("MariaDB or MySQL refused the login (status in run.json)")
        );
        evidence.status = vec![asked("nothing answers there")];
        let unreadable = "status of MariaDB or MySQL not readable (status in run.json)";
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked(unreadable));
        evidence.status.clear();
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked("no status of MariaDB or MySQL"));
    }

    #[test]
    fn a_refusal_counts_without_the_variable_too() {
        let mut evidence = clean_run();
        for page in &mut evidence.status {
            page.figures.remove("connections_limit");
        }
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_figure(&mut evidence, "mysql", "connections_refused", 0.0, 5.0);
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("the database refused 5 connections: pages"));
    }
}
