//! Commands of pages with numbers that take no time. What they lead to stays as it is.

use lab::samples::split_unquoted;

/// More would make the tests long, and mean nothing else.
const REQUESTS_MAX: u64 = 100;
/// What every machine has descriptors for.
const CONNECTIONS_MAX: u64 = 200;
/// Connections of a load whose command names none.
const CONNECTIONS: &str = "8";
/// Largest load of a sweep whose command does not name the smallest one.
const LOAD_MAX: u64 = 8;
/// A page that is slow on a busy machine is no failed request.
const PATIENT: (&str, &str) = ("--timeout", "60s");
/// Requests of a result that is compared with a stored one, which has as many: enough for it to be valid, and so few that it
/// ends before the first sample of what else the machine does, which could make it invalid.
const REQUESTS_COMPARED: &str = "1200";
/// Ends a command whose result is looked at.
pub(super) const AS_JSON: &str = " --json";
/// Settings of a WordPress that is soon up.
pub(super) const SMALL_WORDPRESS: &str =
    "children=2 posts=12 comments=10 images=2 pages=2 innodb_buffer_pool_size=32MiB";
/// Stands for the output of another tool, which [`super::world::World`] has in a file.
const OTHER_TOOL: &str = "cat wrk.txt";

/// A command line of a page, which is one command or a pipeline.
pub(super) fn shortened(line: &str) -> String {
    let stages = split_unquoted(line, " | ");
    let stages = stages.iter().map(|stage| match stage.strip_prefix("plimsoll ") {
        Some(command) => format!("\"$PLIMSOLL\" {}", of_plimsoll(command)),
        None => OTHER_TOOL.to_owned(),
    });
    stages.collect::<Vec<_>>().join(" | ")
}

/// The words after `plimsoll`.
fn of_plimsoll(command: &str) -> String {
    let mut words: Vec<String> = split_unquoted(command, " ").into_iter().map(str::to_owned).collect();
    small_wordpress(&mut words);
    let verb = words[0].clone();
    match &verb[..] {
        "run" => run(&mut words),
        "sweep" => sweep(&mut words),
        "capacity" => capacity(&mut words),
        "compare" => compare(&mut words),
        // The one of the pages has short windows here.
        "experiment" => words.push("--allow-short-windows".to_owned()),
        "observe" => set_all(&mut words, &[("-d", "500ms"), ("-i", "100ms")]),
        "render" => set(&mut words, "--blocks", "1"),
        // It runs until it is ended.
        "target" => return format!("target --die-with-parent {} & sleep 0.3; kill $!", words[1..].join(" ")),
        _ => {}
    }
    let is_looked_at = ["run", "sweep"].contains(&&verb[..]);
    words.join(" ") + if is_looked_at { AS_JSON } else { "" }
}

fn run(words: &mut Vec<String>) {
    let is_compared = has(words, "--baseline") || value(words, "-o").is_some();
    if is_compared {
        remove(words, "-d");
        set(words, "-n", REQUESTS_COMPARED);
    } else if has(words, "-n") {
        at_most(words, "-n", REQUESTS_MAX);
    } else {
        set(words, "-d", "200ms");
    }
    at_most(words, "-c", CONNECTIONS_MAX);
    if !has(words, "-c") && !has(words, "-R") {
        set(words, "-c", CONNECTIONS);
    }
    set_all(words, &[("--warmup", "0s"), PATIENT]);
}

fn sweep(words: &mut Vec<String>) {
    set_all(words, &[("--iterations", "1"), ("-d", "200ms"), ("--warmup", "0s"), PATIENT]);
    if has(words, "--confirm") {
        // Enough for it to see that more load brings nothing.
        return set_all(words, &[("--points", "5"), ("--to", "16")]);
    }
    let is_over_rate = value(words, "--over").is_some_and(|unit| unit == "rate");
    if has(words, "--loads") {
        return set(words, "--loads", if is_over_rate { "50,100" } else { "2,4" });
    }
    set(words, "--points", "2");
    if !has(words, "--from") {
        at_most(words, "--to", LOAD_MAX);
    }
    let wide = if is_over_rate { [("--from", "50"), ("--to", "100")] } else { [("--from", "2"), ("--to", "4")] };
    for (flag, value) in wide {
        if !has(words, flag) && !has(words, "--to") {
            set(words, flag, value);
        }
    }
}

/// One rate, with the shortest window and the least time that there are.
fn capacity(words: &mut Vec<String>) {
    set_all(words, &[("--from", "50"), ("--to", "50"), ("-d", "4s"), ("--warmup", "0s"), ("--budget", "12s")]);
}

/// Of stored results there is nothing to shorten.
fn compare(words: &mut Vec<String>) {
    let is_measured = has(words, "--serve") || words.iter().any(|word| word.contains("://"));
    if is_measured {
        set_all(words, &[("--blocks", "1"), ("-d", "1s"), ("--warmup", "0s"), ("--budget", "12s")]);
        set_all(words, &[("--only", "fixed"), ("-R", "20")]);
    }
}

/// Gives each WordPress little content.
fn small_wordpress(words: &mut [String]) {
    for at in 1..words.len() {
        let server = words[at].trim_matches('\'');
        let (name, settings) = server.split_once(' ').unwrap_or((server, ""));
        if name != "wordpress" {
            continue;
        }
        match &words[at - 1][..] {
            "--serve" => words[at] = format!("'wordpress {SMALL_WORDPRESS} {settings}'").replace(" '", "'"),
            "up" => words[at] = format!("wordpress {SMALL_WORDPRESS}"),
            _ => {}
        }
    }
}

fn has(words: &[String], flag: &str) -> bool {
    words.iter().any(|word| word == flag)
}

/// The value of a flag that is there.
pub(super) fn value(words: &[String], flag: &str) -> Option<String> {
    let at = words.iter().position(|word| word == flag)?;
    words.get(at + 1).cloned()
}

/// Gives a flag this value, whether or not it is there.
pub(super) fn set(words: &mut Vec<String>, flag: &str, value: &str) {
    match words.iter().position(|word| word == flag) {
        Some(at) => words[at + 1] = value.into(),
        None => words.extend([flag.into(), value.into()]),
    }
}

fn set_all(words: &mut Vec<String>, flags: &[(&str, &str)]) {
    flags.iter().for_each(|(flag, value)| set(words, flag, value));
}

/// Takes away a flag and its value.
fn remove(words: &mut Vec<String>, flag: &str) {
    if let Some(at) = words.iter().position(|word| word == flag) {
        words.drain(at..at + 2);
    }
}

/// Lowers the number of a flag that is there; what the shell computes stays.
fn at_most(words: &mut [String], flag: &str, most: u64) {
    let Some(at) = words.iter().position(|word| word == flag) else { return };
    if words[at + 1].parse().is_ok_and(|number: u64| number > most) {
        words[at + 1] = most.to_string();
    }
}
