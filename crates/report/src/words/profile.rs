//! A profile in words and rows: for the terminal and the page.

use crate::sums::sum;
use crate::words::functions::short;
use crate::words::php;
use model::human::{self, count, percent, plural, time};
use model::{FunctionChange, ProcessRole, Profiled, ProfiledFunction, ProfiledProcess};

/// Processes named in a sentence.
const NAMED_MAX: usize = 3;
/// Processes and functions in a table.
pub(crate) const ROWS_MAX: usize = 10;
/// Columns of [`changed`] of PHP functions, by the clock that they were sampled by.
pub(crate) const PHP_CHANGED: [&str; 6] =
    ["PHP function", "share before", "after", "change", "time per good response before", "after"];
pub(crate) const PHP_UNCHANGED: &str =
    "no PHP function's share changed by more than samples of this number do by chance";
/// Said where no function changed.
pub(crate) const UNCHANGED: &str =
    "no function's share of the server's CPU time changed by more than samples of this number do by chance";
/// Columns of [`changed`]: shares of the CPU time of the server, and CPU time for each good response.
pub(crate) const CHANGED: [&str; 6] =
    ["function of the server", "share before", "after", "change", "CPU per good response before", "after"];

/// What a run or sweep tells of its profile in a sentence; none when none was asked for.
pub(crate) fn line(profile: Option<&Profiled>, unavailable: Option<&str>) -> Option<String> {
    let Some(profile) = profile else { return unavailable.map(|why| format!("none: {why}")) };
    let roles = [
        (ProcessRole::Server, "server"),
        (ProcessRole::Companion, "beside the server"),
        (ProcessRole::Own, "load generator"),
        (ProcessRole::Interrupts, "interrupts of idle CPUs"),
        (ProcessRole::Other, "others"),
    ];
    let parts = roles.iter().filter_map(|(role, words)| part(profile, *role, words));
    let load = profile.load.map_or_else(String::new, |load| format!(" at load {}", human::short(load)));
    let parts: Vec<String> = parts.collect();
    let php = profile.php.as_ref().map_or_else(String::new, |php| format!("; PHP functions: {}", php::samples(php)));
    Some(format!("{} samples{load}: {}{php}; cost: {}", count(profile.samples), parts.join("; "), cost(profile)))
}

/// The processes of a role: names, share, CPU time for each good response, and how much of it is known by function.
fn part(profile: &Profiled, role: ProcessRole, words: &str) -> Option<String> {
    let all: Vec<_> = profile.processes.iter().filter(|process| process.role == role).collect();
    let samples = sum(all.iter().map(|process| process.samples));
    if samples == 0 {
        return None;
    }
    let names: Vec<&str> = all.iter().take(NAMED_MAX).map(|process| process.name.as_str()).collect();
    let more = if all.len() > NAMED_MAX { ", ..." } else { "" };
    let named = match role {
        ProcessRole::Own | ProcessRole::Interrupts => String::new(),
        ProcessRole::Server | ProcessRole::Companion | ProcessRole::Other => format!(" ({}{more})", names.join(", ")),
    };
    let share = percent(samples as f64 / profile.samples as f64);
    let us = profile.sample_us_per_good_request.filter(|_| role != ProcessRole::Other);
    let us = us.map_or_else(String::new, |us| format!(", {} per good response", time(samples as f64 * us * 1e3)));
    let known = all.iter().map(|process| process.symbol_share * process.samples as f64).sum::<f64>() / samples as f64;
    let known = match role.is_serving() {
        true => format!(", {} of it known by function", percent(known)),
        false => String::new(),
    };
    Some(format!("{words}{named} {share}{us}{known}"))
}

/// Functions of the server whose share changed, as rows.
pub(crate) fn changed(changes: &[FunctionChange]) -> Vec<Vec<String>> {
    let row = |one: &FunctionChange| {
        vec![
            short(&one.name),
            percent(one.before.share),
            percent(one.after.share),
            points(one),
            time(one.before.cpu_us_per_good_request * 1e3),
            time(one.after.cpu_us_per_good_request * 1e3),
        ]
    };
    changes.iter().map(row).collect()
}

/// Change of a share in percentage points: `+12 pp`.
fn points(change: &FunctionChange) -> String {
    let size = percent(change.change().abs()).replace(" %", " pp");
    format!("{}{size}", if change.change() < 0.0 { "-" } else { "+" })
}

