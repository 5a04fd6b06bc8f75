//! SV-09: processes that wait for a disk.

use crate::facts::kernel::{counter, share_of_time};
use crate::{About, Applies, BesideLimiter, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.1;

pub(crate) const RULE: Rule = Rule {
    id: "SV-09",
    title: "waiting for a disk",
    detects: "Processes waited for a disk.",
    fires: &[Fires::warning("Some process waited for a disk for more than 10 % of the time.")],
    remarks: "Free space is not checked.",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("pressure/io", "some_ns")],
            any: false,
            unknown: "no pressure data (PSI) from the kernel",
        }),
    ],
    conditions: "",
    check: Check::Run(check),
};

pub(crate) const BESIDE: BesideLimiter = BesideLimiter { rule: RULE.id, about: About::Limits(&["disk-limited"]) };

fn check(evidence: &Evidence) -> Outcome {
    let Some(ns) = counter(evidence, "pressure/io", "some_ns") else {
        return Outcome::UNMET;
    };
    let share = share_of_time(evidence, ns);
    if share <= WARNING_SHARE {
        return Outcome::Pass;
    }
    let message = format!("for {} of the time some process waited for a disk{}", percent(share), busiest(evidence));
    let remedy = "find the writer (access log, database, other program) and measure without it".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [("waiting_share", share)])
}

/// The disk with the most to do, in brackets.
fn busiest(evidence: &Evidence) -> String {
    let parts = evidence.observed.iter().flat_map(|seen| &seen.counters);
    let disks =
        parts.filter_map(|(part, counters)| Some((counters.get("busy_ns").copied()?, part.strip_prefix("disk/")?)));
    match disks.max() {
        Some((ns, name)) if ns > 0 => format!(" ({name} was {} busy)", percent(share_of_time(evidence, ns))),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter};

    #[test]
    fn a_tenth_of_the_time_warns_and_the_disk_is_named() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "pressure/io", "some_ns", 3_000_000_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "pressure/io", "some_ns", 3_600_000_000);
        set_counter(&mut evidence, "disk/vda", "busy_ns", 27_000_000_000);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(
            found.message.starts_with("for 12 % of the time") && found.message.contains("(vda was 90 % busy)"),
            "{found:?}"
        );
    }
}
