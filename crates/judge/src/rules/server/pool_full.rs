//! SV-01: exhausted worker pool.

use crate::facts::kernel::{growth, pages};
use crate::text::list;
use crate::{About, Applies, BesideLimiter, Check, Fires, Need, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState, PoolObserved, StatusRecord};
use std::collections::BTreeMap;

const BUSY_SHARE: f64 = 0.95;
/// Above it more workers find no CPU.
const CPU_BUSY_SHARE: f64 = 0.9;
/// Requests that wait on average before it is a queue.
const QUEUE_MIN: f64 = 1.0;
/// What workers do for a smaller share of their busy time is not worth a word.
const TOLD_MIN: f64 = 0.1;
/// Workers that wait for a CPU for this share of it find no more of it if there are more of them.
const FOR_CPU: f64 = 0.5;

pub(crate) const RULE: Rule = Rule {
    id: "SV-01",
    title: "worker pool exhausted",
    detects: "A pool of workers was fully busy while requests waited.",
    fires: &[Fires::note(
        "The workers were more than 95 % busy on average, php-fpm reached max_children, or at least one request \
             waited in its listen queue on average.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::StatusPage(&["php-fpm", "apache"], "no status page of php-fpm or Apache")],
    conditions: "",
    check: Check::Run(check),
};

pub(crate) const BESIDE: BesideLimiter =
    BesideLimiter { rule: RULE.id, about: About::Limits(&["worker-pool-limited"]) };

/// A pool of workers, as far as the rule looks at it.
struct Pool {
    name: &'static str,
    /// The setting that makes it larger.
    setting: &'static str,
    workers: f64,
    /// Busy share of the workers, mean.
    busy: f64,
    /// Requests that waited for one, mean.
    queue: f64,
    /// True if it needed more workers than allowed.
    is_capped: bool,
    /// What its workers waited for, and the shares of their busy time, where their states were seen.
    waits: Vec<(String, f64)>,
    /// Share of their busy time in which they waited for a CPU; 0 where that was not seen.
    for_cpu: f64,
}

fn check(evidence: &Evidence) -> Outcome {
    let pools = pools(evidence);
    if pools.is_empty() {
        return Outcome::Unchecked("the status page of php-fpm or Apache does not count workers");
    }
    let full: Vec<_> = pools.iter().filter(|pool| pool.is_full()).collect();
    let Some(worst) = full.iter().max_by(|a, b| a.busy.total_cmp(&b.busy)) else { return Outcome::Pass };
    let sentences: Vec<_> = distinct(&full).iter().map(|pool| pool.sentence()).collect();
    let message = list(&sentences);
    let figures =
        [("workers", worst.workers), ("busy", worst.busy), ("queue", worst.queue), ("pools_full", full.len() as f64)];
    let remedy = remedy(evidence, worst);
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

/// Each pool once, as full as it was: trials that start their servers anew have each a page of its own.
fn distinct<'a>(full: &[&'a Pool]) -> Vec<&'a Pool> {
    let mut pools: BTreeMap<(&str, u64), &Pool> = BTreeMap::new();
    for pool in full {
        let fullest = pools.entry((pool.name, pool.workers.round() as u64)).or_insert(pool);
        if (pool.busy, pool.queue) > (fullest.busy, fullest.queue) {
            *fullest = pool;
        }
    }
    pools.into_values().collect()
}

fn pools(evidence: &Evidence) -> Vec<Pool> {
    let pools = pages(evidence, &["php-fpm", "apache"]).filter_map(|(server, page)| Pool::of(server, page));
    pools.map(|pool| pool.with_states(evidence)).collect()
}

impl Pool {
    fn of(server: &str, page: &StatusRecord) -> Option<Self> {
        let mean = |name: &str| page.figures.get(name).map(|figure| figure.mean);
        if server == "apache" {
            let (busy, idle) = (mean("workers_busy")?, mean("workers_idle")?);
            let (name, setting, workers) = ("Apache", "MaxRequestWorkers", busy + idle);
            let busy = busy / workers.max(1.0);
            let (waits, for_cpu) = (Vec::new(), 0.0);
            return Some(Self { name, setting, workers, busy, queue: 0.0, is_capped: false, waits, for_cpu });
        }
        let workers = mean("processes")?;
        Some(Self {
            name: "php-fpm",
            setting: "pm.max_children",
            workers,
            busy: mean("processes_active")? / workers.max(1.0),
            queue: mean("listen_queue").unwrap_or(0.0),
            is_capped: growth(page, "max_children_reached").is_some_and(|n| n > 0.0),
            waits: Vec::new(),
            for_cpu: 0.0,
        })
    }

    /// With what the states of its workers say, where they were seen.
    fn with_states(self, evidence: &Evidence) -> Self {
        let programs: &[&str] = if self.name == "Apache" { &["apache", "httpd"] } else { &["php-fpm"] };
        let is_it = |seen: &&PoolObserved| programs.iter().any(|program| seen.program.starts_with(program));
        let pools = evidence.observed.iter().flat_map(|seen| &seen.pools);
        let Some(seen) = pools.filter(is_it).max_by(|a, b| a.occupancy.total_cmp(&b.occupancy)) else { return self };
        let share = |of_time: f64| of_time / seen.occupancy.max(f64::MIN_POSITIVE);
        let for_cpu = seen.runnable.map_or(0.0, share);
        let mut waits: Vec<_> = seen.blocked.iter().map(|(what, of_time)| (what.clone(), share(*of_time))).collect();
        waits.push(("a CPU".to_owned(), for_cpu));
        waits.retain(|(_, share)| *share >= TOLD_MIN);
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { waits, for_cpu, ..self }
    }

