//! NE-08: connections that were reset.

use crate::facts::failures_named;
use crate::facts::kernel::{connections, is_tcp, share, tcp, whose};
use crate::{Check, Outcome, Rule};
use model::human::{count, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.00001;
const INVALID_SHARE: f64 = 0.001;
/// Fewer are those of any machine where programs come and go.
const COUNT_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "NE-08",
    title: "connections reset",
    detects: "established connections that were reset, or aborted by the kernel",
    threshold: ">= 10 and > 0.001 % of the connections (RFC 9411): warning; > 0.1 %, with resets in this load's \
                requests: invalid",
    data: "EstabResets, TCPAbortOnMemory and TCPAbortOnTimeout of this kernel; failures by kind",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !is_tcp(evidence) {
        return Outcome::Pass;
    }
    let Some(resets) = tcp(evidence, "EstabResets") else {
        return Outcome::Unchecked("kernel does not count resets");
    };
    let given_up = ["TCPAbortOnMemory", "TCPAbortOnTimeout"].iter().filter_map(|name| tcp(evidence, name)).sum::<u64>();
    let (lost, all) = (resets + given_up, connections(evidence));
    let share = share(lost, all);
    let met: u64 = failures_named(evidence, ".reset").map(|(_, n)| n).sum();
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
    let remedy = "check the server's log, and its limits of connections, memory (net.ipv4.tcp_mem) and time".to_owned();
    let figures =
        [("resets", resets as f64), ("given_up", given_up as f64), ("connections", all as f64), ("met", met as f64)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;
    use crate::testing::{clean_run, finding, set_counter, state};

    #[test]
    fn a_handful_is_nothing_and_only_what_the_load_met_invalidates() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "EstabResets", 9);
        assert_eq!(check(&evidence), Outcome::Pass);
        set_counter(&mut evidence, "tcp", "EstabResets", 40);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Warning));
        set_counter(&mut evidence, "tcp", "ActiveOpens", 40_000_000);
        assert_eq!(check(&evidence), Outcome::Pass, "40 of 40 million");
        let found = finding(check(&examples::run("NE-08")));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("during a request of this load"), "{}", found.message);
    }
}
