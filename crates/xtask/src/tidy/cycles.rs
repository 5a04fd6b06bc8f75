//! Circles of files: modules of a crate that use each other, directly or through others, cannot be read one by one.
//!
//! A module may use its own parts, and these may use it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violation, code};

/// Path of a module inside its crate.
pub(super) type Module = Vec<String>;
/// The files of a crate by module: path from the workspace root, and text.
pub(super) type Files<'a> = BTreeMap<Module, (&'a str, &'a str)>;

/// Fails on each circle of the sources `(path, text)`, which are those of the whole workspace.
pub(super) fn cycles(sources: &[(String, String)]) -> Vec<Violation> {
    crates(sources).values().flat_map(of_crate).collect()
}

fn of_crate(files: &Files<'_>) -> Vec<Violation> {
    let imports = |(module, (_, text)): (&Module, &(&str, &str))| {
        let paths = imported(&product(text));
        let used = modules_of(paths, module, files);
        let used = used.filter(|used| !used.starts_with(module) && !module.starts_with(used)).collect();
        (module.clone(), used)
    };
    let uses: BTreeMap<Module, BTreeSet<Module>> = files.iter().map(imports).collect();
    let violation = |circle: Vec<&Module>| {
        let others: Vec<String> = circle[1..].iter().map(|other| other.join("::")).collect();
        Violation::new(files[circle[0]].0, 0, format!("in a circle of modules with {}", others.join(", ")))
    };
    circles(&uses).into_iter().map(violation).collect()
}

/// The files of each crate by its name.
pub(super) fn crates(sources: &[(String, String)]) -> BTreeMap<&str, Files<'_>> {
    let mut crates: BTreeMap<&str, Files<'_>> = BTreeMap::new();
    for (path, text) in sources {
        if let Some((name, module)) = module(path) {
            crates.entry(name).or_default().insert(module, (path, text));
        }
    }
    crates
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

/// The circles of what uses each other, each with its first member first. Each member is in one circle.
pub(super) fn circles<T: Ord>(uses: &BTreeMap<T, BTreeSet<T>>) -> Vec<Vec<&T>> {
    let reached: BTreeMap<&T, BTreeSet<&T>> = uses.keys().map(|one| (one, reach(one, uses))).collect();
    let mut known = BTreeSet::new();
    let mut circles = Vec::new();
    for one in uses.keys() {
        let others = reached[one].iter().copied().filter(|other| *other != one && reached[*other].contains(one));
        let circle: Vec<&T> = [one].into_iter().chain(others).collect();
        if circle.len() > 1 && !known.contains(one) {
            known.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles
}

/// All that `one` uses, directly or through others.
fn reach<'a, T: Ord>(one: &'a T, uses: &'a BTreeMap<T, BTreeSet<T>>) -> BTreeSet<&'a T> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![one]);
    while let Some(one) = next.pop() {
        for used in uses.get(one).into_iter().flatten() {
            if reached.insert(used) {
                next.push(used);
            }
        }
    }
    reached
}

/// The code of a file without its tests: an item of tests that ends with a semicolon is left out, any other ends the file.
pub(super) fn product(text: &str) -> String {
    let code = code::mask(text);
    let mut parts = code.split("#[cfg(test)]");
    let mut product = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_import = part.trim_start().starts_with("use ");
        match part.split_once(';').filter(|(item, _)| is_import || !item.contains('{')) {
            Some((_, rest)) => product.push_str(rest),
            None => break,
        }
    }
    product
}

/// The paths of all `use` statements.
pub(super) fn imported(product: &str) -> Vec<Module> {
    let statements = product.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    statements.flat_map(|tree| flatten(&[], tree)).collect()
}

/// The modules of the crate into which `paths` of `module` lead.
pub(super) fn modules_of(paths: Vec<Module>, module: &Module, files: &Files<'_>) -> impl Iterator<Item = Module> {
    let paths = paths.into_iter().filter_map(move |path| absolute(module, &path));
    paths.filter_map(move |path| {
        (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|prefix| files.contains_key(prefix))
    })
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
