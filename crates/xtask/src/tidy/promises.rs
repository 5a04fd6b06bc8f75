//! docs/reference/security.md names the test of each promise, and the test exists.

use std::collections::BTreeSet;

use super::Violation;

const PAGE: &str = "docs/reference/security.md";
/// Below it each row of the table has its tests in its last cell; above it each promise has files with tests at its end.
const DANGERS: &str = "## Dangers";
/// How an item begins that promises nothing.
const NOT_PROMISED: &str = "- *Not promised*";

/// Fails on a promise without a test, and on a test that is not in the repository.
///
/// `sources` are (path, text) of the whole repository, the page among them.
pub(super) fn tested(sources: &[(String, String)]) -> Vec<Violation> {
    let Some((_, page)) = sources.iter().find(|(path, _)| path == PAGE) else { return Vec::new() };
    let tests: BTreeSet<&str> = sources.iter().flat_map(|(_, text)| tests(text)).collect();
    let places: Vec<String> =
        sources.iter().filter(|(_, text)| has_tests(text)).map(|(path, _)| module(path)).collect();
    let (promises, dangers) = page.split_once(DANGERS).unwrap_or((page, ""));
    let mut violations = Vec::new();
    for (line, item) in items(promises).into_iter().filter(|(_, item)| !item.starts_with(NOT_PROMISED)) {
        let named = places_of(&item);
        if named.is_empty() {
            violations.push(Violation::new(PAGE, line, "a promise that ends without its test in parentheses"));
        }
        let unknown = named.iter().filter(|name| !places.iter().any(|place| is_in(place, name)));
        violations.extend(unknown.map(|name| Violation::new(PAGE, line, format!("no tests in `{name}`"))));
    }
    let first = promises.lines().count() + 1;
    for (line, row) in dangers.lines().enumerate().filter_map(|(i, line)| Some((first + i, row(line)?))) {
        if row.is_empty() {
            violations.push(Violation::new(PAGE, line, "a danger without a test"));
        }
        let unknown = row.iter().filter(|name| !tests.contains(*name));
        violations.extend(unknown.map(|name| Violation::new(PAGE, line, format!("there is no test `{name}`"))));
    }
    violations
}

/// Tests of the last cell; none if it is no row of a danger.
fn row(line: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let (danger, last) = (*cells.first()?, *cells.last()?);
    // The head, the line below it, and titles of groups.
    let is_danger = !["danger", "---"].contains(&danger) && !danger.starts_with("**");
    is_danger.then(|| quoted(last))
}

/// Items of lists with the number of their first line; each as one line.
fn items(text: &str) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("- ") {
            items.push((index + 1, line.to_owned()));
            is_inside = true;
        } else if let (true, Some(more), Some((_, item))) = (is_inside, line.strip_prefix("  "), items.last_mut()) {
            item.push(' ');
            item.push_str(more);
        } else {
            is_inside = false;
        }
    }
    items
}

/// Paths named in the parentheses at the end of an item: of ``(`stack::tree`; `tests/serve/{ends, web}`)`` three.
fn places_of(item: &str) -> Vec<String> {
    let inside = item.trim_end_matches('.').strip_suffix(')').and_then(|item| item.rsplit_once('('));
    let names = inside.map(|(_, inside)| quoted(inside)).unwrap_or_default();
    names.into_iter().flat_map(each).map(|name| path(&name)).collect()
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// `a::{b, c}` is `a::b` and `a::c`.
fn each(name: &str) -> Vec<String> {
    match name.split_once('{').and_then(|(begin, rest)| Some((begin, rest.strip_suffix('}')?))) {
        Some((begin, ends)) => ends.split(',').map(|end| format!("{begin}{}", end.trim())).collect(),
        None => vec![name.to_owned()],
    }
}

/// A module, a test file, or a task of xtask as a path; types stand in the file of their module.
fn path(name: &str) -> String {
    let name = name.replace("::", "/").replace(' ', "/");
    let parts = name.split('/').filter(|part| !part.starts_with(char::is_uppercase));
    parts.collect::<Vec<_>>().join("/")
}

/// `crates/stack/src/supervisor/mod.rs` is `stack/supervisor`.
fn module(path: &str) -> String {
    let parts = path.trim_start_matches("crates/").trim_end_matches(".rs").split('/');
    parts.filter(|part| !["src", "lib", "mod", "main"].contains(part)).collect::<Vec<_>>().join("/")
}

/// True if a file is what a name says, or below it.
fn is_in(place: &str, name: &str) -> bool {
    format!("/{place}/").contains(&format!("/{name}/"))
}

fn has_tests(text: &str) -> bool {
    tests(text).next().is_some() || text.contains("fuzz_target!(")
}

/// Names of the functions with `#[test]`.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().map(str::trim).filter_map(move |line| {
        is_test |= line == "#[test]";
        if line.starts_with("#[") || line.starts_with("//") {
            return None;
        }
        let name = line.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
        let was_test = std::mem::take(&mut is_test);
        name.filter(|_| was_test)
    })
}

#[cfg(test)]
mod tests {
    use super::tested;

    const CODE: &str = "fn helper() {}\n\n#[test]\n#[cfg(unix)]\nfn a_link_is_not_followed() {}\n";
    const PAGE: &str = "# Security\n\n- Nothing is lost.\n  (`stack::tree`; `tests/serve/{ends, web}`)\n\
                        - *Not promised*: speed.\n\n## Dangers\n\n| danger | what holds it | test |\n| --- | --- | --- |\n\
                        | **Files** | | |\n| A link | None is followed | `a_link_is_not_followed` |\n";

    fn broken(page: &str) -> Vec<String> {
        let files = [
            ("crates/stack/src/tree/mod.rs", CODE),
            ("crates/plimsoll/tests/serve/ends.rs", CODE),
            ("crates/plimsoll/tests/serve/web.rs", CODE),
            ("crates/stack/src/ready.rs", "fn a() {}\n"),
            ("fuzz/fuzz_targets/har.rs", "fuzz_target!(|data: &[u8]| read(data));\n"),
            ("docs/reference/security.md", page),
        ];
        let sources = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        tested(&sources).into_iter().map(|violation| format!("{}: {}", violation.line, violation.message)).collect()
    }

    #[test]
    fn each_danger_has_tests_that_exist() {
        assert!(broken(PAGE).is_empty(), "{:?}", broken(PAGE));
        let renamed = PAGE.replace("`a_link_is_not_followed`", "`a_link_is_not_followed`, `a_link_is_refused`");
        assert_eq!(broken(&renamed), ["12: there is no test `a_link_is_refused`"]);
        assert_eq!(broken(&PAGE.replace("`a_link_is_not_followed`", "`helper`")), ["12: there is no test `helper`"]);
        assert_eq!(broken(&PAGE.replace("`a_link_is_not_followed`", "by reading")), ["12: a danger without a test"]);
    }

    #[test]
    fn each_promise_ends_with_files_that_have_tests() {
        let bare = PAGE.replace("  (`stack::tree`; `tests/serve/{ends, web}`)", "  (Almost.)");
        assert_eq!(broken(&bare), ["3: a promise that ends without its test in parentheses"]);
        assert!(broken(&PAGE.replace("`stack::tree`", "`stack::tree::Tree`, fuzz target `har`")).is_empty());
        assert_eq!(broken(&PAGE.replace("{ends, web}", "{ends, php}")), ["3: no tests in `tests/serve/php`"]);
        assert_eq!(broken(&PAGE.replace("stack::tree", "stack::ready")), ["3: no tests in `stack/ready`"]);
    }
}
