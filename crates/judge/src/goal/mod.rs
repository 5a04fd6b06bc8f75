//! Goals: what a load has to meet to count as held, such as `p99<100ms,errors<0.1%`.
//!
//! Pure: a text becomes a [`Goal`], and a goal is put to the evidence of one load. Few errors and a kept send rate
//! belong to every goal: without them a server that refuses quickly, or a client that sends too little, would meet any
//! latency.

pub(crate) mod parse;

use model::{Evidence, Histograms, MergedHistogram, Quantile};
use std::fmt;

/// Conditions that a load has to meet, all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    conditions: Vec<Condition>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is measured.
    pub quantity: Quantity,
    /// Side of the limit that it has to be on.
    pub side: Side,
    /// In the unit of the quantity.
    pub limit: f64,
    /// As it is written.
    text: String,
}

/// Side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Quantile of the response time; ns.
    Quantile(Quantile),
    /// Quantile of the time to the first byte of the response, from the actual send; ns.
    FirstByte(Quantile),
    /// Mean response time; ns.
    Mean,
    /// Longest response time; ns.
    Max,
    /// Failed share of the requests, 0 to 1.
    Errors,
    /// Sent share of the requests that were due, 0 to 1.
    SendRate,
    /// Share of the requests that were answered well within [`model::Plan::slo_ns`], 0 to 1.
    Slo,
    /// CPU time of the server, as a share of the CPUs that it may use, 0 to 1.
    CpuShare,
    /// CPUs that the server keeps busy.
    Cpus,
    /// Resident memory of the server at its largest; bytes.
    Rss,
}

/// One load, as a goal looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// What is known of it.
    pub evidence: &'a Evidence,
    /// Its latencies, on the same basis as those of the evidence.
    pub histograms: &'a Histograms,
    /// CPUs that the server was given; empty: those that it is seen to be allowed.
    pub server_cpus: &'a [u32],
}

/// What a condition says of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// What was measured, in the unit of the quantity; none when it is not known.
    pub value: Option<f64>,
    /// True if the condition is met. What is not known is not met.
    pub held: bool,
}

impl Goal {
    /// Reads a goal, and adds the conditions that belong to every goal where they are not named: `errors<0.1%` and
    /// `send-rate>99%`. Its own text reads back as the same goal.
    ///
    /// # Errors
    /// One line that names the condition, the reason, and what to write.
    pub fn parse(text: Option<&str>) -> Result<Self, String> {
        parse::conditions(text).map(|conditions| Self { conditions })
    }

    /// The conditions in their order.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// What each condition says of a load, in their order.
    #[must_use]
    pub fn judge(&self, measured: &Measured<'_>) -> Vec<Judged> {
        self.conditions.iter().map(|condition| condition.judge(measured)).collect()
    }

    /// Share of the requests that may fail, 0 to 1.
    #[must_use]
    pub fn errors_max(&self) -> f64 {
        let errors = self.conditions.iter().find(|condition| condition.quantity == Quantity::Errors);
        errors.map_or(0.0, |condition| condition.limit)
    }

    /// The quantiles that are named.
    #[must_use]
    pub fn quantiles(&self) -> Vec<Quantile> {
        let quantile = |condition: &Condition| match condition.quantity {
            Quantity::Quantile(quantile) | Quantity::FirstByte(quantile) => Some(quantile),
            _ => None,
        };
        self.conditions.iter().filter_map(quantile).collect()
    }

    /// The highest quantile that is named, 0 to 1: as many requests are needed as it asks for.
    #[must_use]
    pub fn finest_quantile(&self) -> Option<f64> {
        self.quantiles().into_iter().max().map(Quantile::share)
    }

    /// The condition that allows the longest response time, if any is about response times.
    #[must_use]
    pub fn slowest(&self) -> Option<&Condition> {
        let latencies = self.conditions.iter().filter(|condition| condition.quantity.is_latency());
        latencies.max_by(|a, b| a.limit.total_cmp(&b.limit))
    }

