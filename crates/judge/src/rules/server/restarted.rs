//! SV-03: was it the same server from begin to end?

use crate::rules::kernel::{ELSEWHERE, counter, is_server_here};
use crate::text::list;
use crate::{Check, Outcome, Rule};
use model::human::{count, plural};
use model::{Evidence, FindingState, ServerObserved};
use std::collections::BTreeMap;

/// Programs whose processes stay as long as nobody ends or reloads them. Others replace their workers by themselves
/// (php-fpm, Apache, gunicorn), or start one for each connection (PostgreSQL) or to save their data (Redis).
const STEADY: [&str; 8] = ["nginx", "lighttpd", "caddy", "haproxy", "cache-main", "mariadbd", "mysqld", "plimsoll"];

pub(crate) const RULE: Rule = Rule {
    id: "SV-03",
    title: "server restarted",
    detects: "processes of the server that ended during the window, or were killed for want of memory",
    threshold: "any process of a program that does not replace its workers by itself (nginx, lighttpd, Caddy, HAProxy, \
                Varnish, MariaDB, MySQL), any kill for want of memory: invalid",
    data: "the processes of the server and its companions; oom_kill of this machine",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let observed = evidence.observed.as_ref();
    let Some((observed, server)) = observed.and_then(|seen| Some((seen, seen.server.as_ref()?))) else {
        return Outcome::Unchecked(if is_server_here(evidence) {
            "the server's processes are not seen"
        } else {
            ELSEWHERE
        });
    };
    let Some(killed) = counter(evidence, "paging", "oom_kills") else {
        return Outcome::Unchecked("the kernel does not count what it kills for want of memory");
    };
    let ended = ended([server].into_iter().chain(observed.companions.values()));
    let n: u64 = ended.values().sum();
    if n + killed == 0 {
        return Outcome::Pass;
    }
    let mut parts: Vec<_> = ended.iter().map(|(name, n)| format!("{} of {name} ended", process(*n))).collect();
    if killed > 0 {
        parts.push(format!("the kernel killed {} for want of memory", process(killed)));
    }
    let message = format!("during the window {}: this is no measurement of one server", list(&parts));
    let remedy = if killed > 0 {
        "give the machine more memory or the server less to do, and measure again"
    } else {
        "look into the server's log for a crash or a reload, and measure again without it"
    };
    let figures = [("ended", n as f64), ("killed_for_memory", killed as f64)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

fn process(n: u64) -> String {
    if n == 1 { plural(1, "process") } else { format!("{} processes", count(n)) }
}

/// Ended processes of steady programs, by name.
fn ended<'a>(groups: impl Iterator<Item = &'a ServerObserved>) -> BTreeMap<&'a str, u64> {
    let mut sum = BTreeMap::new();
    for (name, n) in groups.flat_map(|group| &group.ended) {
        if STEADY.contains(&name.as_str()) && *n > 0 {
            *sum.entry(name.as_str()).or_default() += n;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, set_counter};

    fn with_ended(name: &str) -> Evidence {
        let mut evidence = clean_run();
        let server = evidence.observed.as_mut().and_then(|seen| seen.server.as_mut()).expect("seen");
        server.ended.insert(name.to_owned(), 2);
        evidence
    }

    #[test]
    fn a_worker_that_ends_invalidates_unless_its_program_replaces_workers_by_itself() {
        let found = finding(check(&with_ended("nginx")));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("2 processes of nginx ended"), "{}", found.message);
        assert_eq!(check(&with_ended("php-fpm8.2")), Outcome::Pass);
        let mut killed = clean_run();
        set_counter(&mut killed, "paging", "oom_kills", 1);
        assert!(finding(check(&killed)).message.contains("the kernel killed 1 process for"));
    }

    #[test]
    fn a_server_that_is_not_seen_is_unchecked() {
        let mut evidence = with_ended("nginx");
        evidence.observed.as_mut().expect("seen").server = None;
        assert_eq!(check(&evidence), Outcome::Unchecked("the server's processes are not seen"));
    }
}
