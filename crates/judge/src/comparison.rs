//! Judging a comparison: the rules of a run over each variant at each load, and what the comparison as a whole has.
//!
//! What others on the machine took was taken from all variants of a block alike, or the block was measured again: it widens
//! the intervals, and is told as a warning. Windows are short, as there are many of them. All else that makes the number
//! of one variant invalid or a bound makes the ratio so.

use crate::{Check, Outcome, Rule, rules, state_of, verdict};
use model::human::{percent, plural};
use model::{CompareLoad, DISTURBANCE_RULES, Evidence, Finding, FindingState, Verdict};
use stats::RUNS_MIN;

/// Windows that are short: that the ratio rests on too few of them is told by its interval.
const TOO_SHORT: &str = "LD-04";
/// Blocks that are too few.
pub(crate) const FEW_UNITS: &str = "ST-06";
/// Blocks in which the machine was another.
const OUTLIER: &str = "ST-07";
/// Client and server on the same CPUs, as those of a duet on a machine of two CPUs are: alike in both variants.
const SHARED_CPUS: &str = "LD-08";
/// Variants that are not alike in what they answer.
const LIKE_WITH_LIKE: &str = "CP-01";

/// One variant at one load.
#[derive(Clone, Copy, Debug)]
pub struct ComparedLoad<'a> {
    /// Name of the variant.
    pub arm: &'a str,
    /// True if it is the baseline.
    pub is_baseline: bool,
    /// Load.
    pub load: CompareLoad,
    /// All trials that count, merged; of a search for the capacity the load at its lower end.
    pub evidence: &'a Evidence,
}

/// What is claimed of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonClaim<'a> {
    /// All variants at all loads.
    pub loads: &'a [ComparedLoad<'a>],
    /// Blocks that count.
    pub blocks: u64,
    /// Blocks that do not count, as one variant was disturbed more than the others.
    pub repeated: u64,
    /// Those that count and know what the canary cost.
    pub canaries: u64,
    /// Blocks, from 1, in which the canary was far from the others.
    pub deviating: &'a [u64],
    /// Blocks that count although one variant was disturbed more than the others each time they were measured.
    pub uneven: u64,
    /// In what the responses of the variants differ; none when they are alike.
    pub responses_differ: Option<&'a str>,
    /// True if both variants were measured at the same time.
    pub is_duet: bool,
}

/// Judges a comparison.
#[must_use]
pub fn judge_comparison(claim: &ComparisonClaim<'_>) -> Verdict {
    let of_rules = rules().iter().map(|rule| {
        let outcome = match rule.id {
            FEW_UNITS if claim.blocks == 0 => no_block(claim),
            FEW_UNITS => few_blocks(claim.blocks, &advice_on_blocks(claim)),
            OUTLIER => canaries(claim),
            _ => of_loads(claim, rule),
        };
        (rule.id, outcome)
    });
    verdict(of_rules.chain([(LIKE_WITH_LIKE, alike(claim))]))
}

/// The worst that a rule of a run says of any variant at any load.
fn of_loads(claim: &ComparisonClaim<'_>, rule: &Rule) -> Outcome {
    if matches!(rule.check, Check::Sweep(_)) {
        return Outcome::Pass;
    }
    let outcomes: Vec<(&ComparedLoad<'_>, Outcome)> =
        claim.loads.iter().filter_map(|load| Some((load, rule.judge_load(load.evidence)?))).collect();
    let unchecked = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Unchecked(why) => Some(*why),
        Outcome::Pass | Outcome::Fired(_) => None,
    });
    let fired = outcomes.into_iter().filter_map(|(load, outcome)| match outcome {
        Outcome::Fired(finding) => Some((load, weighed(load.load, finding, claim.is_duet))),
        Outcome::Pass | Outcome::Unchecked(_) => None,
    });
    // The first of the worst: of the baseline, if it is as bad as any.
    let worst = fired.reduce(|worst, next| if next.1.state > worst.1.state { next } else { worst });
    match (worst, unchecked) {
        (Some((load, finding)), _) => Outcome::Fired(told(load, finding)),
        (None, Some(why)) => Outcome::Unchecked(why),
        (None, None) if claim.loads.is_empty() => Outcome::Unchecked("no block is complete"),
        (None, None) => Outcome::Pass,
    }
}

