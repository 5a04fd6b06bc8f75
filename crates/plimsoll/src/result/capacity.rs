//! From the trials of a search for a capacity to its record: what each says, bracket, limiter and verdict.
//!
//! The search is made again from its trials, so that a record is the same for one that has just ended and for one that
//! is read back.

use super::{Facts, Point, keep_point};
use evidence::{EvidenceBuilder, backlog, undisturbed_backlog};
use judge::goal::{Goal, Measured};
use judge::limiter::limiter_of_sweep;
use judge::{CapacityClaim, judge_capacity, judge_run};
use model::human::rate;
use model::{
    CapacityBracket, CapacityReason, CapacityRecord, ConditionRecord, Evidence, FORMAT_CAPACITY, FindingState,
    LimiterContext, MeasurementKind, NS_PER_S, Second, SweepEvidence, SweepPoint, TrialMade, TrialPurpose, TrialRecord,
};
use report::record::AnyRecord;
use stats::{CapacityOutcome, CapacityResult, CapacitySearch, CapacityTrial, Obstacle, backlog_grew};

/// Seconds without which a backlog has no trend.
const TREND_MIN: usize = 3;
/// Faults of the client by which it offers less than it should, or later, whatever the server does.
const CLIENT_LIMITS: [&str; 5] = ["CL-01", "CL-03", "CL-05", "CL-07", "CL-11"];
/// What is said of a backlog beside the conditions of the goal.
const BACKLOG: &str = "backlog";

/// One trial, and everything that was measured in it.
#[derive(Clone)]
pub(super) struct Trial {
    pub(super) made: TrialMade,
    pub(super) builder: EvidenceBuilder,
}

impl Trial {
    /// True if it does not count: see [`is_cut`].
    pub(super) fn is_cut(&self) -> bool {
        is_cut(&self.made, &self.builder.evidence())
    }
}

/// True of a trial that was ended before its window was over, and not by its backlog, or that lost a part of its load.
fn is_cut(made: &TrialMade, evidence: &Evidence) -> bool {
    let is_part = evidence.agents.iter().any(|agent| agent.lost.is_some());
    is_part || (evidence.interrupted && !made.ran_away)
}

/// What a trial says of its load.
#[derive(Debug)]
pub(crate) struct JudgedTrial {
    pub(crate) outcome: CapacityOutcome,
    /// Each condition of the goal.
    conditions: Vec<ConditionRecord>,
    backlog_grew: bool,
    /// True if it was cut short, and does not count.
    is_cut: bool,
}

impl JudgedTrial {
    /// Puts the goal to a trial; `limits` says which CPUs the server may use.
    pub(crate) fn new(goal: &Goal, limits: &LimiterContext, made: &TrialMade, builder: &EvidenceBuilder) -> Self {
        let evidence = builder.evidence();
        let histograms = builder.histograms();
        let measured = Measured { evidence: &evidence, histograms: &histograms, server_cpus: &limits.server_cpus };
        let judged = goal.judge(&measured);
        let conditions: Vec<_> = goal
            .conditions()
            .iter()
            .zip(&judged)
            .map(|(condition, judged)| ConditionRecord {
                condition: condition.to_string(),
                value: judged.value,
                limit: condition.limit,
                held: judged.held,
            })
            .collect();
        let backlog = telling_backlog(&evidence.seconds, made.load_per_s);
        let grew = made.ran_away || backlog_grew(&backlog, made.load_per_s, 1.0);
        let is_failed = grew || judged.iter().any(|judged| !judged.held);
        let outcome = CapacityOutcome {
            conditions: judged.iter().map(|judged| judged.held).collect(),
            achieved_per_s: builder.goodput().value,
            backlog,
            tick_ns: NS_PER_S,
            ran_away: made.ran_away,
            obstacle: if is_failed { client_limit(&evidence) } else { None },
            clean_share: clean_share(builder, &evidence),
            measured_ns: evidence.measured_ns,
            took_ns: made.took_ns,
        };
        Self { outcome, conditions, backlog_grew: grew, is_cut: is_cut(made, &evidence) }
    }

    /// True if the goal was met.
    pub(crate) fn held(&self) -> bool {
        self.outcome.obstacle.is_none() && self.failed().is_empty()
    }

    /// The conditions that were not met, and the backlog if it grew.
    pub(crate) fn failed(&self) -> Vec<&str> {
        let conditions = self.conditions.iter().filter(|one| !one.held).map(|one| one.condition.as_str());
        conditions.chain(self.backlog_grew.then_some(BACKLOG)).collect()
    }

