//! `--confirm`: raises the limit that was found, and looks whether the server does what was predicted.
//!
//! Blocks of one measurement with the change and one without, in shuffled order, the server started anew for each; where
//! something else is known not to be short, a third measurement changes that instead.
//!
//! A server that was only reconfigured would keep what it has learnt.

use crate::cli::observe::ObserverArgs;
use crate::cli::{GeneratorArgs, RequestArgs};
use crate::exit::CommandError;
use crate::progress::Progress;
use crate::session::{Session, SessionOptions};
use crate::store::Recorder;
use judge::limiter::confirm::{AFTER, BEFORE, CONTROL, Trial, confirmation, trial};
use judge::limiter::faults;
use model::{Block, Limiter, Load, SessionEvent, Stop, Warmup, human};
use stack::Spec;
use stats::{RUNS_MIN, shuffled_blocks};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// As few as give an interval.
const BLOCKS: usize = RUNS_MIN;

/// How it is measured.
pub(crate) struct Confirming<'a> {
    /// The server that was measured; none when it is somebody else's.
    pub(crate) spec: Option<Spec>,
    pub(crate) request: &'a RequestArgs,
    pub(crate) generator: &'a GeneratorArgs,
    /// Connections of the load that the limiter was found at.
    pub(crate) connections: u32,
    /// Whether more may be opened, as more workers ask for them.
    pub(crate) may_open_more: bool,
    pub(crate) window: Stop,
    pub(crate) warmup: Warmup,
    /// Where the record is kept.
    pub(crate) directory: &'a Path,
    pub(crate) quiet: bool,
    /// Set by ^C.
    pub(crate) stop: &'a Arc<AtomicBool>,
}

/// Tries what `limiter` predicts and returns what came out, or why nothing could be tried. The server that was measured must
/// have ended: its port is needed.
pub(crate) fn confirm(limiter: &Limiter, how: &Confirming<'_>) -> Result<SessionEvent, CommandError> {
    let unavailable = |why| Ok(SessionEvent::Confirmed { confirmation: None, unavailable: Some(why) });
    let planned = match &how.spec {
        None => Err("--confirm changes servers that plimsoll itself has started (--serve)".to_owned()),
        Some(spec) => trial(limiter, &spec.limits(), how.connections, how.may_open_more).map(|trial| (spec, trial)),
    };
    let (spec, trial) = match planned {
        Ok(planned) => planned,
        Err(why) => return unavailable(why),
    };
    let blocks = blocks(spec, &trial, how)?;
    if how.stop.load(Ordering::Relaxed) {
        return unavailable("interrupted before the end".to_owned());
    }
    let confirmation = Some(Box::new(confirmation(&trial, blocks)));
    Ok(SessionEvent::Confirmed { confirmation, unavailable: None })
}

fn blocks(spec: &Spec, trial: &Trial, how: &Confirming<'_>) -> Result<Vec<Block>, CommandError> {
    let mut arms = vec![(BEFORE, spec.clone()), (AFTER, spec.with_limit(&trial.setting.key, trial.to))];
    if let Some((setting, to)) = &trial.control {
        arms.push((CONTROL, spec.with_limit(&setting.key, *to)));
    }
    let progress = Progress::new(how.quiet);
    let mut blocks = Vec::new();
    for (i, order) in shuffled_blocks(&arms, BLOCKS, how.generator.seed).into_iter().enumerate() {
        let mut block = Block { order: Vec::new(), goodput_per_s: [].into() };
        for (arm, spec) in &order {
            if how.stop.load(Ordering::Relaxed) {
                return Ok(blocks);
            }
            progress.say(&format!("confirming, block {} of {BLOCKS}: {}", i + 1, spec.label));
            block.order.push((*arm).to_owned());
            let directory = how.directory.join("confirm").join(format!("{}-{arm}", i + 1));
            if let Some(per_s) = measure(spec, trial.connections, &directory, how)? {
                block.goodput_per_s.insert((*arm).to_owned(), per_s);
            }
        }
        let told: Vec<_> =
            block.goodput_per_s.iter().map(|(arm, per_s)| format!("{arm} {}", human::rate(*per_s))).collect();
        progress.line(&format!("confirming {}/{BLOCKS}  {}", i + 1, told.join(", ")));
        blocks.push(block);
    }
    progress.end();
    Ok(blocks)
}

/// Goodput of one arm; none where a fault of client or answers made it.
fn measure(spec: &Spec, connections: u32, directory: &Path, how: &Confirming<'_>) -> Result<Option<f64>, CommandError> {
    let options = SessionOptions {
        url: None,
        serve: Some(spec),
        request: how.request,
        generator: how.generator,
        beside: &ObserverArgs::default(),
        is_observed: true,
        quiet: true,
        is_known: true,
        stop: Arc::clone(how.stop),
    };
    let create = |_: &str| {
        std::fs::create_dir_all(directory)
            .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", directory.display())))?;
        Ok(directory.to_owned())
    };
    let mut session = Session::new(options, create)?;
    let plan = session.plan(Load::Closed { connections }, how.window, how.warmup);
    let gather = session.measure(&plan, "", &mut Recorder::open(directory)?)?;
    session.check()?;
    let verdict = judge::judge_run(&gather.evidence());
    Ok(faults(&verdict).is_empty().then(|| gather.goodput().value))
}
