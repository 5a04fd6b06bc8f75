//! Looks at machine, server and generator after each tick of a load: on the thread that collects the ticks, which
//! carries no load, and on the load's own time axis.

use crate::target_url::is_local;
use engine::clock::{Clock, thread_cpu_ns};
use model::{Address, Event, Fingerprint, Sample};
use observe::{Observer, Wanted};
use std::collections::BTreeSet;

/// Turns ticks into samples.
pub(crate) struct Watch {
    observer: Observer,
    clock: Option<Clock>,
}

impl Watch {
    /// Finds the processes of the server, whoever listens at `address` unless it is named, and those that are `wanted`
    /// besides, which takes a moment.
    pub(crate) fn new(address: &Address, server: Option<&Wanted>, wanted: &[Wanted]) -> Self {
        Self { observer: observer(address, server, wanted), clock: None }
    }

    /// Starts once the connections are open: the next thing the engine does is to start the clock of the load.
    pub(crate) fn start_after(&mut self, event: &Event) {
        if let Event::Connected { .. } = event {
            self.observer.start(0);
            self.clock = Some(Clock::start());
        }
    }

    /// The sample that belongs to a tick.
    pub(crate) fn look(&mut self, event: &Event) -> Option<Event> {
        let (Event::Tick(tick), Some(clock)) = (event, self.clock) else { return None };
        let before_ns = thread_cpu_ns();
        let sample = self.observer.sample(clock.now_ns(), tick.phase);
        let look_cpu_ns = Some(thread_cpu_ns() - before_ns);
        Some(Event::Observed(Box::new(Sample { look_cpu_ns, ..sample })))
    }
}

/// The processes that are watched beside those behind the target's port: the `parts` of a server that was started here,
/// and what `--observe` names.
pub(crate) fn wanted<'a>(parts: impl IntoIterator<Item = (&'a str, i32)>, asked: &[Wanted]) -> Vec<Wanted> {
    let parts = parts.into_iter().map(|(name, pid)| Wanted::Part { label: name.to_owned(), pid });
    distinct(parts.chain(asked.iter().cloned()))
}

/// Without those that are shown by the same name as one before.
pub(crate) fn distinct(all: impl Iterator<Item = Wanted>) -> Vec<Wanted> {
    let mut labels = BTreeSet::new();
    all.filter(|wanted| labels.insert(wanted.label())).collect()
}

/// What this machine is, and the programs of the server and of what is `wanted` besides.
pub(crate) fn fingerprint(address: &Address, server: Option<&Wanted>, wanted: &[Wanted]) -> Fingerprint {
    observe::fingerprint(&observer(address, server, wanted))
}

fn observer(address: &Address, server: Option<&Wanted>, wanted: &[Wanted]) -> Observer {
    let is_here = is_local(address);
    match server {
        Some(server) => Observer::with_server(address.clone(), is_here, server, wanted),
        None => Observer::new(address.clone(), is_here, wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_twice_is_watched_once() {
        let asked = ["mariadbd", "php-fpm", "77"].map(|text| Wanted::parse(text).unwrap());
        let all = wanted([("nginx", 5), ("php-fpm", 6)], &asked);
        let labels: Vec<_> = all.iter().map(Wanted::label).collect();
        assert_eq!(labels, ["nginx", "php-fpm", "mariadbd", "77"]);
        assert_eq!(all[1], Wanted::Part { label: "php-fpm".into(), pid: 6 });
    }
}
