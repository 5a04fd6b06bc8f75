//! The search: asks for one trial after the other, and takes in what came of it.

mod answer;
mod steps;

use super::backlog::backlog_grew;
use super::belief::Belief;
use super::bracket::Range;
use super::ends::{Ends, Rules, Side};
use super::tested::{Counted, Tests};
use super::vote::{Vote, VoteGoal};
use super::{CapacityOutcome, CapacityTrial, Obstacle};
use model::{CapacityReason, CapacitySettings, NS_PER_S, TrialPurpose};

/// A trial of which less was undisturbed is asked for again, ...
const CLEAN_SHARE_MIN: f64 = 0.5;
/// ... so often before it counts as it is; as often one whose load the client could not offer, though it has before.
const AGAIN_MAX: u32 = 3;
/// Exceed ratio that RFC 9971, section 4.6.4, recommends.
const EXCEED_RATIO: f64 = 0.5;
/// Full-length trials of a vote.
const VOTES: f64 = 3.0;
/// The belief reaches this far beyond the loads that bracket, in logarithms; twice as far when that was too little.
const MARGIN: f64 = 0.35;
/// A client that could not offer a load can offer this share of what it did offer.
const CEILING_SHARE: f64 = 0.95;

/// Search for the highest load that meets a goal.
///
/// ```
/// use stats::{CapacityOutcome, CapacitySearch, CapacitySettings, CapacityTimes};
/// let settings = CapacitySettings {
///     from_per_s: 10.0,
///     to_per_s: 1e6,
///     start_per_s: 400.0,
///     width: 0.03,
///     times: CapacityTimes::default(),
///     seed: 1,
/// };
/// let mut search = CapacitySearch::new(settings);
/// while let Some(trial) = search.next() {
///     search.apply(&CapacityOutcome {
///         conditions: vec![trial.load_per_s <= 1234.0],
///         achieved_per_s: trial.load_per_s.min(1234.0),
///         measured_ns: trial.duration_ns,
///         took_ns: trial.duration_ns,
///         ..CapacityOutcome::default()
///     });
/// }
/// let (low, high) = search.bracket();
/// assert!(low.unwrap() <= 1234.0 && 1234.0 < high.unwrap());
/// ```
#[derive(Clone, Debug)]
pub struct CapacitySearch {
    settings: CapacitySettings,
    /// What may be asked for; the client may turn out to offer less than was allowed.
    range: Range,
    is_client_limited: bool,
    phase: Phase,
    pending: Option<CapacityTrial>,
    tests: Tests,
    /// From the first bracket on.
    belief: Option<Belief>,
    margin: f64,
    /// Once they are confirmed.
    ends: Option<Ends>,
    spent_ns: u64,
    asked: u64,
    counted: u64,
    disturbed: u64,
    /// How often the trial of now was asked for again.
    again: u32,
    /// Trials that narrowed.
    narrowing: u32,
    /// Trials kept back for confirming the ends.
    reserved: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Bracket,
    /// Votes at a load.
    Settle(f64),
    Narrow,
    Confirm,
    Done(CapacityReason),
}

impl CapacitySearch {
    /// A search whose server is warm (RFC 9971, section 5.3.4).
    ///
    /// # Panics
    /// If the lowest load or the width is not above 0.
    #[must_use]
    pub fn new(settings: CapacitySettings) -> Self {
        assert!(settings.from_per_s > 0.0 && settings.width > 0.0, "no range to search: {settings:?}");
        let to_per_s = settings.to_per_s.max(settings.from_per_s);
        let settings = CapacitySettings { to_per_s, ..settings };
        let mut search = Self {
            settings,
            range: Range { from_per_s: settings.from_per_s, to_per_s },
            is_client_limited: false,
            phase: Phase::Bracket,
            pending: None,
            tests: Tests::default(),
            belief: None,
            margin: MARGIN,
            ends: None,
            spent_ns: 0,
            asked: 0,
            counted: 0,
            disturbed: 0,
            again: 0,
            narrowing: 0,
            reserved: 0,
        };
        search.advance();
        search
    }

    /// The next trial, the same until [`CapacitySearch::apply`] is called; none when the search has ended.
    #[must_use]
    pub const fn next(&self) -> Option<CapacityTrial> {
        self.pending
    }

