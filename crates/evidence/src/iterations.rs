//! Evidence of several iterations of one load, added up.

use crate::sent::add_connections;
use crate::threads::add_threads;
use model::{AgentRecord, Evidence, SentInAll, TlsSession};

/// Adds the evidence of another iteration to `sum`: what is counted as events come in, and not what
/// [`crate::EvidenceBuilder::evidence`] makes of it.
pub(crate) fn add(sum: &mut Evidence, more: &Evidence) {
    let Evidence {
        plan: _,
        load_unknown: _,
        probe,
        measured_ns,
        iterations,
        flow,
        cohort,
        sent_in_all,
        connections,
        tls,
        seconds,
        threads,
        sends_ns,
        agents,
        settled,
        interrupted,
        // These are made of other sums.
        latency: _,
        service_bins: _,
        outstanding: _,
        observed: _,
        client_machine: _,
        disturbance: _,
        status: _,
        // These are of the whole measurement.
        profile: _,
        fingerprint: _,
        bandwidth: _,
        changes: _,
    } = more;
    if sum.probe.is_none() {
        sum.probe.clone_from(probe);
    }
    sum.measured_ns += measured_ns;
    sum.iterations += iterations;
    sum.flow.add(flow);
    sum.cohort.add(cohort);
    sum.sent_in_all = SentInAll::sum([sum.sent_in_all, *sent_in_all]);
    add_connections(&mut sum.connections, connections);
    add_sessions(&mut sum.tls, tls.as_ref());
    sum.seconds.extend_from_slice(seconds);
    add_threads(&mut sum.threads, threads);
    if sum.sends_ns.is_empty() {
        sum.sends_ns.clone_from(sends_ns);
    }
    add_agents(&mut sum.agents, agents);
    sum.settled &= settled;
    sum.interrupted |= interrupted;
}

/// Adds the resumed sessions; version and cipher stay those of the first iteration that has any.
fn add_sessions(sum: &mut Option<TlsSession>, more: Option<&TlsSession>) {
    match (sum, more) {
        (Some(sum), Some(TlsSession { version: _, cipher: _, resumed })) => sum.resumed += resumed,
        (sum @ None, Some(more)) => *sum = Some(more.clone()),
        (_, None) => {}
    }
}

/// Adds what agents did, each to that with its number.
fn add_agents(sum: &mut Vec<AgentRecord>, more: &[AgentRecord]) {
    for agent in more {
        match sum.iter_mut().find(|known| known.source == agent.source) {
            Some(known) => known.merge(agent),
            None => sum.push(agent.clone()),
        }
    }
}
