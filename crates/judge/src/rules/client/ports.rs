//! CL-07: local ports exhausted.

use crate::facts::failures_named;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

pub(crate) const RULE: Rule = Rule {
    id: "CL-07",
    title: "local ports exhausted",
    detects: "The client ran out of local ports for new connections.",
    fires: &[Fires::invalid("A connection failed because the client had no free local port.")],
    remarks: "The manual of httperf advises to discard such results.",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let exhausted: u64 = failures_named(evidence, ".ports_exhausted").map(|(_, n)| n).sum();
    if exhausted == 0 {
        return Outcome::Pass;
    }
    let message =
        format!("out of local ports {} times: this measured how fast ports become free (60 s each)", count(exhausted));
    let range = "widen net.ipv4.ip_local_port_range";
    let remedy = if evidence.plan.keepalive {
        format!("let the server keep connections open; otherwise {range}")
    } else {
        format!("omit --no-keepalive if users keep connections open; otherwise {range}")
    };
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, [("ports_exhausted", exhausted as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, finding, judged};

    #[test]
    fn one_exhausted_port_invalidates_and_the_remedy_knows_the_flags() {
        let mut evidence = clean_run();
        evidence.fail("connect.ports_exhausted", 1);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(!found.remedy.contains("--no-keepalive"));
        evidence.plan.keepalive = false;
        assert!(finding(judged(&RULE, &evidence)).remedy.contains("--no-keepalive"));
    }

    #[test]
    fn silent_on_a_clean_run() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
    }
}
