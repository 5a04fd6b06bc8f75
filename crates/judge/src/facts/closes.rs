//! Connections that end before the load does: whether this client ends them, and how the server does without a word.

use crate::facts::failures_named;
use model::Evidence;
use model::human::count;

/// Fewer say nothing.
const COUNT_MIN: u64 = 10;
/// So many times more connections lost their request than there were responses: they were closed before they had any.
const TURNED_AWAY: u64 = 2;
/// A connection that serves more than this has no setting of so many.
const SERVED_MAX: f64 = 100_000.0;

/// True if this client ends connections by its plan: those that it opens in their place are not held against the server.
/// A further reason to end them belongs here, so that no rule has to hear of it.
pub(crate) const fn closes_are_ours(evidence: &Evidence) -> bool {
    !evidence.plan.keepalive
}

/// How the server ends connections that it has told the probe to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closes {
    /// Most of those that were opened, before they served anything.
    AtOnce,
    /// Behind nearly each response.
    BehindEach,
    /// After so many responses on average.
    After(u64),
}

impl Closes {
    /// None if it does not, says so before, or the reason is another.
    pub(crate) fn of(evidence: &Evidence) -> Option<Self> {
        let kept = evidence.probe.as_ref().is_some_and(|probe| probe.fetches.iter().all(|fetch| fetch.keepalive));
        let lost: u64 =
            [".closed", ".reset"].iter().flat_map(|end| failures_named(evidence, end)).map(|(_, n)| n).sum();
        let (opened, completed) = (evidence.flow.opened, evidence.flow.completed);
        if !kept || closes_are_ours(evidence) || completed == 0 || opened < COUNT_MIN || lost < COUNT_MIN {
            return None;
        }
        // A connection that is closed behind a response loses one request at most, and has served one.
        if lost >= TURNED_AWAY * completed {
            return Some(Self::AtOnce);
        }
        if 2 * opened >= completed {
            return Some(Self::BehindEach);
        }
        // Those that were lost are most of those that were opened: it is the server's way, and no accident.
        let served = completed as f64 / opened as f64;
        (2 * lost >= opened && served <= SERVED_MAX).then_some(Self::After(served.round() as u64))
    }

    /// What to do.
    pub(crate) fn remedy(self) -> String {
        let unannounced = "without `Connection: close` (RFC 9112 section 9.6)";
        match self {
            Self::AtOnce => {
                "the server closes most new connections before they have served a request: raise its limit of \
                             connections (worker_connections, of which a proxy needs two for each client; \
                             MaxRequestWorkers; open files), or use fewer connections (-c)"
                    .to_owned()
            }
            Self::BehindEach => format!(
                "the server closes connections behind its responses {unannounced}: let it announce that or keep them open, \
                 or measure with --no-keepalive"
            ),
            Self::After(served) => format!(
                "the server ends connections after {} responses on average {unannounced}: where it has a limit of \
                 requests for each connection, let it announce that, or raise it (keepalive_requests, \
                 MaxKeepAliveRequests); where it has none, its log may tell which requests it breaks off",
                count(served)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, tls};
    use model::TlsSession;

    fn seen(failure: &str, lost: u64, opened: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.fail(failure, lost);
        evidence.flow.opened = opened;
        evidence
    }

    #[test]
    fn how_much_a_connection_has_served_decides() {
        let of = |failure: &str, lost: u64, opened: u64| Closes::of(&seen(failure, lost, opened));
        assert_eq!(of("first_byte.closed", 860_000, 860_000), Some(Closes::AtOnce));
        assert_eq!(of("first_byte.reset", 400_000, 600_000), Some(Closes::BehindEach));
        assert_eq!(of("first_byte.closed", 9_000, 9_910), Some(Closes::After(100)));
        assert_eq!(
            of("first_byte.closed", 300, 9_910),
            None,
            "most were closed between two requests, which loses none"
        );
        assert_eq!(of("first_byte.timeout", 9_000, 9_910), None);
        assert_eq!(of("first_byte.closed", 9, 9), None, "a handful");
        let mut announced = seen("first_byte.closed", 860_000, 860_000);
        announced.probe.as_mut().expect("a probe").fetches[0].keepalive = false;
        assert_eq!(Closes::of(&announced), None);
    }

    #[test]
    fn connections_that_this_client_ends_are_not_held_against_the_server() {
        let mut evidence = seen("first_byte.closed", 500_000, 900_000);
        evidence.plan.tls = Some(tls());
        evidence.tls = Some(TlsSession { resumed: 900_000, ..TlsSession::default() });
        let of_kept_connections = |evidence: &Evidence| {
            let findings = crate::judge_run(evidence).findings;
            findings
                .into_iter()
                .map(|found| found.rule)
                .filter(|rule| ["ER-09", "CL-17"].contains(&rule.as_str()))
                .count()
        };
        assert_eq!((of_kept_connections(&evidence), Closes::of(&evidence)), (2, Some(Closes::BehindEach)));
        evidence.plan.keepalive = false;
        assert!(closes_are_ours(&evidence));
        assert_eq!((of_kept_connections(&evidence), Closes::of(&evidence)), (0, None));
    }
}