    fn is_full(&self) -> bool {
        self.busy > BUSY_SHARE || self.queue >= QUEUE_MIN || self.is_capped
    }

    fn sentence(&self) -> String {
        let queue =
            if self.queue >= QUEUE_MIN { format!(" with {:.0} requests waiting", self.queue) } else { String::new() };
        let waits: Vec<_> = self.waits.iter().map(|(what, share)| format!("{} for {what}", percent(*share))).collect();
        let waits =
            if waits.is_empty() { String::new() } else { format!(" (of that time they waited {})", list(&waits)) };
        format!("{}'s {:.0} workers were {} busy{waits}{queue}", self.name, self.workers, percent(self.busy))
    }
}

fn remedy(evidence: &Evidence, pool: &Pool) -> String {
    let seen = evidence.observed.as_ref();
    let machine = seen.and_then(|seen| seen.machine.as_ref());
    let others = seen.and_then(|seen| seen.others.as_ref()).map_or(0.0, |others| others.cpu_cores);
    let others = machine.map_or(0.0, |machine| others / f64::from(machine.cpus.max(1)));
    match machine.map(|machine| machine.busy_mean) {
        _ if pool.for_cpu >= FOR_CPU => format!(
            "its workers wait for a CPU {} of the time, so more of them gain little: make requests cheaper or add CPUs",
            percent(pool.for_cpu)
        ),
        Some(busy) if busy > CPU_BUSY_SHARE && busy - others <= CPU_BUSY_SHARE => format!(
            "the CPUs are {} busy too, {} with other processes: stop these and measure again before raising {} above \
             {:.0}",
            percent(busy),
            percent(others),
            pool.setting,
            pool.workers
        ),
        Some(busy) if busy > CPU_BUSY_SHARE => format!(
            "the CPUs are {} busy too, so more workers gain little: make requests cheaper or add CPUs",
            percent(busy)
        ),
        Some(busy) => format!(
            "raise {} above {:.0} (the CPUs are only {} busy) and measure again",
            pool.setting,
            pool.workers,
            percent(busy)
        ),
        None => format!("raise {} above {:.0} if CPUs are idle, and measure again", pool.setting, pool.workers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{clean_run, finding, judged, set_figure, state};

    #[test]
    fn a_busy_pool_a_queue_and_a_cap_are_told() {
        let found = finding(judged(&RULE, &testing::run("SV-01")));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.starts_with("php-fpm's 5 workers were 100 % busy with 59 requests waiting"), "{found:?}");
        assert!(found.remedy.starts_with("raise pm.max_children above 5"), "{found:?}");
        let mut capped = clean_run();
        set_figure(&mut capped, "php-fpm", "max_children_reached", 0.0, 1.0);
        assert_eq!(state(&judged(&RULE, &capped)), Some(FindingState::Note));
    }

    #[test]
    fn busy_processors_change_the_advice_and_apache_has_workers_too() {
        let mut evidence = testing::run("SV-01");
        evidence.status.retain(|page| page.server.as_deref() != Some("php-fpm"));
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.status[0].server = Some("apache".to_owned());
        set_figure(&mut evidence, "apache", "workers_busy", 150.0, 150.0);
        set_figure(&mut evidence, "apache", "workers_idle", 0.0, 0.0);
        evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen").busy_mean = 0.99;
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.contains("Apache's 150 workers") && found.remedy.contains("99 % busy too"), "{found:?}");
        assert!(found.remedy.contains("more workers gain little"), "{found:?}");
    }

    /// A comparison told of "php-fpm's 5 workers" six times in one sentence, once for each block.
    #[test]
    fn a_pool_of_several_trials_is_told_once() {
        let mut evidence = testing::run("SV-01");
        let page = pages(&evidence, &["php-fpm"]).next().expect("a page").1.clone();
        evidence.status.extend([page.clone(), page]);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.message.matches("workers were").count(), 1, "{found:?}");
        assert_eq!(found.evidence["pools_full"], 3.0);
    }

    /// "The pool limits goodput" stood beside a limiter that said cpu-limited, of workers that waited for a CPU.
    #[test]
    fn workers_that_wait_for_a_cpu_are_said_to_and_are_no_claim() {
        let mut evidence = testing::run("SV-01");
        let blocked = [("mariadbd".to_owned(), 0.05), ("disk".to_owned(), 0.2)].into();
        let program = "php-fpm8.2".to_owned();
        let seen = PoolObserved { program, occupancy: 1.0, runnable: Some(0.63), blocked, ..PoolObserved::default() };
        evidence.observed.as_mut().expect("seen").pools.push(seen);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(
            found.message,
            "php-fpm's 5 workers were 100 % busy (of that time they waited 63 % for a CPU and 20 % for disk) with 59 \
             requests waiting"
        );
        assert!(found.remedy.starts_with("its workers wait for a CPU 63 % of the time"), "{found:?}");
    }

    #[test]
    fn strangers_that_keep_the_processors_busy_are_sent_away_first() {
        let mut evidence = testing::run("SV-01");
        let seen = evidence.observed.as_mut().expect("it was looked at");
        let machine = seen.machine.as_mut().expect("seen");
        machine.busy_mean = 0.99;
        seen.others.as_mut().expect("seen").cpu_cores = 0.5 * f64::from(machine.cpus);
        let remedy = finding(judged(&RULE, &evidence)).remedy;
        assert!(remedy.contains("99 % busy too, 50 % with other processes: stop these"), "{remedy}");
    }
}
