//! NE-12: connections that the server's machine opens for nearly each response.

use crate::facts::kernel::{is_one_machine, is_tcp, tcp};
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::count;
use model::{Evidence, FindingState};

/// Connections for each response.
const NOTE_SHARE: f64 = 0.5;
/// Several to each response are several upstreams; many more are another program's.
const FOREIGN_SHARE: f64 = 4.0;
/// Fewer are those of any machine where programs come and go.
const COUNT_MIN: u64 = 100;

pub(crate) const RULE: Rule = Rule {
    id: "NE-12",
    title: "new upstream connection per request",
    detects: "A proxy or application connected anew to what is behind it for nearly each request.",
    fires: &[Fires::note(
        "The server's machine opened at least 100 connections beside those of this load, from 0.5 to 4 for each \
             response.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[
        Need::Window,
        Need::Server,
        Need::Kernel(Kernel {
            whose: Whose::Servers,
            figures: &[("tcp", "ActiveOpens")],
            any: false,
            unknown: "kernel does not count the connections it opens",
        }),
        Need::Requests,
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(opened) = tcp(evidence, "ActiveOpens") else {
        return Outcome::UNMET;
    };
    // Those of the load generator are counted with them where it is on the same machine.
    let mine = if is_one_machine(evidence) && is_tcp(evidence) { evidence.flow.opened } else { 0 };
    let others = opened.saturating_sub(mine);
    let each = others as f64 / evidence.flow.completed.max(1) as f64;
    if others < COUNT_MIN || !(NOTE_SHARE..=FOREIGN_SHARE).contains(&each) {
        return Outcome::Pass;
    }
    let message = format!(
        "the server's machine opened {} connections beside those of this load, {each:.2} for each response: something behind the \
         server is connected to anew for nearly each request",
        count(others)
    );
    let remedy = "keep connections to upstreams open (nginx: keepalive in upstream and fastcgi_keep_conn; Go: \
                  MaxIdleConnsPerHost; a pool of connections to the database); otherwise each request pays for a connect, and \
                  local ports may run out (NE-09)"
        .to_owned();
    let figures = [("opened", others as f64), ("opened_per_response", each), ("opened_by_load", mine as f64)];
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter, state};

    /// A Go proxy with 2 idle connections to its upstream did 12,248/s, opened a connection for nearly each, and nothing was said.
    #[test]
    fn a_connection_for_nearly_each_response_is_told() {
        let with = |opened, mine| {
            let mut evidence = clean_run();
            evidence.flow.opened = mine;
            set_counter(&mut evidence, "tcp", "ActiveOpens", opened);
            judged(&RULE, &evidence)
        };
        let found = finding(with(970_000, 0));
        assert!(
            found.message.contains("970,000 connections beside those of this load, 0.97 for each"),
            "{}",
            found.message
        );
        assert!(found.remedy.contains("MaxIdleConnsPerHost"), "{}", found.remedy);
        assert_eq!(state(&with(1_000_000, 1_000_000)), None, "all of them are the load's own");
        assert_eq!(state(&with(499_999, 0)), None, "some of them");
        assert_eq!(state(&with(4_000_001, 0)), None, "another program's");
    }

    #[test]
    fn a_server_that_nobody_looks_at_is_unchecked() {
        let mut evidence = clean_run();
        set_counter(&mut evidence, "tcp", "ActiveOpens", 970_000);
        evidence.observed.as_mut().expect("seen").server = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