/// Of the verdict on all trials of a variant at a load, as a run by itself, what it says in a comparison.
#[must_use]
pub fn verdict_in_comparison(load: CompareLoad, verdict: &Verdict, is_duet: bool) -> Verdict {
    let findings: Vec<Finding> =
        verdict.findings.iter().map(|finding| weighed(load, finding.clone(), is_duet)).collect();
    Verdict { state: state_of(&findings), findings, ..verdict.clone() }
}

/// Of the verdict on a run, what it says as a step of an experiment: that claims goodput, mean response time and CPU time, over
/// its repetitions. Quantiles that a window is too short for are not shown.
#[must_use]
pub fn verdict_in_experiment(verdict: &Verdict) -> Verdict {
    let weighed = |finding: &Finding| match (finding.rule.as_str(), finding.state) {
        (TOO_SHORT, FindingState::Bound) => Finding { state: FindingState::Warning, ..finding.clone() },
        _ => finding.clone(),
    };
    let findings: Vec<Finding> = verdict.findings.iter().map(weighed).collect();
    Verdict { state: state_of(&findings), findings, ..verdict.clone() }
}

fn weighed(load: CompareLoad, finding: Finding, is_duet: bool) -> Finding {
    let most = match finding.rule.as_str() {
        // It held in spite of that: what a load may not do is in the goal.
        rule if load == CompareLoad::Capacity && rule != TOO_SHORT => FindingState::Warning,
        // Quantiles that a window is too short for are told as not compared.
        TOO_SHORT if finding.state < FindingState::Invalid => FindingState::Note,
        TOO_SHORT => FindingState::Warning,
        rule if DISTURBANCE_RULES.contains(&rule) => FindingState::Warning,
        SHARED_CPUS if is_duet => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    Finding { state: finding.state.min(most), ..finding }
}

/// A finding with the variant and the load that it is about. Notes are about the set-up, whatever the variant.
fn told(load: &ComparedLoad<'_>, finding: Finding) -> Finding {
    if finding.state == FindingState::Note {
        return finding;
    }
    let whose = if load.is_baseline { "baseline " } else { "" };
    let message = format!("{whose}'{}', {}: {}", load.arm, load.load.words(), finding.message);
    Finding { message, ..finding }
}

/// A comparison without a whole block says nothing, whatever its loads say of themselves.
fn no_block(claim: &ComparisonClaim<'_>) -> Outcome {
    let message = "no whole block was measured that counts, so nothing was compared".to_owned();
    let remedy = advice_on_blocks(claim);
    Outcome::fired(FEW_UNITS, FindingState::Invalid, message, remedy, [("blocks", 0.0)])
}

/// How to get more blocks that count.
fn advice_on_blocks(claim: &ComparisonClaim<'_>) -> String {
    let more = format!("measure at least {RUNS_MIN} blocks (--budget, --blocks)");
    match claim.repeated {
        0 => more,
        n => format!(
            "end what disturbs this machine: {} not count, as one variant was disturbed more than another; or {more}",
            if n == 1 { "1 block does".to_owned() } else { format!("{n} blocks do") }
        ),
    }
}

/// Too few blocks for an interval, with what to do.
pub(crate) fn few_blocks(blocks: u64, remedy: &str) -> Outcome {
    if blocks >= RUNS_MIN as u64 {
        return Outcome::Pass;
    }
    let message = format!("{} count: too few for a confidence interval", plural(blocks, "block"));
    Outcome::fired(FEW_UNITS, FindingState::Note, message, remedy.to_owned(), [("blocks", blocks as f64)])
}

/// Blocks on a machine that was another, and those that stayed disturbed unevenly.
fn canaries(claim: &ComparisonClaim<'_>) -> Outcome {
    if claim.deviating.is_empty() && claim.uneven == 0 {
        return match claim.canaries {
            0 => Outcome::Unchecked("no canary whose CPU time is known"),
            few if few < RUNS_MIN as u64 => Outcome::Unchecked("fewer than 6 canaries"),
            _ => Outcome::Pass,
        };
    }
    let numbers: Vec<String> = claim.deviating.iter().map(u64::to_string).collect();
    let mut said = Vec::new();
    if !numbers.is_empty() {
        let which = if numbers.len() == 1 { "block" } else { "blocks" };
        said.push(format!(
            "in {which} {} the canary cost another CPU time: the machine was slower or faster",
            numbers.join(", ")
        ));
    }
    if claim.uneven > 0 {
        said.push(format!(
            "{} stayed disturbed more in one variant than in another however often measured, and count as they are",
            plural(claim.uneven, "block")
        ));
    }
    let remedy = "see what else runs on this machine, and compare again when it is quieter".to_owned();
    let figures = [("deviating_blocks", numbers.len() as f64), ("uneven_blocks", claim.uneven as f64)];
    Outcome::fired(OUTLIER, FindingState::Warning, said.join("; "), remedy, figures)
}

fn alike(claim: &ComparisonClaim<'_>) -> Outcome {
    let Some(differ) = claim.responses_differ else { return Outcome::Pass };
    let message = format!("the variants do not answer alike ({differ}): the difference may be that of the responses");
    let remedy = "make them answer the same, or say with the result that they do not".to_owned();
    Outcome::fired(LIKE_WITH_LIKE, FindingState::Warning, message, remedy, [])
}

/// Response contracts of two variants in words, if they differ by more than a page that changes may; `(status, size)` of
/// each, of the baseline first.
#[must_use]
pub fn responses_differ(
    baseline: (Option<u16>, Option<model::SizeBand>),
    variant: (Option<u16>, Option<model::SizeBand>),
) -> Option<String> {
    if let (Some(one), Some(other)) = (baseline.0, variant.0)
        && one != other
    {
        return Some(format!("status {one} and {other}"));
    }
    let (one, other) = (baseline.1?, variant.1?);
    // Sizes may differ by a counter or a date in the page.
    let apart = |low: u64, high: u64| high as f64 > low as f64 * (1.0 + SIZE_OFF);
    let differ = apart(one.max, other.min) || apart(other.max, one.min);
    differ.then(|| {
        let larger = other.max.max(one.max) as f64;
        let off = (one.max.abs_diff(other.max)) as f64 / larger.max(1.0);
        format!("bodies of {} and {} bytes, {} apart", one.max, other.max, percent(off))
    })
}

/// Share by which sizes of bodies may differ.
const SIZE_OFF: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge_run;
    use crate::testing::{Mutate, clean_open_run, clean_run, machine};
    use model::{SizeBand, VerdictState};

    /// As merged trials are.
    fn trials() -> Evidence {
        Evidence { iterations: 6, ..clean_open_run() }
    }

    fn judged(baseline: &Evidence, variant: &Evidence) -> Verdict {
        let load = |arm, is_baseline, evidence| ComparedLoad { arm, is_baseline, load: CompareLoad::Fixed, evidence };
        let loads = [load("a", true, baseline), load("b", false, variant)];
        judge_comparison(&claim(&loads))
    }

    fn claim<'a>(loads: &'a [ComparedLoad<'a>]) -> ComparisonClaim<'a> {
        let (deviating, uneven, responses_differ, is_duet) = (&[][..], 0, None, false);
        ComparisonClaim { loads, blocks: 6, repeated: 0, canaries: 6, deviating, uneven, responses_differ, is_duet }
    }

    #[track_caller]
    fn finding<'a>(verdict: &'a Verdict, rule: &str) -> &'a Finding {
        let found = verdict.findings.iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("{rule} did not fire: {verdict:#?}"))
    }

    #[test]
    fn clean_variants_make_a_valid_comparison() {
        let verdict = judged(&trials(), &trials());
        assert_eq!(verdict.state, VerdictState::Valid, "{verdict:#?}");
        assert!(verdict.findings.iter().all(|finding| finding.state == FindingState::Note), "{verdict:#?}");
    }

    /// 8 s of a page that takes 90 ms, in each of 6 blocks: the row was a bound, and none of its figures.
    #[test]
    fn a_quantile_that_is_not_shown_makes_no_bound_of_a_step() {
        let mut slow = clean_run();
        slow.latency.response.n = 90;
        let of_run = judge_run(&slow);
        assert_eq!((of_run.state, finding(&of_run, "LD-04").state), (VerdictState::Bound, FindingState::Bound));
        let of_step = verdict_in_experiment(&of_run);
        let told = finding(&of_step, "LD-04");
        assert_eq!((of_step.state, told.state), (VerdictState::Valid, FindingState::Warning), "{of_step:#?}");
        assert_eq!(told.evidence, finding(&of_run, "LD-04").evidence, "they say which quantiles are not shown");
        slow.measured_ns = 1_000_000_000;
        assert_eq!(verdict_in_experiment(&judge_run(&slow)).state, VerdictState::Invalid, "one second is none");
    }

    #[test]
    fn a_variant_with_wrong_answers_is_named_and_makes_the_comparison_invalid() {
        let mut wrong = trials();
        wrong.fail("contract.status", 200_000);
        let verdict = judged(&trials(), &wrong);
        assert_eq!(verdict.state, VerdictState::Invalid);
        assert!(finding(&verdict, "ER-01").message.starts_with("'b', fixed load: "), "{verdict:#?}");
        let verdict = judged(&wrong, &trials());
        assert!(finding(&verdict, "ER-01").message.starts_with("baseline 'a', fixed load: "), "{verdict:#?}");
    }

    #[test]
    fn cpus_that_client_and_server_share_are_a_bound_except_in_a_duet() {
        let mut shared = trials();
        shared.plan.cpus = vec![0, 1];
        machine(&mut shared).cpu_busy_mean = vec![0.95, 0.9];
        let load = |arm, is_baseline| ComparedLoad { arm, is_baseline, load: CompareLoad::Fixed, evidence: &shared };
        let loads = [load("a", true), load("b", false)];
        for (is_duet, state) in [(false, FindingState::Bound), (true, FindingState::Warning)] {
            let verdict = judge_comparison(&ComparisonClaim { is_duet, ..claim(&loads) });
            assert_eq!(finding(&verdict, "LD-08").state, state, "{verdict:#?}");
        }
    }

    #[test]
    fn short_windows_are_a_warning_at_most() {
        let short = Evidence { measured_ns: 2_000_000_000, ..trials() };
        let verdict = judged(&short, &short);
        assert_eq!((finding(&verdict, "LD-04").state, verdict.state), (FindingState::Warning, VerdictState::Valid));
    }

    #[test]
    fn what_ails_a_load_that_held_makes_no_capacity_invalid() {
        let mut wrong = trials();
        wrong.fail("contract.status", 200_000);
        let load = |load| ComparedLoad { arm: "a", is_baseline: true, load, evidence: &wrong };
        let state = |of| judge_comparison(&claim(&[load(of)])).state;
        assert_eq!(
            (state(CompareLoad::Saturated), state(CompareLoad::Capacity)),
            (VerdictState::Invalid, VerdictState::Valid)
        );
    }

    #[test]
    fn a_machine_that_was_suspended_between_two_blocks_is_told() {
        let suspended = model::Change {
            section: "clock".to_owned(),
            name: "suspended".to_owned(),
            before: String::new(),
            after: "2 h 0 min".to_owned(),
        };
        let woken = Evidence { changes: Some(vec![suspended]), ..trials() };
        let verdict = judged(&woken, &woken);
        let told = verdict.findings.iter().find(|finding| finding.message.contains("suspended"));
        assert!(told.is_some_and(|finding| finding.state >= FindingState::Warning), "{verdict:#?}");
    }

    #[test]
    fn few_blocks_other_machines_and_other_answers_are_told() {
        let trials = trials();
        let loads = [ComparedLoad { arm: "a", is_baseline: true, load: CompareLoad::Fixed, evidence: &trials }];
        let verdict = judge_comparison(&ComparisonClaim {
            blocks: 3,
            repeated: 2,
            deviating: &[2, 3],
            uneven: 1,
            responses_differ: Some("bodies of 10 and 100 bytes"),
            ..claim(&loads)
        });
        let few = finding(&verdict, "ST-06");
        assert!(few.message.starts_with("3 blocks count: too few"));
        assert!(few.remedy.starts_with("end what disturbs this machine: 2 blocks do not count"), "{}", few.remedy);
        let outlier = finding(&verdict, "ST-07");
        assert_eq!(outlier.state, FindingState::Warning);
        assert!(outlier.message.starts_with("in blocks 2, 3 the canary") && outlier.message.contains("1 block stayed"));
        assert!(finding(&verdict, "CP-01").message.contains("(bodies of 10 and 100 bytes)"));
        assert_eq!(verdict.state, VerdictState::Valid);
    }

    #[test]
    fn a_machine_that_no_canary_watched_is_not_said_to_have_stayed_the_same() {
        let trials = trials();
        let loads = [ComparedLoad { arm: "a", is_baseline: true, load: CompareLoad::Fixed, evidence: &trials }];
        let judged = |canaries, uneven| judge_comparison(&ComparisonClaim { canaries, uneven, ..claim(&loads) });
        let why = |canaries| judged(canaries, 0).unchecked_why.get("ST-07").cloned();
        assert_eq!(why(0).as_deref(), Some("no canary whose CPU time is known"));
        assert_eq!(why(5).as_deref(), Some("fewer than 6 canaries"));
        assert_eq!(why(6), None);
        assert!(finding(&judged(0, 1), "ST-07").message.starts_with("1 block stayed"), "what is known is told");
    }

    #[test]
    fn without_a_complete_block_nothing_was_checked() {
        let verdict = judge_comparison(&ComparisonClaim { blocks: 0, ..claim(&[]) });
        assert!(verdict.unchecked.contains(&"CL-01".to_owned()), "{verdict:#?}");
    }

    #[test]
    fn a_comparison_without_a_block_that_counts_was_said_to_be_valid() {
        let trials = trials();
        let loads = [ComparedLoad { arm: "a", is_baseline: true, load: CompareLoad::Fixed, evidence: &trials }];
        let state = |blocks| judge_comparison(&ComparisonClaim { blocks, ..claim(&loads) }).state;
        assert_eq!((state(0), state(1)), (VerdictState::Invalid, VerdictState::Valid));
        let verdict = judge_comparison(&ComparisonClaim { blocks: 0, ..claim(&[]) });
        assert!(finding(&verdict, "ST-06").message.contains("nothing was compared"), "{verdict:#?}");
    }

    #[test]
    fn responses_are_alike_within_what_a_page_may_change() {
        let band = |min, max| Some(SizeBand { min, max });
        let differ = |a, b| responses_differ(a, b);
        assert_eq!(differ((Some(200), band(100, 100)), (Some(200), band(104, 104))), None);
        assert_eq!(differ((Some(200), band(90, 130)), (Some(200), band(120, 200))), None, "they overlap");
        assert_eq!(differ((Some(200), None), (Some(200), band(1, 1))), None, "not known");
        assert_eq!(differ((Some(200), None), (Some(302), None)).as_deref(), Some("status 200 and 302"));
        let sizes = differ((Some(200), band(1_000, 1_000)), (Some(200), band(250, 250)));
        assert_eq!(sizes.as_deref(), Some("bodies of 1000 and 250 bytes, 75 % apart"));
        assert!(differ((Some(200), band(0, 0)), (Some(200), band(10, 10))).is_some());
    }
}
