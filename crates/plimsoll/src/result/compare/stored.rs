//! Runs that were measured before, one after the other, held against each other.
//!
//! Nothing is known of what varies from run to run but what each has within itself. So the interval of a ratio is as wide
//! as the intervals of both runs allow, and a variant is called better or worse where even they decide; never the same.

use super::{bounds, conditions, trial_values, withhold};
use crate::coordinate::compare::Open;
use evidence::factors::{self, of_run};
use judge::{Outcome, responses_differ, verdict};
use model::human::plural;
use model::{
    ArmLoadRecord, ArmRecord, Call, Change, CompareEnd, CompareLoad, CompareMetric, CompareRecord, Environment,
    Estimate, FORMAT_COMPARE, FindingState, MetricRecord, RunRecord, VerdictState,
};
use stats::call;
use std::collections::{BTreeMap, BTreeSet};

/// Differences that are told one by one; of more the number.
const TOLD_MAX: usize = 5;
/// Sections of a fingerprint that say what machine and server are, and not how they felt at the time.
const SECTIONS: [&str; 3] = ["cpu", "memory", "sysctl"];

/// Factors that the environment tells more of, and what is compared.
const TOLD_ELSEWHERE: [&str; 3] = ["target", "host", "CPU"];

/// Makes the record; each run has its name and its directory, the baseline first.
///
/// # Errors
/// One line, when they may not be compared.
pub(crate) fn stored_comparison(
    runs: Vec<(String, String, RunRecord)>,
    margin: f64,
    fail_if: &[String],
) -> Result<CompareRecord, String> {
    let (_, _, baseline) = runs.first().ok_or("there is no run")?;
    for (_, label, run) in &runs[1..] {
        if let Some(unlike) = unlike(baseline, run) {
            return Err(format!(
                "{label} may not be compared with {} (CP-01): {unlike}; measure both with the same load, or side by side",
                runs[0].1
            ));
        }
    }
    let arms: Vec<ArmRecord> = runs.iter().map(|(name, label, run)| arm(name, label, run, baseline)).collect();
    let verdict = verdict([("CP-03", one_factor(&arms)), ("CP-10", unequal_success(&runs))].into_iter());
    let mut metrics: Vec<MetricRecord> = CompareLoad::Stored
        .metrics()
        .iter()
        .flat_map(|metric| runs[1..].iter().filter_map(|variant| of_metric(*metric, &runs[0], variant, margin)))
        .collect();
    let mut conditions = conditions(fail_if, &[CompareLoad::Stored], &arms, &metrics)?;
    if verdict.state == VerdictState::Invalid {
        withhold(&mut metrics, &mut conditions);
    }
    Ok(CompareRecord {
        format: FORMAT_COMPARE.into(),
        verdict,
        sent_in_all: None,
        conditions,
        metrics,
        positions: Vec::new(),
        aa_floor: Vec::new(),
        aa_floor_basis: "not known: single runs say nothing of what varies from run to run".to_owned(),
        ended: CompareEnd::Stored,
        reason: CompareEnd::Stored.words().to_owned(),
        blocks: Vec::new(),
        trials: Vec::new(),
        profiles: Vec::new(),
        unavailable: BTreeMap::new(),
        plan: None,
        margin,
        spent_ns: 0,
        environment: Environment::clone(&baseline.environment),
        started: runs.iter().map(|(.., run)| run.started.clone()).max().unwrap_or_default(),
        interrupted: false,
        agent_lost: None,
        runs: runs
            .iter()
            .map(|(name, _, run)| ArmLoadRecord { arm: name.clone(), load: CompareLoad::Stored, run: run.clone() })
            .collect(),
        arms,
    })
}

/// In what two runs differ that has to be alike for a ratio to mean anything; none when they are.
fn unlike(baseline: &RunRecord, run: &RunRecord) -> Option<String> {
    if let Some((name, one, other)) = factors::unlike(&of_run(baseline), &of_run(run)) {
        return Some(format!("another {name} ({one}, not {other})"));
    }
    let contract =
        |run: &RunRecord| run.plan.requests.first().map(|one| (one.contract.status, one.contract.size_bytes));
    let differ = responses_differ(contract(baseline)?, contract(run)?)?;
    Some(format!("another response ({differ})"))
}

