//! From events to evidence: what the judge sees.

use crate::agents::{self, Medians};
use crate::carried::own_part;
use crate::content::good_part;
use crate::disturbed::{Account, Cut};
use crate::iterations;
use crate::little::{self, InFlight};
use crate::machines::{self, Machines};
use crate::omission;
use crate::rate::per_second;
use crate::sample::{SampleBearing, sample_bearing};
use crate::sent;
use crate::status::StatusSum;
use crate::threads::{add_threads, busy};
use model::{
    AgentLoss, AgentRecord, Basis, Connections, Disturbance, Estimate, Event, Evidence, Histograms, Latencies,
    LatencySummary, Load, MergedHistogram, NS_PER_S, Outstanding, Phase, Plan, Quantile, SERVICE_BIN_NS, SERVICE_BINS,
    Second, SentInAll, SourceId, StatusLook, Stop, ThreadUse, Tick, Warmup,
};

use stats::{BATCHES_MIN, mean_of_runs, mean_of_series};
use std::borrow::Cow;

/// Shorter ticks are too coarse a sample of a rate or of a busy share.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

/// Good responses per second, with a 95 % interval where one is honest; of the undisturbed time where that is the basis. Where
/// checked bodies had a wrong content, without as many of the others; without what was carried over from a warm-up.
///
/// For one run the interval comes from batch means over its seconds ([`stats::mean_of_series`]). Evidence of several
/// iterations does not tell them apart any more and gets no interval; ask [`EvidenceBuilder::goodput`] instead.
#[must_use]
pub fn goodput(evidence: &Evidence) -> Estimate {
    let counted = times(counted_good(evidence), own_part(evidence));
    good_part(evidence).map_or(counted, |part| part.of_estimate(counted))
}

/// An estimate of a part of what `estimate` is of.
fn times(estimate: Estimate, part: f64) -> Estimate {
    let [low, high] = [estimate.low, estimate.high].map(|bound| bound.map(|bound| bound * part));
    Estimate { value: estimate.value * part, low, high, n: estimate.n }
}

/// The same with all that is counted as good.
fn counted_good(evidence: &Evidence) -> Estimate {
    let (good, _, ns) = counted(evidence);
    let value = per_second(good, ns);
    if evidence.iterations != 1 {
        return Estimate { value, low: None, high: None, n: u64::from(evidence.iterations) };
    }
    let is_clean = clean(evidence).is_some();
    let of_second = |second: &Second| match is_clean {
        true => (second.clean_good, second.clean_ns),
        false => (second.good, second.length_ns),
    };
    let rates: Vec<f64> = evidence
        .seconds
        .iter()
        .map(of_second)
        .filter(|(_, ns)| *ns >= TICK_MIN_NS)
        .map(|(good, ns)| per_second(good, ns))
        .collect();
    let series = mean_of_series(&rates);
    if rates.len() < BATCHES_MIN && matches!(evidence.plan.stop, Stop::Count { .. }) {
        return by_count(evidence, value);
    }
    // short ticks count in the value but not in the series: the interval moves along
    let shift = value - series.value;
    Estimate {
        value,
        low: series.low.map(|low| (low + shift).max(0.0)),
        high: series.high.map(|high| high + shift),
        n: series.n,
    }
}

/// The interval of a run that is over before there are batches of seconds, as far as its requests bear one.
fn by_count(evidence: &Evidence, value: f64) -> Estimate {
    let SampleBearing { rounds, half } = sample_bearing(evidence);
    let half = half.filter(|_| rounds >= BATCHES_MIN as f64).map(|half| half * value);
    Estimate {
        value,
        low: half.map(|half| (value - half).max(0.0)),
        high: half.map(|half| value + half),
        n: half.map_or(1, |_| rounds as u64),
    }
}

/// Complete responses per second, good or not; of the undisturbed time where that is the basis.
#[must_use]
pub fn throughput_per_s(evidence: &Evidence) -> f64 {
    let (_, completed, ns) = counted(evidence);
    per_second(completed, ns)
}

