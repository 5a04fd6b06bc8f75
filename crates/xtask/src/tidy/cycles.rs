//! Circles of files: modules of a crate that use each other, directly or through others, cannot be read one by one.
//!
//! A module may use its own parts, and these may use it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violation, code};

/// Path of a module inside its crate.
type Module = Vec<String>;
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// Fails on each circle of the sources `(path, text)`, which are those of the whole workspace.
pub(super) fn cycles(sources: &[(String, String)]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, (&str, &str)>> = BTreeMap::new();
    for (path, text) in sources {
        if let Some((name, module)) = module(path) {
            crates.entry(name).or_default().insert(module, (path, text));
        }
    }
    crates.values().flat_map(of_crate).collect()
}

/// Crate and module of `crates/NAME/src/PATH.rs`.
fn module(path: &str) -> Option<(&str, Module)> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let mut module: Module = rest.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod") || ["lib", "main"].contains(&rest.strip_suffix(".rs")?) {
        module.pop();
    }
    Some((name, module))
}

fn of_crate(files: &BTreeMap<Module, (&str, &str)>) -> Vec<Violation> {
    let uses: Uses = files.iter().map(|(module, (_, text))| (module.clone(), used(module, text, files))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reach(module, &uses))).collect();
    let mut told = BTreeSet::new();
    let mut violations = Vec::new();
    for (module, (path, _)) in files {
        let circle: Vec<&Module> = reached[module]
            .iter()
            .copied()
            .filter(|other| *other != module && reached[*other].contains(module))
            .collect();
        if !circle.is_empty() && told.insert(module) {
            let names: Vec<String> = circle.iter().map(|other| other.join("::")).collect();
            told.extend(circle);
            violations.push(Violation::new(path, 0, format!("in a circle of modules with {}", names.join(", "))));
        }
    }
    violations
}

/// Modules that are reached by `use` from `module`.
fn reach<'a>(module: &Module, uses: &'a Uses) -> BTreeSet<&'a Module> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![module]);
    while let Some(module) = next.pop() {
        for used in &uses[module] {
            if reached.insert(used) {
                next.push(used);
            }
        }
    }
    reached
}

/// Modules that `module` uses, but for those it is a part of and its own parts.
fn used(module: &Module, text: &str, files: &BTreeMap<Module, (&str, &str)>) -> BTreeSet<Module> {
    let code = code::mask(text);
    let product = code.split("#[cfg(test)]").next().unwrap_or_default();
    let statements = product.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let paths = statements.flat_map(|tree| flatten(&[], tree)).filter_map(|path| absolute(module, &path));
    paths
        .filter_map(|path| (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|prefix| files.contains_key(prefix)))
        .filter(|used| !used.starts_with(module) && !module.starts_with(used))
        .collect()
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn flatten(prefix: &[String], tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    if let Some(inner) = tree.strip_prefix('{') {
        return branches(inner.strip_suffix('}').unwrap_or(inner)).flat_map(|branch| flatten(prefix, branch)).collect();
    }
    let (head, rest) = tree.split_once("::").unwrap_or((tree, ""));
    let head = head.split_whitespace().next().unwrap_or_default();
    let path = [prefix, &[head.to_owned()]].concat();
    if rest.is_empty() { vec![path] } else { flatten(&path, rest) }
}

/// The parts of a list that its own commas divide.
fn branches(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    })
    .filter(|branch| !branch.trim().is_empty())
}

/// The path from the root of the crate; none of another crate's.
fn absolute(module: &Module, path: &[String]) -> Option<Module> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            Some([&module[..module.len().checked_sub(up)?], &path[up..]].concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::cycles;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> =
            sources.iter().map(|(path, text)| (format!("crates/a/src/{path}"), (*text).to_owned())).collect();
        cycles(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_found_through_a_third_and_in_lists() {
        let circle = [
            ("lib.rs", "mod x;\nmod y;\nmod z;\n"),
            ("x.rs", "use crate::{w::W, y::{self, Y}};\n"),
            ("y.rs", "use super::z::Z;\n"),
            ("z/mod.rs", "pub(crate) use crate::x::X;\n"),
        ];
        assert_eq!(found(&circle), ["crates/a/src/x.rs:0: in a circle of modules with y, z"]);
        assert!(found(&circle[..3]).is_empty());
    }

    #[test]
    fn parts_tests_and_other_crates_make_no_circle() {
        let none = [
            ("x/mod.rs", "use part::P;\nuse y::Y;\n// use crate::y::Y;\n"),
            ("x/part.rs", "use super::X;\nuse super::other::O;\n"),
            ("x/other.rs", "use crate::x::X;\n"),
            ("y.rs", "use crate::x::X;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"),
        ];
        assert!(found(&none).is_empty(), "{:?}", found(&none));
    }
}
