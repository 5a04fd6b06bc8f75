//! Takes out of plotly.js, which the crate plotly brings whole, the part that draws the charts of the page, as a compressed
//! file.
//!
//! The script is a bundle of a thousand modules, and the page needs lines and strips of colours: without maps, scenes in three
//! dimensions and forty other kinds of charts a fifth of it is left (4.7 MB become 1 MB, and 341 kB compressed). No crate brings
//! a bundle of that size, and a build must not need npm. Were the script ever written in another form, the page would carry it
//! whole, and a test would say that the page is too large.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::{env, io};
use tree_sitter::{Node, Parser, TreeCursor};

/// How the module of a kind of chart names itself. Lines and points are in the core of the library.
const STRIPS: &str = r#"moduleType:"trace",name:"heatmap""#;
/// How the grammar calls a name that is declared, and names that are used.
const DECLARATOR: &str = "variable_declarator";
const NAMES: [&str; 2] = ["identifier", "shorthand_property_identifier"];
/// What the last module says: which kinds of charts the library knows.
const REGISTER: (&str, &str) = (".register([", "])");

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let whole = plotly_script();
    let script = Bundle::read(&whole).and_then(|bundle| bundle.part_that_draws_strips());
    if script.is_none() {
        println!("cargo::warning=plotly.js is written in an unknown form: pages carry all of it");
    }
    let mut encoder = GzEncoder::new(File::create(out.join("plotly.js.gz"))?, Compression::best());
    encoder.write_all(script.unwrap_or(whole).as_bytes())?;
    encoder.finish().map(drop)
}

/// Plotly itself, without the typesetting of formulas that comes with it.
fn plotly_script() -> String {
    let sources = plotly::Plot::offline_js_sources();
    let script = sources.split("</script>").find(|part| part.contains("plotly.js v"));
    let (_, code) = script.and_then(|script| script.split_once('>')).expect("the crate brings its script");
    code.to_owned()
}

/// The script as its statements.
struct Bundle<'a> {
    script: &'a str,
    statements: Vec<Statement<'a>>,
    /// Place of the statement that declares a name.
    declared_in: HashMap<&'a str, usize>,
}

/// One of the bundle's statements: most declare a module.
struct Statement<'a> {
    place: Range<usize>,
    declares: Vec<&'a str>,
    /// All names that stand in it: those of other statements are what it needs.
    names: HashSet<&'a str>,
}

impl<'a> Bundle<'a> {
    /// None of a script that does not have the form `var Plotly=(()=>{...})()`.
    fn read(script: &'a str) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_javascript::LANGUAGE.into()).ok()?;
        let tree = parser.parse(script, None)?;
        let body = body(tree.root_node(), script)?;
        let children: Vec<_> = body.named_children(&mut body.walk()).filter(|node| !node.is_extra()).collect();
        let statements: Vec<_> = children.into_iter().map(|node| Statement::of(node, script)).collect();
        let declared_in =
            statements.iter().enumerate().flat_map(|(i, one)| one.declares.iter().map(move |name| (*name, i)));
        let declared_in = declared_in.collect();
        Some(Self { script, statements, declared_in })
    }

    /// The script without the modules that are needed for other charts alone.
    fn part_that_draws_strips(&self) -> Option<String> {
        let last = self.statements.iter().rposition(|one| self.script[one.place.clone()].contains(REGISTER.0))?;
        let place = self.statements[last].place.clone();
        let (before, rest) = self.script[place].split_once(REGISTER.0)?;
        let (modules, after) = rest.split_once(REGISTER.1)?;
        let strips = modules.split(',').map(|call| call.trim_end_matches("()")).find(|name| self.draws_strips(name))?;
        let core = self.statements[last].names.iter().filter(|name| before.contains(**name));
        // What has no name runs in any case.
        let nameless = self.statements.iter().filter(|one| one.declares.is_empty()).flat_map(|one| &one.names);
        let kept = self.needed(core.chain(nameless).chain([&strips]).copied(), last);
        let mut part = String::new();
        let mut at = 0;
        for (i, one) in self.statements.iter().enumerate() {
            part.push_str(&self.script[at..one.place.start]);
            at = one.place.end;
            match i {
                _ if i == last => part.push_str(&format!("{before}{}{strips}(){}{after}", REGISTER.0, REGISTER.1)),
                _ if one.declares.is_empty() || kept.contains(&i) => part.push_str(&self.script[one.place.clone()]),
                _ => (),
            }
        }
        part.push_str(&self.script[at..]);
        Some(part)
    }

    /// True of the module by name, or of the one that it hands on.
    fn draws_strips(&self, name: &str) -> bool {
        let text = |name: &str| {
            let place = self.declared_in.get(name).map(|i| self.statements[*i].place.clone());
            place.map_or("", |place| &self.script[place])
        };
        let handed_on = self.declared_in.get(name).into_iter().flat_map(|i| &self.statements[*i].names);
        let is_short = text(name).len() < 100;
        text(name).contains(STRIPS) || (is_short && handed_on.into_iter().any(|name| text(name).contains(STRIPS)))
    }

    /// The statements that those with the names need, one through another; `last` is needed by none.
    fn needed(&self, names: impl Iterator<Item = &'a str>, last: usize) -> HashSet<usize> {
        let mut found = HashSet::from([last]);
        let mut open: Vec<&str> = names.collect();
        while let Some(name) = open.pop() {
            if let Some(i) = self.declared_in.get(name).filter(|i| found.insert(**i)) {
                open.extend(&self.statements[*i].names);
            }
        }
        found
    }
}

impl<'a> Statement<'a> {
    fn of(node: Node<'_>, script: &'a str) -> Self {
        let text = |node: Node<'_>| &script[node.byte_range()];
        let declares = match node.kind() {
            "function_declaration" => vec![node],
            _ => node.named_children(&mut node.walk()).filter(|child| child.kind() == DECLARATOR).collect(),
        };
        let declares = declares.iter().filter_map(|one| one.child_by_field_name("name")).map(text).collect();
        let mut names = HashSet::new();
        each_within(node, &mut |inside| {
            if NAMES.contains(&inside.kind()) {
                names.insert(text(inside));
            }
        });
        Self { place: node.byte_range(), declares, names }
    }
}

/// What stands between the braces of `var Plotly=(()=>{...})()`.
fn body<'t>(root: Node<'t>, script: &str) -> Option<Node<'t>> {
    let mut found = None;
    each_within(root, &mut |node| {
        let is_declared = |name: Node<'_>| &script[name.byte_range()] == "Plotly";
        if found.is_none() && node.kind() == DECLARATOR && node.child_by_field_name("name").is_some_and(is_declared) {
            found = node.child_by_field_name("value");
        }
    });
    let function = found?.child_by_field_name("function")?.named_child(0)?;
    function.child_by_field_name("body")
}

/// Tells `visit` of every node within `top`, however deep: without recursion, as expressions of a bundle go very deep.
fn each_within<'t>(top: Node<'t>, visit: &mut impl FnMut(Node<'t>)) {
    let mut cursor: TreeCursor<'t> = top.walk();
    loop {
        visit(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}