fn arm(name: &str, label: &str, run: &RunRecord, baseline: &RunRecord) -> ArmRecord {
    let contract = run.plan.requests.first().map(|request| &request.contract);
    ArmRecord {
        name: name.to_owned(),
        target: label.to_owned(),
        served: run.environment.served.clone(),
        status: contract.and_then(|contract| contract.status),
        size_bytes: contract.and_then(|contract| contract.size_bytes),
        pilot_per_s: None,
        differences: differences(&baseline.environment, &run.environment)
            .into_iter()
            .chain(of_load(baseline, run))
            .collect(),
    }
}

/// In what machine, server and client of two runs differ, as far as their fingerprints tell.
fn differences(baseline: &Environment, other: &Environment) -> Vec<Change> {
    let own = |environment: &Environment| {
        let served = environment.served.as_ref();
        let text = |of: fn(&model::Served) -> &str| served.map_or("", of).to_owned();
        [
            ("server", "label", text(|served| &served.label)),
            ("server", "program_sha256", text(|served| &served.program_sha256)),
            ("machine", "host", environment.host.clone()),
            ("machine", "cpu_model", environment.cpu_model.clone()),
            ("machine", "kernel", environment.kernel.clone()),
            ("machine", "cpus", environment.cpus.to_string()),
            ("client", "plimsoll", environment.plimsoll.clone()),
        ]
        .map(|(section, name, value)| ((section.to_owned(), name.to_owned()), value))
    };
    let facts = |environment: &Environment| -> BTreeMap<(String, String), String> {
        let sections = environment.fingerprint.iter().flat_map(|fingerprint| &fingerprint.facts);
        let told =
            sections.filter(|(section, _)| SECTIONS.contains(&section.as_str()) || section.starts_with("program/"));
        told.flat_map(|(section, facts)| {
            facts.iter().map(move |(name, value)| ((section.clone(), name.clone()), value.clone()))
        })
        .chain(own(environment))
        .collect()
    };
    let (before, after) = (facts(baseline), facts(other));
    let keys: BTreeSet<&(String, String)> = before.keys().chain(after.keys()).collect();
    let text = |of: Option<&String>| of.cloned().unwrap_or_default();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| Change {
            section: key.0.clone(),
            name: key.1.clone(),
            before: text(before.get(key)),
            after: text(after.get(key)),
        })
        .collect()
}

/// In what the load differs that may differ; where each ran is told already.
fn of_load(baseline: &RunRecord, run: &RunRecord) -> impl Iterator<Item = Change> {
    let apart = factors::differences(&of_run(baseline), &of_run(run)).into_iter();
    let is_told = |name: &str| TOLD_ELSEWHERE.contains(&name);
    apart.filter(move |(name, ..)| !is_told(name)).map(|(name, before, after)| Change {
        section: "load".to_owned(),
        name,
        before,
        after,
    })
}

/// CP-03: always, as runs that were measured one after the other differ by the time at least.
fn one_factor(arms: &[ArmRecord]) -> Outcome {
    let differences: Vec<&Change> = arms.iter().flat_map(|arm| &arm.differences).collect();
    let named: Vec<String> =
        differences.iter().take(TOLD_MAX).map(|change| format!("{} {}", change.section, change.name)).collect();
    let more = differences.len().saturating_sub(TOLD_MAX);
    let also = match (named.len(), more) {
        (0, _) => "no other difference is known".to_owned(),
        (_, 0) => format!("they differ in {}", named.join(", ")),
        (_, more) => format!("they differ in {} and {}", named.join(", "), plural(more as u64, "more fact")),
    };
    let message = format!(
        "{}, each measured once, one after the other: drift looks like an effect; {also}",
        plural(arms.len() as u64, "run")
    );
    let remedy = "measure them side by side: plimsoll compare with URLs or --serve".to_owned();
    let figures = [("runs", arms.len() as f64), ("differences", differences.len() as f64)];
    Outcome::fired("CP-03", FindingState::Warning, message, remedy, figures)
}

/// CP-10: no ratio with a result in it that is not valid.
fn unequal_success(runs: &[(String, String, RunRecord)]) -> Outcome {
    let invalid: Vec<String> = runs
        .iter()
        .filter(|(.., run)| run.verdict.state == VerdictState::Invalid)
        .map(|(name, ..)| format!("'{name}'"))
        .collect();
    if invalid.is_empty() {
        return Outcome::Pass;
    }
    let message = format!("not valid by themselves: {}", invalid.join(", "));
    let remedy = "see their findings (plimsoll report DIR), fix them, and measure again".to_owned();
    Outcome::fired("CP-10", FindingState::Invalid, message, remedy, [("invalid", invalid.len() as f64)])
}

