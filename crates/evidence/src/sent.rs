//! What a load has sent, and the connections that it has tried for it, over all phases.

use model::{Connections, Evidence, Fruitless, Phase, SentInAll, Tick};

/// Takes in a tick.
pub(crate) fn add_tick(evidence: &mut Evidence, tick: &Tick) {
    evidence.sent_in_all.iter_mut().for_each(|sent| sent.add(&in_phase(tick)));
    let lost = &tick.flow.fruitless;
    tried(&mut evidence.connections, tick.flow.opened + lost.never_open(), lost);
}

/// So many attempts to open a connection were made, and of these some came to nothing.
pub(crate) fn tried(connections: &mut Connections, attempts: u64, fruitless: &Fruitless) {
    *connections.attempts.get_or_insert(0) += attempts;
    connections.fruitless.add(fruitless);
}

/// Adds the connections of another iteration of the same load; of those at its start stand those of the worse one.
pub(crate) fn add_connections(sum: &mut Connections, more: &Connections) {
    // Fairness is counted with the requests.
    let Connections { requested, established, opened, reconnects, grown, attempts, fruitless, fairness: _ } = more;
    sum.requested = sum.requested.max(*requested);
    sum.established = sum.established.min(*established);
    sum.opened += opened;
    sum.reconnects += reconnects;
    sum.grown += grown;
    sum.attempts = sum.attempts.zip(*attempts).map(|(sum, more)| sum + more);
    sum.fruitless.add(fruitless);
}

/// What was sent in a tick, by what it was sent for.
fn in_phase(tick: &Tick) -> SentInAll {
    let (sent, none) = (tick.flow.sent, SentInAll::default());
    match tick.phase {
        Phase::Warmup => SentInAll { warmup: sent, ..none },
        Phase::Measure => SentInAll { window: sent, ..none },
        Phase::Drain => SentInAll { after: sent, ..none },
    }
}
