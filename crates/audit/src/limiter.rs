//! Bottleneck of a server by `pidstat -u`: the limiter's checks, as far as CPU time by process allows.

use super::Context;
use super::context::Processes;
use judge::limiter::{UNKNOWN, laws};
use model::human::{percent, percent_exact, rate, time};
use model::{Confidence, Limiter, NextLimiter, Prediction, Utilisation};

/// All CPUs busy to this share are the limit; a single process of one CPU is, above the second.
const CPUS_BUSY: f64 = 0.9;
const CORE_BUSY: f64 = 0.95;
/// CPUs that are less busy have room for more workers.
const ROOM: f64 = 0.7;
/// Processes of one command are workers of a pool when they are busy to this share, and alike to the second.
const WORKER_BUSY: f64 = 0.5;
const ALIKE: f64 = 0.1;
/// Limits that CPU time of processes does not show.
const UNSEEN: [&str; 4] = ["network", "CPU quota", "connections", "disk"];

/// Processes of one command that do the same.
struct Workers<'a> {
    command: &'a str,
    n: f64,
    /// Share of one CPU that each uses.
    busy: f64,
}

/// None without the processes, their rate and the number of CPUs.
pub(super) fn limiter(context: &Context) -> Option<Limiter> {
    let (processes, cores) = context.processes.as_ref().zip(context.cores)?;
    let per_s = context.processes_rate_per_s.filter(|per_s| *per_s > 0.0)?;
    let cores = f64::from(cores);
    let busy = processes.cores_busy / cores;
    let cpus =
        laws::ceiling_per_s(per_s, busy).map(|per_s| NextLimiter { name: "server CPUs".into(), ceiling_per_s: per_s });
    let utilisation = Utilisation {
        resource: "server CPUs".into(),
        share: busy,
        ceiling_per_s: cpus.as_ref().map(|cpus| cpus.ceiling_per_s),
    };
    let found = match workers(processes) {
        _ if busy >= CPUS_BUSY => Limiter {
            name: "cpu-limited".into(),
            resource: "server CPUs".into(),
            says: format!("the {cores:.0} CPUs are {} busy", percent(busy)),
            ceiling_per_s: utilisation.ceiling_per_s,
            ..Limiter::default()
        },
        Some(pool) if busy < ROOM => of_pool(&pool, processes, per_s, cores, context.workers_wanted, cpus),
        _ => single(processes, per_s, busy).unwrap_or_else(|| Limiter {
            name: UNKNOWN.into(),
            says: "neither the CPUs nor a worker pool nor a single process is saturated".into(),
            ..Limiter::default()
        }),
    };
    let mut unchecked: Vec<String> = UNSEEN.map(|what| format!("{what}: not in pidstat -u")).into();
    unchecked.extend(shared_cores(processes));
    Some(Limiter { utilisations: vec![utilisation], unchecked, ..found })
}

fn of_pool(
    pool: &Workers<'_>,
    processes: &Processes,
    per_s: f64,
    cores: f64,
    wanted: Option<u32>,
    next: Option<NextLimiter>,
) -> Limiter {
    let Workers { command, n, busy } = pool;
    // Taken for never idle: what they do not run they wait for something else.
    let occupied_ns = n / per_s * 1e9;
    let away_ns = (1.0 - busy).max(0.0) * occupied_ns;
    let others = processes.commands.iter().filter(|(other, _)| other != command);
    let other = others.map(|(name, all)| (name, all.iter().sum::<f64>() / per_s * 1e9));
    let other = other.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, cpu_ns)| *cpu_ns >= away_ns);
    let waiting = other.map_or_else(String::new, |(name, cpu_ns)| {
        format!(" and about {} waiting ({name} uses {} for each response)", percent(1.0 - busy), time(cpu_ns))
    });
    let machine = processes.cores_busy / cores;
    let to = wanted.map_or(2.0 * n, f64::from);
    let predicted = laws::pool_ceiling_per_s(to, occupied_ns);
    Limiter {
        name: "worker-pool-limited".into(),
        resource: format!("{command} workers"),
        says: format!(
            "{n:.0} {command} workers, each {} CPU{waiting}, machine {} idle ({:.1} of {cores:.0} CPUs busy): at most \
             {n:.0}/{} = {}",
            percent(*busy),
            percent_exact(1.0 - machine),
            processes.cores_busy,
            time(occupied_ns),
            rate(laws::pool_ceiling_per_s(*n, occupied_ns))
        ),
        // Of the four signs: workers that are accounted for to the full, at a rate that was said to be the highest.
        confidence: if other.is_some() { Confidence::Medium } else { Confidence::Low },
        evidence: [
            ("workers", *n),
            ("worker_cpu_share", *busy),
            ("occupied_ns_per_request", occupied_ns),
            ("server_cpus_busy_share", machine),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        ceiling_per_s: Some(per_s),
        prediction: Some(Prediction {
            change: format!("{to:.0} {command} workers instead of {n:.0}"),
            setting: (*command == "php-fpm").then(|| "pm.max_children".to_owned()),
            from: Some(*n),
            to: Some(to),
            expected_per_s: laws::least(predicted, next.iter().map(|next| next.ceiling_per_s)),
            low_per_s: None,
            high_per_s: None,
        }),
        next,
        ..Limiter::default()
    }
}

