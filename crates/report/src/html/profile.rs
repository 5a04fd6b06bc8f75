//! A profile in the page: the flame graph in a frame of its own, and its figures.

use super::view::Table;
use crate::terminal::profile as words;
use model::Profiled;

/// Height of a graph whose own is not found; px.
const HEIGHT: u32 = 600;
/// Height from which a graph is scrolled; px.
const HEIGHT_MAX: u32 = 1_200;
/// Begins when the frame has its size, which the graph's script takes for granted.
const BEGIN: &str = "const begin = () => innerWidth > 0 ? init() : requestAnimationFrame(begin); begin();";
/// Room for the frame's own edges; px.
const EDGES: u32 = 4;

/// The flame graph as a document: a script of its own goes with it, which must not meet that of another graph.
pub(super) struct Graph {
    pub(super) document: String,
    pub(super) height: u32,
}

impl Graph {
    pub(super) fn new(svg: &str) -> Self {
        // What stands before the element is for a file, not for HTML.
        let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
        let height = svg.split_once("height=\"").and_then(|(_, rest)| rest.split_once('"'));
        let height = height.and_then(|(height, _)| height.parse::<u32>().ok()).unwrap_or(HEIGHT);
        let svg = svg.replacen(r#"onload="init(evt)""#, "", 1);
        let document = format!(
            "<!doctype html><style>body{{margin:0;overflow-x:hidden}}svg{{display:block}}</style>{svg}<script>{BEGIN}</script>"
        );
        Self { document, height: height.min(HEIGHT_MAX) + EDGES }
    }
}

/// Processes and functions.
pub(super) fn tables(profile: &Profiled) -> Vec<Table> {
    let owned = |header: Vec<&str>| header.into_iter().map(str::to_owned).collect();
    let (processes, by_process) = words::processes(profile);
    let (functions, by_function) = words::functions(profile);
    [("CPU time by process", processes, by_process), ("CPU time by function", functions, by_function)]
        .map(|(title, header, rows)| Table { title, header: owned(header), rows })
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}
