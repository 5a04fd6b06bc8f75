//! From events to evidence: what the judge sees.

use crate::batch::{mean_of_runs, mean_of_series};
use crate::little::{self, InFlight};
use crate::observed::ObservedSum;
use crate::status::StatusSum;
use crate::{DecodeError, MergedHistogram, omission};
use model::{
    Connections, Estimate, Event, Evidence, Histograms, Latencies, Load, NS_PER_S, Outstanding, Phase, Plan,
    SERVICE_BIN_NS, SERVICE_BINS, Second, ThreadUse, Tick, Warmup,
};

/// Shorter ticks are too coarse a sample of a rate or of a busy share.
const TICK_MIN_NS: u64 = NS_PER_S / 2;

/// Good responses per second, with a 95 % interval where one is honest.
///
/// For one run the interval comes from batch means over its seconds ([`mean_of_series`]). Evidence of several
/// iterations does not tell them apart any more and gets no interval; ask [`Gather::goodput`] instead.
#[must_use]
pub fn goodput(evidence: &Evidence) -> Estimate {
    let value = per_second(evidence.flow.good, evidence.measured_ns);
    if evidence.iterations != 1 {
        return Estimate { value, low: None, high: None, n: u64::from(evidence.iterations) };
    }
    let rates: Vec<f64> = evidence
        .seconds
        .iter()
        .filter(|second| second.length_ns >= TICK_MIN_NS)
        .map(|second| per_second(second.good, second.length_ns))
        .collect();
    let series = mean_of_series(&rates);
    // short ticks count in the value but not in the series: the interval moves along
    let shift = value - series.value;
    Estimate {
        value,
        low: series.low.map(|low| (low + shift).max(0.0)),
        high: series.high.map(|high| high + shift),
        n: series.n,
    }
}

/// Complete responses per second, good or not.
#[must_use]
pub fn throughput_per_s(evidence: &Evidence) -> f64 {
    per_second(evidence.flow.completed, evidence.measured_ns)
}

/// The latency histograms of a load, all seconds and iterations merged; ns. See [`model::Histograms`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedHistograms {
    /// Completion minus intended send.
    pub response: MergedHistogram,
    /// Completion minus actual send.
    pub service: MergedHistogram,
    /// Own lateness.
    pub slip_client: MergedHistogram,
    /// Waiting for a free connection.
    pub slip_blocked: MergedHistogram,
    /// TLS handshakes, over the whole run.
    pub handshake: MergedHistogram,
}

/// Folds the events of a run into evidence, and the iterations of a load into one.
///
/// Rates come from what passed by in the measured window, latencies and failures from the requests intended in
/// it, however late they ended.
#[derive(Clone, Debug)]
pub struct Gather {
    /// Sums and lists are kept up to date; what follows from them is filled in by [`Gather::evidence`].
    evidence: Evidence,
    histograms: MergedHistograms,
    in_flight: InFlight,
    observed: ObservedSum,
    status: StatusSum,
    /// Runs merged in, one entry each; the own run is not among them.
    merged_per_s: Vec<f64>,
    own_good: u64,
    own_ns: u64,
}

