//! SV-05: server near its open-file limit.

use crate::facts::kernel::{ELSEWHERE, is_server_seen, share};
use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState, Observed};

const WARNING_SHARE: f64 = 0.9;

pub(crate) const RULE: Rule = Rule {
    id: "SV-05",
    title: "server out of file descriptors",
    detects: "process of the server or a companion near its limit of open files",
    threshold: "> 90 % of the limit: warning (plimsoll default); at the limit: invalid",
    data: "file descriptors of the server's processes (readable by their user and root)",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !is_server_seen(evidence) {
        return Outcome::Unchecked(ELSEWHERE);
    }
    let groups = evidence.observed.iter().flat_map(Observed::groups);
    let known = groups.flat_map(|group| &group.processes).filter_map(|process| {
        let (open, limit) = process.fds_max.zip(process.fds_limit)?;
        Some((share(open, limit), open, limit, process.name.as_str()))
    });
    let Some((share, open, limit, name)) = known.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Outcome::Unchecked("file descriptors of the server's processes not readable");
    };
    let state = match share {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s < 1.0 => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "a {name} process had {} of {} file descriptors open ({}): at the limit it refuses connections and files",
        count(open),
        count(limit),
        percent(share)
    );
    let remedy =
        format!("raise its open-file limit above {} (LimitNOFILE=, ulimit -n, worker_rlimit_nofile)", count(limit));
    let figures = [("open", open as f64), ("limit", limit as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, state};

    #[test]
    fn the_nearest_to_its_limit_decides() {
        for (open, expected) in [(900, None), (901, Some(FindingState::Warning)), (1_000, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
            (server.processes[0].fds_max, server.processes[0].fds_limit) = (Some(open), Some(1_000));
            assert_eq!(state(&check(&evidence)), expected, "{open}");
        }
        let mut evidence = clean_run();
        evidence.observed.as_mut().expect("seen").server = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
