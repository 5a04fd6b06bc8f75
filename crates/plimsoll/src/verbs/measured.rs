//! What the verbs that measure have in common: their target as it was typed, checked before anything is started, and the session
//! that measures it.

use crate::cli::MeasuredArgs;
use crate::exit::CommandError;
use crate::session::SessionOptions;
use crate::session::agents::AgentsFrom;
use crate::settings::clients::{self, Machines};
use crate::settings::draft::Draft;
use crate::settings::selectors::Selectors;
use model::{Quantile, Warmup};
use stack::Spec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A target, as far as it can be checked before anything is started.
pub(super) struct CheckedTarget {
    /// Servers to be started.
    pub(super) specs: Vec<Spec>,
    /// Requests and generator.
    pub(super) draft: Draft,
    /// Other machines that load or observe it.
    pub(super) machines: Machines,
}

impl CheckedTarget {
    /// Checks the flags, beside the servers of `serve`. The smallest load has so many connections, by a flag. A condition is
    /// about each of the `limited` quantiles.
    pub(super) fn new(
        args: &MeasuredArgs,
        serve: &[String],
        (warmup, is_warmup_typed): (Warmup, bool),
        smallest: (&str, u32),
        limited: Vec<Quantile>,
    ) -> Result<Self, CommandError> {
        let machines = Machines::new(&args.clients, serve, &args.observe, warmup, smallest)?;
        let specs = clients::specs(&args.clients, serve)?;
        let draft = Draft::new(&args.request, &args.generator)?.beside(&args.observe).with_warmup(is_warmup_typed);
        let mut quantiles: Vec<_> = args.quantiles.iter().copied().chain(limited).collect();
        quantiles.sort_unstable();
        quantiles.dedup();
        quantiles.retain(|quantile| !Quantile::USUAL.contains(quantile));
        let draft = draft.with_quantiles(quantiles).with_slo(args.slo.map(|time| time.ns));
        let draft = clients::direct(&args.clients, serve, draft);
        Ok(Self { specs, draft, machines })
    }

    /// Options of the session that measures it, of whichever of several targets.
    pub(super) fn session_options(
        &self,
        args: &MeasuredArgs,
        stop: &Arc<AtomicBool>,
    ) -> Result<SessionOptions<'_>, CommandError> {
        Ok(SessionOptions {
            agents: AgentsFrom::Start(&self.machines),
            selectors: clients::selectors(&args.clients, &args.observe, &self.draft.trust_of_pages()?)?,
            is_observed: !args.no_observe,
            quiet: false,
            is_known: false,
            ..plain_session(&self.draft, stop)
        })
    }
}

/// Options of a session beside the one that is told: on this machine, observed by itself, and silent.
pub(super) fn plain_session<'a>(draft: &'a Draft, stop: &Arc<AtomicBool>) -> SessionOptions<'a> {
    SessionOptions {
        agents: AgentsFrom::None,
        url: None,
        serve: None,
        cpus: None,
        draft,
        selectors: Selectors::default(),
        is_observed: true,
        quiet: true,
        is_known: true,
        stop: Arc::clone(stop),
    }
}
