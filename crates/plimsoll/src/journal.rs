//! The journal of a measurement: the only way to tell an event of it. Each is redacted, taken into the record as of now, written
//! down, and shown.

use crate::exit::CommandError;
use crate::outlet::{Outlet, Sink};
use crate::profiling::{ENDED_BEFORE, no_profile};
use crate::result::{LoadState, Measurement};
use crate::store::{self, Recorder};
use evidence::EvidenceBuilder;
use model::{Begun, Event, MeasurementKind, Redacted, SentInAll, SessionEvent};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Scope;

/// The journal of a measurement as a whole.
pub(crate) struct Journal {
    directory: PathBuf,
    recorder: Recorder,
    measurement: Measurement,
}

impl Journal {
    /// Begins it in `directory`, which exists.
    ///
    /// # Errors
    /// When its files cannot be made.
    pub(crate) fn begin(directory: &Path, begun: Begun) -> Result<Self, CommandError> {
        let mut recorder = match begun.measurement {
            MeasurementKind::Run { .. } => Recorder::open(directory)?,
            MeasurementKind::Sweep { .. } | MeasurementKind::Capacity { .. } | MeasurementKind::Compare { .. } => {
                Recorder::without_histograms(directory)?
            }
        };
        // The result is made of what is written, so that it is the same when it is made again.
        let begun = Redacted::new(begun);
        let measurement = Measurement::new(begun.clone().into_inner());
        recorder.take(&begun.into());
        Ok(Self { directory: directory.to_owned(), recorder, measurement })
    }

    /// Tells an event of the measurement as a whole.
    pub(crate) fn tell(&mut self, event: SessionEvent) {
        let event: Redacted<Event> = Redacted::new(event).into();
        self.measurement.apply(None, &event);
        self.recorder.take(&event);
    }

    /// Writes the result down as a kill from now on would leave it: what follows reads files that others have written.
    pub(crate) fn store_so_far(&self) {
        let mut measurement = self.measurement.clone();
        let facts = measurement.facts();
        let unprofiled = (facts.wants_profile() && !facts.is_profiled()).then(|| no_profile(ENDED_BEFORE));
        let ended = SessionEvent::Finished { interrupted: true };
        for event in unprofiled.into_iter().chain([ended]) {
            measurement.apply(None, &Event::Session(event));
        }
        // Without a record there is nothing yet that a kill could take away.
        if let Ok(record) = measurement.record() {
            store::write_so_far(&self.directory, &report::json::record(record.as_ref()));
        }
    }

    /// What has been told so far.
    pub(crate) const fn measurement(&self) -> &Measurement {
        &self.measurement
    }

    /// Where it is written.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The journal of the only load of a run.
    pub(crate) fn only_load(&mut self) -> LoadJournal<'_> {
        LoadJournal { load: self.measurement.only_load_mut(), recorder: &mut self.recorder }
    }

    /// Opens that of one of several loads, in a directory of its own whose name ends with `name`.
    ///
    /// # Errors
    /// When its files cannot be made.
    pub(crate) fn open_load(&self, name: &str) -> Result<OpenLoad, CommandError> {
        let (directory, recorder) = Recorder::of_load(&self.directory, name)?;
        Ok(OpenLoad { directory, recorder, load: LoadState::default() })
    }

    /// Closes that of a load that has ended, and returns its directory below that of the measurement. The load has no place in
    /// the result until an event gives it one.
    pub(crate) fn close_load(&mut self, load: OpenLoad) -> String {
        let OpenLoad { directory, load, .. } = load;
        self.measurement.add_load(directory.clone(), load);
        directory
    }

    /// Tells what a load has sent that gets no place in the result.
    pub(crate) fn leave_out(&mut self, directory: &str) {
        let sent = self.measurement.forget_load(directory);
        self.tell_sent(sent);
    }

    /// Leaves out a load of which nothing is told, as it was put on no target of the measurement.
    pub(crate) fn forget(&mut self, directory: &str) {
        self.measurement.forget_load(directory);
    }

    /// Tells what a search within a comparison has sent that gets no place in the result.
    pub(crate) fn leave_out_search(&mut self) {
        let sent = self.measurement.forget_search();
        self.tell_sent(sent);
    }

    fn tell_sent(&mut self, sent: impl IntoIterator<Item = SentInAll>) {
        sent.into_iter().for_each(|sent| self.tell(SessionEvent::AlsoSent { sent }));
    }
}

/// The journal of one load while it is open, apart from that of its measurement, as two loads may run at the same time.
pub(crate) struct OpenLoad {
    /// Below that of the measurement.
    directory: String,
    recorder: Recorder,
    load: LoadState,
}

impl OpenLoad {
    /// Opens that of a load that is part of no result, in `directory`, which exists.
    ///
    /// # Errors
    /// When its files cannot be made.
    pub(crate) fn alone(directory: &Path) -> Result<Self, CommandError> {
        Ok(Self { directory: String::new(), recorder: Recorder::open(directory)?, load: LoadState::default() })
    }

    pub(crate) const fn journal(&mut self) -> LoadJournal<'_> {
        LoadJournal { load: &mut self.load, recorder: &mut self.recorder }
    }

    /// The evidence so far. `None` if the load has not started.
    pub(crate) const fn evidence(&self) -> Option<&EvidenceBuilder> {
        self.load.evidence()
    }
}

/// Where the events of one load are told.
pub(crate) struct LoadJournal<'a> {
    load: &'a mut LoadState,
    recorder: &'a mut Recorder,
}

impl LoadJournal<'_> {
    /// Begins to hand events on to the disk and to `sink`, each on a thread of `scope`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn publish<'scope, S: Sink>(
        &'scope mut self,
        scope: &'scope Scope<'scope, '_>,
        sink: &'scope mut S,
    ) -> Result<PublishedLoad<'scope>, CommandError> {
        let outlets = [Outlet::start(scope, &mut *self.recorder)?, Outlet::start(scope, sink)?];
        Ok(PublishedLoad { load: &mut *self.load, outlets })
    }

    /// Tells an event after the load has ended.
    pub(crate) fn tell(&mut self, event: Event) {
        let event = Redacted::new(event);
        self.load.apply(&event);
        self.recorder.take(&event);
    }

    /// The evidence so far. `None` if the load has not started.
    pub(crate) const fn evidence(&self) -> Option<&EvidenceBuilder> {
        self.load.evidence()
    }
}

/// A load whose events are handed on as they come.
pub(crate) struct PublishedLoad<'a> {
    load: &'a mut LoadState,
    outlets: [Outlet; 2],
}

impl PublishedLoad<'_> {
    pub(crate) fn tell(&mut self, event: Redacted<Event>) {
        self.load.apply(&event);
        let event = Arc::new(event);
        self.outlets.iter_mut().for_each(|outlet| outlet.send(&event));
    }
}
