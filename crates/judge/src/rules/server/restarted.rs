//! SV-03: server processes that ended during the window.

use crate::facts::kernel::counter;
use crate::text::list;
use crate::{Applies, Check, Fires, Kernel, Need, Outcome, Rule, Whose};
use model::human::{count, plural};
use model::{Evidence, FindingState, Observed, known_program};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    id: "SV-03",
    title: "server restarted",
    detects: "Server processes ended or were killed during the window.",
    fires: &[Fires::invalid(
        "A process of a program with long-lived workers ended, or the kernel killed a process for lack of \
             memory.",
    )],
    remarks: "Programs with long-lived workers are nginx, lighttpd, Caddy, HAProxy, Varnish, MariaDB, MySQL and the \
              built-in server.",
    applies: Applies::Always,
    needs: &[
        Need::Server,
        Need::Kernel(Kernel {
            whose: Whose::Observed,
            figures: &[("paging", "oom_kills")],
            any: false,
            unknown: "kernel does not count out-of-memory kills",
        }),
    ],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(observed) = evidence.observed.as_ref().filter(|seen| seen.server.is_some()) else {
        return Outcome::UNMET;
    };
    let Some(killed) = counter(evidence, "paging", "oom_kills") else {
        return Outcome::UNMET;
    };
    let ended = ended(observed);
    let n: u64 = ended.values().sum();
    if n + killed == 0 {
        return Outcome::Pass;
    }
    let mut parts: Vec<_> = ended.iter().map(|(name, n)| format!("{} of {name} ended", process(*n))).collect();
    if killed > 0 {
        parts.push(format!("the kernel killed {} for lack of memory", process(killed)));
    }
    let message = format!("{} during the window: not a measurement of one server", list(&parts));
    let remedy = if killed > 0 {
        "add memory or lower the load, and measure again"
    } else {
        "check the server's log for a crash or reload, and measure again"
    };
    let figures = [("ended", n as f64), ("killed_for_memory", killed as f64)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

fn process(n: u64) -> String {
    if n == 1 { plural(1, "process") } else { format!("{} processes", count(n)) }
}

/// nginx with a cache on disk reads what is in it, a minute after it was started, in a process that ends then.
const LOADER: (&str, &str) = ("nginx", "nginx: cache loader");

/// Ended processes of steady programs, by name.
fn ended(observed: &Observed) -> BTreeMap<&str, u64> {
    let mut sum: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, n) in observed.groups().flat_map(|group| &group.ended) {
        if *n > 0 && known_program(name).is_some_and(|program| program.is_steady) {
            *sum.entry(name.as_str()).or_default() += n;
        }
    }
    let (program, title) = LOADER;
    let loaders: u64 = observed.pools.iter().filter(|pool| pool.name.starts_with(title)).map(|pool| pool.ended).sum();
    if let Some(n) = sum.get_mut(program) {
        *n = n.saturating_sub(loaders);
    }
    sum.retain(|_, n| *n > 0);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter};

    fn with_ended(name: &str) -> Evidence {
        let mut evidence = clean_run();
        let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
        server.ended.insert(name.to_owned(), 2);
        evidence
    }

    /// Whatever was measured a minute after the start of an nginx with a cache was INVALID.
    #[test]
    fn the_cache_loader_of_nginx_ends_by_right() {
        let mut evidence = with_ended("nginx");
        let seen = evidence.observed.as_mut().expect("seen");
        let name = "nginx: cache loader process".to_owned();
        seen.pools.push(model::PoolObserved { name, ended: 1, ..Default::default() });
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("1 process of nginx ended"));
        evidence.observed.as_mut().expect("seen").pools.last_mut().expect("a pool").ended = 2;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn a_worker_that_ends_invalidates_unless_its_program_replaces_workers_by_itself() {
        let found = finding(judged(&RULE, &with_ended("nginx")));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("2 processes of nginx ended"), "{}", found.message);
        assert_eq!(judged(&RULE, &with_ended("php-fpm8.2")), Outcome::Pass);
        let mut killed = clean_run();
        set_counter(&mut killed, "paging", "oom_kills", 1);
        assert!(finding(judged(&RULE, &killed)).message.contains("the kernel killed 1 process for"));
    }

    #[test]
    fn a_server_that_is_not_seen_is_unchecked() {
        let mut evidence = with_ended("nginx");
        evidence.observed.as_mut().expect("seen").server = None;
        assert_eq!(judged(&RULE, &evidence), Outcome::Unchecked("processes of the server not visible"));
    }
}
