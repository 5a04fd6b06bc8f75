//! Several sweeps side by side: what they are called, whether they were measured alike, and their figures in a line.

use crate::Named;
use crate::words::latency::quantile_text;
use crate::words::over::Over;
use crate::words::shape::NoKnee;
use crate::words::sweep::peak_rate;
use crate::words::verdict::state_word;
use evidence::factors::conditions;
use model::human::{plural, time};
use model::{Arrivals, Load, PointSummary, Quantile, SweepRecord};
use std::collections::BTreeMap;

/// What must be said wherever figures of several arms stand beside each other.
pub(crate) const NOT_PAIRED: &str = "Side by side, measured one after the other: this is no paired comparison. There is \
                                     no interval on the differences, so small ones mean nothing.";

/// Columns of [`Arm::row`] after the arm itself. The last is CPU time of the server for each good response at the peak.
const FIGURES: [&str; 7] =
    ["verdict", "peak goodput", "load at peak", "knee", "p99 at knee", "p99 at peak", "server CPU per good"];

/// One of several sweeps.
pub(crate) struct Arm<'a> {
    /// Place among the sweeps, from 0: the same colour or letter in every picture.
    pub(crate) index: usize,
    /// Name that no other has.
    pub(crate) label: String,
    pub(crate) record: &'a SweepRecord,
}

/// The sweeps among `results`, arms of several by themselves.
pub(crate) fn arms<'a>(results: &[Named<'a>]) -> Vec<Arm<'a>> {
    let sweeps: Vec<(&str, &SweepRecord)> =
        results.iter().flat_map(|named| named.record.sweeps().iter().map(|record| (named.name, record))).collect();
    let labels = labels(&sweeps.iter().map(|(name, record)| (*name, record.arm.as_deref())).collect::<Vec<_>>());
    let numbered = sweeps.into_iter().zip(labels).enumerate();
    numbered.map(|(index, ((_, record), label))| Arm { index, label, record }).collect()
}

/// Arms that were measured alike together, in the order of their first ones; only these may share a picture.
pub(crate) fn groups<'a, 'b>(arms: &'b [Arm<'a>]) -> Vec<Vec<&'b Arm<'a>>> {
    let mut groups: Vec<Vec<&Arm<'_>>> = Vec::new();
    for arm in arms {
        match groups.iter_mut().find(|group| group[0].conditions() == arm.conditions()) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

/// What a reader of several arms has to know: that they are not paired, and which were measured otherwise.
pub(crate) fn remarks(arms: &[Arm<'_>]) -> Vec<String> {
    let groups = groups(arms);
    let mut remarks = vec![NOT_PAIRED.to_owned()];
    let Some(first) = groups.first().map(|group| group[0]) else { return remarks };
    for group in &groups[1..] {
        let labels: Vec<_> = group.iter().map(|arm| arm.label.as_str()).collect();
        let differences: Vec<_> = group[0]
            .conditions()
            .into_iter()
            .zip(first.conditions())
            .filter(|(own, other)| own != other)
            .map(|((name, own), (_, other))| format!("{name}: {own}, not {other}"))
            .collect();
        remarks.push(format!(
            "Not to be held against {}, as the load was another: {} ({}).",
            first.label,
            labels.join(", "),
            differences.join("; ")
        ));
    }
    remarks
}

/// Head of the table of [`Arm::row`]s.
pub(crate) fn header(arms: &[Arm<'_>]) -> Vec<String> {
    let first = if arms.iter().any(|arm| arm.record.arm.is_some()) { "arm" } else { "result" };
    [first].into_iter().chain(FIGURES).map(str::to_owned).collect()
}

impl Arm<'_> {
    pub(crate) fn over(&self) -> Over {
        Over::of(self.record)
    }

    /// What the load was like, apart from where it went: arms that differ in it say nothing about each other.
    fn conditions(&self) -> Vec<(&'static str, String)> {
        let axis = self.over().axis();
        let Some(plan) = self.record.points.first().map(|point| &point.plan) else {
            return vec![("load", format!("none, over {axis}"))];
        };
        let kind = match plan.load {
            Load::Closed { .. } => format!("closed loop over {axis}"),
            Load::Open { connections, arrivals, .. } => {
                let arrivals = match arrivals {
                    Arrivals::Poisson => "random",
                    Arrivals::Constant => "even",
                };
                format!(
                    "open loop over {axis}, {arrivals} arrivals, at most {}",
                    plural(connections.into(), "connection")
                )
            }
        };
        [("load", kind)].into_iter().chain(conditions(plan)).collect()
    }

    /// The arm in the columns of [`header`].
    pub(crate) fn row(&self) -> Vec<String> {
        let (record, over) = (self.record, self.over());
        let none = || "-".to_owned();
        let peak = record.peak;
        let near_knee = record.knee.and_then(|knee| self.nearest(knee.load));
        let at_peak = self.at_peak();
        let cpu = at_peak.and_then(|i| cpu_ns_per_good(&record.curve[i]));
        vec![
            self.label.clone(),
            state_word(record.verdict.state).to_owned(),
            peak.map_or_else(none, |peak| peak_rate(record, peak)),
            peak.map_or_else(none, |peak| over.number(peak.load)),
            self.knee(),
            near_knee.map_or_else(none, |i| self.p99_at(i)),
            at_peak.map_or_else(none, |i| self.p99(i)),
            cpu.map_or_else(none, time),
        ]
    }

    /// The knee in a table.
    fn knee(&self) -> String {
        match self.record.knee {
            Some(knee) => self.over().number(knee.load),
            None => NoKnee::of(self.record).cell().to_owned(),
        }
    }

    /// The point of the peak.
    pub(crate) fn at_peak(&self) -> Option<usize> {
        let peak = self.record.peak?;
        self.record.curve.iter().position(|point| point.load == peak.load)
    }

    /// The point whose load is closest to `load`, by ratio: a knee lies between loads that were measured.
    fn nearest(&self, load: f64) -> Option<usize> {
        let away = |point: &PointSummary| (point.load / load).ln().abs();
        let curve = self.record.curve.iter().enumerate();
        curve.min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b))).map(|(i, _)| i)
    }

    /// The p99 with its load.
    fn p99_at(&self, i: usize) -> String {
        match self.p99(i) {
            text if text == "-" => text,
            text => format!("{text} at {}", self.over().number(self.record.curve[i].load)),
        }
    }

    fn p99(&self, i: usize) -> String {
        let ns = self.record.curve[i].response_p99_ns;
        self.record.points.get(i).map_or_else(|| "-".to_owned(), |run| quantile_text(&run.verdict, Quantile::P99, ns))
    }
}

