//! PH-05: responses faster than the connect time.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::time;
use model::{Evidence, FindingState};

const SHARE: f64 = 0.9;
/// Below it connecting is work of the two kernels, not distance.
const DISTANCE_NS: u64 = 1_000_000;

pub(crate) const RULE: Rule = Rule {
    id: "PH-05",
    title: "response faster than the connect time",
    detects: "Responses came from a cache or proxy on the path, or a clock is wrong.",
    fires: &[Fires::invalid(
        "The fastest response took less than 90 % of the least connect time, from which the spread of the \
             connect times is taken off first.",
    )],
    remarks: "It counts where at least 1 ms of the connect time is left: less is work of the two kernels, and no \
              network distance.",
    applies: Applies::Always,
    needs: &[Need::ConnectTimes, Need::ServiceTimes],
    conditions: "a load from the machine of the probe",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !evidence.agents.is_empty() {
        return Outcome::Unchecked("probe made by another machine than the load");
    }
    let connects = evidence.probe.iter().flat_map(|probe| &probe.fetches).map(|fetch| fetch.connect_ns);
    let (Some(least_ns), Some(most_ns)) = (connects.clone().min().filter(|ns| *ns > 0), connects.max()) else {
        return Outcome::UNMET;
    };
    // The few connects of a probe are as far from the least time of a path as from each other.
    let (connect_ns, service) = (least_ns.saturating_sub(most_ns - least_ns), &evidence.latency.service);
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
    use crate::testing::{clean_run, finding, judged};

    fn far(connect_ns: u64, min_ns: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.probe.as_mut().expect("a probe").fetches[0].connect_ns = connect_ns;
        evidence.latency.service.min_ns = min_ns;
        evidence
    }

    #[test]
    fn an_answer_from_nearer_than_the_server_invalidates() {
        let found = finding(judged(&RULE, &far(20_000_000, 2_000_000)));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("the fastest response took 2.00 ms, but a connect alone takes 20.0 ms"));
        assert_eq!(judged(&RULE, &far(20_000_000, 19_000_000)), Outcome::Pass);
    }

    fn agent() -> model::AgentRecord {
        model::AgentRecord::begun(&model::AgentStart {
            source: model::SourceId(1),
            name: "ssh://load1".into(),
            host: "load1".into(),
            cpus: 2,
            threads: 2,
            established: 8,
            offset_ns: 0,
            offset_error_ns: 0,
            round_trip_ns: None,
            late_ns: 0,
        })
    }

    /// Connects of 4.8, 6.1 and 9.0 ms, and 3.4 ms for the fastest of thousands of responses.
    #[test]
    fn a_path_whose_times_vary_is_no_cache_and_that_of_agents_is_not_known() {
        let mut evidence = far(4_800_000, 3_400_000);
        let probe = evidence.probe.as_mut().expect("a probe");
        let more = [6_100_000, 9_000_000].map(|connect_ns| model::Fetch { connect_ns, ..probe.fetches[0].clone() });
        probe.fetches.truncate(1);
        probe.fetches.extend(more);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        let mut elsewhere = far(20_000_000, 300_000);
        elsewhere.agents = vec![agent()];
        assert!(matches!(judged(&RULE, &elsewhere), Outcome::Unchecked(_)));
    }

    #[test]
    fn nearby_connecting_is_work_and_unknown_is_unchecked() {
        assert_eq!(judged(&RULE, &far(300_000, 50_000)), Outcome::Pass);
        let mut evidence = far(20_000_000, 2_000_000);
        evidence.latency.service.n = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.probe = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
