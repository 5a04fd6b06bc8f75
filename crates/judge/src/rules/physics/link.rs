//! PH-03: network link at its speed limit.

use crate::facts::bandwidth::{FULL, NO_BOUND, PathUse, at_server_cpu, links, path};
use crate::facts::kernel::is_one_machine;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{bit_rate, percent};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.95;
/// Counters and window end a little apart.
const INVALID_SHARE: f64 = 1.05;

const MEASURED: &str = "the network was measured, not the server";
const REMEDY: &str = "use a faster link, smaller responses, compression or another client";

pub(crate) const RULE: Rule = Rule {
    id: "PH-03",
    title: "network link saturated",
    detects: "A network link was full, or cannot have carried the responses.",
    fires: &[
        Fires::invalid(
            "An interface of the client carried more than 105 % of its speed in one direction, which is impossible.",
        ),
        Fires::warning(
            "An interface of the client carried more than 95 % of its speed in one direction; or the load carried \
             from 90 % to 125 % of the bandwidth that was probed before it.",
        ),
    ],
    remarks: "In TechEmpower issue #7402 a result had 8 million requests per second beyond its link.",
    applies: Applies::TwoMachines,
    needs: &[
        Need::Window,
        Need::Requests,
        Need::OneOf(
            &[Need::LinkSpeeds, Need::Bandwidth],
            "speed of this machine's interfaces unknown, and no --probe-bandwidth",
        ),
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if is_one_machine(evidence) {
        return Outcome::Pass; // no link between them
    }
    let links = links(evidence);
    let fullest = links.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let path = path(evidence);
    match (fullest, path) {
        (Some((name, share, bit_per_s)), _) if *share > WARNING_SHARE => full(evidence, name, *share, *bit_per_s),
        (_, Some(path)) if (FULL..NO_BOUND).contains(&path.share) => full_path(evidence, path),
        (None, None) => Outcome::Unchecked("neither an interface of known speed nor the probed path carried the load"),
        _ => Outcome::Pass,
    }
}

/// A link whose speed is known.
fn full(evidence: &Evidence, name: &str, share: f64, bit_per_s: f64) -> Outcome {
    let state = if share <= INVALID_SHARE { FindingState::Warning } else { FindingState::Invalid };
    let facts = format!("{name} carried {} of its {}{}", percent(share), bit_rate(bit_per_s), at_server_cpu(evidence));
    let (meaning, remedy) = match state {
        FindingState::Invalid => ("impossible, so bytes or times are wrong", "check this machine's clock (PH-08)"),
        _ => (MEASURED, REMEDY),
    };
    let figures = [("share", share), ("link_bit_per_s", bit_per_s)];
    Outcome::fired(RULE.id, state, format!("{facts}: {meaning}"), remedy.to_owned(), figures)
}

/// A path whose bandwidth was probed.
fn full_path(evidence: &Evidence, PathUse { name, bit_per_s, share }: PathUse) -> Outcome {
    let (share_text, rate, cpu) = (percent(share), bit_rate(bit_per_s), at_server_cpu(evidence));
    let message = format!("the {name} carried {share_text} of the {rate} that were probed before{cpu}: {MEASURED}");
    let figures = [("share", share), ("probed_bit_per_s", bit_per_s)];
    Outcome::fired(RULE.id, FindingState::Warning, message, REMEDY.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, far_away, finding, judged, probed_path, seen_there, set_counter};
    use model::Fingerprint;

    /// A gigabit link to another machine, of which this share is used for 30 s.
    fn remote(share: f64) -> Evidence {
        let mut evidence = clean_run();
        far_away(&mut evidence);
        set_counter(&mut evidence, "nic/eth0", "sent_bytes", 1_000);
        set_counter(&mut evidence, "nic/eth0", "received_bytes", (share * 30.0 * 1e9 / 8.0) as u64);
        let facts = [("speed_mbit_per_s".to_owned(), "1000".to_owned())].into();
        evidence.fingerprint =
            Some(Fingerprint { facts: [("nic/eth0".to_owned(), facts)].into(), ..Fingerprint::default() });
        evidence
    }

    #[test]
    fn a_full_link_warns_and_more_than_full_is_impossible() {
        assert_eq!(judged(&RULE, &remote(0.9)), Outcome::Pass);
        let found = finding(judged(&RULE, &remote(0.97)));
        assert_eq!(found.state, FindingState::Warning);
        assert_eq!(found.message, "eth0 carried 97 % of its 1.00 Gbit/s: the network was measured, not the server");
        assert_eq!(finding(judged(&RULE, &remote(1.2))).state, FindingState::Invalid);
    }

    #[test]
    fn a_probed_path_that_is_full_warns_with_the_cpus_of_the_server_beside_it() {
        let load = |share: f64| {
            let mut evidence = clean_run();
            seen_there(&mut evidence);
            evidence.fingerprint = None;
            evidence.bandwidth = Some(probed_path(1_000_000_000));
            evidence.flow.bytes_received = (share * 30.0 * 1e9 / 8.0) as u64;
            evidence
        };
        let found = finding(judged(&RULE, &load(0.97)));
        assert_eq!(found.state, FindingState::Warning);
        let told = "the path from the server carried 97 % of the 1.00 Gbit/s that were probed before at 50 % server CPU: the \
                    network was measured, not the server";
        assert_eq!(found.message, told);
        assert_eq!(judged(&RULE, &load(0.89)), Outcome::Pass);
        assert_eq!(judged(&RULE, &load(1.3)), Outcome::Pass, "the probe was no bound");
        let Outcome::Unchecked(why) = judged(&RULE, &Evidence { bandwidth: None, ..load(0.97) }) else {
            panic!("not known")
        };
        assert!(why.contains("--probe-bandwidth"), "{why}");
    }

    #[test]
    fn loopback_has_no_link_and_an_unknown_speed_is_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        let mut evidence = remote(0.97);
        evidence.fingerprint = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
