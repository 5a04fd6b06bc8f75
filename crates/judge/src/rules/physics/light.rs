//! PH-05: responses faster than the connect time.

use crate::{Check, Outcome, Rule};
use model::human::time;
use model::{Evidence, FindingState};

const SHARE: f64 = 0.9;
/// Below it connecting is work of the two kernels, not distance.
const DISTANCE_NS: u64 = 1_000_000;

pub(crate) const RULE: Rule = Rule {
    id: "PH-05",
    title: "response faster than the connect time",
    detects: "responses from a cache or proxy on the path, or a wrong clock",
    threshold: "least service time < 0.9 of the least connect time, if that is >= 1 ms (network distance): invalid \
                (plimsoll defaults)",
    data: "connect times of the probe, least service time",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let connects = evidence.probe.iter().flat_map(|probe| &probe.fetches).map(|fetch| fetch.connect_ns);
    let (Some(connect_ns), service) = (connects.min().filter(|ns| *ns > 0), &evidence.latency.service) else {
        return Outcome::Unchecked("connect time unknown");
    };
    if service.n == 0 {
        return Outcome::Unchecked("no service time recorded");
    }
    if connect_ns < DISTANCE_NS || service.min_ns as f64 >= SHARE * connect_ns as f64 {
        return Outcome::Pass;
    }
    let message = format!(
        "the fastest response took {}, but a connect alone takes {}: it did not come from the server",
        time(service.min_ns as f64),
        time(connect_ns as f64)
    );
    let remedy = "find out what answers (cache, proxy), and check this machine's clock".to_owned();
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
        assert!(found.message.starts_with("the fastest response took 2.00 ms, but a connect alone takes 20.0 ms"));
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