/// A single process that one CPU is not enough for.
fn single(processes: &Processes, per_s: f64, busy: f64) -> Option<Limiter> {
    let all = processes.commands.iter().filter_map(|(command, cores)| Some((command, *cores.first()?)));
    let (command, share) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_one = (CORE_BUSY..=1.0 / CORE_BUSY).contains(&share) && busy < ROOM;
    is_one.then(|| Limiter {
        name: "single-thread-limited".into(),
        resource: format!("thread {command}"),
        says: format!("one process ({command}) is {} busy, the CPUs {}", percent(share.min(1.0)), percent(busy)),
        ceiling_per_s: laws::ceiling_per_s(per_s, share.min(1.0)),
        ..Limiter::default()
    })
}

/// The largest pool: of each command the processes that are as busy as its busiest, if there are two or more.
fn workers(processes: &Processes) -> Option<Workers<'_>> {
    let pools = processes.commands.iter().filter_map(|(command, cores)| {
        let most = *cores.first().filter(|most| **most >= WORKER_BUSY)?;
        let alike: Vec<f64> = cores.iter().copied().filter(|cores| *cores >= (1.0 - ALIKE) * most).collect();
        let n = alike.len() as f64;
        (alike.len() > 1).then(|| Workers { command, n, busy: alike.iter().sum::<f64>() / n })
    });
    pools.max_by(|a, b| (a.n * a.busy).total_cmp(&(b.n * b.busy)))
}

/// Processes above one CPU, whose threads are not told apart.
fn shared_cores(processes: &Processes) -> Option<String> {
    let most = |(command, cores): (&String, &Vec<f64>)| Some((command.clone(), *cores.first()?));
    let (command, cores) = processes.commands.iter().filter_map(most).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (cores >= CORE_BUSY).then(|| {
        format!("one core: {command} uses {cores:.2} CPUs; pidstat -t shows whether one of its threads is saturated")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(commands: &[(&str, &[f64])], cores: u32) -> Context {
        let commands: std::collections::BTreeMap<_, _> =
            commands.iter().map(|(name, all)| ((*name).to_owned(), all.to_vec())).collect();
        let processes = Processes { cores_busy: commands.values().flatten().sum(), commands };
        Context {
            processes: Some(processes),
            processes_rate_per_s: Some(100.0),
            cores: Some(cores),
            ..Context::default()
        }
    }

    #[track_caller]
    fn name(commands: &[(&str, &[f64])], cores: u32) -> String {
        limiter(&context(commands, cores)).expect("all of it was given").name
    }

    #[test]
    fn what_it_is_follows_from_who_is_busy() {
        assert_eq!(name(&[("php-fpm", &[0.8, 0.79, 0.01])], 8), "worker-pool-limited");
        assert_eq!(name(&[("php-fpm", &[0.8, 0.6])], 8), UNKNOWN, "not alike");
        assert_eq!(name(&[("php-fpm", &[0.9, 0.9])], 2), "cpu-limited");
        assert_eq!(name(&[("node", &[0.98])], 8), "single-thread-limited");
        assert_eq!(name(&[("mysqld", &[2.5])], 8), UNKNOWN, "several threads");
    }

    #[test]
    fn without_rate_or_cores_nothing_is_said() {
        let whole = context(&[("php-fpm", &[0.8, 0.8])], 8);
        assert_eq!(limiter(&Context { cores: None, ..whole.clone() }), None);
        assert_eq!(limiter(&Context { processes_rate_per_s: None, ..whole.clone() }), None);
        assert_eq!(limiter(&Context { processes: None, ..whole }), None);
    }

    #[test]
    fn the_cpus_bound_what_workers_buy() {
        let mut context = context(&[("php-fpm", &[0.8, 0.8])], 4);
        context.workers_wanted = Some(100);
        let limiter = limiter(&context).expect("all of it was given");
        assert_eq!(limiter.prediction.expect("a pool").expected_per_s, 250.0, "1.6 of 4 CPUs for 100/s");
    }
}