/// CPU time of the server for each good response; none when nobody saw the server, or nothing was good.
fn cpu_ns_per_good(point: &PointSummary) -> Option<f64> {
    let cores = point.server_cpu_cores?;
    (point.goodput_per_s > 0.0).then(|| cores * 1e9 / point.goodput_per_s)
}

/// What each is called by, from the name of its directory and its arm: the arm if there is one. Those that would be
/// called alike are told apart by the directory, or else by a number.
fn labels(sweeps: &[(&str, Option<&str>)]) -> Vec<String> {
    let short: Vec<&str> = sweeps.iter().map(|(name, arm)| arm.unwrap_or(name)).collect();
    let (of_short, of_whole) = (counted(short.iter().copied()), counted(sweeps.iter().copied()));
    let labels = sweeps.iter().enumerate().map(|(i, own)| match own {
        _ if of_short[short[i]] == 1 => short[i].to_owned(),
        (name, Some(arm)) if of_whole[own] == 1 => format!("{name}: {arm}"),
        _ => format!("{} ({})", short[i], i + 1),
    });
    labels.collect()
}

/// How often each is there.
fn counted<T: Ord>(all: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_as_short_as_they_can_be_told_apart() {
        assert_eq!(labels(&[("a", None), ("b", None)]), ["a", "b"]);
        assert_eq!(labels(&[("run", Some("nginx")), ("run", Some("apache"))]), ["nginx", "apache"]);
        assert_eq!(labels(&[("old", Some("nginx")), ("new", Some("nginx"))]), ["old: nginx", "new: nginx"]);
        assert_eq!(labels(&[("run", Some("x")), ("run", Some("x"))]), ["x (1)", "x (2)"]);
        assert_eq!(labels(&[("run", None), ("run", None), ("c", None)]), ["run (1)", "run (2)", "c"]);
    }

    #[test]
    fn labels_of_many_arms_take_no_time() {
        let names: Vec<String> = (0..200_000).map(|i| format!("arm {i}")).collect();
        let sweeps: Vec<(&str, Option<&str>)> = names.iter().map(|name| ("run", Some(name.as_str()))).collect();
        assert_eq!(labels(&sweeps).last().map(String::as_str), Some("arm 199999"));
    }
}