impl Gather {
    /// Nothing seen yet of a run that does `plan`.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let evidence = Evidence {
            probe: None,
            measured_ns: 0,
            iterations: 1,
            flow: Default::default(),
            cohort: Default::default(),
            connections: Connections::default(),
            tls: None,
            latency: Latencies::default(),
            service_bins: Vec::new(),
            seconds: Vec::new(),
            threads: Vec::new(),
            outstanding: Outstanding::default(),
            sends_ns: Vec::new(),
            observed: None,
            status: Vec::new(),
            profile: None,
            fingerprint: None,
            changes: None,
            // an automatic warm-up has to show that it settled
            settled: plan.warmup != Warmup::Auto,
            // until the end is seen: a log that breaks off is of a run that was cut short
            interrupted: true,
            plan,
        };
        Self {
            evidence,
            histograms: MergedHistograms::default(),
            in_flight: InFlight::default(),
            observed: ObservedSum::default(),
            status: StatusSum::default(),
            merged_per_s: Vec::new(),
            own_good: 0,
            own_ns: 0,
        }
    }

    /// Takes in the next event of the run.
    ///
    /// # Errors
    /// When a histogram of a tick cannot be read; that tick is then not taken in at all.
    pub fn apply(&mut self, event: &Event) -> Result<(), DecodeError> {
        match event {
            Event::Probed(probe) => self.evidence.probe = Some(probe.clone()),
            Event::Started { .. } => {}
            Event::Connected { requested, established, tls, .. } => {
                self.evidence.tls.clone_from(tls);
                self.evidence.connections.requested = *requested;
                self.evidence.connections.established = *established;
                self.evidence.connections.opened += u64::from(*established);
            }
            Event::Warmed { settled, .. } => self.evidence.settled = *settled,
            Event::Tick(tick) => self.tick(tick)?,
            Event::Observed(sample) => {
                self.observed.note(sample);
                if sample.phase == Phase::Measure {
                    self.observed.add(sample);
                }
            }
            Event::Status { phase, looks, .. } => {
                if *phase == Phase::Measure {
                    self.status.add(looks);
                }
            }
            Event::Ended { interrupted, .. } => self.evidence.interrupted = *interrupted,
        }
        Ok(())
    }

    /// Adds another iteration of the same load: counters add up, histograms merge, seconds follow each other.
    ///
    /// Of the connections, `requested` and `established` are those of the worst iteration, the rest adds up; it
    /// has settled when all have, and was interrupted when any was.
    pub fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (&mut self.evidence, &other.evidence);
        mine.measured_ns += theirs.measured_ns;
        mine.iterations += theirs.iterations;
        mine.flow.add(&theirs.flow);
        mine.cohort.add(&theirs.cohort);
        self.status.settle(&mine.seconds);
        mine.seconds.extend_from_slice(&theirs.seconds);
        if mine.sends_ns.is_empty() {
            mine.sends_ns.clone_from(&theirs.sends_ns);
        }
        mine.settled &= theirs.settled;
        mine.interrupted |= theirs.interrupted;
        if mine.probe.is_none() {
            mine.probe.clone_from(&theirs.probe);
        }
        let (a, b) = (&mut mine.connections, &theirs.connections);
        a.requested = a.requested.max(b.requested);
        a.established = a.established.min(b.established);
        a.opened += b.opened;
        a.reconnects += b.reconnects;
        match (&mut mine.tls, &theirs.tls) {
            (Some(mine), Some(theirs)) => mine.resumed += theirs.resumed,
            (mine, theirs) => *mine = mine.take().or_else(|| theirs.clone()),
        }
        add_threads(&mut mine.threads, &theirs.threads);
        self.histograms.add(&other.histograms);
        self.in_flight.merge(&other.in_flight);
        self.observed.merge(&other.observed);
        self.status.merge(&other.status, &theirs.seconds);
        self.merged_per_s.extend(other.iterations_per_s());
    }

    /// What the judge looks at. Can be asked at any time; a run without [`Event::Ended`] counts as interrupted.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let mut evidence = self.evidence.clone();
        evidence.latency = self.histograms.summaries();
        if let (Load::Closed { connections }, 1..) = (evidence.plan.load, evidence.flow.completed) {
            // What a connection needs for one request.
            let slots = u64::from(connections) * u64::from(evidence.plan.pipeline);
            let interval_ns = evidence.measured_ns / evidence.flow.completed * slots;
            evidence.latency.corrected_p99_ns = omission::corrected_p99_ns(&self.histograms.service, interval_ns);
        }
        evidence.service_bins = self.histograms.service.bins(SERVICE_BIN_NS, SERVICE_BINS);
        evidence.outstanding = little::outstanding(&evidence, &self.in_flight, &self.histograms.service);
        evidence.status = self.status.records(&self.evidence.seconds);
        evidence.observed = self.observed.observed(throughput_per_s(&evidence));
        evidence
    }

    /// The histograms behind the latency summaries.
    #[must_use]
    pub fn histograms(&self) -> &MergedHistograms {
        &self.histograms
    }

    /// Goodput of each iteration in the order they were merged; per second.
    #[must_use]
    pub fn iterations_per_s(&self) -> Vec<f64> {
        let own = per_second(self.own_good, self.own_ns);
        std::iter::once(own).chain(self.merged_per_s.iter().copied()).collect()
    }

    /// Good responses per second: of one run as [`goodput`] has it, of several iterations their mean with an
    /// interval over the iterations ([`mean_of_runs`]).
    #[must_use]
    pub fn goodput(&self) -> Estimate {
        if self.merged_per_s.is_empty() {
            return goodput(&self.evidence);
        }
        let mut estimate = mean_of_runs(&self.iterations_per_s());
        estimate.low = estimate.low.map(|low| low.max(0.0));
        estimate
    }

    fn tick(&mut self, tick: &Tick) -> Result<(), DecodeError> {
        self.histograms.add_encoded(&tick.histograms)?;
        let evidence = &mut self.evidence;
        evidence.cohort.add(&tick.cohort);
        evidence.connections.opened += tick.flow.opened;
        if let Some(tls) = &mut evidence.tls {
            tls.resumed += tick.flow.resumed;
        }
        evidence.connections.reconnects += tick.flow.opened;
        evidence.sends_ns.extend_from_slice(&tick.sends_ns);
        if tick.phase != Phase::Measure {
            return Ok(());
        }
        if !tick.histograms.service.is_empty() {
            self.in_flight.add(&MergedHistogram::decode(&tick.histograms.service)?);
        }
        let length_ns = tick.to_ns.saturating_sub(tick.from_ns);
        evidence.measured_ns += length_ns;
        evidence.flow.add(&tick.flow);
        evidence.seconds.push(second(tick, length_ns));
        // the busy share of a tick is its own CPU over its own time, and only long ticks have one
        let threads: Vec<ThreadUse> = tick
            .threads
            .iter()
            .map(|t| ThreadUse { busy_max: if t.wall_ns >= TICK_MIN_NS { busy(t) } else { 0.0 }, ..*t })
            .collect();
        add_threads(&mut evidence.threads, &threads);
        self.own_good += tick.flow.good;
        self.own_ns += length_ns;
        Ok(())
    }
}

