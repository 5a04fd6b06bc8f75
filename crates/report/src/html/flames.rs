//! The flame graphs of a result, each with how to read it.

use super::Shown;
use super::graph::Graph;
use super::view::Flame;
use crate::off_cpu::OffCpu;

/// The graphs of a result, with what workers waited for as its pools say it.
pub(super) fn flames(shown: &Shown<'_>, waiting: Option<&OffCpu>) -> Vec<Flame> {
    let Some(graphs) = shown.graphs else { return waited_for(waiting).into_iter().collect() };
    let drawn = |svg: &Option<String>| Graph::new(svg.as_deref()?);
    let running = drawn(&graphs.running).map(|graph| {
        let about = "Each box is a function, as wide as the CPU time in it and in what it called";
        Flame::new("Where the CPU time went", about, ". Click to zoom, Ctrl-F to search; orange is the kernel.", graph)
    });
    let php = drawn(&graphs.php).map(|graph| {
        let about =
            "Each box is a PHP function, or the code of a file, as wide as the time in it and in what it called";
        let rest = "; PHP's own functions count for who calls them. Click to zoom, Ctrl-F to search.";
        Flame::new("PHP functions", about, rest, graph)
    });
    let stacks = drawn(&graphs.waiting).map(|graph| {
        let about = "Each box is a function, as wide as the time for which it and what it called were off the CPU";
        let rest = "; from the switches of threads in the profiled load. Waiting for work is left out.";
        Flame::new("Where the threads waited", about, rest, graph)
    });
    [running, php, waited_for(waiting), stacks].into_iter().flatten().collect()
}

fn waited_for(waiting: Option<&OffCpu>) -> Option<Flame> {
    let graph = Graph::new(&waiting?.svg)?;
    let about = "From the top: pool, thread, state, call into the kernel, and what for; as wide as the time";
    Some(Flame::new("What the workers waited for", about, ". Waiting for work is left out.", graph))
}

impl Flame {
    /// Of what the widths are stands between `about` and `rest`.
    fn new(title: &'static str, about: &str, rest: &str, graph: Graph) -> Self {
        let each = if graph.is_per_good { ", for each good response" } else { "" };
        Self { title, about: format!("{about}{each}{rest}"), graph }
    }
}
