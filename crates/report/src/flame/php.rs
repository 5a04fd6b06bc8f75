//! Flame graphs and functions of PHP, of stacks that the server itself has sampled.

use super::{Difference, NS_A_US, PER_GOOD, draw, drawn_difference, options};
use model::{PhpClock, PhpFunction, Redacted};
use std::collections::{BTreeMap, BTreeSet};

/// Functions that are told at most.
const TOLD_MAX: usize = 20;
const US_A_MS: f64 = 1e3;

/// PHP stacks of a load, to be compared with those of another.
#[derive(Clone, Copy, Debug)]
pub struct PhpSide<'a> {
    /// What the result is called.
    pub name: &'a str,
    /// Its folded stacks.
    pub folded: &'a str,
    /// What they were sampled by.
    pub clock: PhpClock,
    /// Time of that clock for each good response that one sample comes to; us.
    pub sample_us_per_good: f64,
}

/// The flame graph of PHP stacks; none when there is none. `us_per_good` is what a sample comes to for each good response;
/// without it the graph shows what it comes to in all, which is `sample_us`.
#[must_use]
pub fn php(
    folded: &str,
    title: &Redacted,
    clock: PhpClock,
    sample_us: f64,
    us_per_good: Option<f64>,
) -> Option<String> {
    let mut options = options(title);
    let words = clock.words();
    (options.factor, options.count_name) = match us_per_good {
        Some(us) => (us, format!("µs of {words} {PER_GOOD}")),
        None => (sample_us / US_A_MS, format!("ms of {words}")),
    };
    draw(&mut options, folded)
}

/// What has changed from `before` to `after` for each good response. None when either has no stack, or another clock.
#[must_use]
pub fn php_difference(before: PhpSide<'_>, after: PhpSide<'_>) -> Option<Difference> {
    let unit = format!("ns of {} {PER_GOOD}", before.clock.words());
    let stacks = [before, after].map(|side| in_ns(side.folded, side.sample_us_per_good * NS_A_US));
    let are_alike = before.clock == after.clock;
    are_alike.then(|| drawn_difference([before.name, after.name], &stacks, &unit)).flatten()
}

/// Stacks in ns, where a sample comes to `sample_ns`.
fn in_ns(folded: &str, sample_ns: f64) -> String {
    let line = |(stack, samples): (&str, u64)| format!("{stack} {:.0}\n", samples as f64 * sample_ns);
    folded.lines().filter_map(counted).map(line).collect()
}

/// The functions that were innermost most often.
#[must_use]
pub fn php_functions(folded: &str) -> Vec<PhpFunction> {
    let (mut all, mut functions) = (0_u64, BTreeMap::<&str, [u64; 2]>::new());
    for (stack, samples) in folded.lines().filter_map(counted) {
        all = all.saturating_add(samples);
        // One that calls itself is in the stack once.
        for name in stack.split(';').collect::<BTreeSet<_>>() {
            let [own, total] = functions.entry(name).or_default();
            *total = total.saturating_add(samples);
            if stack.rsplit(';').next() == Some(name) {
                *own = own.saturating_add(samples);
            }
        }
    }
    let share = |samples: u64| samples as f64 / all.max(1) as f64;
    let mut functions: Vec<(&str, [u64; 2])> = functions.into_iter().collect();
    functions.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let told = functions.into_iter().filter(|(_, [own, _])| *own > 0).take(TOLD_MAX);
    let function = |(name, [own, total]): (&str, [u64; 2])| PhpFunction {
        name: name.to_owned(),
        self_samples: own,
        self_share: share(own),
        total_samples: total,
        total_share: share(total),
    };
    told.map(function).collect()
}

/// Samples of each function that was innermost.
pub(super) fn innermost(folded: &str) -> BTreeMap<&str, u64> {
    let mut functions = BTreeMap::<&str, u64>::new();
    for (stack, samples) in folded.lines().filter_map(counted) {
        let count = functions.entry(stack.rsplit(';').next().unwrap_or(stack)).or_default();
        *count = count.saturating_add(samples);
    }
    functions
}

/// Stack and samples of a line.
fn counted(line: &str) -> Option<(&str, u64)> {
    let (stack, samples) = line.rsplit_once(' ')?;
    Some((stack, samples.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDED: &str = "index.php;page;query 30\nindex.php;page;text;text 5\nindex.php;page;text 5\nindex.php 10\n";

    #[test]
    fn functions_have_their_own_share_and_that_of_what_they_call() {
        let functions = php_functions(FOLDED);
        let told: Vec<_> =
            functions.iter().map(|one| (one.name.as_str(), one.self_samples, one.total_samples)).collect();
        // `page` is innermost nowhere, and `text` calls itself.
        assert_eq!(told, [("query", 30, 30), ("index.php", 10, 50), ("text", 10, 10)]);
        assert_eq!((functions[0].self_share, functions[1].total_share), (0.6, 1.0));
        assert_eq!(php_functions("no count\n;;; x\n"), []);
        assert_eq!(php_functions("a 18446744073709551615\na 18446744073709551615\n").len(), 1);
    }

    #[test]
    fn a_graph_shows_time_of_its_clock() {
        let title = Redacted::text("PHP");
        let svg = php(FOLDED, &title, PhpClock::Cpu, 10_000.0, None).expect("stacks");
        assert!(svg.contains("query (300 ms of CPU time, 60.00%)"), "{svg}");
        let svg = php(FOLDED, &title, PhpClock::Real, 10_000.0, Some(2.0)).expect("stacks");
        assert!(svg.contains("query (60 µs of real time per good response, 60.00%)"), "{svg}");
        assert_eq!(php("", &title, PhpClock::Cpu, 10_000.0, None), None);
    }

    #[test]
    fn a_difference_is_of_one_clock_and_for_each_response() {
        let side =
            |name, folded, sample_us_per_good| PhpSide { name, folded, clock: PhpClock::Cpu, sample_us_per_good };
        let before = side("a", FOLDED, 2.0);
        let found = php_difference(before, side("b", "index.php;page;query 30\n", 1.0)).expect("both have stacks");
        assert!(found.folded.contains("index.php;page;query 60000 30000\n"), "{}", found.folded);
        assert!(found.as_before.contains("text (") && !found.as_after.contains("text ("));
        assert!(php_difference(before, PhpSide { clock: PhpClock::Real, ..before }).is_none());
        assert!(php_difference(before, side("b", "", 1.0)).is_none());
    }
}