impl MergedHistograms {
    /// Adds the histograms of a tick. An empty text is an empty histogram: replayed ticks have none.
    ///
    /// One is decoded at a time, since each takes a quarter of a megabyte; and all are before any is added, so that
    /// an error leaves nothing half done.
    ///
    /// # Errors
    /// When one of the texts is not an encoded histogram.
    pub fn add_encoded(&mut self, encoded: &Histograms) -> Result<(), DecodeError> {
        let Self { response, service, slip_client, slip_blocked, handshake } = self;
        let pairs = [
            (response, &encoded.response),
            (service, &encoded.service),
            (slip_client, &encoded.slip_client),
            (slip_blocked, &encoded.slip_blocked),
            (handshake, &encoded.handshake),
        ];
        for (_, text) in pairs.iter().filter(|(_, text)| !text.is_empty()) {
            MergedHistogram::decode(text)?;
        }
        for (sum, text) in pairs {
            if !text.is_empty() {
                sum.add(&MergedHistogram::decode(text)?);
            }
        }
        Ok(())
    }

    /// Adds every value of `other`.
    pub fn add(&mut self, other: &Self) {
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.slip_client.add(&other.slip_client);
        self.slip_blocked.add(&other.slip_blocked);
        self.handshake.add(&other.handshake);
    }

    /// The distributions in a few figures.
    #[must_use]
    pub fn summaries(&self) -> Latencies {
        Latencies {
            response: self.response.summary(),
            service: self.service.summary(),
            slip_client: self.slip_client.summary(),
            slip_blocked: self.slip_blocked.summary(),
            handshake: self.handshake.summary(),
            corrected_p99_ns: 0,
            distinct: distinct(&self.response),
        }
    }
}

/// Values up to the 99th percentile that differ in their first three digits.
fn distinct(histogram: &MergedHistogram) -> u64 {
    let p99_ns = histogram.quantile(0.99);
    histogram.buckets().take_while(|(ns, _)| *ns <= p99_ns).count() as u64
}

