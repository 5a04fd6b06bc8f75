//! `--confirm`: raises the limit that was found, and looks whether the server does what was predicted.
//!
//! Blocks of one measurement with the change and one without, in shuffled order, the server started again for each; where
//! something else is known not to be short, a third measurement changes that instead.
//!
//! A server that was only reconfigured would keep what it has learnt.

use crate::coordinate::{Measure, Search, unless_interrupted, walk};
use crate::exit::CommandError;
use crate::journal::OpenLoad;
use crate::output::progress::Progress;
use crate::session::{Beside, Session, SessionOptions};
use crate::settings::draft::Draft;
use crate::store::private;
use crate::verbs::measured::plain_session;
use judge::limiter::confirm::{AFTER, BEFORE, CONTROL, Trial, confirmation, trial};
use judge::limiter::faults;
use model::{Block, Limiter, Load, SessionEvent, Stop, Warmup, human};
use stack::Spec;
use stats::{RUNS_MIN, shuffled_blocks};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// As few as give an interval.
const BLOCKS: usize = RUNS_MIN;

/// How it is measured.
pub(super) struct Confirming<'a> {
    /// The server that was measured; none when it is somebody else's.
    pub(super) spec: Spec,
    /// Requests and generator, as they were measured.
    pub(super) draft: &'a Draft,
    /// Connections of the load that the limiter was found at.
    pub(super) connections: u32,
    /// True if more may be opened, as more workers ask for them.
    pub(super) may_open_more: bool,
    pub(super) window: Stop,
    pub(super) warmup: Warmup,
    /// Where the record is kept.
    pub(super) directory: &'a Path,
    pub(super) quiet: bool,
    /// Set by ^C.
    pub(super) stop: &'a Arc<AtomicBool>,
}

/// Tries what `limiter` predicts and returns what came out, or why nothing could be tried. The server that was measured must
/// have ended: its port is needed.
pub(super) fn confirm(limiter: &Limiter, how: &Confirming<'_>) -> Result<SessionEvent, CommandError> {
    let unavailable = |why| Ok(SessionEvent::Confirmed { confirmation: None, unavailable: Some(why) });
    let trial = match trial(limiter, &how.spec.limits(), how.connections, how.may_open_more) {
        Ok(trial) => trial,
        Err(why) => return unavailable(why),
    };
    let mut search = Blocks::new(&how.spec, &trial, how.draft.common.seed);
    let mut arms =
        Arms { connections: trial.connections, how, progress: Progress::new(how.quiet), told: BTreeMap::new() };
    let walked = walk(&mut search, &mut arms, how.stop);
    arms.progress.end();
    unless_interrupted(walked)?;
    if how.stop.load(Ordering::Relaxed) {
        return unavailable("interrupted before the end".to_owned());
    }
    let confirmation = Some(Box::new(confirmation(&trial, search.blocks)));
    Ok(SessionEvent::Confirmed { confirmation, unavailable: None })
}

/// Each arm once in each block, in shuffled order.
struct Blocks {
    left: VecDeque<Arm>,
    blocks: Vec<Block>,
}

/// One measurement.
#[derive(Clone)]
struct Arm {
    /// From 0.
    block: usize,
    name: &'static str,
    spec: Spec,
    /// True if its block ends with it.
    is_last: bool,
}

impl Blocks {
    fn new(spec: &Spec, trial: &Trial, seed: u64) -> Self {
        let mut arms = vec![(BEFORE, spec.clone()), (AFTER, spec.with_limit(&trial.setting.key, trial.to))];
        if let Some((setting, to)) = &trial.control {
            arms.push((CONTROL, spec.with_limit(&setting.key, *to)));
        }
        let mut left = VecDeque::new();
        for (block, order) in shuffled_blocks(&arms, BLOCKS, seed).into_iter().enumerate() {
            let arms = order.len();
            let arm = |(i, (name, spec))| Arm { block, name, spec, is_last: i + 1 == arms };
            left.extend(order.into_iter().enumerate().map(arm));
        }
        Self { left, blocks: Vec::new() }
    }
}

