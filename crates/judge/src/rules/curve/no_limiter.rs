//! SA-05: saturated curve without a saturated resource.

use crate::facts::curve::fit_points;
use crate::facts::kernel::throttled_share;
use crate::facts::observed;
use crate::facts::saturation::{peak_index, saturated};
use crate::limiter;
use crate::text::place;
use crate::{About, Applies, BesideLimiter, Check, Fires, Need, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState, LimiterContext, SweepEvidence};
use stats::fit_pool;

/// A resource used less than this has room.
const USED: f64 = 0.7;
/// Share of the time in which a quota that stops the server explains the bend.
const THROTTLED: f64 = 0.05;
/// A fit of the pool model that is off by less explains the bend.
const FIT_ERROR: f64 = 0.1;

pub(crate) const RULE: Rule = Rule {
    id: "SA-05",
    title: "no saturated resource",
    detects: "The curve flattens although no monitored resource is busy.",
    fires: &[
        Fires::warning("At the peak no resource was used to 70 % or more, and no requests were queued."),
        Fires::note(
            "At the peak no resource was used and nothing was queued either, but the curve fits a fixed number of \
             workers to within 10 %.",
        ),
    ],
    remarks: "The rule is silent where a limiter is named. It asks Brendan Gregg's question \"why not double?\" of \
              the peak.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Server],
    conditions: "a sweep that saturated the server; CPUs, threads, pools or queues of it at the peak",
    check: Check::Sweep(check),
};

pub(crate) const BESIDE: BesideLimiter = BesideLimiter { rule: RULE.id, about: About::NoLimit };

fn check(sweep: &SweepEvidence) -> Outcome {
    let (Some(peak), true) = (peak_index(&sweep.points), saturated(sweep)) else {
        return Outcome::Unchecked("the sweep did not saturate the server");
    };
    let evidence = &sweep.points[peak].evidence;
    if observed(evidence).is_none_or(|observed| observed.server.is_none()) {
        return Outcome::Unchecked("server not monitored at the peak");
    }
    let used = used(evidence);
    let Some((name, most)) = used.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Outcome::Unchecked("no resource monitored");
    };
    if *most >= USED || has_queue(evidence) {
        return Outcome::Pass;
    }
    let facts = format!("no saturated resource at {}: {name} is highest, {}", place(sweep, peak), percent(*most));
    let figures = [("most_used", *most), ("load", sweep.points[peak].load)];
    if let Some(workers) = workers(sweep) {
        let message = format!("{facts}; the curve fits about {workers:.0} workers that wait for something");
        let remedy = "look for a pool of that size: processes, threads, database connections".to_owned();
        return Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures);
    }
    let message = format!("{facts}: the bottleneck may be the client, the network or another server");
    let remedy =
        "monitor what it waits for (--observe NAME), check its logs, and try more load threads (-t)".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

/// Utilisation of each resource, as the limiter has it, and of the client; 0 to 1.
fn used(evidence: &Evidence) -> Vec<(String, f64)> {
    let server = observed(evidence).and_then(|observed| observed.server.as_ref());
    let server_cpus = server.map(|server| server.cpus.clone()).unwrap_or_default();
    let mut used = limiter::used(evidence, &LimiterContext { server_cpus, ..LimiterContext::default() });
    let threads = evidence.threads.iter().filter(|thread| thread.wall_ns > 0);
    used.extend(threads.map(|thread| ("the client".to_owned(), thread.cpu_ns as f64 / thread.wall_ns as f64)));
    used
}

/// True if requests queued in front of the server.
fn has_queue(evidence: &Evidence) -> bool {
    let waiting = evidence.status.iter().filter_map(|page| page.figures.get("listen_queue")).any(|it| it.mean >= 1.0);
    let sockets = observed(evidence).and_then(|observed| observed.sockets.as_ref());
    let backlog = sockets.and_then(|sockets| sockets.accept_fullest_max).unwrap_or(0.0);
    waiting || backlog >= USED || throttled_share(evidence).is_some_and(|share| share > THROTTLED)
}

/// Workers of the pool that the curve fits; none if it fits none.
fn workers(sweep: &SweepEvidence) -> Option<f64> {
    let fit = fit_pool(&fit_points(sweep)).filter(|_| !sweep.over_rate)?;
    (fit.fit.error_max <= FIT_ERROR).then_some(fit.knee)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep, machine, server, set_figure};
    use model::ServerThreadObserved;

    /// Nothing is used at any load.
    fn idle(curve: &[(f64, f64)]) -> SweepEvidence {
        let mut sweep = clean_sweep(curve);
        for point in &mut sweep.points {
            machine(&mut point.evidence).cpu_busy_mean = vec![0.1, 0.3];
            server(&mut point.evidence).threads.clear();
        }
        sweep
    }

    /// As four workers of 10 ms bend it.
    const POOL: [(f64, f64); 6] =
        [(1.0, 100.0), (2.0, 200.0), (4.0, 390.0), (8.0, 400.0), (16.0, 400.0), (32.0, 400.0)];
    const ODD: [(f64, f64); 6] = [(1.0, 100.0), (2.0, 320.0), (4.0, 210.0), (8.0, 400.0), (16.0, 330.0), (32.0, 401.0)];

    #[test]
    fn a_bend_without_a_cause_warns_and_one_like_a_pools_is_noted() {
        let found = finding(judged_sweep(&RULE, &idle(&ODD)));
        assert_eq!(found.state, FindingState::Warning);
        assert!(
            found.message.starts_with("no saturated resource at 8 connections: the client is highest, 50 %"),
            "{found:?}"
        );
        let found = finding(judged_sweep(&RULE, &idle(&POOL)));
        assert_eq!(found.state, FindingState::Note);
        assert!(found.message.contains("fits about 4 workers"), "{}", found.message);
    }

    #[test]
    fn a_busy_thread_a_full_pool_or_a_queue_explain_it() {
        for mutate in [
            |evidence: &mut Evidence| machine(evidence).cpu_busy_mean = vec![0.95, 0.3],
            |evidence: &mut Evidence| {
                let thread = ServerThreadObserved { system_mean: 0.9, ..ServerThreadObserved::default() };
                server(evidence).threads.push(thread);
            },
            |evidence: &mut Evidence| set_figure(evidence, "php-fpm", "processes_active", 5.0, 5.0),
            |evidence: &mut Evidence| {
                let figure = model::Figure { mean: 3.0, ..model::Figure::default() };
                evidence.status[0].figures.insert("listen_queue".to_owned(), figure);
            },
        ] {
            let mut sweep = idle(&ODD);
            sweep.points.iter_mut().for_each(|point| mutate(&mut point.evidence));
            assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        }
    }

    #[test]
    fn without_saturation_or_a_look_at_the_server_it_is_unchecked() {
        assert!(matches!(
            judged_sweep(&RULE, &idle(&[(1.0, 100.0), (2.0, 200.0), (4.0, 390.0)])),
            Outcome::Unchecked(_)
        ));
        let mut sweep = idle(&POOL);
        sweep.points.iter_mut().for_each(|point| point.evidence.observed = None);
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
