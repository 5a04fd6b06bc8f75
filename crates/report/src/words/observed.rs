//! Machine and server in words.

use model::human::{bytes, percent, plural, time};
use model::{Observed, PointSummary, PoolObserved, ProcessObserved, RunRecord, ServerObserved};

/// Head of the column of the CPUs that the server and its companions kept busy.
pub(crate) const SERVER_COLUMN: &str = "server CPUs";
/// Processes named in a line.
const NAMED_MAX: usize = 3;
/// Occupancy from which on a pool of workers is told: half of it.
const POOL_TOLD: f64 = 0.5;
/// Share of the CPUs from which on it is told what is missing in the server's figures.
const UNSEEN_MIN: f64 = 0.02;
/// Shares below it, of occupancy and of what workers waited for, are hardly there.
const HARDLY: f64 = 0.01;

/// What the server used, or why that is not known; none when nobody looked.
pub(crate) fn server(record: &RunRecord) -> Option<String> {
    let observed = record.observed.as_ref()?;
    match (&observed.server, observed.unavailable.get(Observed::SERVER)) {
        (Some(server), _) => Some(server_use(server) + &unseen(observed)),
        (None, Some(why)) => Some(format!("CPU not known: {why}")),
        (None, None) => None,
    }
}

/// That programs which may work for the server are not in its figures; nothing where they used next to no CPU time.
pub(crate) fn unseen(observed: &Observed) -> String {
    let undecided = observed.others.iter().flat_map(|others| &others.undecided);
    let (cores, names): (Vec<f64>, Vec<&str>) = undecided.map(|other| (other.cpu_cores, other.name.as_str())).unzip();
    let cpus = observed.machine.as_ref().map_or(1, |machine| machine.cpus.max(1));
    if cores.iter().sum::<f64>() <= UNSEEN_MIN * f64::from(cpus) {
        return String::new();
    }
    let names: Vec<&str> = names.into_iter().take(NAMED_MAX).collect();
    format!("; without {}, of which this user cannot see whether it works for the server", names.join(", "))
}

/// What each companion used, or why that is not known: name and words.
pub(crate) fn companions(record: &RunRecord) -> Vec<(&str, String)> {
    let Some(observed) = &record.observed else { return Vec::new() };
    let used = observed.companions.iter().map(|(label, used)| (label.as_str(), server_use(used)));
    let unknown = observed.unavailable.iter().filter_map(|(part, why)| {
        let label = part.strip_prefix(Observed::COMPANION)?;
        (!observed.companions.contains_key(label)).then(|| (label, format!("CPU not known: {why}")))
    });
    used.chain(unknown).collect()
}

/// Pools of workers of which at least half were occupied, in a line each.
pub(crate) fn pools(record: &RunRecord) -> Vec<String> {
    let pools = record.observed.iter().flat_map(|observed| &observed.pools);
    pools.filter(|pool| pool.occupancy >= POOL_TOLD).map(pool).collect()
}

fn pool(pool: &PoolObserved) -> String {
    let mut waits = longest_waits(pool);
    if let Some(runnable) = pool.runnable.filter(|share| is_worth_telling(*share)) {
        waits.push(("a CPU", runnable));
    }
    let running = format!("running {}", percent(pool.running));
    let parts = if waits.is_empty() { running } else { format!("{running}, waiting for {}", shares(&waits)) };
    let workers = plural(pool.workers_max.into(), "worker");
    format!("{}, {workers}: {} occupied ({parts})", pool.name, percent(pool.occupancy))
}

/// What the workers of a pool waited for, the longest first: `mariadbd 80 %, sleep 4.0 %`.
pub(crate) fn waits(pool: &PoolObserved) -> String {
    shares(&longest_waits(pool))
}

fn longest_waits(pool: &PoolObserved) -> Vec<(&str, f64)> {
    let all = pool.blocked.iter().map(|(on, share)| (on.as_str(), *share));
    let mut waits: Vec<_> = all.filter(|(_, share)| is_worth_telling(*share)).collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits.truncate(NAMED_MAX);
    waits
}

fn shares(named: &[(&str, f64)]) -> String {
    named.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect::<Vec<_>>().join(", ")
}

/// True if a share is more than a trace.
pub(crate) fn is_worth_telling(share: f64) -> bool {
    share >= HARDLY
}

fn server_use(server: &ServerObserved) -> String {
    // The kernel counts CPU time in ticks: none of them is no zero.
    let is_counted = server.cpu_cores > 0.0;
    let used = if is_counted { cpus(server.cpu_cores) } else { "CPU time below its resolution".to_owned() };
    let per_request = server.cpu_ns_per_request.filter(|_| is_counted);
    let per_request = per_request.map_or_else(String::new, |ns| format!(", {} of CPU per request", time(ns)));
    let lost = match server.ended_unaccounted {
        0 => String::new(),
        n => format!("; {} ended uncounted", plural(n, "worker")),
    };
    format!("{used} ({}){per_request}, RSS {}{lost}", processes(&server.processes), bytes(server.rss_bytes_max))
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
        0.0 => "0".to_owned(),
        c if c < 0.0005 => "< 0.001".to_owned(),
        c if c < 0.0995 => format!("{c:.3}"),
        c if c < 9.995 => format!("{c:.2}"),
        c => format!("{c:.1}"),
    }
}

/// The CPUs that the server and its companions kept busy at each point of a sweep; none when that is not known of any.
pub(crate) fn server_column(curve: &[PointSummary]) -> Option<Vec<String>> {
    let cell = |point: &PointSummary| point.server_cpu_cores.map_or_else(|| "-".to_owned(), cores_number);
    curve.iter().any(|point| point.server_cpu_cores.is_some()).then(|| curve.iter().map(cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{OtherObserved, OthersObserved};

    #[test]
    fn processes_are_named_by_number() {
        let process = |name: &str, count| ProcessObserved { name: name.into(), count, ..ProcessObserved::default() };
        assert_eq!(processes(&[process("nginx", 3), process("php", 1)]), "nginx x 3, php");
        assert_eq!(processes(&["a", "b", "c", "d", "e"].map(|name| process(name, 1))), "a, b, c, 2 more");
    }

    #[test]
    fn figures_of_the_front_alone_are_told_as_such() {
        let with = |cpu_cores| {
            let other = OtherObserved { name: "mariadbd".into(), cpu_cores };
            let others = OthersObserved { undecided: vec![other], ..OthersObserved::default() };
            unseen(&Observed { others: Some(others), ..Observed::default() })
        };
        assert_eq!(with(0.01), "");
        assert_eq!(with(0.5), "; without mariadbd, of which this user cannot see whether it works for the server");
    }

    #[test]
    fn processors_have_three_figures() {
        assert_eq!(
            [0.0, 0.0002, 0.0584, 0.617, 9.99, 12.34].map(cores_number),
            ["0", "< 0.001", "0.058", "0.62", "9.99", "12.3"]
        );
        let lost = ServerObserved { ended_unaccounted: 2, ..ServerObserved::default() };
        assert!(server_use(&lost).ends_with("; 2 workers ended uncounted"));
        let brief = ServerObserved { cpu_ns_per_request: Some(0.0), ..ServerObserved::default() };
        assert_eq!(server_use(&brief), "CPU time below its resolution (), RSS 0 B", "1,000 requests in 8 ms");
    }
}