/// The undisturbed time, where the numbers rest on it.
fn clean(evidence: &Evidence) -> Option<&Disturbance> {
    evidence.disturbance.as_ref().filter(|disturbance| disturbance.basis == Basis::Clean)
}

/// Good and complete responses, and the time in which they came; ns.
fn counted(evidence: &Evidence) -> (u64, u64, u64) {
    match clean(evidence) {
        Some(clean) => (clean.clean_good, clean.clean_completed, clean.clean_ns),
        None => (evidence.flow.good, evidence.flow.completed, evidence.measured_ns),
    }
}

/// Folds the events of a run into evidence, and the iterations of a load into one.
///
/// Rates come from what passed by in the measured window, latencies and failures from the requests intended in
/// it, however late they ended.
#[derive(Clone, Debug)]
pub struct EvidenceBuilder {
    /// Sums and lists are kept up to date; what follows from them is filled in by [`EvidenceBuilder::evidence`].
    evidence: Evidence,
    histograms: Histograms,
    /// Of these, what was in flight in disturbed time.
    set_aside: Histograms,
    /// The own run's.
    account: Account,
    /// That of the runs merged in.
    merged_cut: Cut,
    in_flight: InFlight,
    machines: Machines,
    /// Response times of the agents by the second.
    medians: Medians,
    status: StatusSum,
    /// Looks at status pages of whose time the account is not sure yet.
    unsure_looks: Vec<StatusLook>,
    /// Runs merged in; the own run is not among them.
    merged: Vec<Iteration>,
    own_good: u64,
    own_ns: u64,
}

/// Goodput of one iteration.
#[derive(Clone, Copy, Debug)]
struct Iteration {
    per_s: f64,
    /// The time it is of; ns.
    counted_ns: u64,
    /// True if too little of it was undisturbed to count beside others.
    says_little: bool,
}

