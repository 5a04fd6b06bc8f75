//! NE-08: connections that were reset.

use crate::facts::closes::Closes;
use crate::facts::failures_named;
use crate::facts::kernel::{foreign_connections, share, tcp, whose};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.00001;
const INVALID_SHARE: f64 = 0.001;
/// Fewer are those of any machine where programs come and go.
const COUNT_MIN: u64 = 10;

const REMEDY: &str = "check the server's log, and its limits of connections, memory (net.ipv4.tcp_mem) and time";

pub(crate) const RULE: Rule = Rule {
    id: "NE-08",
    title: "connections reset",
    detects: "Established connections were reset, or aborted by the kernel.",
    fires: &[
        Fires::invalid(
            "At least 10 connections, and more than 0.1 % of them, were reset or aborted, some of them during a \
             request of this load.",
        ),
        Fires::warning("At least 10 connections, and more than 0.001 % of them, were reset or aborted."),
    ],
    remarks: "RFC 9411 allows 0.001 %.",
    applies: Applies::Tcp,
    needs: &[
        Need::Window,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("tcp", "EstabResets")],
            any: false,
            unknown: "kernel does not count resets",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(resets) = tcp(evidence, "EstabResets") else {
        return Outcome::UNMET;
    };
    let given_up = ["TCPAbortOnMemory", "TCPAbortOnTimeout"].iter().filter_map(|name| tcp(evidence, name)).sum::<u64>();
    let met: u64 = failures_named(evidence, ".reset").map(|(_, n)| n).sum();
    // Each connection of another program may have been reset, and is counted at both of its ends.
    let certain = (resets + given_up).saturating_sub(2 * foreign_connections(evidence)).max(met);
    let all = evidence.flow.opened + u64::from(evidence.connections.established);
    let lost = certain.min(all.max(met));
    let share = share(lost, all);
    let state = match share {
        s if s <= WARNING_SHARE || lost < COUNT_MIN => return Outcome::Pass,
        s if s > INVALID_SHARE && met > 0 => FindingState::Invalid,
        _ => FindingState::Warning,
    };
    let own = if met > 0 {
        format!(", {} of them during a request of this load", count(met.min(lost)))
    } else {
        String::new()
    };
    let message = format!(
        "{} of {} connections were reset or aborted ({}){own}: by the server or on the path {}",
        count(lost),
        count(all),
        percent(share),
        whose(evidence)
    );
    // The same as of the failures (ER-01), where it is known how they end.
    let remedy = Closes::of(evidence).map_or_else(|| REMEDY.to_owned(), Closes::remedy);
    let figures =
        [("resets", resets as f64), ("given_up", given_up as f64), ("connections", all as f64), ("met", met as f64)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{Mutate, clean_run, finding, judged, set_counter, state};

    /// h2o: "86,072 of 120,550 connections were reset", of a load that had opened 256.
    #[test]
    fn connections_of_other_programs_are_not_held_against_the_server() {
        let mut evidence = clean_run();
        (evidence.flow.opened, evidence.connections.established) = (0, 256);
        set_counter(&mut evidence, "tcp", "EstabResets", 86_072);
        set_counter(&mut evidence, "tcp", "ActiveOpens", 120_294);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "ActiveOpens", 0);
        assert!(
            finding(judged(&RULE, &evidence)).message.starts_with("256 of 256 connections"),
            "no more than there were"
        );
    }

    /// ER-01 said that connections end behind responses, and this rule that they are too many.
    #[test]
    fn what_resets_connections_is_told_as_with_the_failures() {
        let mut evidence = clean_run();
        evidence.fail("first_byte.reset", 9_000);
        evidence.flow.opened = 9_910;
        set_counter(&mut evidence, "tcp", "EstabResets", 9_000);
        let verdict = crate::judge_run(&evidence);
        let remedies: Vec<_> = ["ER-01", "NE-08"]
            .iter()
            .filter_map(|rule| verdict.findings.iter().find(|finding| finding.rule == **rule))
            .map(|finding| finding.remedy.as_str())
            .collect();
        let given = remedies.iter().filter(|remedy| remedy.contains("after 100 responses on average")).count();
        let referred = remedies.iter().filter(|remedy| remedy.starts_with("the same as for ")).count();
        assert_eq!((given, referred), (1, 1), "{remedies:?}");
    }

    #[test]
    fn a_handful_is_nothing_and_only_what_the_load_met_invalidates() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "EstabResets", 9);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "EstabResets", 40);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        evidence.flow.opened = 40_000_000;
        set_counter(&mut evidence, "tcp", "ActiveOpens", 40_000_000);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "40 of 40 million");
        let found = finding(judged(&RULE, &testing::run("NE-08")));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("during a request of this load"), "{}", found.message);
    }
}
