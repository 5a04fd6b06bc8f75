//! Test of a predicted gain: the setting to change, by how much, and the outcome.

use super::names_a_limit;
use model::human::rate;
use model::{Block, Confidence, Confirmation, ConfirmationOutcome, Control, Estimate, Limiter, Setting};
use stats::{geometric_mean, paired_ratio};

/// The variants of a block, by their names in it.
pub const BEFORE: &str = "before";
/// See [`BEFORE`].
pub const AFTER: &str = "after";
/// See [`BEFORE`].
pub const CONTROL: &str = "control";

/// A prediction counts as met to within this share of it.
pub(super) const MET: f64 = 0.2;
/// Smaller predicted effects cannot be told from none and from others at once.
const RATIO_MIN: f64 = 1.0 / (1.0 - MET);
/// Connections for each worker that is occupied after the change.
const CONNECTIONS: f64 = 1.5;
/// Most connections that are opened for it.
const CONNECTIONS_MAX: f64 = 65_536.0;
/// CPUs that are less busy have some to spare for more processes of what is no limit.
const SLACK: f64 = 0.5;
/// A control that changes goodput by less makes no difference, whatever its interval.
const NO_DIFFERENCE: f64 = 0.05;

/// Change to be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The resource that is taken for the limit.
    pub resource: String,
    /// The setting with its present value.
    pub setting: Setting,
    /// The value it gets.
    pub to: u64,
    /// Predicted rate; per second.
    pub predicted_per_s: f64,
    /// Connections of the closed loop that it takes.
    pub connections: u32,
    /// A setting of something that is not short, and the value it gets.
    pub control: Option<(Setting, u64)>,
}

/// The change that tests the prediction of `limiter` with these settings; the load had so many connections.
///
/// # Errors
/// When nothing can: the reason, for people.
pub fn trial(limiter: &Limiter, settings: &[Setting], connections: u32, may_open_more: bool) -> Result<Trial, String> {
    let has_setting = |possible: &&Limiter| {
        let native = possible.prediction.as_ref().and_then(|prediction| prediction.setting.as_ref());
        native.is_some_and(|native| settings.iter().any(|setting| setting.native == *native))
    };
    let limiter = limiter.possible.iter().find(has_setting).unwrap_or(limiter);
    if !names_a_limit(limiter) {
        return Err(format!("{} is not a limit that can be raised", limiter.name));
    }
    if let (None, Some(next)) = (&limiter.prediction, &limiter.next) {
        return Err(format!("no gain is predicted without the limit of {}: next is {}", limiter.resource, next.name));
    }
    let prediction = limiter.prediction.as_ref().zip(limiter.ceiling_per_s);
    let found = prediction.and_then(|(prediction, ceiling_per_s)| {
        let native = prediction.setting.as_ref()?;
        let setting = settings.iter().find(|setting| setting.native == *native)?;
        Some((prediction, setting, ceiling_per_s))
    });
    let (prediction, setting, ceiling_per_s) =
        found.ok_or_else(|| format!("--confirm knows no setting of this server that raises {}", limiter.resource))?;
    let to = prediction.to.unwrap_or_default() as u64;
    let mut predicted_per_s = prediction.expected_per_s;
    let mut connections = f64::from(connections);
    if let Some(occupied_ns) = limiter.evidence.get("occupied_ns_per_request") {
        if may_open_more {
            connections = connections.max((CONNECTIONS * predicted_per_s * occupied_ns / 1e9).ceil());
        }
        connections = connections.min(CONNECTIONS_MAX);
        // A closed loop asks for no more than this, however many workers there are.
        predicted_per_s = predicted_per_s.min(connections * 1e9 / occupied_ns);
    }
    if predicted_per_s / ceiling_per_s < RATIO_MIN {
        return Err(format!(
            "{} instead of {} is too small a change to detect",
            rate(predicted_per_s),
            rate(ceiling_per_s)
        ));
    }
    let cpus = limiter.evidence.get("server_cpus_busy_share").or_else(|| limiter.evidence.get("machine_busy_share"));
    let slack = settings.iter().find(|other| other.key != setting.key && cpus.is_some_and(|busy| *busy < SLACK));
    Ok(Trial {
        resource: limiter.resource.clone(),
        setting: setting.clone(),
        to,
        predicted_per_s,
        connections: connections as u32,
        control: slack.map(|other| (other.clone(), (2 * other.value).min(other.max))),
    })
}