impl EvidenceBuilder {
    /// Nothing seen yet of a run that does `plan`.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let evidence = Evidence {
            load_unknown: None,
            probe: None,
            measured_ns: 0,
            iterations: 1,
            flow: Default::default(),
            cohort: Default::default(),
            sent_in_all: None,
            connections: Connections::default(),
            tls: None,
            latency: Latencies::default(),
            service_bins: Vec::new(),
            seconds: Vec::new(),
            threads: Vec::new(),
            outstanding: Outstanding::default(),
            sends_ns: Vec::new(),
            agents: Vec::new(),
            observed: None,
            client_machine: None,
            disturbance: None,
            status: Vec::new(),
            profile: None,
            fingerprint: None,
            bandwidth: None,
            changes: None,
            // an automatic warm-up has to show that it settled
            settled: plan.warmup != Warmup::Auto,
            // until the end is seen: a log that breaks off is of a run that was cut short
            interrupted: true,
            plan,
        };
        Self {
            evidence,
            histograms: Histograms::default(),
            set_aside: Histograms::default(),
            account: Account::default(),
            merged_cut: Cut::default(),
            in_flight: InFlight::default(),
            machines: Machines::default(),
            medians: Medians::default(),
            status: StatusSum::default(),
            unsure_looks: Vec::new(),
            merged: Vec::new(),
            own_good: 0,
            own_ns: 0,
        }
    }

    /// Takes in the next event of the run.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Probed(probe) => {
                self.evidence.probe = Some(probe.clone());
                self.evidence.sent_in_all = probe.sent.map(|probe| SentInAll { probe, ..SentInAll::default() });
            }
            Event::Started { .. } | Event::Opening { .. } | Event::Session(_) => {}
            Event::Connected { requested, established, fruitless, tls, .. } => {
                self.evidence.tls.clone_from(tls);
                self.evidence.connections.requested = *requested;
                self.evidence.connections.established = *established;
                self.evidence.connections.opened += u64::from(*established);
                sent::tried(&mut self.evidence.connections, u64::from(*established) + fruitless.all(), fruitless);
            }
            Event::AgentsStarted { agents } => agents::begin(&mut self.evidence.agents, agents),
            Event::AgentLost { source: SourceId::SERVER_HOST, name, why, .. } => {
                self.machines.lose(name, why);
            }
            Event::AgentLost { at_ns, source, name, why } => {
                let loss = AgentLoss { at_ns: *at_ns, why: why.clone() };
                agents::lose(&mut self.evidence.agents, *source, name, loss);
            }
            Event::AgentsEnded { agents } => {
                for end in agents {
                    self.agent(end.source).into_iter().for_each(|agent| agent.end(end));
                }
            }
            Event::Warmed { settled, .. } => self.evidence.settled = *settled,
            Event::Tick(tick) => self.tick(tick),
            Event::Observed(sample) => {
                self.machines.add(sample, self.account.clean_share(sample.from_ns, sample.to_ns));
            }
            Event::Disturbed { slices, until_slice } => {
                self.account.add(slices);
                let sure = |look: &StatusLook| look.at_ns.is_none_or(|at_ns| model::slice_of(at_ns) < *until_slice);
                let sure = self.unsure_looks.iter().take_while(|look| sure(look)).count();
                add_looks(&mut self.status, self.unsure_looks.drain(..sure), &self.account);
            }
            Event::Prolonged { by_ns, .. } => self.account.prolong(*by_ns),
            Event::Status { phase, looks, .. } => match phase {
                Phase::Measure => {
                    looks.iter().for_each(|look| self.machines.add_status(look));
                    self.unsure_looks.extend_from_slice(looks);
                }
                Phase::Warmup | Phase::Drain => self.status.add_around(*phase, looks),
            },
            Event::Ended { interrupted, .. } => {
                self.evidence.interrupted = *interrupted || self.machines.has_lost_observer
            }
        }
    }

    fn agent(&mut self, source: SourceId) -> Option<&mut AgentRecord> {
        self.evidence.agents.iter_mut().find(|agent| agent.source == source)
    }

    /// Adds another iteration of the same load: counters add up, histograms merge, seconds follow each other.
    ///
    /// Of the connections, `requested` and `established` are those of the worst iteration, the rest adds up; it
    /// has settled when all have, and was interrupted when any was.
    pub fn merge(&mut self, other: &Self) {
        add_looks(&mut self.status, self.unsure_looks.drain(..), &self.account);
        self.set_aside.add(&other.set_aside);
        self.status.settle(&self.account.responses());
        let own_seconds = self.evidence.seconds.len();
        iterations::add(&mut self.evidence, &other.evidence);
        let their_cut = other.own_cut(&mut self.evidence.seconds[own_seconds..]);
        self.merged.extend(other.iterations(&their_cut));
        self.merged_cut.add(&other.joined(their_cut));
        self.histograms.add(&other.histograms);
        self.in_flight.merge(&other.in_flight);
        self.machines.merge(&other.machines);
        self.medians.merge(&other.medians);
        self.status.merge(&other.status_until_now(), &other.account.responses());
    }

    /// What the judge looks at. Can be asked at any time; a run without [`Event::Ended`] counts as interrupted.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = self.evidence.clone();
        // Over the whole run, as one is opened some time after it was found missing.
        let connections = &mut evidence.connections;
        connections.reconnects = connections.reconnects.saturating_sub(connections.grown);
        connections.fairness = evidence.cohort.fairness;
        let cut = self.cut(&mut evidence.seconds);
        evidence.disturbance = cut.disturbance(evidence.flow.good, &self.histograms, &self.set_aside);
        if let Some(disturbance) = &mut evidence.disturbance {
            disturbance.whole.goodput_per_s = self.good_of(disturbance.whole.goodput_per_s);
        }
        let basis = self.on(cut.basis());
        if let Some(disturbance) = &mut evidence.disturbance {
            little::clean_in_flight(disturbance, evidence.iterations, &basis.service);
        }
        evidence.latency = summaries(&basis, &evidence.plan.quantiles);
        // Of the same requests as the latencies beside them.
        evidence.service_bins = basis.service.bins(SERVICE_BIN_NS, SERVICE_BINS);
        if let (Load::Closed { connections }, 1..) = (evidence.plan.load, evidence.flow.completed) {
            // What a connection needs for one request.
            let slots = u64::from(connections) * u64::from(evidence.plan.pipeline);
            let interval_ns = (evidence.measured_ns / evidence.flow.completed).saturating_mul(slots);
            evidence.latency.corrected_p99_ns = omission::corrected_p99_ns(&self.histograms.service, interval_ns);
        }
        evidence.outstanding = little::outstanding(&evidence, &self.in_flight, &self.histograms.service);
        // Over the whole window: CPU time that was used, and the responses it was used for.
        let responses_per_s = per_second(evidence.flow.completed, evidence.measured_ns);
        let is_elsewhere = agents::are_elsewhere(&evidence);
        for agent in &mut evidence.agents {
            let second_p50_ns = self.medians.of(agent.source);
            agent.window.iter_mut().for_each(|window| window.second_p50_ns = second_p50_ns);
            // Those of this machine are observed with it.
            agent.machine = is_elsewhere.then(|| self.machines.of_agent(agent.source, responses_per_s)).flatten();
        }
        evidence.status = self.status_until_now().records(&self.account.responses());
        (evidence.observed, evidence.client_machine) = self.machines.observed(responses_per_s);
        if evidence.client_machine.is_none() && is_elsewhere {
            evidence.client_machine = evidence.observed.as_ref().and_then(machines::of_agents);
        }
        evidence
    }

    /// With the samples of whose time the account is not sure yet.
    fn status_until_now(&self) -> StatusSum {
        let mut status = self.status.clone();
        add_looks(&mut status, self.unsure_looks.iter().cloned(), &self.account);
        status
    }

    /// The histograms that the headline rests on.
    fn on(&self, basis: Basis) -> Cow<'_, Histograms> {
        match basis {
            Basis::Whole => Cow::Borrowed(&self.histograms),
            Basis::Clean => {
                let mut clean = self.histograms.clone();
                clean.subtract(&self.set_aside);
                Cow::Owned(clean)
            }
        }
    }

    /// The windows of all iterations, cut; the own seconds stand first among `seconds`, and are told what of them is clean.
    fn cut(&self, seconds: &mut [Second]) -> Cut {
        self.joined(self.own_cut(seconds))
    }

    /// The own window alone.
    fn own_cut(&self, seconds: &mut [Second]) -> Cut {
        let responses = self.histograms.response.count();
        let mut cut = self.account.cut(seconds);
        cut.is_all_aside = responses > 0 && responses == self.set_aside.response.count();
        cut
    }

    /// The own window, which is cut as `own`, and those merged in.
    fn joined(&self, mut own: Cut) -> Cut {
        let that_say_little = self.iterations(&own).filter(|iteration| iteration.says_little).count();
        if that_say_little <= self.merged.len() {
            own.iterations_left_out = that_say_little as u32;
        }
        own.add(&self.merged_cut);
        own
    }

    /// The histograms behind the latency summaries.
    #[must_use]
    pub fn histograms(&self) -> Cow<'_, Histograms> {
        self.on(self.cut(&mut []).basis())
    }

    /// Goodput of each iteration in the order they were merged; per second. Those of which too little was undisturbed are left
    /// out where there are others.
    #[must_use]
    pub fn iterations_per_s(&self) -> Vec<f64> {
        self.that_count().iter().map(|iteration| self.good_of(iteration.per_s)).collect()
    }

    /// Goodput of all these iterations together, each as much as it has of undisturbed time; per second.
    #[must_use]
    pub fn goodput_per_s(&self) -> f64 {
        let all = self.that_count();
        let (good, ns) = all.iter().fold((0.0, 0.0), |(good, ns), iteration| {
            (good + iteration.per_s * iteration.counted_ns as f64, ns + iteration.counted_ns as f64)
        });
        if ns > 0.0 { self.good_of(good / ns) } else { 0.0 }
    }

    /// What of a rate that is counted as good is of the window, and good as far as checked bodies tell.
    fn good_of(&self, per_s: f64) -> f64 {
        let own_per_s = per_s * own_part(&self.evidence);
        good_part(&self.evidence).map_or(own_per_s, |part| part.of(own_per_s))
    }

    fn that_count(&self) -> Vec<Iteration> {
        let all: Vec<Iteration> = self.iterations(&self.own_cut(&mut [])).collect();
        let all_say_little = all.iter().all(|iteration| iteration.says_little);
        all.into_iter().filter(|iteration| all_say_little || !iteration.says_little).collect()
    }

    /// The own run, whose window is cut as `own`, and those merged in.
    fn iterations(&self, own: &Cut) -> impl Iterator<Item = Iteration> + '_ {
        let (per_s, counted_ns) = match own.basis() {
            Basis::Clean => (own.goodput_per_s(), own.clean_ns),
            Basis::Whole => (per_second(self.own_good, self.own_ns), self.own_ns),
        };
        std::iter::once(Iteration { per_s, counted_ns, says_little: own.says_little() })
            .chain(self.merged.iter().copied())
    }

    /// All requests that were sent, also outside the windows; none where those of the probe are not known.
    #[must_use]
    pub const fn sent_in_all(&self) -> Option<SentInAll> {
        self.evidence.sent_in_all
    }

    /// By how much the windows were prolonged; ns.
    #[must_use]
    pub fn prolonged_ns(&self) -> u64 {
        self.account.prolonged_ns + self.merged_cut.prolonged_ns
    }

    /// True if too little of it was undisturbed to say anything.
    #[must_use]
    pub fn says_little(&self) -> bool {
        self.iterations(&self.own_cut(&mut [])).all(|iteration| iteration.says_little)
    }

    /// Good responses per second of undisturbed time, however little there was; none where there was none.
    #[must_use]
    pub fn undisturbed_per_s(&self) -> Option<f64> {
        let cut = self.cut(&mut []);
        (cut.is_kept && cut.clean_ns > 0).then(|| self.good_of(cut.goodput_per_s()))
    }

    /// Undisturbed time of all iterations; none where nobody kept an account; ns.
    #[must_use]
    pub fn clean_ns(&self) -> Option<u64> {
        let cut = self.cut(&mut []);
        cut.is_kept.then_some(cut.clean_ns)
    }

    /// Good responses per second: of one run as [`goodput`] has it, of several iterations their mean with an
    /// interval over the iterations ([`stats::mean_of_runs`]).
    #[must_use]
    pub fn goodput(&self) -> Estimate {
        if self.merged.is_empty() {
            return goodput(&self.evidence());
        }
        let counted: Vec<f64> = self.that_count().iter().map(|iteration| iteration.per_s).collect();
        let counted = times(mean_of_runs(&counted), own_part(&self.evidence));
        let estimate = good_part(&self.evidence).map_or(counted, |part| part.of_estimate(counted));
        // The interval is that of the runs, which are of different lengths where some of their time is set aside.
        let shift = self.goodput_per_s() - estimate.value;
        Estimate {
            value: estimate.value + shift,
            low: estimate.low.map(|low| (low + shift).max(0.0)),
            high: estimate.high.map(|high| high + shift),
            n: estimate.n,
        }
    }

    fn tick(&mut self, tick: &Tick) {
        self.histograms.add(&tick.histograms);
        self.set_aside.add(&tick.set_aside);
        let evidence = &mut self.evidence;
        sent::add_tick(evidence, tick);
        evidence.cohort.add(&tick.cohort);
        evidence.connections.opened += tick.flow.opened;
        if let Some(tls) = &mut evidence.tls {
            tls.resumed += tick.flow.resumed;
        }
        evidence.connections.grown += tick.flow.grown;
        evidence.connections.reconnects += tick.flow.opened;
        for sent_ns in &tick.sends_ns {
            // Tests of their spread take the order for granted, and a log may come from anywhere.
            if evidence.sends_ns.last().is_none_or(|last_ns| last_ns <= sent_ns) {
                evidence.sends_ns.push(*sent_ns);
            }
        }
        if tick.phase != Phase::Measure {
            return;
        }
        self.in_flight.add(&tick.histograms.service);
        let length_ns = tick.to_ns.saturating_sub(tick.from_ns);
        evidence.measured_ns += length_ns;
        evidence.flow.add(&tick.flow);
        self.account.tick(tick, evidence.seconds.len());
        let lost_share = agents::tick(&mut evidence.agents, tick);
        self.medians.add(tick);
        evidence.seconds.push(Second { lost_share, ..second(tick, length_ns) });
        // the busy share of a tick is its own CPU over its own time, and only long ticks have one
        let threads: Vec<ThreadUse> = tick
            .threads
            .iter()
            .map(|t| ThreadUse { busy_max: if t.wall_ns >= TICK_MIN_NS { busy(t) } else { 0.0 }, ..*t })
            .collect();
        add_threads(&mut evidence.threads, &threads);
        self.own_good += tick.flow.good;
        self.own_ns += length_ns;
    }
}

