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

/// Adds another iteration of the same load; of the connections at its start those of the worse one.
pub(crate) fn merge(mine: &mut Evidence, theirs: &Evidence) {
    mine.sent_in_all = SentInAll::sum([mine.sent_in_all, theirs.sent_in_all]);
    let (a, b) = (&mut mine.connections, &theirs.connections);
    a.requested = a.requested.max(b.requested);
    a.established = a.established.min(b.established);
    a.opened += b.opened;
    a.reconnects += b.reconnects;
    a.grown += b.grown;
    a.attempts = a.attempts.zip(b.attempts).map(|(a, b)| a + b);
    a.fruitless.add(&b.fruitless);
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