/// Outcome of `trial`.
#[must_use]
pub fn confirmation(trial: &Trial, blocks: Vec<Block>) -> Confirmation {
    let of =
        |arm: &str| -> Vec<f64> { blocks.iter().filter_map(|block| block.goodput_per_s.get(arm).copied()).collect() };
    let pairs = |arm: &str| -> Vec<(f64, f64)> {
        let pair = |block: &Block| Some((*block.goodput_per_s.get(BEFORE)?, *block.goodput_per_s.get(arm)?));
        blocks.iter().filter_map(pair).collect()
    };
    let (before_per_s, after_per_s) = (geometric_mean(&of(BEFORE)), geometric_mean(&of(AFTER)));
    let ratio = paired_ratio(&pairs(AFTER));
    let predicted_ratio = trial.predicted_per_s / before_per_s.max(f64::MIN_POSITIVE);
    let control = trial.control.as_ref().map(|(setting, to)| {
        let ratio = paired_ratio(&pairs(CONTROL));
        let (setting, from) = (setting.key.clone(), setting.value);
        Control { setting, from, to: *to, ratio, holds: makes_no_difference(&ratio) }
    });
    let mut outcome = outcome(&ratio, predicted_ratio);
    if control.as_ref().is_some_and(|control| !control.holds) && outcome == ConfirmationOutcome::Confirmed {
        outcome = ConfirmationOutcome::Undecided;
    }
    let mut confirmation = Confirmation {
        resource: trial.resource.clone(),
        setting: trial.setting.key.clone(),
        from: trial.setting.value,
        to: trial.to,
        connections: trial.connections,
        predicted_per_s: trial.predicted_per_s,
        predicted_ratio,
        before_per_s,
        after_per_s,
        ratio,
        outcome,
        control,
        blocks,
        says: String::new(),
    };
    confirmation.says = says(&confirmation);
    confirmation
}

/// Puts what came out beside the limiter, and believes it: what was possible is named once it is confirmed, and is possible no
/// more once it is refuted.
pub fn conclude(limiter: &mut Limiter, confirmation: Confirmation) {
    let tried = limiter.possible.iter().position(|possible| possible.resource == confirmation.resource);
    match (confirmation.outcome, tried) {
        (ConfirmationOutcome::Confirmed, Some(tried)) => {
            let found = limiter.possible.swap_remove(tried);
            let Limiter { utilisations, unchecked, load, .. } = std::mem::take(limiter);
            *limiter = Limiter { confidence: Confidence::Confirmed, utilisations, unchecked, load, ..found };
        }
        (ConfirmationOutcome::Confirmed, None) => limiter.confidence = Confidence::Confirmed,
        (ConfirmationOutcome::Refuted, Some(tried)) => drop(limiter.possible.remove(tried)),
        (ConfirmationOutcome::Refuted, None) => limiter.confidence = Confidence::Low,
        (ConfirmationOutcome::Undecided, _) => {}
    }
    limiter.confirmation = Some(confirmation);
}

fn outcome(ratio: &Estimate, predicted: f64) -> ConfirmationOutcome {
    let (Some(low), Some(high)) = (ratio.low, ratio.high) else { return ConfirmationOutcome::Undecided };
    let is_near = low <= (1.0 + MET) * predicted && high >= (1.0 - MET) * predicted;
    match (is_near, low <= 1.0 && 1.0 <= high) {
        (true, false) => ConfirmationOutcome::Confirmed,
        (false, _) => ConfirmationOutcome::Refuted,
        (true, true) => ConfirmationOutcome::Undecided,
    }
}

