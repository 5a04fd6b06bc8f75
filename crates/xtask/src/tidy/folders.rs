//! Circles of folders: parts of a crate that use each other cannot be read one after the other, though their files can.
//!
//! Modules beside each other are compared with all that is in them, at the top of a crate and inside each folder. A path that
//! is written out counts as a `use` does. What the crate itself re-exports at its root is of no folder.

use super::Violation;
use super::cycles::{Files, Module, circles, crates, imported, modules_of, product};
use std::collections::{BTreeMap, BTreeSet};

/// Fails on each circle of folders of the sources `(path, text)`, which are those of the whole workspace.
pub(super) fn folders(sources: &[(String, String)]) -> Vec<Violation> {
    crates(sources).iter().flat_map(|(name, files)| of_crate(name, files)).collect()
}

fn root(name: &str) -> String {
    format!("crates/{name}/src")
}

fn of_crate(name: &str, files: &Files<'_>) -> Vec<Violation> {
    let arrows = arrows(files);
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        uses.entry(from.clone()).or_default().insert(to.clone());
        uses.entry(to.clone()).or_default();
    }
    let violation = |circle: Vec<&Module>| {
        let inside = arrows.iter().filter(|((from, to), _)| circle.contains(&from) && circle.contains(&to));
        let words = inside.map(|((from, to), path)| format!("{} uses {} ({path})", from.join("::"), to.join("::")));
        Violation::new(&root(name), 0, format!("folders in a circle: {}", words.collect::<Vec<_>>().join(", ")))
    };
    circles(&uses).into_iter().map(violation).collect()
}

/// Which of the modules beside each other use which, with a file in which one does. Files of tests use what they like.
fn arrows<'a>(files: &Files<'a>) -> BTreeMap<(Module, Module), &'a str> {
    let mut arrows = BTreeMap::new();
    for (module, (path, text)) in files.iter().filter(|(module, _)| !module.iter().any(|part| part == "tests")) {
        let product = product(text);
        let paths = imported(&product).into_iter().chain(written_out(&product)).collect();
        for used in modules_of(paths, module, files) {
            let alike = module.iter().zip(&used).take_while(|(own, other)| own == other).count();
            if alike < module.len().min(used.len()) {
                arrows.entry((module[..=alike].to_vec(), used[..=alike].to_vec())).or_insert(*path);
            }
        }
    }
    arrows
}

/// The paths in code that begin at the root of the crate or in a module above.
fn written_out(product: &str) -> impl Iterator<Item = Module> {
    let words = product.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(|path| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::folders;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> =
            sources.iter().map(|(path, text)| (format!("crates/a/src/{path}"), (*text).to_owned())).collect();
        folders(&sources).iter().map(ToString::to_string).collect()
    }

    /// No two of these files use each other.
    const CIRCLE: [(&str, &str); 5] = [
        ("lib.rs", "mod words;\nmod page;\n"),
        ("words/mod.rs", "mod run;\nmod sweep;\n"),
        ("words/run.rs", "fn f() {\n    crate::page::run::g();\n}\n"),
        ("words/sweep.rs", ""),
        ("page/run.rs", "#[cfg(test)]\nmod testing;\n\nuse crate::words::sweep::S;\n"),
    ];

    #[test]
    fn folders_that_use_each_other_through_files_of_their_own_are_found() {
        let said = "crates/a/src:0: folders in a circle: page uses words (crates/a/src/page/run.rs), \
                    words uses page (crates/a/src/words/run.rs)";
        assert_eq!(found(&CIRCLE), [said]);
        assert!(found(&CIRCLE[..4]).is_empty());
    }

    #[test]
    fn folders_inside_a_folder_are_held_apart_too() {
        let inner = CIRCLE.map(|(path, text)| {
            (
                format!("all/{path}"),
                text.replace("crate::page", "super::super::page").replace("crate::", "crate::all::"),
            )
        });
        let inner: Vec<(&str, &str)> = inner.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(found(&inner).len(), 1);
        assert!(found(&inner)[0].contains("all::page uses all::words"));
    }

    #[test]
    fn tests_and_a_module_with_its_parts_make_no_circle() {
        let none = [
            ("x/mod.rs", "mod part;\nuse part::P;\nuse crate::y::Y;\n"),
            ("x/part.rs", "use super::X;\n"),
            ("y/mod.rs", "#[cfg(test)]\nmod tests;\n\n#[cfg(test)]\nmod more {\n    use crate::x::X;\n}\n"),
            ("y/tests.rs", "use crate::x::X;\n"),
        ];
        assert!(found(&none).is_empty(), "{:?}", found(&none));
    }
}
