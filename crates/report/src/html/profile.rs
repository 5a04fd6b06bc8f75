//! A profile in the page: the flame graph in a frame of its own, and its figures.

use super::view::Table;
use crate::terminal::profile as words;
use model::Profiled;

/// Size of a graph whose own is not found; px.
const SIZE: (u32, u32) = (1_200, 600);

/// The flame graph as a document: a script of its own goes with it, which must not meet that of another graph.
pub(super) struct Graph {
    pub(super) document: String,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Graph {
    pub(super) fn new(svg: &str) -> Self {
        // What stands before the element is for a file, not for HTML.
        let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
        let number = |name: &str| {
            let (_, rest) = svg.split_once(&format!("{name}=\""))?;
            rest.split_once('"')?.0.parse::<u32>().ok()
        };
        let (width, height) = (number("width").unwrap_or(SIZE.0), number("height").unwrap_or(SIZE.1));
        // Scaled by its view box: what the script does instead takes the size of a whole window for granted.
        let fixed = svg.replacen("fluiddrawing = true", "fluiddrawing = false", 1);
        let fixed = fixed.replacen(r#"onload="init(evt)""#, "", 1);
        let style = "body{margin:0}body>svg{display:block;width:100%;height:auto}";
        let document = format!("<!doctype html><style>{style}</style>{fixed}<script>init()</script>");
        Self { document, width, height }
    }
}

/// Processes, functions, and what would make more readable.
pub(super) fn tables(profile: &Profiled) -> Vec<Table> {
    let owned = |header: Vec<&str>| header.into_iter().map(str::to_owned).collect();
    let (processes, by_process) = words::processes(profile);
    let (functions, by_function) = words::functions(profile);
    let hints = profile.hints.iter().map(|hint| vec![hint.clone()]).collect();
    let all = [
        ("CPU time by process", processes, by_process),
        ("CPU time by function", functions, by_function),
        ("What the profile does not show", vec![""], hints),
    ];
    all.map(|(title, header, rows)| Table { title, header: owned(header), rows })
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}
