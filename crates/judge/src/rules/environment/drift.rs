//! EN-05 and EN-06: settings or server files that changed during the measurement.

use crate::text::list;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Change, Evidence, FindingState};

/// Changes that are named.
const NAMED_MAX: usize = 3;
/// Begin of the sections of the fingerprint that are about programs of the server.
const PROGRAM: &str = "program/";

pub(crate) const SETTINGS: Rule = Rule {
    id: "EN-05",
    title: "settings changed",
    detects: "Kernel, clock or CPU settings changed during the measurement.",
    fires: &[Fires::warning("The fingerprints before and after all loads differ in a setting.")],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Fingerprints],
    conditions: "",
    check: Check::Run(check_settings),
};

pub(crate) const PROGRAMS: Rule = Rule {
    id: "EN-06",
    title: "server changed",
    detects: "Server programs or configuration files changed during the measurement.",
    fires: &[Fires::invalid(
        "A program of the server or a file of its configuration had another hash after the last load.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Fingerprints],
    conditions: "",
    check: Check::Run(check_programs),
};

fn check_settings(evidence: &Evidence) -> Outcome {
    let Some(changes) = &evidence.changes else { return Outcome::UNMET };
    let changes: Vec<_> = changes.iter().filter(|change| !change.section.starts_with(PROGRAM)).collect();
    if changes.is_empty() {
        return Outcome::Pass;
    }
    let message = format!("{} changed during the measurement: start and end are not comparable", named(&changes));
    let remedy = "stop what retunes the machine (tuned, power daemons, other users) and measure again".to_owned();
    let figures = [("changes", changes.len() as f64)];
    Outcome::fired(SETTINGS.id, FindingState::Warning, message, remedy, figures)
}

fn check_programs(evidence: &Evidence) -> Outcome {
    let Some(changes) = &evidence.changes else { return Outcome::UNMET };
    let changes: Vec<_> = changes.iter().filter(|change| change.section.starts_with(PROGRAM)).collect();
    if changes.is_empty() {
        return Outcome::Pass;
    }
    let names: Vec<_> = changes
        .iter()
        .take(NAMED_MAX)
        .map(|change| format!("{} of {}", change.name, change.section.trim_start_matches(PROGRAM)))
        .collect();
    let message = format!("{} changed during the measurement: start and end may be different servers", list(&names));
    let remedy = "stop upgrades and deployments, restart the server and measure again".to_owned();
    let figures = [("changes", changes.len() as f64)];
    Outcome::fired(PROGRAMS.id, FindingState::Invalid, message, remedy, figures)
}

/// The first few, each with what it was and is.
fn named(changes: &[&Change]) -> String {
    let one =
        |change: &&Change| format!("{}/{} ({:?}, then {:?})", change.section, change.name, change.before, change.after);
    list(&changes.iter().take(NAMED_MAX).map(one).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{clean_run, finding, judged};

    #[test]
    fn programs_invalidate_and_settings_warn() {
        let settings = testing::run("EN-05");
        assert_eq!(judged(&PROGRAMS, &settings), Outcome::Pass);
        let found = finding(judged(&SETTINGS, &settings));
        assert_eq!(found.state, FindingState::Warning);
        assert!(
            found.message.starts_with("sysctl/net/core/somaxconn (\"4096\", then \"128\") changed"),
            "{}",
            found.message
        );
        let programs = testing::run("EN-06");
        assert_eq!(judged(&SETTINGS, &programs), Outcome::Pass);
        let found = finding(judged(&PROGRAMS, &programs));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("file /etc/nginx/nginx.conf of nginx changed"), "{}", found.message);
    }

    #[test]
    fn one_fingerprint_is_not_enough() {
        let mut evidence = clean_run();
        evidence.changes = None;
        assert_eq!(judged(&SETTINGS, &evidence), Outcome::Unchecked("fingerprint taken only once"));
        assert_eq!(judged(&PROGRAMS, &evidence), Outcome::Unchecked("fingerprint taken only once"));
    }
}
