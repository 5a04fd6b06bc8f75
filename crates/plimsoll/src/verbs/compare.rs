//! `plimsoll compare`: a baseline and variants of it, measured in blocks, judged.

mod arms;
mod capacity;
mod stored;

use crate::cli::compare::CompareArgs;
use crate::coordinate::compare::BlockSearch;
use crate::coordinate::walk;
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::output::progress::Progress;
use crate::settings::compare::{CompareOptions, fail_if};
use crate::verbs::conclude::conclude;
use crate::verbs::measured::CheckedTarget;
use arms::{Arms, Looked};
use model::human::{percent, plural, rate, time};
use model::{CompareLoad, CompareSettings, SessionEvent};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, CommandError> {
    if let Some(directories) = stored::directories(args)? {
        return stored::compare(args, &directories);
    }
    let checked = Checked::new(args)?;
    measure(args, &checked, &interrupt::watch()?)
}

/// What was typed, as far as it can be checked before anything is started.
pub(super) struct Checked {
    options: CompareOptions,
    pub(super) target: CheckedTarget,
}

impl Checked {
    pub(super) fn new(args: &CompareArgs) -> Result<Self, CommandError> {
        let options = CompareOptions::new(args)?;
        let smallest = ("-c", args.connections.0 as u32);
        let typed_warmup = (options.warmup, args.warmup.is_some());
        // The servers have been checked, by the names of their variants.
        let target = CheckedTarget::new(&args.measured, &args.serve, typed_warmup, smallest, Vec::new())?;
        Ok(Self { options, target })
    }

    /// About how long it takes at most, without starting and ending; ns.
    pub(super) fn expected_ns(&self) -> u64 {
        self.options.expected_ns()
    }
}

/// Measures until the end, or until `stop` is set.
pub(super) fn measure(args: &CompareArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    let options = &checked.options;
    let Looked { arms: looked, pilots_per_s, mut journal, before, agents, sessions, has_canary, check, are_apart } =
        arms::look(args, checked, stop)?;
    options.check_rate(&pilots_per_s)?;
    let settings = options.settings(&pilots_per_s, has_canary, are_apart);
    let progress = Progress::new(args.output.quiet);
    progress.line(&begin_line(&settings, &pilots_per_s));
    check.iter().for_each(|row| progress.line(&report::terminal::check_row(row)));
    journal.tell(SessionEvent::Blocks { settings: Box::new(settings.clone()), arms: looked, check });
    let looked = (journal, agents, sessions);
    let mut arms = Arms::new(args, checked, stop, settings.clone(), looked, progress);
    let mut search = BlockSearch::new(settings);
    let walked = walk(&mut search, &mut arms, stop);
    if args.profile && walked.is_ok() {
        arms.profile();
    }
    arms.tell_loss();
    let mut journal = arms.end();
    if !journal.measurement().has_loads() {
        walked?;
        return Err(CommandError::interrupted());
    }
    journal.tell(SessionEvent::Changed { changes: before.changes() });
    conclude(journal, walked, stop, &args.output, Some(&args.files))
}

fn begin_line(settings: &CompareSettings, pilots_per_s: &[f64]) -> String {
    let pilots: Vec<String> = pilots_per_s.iter().map(|per_s| rate(*per_s)).collect();
    let fixed = match settings.loads.contains(&CompareLoad::Fixed) {
        true => format!("; fixed load {}", rate(settings.rate_per_s)),
        false => String::new(),
    };
    let until = settings.precision.map_or_else(
        || plural(settings.blocks_max, "block"),
        |wanted| format!("until the intervals are ± {} wide, in blocks", percent(wanted)),
    );
    let searched = settings.capacity.as_ref().map_or_else(String::new, |capacity| {
        format!("; searches of {} for the rate with {}", time(capacity.budget_ns as f64), capacity.goal)
    });
    format!(
        "closed loops: {} good{fixed}{searched}; {until} of about {}, at most {}",
        pilots.join(", "),
        time(settings.times.block_ns as f64),
        time(settings.times.budget_ns as f64)
    )
}
