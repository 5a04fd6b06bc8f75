//! The kernel's figures over a window.

use super::bounded::kept;
use model::{Figures, GaugeObserved, KernelFigures};
use std::collections::BTreeMap;

/// Parts, and names of each, that are kept: no kernel has more, and one that makes names up takes no memory.
const NAMES_MAX: usize = 4096;

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
        let none = GaugeSum { looks: 0, sum: 0, max: 0, min: u64::MAX };
        let Some(gauge) = kept_of(&mut self.gauges, part, name, none) else { return };
        gauge.looks += more.looks;
        gauge.sum += more.sum;
        gauge.max = gauge.max.max(more.max);
        gauge.min = gauge.min.min(more.min);
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
        if let Some(counter) = kept_of(sum, part, name, 0) {
            *counter += n;
        }
    }
}

/// What stands under the name of a part.
fn kept_of<'a, V>(
    of: &'a mut BTreeMap<String, BTreeMap<String, V>>,
    part: &str,
    name: &str,
    none: V,
) -> Option<&'a mut V> {
    kept(of, part, NAMES_MAX, BTreeMap::new()).and_then(|of_part| kept(of_part, name, NAMES_MAX, none))
}

fn flat<V>(figures: &BTreeMap<String, BTreeMap<String, V>>) -> impl Iterator<Item = (&String, &String, &V)> {
    figures.iter().flat_map(|(part, names)| names.iter().map(move |(name, value)| (part, name, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_makes_up_names_takes_bounded_memory() {
        let mut sum = KernelSum::default();
        for sample in 0..2 {
            let names: BTreeMap<_, _> = (0..3000).map(|n| (format!("{sample} {n}"), 7)).collect();
            let figures: Figures = [("tcp".to_owned(), names)].into();
            sum.add(&KernelFigures { counters: figures.clone(), gauges: figures });
        }
        assert_eq!((sum.counters["tcp"].len(), sum.gauges()["tcp"].len()), (NAMES_MAX, NAMES_MAX));
        let gauge = sum.gauges()["tcp"]["0 0"];
        assert_eq!((gauge.mean, gauge.max, gauge.min), (7.0, 7, 7));
    }
}
