//! Machine and server in words.

use model::human::{bytes, plural, time};
use model::{PointSummary, ProcessObserved, RunRecord, ServerObserved};

/// Processes named in a line.
const NAMED_MAX: usize = 3;

/// What the server used, or why that is not known; none when nobody looked.
pub(crate) fn server(record: &RunRecord) -> Option<String> {
    let observed = record.observed.as_ref()?;
    match (&observed.server, observed.unavailable.get("server")) {
        (Some(server), _) => Some(server_use(server)),
        (None, Some(why)) => Some(format!("CPU not known: {why}")),
        (None, None) => None,
    }
}

/// What each companion used, or why that is not known: name and words.
pub(crate) fn companions(record: &RunRecord) -> Vec<(&str, String)> {
    let Some(observed) = &record.observed else { return Vec::new() };
    let used = observed.companions.iter().map(|(label, used)| (label.as_str(), server_use(used)));
    let unknown = observed.unavailable.iter().filter_map(|(part, why)| {
        let label = part.strip_prefix("companions/")?;
        (!observed.companions.contains_key(label)).then(|| (label, format!("CPU not known: {why}")))
    });
    used.chain(unknown).collect()
}

fn server_use(server: &ServerObserved) -> String {
    let per_request =
        server.cpu_ns_per_request.map_or_else(String::new, |ns| format!(", {} of CPU per request", time(ns)));
    let lost = match server.ended_unaccounted {
        0 => String::new(),
        n => format!("; {} ended uncounted", plural(n, "worker")),
    };
    format!(
        "{} ({}){per_request}, RSS {}{lost}",
        cpus(server.cpu_cores),
        processes(&server.processes),
        bytes(server.rss_bytes_max)
    )
}

/// The processes by name and number: `nginx x 3, php-fpm`.
fn processes(all: &[ProcessObserved]) -> String {
    let name = |process: &ProcessObserved| match process.count {
        0 | 1 => process.name.clone(),
        n => format!("{} x {n}", process.name),
    };
    let mut names: Vec<_> = all.iter().take(NAMED_MAX).map(name).collect();
    if all.len() > NAMED_MAX {
        names.push(format!("{} more", all.len() - NAMED_MAX));
    }
    names.join(", ")
}

/// CPUs that were kept busy, with their unit: `0.62 CPUs`.
pub(crate) fn cpus(cores: f64) -> String {
    format!("{} CPUs", cores_number(cores))
}

/// CPUs that were kept busy: `0.058`, `0.62`, `12.3`.
pub(crate) fn cores_number(cores: f64) -> String {
    match cores {
        c if c < 0.0005 => "0".to_owned(),
        c if c < 0.0995 => format!("{c:.3}"),
        c if c < 9.995 => format!("{c:.2}"),
        c => format!("{c:.1}"),
    }
}

/// The CPUs that the server kept busy at each point of a sweep; none when that is not known of any.
pub(crate) fn server_column(curve: &[PointSummary]) -> Option<Vec<String>> {
    let cell = |point: &PointSummary| point.server_cpu_cores.map_or_else(|| "-".to_owned(), cores_number);
    curve.iter().any(|point| point.server_cpu_cores.is_some()).then(|| curve.iter().map(cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_by_number() {
        let process = |name: &str, count| ProcessObserved { name: name.into(), count, ..ProcessObserved::default() };
        assert_eq!(processes(&[process("nginx", 3), process("php", 1)]), "nginx x 3, php");
        assert_eq!(processes(&["a", "b", "c", "d", "e"].map(|name| process(name, 1))), "a, b, c, 2 more");
    }

    #[test]
    fn processors_have_three_figures() {
        assert_eq!([0.0, 0.0584, 0.617, 9.99, 12.34].map(cores_number), ["0", "0.058", "0.62", "9.99", "12.3"]);
        let lost = ServerObserved { ended_unaccounted: 2, ..ServerObserved::default() };
        assert!(server_use(&lost).ends_with("; 2 workers ended uncounted"));
    }
}