/// The functions that changed most, in a sentence.
pub(crate) fn changed_most(changes: &[FunctionChange]) -> String {
    if changes.is_empty() { UNCHANGED.to_owned() } else { more_and_less(changes, "CPU time") }
}

/// The same of PHP functions; none where none changed.
pub(crate) fn php_changed_most(changes: &[FunctionChange]) -> Option<String> {
    (!changes.is_empty()).then(|| more_and_less(changes, "PHP time"))
}

fn more_and_less(changes: &[FunctionChange], time: &str) -> String {
    let named = |is_rise: bool| {
        let of = changes.iter().filter(move |one| (one.change() > 0.0) == is_rise).take(NAMED_MAX);
        let one = |one: &FunctionChange| {
            format!("{} ({} to {})", short(&one.name), percent(one.before.share), percent(one.after.share))
        };
        of.map(one).collect::<Vec<_>>().join(", ")
    };
    let sides = [(format!("more of its {time} in"), named(true)), (format!("less of its {time} in"), named(false))];
    let told = sides.iter().filter(|(_, names)| !names.is_empty()).map(|(words, names)| format!("{words} {names}"));
    told.collect::<Vec<_>>().join("; ")
}

/// How much was seen.
pub(crate) fn samples(profile: &Profiled) -> String {
    let cpu = time(profile.samples as f64 * profile.sample_us() * 1e3);
    let taken = time(profile.sampled_ns as f64);
    let taken = format!("in {taken} at {} Hz on {}", profile.frequency_hz, plural(profile.cpus.into(), "CPU"));
    match profile.samples {
        0 => format!("none {taken}: nothing of it ran; {} lost", count(profile.lost_samples)),
        n => format!("{} ({cpu} of CPU) {taken}, {} lost", count(n), count(profile.lost_samples)),
    }
}

/// How much has a name.
pub(crate) fn known(profile: &Profiled) -> String {
    format!(
        "{} of the samples by function, {} at least by file; {} inside the kernel, {} in soft interrupts",
        percent(profile.symbol_share),
        percent(profile.resolved_share),
        percent(profile.kernel_share),
        percent(profile.softirq_share)
    )
}

/// What sampling has taken from the machine, as far as it was measured.
pub(crate) fn cost(profile: &Profiled) -> String {
    let reader = format!("{} of the machine's CPU time to read the samples", percent(profile.reader_share));
    match profile.goodput_change {
        Some(change) => {
            let sign = if change < 0.0 { "less" } else { "more" };
            format!("{reader}; goodput {} {sign} than at this load without", percent(change.abs()))
        }
        None => reader,
    }
}

/// The processes as a table.
pub(crate) fn processes(profile: &Profiled) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let per_good = profile.processes.iter().any(|process| process.cpu_us_per_good_request.is_some());
    let mut header = vec!["process", "count", "share", "in kernel", "softirq"];
    if per_good {
        header.push("CPU per good response");
    }
    let row = |process: &ProfiledProcess| {
        let role = match process.role {
            ProcessRole::Server if per_good => " (server)",
            ProcessRole::Companion if per_good => " (beside the server)",
            _ => "",
        };
        let mut row = vec![
            format!("{}{role}", process.name),
            count(process.count.into()),
            percent(process.share),
            percent(process.kernel_share),
            percent(process.softirq_share),
        ];
        if per_good {
            let us = process.cpu_us_per_good_request;
            row.push(us.map_or_else(|| "-".into(), |us| time(us * 1e3)));
        }
        row
    };
    let rows = profile.processes.iter().take(ROWS_MAX).map(row).collect();
    (header, rows)
}

/// The functions as a table.
pub(crate) fn functions(profile: &Profiled) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let row =
        |function: &ProfiledFunction| vec![short(&function.name), function.process.clone(), percent(function.share)];
    (vec!["function", "process", "share"], profile.functions.iter().take(ROWS_MAX).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_told_as_far_as_it_was_measured() {
        let mut profile = Profiled { reader_share: 0.001, ..Profiled::default() };
        assert_eq!(cost(&profile), "0.10 % of the machine's CPU time to read the samples");
        profile.goodput_change = Some(-0.012);
        assert!(cost(&profile).ends_with("; goodput 1.2 % less than at this load without"), "{}", cost(&profile));
    }
}
