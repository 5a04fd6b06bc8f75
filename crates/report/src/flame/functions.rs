//! Functions of the server whose share of its CPU time is another in a second profile, by more than chance.
//!
//! The innermost function of each sample of the server counts, and for what is inlined the function that it is part of. Shares of two profiles are told apart by the pooled test of
//! two proportions (Fleiss, Levin and Paik, "Statistical Methods for Rates and Proportions", 3rd ed., section 3.2).

use super::{PhpSide, Side, php};
use crate::sums::sum;
use model::{FunctionChange, FunctionUse, ProcessRole};
use std::collections::{BTreeMap, BTreeSet};

/// Functions that are told at most.
const TOLD_MAX: usize = 10;
/// Standard errors beyond which a difference is no chance: of 100 functions that are the same, one is told in one of 20 pairs
/// of profiles.
const ERRORS_MIN: f64 = 3.5;

/// End of the name of a function that is part of another.
const INLINED: &str = "_[i]";

/// The functions that changed, the largest change of share first; none where either profile has no samples of a server.
#[must_use]
pub fn function_changes(before: Side<'_>, after: Side<'_>) -> Vec<FunctionChange> {
    changes([innermost(before), innermost(after)], [before, after].map(|side| side.sample_us_per_good))
}

/// The same of PHP functions; none where they were sampled by different clocks.
#[must_use]
pub fn php_function_changes(before: PhpSide<'_>, after: PhpSide<'_>) -> Vec<FunctionChange> {
    if before.clock != after.clock {
        return Vec::new();
    }
    let sides = [before, after];
    changes(sides.map(|side| php::innermost(side.folded)), sides.map(|side| side.sample_us_per_good))
}

/// Functions by the samples that had them innermost, in two profiles whose samples come to so many us for each good response.
fn changes([first, second]: [BTreeMap<&str, u64>; 2], us_per_sample: [f64; 2]) -> Vec<FunctionChange> {
    let all = |functions: &BTreeMap<&str, u64>| sum(functions.values().copied());
    let (all_first, all_second) = (all(&first), all(&second));
    if all_first == 0 || all_second == 0 {
        return Vec::new();
    }
    let names: BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let in_one = |of: &BTreeMap<&str, u64>, name: &str, all: u64, us_per_sample: f64| {
        let samples = of.get(name).copied().unwrap_or(0);
        let cpu_us_per_good_request = samples as f64 * us_per_sample;
        FunctionUse { samples, share: samples as f64 / all as f64, cpu_us_per_good_request }
    };
    let both = names.into_iter().map(|name| FunctionChange {
        name: name.to_owned(),
        before: in_one(&first, name, all_first, us_per_sample[0]),
        after: in_one(&second, name, all_second, us_per_sample[1]),
    });
    let mut changed: Vec<FunctionChange> =
        both.filter(|one| standard_errors(one, all_first as f64, all_second as f64) >= ERRORS_MIN).collect();
    changed.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
    changed.truncate(TOLD_MAX);
    changed
}

/// Samples of the server by innermost function.
fn innermost<'a>(side: Side<'a>) -> BTreeMap<&'a str, u64> {
    let servers = super::named(side, ProcessRole::is_serving);
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, samples) in side.folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let Some((_, frames)) = stack.split_once(';').filter(|(process, _)| servers.contains(process)) else {
            continue;
        };
        let innermost = frames.rsplit(';').find(|frame| !frame.ends_with(INLINED)).unwrap_or(frames);
        let count = functions.entry(innermost).or_default();
        *count = count.saturating_add(samples.parse().unwrap_or(0));
    }
    functions
}

