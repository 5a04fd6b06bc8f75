//! Which crate may depend on which: the table in ARCHITECTURE.md, enforced.

use toml::{Table, Value};

use super::Violation;

/// (crate, own crates it may depend on). `plimsoll` joins everything; `lab` knows the rules, which it puts to the proof, and
/// the statistics of its own measurements, and no other product code.
const ALLOWED: [(&str, &[&str]); 22] = [
    ("model", &[]),
    ("stats", &["model"]),
    ("evidence", &["model", "stats", "seeds"]),
    ("wire", &[]),
    ("clock", &["model"]),
    ("net", &["model", "wire"]),
    ("engine", &["clock", "model", "net", "stats", "wire"]),
    ("agent", &["model", "seeds"]),
    ("target", &["clock", "model", "net", "wire"]),
    ("faults", &["model"]),
    // The faults are of its tests.
    ("judge", &["evidence", "faults", "model", "stats"]),
    ("audit", &["judge", "model", "stats"]),
    ("input", &["model", "seeds"]),
    ("observe", &["clock", "model", "lab", "seeds"]),
    ("report", &["evidence", "model", "stats", "seeds"]),
    ("packages", &[]),
    ("seeds", &[]),
    ("stack", &["model", "packages", "wire", "seeds"]),
    ("browser", &["clock", "model", "stack", "seeds"]),
    (
        "plimsoll",
        &[
            "agent", "clock", "model", "stats", "evidence", "input", "wire", "engine", "target", "judge", "audit",
            "observe", "report", "stack", "browser", "lab",
        ],
    ),
    ("lab", &["model", "stats", "faults", "judge", "audit", "report", "wire", "xtask"]),
    ("xtask", &["packages"]),
];

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Fails on an edge outside the table, in any kind of dependency and under any `target`.
///
/// Narrower than its row: `lab` and `seeds` are dev-dependencies everywhere, and `wire` is one of `lab`, which has no product code on the
/// wire.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Violation::new(path, 0, format!("not a manifest: {error}"))],
    };
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str).unwrap_or("");
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        return vec![Violation::new(path, 0, format!("crate `{name}` has no row in the table of crate edges"))];
    };
    let mut violations = Vec::new();
    for (kind, dependency) in dependencies(&manifest) {
        if !ALLOWED.iter().any(|(own, _)| *own == dependency.as_str()) {
            continue;
        }
        let of_tests = ["lab", "seeds"].contains(&dependency.as_str()) || (name == "lab" && dependency == "wire");
        if !allowed.contains(&dependency.as_str()) || (of_tests && kind != "dev-dependencies") {
            violations.push(Violation::new(path, 0, format!("`{name}` may not have `{dependency}` in {kind}")));
        }
    }
    violations
}

/// (kind, crate) of every dependency.
pub(super) fn dependencies(manifest: &Table) -> Vec<(&'static str, String)> {
    let mut tables = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(Value::as_table) {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let mut found = Vec::new();
    for table in tables {
        for kind in KINDS {
            let Some(dependencies) = table.get(kind).and_then(Value::as_table) else { continue };
            for (key, value) in dependencies {
                // A renamed dependency carries the crate's real name in `package`.
                let name = value.get("package").and_then(Value::as_str).unwrap_or(key);
                found.push((kind, name.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;

    #[track_caller]
    fn violations(name: &str, rest: &str) -> usize {
        check("crates/x/Cargo.toml", &format!("[package]\nname = \"{name}\"\n{rest}")).len()
    }

    #[test]
    fn edges_of_the_table_pass() {
        assert_eq!(violations("model", "[dependencies]\nserde.workspace = true\n"), 0);
        assert_eq!(violations("engine", "[dependencies]\nmodel.workspace = true\nwire = { path = \"../wire\" }\n"), 0);
        assert_eq!(violations("plimsoll", "[dependencies]\nengine.workspace = true\n"), 0);
    }

    #[test]
    fn other_edges_fail_in_every_kind() {
        assert_eq!(violations("model", "[dependencies]\nstats.workspace = true\n"), 1);
        assert_eq!(violations("wire", "[dev-dependencies]\nmodel.workspace = true\n"), 1);
        assert_eq!(violations("judge", "[build-dependencies]\nreport.workspace = true\n"), 1);
        assert_eq!(violations("xtask", "[target.'cfg(unix)'.dependencies]\nengine.workspace = true\n"), 1);
        assert_eq!(violations("report", "[dependencies]\ne = { package = \"engine\", path = \"../engine\" }\n"), 1);
        assert_eq!(violations("plimsoll", "[dependencies]\nxtask.workspace = true\n"), 1);
    }

    #[test]
    fn lab_uses_wire_in_tests_only() {
        assert_eq!(violations("lab", "[dev-dependencies]\nwire.workspace = true\n"), 0);
        assert_eq!(violations("lab", "[dependencies]\nwire.workspace = true\n"), 1);
    }

    #[test]
    fn seeds_are_of_tests() {
        assert_eq!(violations("input", "[dev-dependencies]\nseeds.workspace = true\n"), 0);
        assert_eq!(violations("input", "[dependencies]\nseeds.workspace = true\n"), 1);
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        assert_eq!(violations("gadget", ""), 1);
        assert_eq!(check("crates/x/Cargo.toml", "name = ").len(), 1);
    }
}