/// The distributions in the usual figures and the quantiles that were `asked` for.
fn summaries(histograms: &Histograms, asked: &[Quantile]) -> Latencies {
    let (distinct, step_ns) = steps(&histograms.response);
    let ranges_ns = histograms.response.ranges(&Quantile::usual_and(asked));
    Latencies {
        response: LatencySummary { ranges_ns, ..histograms.response.summary_with(asked) },
        service: histograms.service.summary_with(asked),
        first_byte: histograms.first_byte.summary_with(asked),
        service_sd_ns: deviation(&histograms.service),
        slip_client: histograms.slip_client.summary_with(asked),
        slip_blocked: histograms.slip_blocked.summary_with(asked),
        handshake: histograms.handshake.summary_with(asked),
        corrected_p99_ns: 0,
        distinct,
        step_ns,
    }
}

/// Standard deviation of the values of a histogram, 0 for fewer than two; ns.
fn deviation(histogram: &MergedHistogram) -> f64 {
    let n = histogram.count() as f64;
    let mean_ns = histogram.summary().mean_ns;
    let squares: f64 = histogram.buckets().map(|(ns, n)| n as f64 * (ns as f64 - mean_ns).powi(2)).sum();
    if n < 2.0 { 0.0 } else { (squares / (n - 1.0)).sqrt() }
}