/// Difference of two shares in standard errors.
fn standard_errors(change: &FunctionChange, first: f64, second: f64) -> f64 {
    let pooled = (change.before.samples as f64 + change.after.samples as f64) / (first + second);
    let error = (pooled * (1.0 - pooled) * (1.0 / first + 1.0 / second)).sqrt();
    if error > 0.0 { change.change().abs() / error } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PhpClock, Profiled, ProfiledProcess};

    fn of_server(name: &str) -> Profiled {
        let process = |name: &str, role| ProfiledProcess { name: name.into(), role, ..ProfiledProcess::default() };
        let processes = vec![process(name, ProcessRole::Server), process("load_generator", ProcessRole::Own)];
        Profiled { processes, ..Profiled::default() }
    }

    fn changes(before: &str, after: &str) -> Vec<(String, u64, u64)> {
        let (first, second) = (of_server("old"), of_server("new"));
        let side = |folded, profiled| Side { name: "x", folded, profiled, sample_us_per_good: 0.5 };
        let changed = function_changes(side(before, &first), side(after, &second));
        changed.into_iter().map(|one| (one.name, one.before.samples, one.after.samples)).collect()
    }

    #[test]
    fn what_grew_and_what_is_gone_is_told_and_what_chance_moved_is_not() {
        let before = "old;main;read_[k] 400\nold;main;parse 190\nold;main;gone 60\nload_generator;main 500\n";
        let after = "new;main;read_[k] 380\nnew;main;parse 210\nnew;main;deflate 150\nload_generator;main 9\n";
        let expected = [("deflate".to_owned(), 0, 150), ("read_[k]".to_owned(), 400, 380), ("gone".to_owned(), 60, 0)];
        assert_eq!(changes(before, after), expected);
    }

    #[test]
    fn what_is_inlined_counts_for_the_function_that_it_is_part_of() {
        let after = "new;main;read_[k] 100\nnew;main;burn;next_[i] 70\nnew;main;burn;next_[i];add_[i] 30\n";
        let expected = [("burn".to_owned(), 0, 100), ("read_[k]".to_owned(), 200, 100)];
        assert_eq!(changes("old;main;read_[k] 200\n", after), expected);
    }

    #[test]
    fn functions_of_what_the_server_hands_requests_to_are_its_own() {
        let process = |name: &str, role| ProfiledProcess { name: name.into(), role, ..ProfiledProcess::default() };
        let processes = vec![process("nginx", ProcessRole::Server), process("php-fpm", ProcessRole::Companion)];
        let profiled = Profiled { processes, ..Profiled::default() };
        let side = |folded| Side { name: "x", folded, profiled: &profiled, sample_us_per_good: 0.5 };
        let (before, after) = ("nginx;main 9\nphp-fpm;run 400\n", "nginx;main 9\nphp-fpm;run 100\nphp-fpm;new 300\n");
        let changed = function_changes(side(before), side(after));
        assert!(changed.iter().any(|one| one.name == "new" && one.after.samples == 300), "{changed:?}");
        let drawn = crate::flame::difference(side(before), side(after)).expect("a graph");
        assert!(drawn.folded.contains("php-fpm;new 0 150000\n"), "{}", drawn.folded);
    }

    #[test]
    fn php_functions_change_by_what_runs_in_themselves_and_by_one_clock() {
        let side = |folded, clock| PhpSide { name: "x", folded, clock, sample_us_per_good: 0.5 };
        let before = side("index.php;query 400\nindex.php;text 100\nno count\n", PhpClock::Cpu);
        let after = side("index.php;text 110\nindex.php 1\n", PhpClock::Cpu);
        let changed = php_function_changes(before, after);
        let names: Vec<&str> = changed.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["query", "text"]);
        assert_eq!((changed[0].before.samples, changed[0].before.cpu_us_per_good_request), (400, 200.0));
        assert_eq!(php_function_changes(before, PhpSide { clock: PhpClock::Real, ..after }), []);
    }

    #[test]
    fn few_samples_show_nothing() {
        assert_eq!(changes("old;a 3\nold;b 2\n", "new;a 1\nnew;c 4\n"), []);
        assert_eq!(changes("other;a 3000\n", "new;c 4\n"), [], "no sample of a server");
        assert_eq!(changes("old;a 18446744073709551615\n", "new;a 18446744073709551615\n").len(), 0);
    }
}
