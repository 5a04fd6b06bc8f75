//! Flame graph in the page: a document in a frame of its own.

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
