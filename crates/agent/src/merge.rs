//! Ticks of all agents added up, second by second. Times count from each agent's own start, so that no clocks are compared.

use model::{AgentShare, SliceFlow, SourceId, ThreadUse, Tick};
use std::collections::BTreeMap;

/// What has been delivered by an agent from which nothing more comes.
const OVER: u64 = u64::MAX;

/// Collects ticks until every agent that still runs has delivered its part.
#[derive(Clone, Debug)]
pub struct Merge {
    agents: Vec<Delivery>,
    /// Load threads of all.
    threads: usize,
    /// Unfinished ticks by the instant they begin.
    open: BTreeMap<u64, Partial>,
}

#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Its first load thread among all.
    first: usize,
    /// How far it has delivered; [`OVER`] once nothing more comes.
    until_ns: u64,
}

#[derive(Clone, Debug)]
struct Partial {
    sum: Tick,
    slices: BTreeMap<u64, SliceFlow>,
}

/// The number of an agent in ticks: 0 is the process itself.
#[must_use]
pub const fn source(agent: usize) -> SourceId {
    SourceId(agent as u16 + 1)
}

impl Merge {
    /// For agents with so many load threads each.
    #[must_use]
    pub fn new(threads: impl IntoIterator<Item = u32>) -> Self {
        let mut sum = 0;
        let deliveries = threads.into_iter().map(|n| {
            let first = sum;
            sum += n as usize;
            Delivery { first, until_ns: 0 }
        });
        let agents = deliveries.collect();
        Self { agents, threads: sum, open: BTreeMap::new() }
    }

    /// Adds an agent's tick, which has been checked.
    pub fn add(&mut self, agent: usize, tick: &Tick) {
        let threads = self.threads;
        let new = || Partial::new(tick, threads);
        self.open.entry(tick.from_ns).or_insert_with(new).add(agent, self.agents[agent].first, tick);
        self.agents[agent].until_ns = tick.to_ns;
    }

    /// How far an agent has delivered, since its start; ns.
    #[must_use]
    pub fn delivered_ns(&self, agent: usize) -> u64 {
        self.agents[agent].until_ns
    }

    /// Nothing more comes from an agent.
    pub fn over(&mut self, agent: usize) {
        self.agents[agent].until_ns = OVER;
    }

    /// The oldest tick, once every agent has delivered beyond its begin or is over.
    pub fn take(&mut self) -> Option<Tick> {
        let (&from_ns, _) = self.open.first_key_value()?;
        let is_complete = self.agents.iter().all(|agent| agent.until_ns > from_ns);
        is_complete.then(|| self.open.pop_first()).flatten().map(|(_, partial)| partial.finish())
    }
}

impl Partial {
    fn new(first: &Tick, threads: usize) -> Self {
        let mut sum = Tick::empty(first.phase, first.from_ns, first.to_ns);
        sum.threads = vec![ThreadUse::default(); threads];
        Self { sum, slices: BTreeMap::new() }
    }

    fn add(&mut self, agent: usize, first: usize, tick: &Tick) {
        // Quantiles and shares are made of the sum, or of the histograms.
        let Tick {
            source: _,
            agents: _,
            phase: _,
            from_ns: _,
            to_ns,
            flow,
            cohort,
            threads,
            response_p50_ns: _,
            response_p99_ns: _,
            late_ns,
            sends_ns,
            slices,
            histograms,
            set_aside,
        } = tick;
        let sum = &mut self.sum;
        sum.to_ns = sum.to_ns.max(*to_ns);
        sum.flow.add(flow);
        sum.cohort.add(cohort);
        sum.threads.iter_mut().skip(first).zip(threads).for_each(|(to, from)| *to = *from);
        sum.late_ns = sum.late_ns.max(*late_ns);
        sum.sends_ns.extend_from_slice(sends_ns);
        sum.histograms.add(histograms);
        sum.set_aside.add(set_aside);
        for slice in slices {
            self.slices.entry(slice.slice).or_insert_with(|| SliceFlow::new(slice.slice)).add(slice);
        }
        sum.agents.push(AgentShare {
            source: source(agent),
            sent: flow.sent,
            completed: flow.completed,
            good: flow.good,
            failed: flow.failed,
            response_p50_ns: histograms.response.quantile(0.5),
            response_p99_ns: histograms.response.quantile(0.99),
        });
    }

    fn finish(self) -> Tick {
        let mut sum = self.sum;
        sum.slices = self.slices.into_values().collect();
        sum.sends_ns.sort_unstable();
        sum.agents.sort_unstable_by_key(|share| share.source);
        sum.response_p50_ns = sum.histograms.response.quantile(0.5);
        sum.response_p99_ns = sum.histograms.response.quantile(0.99);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::TickMessage;
    use model::{MergedHistogram, Phase};
    use proptest::prelude::*;

    proptest! {
        /// From 2 to 100 agents: what is merged is the same to the bucket as one histogram of all requests.
        #[test]
        fn merged_quantiles_are_those_of_one_histogram(
            values in prop::collection::vec(prop::collection::vec(1_u64..10_000_000_000, 0..20), 2..=100),
        ) {
            let mut whole = MergedHistogram::default();
            let mut merge = Merge::new(values.iter().map(|_| 1));
            for (agent, values) in values.iter().enumerate() {
                let mut tick = Tick::empty(Phase::Measure, 0, 10);
                tick.threads = vec![ThreadUse::default()];
                tick.flow.sent = values.len() as u64;
                for value in values {
                    tick.histograms.response.record(*value);
                    whole.record(*value);
                }
                let over_the_wire = serde_json::to_vec(&TickMessage::new(0, &tick)).unwrap();
                let message: TickMessage = serde_json::from_slice(&over_the_wire).unwrap();
                merge.add(agent, &message.into_tick().unwrap());
            }
            let merged = merge.take().expect("all have delivered");
            prop_assert_eq!(&merged.histograms.response, &whole);
            for q in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(merged.histograms.response.quantile(q), whole.quantile(q));
            }
            prop_assert_eq!(merged.response_p99_ns, whole.quantile(0.99));
            prop_assert_eq!(merged.flow.sent, whole.count());
            prop_assert_eq!(merged.agents.iter().map(|share| share.sent).sum::<u64>(), whole.count());
        }
    }

    #[test]
    fn a_tick_waits_for_every_agent_that_still_runs() {
        let tick = |from_ns, to_ns, cpu_ns| {
            let threads = vec![ThreadUse { cpu_ns, ..ThreadUse::default() }; 2];
            Tick { threads, ..Tick::empty(Phase::Measure, from_ns, to_ns) }
        };
        let mut merge = Merge::new([2, 2]);
        merge.add(1, &tick(0, 10, 7));
        assert!(merge.take().is_none());
        merge.add(0, &tick(0, 10, 5));
        let whole = merge.take().expect("both have delivered");
        assert_eq!(whole.threads.iter().map(|thread| thread.cpu_ns).collect::<Vec<_>>(), [5, 5, 7, 7]);
        assert_eq!(whole.agents.iter().map(|share| share.source.0).collect::<Vec<_>>(), [1, 2]);
        merge.add(0, &tick(10, 20, 5));
        assert!(merge.take().is_none());
        merge.over(1);
        assert_eq!(merge.take().map(|tick| (tick.to_ns, tick.agents.len())), Some((20, 1)));
    }
}