fn makes_no_difference(ratio: &Estimate) -> bool {
    let covers = ratio.low.zip(ratio.high).is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high);
    ratio.n > 0 && (covers || (ratio.value - 1.0).abs() < NO_DIFFERENCE)
}

fn says(tried: &Confirmation) -> String {
    let came_out = match tried.outcome {
        ConfirmationOutcome::Confirmed => "confirmed",
        ConfirmationOutcome::Refuted => "refuted, something else limits it",
        ConfirmationOutcome::Undecided => "undecided",
    };
    let interval = match (tried.ratio.low, tried.ratio.high) {
        (Some(low), Some(high)) => format!(", 95 % interval {low:.2} to {high:.2}"),
        _ => ", too few blocks for an interval".to_owned(),
    };
    let control = tried.control.as_ref().map_or_else(String::new, |control| {
        let difference = if control.holds { "made no difference" } else { "made a difference too" };
        format!(
            "; {} {} -> {} {difference} ({:.2} times)",
            control.setting, control.from, control.to, control.ratio.value
        )
    });
    format!(
        "{} {} -> {}: {} predicted, {} measured ({:.2} times {}{interval}, n = {}): {came_out}{control}",
        tried.setting,
        tried.from,
        tried.to,
        rate(tried.predicted_per_s),
        rate(tried.after_per_s),
        tried.ratio.value,
        rate(tried.before_per_s),
        tried.ratio.n
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Prediction;

    fn settings() -> [Setting; 2] {
        [("children", "pm.max_children", 5), ("workers", "worker_processes", 1)].map(|(key, native, value)| Setting {
            key: key.into(),
            native: native.into(),
            limits: String::new(),
            value,
            max: 1_000,
        })
    }

    /// Five workers of 5 ms, and CPUs that have something to spare.
    fn pool() -> Limiter {
        Limiter {
            name: "worker-pool-limited".into(),
            resource: "php-fpm workers".into(),
            ceiling_per_s: Some(1_000.0),
            evidence: [("occupied_ns_per_request".to_owned(), 5e6), ("server_cpus_busy_share".to_owned(), 0.2)].into(),
            confidence: Confidence::Medium,
            prediction: Some(Prediction {
                change: String::new(),
                setting: Some("pm.max_children".into()),
                from: Some(5.0),
                to: Some(10.0),
                expected_per_s: 2_000.0,
                low_per_s: None,
                high_per_s: None,
            }),
            ..Limiter::default()
        }
    }

    /// Six blocks with these goodputs, a little apart.
    fn blocks(before: f64, after: f64, control: Option<f64>) -> Vec<Block> {
        let block = |i: u32| {
            let drift = 1.0 + 0.001 * f64::from(i % 3);
            let arms = [(BEFORE, Some(before)), (AFTER, Some(after * drift)), (CONTROL, control.map(|c| c * drift))];
            let goodput = arms.into_iter().filter_map(|(arm, per_s)| Some((arm.to_owned(), per_s?)));
            Block { order: Vec::new(), goodput_per_s: goodput.collect() }
        };
        (0..6).map(block).collect()
    }

    #[test]
    fn a_trial_changes_one_setting_and_brings_connections_enough() {
        let found = trial(&pool(), &settings(), 8, true).unwrap();
        assert_eq!((found.setting.key.as_str(), found.to, found.connections), ("children", 10, 15));
        assert_eq!(found.control.map(|(setting, to)| (setting.key, to)), Some(("workers".to_owned(), 2)));
        // A run keeps its connections, which bound what it can ask for.
        let bound = trial(&pool(), &settings(), 8, false).unwrap();
        assert_eq!((bound.connections, bound.predicted_per_s), (8, 1_600.0));
        assert!(trial(&pool(), &settings(), 5, false).unwrap_err().contains("too small"));
    }

    #[test]
    fn what_cannot_be_tried_is_told() {
        let no_setting = trial(&pool(), &settings()[1..], 8, true).unwrap_err();
        assert!(no_setting.contains("knows no setting of this server that raises php-fpm workers"), "{no_setting}");
        let none = Limiter { name: "not-saturated".into(), ..Limiter::default() };
        assert!(trial(&none, &settings(), 8, true).unwrap_err().starts_with("not-saturated is not a limit"));
        let mut busy = pool();
        busy.evidence.insert("server_cpus_busy_share".into(), 0.6);
        assert_eq!(trial(&busy, &settings(), 8, true).unwrap().control, None, "nothing is slack");
    }

    #[test]
    fn a_prediction_that_comes_true_confirms() {
        let trial = trial(&pool(), &settings(), 20, true).unwrap();
        let came_out = confirmation(&trial, blocks(1_000.0, 1_960.0, Some(1_000.0)));
        assert_eq!(came_out.outcome, ConfirmationOutcome::Confirmed);
        assert!(came_out.says.starts_with("children 5 -> 10: 2,000/s predicted, 1,962/s measured (1.96 times 1,000/s"));
        assert!(
            came_out.says.ends_with("confirmed; workers 1 -> 2 made no difference (1.00 times)"),
            "{}",
            came_out.says
        );
        let mut limiter = pool();
        conclude(&mut limiter, came_out);
        assert_eq!(limiter.confidence, Confidence::Confirmed);
    }

    /// Where the evidence named none, the change that would tell was not tried.
    #[test]
    fn what_is_possible_is_tried_and_named_or_dropped() {
        let of = |resource: &str| Limiter { resource: resource.into(), prediction: None, ..pool() };
        let possible = vec![of("server CPUs"), pool()];
        let unknown = Limiter { name: "unknown".into(), load: Some(8.0), possible, ..Limiter::default() };
        let trial = trial(&unknown, &settings(), 20, true).unwrap();
        assert_eq!((trial.resource.as_str(), trial.to), ("php-fpm workers", 10));
        let after = |per_s: f64| {
            let mut limiter = unknown.clone();
            conclude(&mut limiter, confirmation(&trial, blocks(1_000.0, per_s, Some(1_000.0))));
            limiter
        };
        let named = after(1_960.0);
        assert_eq!((named.name.as_str(), named.confidence), ("worker-pool-limited", Confidence::Confirmed));
        assert_eq!((named.load, named.possible.len()), (Some(8.0), 0));
        let dropped = after(1_010.0);
        assert_eq!((dropped.name.as_str(), dropped.possible.len()), ("unknown", 1));
        assert_eq!(dropped.possible[0].resource, "server CPUs");
        assert_eq!(after(1_590.0).possible.len(), 1, "something else is in its way too");
    }

    #[test]
    fn one_that_does_not_is_refuted_or_undecided() {
        let trial = trial(&pool(), &settings(), 20, true).unwrap();
        let outcome = |after: f64, control: Option<f64>| confirmation(&trial, blocks(1_000.0, after, control)).outcome;
        assert_eq!(outcome(1_010.0, Some(1_000.0)), ConfirmationOutcome::Refuted);
        assert_eq!(outcome(1_590.0, Some(1_000.0)), ConfirmationOutcome::Refuted, "more than 20 % off");
        assert_eq!(outcome(1_620.0, Some(1_000.0)), ConfirmationOutcome::Confirmed);
        assert_eq!(outcome(1_960.0, Some(1_300.0)), ConfirmationOutcome::Undecided, "the control moved too");
        let few = confirmation(&trial, blocks(1_000.0, 1_960.0, None)[..3].to_vec());
        assert_eq!(few.outcome, ConfirmationOutcome::Undecided);
        assert!(few.says.contains("too few blocks for an interval"), "{}", few.says);
        let mut limiter = pool();
        conclude(&mut limiter, confirmation(&trial, blocks(1_000.0, 1_010.0, Some(1_000.0))));
        assert_eq!(limiter.confidence, Confidence::Low);
    }
}
