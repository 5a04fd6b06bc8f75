//! Observers of a load: machine and server, status pages, profile, backlog, and conditions that end it.

use crate::profiling::Sampling;
use crate::session::abort::AbortObserver;
use crate::session::backlog::BacklogWatch;
use crate::session::partner::Partner;
use crate::session::server_host::ServerWatch;
use crate::session::status::StatusPages;
use crate::session::watch::Watch;
use model::Event;

/// All that looks on while a load runs.
pub(crate) struct Observers<'a> {
    pub(crate) watch: Watch,
    /// Only where the server is observed on another machine.
    pub(crate) server_watch: Option<ServerWatch<'a>>,
    pub(crate) pages: StatusPages,
    /// Only in profiled runs.
    pub(crate) sampling: Option<&'a mut Sampling>,
    /// Only in trials of a search for a capacity.
    pub(crate) backlog: Option<&'a mut BacklogWatch>,
    /// Only of loads that a condition may end.
    pub(crate) abort: Option<&'a mut AbortObserver>,
    /// Only where another load runs at the same time.
    pub(crate) partner: Option<&'a Partner>,
}

impl Observers<'_> {
    /// What belongs to an event; taken before the event is written down, which may take a moment.
    pub(crate) fn look(&mut self, event: &Event) -> impl Iterator<Item = Event> + use<> {
        if let Some(sampling) = &mut self.sampling {
            sampling.follow(event);
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.follow(event);
        }
        if let Some(abort) = &mut self.abort {
            abort.follow(event);
        }
        let status = match event {
            Event::Tick(tick) => self.pages.until(tick),
            _ => self.pages.around(event),
        };
        let there = self.server_watch.as_mut().map(|watch| watch.look(event)).unwrap_or_default();
        [self.watch.account(event), self.watch.look(event), status].into_iter().flatten().chain(there)
    }

    /// Starts what begins with the load, whose clock starts next; that of a partner with it.
    pub(crate) fn start_after(&mut self, event: &Event) {
        let partner = self.partner.filter(|_| matches!(event, Event::Connected { .. }));
        // Only now the threads of both are there to be told apart.
        partner.iter().for_each(|partner| partner.meet());
        self.server_watch.iter_mut().for_each(|watch| watch.start_after(event));
        self.watch.start_after(event);
        partner.iter().for_each(|partner| partner.meet());
    }
}