fn of_metric(
    metric: CompareMetric,
    (baseline_name, _, baseline): &(String, String, RunRecord),
    (name, _, run): &(String, String, RunRecord),
    margin: f64,
) -> Option<MetricRecord> {
    let (one, other) = (trial_values(baseline, metric)?, trial_values(run, metric)?);
    // Nothing that disturbed one of them has disturbed the other alike.
    let bounds = [bounds::bound(baseline, metric), bounds::bound(run, metric)];
    let ratio = ratio(&one, &other, Open::of(bounds[0], bounds[1]))?;
    // A run against itself would be the same as well: that two runs agree is no equivalence.
    let call = match call(&ratio, metric.wanted(), margin) {
        decided @ (Call::Better | Call::Worse) => decided,
        Call::SmallChange | Call::Same | Call::CannotTell => Call::CannotTell,
    };
    let primary = matches!(metric, CompareMetric::ServerCpuNsPerRequest | CompareMetric::GoodputPerS);
    let whose = [bounds::words(baseline_name, bounds[0]), bounds::words(name, bounds[1])];
    Some(MetricRecord {
        metric,
        load: CompareLoad::Stored,
        arm: name.to_owned(),
        primary,
        baseline: one.value,
        value: other.value,
        ratio,
        bound: bounds::sentence(whose.into_iter().flatten())
            .or_else(|| without_interval([(baseline_name, &one), (name, &other)]).filter(|_| primary)),
        call,
        method: None,
        p_value: None,
        p_adjusted: None,
        sd_log: None,
        precision: None,
    })
}

/// Why a ratio of stored runs is open on both sides: a run of few iterations knows no interval of its own, and blocks are
/// none of what was compared.
fn without_interval(values: [(&str, &Estimate); 2]) -> Option<String> {
    let lacking = |(_, value): &(&str, &Estimate)| value.low.is_none() || value.high.is_none();
    let names: Vec<String> = values.into_iter().filter(lacking).map(|(name, _)| format!("'{name}'")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the stored {} of {} {} no interval to compare; measure longer (-d 30s), or both side by side (plimsoll compare \
             with URLs or --serve)",
            if names.len() == 1 { "value" } else { "values" },
            names.join(" and "),
            if names.len() == 1 { "has" } else { "have" }
        )
    })
}

/// Ratio of two values whose interval has all that their intervals allow, but on the sides on which it is open.
fn ratio(one: &Estimate, other: &Estimate, open: Open) -> Option<Estimate> {
    let is_usable = |value: f64| value > 0.0 && value.is_finite();
    if !is_usable(one.value) || !is_usable(other.value) {
        return None;
    }
    let ends = [one.low, one.high, other.low, other.high];
    let known = ends.iter().all(|end| end.is_some_and(is_usable));
    let over = |above: Option<f64>, below: Option<f64>| if known { Some(above? / below?) } else { None };
    Some(Estimate {
        value: other.value / one.value,
        low: over(other.low, one.high).filter(|_| !open.below),
        high: over(other.high, one.low).filter(|_| !open.above),
        n: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, off: Option<f64>) -> Estimate {
        Estimate { value, low: off.map(|off| value - off), high: off.map(|off| value + off), n: 8 }
    }

    /// "A range needs at least 6 blocks, and there are 1", of two directories.
    #[test]
    fn stored_runs_without_an_interval_were_told_to_have_too_few_blocks() {
        let (known, unknown) = (estimate(100.0, Some(1.0)), estimate(120.0, None));
        let of = without_interval([("a", &known), ("b", &unknown)]).expect("the ratio is open");
        assert!(of.starts_with("the stored value of 'b' has no interval") && !of.contains("block"), "{of}");
        assert_eq!(without_interval([("a", &known), ("b", &known)]), None);
    }

    #[test]
    fn the_interval_of_a_ratio_has_all_that_both_runs_allow() {
        let ratio = |one: &Estimate, other: &Estimate| ratio(one, other, Open::default());
        let of = ratio(&estimate(100.0, Some(1.0)), &estimate(120.0, Some(2.0))).unwrap();
        assert_eq!((of.value, of.n), (1.2, 1));
        assert!((of.low.unwrap() - 118.0 / 101.0).abs() < 1e-12 && (of.high.unwrap() - 122.0 / 99.0).abs() < 1e-12);
        let without = ratio(&estimate(100.0, None), &estimate(120.0, Some(2.0))).unwrap();
        assert_eq!((without.low, without.high), (None, None));
        assert_eq!(ratio(&estimate(0.0, None), &estimate(1.0, None)), None);
    }
}
