//! Property of all rules: no part is larger than its whole, whatever warm-up, window and drain contained.

use crate::judge_run;
use crate::testing::{clean_open_run, clean_run, tls};
use evidence::EvidenceBuilder;
use model::{
    Cause, Cohort, Counts, Event, Evidence, Finding, Flow, Histograms, NS_PER_S, Phase, SLICE_NS, SliceAccount,
    SliceFlow, Tick, TlsSession, slice_of,
};
use proptest::prelude::*;

/// Statuses that some rule looks for.
const STATUSES: [u16; 5] = [302, 403, 429, 500, 503];

/// What happened in a second.
#[derive(Clone, Debug)]
struct Made {
    sent: u64,
    /// Of the sent ones: without a complete response.
    unanswered: u64,
    /// Of the others: with a bad status.
    bad: u64,
    status: u16,
    /// Scheduled and never sent.
    unsent: u64,
    /// Connections opened, whether a request needed them or not.
    opened: u64,
    service_ns: u64,
    is_disturbed: bool,
}

impl Made {
    fn tick(&self, phase: Phase, second: u64) -> Tick {
        let (from_ns, to_ns) = (second * NS_PER_S, (second + 1) * NS_PER_S);
        let Self { sent, unanswered, bad, unsent, .. } = *self;
        let (completed, good) = (sent - unanswered, sent - unanswered - bad);
        let flow = Flow {
            sent,
            completed,
            good,
            failed: unanswered + bad + unsent,
            opened: self.opened,
            bytes_received: completed * 1_200,
            outstanding_ns: sent * self.service_ns,
            ..Flow::default()
        };
        let slices: Vec<SliceFlow> = (slice_of(from_ns)..slice_of(to_ns))
            .map(|slice| SliceFlow { good: good / 10, completed: completed / 10, ..SliceFlow::new(slice) })
            .collect();
        let mut tick = Tick { flow, slices, ..Tick::empty(phase, from_ns, to_ns) };
        (0..self.opened).for_each(|_| tick.histograms.handshake.record(1_000_000));
        if phase == Phase::Warmup {
            return tick;
        }
        let failures = [("first_byte.timeout", unanswered), ("contract.status", bad), ("send.timeout", unsent)];
        tick.cohort = Cohort {
            counts: Counts {
                planned: sent + unsent,
                sent,
                completed,
                good,
                censored: unanswered + unsent,
                ..Counts::default()
            },
            status: [(200, good), (self.status, bad)].into(),
            failures: failures.map(|(name, n)| (name.to_owned(), n)).into(),
            ..Cohort::default()
        };
        let times = |n: u64| {
            let mut histograms = Histograms::default();
            for _ in 0..n {
                histograms.response.record(self.service_ns);
                histograms.service.record(self.service_ns);
                histograms.slip_client.record(self.service_ns / 2);
            }
            histograms
        };
        tick.histograms.add(&times(sent));
        if self.is_disturbed {
            tick.set_aside = times(sent);
        }
        tick
    }

    /// A quarter of the second was taken.
    fn account(&self, second: u64) -> Event {
        let first = slice_of(second * NS_PER_S);
        let slices = if self.is_disturbed { 0..3 } else { 0..0 };
        let taken_ns: std::collections::BTreeMap<_, _> = [(Cause::ServerSteal, SLICE_NS / 2)].into();
        let slices =
            slices.map(|i| SliceAccount { slice: first + i, taken_ns: taken_ns.clone(), others_ns: None }).collect();
        Event::Disturbed { until_slice: first + 10, slices }
    }
}

fn made() -> impl Strategy<Value = Made> {
    let shares = (0.0..=1.0_f64, 0.0..=1.0_f64);
    let counts = (0..400_u64, 0..200_u64, 0..1_000_u64);
    (counts, shares, 0..STATUSES.len(), 100_000..60_000_000_u64, any::<bool>()).prop_map(
        |((sent, unsent, opened), (unanswered, bad), status, service_ns, is_disturbed)| {
            let unanswered = (sent as f64 * unanswered) as u64;
            let bad = ((sent - unanswered) as f64 * bad) as u64;
            Made { sent, unanswered, bad, status: STATUSES[status], unsent, opened, service_ns, is_disturbed }
        },
    )
}

/// The surroundings of `clean` with the load of these seconds.
fn loaded(clean: Evidence, warmup: &[Made], window: &[Made], drain: &Made, counters: &[u64]) -> Evidence {
    let mut builder = EvidenceBuilder::new(clean.plan.clone());
    builder.apply(&Event::Connected {
        requested: 64,
        established: 64,
        took_ns: 1,
        fruitless: Default::default(),
        tls: Some(TlsSession::default()),
    });
    let phases = std::iter::repeat_n(Phase::Warmup, warmup.len())
        .chain(std::iter::repeat_n(Phase::Measure, window.len()))
        .chain([Phase::Drain]);
    for ((second, phase), made) in (0..).zip(phases).zip(warmup.iter().chain(window).chain([drain])) {
        builder.apply(&Event::Tick(Box::new(made.tick(phase, second))));
        builder.apply(&made.account(second));
    }
    let made = builder.evidence();
    let mut evidence = Evidence { plan: clean.plan.clone(), ..made };
    (evidence.probe, evidence.observed, evidence.status) = (clean.probe, clean.observed, clean.status);
    let parts = evidence.observed.iter_mut().flat_map(|observed| observed.counters.values_mut());
    for (counter, value) in parts.flat_map(|part| part.values_mut()).zip(counters.iter().cycle()) {
        *counter = *value;
    }
    evidence
}

/// Shares above 1 in the figures and in the words of a finding.
fn above_one(finding: &Finding) -> Option<String> {
    // Of what processes used, as the kernel adds it up: PH-06 says that it is more than the whole.
    if finding.rule == "PH-06" {
        return None;
    }
    let is_share = |name: &str| name == "share" || name.ends_with("_share");
    let figure = finding.evidence.iter().find(|(name, value)| is_share(name) && !(0.0..=1.0).contains(*value));
    let mut in_brackets = finding.message.split('(').skip(1).filter_map(|rest| rest.split_once(" %)")?.0.parse().ok());
    let has_words = in_brackets.any(|percent: f64| percent > 100.0);
    (figure.is_some() || has_words).then(|| format!("{finding:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_share_exceeds_the_whole(
        warmup in prop::collection::vec(made(), 0..6),
        window in prop::collection::vec(made(), 1..9),
        drain in made(),
        counters in prop::collection::vec(prop_oneof![Just(0), 0..2_000_u64, 0..100_000_000_u64], 1..40),
        is_open in any::<bool>(),
        is_encrypted in any::<bool>(),
    ) {
        let mut clean = if is_open { clean_open_run() } else { clean_run() };
        clean.plan.tls = is_encrypted.then(tls);
        let verdict = judge_run(&loaded(clean, &warmup, &window, &drain, &counters));
        let above: Vec<_> = verdict.findings.iter().filter_map(above_one).collect();
        prop_assert!(above.is_empty(), "{above:#?}");
    }
}
