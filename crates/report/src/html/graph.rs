//! Flame graph in the page: a document in a frame of its own.
//!
//! A graph is stored as a file, which may come from anywhere. Of it the page takes the frames alone, rectangles and texts, and
//! refuses anything else; the script and the style are those of this program.

use crate::flame;

/// Width of all graphs; px.
const WIDTH: u32 = 1_200;
/// Largest height that is believed; px.
const HEIGHT_MAX: u32 = 1 << 20;
/// Elements inside one another: the graph, its frames, one of them, its text.
const DEPTH_MAX: usize = 4;
/// What a graph is made of behind its script.
const ELEMENTS: [&str; 5] = ["svg", "g", "title", "rect", "text"];
const ATTRIBUTES: [&str; 11] =
    ["id", "class", "x", "y", "width", "height", "fill", "fg:x", "fg:w", "total_samples", "text-anchor"];
/// Begin and end of what is the program's own.
const OWN: [&str; 2] = ["<defs>", "</script>"];

/// The flame graph as a document: a script of its own goes with it, which must not meet that of another graph.
pub(super) struct Graph {
    pub(super) document: String,
    pub(super) width: u32,
    pub(super) height: u32,
    /// True if it shows what a good response comes to, false if all of what was sampled.
    pub(super) is_per_good: bool,
}

impl Graph {
    /// None of what is no graph of ours.
    pub(super) fn new(svg: &str) -> Option<Self> {
        let (head, rest) = svg.split_once(OWN[0])?;
        let height = head.split_once("height=\"")?.1.split_once('"')?.0.parse::<u32>().ok()?;
        let (_, frames) = rest.split_once(OWN[1])?;
        if height > HEIGHT_MAX || !is_frames(frames) {
            return None;
        }
        let own = flame::own_part(OWN)?;
        // Scaled by its view box: what the script does instead takes the size of a whole window for granted.
        let own = own.replacen("fluiddrawing = true", "fluiddrawing = false", 1);
        let document = format!(
            "<!doctype html><html lang=\"en\"><title>Flame graph</title><style>body{{margin:0}}body>svg{{display:block;width:100%;height:auto}}</style>\
             <svg version=\"1.1\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\" xmlns:fg=\"http://github.com/jonhoo/inferno\">\
             {own}{frames}<script>init()</script>"
        );
        Some(Self { document, width: WIDTH, height, is_per_good: frames.contains(flame::PER_GOOD) })
    }
}

/// True of elements and texts that a graph goes on with behind its script, up to its end.
fn is_frames(text: &str) -> bool {
    // The graph itself is open already.
    let (mut open, mut rest) = (vec!["svg"], text);
    while let Some(inside) = open.last() {
        let Some((before, element)) = rest.split_once('<') else { return false };
        let holds_text = ["title", "text"].contains(inside);
        if !is_text(before) || !(holds_text || before.trim().is_empty()) {
            return false;
        }
        let Some((element, after)) = element.split_once('>') else { return false };
        rest = after;
        if let Some(name) = element.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
            continue;
        }
        let (element, is_empty) = element.strip_suffix('/').map_or((element, false), |element| (element, true));
        let (name, attributes) = element.split_once(' ').unwrap_or((element, ""));
        if holds_text || !ELEMENTS.contains(&name) || !are_attributes(attributes) || open.len() >= DEPTH_MAX {
            return false;
        }
        if !is_empty {
            open.push(name);
        }
    }
    rest.trim().is_empty()
}

/// True of names and values that say where something is, how large, and in which colour.
fn are_attributes(text: &str) -> bool {
    let mut rest = text.trim_ascii();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once("=\"") else { return false };
        let Some((value, after)) = after.split_once('"') else { return false };
        // `url(#background)` and `rgb(1,2,3)` among them, and no other address.
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "#%.,()- ".contains(c));
        if !ATTRIBUTES.contains(&name) || !is_plain || (value.contains("url") && value != "url(#background)") {
            return false;
        }
        rest = after.trim_ascii_start();
    }
    true
}

fn is_text(text: &str) -> bool {
    !text.contains(|c: char| c == '>' || (c.is_control() && !"\n\t".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::Scale;
    use model::Redacted;
    use proptest::prelude::*;

    fn drawn(folded: &str, title: &str) -> Option<String> {
        flame::graph(folded, &Redacted::text(title), Scale::Samples)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_graph_of_ours_is_taken(
            stacks in prop::collection::vec((prop::collection::vec("\\PC{1,12}", 1..5), 1..1000_u64), 1..8),
            title in ".{0,20}",
        ) {
            let folded: String =
                stacks.iter().map(|(frames, n)| format!("{} {n}\n", frames.join(";").replace('\n', " "))).collect();
            if let Some(svg) = drawn(&folded, &title) {
                prop_assert!(Graph::new(&svg).is_some(), "{svg}");
            }
        }

        #[test]
        fn whatever_stands_in_a_file_no_script_of_it_is_shown(
            at in any::<prop::sample::Index>(),
            put in prop::sample::select(&[
                "<script>alert(1)</script>", "<g onload=\"x()\">", "<a href=\"http://h/\">", "<image href=\"//h\"/>",
                "<![CDATA[", "<!--", "<foreignObject>", " onload=\"x()\"", "<rect fill=\"url(//h/)\"/>", "<style>*{}</style>",
                "</svg><p>", "\u{1b}[2J",
            ][..]),
        ) {
            let mut svg = drawn("nginx;main;send 30\nnginx;main;read 10\n", "a title").unwrap();
            let ours = Graph::new(&svg).unwrap().document;
            let mut at = at.index(svg.len());
            while !svg.is_char_boundary(at) {
                at -= 1;
            }
            svg.insert_str(at, put);
            if let Some(Graph { document, .. }) = Graph::new(&svg) {
                let in_tag = document.split('<').any(|tag| tag.split('>').next().is_some_and(|tag| tag.contains("onload")));
                prop_assert!(document == ours || (put.starts_with(' ') && !in_tag), "{put} at {at}");
            }
        }
    }

    #[test]
    fn the_script_is_our_own() {
        let svg = drawn("nginx;main 1\n", "t").unwrap();
        let begin = svg.find("<defs>").unwrap();
        let end = svg.find("</script>").unwrap();
        let foreign = format!("{}<defs><script>alert(1)//{}", &svg[..begin], &svg[end..]);
        let [ours, theirs] = [&svg, &foreign].map(|svg| Graph::new(svg).unwrap());
        assert!(!theirs.document.contains("alert(1)") && ours.document == theirs.document);
        assert!(ours.document.contains("fluiddrawing = false") && !ours.document.contains("onload"));
        assert_eq!((ours.width, ours.height), (1200, theirs.height));
    }

    #[test]
    fn what_is_no_graph_is_none() {
        for text in ["", "<svg/>", "<svg height=\"1\"><defs></script></svg>x", "<svg height=\"1\"><defs></script>"] {
            assert!(Graph::new(text).is_none(), "{text}");
        }
        assert!(Graph::new("<svg height=\"1\"><defs></script></svg>\n").is_some());
        assert!(Graph::new("<svg height=\"9999999999\"><defs></script></svg>").is_none());
    }
}