    /// The first condition on the server of which nothing is known.
    pub(crate) fn unknown(&self, goal: &Goal) -> Option<&str> {
        let conditions = goal.conditions().iter().zip(&self.conditions);
        let mut unknown = conditions.filter(|(one, record)| one.quantity.is_of_server() && record.value.is_none());
        unknown.next().map(|(_, record)| record.condition.as_str())
    }
}

/// The backlog by undisturbed seconds; by all where too few are left to show that it grew, as a rate far above the capacity
/// would count as held.
fn telling_backlog(seconds: &[Second], load_per_s: f64) -> Vec<f64> {
    let undisturbed = undisturbed_backlog(seconds, load_per_s);
    if undisturbed.len() < TREND_MIN { backlog(seconds, load_per_s) } else { undisturbed }
}

fn clean_share(builder: &EvidenceBuilder, evidence: &Evidence) -> Option<f64> {
    builder.clean_ns().map(|clean_ns| clean_ns as f64 / evidence.measured_ns.max(1) as f64)
}

/// The limit of the client, if that is what a failed load has shown.
fn client_limit(evidence: &Evidence) -> Option<Obstacle> {
    let verdict = judge_run(evidence);
    let is_limit = verdict
        .findings
        .iter()
        .any(|finding| CLIENT_LIMITS.contains(&finding.rule.as_str()) && finding.state == FindingState::Invalid);
    let offered_per_s = evidence.flow.sent as f64 * NS_PER_S as f64 / evidence.measured_ns.max(1) as f64;
    is_limit.then_some(Obstacle::ClientCeiling { offered_per_s })
}

/// Makes the record of a search for a capacity.
///
/// # Errors
/// One line, when the facts are not those of such a search, or its closed loop was not measured.
pub(super) fn capacity_record(facts: &Facts, trials: &[Trial]) -> Result<CapacityRecord, String> {
    let MeasurementKind::Capacity { goal } = &facts.begun.measurement else {
        return Err("it is no search for a capacity".to_owned());
    };
    let goal = Goal::parse(Some(goal)).map_err(|why| format!("its goal {why}"))?;
    let (settings, pilot_per_s) = facts.search.ok_or("its search had not begun")?;
    let mut walked = Walked::new(CapacitySearch::new(settings));
    for trial in trials {
        walked.take(&goal, &facts.begun.limits, trial);
    }
    if facts.gone.is_some() && walked.search.next().is_some() {
        let gone = CapacityOutcome { obstacle: Some(Obstacle::TargetGone), ..CapacityOutcome::default() };
        walked.search.apply(&gone);
    }
    let result = walked.search.result();
    let points = walked.points(facts);
    let last = trials.last().map(|trial| facts.evidence(&trial.builder));
    let at = |load: Option<f64>| load.and_then(|load| points.iter().find(|point| point.load == load));
    let claim = CapacityClaim {
        low: at(result.low_per_s).map(|point| (point.load, &point.evidence)),
        high: at(result.high_per_s).map(|point| (point.load, &point.evidence)),
        uncounted: last.as_ref(),
        reason: result.reason,
        is_confirmed: result.is_confirmed,
        width: settings.width,
        to_per_s: settings.to_per_s,
    };
    let verdict = judge_capacity(&claim);
    let spent_ns = result.spent_ns;
    // Found as in a sweep over rates.
    let sweep = SweepEvidence { points, limit: settings.to_per_s, over_rate: true };
    let limiter = limiter_of_sweep(&sweep, &facts.begun.limits);
    let verdict = judge::beside_limiter(verdict, limiter.as_ref());
    let record = CapacityRecord {
        format: FORMAT_CAPACITY.into(),
        verdict,
        thresholds: Vec::new(),
        capacity: bracket(result, &goal),
        goal: goal.to_string(),
        sent_in_all: facts.sent_in_all(trials.iter().map(|trial| &trial.builder)),
        trials: trials.iter().map(|trial| facts.load_record(&facts.evidence(&trial.builder), &trial.builder)).collect(),
        outcomes: walked.records,
        search: settings,
        pilot_per_s,
        spent_ns,
        limiter,
        environment: facts.environment(),
        started: facts.begun.started.clone(),
        interrupted: facts.interrupted,
        agent_lost: facts.agent_lost.clone(),
    };
    let thresholds = facts.asked.judge(AnyRecord::Capacity(&record));
    Ok(CapacityRecord { thresholds, ..record })
}

/// A search that is made again from its trials.
struct Walked {
    search: CapacitySearch,
    records: Vec<TrialRecord>,
    /// The loads of the trials that counted, merged.
    merged: Vec<Point>,
}

impl Walked {
    fn new(search: CapacitySearch) -> Self {
        Self { search, records: Vec::new(), merged: Vec::new() }
    }

