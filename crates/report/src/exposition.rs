//! Samples of `plimsoll observe` for Prometheus (OpenMetrics text).

use model::{CpuTimes, Fold, GroupObservation, NS_PER_S, Observation, PROCESS_FIGURES};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;

/// What the text is, for the header that says so.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;

/// Counters since the first look (`total`), and levels of the last (`seen`). What is not available has no series.
#[must_use]
pub fn exposition(total: &Observation, seen: &Observation) -> String {
    let mut sheet = Sheet(Registry::with_prefix("plimsoll"));
    counters(&mut sheet, total);
    levels(&mut sheet, seen);
    let mut text = String::new();
    encode(&mut text, &sheet.0).expect("a string takes everything");
    text
}

fn counters(sheet: &mut Sheet, total: &Observation) {
    let of_machine = total.machine.iter().flat_map(|machine| {
        let CpuTimes { user_ns, system_ns, softirq_ns, steal_ns, idle_ns } = machine.total;
        let modes = [("user", user_ns), ("system", system_ns), ("softirq", softirq_ns), ("steal", steal_ns)];
        modes.into_iter().chain([("idle", idle_ns)]).map(|(mode, ns)| (vec![("mode", mode.to_owned())], seconds(ns)))
    });
    sheet.counter("machine_cpu_seconds", "CPU time of this machine", of_machine);
    for figure in PROCESS_FIGURES.iter().filter(|figure| figure.fold == Fold::Used) {
        let unit = if figure.name.ends_with("_ns") { NS_PER_S as f64 } else { 1.0 };
        let of_groups = total.groups.iter().flat_map(|group| {
            let process = |name: &str| vec![("target", group.target.clone()), ("process", name.to_owned())];
            group
                .processes
                .iter()
                .filter_map(move |used| Some((process(&used.name), (figure.value)(&used.figures)? as f64 / unit)))
        });
        sheet.counter(figure.metric, figure.words, of_groups);
    }
    let lost = total.groups.iter().map(|group| (target(group), group.ended_unaccounted as f64));
    sheet.counter("ended_unaccounted", "Processes that ended and whose last CPU time nobody can tell", lost);
    let kernel = figures(&total.kernel.counters);
    sheet.counter("kernel_events", "What the kernel of this machine counts", kernel);
    let cost = [(Vec::new(), seconds(total.look_cpu_ns))];
    sheet.counter("look_cpu_seconds", "CPU time that looking has cost", cost);
}

fn levels(sheet: &mut Sheet, seen: &Observation) {
    let cpus = seen.machine.iter().map(|machine| (Vec::new(), machine.cpus.len() as f64));
    sheet.gauge("machine_cpus", "CPUs of this machine", cpus);
    sheet.gauge("kernel_level", "Levels in the kernel of this machine", figures(&seen.kernel.gauges));
    for figure in PROCESS_FIGURES.iter().filter(|figure| figure.fold != Fold::Used) {
        let known =
            seen.groups.iter().filter_map(|group| Some((target(group), (figure.value)(&group.figures)? as f64)));
        sheet.gauge(figure.metric, figure.words, known);
    }
    for (name, help, value) in LEVELS {
        let known = seen.groups.iter().filter_map(|group| Some((target(group), value(group)?)));
        sheet.gauge(name, help, known);
    }
    let sockets = seen.groups.iter().flat_map(|group| {
        let sockets = group.sockets.iter();
        sockets.flat_map(move |sockets| {
            let server = sockets.server.iter().flatten().map(|pair| ("server", pair));
            server.chain(sockets.client.iter().map(|pair| ("client", pair))).map(move |(end, (state, n))| {
                let labels = [("end", end.to_owned()), ("state", state.clone())];
                (target(group).into_iter().chain(labels).collect(), *n as f64)
            })
        })
    });
    sheet.gauge("sockets", "TCP sockets of what was asked for by where it listens, by state", sockets);
}

/// A level of what was asked for that is no figure of its processes: name, meaning and value.
type Level = (&'static str, &'static str, fn(&GroupObservation) -> Option<f64>);

const LEVELS: [Level; 3] = [
    ("run_queue_wait", "Threads that could have run, but no CPU was free", |group| group.run_queue_wait),
    ("accept_queue", "Connections that wait to be accepted", |group| {
        group.sockets.as_ref()?.accept_queue.map(|n| n as f64)
    }),
    ("accept_backlog", "Connections that may wait to be accepted", |group| {
        group.sockets.as_ref()?.accept_backlog.map(|n| n as f64)
    }),
];

fn target(group: &GroupObservation) -> Labels {
    vec![("target", group.target.clone())]
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S as f64
}

fn figures(all: &model::Figures) -> impl Iterator<Item = (Labels, f64)> {
    let label = |part: &str, name: &str| vec![("part", part.to_owned()), ("name", name.to_owned())];
    all.iter().flat_map(move |(part, figures)| figures.iter().map(move |(name, n)| (label(part, name), *n as f64)))
}

/// What will be written. A metric without any series is left out.
struct Sheet(Registry);

impl Sheet {
    fn counter(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Counter<f64, AtomicU64>>::default();
        let mut series = series.into_iter().peekable();
        if series.peek().is_some() {
            for (labels, value) in series {
                family.get_or_create(&labels).inc_by(value);
            }
            self.0.register(name, help, family);
        }
    }

    fn gauge(&mut self, name: &str, help: &str, series: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        let mut series = series.into_iter().peekable();
        if series.peek().is_some() {
            for (labels, value) in series {
                family.get_or_create(&labels).set(value);
            }
            self.0.register(name, help, family);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ProcessFigures, ProcessUse, Sockets};

    #[test]
    fn counters_and_levels_have_their_labels_and_what_is_missing_has_none() {
        let figures = ProcessFigures { cpu_ns: NS_PER_S / 2, rss_bytes: 4096, ..ProcessFigures::default() };
        let used = ProcessUse { name: "say \"hi\"".into(), figures };
        let sockets = Sockets { server: Some([("established".to_owned(), 3)].into()), ..Sockets::default() };
        let group = GroupObservation {
            target: ":80".into(),
            figures,
            processes: vec![used],
            sockets: Some(sockets),
            ..GroupObservation::default()
        };
        let seen = Observation { groups: vec![group], ..Observation::default() };
        let text = exposition(&seen, &seen);
        for line in [
            "# TYPE plimsoll_cpu_seconds counter",
            "plimsoll_cpu_seconds_total{target=\":80\",process=\"say \\\"hi\\\"\"} 0.5",
            "plimsoll_resident_memory_bytes{target=\":80\"} 4096.0",
            "plimsoll_sockets{target=\":80\",end=\"server\",state=\"established\"} 3.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(!text.contains("open_fds") && !text.contains("machine_cpus") && text.ends_with("# EOF\n"), "{text}");
    }
}
