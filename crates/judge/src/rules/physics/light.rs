//! PH-05: did answers come faster than the way there and back takes?

use crate::{Check, Outcome, Rule};
use model::human::time;
use model::{Evidence, FindingState};

const SHARE: f64 = 0.9;
/// Below it connecting is work of the two kernels, not distance.
const DISTANCE_NS: u64 = 1_000_000;

pub(crate) const RULE: Rule = Rule {
    id: "PH-05",
    title: "faster than the way",
    detects: "answers that came sooner than a connection can be opened: a cache or proxy on the way, or a broken clock",
    threshold: "least response time < 0.9 of the least time to connect, where that is 1 ms or more and so a matter \
                of distance: invalid (own thresholds)",
    data: "the probe's times to connect, least response time",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let connects = evidence.probe.iter().flat_map(|probe| &probe.fetches).map(|fetch| fetch.connect_ns);
    let (Some(connect_ns), service) = (connects.min().filter(|ns| *ns > 0), &evidence.latency.service) else {
        return Outcome::Unchecked("the time to connect is not known");
    };
    if service.n == 0 {
        return Outcome::Unchecked("no service time was recorded");
    }
    if connect_ns < DISTANCE_NS || service.min_ns as f64 >= SHARE * connect_ns as f64 {
        return Outcome::Pass;
    }
    let message = format!(
        "an answer came after {}, but only opening a connection takes {}: it did not come from the server",
        time(service.min_ns as f64),
        time(connect_ns as f64)
    );
    let remedy = "find out who answers on the way (a cache, a proxy), and look at the clock of this machine".to_owned();
    let figures = [("min_ns", service.min_ns as f64), ("connect_ns", connect_ns as f64)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding};

    fn far(connect_ns: u64, min_ns: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.probe.as_mut().expect("a probe").fetches[0].connect_ns = connect_ns;
        evidence.latency.service.min_ns = min_ns;
        evidence
    }

    #[test]
    fn an_answer_from_nearer_than_the_server_invalidates() {
        let found = finding(check(&far(20_000_000, 2_000_000)));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("an answer came after 2.00 ms, but only opening a connection takes 20.0 ms"));
        assert_eq!(check(&far(20_000_000, 19_000_000)), Outcome::Pass);
    }

    #[test]
    fn nearby_connecting_is_work_and_unknown_is_unchecked() {
        assert_eq!(check(&far(300_000, 50_000)), Outcome::Pass);
        let mut evidence = far(20_000_000, 2_000_000);
        evidence.latency.service.n = 0;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        evidence.probe = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