    /// Takes in the next trial. One that was cut short, or that was not asked for, is told and does not count.
    fn take(&mut self, goal: &Goal, limits: &LimiterContext, trial: &Trial) {
        let judged = JudgedTrial::new(goal, limits, &trial.made, &trial.builder);
        let asked = self.search.next();
        let asked = asked.filter(|asked| !judged.is_cut && asked.load_per_s == trial.made.load_per_s);
        let counted = asked.is_some() && self.search.apply(&judged.outcome);
        if counted {
            keep_point(&mut self.merged, trial.made.load_per_s, trial.builder.clone());
        }
        let bracket = self.search.bracket();
        self.records.push(trial_record(trial, &judged, asked, counted, bracket));
    }

    /// What is known of each load, in rising order.
    fn points(&self, facts: &Facts) -> Vec<SweepPoint> {
        let mut points: Vec<SweepPoint> = self
            .merged
            .iter()
            .map(|point| SweepPoint {
                load: point.load,
                goodput_per_s: point.builder.goodput_per_s(),
                iterations_per_s: point.builder.iterations_per_s(),
                evidence: facts.evidence(&point.builder),
            })
            .collect();
        points.sort_by(|a, b| a.load.total_cmp(&b.load));
        points
    }
}

fn trial_record(
    trial: &Trial,
    judged: &JudgedTrial,
    asked: Option<CapacityTrial>,
    counted: bool,
    (low_after, high_after): (Option<f64>, Option<f64>),
) -> TrialRecord {
    let Trial { made, .. } = trial;
    let obstacle = match judged.outcome.obstacle {
        Some(Obstacle::ClientCeiling { offered_per_s }) => {
            Some(format!("the client offered no more than {}", rate(offered_per_s)))
        }
        Some(Obstacle::TargetGone) | None => None,
    };
    TrialRecord {
        load_per_s: made.load_per_s,
        purpose: asked.map_or(TrialPurpose::Bracket, |asked| asked.purpose),
        held: judged.held(),
        counted,
        obstacle,
        goodput_per_s: judged.outcome.achieved_per_s,
        conditions: judged.conditions.clone(),
        backlog_grew: judged.backlog_grew,
        ran_away: made.ran_away,
        clean_share: judged.outcome.clean_share,
        took_ns: made.took_ns,
        low_after,
        high_after,
    }
}

/// What a search has found, in the words of its goal.
pub(super) fn bracket(result: CapacityResult, goal: &Goal) -> CapacityBracket {
    let conditions = goal.conditions();
    let mut failed: Vec<String> =
        result.failed.iter().filter_map(|at| conditions.get(*at)).map(ToString::to_string).collect();
    failed.extend(result.backlog_grew.then(|| BACKLOG.to_owned()));
    CapacityBracket {
        value: result.value_per_s,
        low: result.low_per_s,
        high: result.high_per_s,
        n: result.n,
        reason: reason(result.reason, &failed, result.high_per_s),
        ended: result.reason,
        low_confirmed: result.is_confirmed.0,
        high_confirmed: result.is_confirmed.1,
        estimate_per_s: result.estimate_per_s,
        noise: result.noise,
        disturbed: result.disturbed,
        failed,
        more: result.more,
    }
}

/// Why the search ended, and what failed at the upper end.
fn reason(ended: CapacityReason, failed: &[String], high_per_s: Option<f64>) -> String {
    match high_per_s {
        Some(high) if !failed.is_empty() => {
            format!("{}; failed at {}: {}", ended.words(), rate(high), failed.join(", "))
        }
        _ => ended.words().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 2.8 times the capacity, with two of three seconds disturbed, nothing was seen to grow, and the rate had held.
    #[test]
    fn a_backlog_of_which_too_little_is_undisturbed_is_looked_at_whole() {
        let seconds: Vec<Second> = [0, 1, 0]
            .iter()
            .zip(1_u32..)
            .map(|(disturbed, n)| Second {
                length_ns: NS_PER_S,
                clean_ns: NS_PER_S * (1 - disturbed),
                outstanding: 1_800.0 * f64::from(n),
                ..Second::default()
            })
            .collect();
        assert_eq!(undisturbed_backlog(&seconds, 2_800.0).len(), 2);
        assert!(backlog_grew(&telling_backlog(&seconds, 2_800.0), 2_800.0, 1.0));
    }

    #[test]
    fn the_reason_names_what_failed() {
        let failed = ["p99<100ms".to_owned(), BACKLOG.to_owned()];
        assert_eq!(
            reason(CapacityReason::Bracketed, &failed, Some(1_250.0)),
            "both rates were tested again, and most of their trials agree; failed at 1,250/s: p99<100ms, backlog"
        );
        assert_eq!(reason(CapacityReason::RangeEnded, &[], None), "the highest load allowed held");
    }
}