    /// The condition that needs an objective of the response time.
    #[must_use]
    pub fn of_slo(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.quantity == Quantity::Slo)
    }

    /// The first condition for which the server has to be observed.
    #[must_use]
    pub fn of_server(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.quantity.is_of_server())
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.conditions.iter().map(|condition| condition.text.as_str()).collect();
        f.write_str(&texts.join(","))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    fn judge(&self, measured: &Measured<'_>) -> Judged {
        let value = self.quantity.of(measured);
        // Where nothing was due, nothing can have been slow.
        let is_empty = self.quantity.is_latency() && measured.evidence.cohort.counts.planned == 0;
        Judged { value, held: value.map_or(is_empty, |value| self.holds(value)) }
    }

    fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::Below => value < self.limit,
            Side::AtMost => value <= self.limit,
            Side::Above => value > self.limit,
            Side::AtLeast => value >= self.limit,
        }
    }
}

impl Quantity {
    const fn is_latency(self) -> bool {
        matches!(self, Self::Quantile(_) | Self::FirstByte(_) | Self::Mean | Self::Max)
    }

    /// True if it is known only where the server is observed.
    #[must_use]
    pub const fn is_of_server(self) -> bool {
        matches!(self, Self::CpuShare | Self::Cpus | Self::Rss)
    }

    /// What was measured of it; none when it is not known.
    fn of(self, measured: &Measured<'_>) -> Option<f64> {
        let Measured { evidence, histograms, server_cpus } = measured;
        let latency = &evidence.latency.response;
        let quantile_of = |histogram: &MergedHistogram, quantile: Quantile| {
            (!histogram.is_empty()).then(|| histogram.quantile(quantile.share()) as f64)
        };
        match self {
            Self::Quantile(quantile) => quantile_of(&histograms.response, quantile),
            Self::FirstByte(quantile) => quantile_of(&histograms.first_byte, quantile),
            Self::Mean => (latency.n > 0).then_some(latency.mean_ns),
            Self::Max => (latency.n > 0).then_some(latency.max_ns as f64),
            Self::Errors => Some(failed_share(evidence)),
            Self::SendRate => Some(sent_share(evidence)),
            Self::Slo => Some(evidence.cohort.counts.slo_share(evidence.plan.slo_ns)?),
            Self::Cpus => evidence.observed.as_ref()?.counted_cpu_cores(),
            Self::CpuShare => {
                let observed = evidence.observed.as_ref()?;
                let all = match server_cpus.len() {
                    0 => f64::from(observed.usable_cpus()?),
                    some => some as f64,
                };
                observed.counted_cpu_cores().map(|busy| busy / all)
            }
            Self::Rss => Some(evidence.observed.as_ref()?.server_rss_bytes_max()? as f64),
        }
    }
}

fn failed_share(evidence: &Evidence) -> f64 {
    let cohort = &evidence.cohort;
    let attempted = cohort.counts.planned.max(cohort.counts.good + cohort.failed());
    let failed = cohort.failed() as f64 + evidence::unseen_wrong(evidence);
    if attempted == 0 { 0.0 } else { failed / attempted as f64 }
}

