//! Things that may stand in one place only, or nowhere: the clock, `unsafe`, printing, threads whose start panics.

use super::Violation;
use super::code::{is_word_at, line_of, words};

const CLOCK_FILE: &str = "crates/clock/src/lib.rs";
const CLOCK_READS: [&str; 4] = ["Instant::now", "SystemTime::now", "Timestamp::now", "clock_gettime"];
const THREAD_STARTS: [&str; 2] = ["thread::spawn", "scope.spawn"];
const PRINT_MACROS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

/// Time is read in one file and passed down as `now`: a protocol, a schedule or a statistic that reads a clock
/// cannot be tested in virtual time, and two clocks in one run cannot be compared.
///
/// Exempt: `tests` folders, which watch real processes from outside, and xtask and lab, which measure whole processes
/// and may not depend on engine. `code` is masked source.
pub(super) fn one_clock(path: &str, code: &str) -> Vec<Violation> {
    if path == CLOCK_FILE || is_tool(path) || has_component(path, "tests") {
        return Vec::new();
    }
    let reads = CLOCK_READS.iter().flat_map(|read| words(code, read).map(move |at| (at, read)));
    reads
        .map(|(at, read)| {
            let message = format!("`{read}` outside {CLOCK_FILE}: take `now` as a parameter");
            Violation::new(path, line_of(code, at), message)
        })
        .collect()
}

/// `unsafe` lives in files or folders named `sys`, where a reviewer looks for it.
pub(super) fn unsafe_code(path: &str, code: &str) -> Vec<Violation> {
    if has_component(path, "sys") || path.ends_with("/sys.rs") {
        return Vec::new();
    }
    let message = "`unsafe` outside a file or folder named `sys`";
    words(code, "unsafe").map(|at| Violation::new(path, line_of(code, at), message)).collect()
}

/// One printer decides what reaches the terminal; libraries return what they have to say.
///
/// Exempt: the printer, xtask, lab, and build scripts, which talk to cargo by printing.
pub(super) fn printing(path: &str, code: &str) -> Vec<Violation> {
    let printer =
        path == "crates/plimsoll/src/output/printer.rs" || path.starts_with("crates/plimsoll/src/output/printer/");
    if printer || is_tool(path) || path.ends_with("/build.rs") {
        return Vec::new();
    }
    let calls = code.match_indices('!').filter_map(|(bang, _)| {
        let name = PRINT_MACROS
            .iter()
            .find(|name| bang.checked_sub(name.len()).is_some_and(|at| is_word_at(code, at, name)))?;
        Some(Violation::new(path, line_of(code, bang), format!("`{name}!` outside plimsoll's printer")))
    });
    calls.collect()
}

/// Threads are started by `Builder`, which returns the error when the system gives none: `thread::spawn` and the `spawn` of a
/// scope panic then, and the program ends with a backtrace in the place of one line.
///
/// Exempt: tests, xtask and lab.
pub(super) fn threads(path: &str, code: &str) -> Vec<Violation> {
    let is_test = has_component(path, "tests") || path.ends_with("/tests.rs") || has_component(path, "refused");
    if is_tool(path) || is_test {
        return Vec::new();
    }
    let product = code.split("#[cfg(test)]").next().unwrap_or_default();
    let starts = THREAD_STARTS.iter().flat_map(|start| words(product, start).map(move |at| (at, start)));
    starts
        .map(|(at, start)| {
            let message = format!("`{start}` panics without a thread: use `thread::Builder` and say the error");
            Violation::new(path, line_of(code, at), message)
        })
        .collect()
}

fn is_tool(path: &str) -> bool {
    ["crates/xtask/", "crates/lab/"].iter().any(|tool| path.starts_with(tool))
}

fn has_component(path: &str, name: &str) -> bool {
    path.split('/').rev().skip(1).any(|component| component == name)
}

#[cfg(test)]
mod tests {
    use super::super::code::mask;
    use super::{one_clock, printing, threads, unsafe_code};

    #[test]
    fn the_clock_is_read_in_one_file() {
        for read in ["Instant::now()", "std::time::SystemTime::now()", "jiff::Timestamp::now()", "clock_gettime(id)"] {
            let code = format!("fn f() {{\n    {read};\n}}\n");
            let found = one_clock("crates/engine/src/worker.rs", &code);
            assert_eq!(found.len(), 1, "{read}");
            assert_eq!(found[0].line, 2);
            for exempt in ["crates/clock/src/lib.rs", "crates/plimsoll/tests/run.rs", "crates/xtask/src/a.rs"] {
                assert_eq!(one_clock(exempt, &code), []);
            }
        }
        assert_eq!(one_clock("crates/engine/src/worker.rs", &mask("// Instant::now is banned\nfn f(now: u64) {}")), []);
    }

    #[test]
    fn threads_that_cannot_be_started_are_errors() {
        for start in ["std::thread::spawn(work)", "thread::spawn(work)", "scope.spawn(work)"] {
            let code = format!("fn f() {{\n    {start};\n}}\n");
            let found = threads("crates/engine/src/run.rs", &code);
            assert_eq!(found.len(), 1, "{start}");
            assert_eq!(found[0].line, 2);
            for exempt in
                ["crates/target/tests/server/main.rs", "crates/engine/src/sim/tests.rs", "crates/lab/src/a.rs"]
            {
                assert_eq!(threads(exempt, &code), []);
            }
            assert_eq!(threads("crates/engine/src/run.rs", &format!("#[cfg(test)]\nmod tests {{\n{code}}}\n")), []);
        }
        assert_eq!(threads("crates/engine/src/run.rs", "Builder::new().spawn(work)?; spawn_scoped(scope, work)?;"), []);
    }

    #[test]
    fn unsafe_lives_in_sys() {
        let code = "fn f() {\n    unsafe { g() }\n}\n";
        let found = unsafe_code("crates/engine/src/worker.rs", code);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert_eq!(unsafe_code("crates/engine/src/sys.rs", code), []);
        assert_eq!(unsafe_code("crates/engine/src/sys/epoll.rs", code), []);
        assert_eq!(unsafe_code("crates/engine/src/lib.rs", "#![deny(unsafe_code)]"), []);
        assert_eq!(unsafe_code("crates/engine/src/subsys.rs", code).len(), 1);
    }

    #[test]
    fn only_the_printer_prints() {
        for name in ["println", "eprintln", "print", "eprint"] {
            let code = format!("fn f() {{\n    {name}!(a);\n}}\n");
            let found = printing("crates/report/src/lib.rs", &code);
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].line, 2);
            assert_eq!(printing("crates/plimsoll/src/output/printer.rs", &code), []);
            assert_eq!(printing("crates/xtask/src/main.rs", &code), []);
        }
        assert_eq!(printing("crates/report/src/lib.rs", "writeln!(out)?; assert!(a != b); my_print!(c);"), []);
    }
}