fn second(tick: &Tick, length_ns: u64) -> Second {
    Second {
        from_ns: tick.from_ns,
        length_ns,
        good: tick.flow.good,
        completed: tick.flow.completed,
        sent: tick.flow.sent,
        failed: tick.flow.failed,
        busy_max: tick.threads.iter().map(busy).fold(0.0, f64::max),
        response_p50_ns: tick.response_p50_ns,
        response_p99_ns: tick.response_p99_ns,
        outstanding: if length_ns == 0 { 0.0 } else { tick.flow.outstanding_ns as f64 / length_ns as f64 },
        late_ns: tick.late_ns,
    }
}

/// Adds times thread by thread and keeps the larger busy share.
fn add_threads(sum: &mut Vec<ThreadUse>, more: &[ThreadUse]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), ThreadUse::default());
    }
    for (thread, other) in sum.iter_mut().zip(more) {
        thread.cpu_ns += other.cpu_ns;
        thread.wall_ns += other.wall_ns;
        thread.busy_max = thread.busy_max.max(other.busy_max);
    }
}

fn busy(thread: &ThreadUse) -> f64 {
    if thread.wall_ns == 0 { 0.0 } else { (thread.cpu_ns as f64 / thread.wall_ns as f64).min(1.0) }
}

pub(crate) fn per_second(count: u64, span_ns: u64) -> f64 {
    if span_ns == 0 { 0.0 } else { count as f64 * NS_PER_S as f64 / span_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LatencyHistogram;
    use crate::testing::Noise;
    use model::{Cohort, Flow, Numbering, Request, Stop, Target, TlsSession};

    fn plan(warmup: Warmup) -> Plan {
        Plan {
            target: Target {
                url: "http://127.0.0.1:80/".into(),
                authority: "127.0.0.1".into(),
                address: "127.0.0.1:80".parse().unwrap(),
                connect_to: None,
            },
            tls: None,
            requests: vec![Request::get("/")],
            pipeline: 1,
            numbering: Numbering::default(),
            load: Load::Closed { connections: 4 },
            stop: Stop::Duration { duration_ns: 10 * NS_PER_S },
            warmup,
            timeout_ns: NS_PER_S,
            keepalive: true,
            threads: 1,
            cpus: Vec::new(),
            seed: 0,
        }
    }

    fn fixed() -> Plan {
        plan(Warmup::Fixed { duration_ns: NS_PER_S })
    }

    fn encoded(values: impl IntoIterator<Item = u64>) -> String {
        let mut h = LatencyHistogram::new();
        values.into_iter().for_each(|v| h.record(v));
        h.encode()
    }

    /// A tick from `from_ms` to `to_ms` with `good` responses of 10 ms each.
    fn tick(phase: Phase, from_ms: u64, to_ms: u64, good: u64) -> Tick {
        let of_window = if phase == Phase::Warmup { 0 } else { good };
        let latencies = encoded((0..of_window).map(|_| 10_000_000));
        Tick {
            phase,
            from_ns: from_ms * 1_000_000,
            to_ns: to_ms * 1_000_000,
            flow: Flow { sent: good, completed: good, good, outstanding_ns: good * 10_000_000, ..Flow::default() },
            cohort: Cohort { planned: of_window, completed: of_window, good: of_window, ..Cohort::default() },
            threads: vec![ThreadUse {
                cpu_ns: (to_ms - from_ms) * 400_000,
                wall_ns: (to_ms - from_ms) * 1_000_000,
                busy_max: 0.4,
            }],
            response_p50_ns: 10_000_000,
            response_p99_ns: 11_000_000,
            late_ns: 3,
            sends_ns: vec![from_ms * 1_000_000],
            histograms: Histograms { response: latencies.clone(), service: latencies, ..Histograms::default() },
        }
    }

    fn gather(plan: Plan, events: impl IntoIterator<Item = Event>) -> Gather {
        let mut gather = Gather::new(plan);
        events.into_iter().for_each(|event| gather.apply(&event).unwrap());
        gather
    }

    fn ticks(ticks: impl IntoIterator<Item = Tick>) -> Vec<Event> {
        let mut events = vec![Event::Connected { requested: 4, established: 4, took_ns: 1, tls: None }];
        events.extend(ticks.into_iter().map(|t| Event::Tick(Box::new(t))));
        events.push(Event::Ended { at_ns: 0, interrupted: false });
        events
    }

    #[test]
    fn only_the_window_counts_for_rates_and_all_of_the_cohort_for_latency() {
        let mut drain = tick(Phase::Drain, 3000, 3400, 7);
        drain.cohort.failures.insert("first_byte.timeout".into(), 1);
        drain.cohort.censored = 1;
        let e = gather(
            fixed(),
            ticks([
                tick(Phase::Warmup, 0, 1000, 50),
                tick(Phase::Measure, 1000, 2000, 100),
                tick(Phase::Measure, 2000, 3000, 102),
                drain,
            ]),
        )
        .evidence();
        assert_eq!(e.measured_ns, 2 * NS_PER_S);
        assert_eq!((e.flow.good, e.flow.completed), (202, 202));
        assert_eq!((e.cohort.planned, e.cohort.censored, e.cohort.failed()), (209, 1, 1));
        assert_eq!((e.latency.response.n, e.latency.service.n, e.latency.slip_client.n), (209, 209, 0));
        assert_eq!(e.seconds.iter().map(|s| s.good).collect::<Vec<_>>(), [100, 102]);
        assert_eq!((e.seconds[0].from_ns, e.seconds[0].length_ns), (NS_PER_S, NS_PER_S));
        assert_eq!((e.threads.len(), e.threads[0].cpu_ns, e.threads[0].wall_ns), (1, 800_000_000, 2 * NS_PER_S));
        assert_eq!(throughput_per_s(&e), 101.0);
        assert_eq!(goodput(&e), Estimate { value: 101.0, low: None, high: None, n: 1 });
        assert!(!e.interrupted && e.settled);
    }

    #[test]
    fn busy_share_needs_half_a_second() {
        let mut short = tick(Phase::Measure, 1000, 1499, 1);
        short.threads = vec![ThreadUse { cpu_ns: 499_000_000, wall_ns: 499_000_000, busy_max: 1.0 }];
        let e = gather(fixed(), ticks([tick(Phase::Measure, 0, 1000, 1), short])).evidence();
        assert!((e.threads[0].busy_max - 0.4).abs() < 1e-9);
        assert_eq!(e.threads[0].cpu_ns, 899_000_000);
        assert_eq!(e.seconds[1].busy_max, 1.0);
    }

    #[test]
    fn reconnects_of_every_phase_count() {
        let phases = [(Phase::Warmup, 1), (Phase::Measure, 2), (Phase::Drain, 4)];
        let e = gather(
            fixed(),
            ticks(phases.map(|(phase, opened)| {
                let mut t = tick(phase, 0, 1000, 1);
                t.flow.opened = opened;
                t
            })),
        )
        .evidence();
        assert_eq!(e.connections, Connections { requested: 4, established: 4, opened: 11, reconnects: 7 });
    }

    #[test]
    fn handshakes_and_resumed_sessions_of_the_whole_run_count() {
        let session = TlsSession { version: "TLSv1.3".into(), cipher: "TLS_X".into(), resumed: 0 };
        let connected = Event::Connected { requested: 4, established: 4, took_ns: 1, tls: Some(session.clone()) };
        let run = || {
            let phases = [Phase::Warmup, Phase::Measure, Phase::Drain];
            let ticks = phases.map(|phase| {
                let mut t = tick(phase, 0, 1000, 1);
                t.flow.resumed = 2;
                t.histograms.handshake = encoded([300_000]);
                Event::Tick(Box::new(t))
            });
            gather(fixed(), [connected.clone()].into_iter().chain(ticks))
        };
        let mut all = run();
        all.merge(&run());
        let e = all.evidence();
        assert_eq!(e.tls, Some(TlsSession { resumed: 12, ..session }));
        assert_eq!(e.latency.handshake.n, 6);
    }

    #[test]
    fn littles_law_holds_whatever_way_requests_end() {
        // 4 always in flight for 10 ms each: 400 end per second; 100 good, 200 break the contract, 100 time out
        let mut t = tick(Phase::Measure, 0, 1000, 0);
        t.flow = Flow { sent: 400, completed: 300, good: 100, failed: 300, ..Flow::default() };
        t.flow.outstanding_ns = 4 * NS_PER_S;
        t.histograms.service = encoded((0..400).map(|_| 10_000_000));
        let e = gather(fixed(), ticks([t.clone()])).evidence();
        assert!((e.outstanding.mean - 4.0).abs() < 1e-9);
        assert!((e.outstanding.little / 4.0 - 1.0).abs() < 1e-3, "{:?}", e.outstanding);

        // who finds no connection never is in flight, and of those that are cut off nobody knows how long
        t.flow.failed += 1700;
        let failures = [("connect.refused", 1000), ("send.timeout", 600), ("first_byte.reset", 100)];
        t.cohort.failures = failures.map(|(name, n)| (name.to_owned(), n)).into();
        let broken = gather(fixed(), ticks([t])).evidence();
        assert_eq!(broken.outstanding, e.outstanding);
        assert_eq!(crate::cut_off(&broken), 100);
    }

    #[test]
    fn goodput_has_an_interval_when_the_seconds_are_independent() {
        let mut noise = Noise::new(4);
        let seconds: Vec<Tick> = (0..20)
            .map(|i| tick(Phase::Measure, i * 1000, (i + 1) * 1000, noise.jitter(1000.0, 0.01) as u64))
            .chain([tick(Phase::Measure, 20_000, 20_100, 0)])
            .collect();
        let estimate = gather(fixed(), ticks(seconds)).goodput();
        // the idle rest of a second pulls the value down by half a percent but is no sample of the rate
        assert!((estimate.value - 995.0).abs() < 5.0, "{estimate:?}");
        let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
        assert!(low < estimate.value && estimate.value < high && high - low < 20.0, "{estimate:?}");
        assert!((10..=20).contains(&estimate.n), "{estimate:?}");
    }

    #[test]
    fn iterations_add_up_and_stay_apart() {
        let run = |good| gather(fixed(), ticks([tick(Phase::Measure, 0, 1000, good)]));
        let mut all = run(100);
        for good in [110, 90, 105, 95, 100] {
            all.merge(&run(good));
        }
        let e = all.evidence();
        assert_eq!((e.iterations, e.measured_ns, e.flow.good, e.latency.response.n), (6, 6 * NS_PER_S, 600, 600));
        assert_eq!(e.connections, Connections { requested: 4, established: 4, opened: 24, reconnects: 0 });
        assert_eq!(e.seconds.len(), 6);
        assert_eq!(e.threads[0].wall_ns, 6 * NS_PER_S);
        assert_eq!(all.iterations_per_s(), [100.0, 110.0, 90.0, 105.0, 95.0, 100.0]);
        let estimate = all.goodput();
        assert_eq!((estimate.value, estimate.n), (100.0, 6));
        assert!(estimate.low.unwrap() < 95.0 && estimate.high.unwrap() > 105.0);
        assert_eq!(goodput(&e), Estimate { value: 100.0, low: None, high: None, n: 6 });
        assert_eq!(all.histograms().response.count(), 600);
    }

    #[test]
    fn merging_keeps_the_worst() {
        let mut all = gather(fixed(), ticks([]));
        let mut bad = gather(fixed(), [Event::Connected { requested: 4, established: 2, took_ns: 1, tls: None }]);
        bad.apply(&Event::Warmed { at_ns: 0, settled: false }).unwrap();
        all.merge(&bad);
        let e = all.evidence();
        assert!(!e.settled && e.interrupted);
        assert_eq!((e.connections.established, e.connections.opened), (2, 6));
    }

    #[test]
    fn what_has_not_been_seen_is_not_assumed() {
        let nothing = Gather::new(plan(Warmup::Auto)).evidence();
        assert!(nothing.interrupted && !nothing.settled);
        assert_eq!((goodput(&nothing).value, throughput_per_s(&nothing)), (0.0, 0.0));
        assert_eq!(nothing.outstanding, Outstanding::default());
        let warmed = gather(plan(Warmup::Auto), [Event::Warmed { at_ns: 1, settled: true }]);
        assert!(warmed.evidence().settled);
    }

    #[test]
    fn a_damaged_histogram_leaves_nothing_half_done() {
        let mut gather = Gather::new(fixed());
        let mut t = tick(Phase::Measure, 0, 1000, 5);
        t.histograms.slip_blocked = "?".into();
        assert!(gather.apply(&Event::Tick(Box::new(t))).is_err());
        let e = gather.evidence();
        assert_eq!((e.measured_ns, e.latency.response.n, e.flow.good), (0, 0, 0));
    }
}
