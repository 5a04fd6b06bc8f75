//! The kernel's figures over a window.

use model::{Figures, GaugeObserved, KernelFigures};
use std::collections::BTreeMap;

/// Growth of counters, and what gauges have shown, by part and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KernelSum {
    counters: Figures,
    gauges: BTreeMap<String, BTreeMap<String, GaugeSum>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GaugeSum {
    looks: u64,
    sum: u128,
    max: u64,
    min: u64,
}

impl KernelSum {
    pub(super) fn add(&mut self, figures: &KernelFigures) {
        add_counters(&mut self.counters, &figures.counters);
        for (part, name, value) in flat(&figures.gauges) {
            let value = *value;
            self.take(part, name, GaugeSum { looks: 1, sum: value.into(), max: value, min: value });
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        add_counters(&mut self.counters, &other.counters);
        for (part, name, gauge) in flat(&other.gauges) {
            self.take(part, name, *gauge);
        }
    }

    fn take(&mut self, part: &str, name: &str, more: GaugeSum) {
        let of_part = self.gauges.entry(part.to_owned()).or_default();
        of_part
            .entry(name.to_owned())
            .and_modify(|gauge| {
                gauge.looks += more.looks;
                gauge.sum += more.sum;
                gauge.max = gauge.max.max(more.max);
                gauge.min = gauge.min.min(more.min);
            })
            .or_insert(more);
    }

    pub(super) const fn counters(&self) -> &Figures {
        &self.counters
    }

    pub(super) fn gauges(&self) -> BTreeMap<String, BTreeMap<String, GaugeObserved>> {
        let mut gauges: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (part, name, gauge) in flat(&self.gauges) {
            let mean = gauge.sum as f64 / gauge.looks as f64;
            let observed = GaugeObserved { mean, max: gauge.max, min: gauge.min };
            gauges.entry(part.clone()).or_default().insert(name.clone(), observed);
        }
        gauges
    }
}

fn add_counters(sum: &mut Figures, more: &Figures) {
    for (part, name, n) in flat(more) {
        *sum.entry(part.clone()).or_default().entry(name.clone()).or_default() += n;
    }
}

fn flat<V>(figures: &BTreeMap<String, BTreeMap<String, V>>) -> impl Iterator<Item = (&String, &String, &V)> {
    figures.iter().flat_map(|(part, names)| names.iter().map(move |(name, value)| (part, name, value)))
}