fn sent_share(evidence: &Evidence) -> f64 {
    let cohort = &evidence.cohort;
    if cohort.counts.planned == 0 { 1.0 } else { cohort.counts.sent as f64 / cohort.counts.planned as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_open_run, machine, server};

    /// 1,000 response times from 1 ms to 1 s, whose first bytes came after half of each.
    fn histograms() -> Histograms {
        let mut histograms = Histograms::default();
        for ms in 1..=1000 {
            histograms.response.record(ms * 1_000_000);
            histograms.first_byte.record(ms * 500_000);
        }
        histograms
    }

    #[track_caller]
    fn judged(goal: &str, evidence: &Evidence, server_cpus: &[u32]) -> Vec<Judged> {
        let goal = Goal::parse(Some(goal)).unwrap();
        goal.judge(&Measured { evidence, histograms: &histograms(), server_cpus })
    }

    #[test]
    fn any_quantile_is_held_to_its_limit() {
        let evidence = clean_open_run();
        for (goal, held) in [
            ("p75<760ms", true),
            ("p75<740ms", false),
            ("p99.9<=1.1s", true),
            ("p50<400ms", false),
            ("max<21ms", true),
            ("ttfb-p75<380ms", true),
            ("ttfb-p75<370ms", false),
        ] {
            assert_eq!(judged(goal, &evidence, &[])[0].held, held, "{goal}");
        }
        assert_eq!(judged("mean<1ms", &evidence, &[])[0], Judged { value: Some(1_920_000.0), held: false });
    }

    #[test]
    fn errors_and_send_rate_belong_to_every_goal() {
        let mut evidence = clean_open_run();
        let held =
            |evidence: &Evidence| judged("p99<10s", evidence, &[]).iter().map(|one| one.held).collect::<Vec<_>>();
        assert_eq!(held(&evidence), [true, true, true]);
        evidence.fail("first_byte.timeout", 1_500);
        assert_eq!(held(&evidence), [true, false, true]);
        evidence.cohort.counts.sent = evidence.cohort.counts.planned * 98 / 100;
        assert_eq!(held(&evidence), [true, false, false]);
    }

    #[test]
    fn what_the_server_uses_is_that_of_all_its_parts() {
        let mut evidence = clean_open_run();
        server(&mut evidence).cpu_cores = 1.2;
        server(&mut evidence).rss_bytes_max = 100 << 20;
        server(&mut evidence).cpus.clear();
        let group = server(&mut evidence).clone();
        let observed = evidence.observed.as_mut().expect("it was observed");
        observed.companions = [("php-fpm".to_owned(), group)].into();
        observed.machine.as_mut().expect("it was observed").cpus = 4;
        let value = |goal: &str, cpus: &[u32]| judged(goal, &evidence, cpus)[0].value;
        assert_eq!((value("cpu<2", &[]), value("cpu<80%", &[])), (Some(2.4), Some(0.6)));
        assert_eq!(value("cpu<80%", &[0, 1, 2]), Some(2.4 / 3.0), "of those that it may use");
        assert_eq!(value("rss<1GiB", &[]), Some(f64::from(200 << 20)));
    }

    /// At all of the one CPU that it may use it was told as an eighth, and no load could miss the goal.
    #[test]
    fn a_share_of_cpus_is_of_those_that_a_pinned_server_may_use() {
        let mut evidence = clean_open_run();
        (server(&mut evidence).cpu_cores, server(&mut evidence).cpus) = (1.0, vec![0]);
        let companion = model::ServerObserved { cpu_cores: 0.5, cpus: vec![0, 1], ..server(&mut evidence).clone() };
        machine(&mut evidence).cpus = 8;
        let share = |evidence: &Evidence, given: &[u32]| judged("cpu<80%", evidence, given)[0];
        assert_eq!(share(&evidence, &[]), Judged { value: Some(1.0), held: false });
        assert_eq!(share(&evidence, &[0, 1]).value, Some(0.5), "what it was given is known better");
        let companions = &mut evidence.observed.as_mut().expect("it was observed").companions;
        companions.insert("mariadbd".to_owned(), companion);
        assert_eq!(share(&evidence, &[]).value, Some(0.75), "of both CPUs");
        server(&mut evidence).cpus.clear();
        assert_eq!(share(&evidence, &[]).value, Some(1.5 / 8.0), "nobody knows which");
    }

    #[test]
    fn what_is_not_known_is_not_met_and_where_nothing_was_due_nothing_was_slow() {
        let mut evidence = clean_open_run();
        evidence.observed = None;
        assert_eq!(judged("rss<1GiB", &evidence, &[])[0], Judged { value: None, held: false });
        evidence.latency.response.n = 0;
        assert_eq!(judged("max<1s", &evidence, &[])[0], Judged { value: None, held: false });
        evidence.cohort = model::Cohort::default();
        assert!(judged("max<1s", &evidence, &[]).iter().all(|judged| judged.held));
    }

    #[test]
    fn a_goal_says_what_it_needs() {
        let goal = Goal::parse(Some("p99<100ms,p99.9<1s,cpu<80%,errors<1%")).unwrap();
        assert_eq!((goal.finest_quantile(), goal.errors_max()), (Some(0.999), 0.01));
        assert_eq!(goal.slowest().map(ToString::to_string).as_deref(), Some("p99.9<1s"));
        assert_eq!(goal.of_server().map(ToString::to_string).as_deref(), Some("cpu<80%"));
        let default = Goal::parse(None).unwrap();
        assert!(default.finest_quantile().is_none() && default.slowest().is_none() && default.of_server().is_none());
    }
}