    /// Takes in the outcome of the trial last asked for; true if it counts.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn apply(&mut self, outcome: &CapacityOutcome) -> bool {
        let trial = self.pending.take().expect("an outcome of a trial that was asked for");
        self.spent_ns = self.spent_ns.saturating_add(outcome.took_ns);
        match outcome.obstacle {
            Some(Obstacle::TargetGone) => self.phase = Phase::Done(CapacityReason::TargetGone),
            // Before what it says of the client: one whose CPU time was taken is late as well.
            _ if self.may_ask_again(&trial) && is_too_disturbed(outcome) => {
                self.disturbed += 1;
                self.ask_again(&trial);
                return false;
            }
            Some(_) if self.may_ask_again(&trial) && self.has_offered(trial.load_per_s) => {
                self.ask_again(&trial);
                return false;
            }
            // There is no time to see whether it was late but once.
            Some(Obstacle::ClientCeiling { .. }) if self.again < AGAIN_MAX && self.has_offered(trial.load_per_s) => {
                self.phase = Phase::Done(CapacityReason::BudgetEnded);
            }
            Some(Obstacle::ClientCeiling { offered_per_s }) => self.lower_top(trial.load_per_s, offered_per_s),
            None => self.count(&trial, outcome),
        }
        self.again = 0;
        self.advance();
        outcome.obstacle.is_none()
    }

    /// Time that all trials took so far; ns.
    #[must_use]
    pub const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// True if a trial has not been asked for too often, and there is time for it.
    const fn may_ask_again(&self, trial: &CapacityTrial) -> bool {
        self.again < AGAIN_MAX && self.affords(trial.duration_ns)
    }

    fn ask_again(&mut self, trial: &CapacityTrial) {
        self.again += 1;
        self.ask(trial.load_per_s, trial.duration_ns, trial.purpose);
    }

    /// True if the client has offered this load or a higher one, whether the server held it or not: no trial counts that it
    /// could not offer.
    fn has_offered(&self, load_per_s: f64) -> bool {
        self.tests.iter().next_back().is_some_and(|highest| highest.load_per_s >= load_per_s)
    }

    fn count(&mut self, trial: &CapacityTrial, outcome: &CapacityOutcome) {
        let grew = outcome.ran_away || backlog_grew(&outcome.backlog, trial.load_per_s, seconds(outcome.tick_ns));
        let failed: Vec<usize> = (0..outcome.conditions.len()).filter(|at| !outcome.conditions[*at]).collect();
        let full_ns = self.settings.times.full_ns;
        let clean_s = seconds(outcome.measured_ns) * outcome.clean_share.unwrap_or(1.0).clamp(0.0, 1.0);
        // What ran away would have failed however long it went on.
        let vote = Vote {
            held: !grew && failed.is_empty(),
            is_full: outcome.ran_away || trial.duration_ns >= full_ns,
            effective_s: if outcome.ran_away { seconds(full_ns) } else { clean_s },
        };
        self.counted += 1;
        if let Some(ends) = &mut self.ends {
            match trial.purpose {
                TrialPurpose::ConfirmLow => ends.vote(Side::Low, vote),
                TrialPurpose::ConfirmHigh => ends.vote(Side::High, vote),
                TrialPurpose::Bracket | TrialPurpose::Settle | TrialPurpose::Narrow => {}
            }
        }
        let weight = self.weight(&vote);
        if let Some(belief) = &mut self.belief {
            belief.vote(trial.load_per_s.ln(), vote.held, weight);
        }
        let counted = Counted { vote, achieved_per_s: outcome.achieved_per_s, failed, backlog_grew: grew };
        self.tests.add(trial.load_per_s, counted);
    }

    /// Share of a full-length trial that a vote counts for in the belief.
    fn weight(&self, vote: &Vote) -> f64 {
        (vote.effective_s / seconds(self.settings.times.full_ns).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }

    /// Keeps to what the client can offer, but goes no lower than a load that held: that it did offer.
    fn lower_top(&mut self, load_per_s: f64, offered_per_s: f64) {
        self.is_client_limited = true;
        let goal = self.goal();
        let held = self.tests.iter().filter(|tested| tested.load_per_s <= load_per_s && tested.holds(&goal));
        let floor = held.map(|tested| tested.load_per_s).fold(self.range.from_per_s, f64::max);
        if load_per_s <= floor {
            self.phase = Phase::Done(CapacityReason::ClientCeiling);
        } else if matches!(self.phase, Phase::Settle(_)) {
            self.phase = Phase::Bracket;
        }
        self.range.to_per_s = (offered_per_s.min(load_per_s) * CEILING_SHARE).max(floor);
    }

    fn goal(&self) -> VoteGoal {
        VoteGoal { duration_sum_s: VOTES * seconds(self.settings.times.full_ns), exceed_ratio: EXCEED_RATIO }
    }

    fn rules(&self) -> Rules {
        let (width, full_s) = (self.settings.width.ln_1p(), seconds(self.settings.times.full_ns));
        Rules { range: self.range, width, full_s }
    }

    /// True if there is time for a trial.
    const fn affords(&self, duration_ns: u64) -> bool {
        let times = &self.settings.times;
        let cost_ns = duration_ns.saturating_add(times.overhead_ns);
        self.spent_ns.saturating_add(cost_ns) <= times.budget_ns
    }
}

/// True of a trial of which too little was undisturbed.
fn is_too_disturbed(outcome: &CapacityOutcome) -> bool {
    outcome.clean_share.is_some_and(|share| share < CLEAN_SHARE_MIN)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S as f64
}
