//! docs/lab/dependencies.md has the reason for each direct dependency, and who uses it.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::{Violation, edges};

const PAGE: &str = "docs/lab/dependencies.md";

/// By dependency and crate that uses it: in which kinds.
type Users = BTreeMap<String, BTreeMap<String, BTreeSet<&'static str>>>;

/// Fails on a dependency without a row, a row without its dependency, and one that does not name all who use it.
///
/// `sources` are (path, text) of the whole repository, manifests and page among them.
pub(super) fn rows(sources: &[(String, String)]) -> Vec<Violation> {
    let users = users(sources);
    let page = sources.iter().find(|(path, _)| path == PAGE).map_or("", |(_, text)| text.as_str());
    let mut violations = Vec::new();
    let mut told = BTreeSet::new();
    for (index, line) in page.lines().enumerate() {
        let Some((name, reason, said)) = row(line) else { continue };
        let mut broken = |message: String| violations.push(Violation::new(PAGE, index + 1, message));
        if !told.insert(name) {
            broken(format!("`{name}` has two rows"));
        }
        if reason.is_empty() {
            broken(format!("no reason for `{name}`"));
        }
        match users.get(name).map(listed) {
            None => broken(format!("`{name}` is a direct dependency of no crate")),
            Some(listed) if listed != said => broken(format!("`{name}` is used by {listed}")),
            Some(_) => {}
        }
    }
    let untold = users.iter().filter(|(name, _)| !told.contains(name.as_str()));
    violations.extend(
        untold.map(|(name, users)| Violation::new(PAGE, 0, format!("no row for `{name}`, used by {}", listed(users)))),
    );
    violations
}

/// Name, reason and users of a row such as ``| `csv` | CSV tables | report |``.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
    Some((cells.next()?.trim_end_matches('`'), cells.next()?, cells.next()?))
}

/// The dependencies that are no crates of this repository.
fn users(sources: &[(String, String)]) -> Users {
    let manifests: Vec<(String, Table)> =
        sources.iter().filter(|(path, _)| is_manifest(path)).filter_map(|(_, text)| manifest(text)).collect();
    let own: BTreeSet<&str> = manifests.iter().map(|(name, _)| name.as_str()).collect();
    let mut users = Users::new();
    for (user, manifest) in &manifests {
        for (kind, dependency) in edges::dependencies(manifest) {
            if !own.contains(dependency.as_str()) {
                users.entry(dependency).or_default().entry(user.clone()).or_default().insert(kind);
            }
        }
    }
    users
}

fn is_manifest(path: &str) -> bool {
    path == "fuzz/Cargo.toml" || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
}

/// Name of the crate, and its manifest; one that cannot be read breaks another rule.
fn manifest(text: &str) -> Option<(String, Table)> {
    let manifest: Table = text.parse().ok()?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)?;
    Some((name.to_owned(), manifest))
}

/// Users as the page lists them: with what for, when the product is not built with it.
fn listed(users: &BTreeMap<String, BTreeSet<&'static str>>) -> String {
    let user = |(name, kinds): (&String, &BTreeSet<&'static str>)| {
        if kinds.contains("dependencies") {
            name.clone()
        } else if kinds.contains("build-dependencies") {
            format!("{name} (build)")
        } else {
            format!("{name} (tests)")
        }
    };
    users.iter().map(user).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::rows;

    const MANIFESTS: [(&str, &str); 3] = [
        (
            "crates/a/Cargo.toml",
            "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\ncsv.workspace = true\n\
             [dev-dependencies]\ncsv.workspace = true\nproptest = \"1\"\n",
        ),
        (
            "crates/b/Cargo.toml",
            "[package]\nname = \"b\"\n[target.'cfg(unix)'.dependencies]\nc = { package = \"csv\", version = \"1\" }\n\
             [build-dependencies]\ncc = \"1\"\n",
        ),
        ("fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[dependencies]\na = { path = \"../crates/a\" }\ncc = \"1\"\n"),
    ];

    const PAGE: &str = "| crate | for | used by |\n| --- | --- | --- |\n| `cc` | C code | b (build), fuzz |\n\
                        | `csv` | tables | a, b |\n| `proptest` | properties | a (tests) |\n";

    fn broken(page: &str) -> Vec<String> {
        let page = ("docs/lab/dependencies.md", page);
        let sources: Vec<_> =
            MANIFESTS.into_iter().chain([page]).map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        rows(&sources).into_iter().map(|violation| format!("{}: {}", violation.line, violation.message)).collect()
    }

    #[test]
    fn each_dependency_has_a_row_and_each_row_a_dependency() {
        assert!(broken(PAGE).is_empty(), "{:?}", broken(PAGE));
        let forgotten = PAGE.replace("| `csv` | tables | a, b |\n", "");
        assert_eq!(broken(&forgotten), ["0: no row for `csv`, used by a, b"]);
        let outlived = format!("{PAGE}| `b` | our own | a |\n| `rand` | dice | a |\n");
        let expected = ["6: `b` is a direct dependency of no crate", "7: `rand` is a direct dependency of no crate"];
        assert_eq!(broken(&outlived), expected);
        assert_eq!(broken("").len(), 3);
    }

    #[test]
    fn a_row_has_a_reason_and_all_who_use_it_once() {
        assert_eq!(broken(&PAGE.replace("tables", "")), ["4: no reason for `csv`"]);
        assert_eq!(broken(&PAGE.replace("a, b", "a")), ["4: `csv` is used by a, b"]);
        assert_eq!(broken(&PAGE.replace(" (tests)", "")), ["5: `proptest` is used by a (tests)"]);
        let twice = format!("{PAGE}| `csv` | tables | a, b |\n");
        assert_eq!(broken(&twice), ["6: `csv` has two rows"]);
    }
}
