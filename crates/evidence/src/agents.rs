//! Agents of a load, as they are told: some may be lost before all have said that they have started.

use model::{
    AGENTS_MAX, AgentLoss, AgentRecord, AgentShare, AgentStart, AgentWindow, Estimate, Evidence, NS_PER_S, SourceId,
    Tick,
};
use stats::{mean, mean_of_series};
use std::collections::BTreeMap;

/// Seconds of which a range says something.
const SECONDS_MIN: usize = 5;
/// Means that are kept of an agent, however long the window is.
const MEANS_MAX: usize = 64;
/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

/// Those that have begun, with what is known of losses before that.
pub(crate) fn begin(agents: &mut Vec<AgentRecord>, starts: &[AgentStart]) {
    let early = std::mem::take(agents);
    let lost = |start: &AgentStart| early.iter().find(|agent| agent.source == start.source)?.lost.clone();
    let begun = |start| AgentRecord { lost: lost(start), ..counted(start) };
    *agents = starts.iter().take(AGENTS_MAX).map(begun).collect();
}

/// One is lost.
pub(crate) fn lose(agents: &mut Vec<AgentRecord>, source: SourceId, name: &str, loss: AgentLoss) {
    if let Some(agent) = agents.iter_mut().find(|agent| agent.source == source) {
        agent.lost = Some(loss);
    } else if agents.len() < AGENTS_MAX {
        let start = AgentStart { source, name: name.to_owned(), ..AgentStart::default() };
        agents.push(AgentRecord { lost: Some(loss), ..counted(&start) });
    }
}

/// True if agents on other machines generate the load: at an address of its own a machine is loaded by agents of its own.
pub(crate) fn are_elsewhere(evidence: &Evidence) -> bool {
    !evidence.agents.is_empty() && !evidence.plan.target.address.is_each_machines_own()
}

/// One of which nothing is counted yet.
fn counted(start: &AgentStart) -> AgentRecord {
    AgentRecord { window: Some(AgentWindow::default()), ..AgentRecord::begun(start) }
}

/// Takes in their parts of a tick of the window; returns the share of all load threads whose part is missing, 0 to 1.
pub(crate) fn tick(agents: &mut [AgentRecord], tick: &Tick) -> f64 {
    let length_ns = tick.to_ns.saturating_sub(tick.from_ns);
    let (mut all, mut missing) = (0, 0);
    for agent in agents {
        let share = tick.agents.iter().find(|share| share.source == agent.source);
        all += u64::from(agent.threads);
        if share.is_none() {
            missing += u64::from(agent.threads);
        }
        match (&mut agent.window, share) {
            (Some(window), Some(share)) => window.add(share),
            (Some(window), None) => window.missing_ns += length_ns,
            (None, _) => {}
        }
    }
    if all == 0 { 0.0 } else { missing as f64 / all as f64 }
}

/// Median response times of the seconds of each agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Medians(BTreeMap<SourceId, Series>);

impl Medians {
    /// Takes in a tick of the window.
    pub(crate) fn add(&mut self, tick: &Tick) {
        if tick.to_ns.saturating_sub(tick.from_ns) < TICK_MIN_NS {
            return;
        }
        for AgentShare { source, response_p50_ns, .. } in tick.agents.iter().filter(|share| share.response_p50_ns > 0) {
            if self.0.len() < AGENTS_MAX || self.0.contains_key(source) {
                self.0.entry(*source).or_default().add(*response_p50_ns as f64);
            }
        }
    }

    /// Takes in those of another window of the same load.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (source, series) in &other.0 {
            self.0.entry(*source).or_default().append(series);
        }
    }

    /// Their mean over the seconds of an agent.
    pub(crate) fn of(&self, source: SourceId) -> Option<Estimate> {
        self.0.get(&source)?.estimate()
    }
}

/// A series of seconds as the means of pieces of it, which grow with its length.
#[derive(Clone, Debug)]
struct Series {
    means: Vec<f64>,
    /// Seconds in each mean.
    width: usize,
    /// Sum and number of the seconds that fill no piece yet.
    open: (f64, usize),
}

impl Default for Series {
    fn default() -> Self {
        Self { means: Vec::new(), width: 1, open: (0.0, 0) }
    }
}

impl Series {
    fn add(&mut self, value: f64) {
        self.open = (self.open.0 + value, self.open.1 + 1);
        if self.open.1 >= self.width {
            self.means.push(self.open.0 / self.open.1 as f64);
            self.open = (0.0, 0);
        }
        if self.means.len() > MEANS_MAX {
            self.join_pairs();
        }
    }

    /// What fills no piece is left out.
    fn append(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.width < other.width {
            self.join_pairs();
        }
        while other.width < self.width {
            other.join_pairs();
        }
        self.means.append(&mut other.means);
        while self.means.len() > MEANS_MAX {
            self.join_pairs();
        }
    }

    fn join_pairs(&mut self) {
        self.means = self.means.chunks_exact(2).map(mean).collect();
        self.width *= 2;
    }

    fn estimate(&self) -> Option<Estimate> {
        if self.means.len() < SECONDS_MIN {
            return None;
        }
        let series = mean_of_series(&self.means);
        if series.low.is_some() {
            return Some(series);
        }
        let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|of| self.means.iter().copied().reduce(of));
        Some(Estimate { low, high, n: self.means.len() as u64, ..series })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_any_length_is_a_few_means_and_its_mean_stays() {
        let mut series = Series::default();
        assert_eq!(series.estimate(), None);
        [4.0, 6.0, 5.0, 5.0, 5.0].into_iter().for_each(|value| series.add(value));
        assert_eq!(series.estimate(), Some(Estimate { value: 5.0, low: Some(4.0), high: Some(6.0), n: 5 }));
        let mut day = Series::default();
        (0..86_400).for_each(|i| day.add(if i % 2 == 0 { 90.0 } else { 110.0 }));
        assert!(day.means.len() <= MEANS_MAX && day.means.iter().all(|mean| (mean - 100.0).abs() < 1e-9));
        day.append(&series);
        assert!(day.means.len() <= MEANS_MAX);
        series.append(&day);
        assert!(series.width >= day.width && series.means.iter().all(|mean| (mean - 100.0).abs() < 1e-9));
    }
}