/// [`Latencies::distinct`] and [`Latencies::step_ns`].
fn steps(histogram: &MergedHistogram) -> (u64, u64) {
    let p99_ns = histogram.quantile(0.99);
    let values: Vec<u64> = histogram.buckets().map(|(ns, _)| ns).take_while(|ns| *ns <= p99_ns).collect();
    let mut steps: Vec<u64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let middle = steps.len() / 2;
    let step_ns = if steps.is_empty() { 0 } else { *steps.select_nth_unstable(middle).1 };
    (values.len() as u64, step_ns)
}

fn second(tick: &Tick, length_ns: u64) -> Second {
    Second {
        from_ns: tick.from_ns,
        length_ns,
        good: tick.flow.good,
        completed: tick.flow.completed,
        bytes_received: tick.flow.bytes_received,
        sent: tick.flow.sent,
        failed: tick.flow.failed,
        busy_max: tick.threads.iter().map(busy).fold(0.0, f64::max),
        response_p50_ns: tick.response_p50_ns,
        response_p99_ns: tick.response_p99_ns,
        outstanding: if length_ns == 0 { 0.0 } else { tick.flow.outstanding_ns as f64 / length_ns as f64 },
        late_ns: tick.late_ns,
        // Known once the window is cut.
        clean_ns: 0,
        clean_good: 0,
        lost_share: 0.0,
    }
}

fn add_looks(status: &mut StatusSum, looks: impl Iterator<Item = StatusLook>, account: &Account) {
    for look in looks {
        let is_disturbed =
            look.at_ns.is_some_and(|at_ns| account.clean_share(at_ns.saturating_sub(look.took_ns), at_ns) < 1.0);
        status.add(&look, is_disturbed);
    }
}

#[cfg(test)]
mod tests;
