//! Machines of one load: that of the load generator, and that of the server where an agent observed it.

use crate::observed::ObservedSum;
use model::{AGENTS_MAX, Observed, Phase, Sample, SourceId, StatusLook};
use std::collections::BTreeMap;

/// The load generator, among the parts that may be unavailable.
const GENERATOR: &str = "generator";

/// Sums over the samples of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machines {
    /// The own one: of the load generator, and of the server if it runs there.
    own: ObservedSum,
    /// Of the server alone.
    server_host: ObservedSum,
    /// Those of the agents that generate the load.
    agents: BTreeMap<SourceId, ObservedSum>,
    /// True once its agent was lost.
    pub(crate) has_lost_observer: bool,
}

impl Machines {
    /// None of more machines than a load has.
    fn of(&mut self, source: SourceId) -> Option<&mut ObservedSum> {
        match source {
            SourceId::SERVER_HOST => Some(&mut self.server_host),
            SourceId::LOCAL => Some(&mut self.own),
            agent if self.agents.len() < AGENTS_MAX => Some(self.agents.entry(agent).or_default()),
            agent => self.agents.get_mut(&agent),
        }
    }

    /// Takes in a sample, of which `clean_share` (0 to 1) was undisturbed.
    pub(crate) fn add(&mut self, sample: &Sample, clean_share: f64) {
        let Some(sum) = self.of(sample.source) else { return };
        sum.note(sample);
        if sample.phase == Phase::Measure {
            sum.add(sample, clean_share);
        }
    }

    /// The agent on the server's machine was lost.
    pub(crate) fn lose(&mut self, name: &str, why: &str) {
        self.server_host.lose(&format!("agent {name} was lost: {why}"));
        self.has_lost_observer = true;
    }

    /// Takes in what the server said of itself, which belongs to the seconds of its machine.
    pub(crate) fn add_status(&mut self, look: &StatusLook) {
        let source = if self.server_host.is_empty() { SourceId::LOCAL } else { SourceId::SERVER_HOST };
        self.of(source).into_iter().for_each(|sum| sum.add_status(look));
    }

    /// Adds the sums of another window of the same load.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.own.merge(&other.own);
        self.server_host.merge(&other.server_host);
        for (source, sum) in &other.agents {
            self.of(*source).into_iter().for_each(|own| own.merge(sum));
        }
        self.has_lost_observer |= other.has_lost_observer;
    }

    /// What an agent that generates load saw of its own machine, in a few figures; none where it saw nothing.
    pub(crate) fn of_agent(&self, source: SourceId, responses_per_s: f64) -> Option<Box<Observed>> {
        let seen = self.agents.get(&source)?.observed(responses_per_s)?;
        Some(Box::new(Observed { seconds: Vec::new(), series: Default::default(), ..seen }))
    }

    /// What was observed, given the complete responses per second of the same window: the server's machine as far as it was, and
    /// that of the load generator if it is another.
    pub(crate) fn observed(&self, responses_per_s: f64) -> (Option<Observed>, Option<Observed>) {
        let own = self.own.observed(responses_per_s);
        // One that was lost before its first sample is told all the same.
        let lost = || self.has_lost_observer.then(|| self.server_host.unobserved());
        match self.server_host.observed(responses_per_s).or_else(lost) {
            None => (own, None),
            Some(server) => {
                let client = own.unwrap_or_default();
                (Some(with_generator(server, &client)), Some(client))
            }
        }
    }
}

/// The machine of a load from elsewhere beside that of the server, if this was `seen`: nobody looks at it, and what was seen here
/// says nothing of it.
pub(crate) fn of_agents(seen: &Observed) -> Option<Observed> {
    seen.machine.as_ref()?;
    let unavailable = seen.unavailable.iter().filter(|(part, _)| *part == GENERATOR);
    let unavailable = unavailable.map(|(part, why)| (part.clone(), why.clone())).collect();
    Some(Observed { unavailable, ..Observed::default() })
}

/// What was observed of the server's machine, with the load generator of another one.
fn with_generator(server: Observed, client: &Observed) -> Observed {
    let mut joined = Observed { generator: client.generator.clone(), ..server };
    match client.unavailable.get(GENERATOR) {
        Some(why) => joined.unavailable.insert(GENERATOR.to_owned(), why.clone()),
        None => joined.unavailable.remove(GENERATOR),
    };
    joined
}
