//! ER-10: a page measured uncompressed that browsers are sent compressed.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::bytes;
use model::{Evidence, FindingState, Probe};

/// A body that gets no smaller than this is sent as it is.
const SMALLER: f64 = 0.9;

pub(crate) const RULE: Rule = Rule {
    id: "ER-10",
    title: "uncompressed page measured",
    detects: "A page was measured uncompressed that the server compresses for every browser.",
    fires: &[Fires::note("The server compresses the page to less than 90 % of its size for clients that take gzip.")],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Probe],
    conditions: "a GET of a text of at least 1,400 bytes without an Accept-Encoding of its own, for which the probe \
                 sends one more request",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(probe) = &evidence.probe else {
        return Outcome::UNMET;
    };
    let Some((encoding, compressed, plain)) = smaller(probe) else { return Outcome::Pass };
    let message = format!(
        "the page was sent uncompressed ({}), and every browser is sent it with {encoding} ({}): this measures another \
         server than users have",
        bytes(plain),
        bytes(compressed)
    );
    let remedy = format!("measure what browsers get: -H 'Accept-Encoding: {encoding}'");
    let figures = [("plain_bytes", plain as f64), ("compressed_bytes", compressed as f64)];
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

/// Coding, its size and the size without it; none where the server does not compress, or it makes no difference.
fn smaller(probe: &Probe) -> Option<(&str, u64, u64)> {
    let compressed = probe.compressed.as_ref()?;
    let plain = probe.found()?.size_bytes;
    let is_smaller = (compressed.size_bytes as f64) < SMALLER * plain as f64;
    is_smaller.then_some((compressed.encoding.as_deref()?, compressed.size_bytes, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};
    use model::Coded;

    /// 26,849/s of 29 kB and 5,629/s of 10.7 kB were different servers, of which only `check` had a word.
    #[test]
    fn what_browsers_are_sent_is_noted_where_it_is_smaller() {
        let with = |encoding: Option<&str>, size_bytes: u64| {
            let mut evidence = clean_run();
            let probe = evidence.probe.as_mut().expect("a probe");
            probe.fetches[0].size_bytes = 29_000;
            probe.compressed = Some(Coded { encoding: encoding.map(str::to_owned), size_bytes });
            evidence
        };
        let found = finding(judged(&RULE, &with(Some("gzip"), 10_700)));
        assert_eq!(found.state, FindingState::Note);
        assert!(
            found.message.contains("uncompressed (29.0 kB)") && found.message.contains("gzip (10.7 kB)"),
            "{found:?}"
        );
        assert!(found.remedy.ends_with("-H 'Accept-Encoding: gzip'"), "{found:?}");
        for same in [with(None, 29_000), with(Some("gzip"), 28_000), clean_run()] {
            assert_eq!(judged(&RULE, &same), Outcome::Pass);
        }
        let unprobed = Evidence { probe: None, ..clean_run() };
        assert!(matches!(judged(&RULE, &unprobed), Outcome::Unchecked(_)));
    }
}
