//! Looks at machine, server and generator after each tick of a load: on the thread that collects the ticks, which
//! carries no load, and on the load's own time axis.

use crate::target_url::is_local;
use engine::clock::{Clock, monotonic_ns, thread_cpu_ns};
use model::{Address, Event, Phase, Sample};
use observe::{Clocks, Observer, TakenFingerprint, Wanted};
use std::collections::BTreeSet;
use std::time::Duration;

/// Looks at a machine without load: so many that the processes of a busy one are seen, of which not each look tells all.
const LOOKS: usize = 5;
/// Time between them.
const LOOK: Duration = Duration::from_millis(200);

/// Turns ticks into samples.
pub(crate) struct Watch {
    observer: Observer,
    clock: Option<Clock>,
}

impl Watch {
    /// Finds the processes of the server, whoever listens at `address` unless it is named, and those that are `wanted`
    /// besides, which takes a moment.
    pub(crate) fn new(address: &Address, server: Option<&Wanted>, wanted: &[Wanted]) -> Self {
        Self { observer: observer(address, is_local(address), server, wanted), clock: None }
    }

    /// Starts once the connections are open: the next thing the engine does is to start the clock of the load.
    pub(crate) fn start_after(&mut self, event: &Event) {
        if let Event::Connected { .. } = event {
            self.observer.start(0);
            self.observer.watch_states(Clocks { thread_cpu_ns, monotonic_ns });
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

/// What happens on this machine for a moment in which no load runs, look by look.
pub(crate) fn idle(address: &Address, is_here: bool, server: Option<&Wanted>, wanted: &[Wanted]) -> Vec<Sample> {
    let mut observer = observer(address, is_here, server, wanted);
    let clock = Clock::start();
    observer.start(clock.now_ns());
    let look = |_| {
        std::thread::sleep(LOOK);
        observer.sample(clock.now_ns(), Phase::Measure)
    };
    (0..LOOKS).map(look).collect()
}

/// What the kernel tells of this very moment, which costs next to nothing.
pub(crate) fn glance(address: &Address) -> Sample {
    let mut observer = Observer::new(address.clone(), false, &[]);
    observer.start(0);
    observer.sample(0, Phase::Measure)
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
pub(crate) fn fingerprint(address: &Address, server: Option<&Wanted>, wanted: &[Wanted]) -> TakenFingerprint {
    TakenFingerprint::new(observe::fingerprint(&observer(address, is_local(address), server, wanted)))
}

fn observer(address: &Address, is_here: bool, server: Option<&Wanted>, wanted: &[Wanted]) -> Observer {
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
