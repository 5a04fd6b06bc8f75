//! Profiles of the variants, each in a trial of its own after the blocks: what sampling costs is in no figure.

use super::Arms;
use crate::coordinate::compare::ServedBefore;
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::profiling::difference::{Half, keep_difference, php_function_changes, php_unrelated};
use crate::profiling::{Sampled, keep, remove_samples};
use crate::session::Beside;
use crate::store::private;
use model::{ArmProfile, CompareLoad, CompareSettings, Redacted, SessionEvent, Stop};
use report::flame::function_changes;
use report::record::PROFILES_FOLDER;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Length of the window, in measured times of a variant in a block: more samples for little time.
const WINDOWS: u64 = 2;

impl Arms<'_> {
    /// Profiles each variant once, and draws what changed from the baseline to each other one. What stands in the way of one
    /// of them is told: the comparison is whole without.
    pub(in crate::verbs::compare) fn profile(&mut self) {
        self.tell_block();
        let load =
            if self.options.loads.contains(&CompareLoad::Fixed) { CompareLoad::Fixed } else { CompareLoad::Saturated };
        let mut baseline: Option<Half> = None;
        for index in 0..self.options.arms.len() {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let mut profile = ArmProfile {
                arm: self.arm_name(index).to_owned(),
                load,
                profile: None,
                unavailable: None,
                functions: Vec::new(),
                php_functions: Vec::new(),
            };
            match self.profiled(index, load) {
                Err(error) if error.exit == Exit::Interrupted => return,
                Err(error) => {
                    printer::note(&format!("warning: no profile of '{}': {}", profile.arm, error.message));
                    profile.unavailable = Some(error.message);
                }
                Ok(half) => {
                    profile.profile = Some(half.profiled.clone());
                    match &baseline {
                        None if index == 0 => baseline = Some(half),
                        None => {}
                        Some(before) => {
                            php_unrelated(before, &half).iter().for_each(|why| printer::note(why));
                            profile.functions = function_changes(before.side(), half.side());
                            profile.php_functions = php_function_changes(before, &half);
                            if let Err(error) = keep_difference(self.journal.directory(), index, before, &half) {
                                printer::note(&format!("warning: {}; the figures are kept", error.message));
                            }
                        }
                    }
                }
            }
            self.journal.tell(SessionEvent::ArmProfiled { profile: Box::new(profile) });
        }
    }

    /// One profiled load of a variant, kept in a folder of its own.
    fn profiled(&mut self, index: usize, load: CompareLoad) -> Result<Half, CommandError> {
        let label = format!("profile of '{}', {}: ", self.arm_name(index), load.words());
        self.progress.say(&label);
        // The server of another variant may hold the port.
        self.running.clear();
        let mut session = self.fresh_session(index)?;
        self.rest(index, ServedBefore::Nothing);
        session.directory = self.profile_folder(index)?;
        let alone = CompareSettings { at_once: None, ..self.settings.clone() };
        let (load, _, warmup) = self.options.trial(self.args, load, ServedBefore::Nothing, &alone)?;
        let window = Stop::Duration { duration_ns: WINDOWS.saturating_mul(self.settings.measured_ns()) };
        let plan = session.plan(load, window, warmup);
        let mut load = self.journal.open_load(&format!("profile-{}", index + 1))?;
        std::mem::swap(&mut session.progress, &mut self.progress);
        let measured = session.measure(&plan, &label, &mut load.journal(), Beside::Sampling);
        let sampled = measured.map(|measured| measured.sampling.map(|sampling| session.name(sampling, &self.journal)));
        std::mem::swap(&mut session.progress, &mut self.progress);
        let sampled = sampled?.ok_or_else(nothing_sampled)?;
        let goodput_per_s = load.evidence().map(|load| load.goodput().value);
        let load = self.journal.close_load(load);
        self.journal.leave_out(&load);
        if session.is_interrupted() {
            return Err(CommandError::interrupted());
        }
        session.check()?;
        let (folded, php) = match &sampled {
            Sampled::Profile(profile, php) => (profile.folded.clone(), php.as_ref().map(|php| php.folded.clone())),
            Sampled::Unavailable(_) => (String::new(), None),
        };
        let event = keep(&session.directory, sampled, goodput_per_s, &Redacted::url(&plan.target.url));
        remove_samples(&session.directory);
        let SessionEvent::Profiled { profiled, unavailable } = event else {
            return Err(nothing_sampled());
        };
        let profiled = profiled.ok_or_else(|| CommandError::usage(unavailable.unwrap_or_default()))?;
        let name = self.arm_name(index).to_owned();
        Half::new(name, folded, php, *profiled)
            .ok_or_else(|| CommandError::usage("no good response while it was profiled"))
    }

    /// Where the files of a variant go: by number, as a name may be anything.
    fn profile_folder(&self, index: usize) -> Result<PathBuf, CommandError> {
        let folder = self.journal.directory().join(PROFILES_FOLDER).join((index + 1).to_string());
        private::create_directory(&folder)
            .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", folder.display())))?;
        Ok(folder)
    }
}

fn nothing_sampled() -> CommandError {
    CommandError::usage("nothing was sampled")
}