impl Search for Blocks {
    type Trial = Arm;
    /// Goodput per second; none where a fault of client or answers made it.
    type Outcome = Option<f64>;

    fn next(&mut self, _now_ns: u64) -> Option<Arm> {
        self.left.front().cloned()
    }

    fn apply(&mut self, arm: &Arm, goodput_per_s: Option<f64>, _now_ns: u64) -> bool {
        self.left.pop_front();
        if self.blocks.len() == arm.block {
            self.blocks.push(Block { order: Vec::new(), goodput_per_s: [].into() });
        }
        let block = &mut self.blocks[arm.block];
        block.order.push(arm.name.to_owned());
        if let Some(per_s) = goodput_per_s {
            block.goodput_per_s.insert(arm.name.to_owned(), per_s);
        }
        true
    }
}

/// Measures the arms.
struct Arms<'a> {
    connections: u32,
    how: &'a Confirming<'a>,
    progress: Progress,
    /// What came of those of the block so far, by name.
    told: BTreeMap<&'static str, f64>,
}

impl Measure<Blocks> for Arms<'_> {
    type Measured = Option<f64>;

    fn measure(&mut self, arm: &Arm) -> Result<(Option<f64>, Option<f64>), CommandError> {
        self.progress.say(&format!("confirming, block {} of {BLOCKS}: {}", arm.block + 1, arm.spec.label));
        let directory = self.how.directory.join("confirm").join(format!("{}-{}", arm.block + 1, arm.name));
        let goodput_per_s = measure(&arm.spec, self.connections, &directory, self.how)?;
        Ok((goodput_per_s, goodput_per_s))
    }

    fn keep(&mut self, arm: &Arm, goodput_per_s: Option<f64>) -> Result<(), CommandError> {
        self.told.extend(goodput_per_s.map(|per_s| (arm.name, per_s)));
        if arm.is_last {
            let told = std::mem::take(&mut self.told);
            let told: Vec<_> = told.iter().map(|(name, per_s)| format!("{name} {}", human::rate(*per_s))).collect();
            self.progress.line(&format!("confirming {}/{BLOCKS}  {}", arm.block + 1, told.join(", ")));
        }
        Ok(())
    }
}

/// Goodput of one arm; none where a fault of client or answers made it.
fn measure(spec: &Spec, connections: u32, directory: &Path, how: &Confirming<'_>) -> Result<Option<f64>, CommandError> {
    let options = SessionOptions { serve: Some(spec), ..plain_session(how.draft, how.stop) };
    let create = |_: &Session| {
        private::create_directory(directory)
            .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", directory.display())))?;
        Ok(directory.to_owned())
    };
    let mut session = Session::new(options, create)?;
    let plan = session.plan(Load::Closed { connections }, how.window, how.warmup);
    let mut load = OpenLoad::alone(directory)?;
    session.measure(&plan, "", &mut load.journal(), Beside::Nothing)?;
    session.check()?;
    let Some(load) = load.evidence() else { return Ok(None) };
    let verdict = judge::judge_run(&load.evidence());
    Ok(faults(&verdict).is_empty().then(|| load.goodput().value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_each_arm_once_and_ends_with_the_last() {
        let spec = Spec::parse("php-fpm children=2").unwrap();
        let setting = spec.limits().into_iter().next().expect("it has one");
        let trial =
            Trial { resource: String::new(), setting, to: 4, predicted_per_s: 200.0, connections: 8, control: None };
        let mut search = Blocks::new(&spec, &trial, 1);
        let mut ends = 0;
        while let Some(arm) = search.next(0) {
            ends += usize::from(arm.is_last);
            assert_eq!(search.blocks.len(), arm.block + usize::from(arm.is_last));
            search.apply(&arm, (arm.name == AFTER).then_some(7.0), 0);
        }
        assert_eq!((search.blocks.len(), ends), (BLOCKS, BLOCKS));
        for block in &search.blocks {
            let mut order = block.order.clone();
            order.sort();
            assert_eq!(order, [AFTER, BEFORE]);
            assert_eq!(block.goodput_per_s, [(AFTER.to_owned(), 7.0)].into(), "a fault leaves none");
        }
    }
}
