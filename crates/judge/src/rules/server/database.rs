//! SV-06: did the database refuse connections?

use crate::rules::kernel::growth;
use crate::{Check, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState, StatusRecord};

/// Counts what was refused for want of a free connection; by it the page of MariaDB or MySQL is known.
const REFUSED: &str = "Connection_errors_max_connections";

pub(crate) const RULE: Rule = Rule {
    id: "SV-06",
    title: "database refuses connections",
    detects: "a MariaDB or MySQL that refused connections, or had as many as it may: pages without their data are fast",
    threshold: "Connection_errors_max_connections > 0: invalid; Max_used_connections that came to max_connections: warning",
    data: "the status of MariaDB or MySQL (SHOW GLOBAL STATUS)",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some((page, refused)) = evidence.status.iter().find_map(|page| Some((page, growth(page, REFUSED)?))) else {
        return Outcome::Unchecked("no status of MariaDB or MySQL was read");
    };
    let full = limit_reached(page);
    let remedy =
        "raise max_connections, or let fewer workers ask at a time; then look whether the pages were right (--expect)";
    let figures = [("refused", refused), ("max_connections", full.unwrap_or(0.0))];
    let (state, message) = match full {
        _ if refused > 0.0 => (
            FindingState::Invalid,
            format!(
                "the database refused {} connections: pages without their data are faster than those with them",
                count(refused as u64)
            ),
        ),
        Some(limit) => (
            FindingState::Warning,
            format!("the database had all of its {limit:.0} connections in use: the next would have been refused"),
        ),
        None => return Outcome::Pass,
    };
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

/// The limit, when it was reached in the window: since the server has started would be another day.
fn limit_reached(page: &StatusRecord) -> Option<f64> {
    let used = page.figures.get("Max_used_connections")?;
    let limit = page.figures.get("max_connections")?.last;
    (used.last >= limit && used.last > used.first).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, set_figure, state};

    #[test]
    fn refusals_invalidate_and_a_limit_reached_in_the_window_warns() {
        let mut evidence = clean_run();
        set_figure(&mut evidence, "mariadb", "Max_used_connections", 151.0, 151.0);
        assert_eq!(check(&evidence), Outcome::Pass, "it was reached before");
        set_figure(&mut evidence, "mariadb", "Max_used_connections", 20.0, 151.0);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Warning));
        set_figure(&mut evidence, "mariadb", REFUSED, 4.0, 5.0);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Invalid));
        evidence.status.clear();
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
