//! Flame graphs as SVG that can be zoomed and searched, from folded stacks, by inferno.

mod functions;
mod php;

pub use functions::{function_changes, php_function_changes};
pub use php::{PhpSide, php, php_difference, php_functions};

use crate::sums::sum;
use crate::visible;
use inferno::differential;
use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Color, MultiPalette};
use inferno::flamegraph::{self, Direction, Options, Palette};
use model::{ProcessRole, Profiled, Redacted};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Colours that tell the kernel (orange), inlined functions (blue-green) and just-in-time code (green) apart.
const PALETTE: Palette = Palette::Multi(MultiPalette::Java);
/// Least width of a frame that is drawn, of the whole; %.
const MIN_WIDTH: f64 = 0.05;
/// Differential graphs are counted in ns, as inferno counts in whole numbers.
const NS_A_US: f64 = 1e3;
/// Waiting is told in ms.
const NS_A_MS: f64 = 1e6;

/// What is behind the unit of a graph whose figures are those of one good response; no name of a frame has blanks.
pub(crate) const PER_GOOD: &str = "per good response";
/// Processes of a server in a difference that only one of both sides has.
const SERVER: &str = "server";

/// What a folded profile is measured in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// As it was counted.
    Samples,
    /// CPU time for each good response; us.
    UsPerGood {
        /// What one sample comes to.
        sample_us: f64,
    },
}

/// A profile to be compared with another.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What the result is called.
    pub name: &'a str,
    /// Its folded stacks.
    pub folded: &'a str,
    /// Its figures.
    pub profiled: &'a Profiled,
    /// CPU time for each good response that one sample comes to; us.
    pub sample_us_per_good: f64,
}

/// A change from one profile to another, drawn both ways.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Widths are those of the second profile: what it spends, and what of that is new.
    pub as_after: String,
    /// Widths are those of the first: what it spent, also on what is gone.
    pub as_before: String,
    /// Both profiles side by side: stack, first and second; ns of CPU for each good response.
    pub folded: String,
}

/// The flame graph of a profile; none when it has no stack.
#[must_use]
pub fn graph(folded: &str, title: &Redacted, scale: Scale) -> Option<String> {
    let mut options = options(title);
    if let Scale::UsPerGood { sample_us } = scale {
        options.factor = sample_us;
        options.count_name = format!("µs of CPU {PER_GOOD}");
    }
    draw(&mut options, folded)
}

/// The flame graph of what was waited for, in ns for each good response or in all; none when there is no stack.
pub(crate) fn waits(folded: &str, title: &Redacted, per_good: bool) -> Option<String> {
    let mut options = options(title);
    options.colors = Palette::Basic(BasicPalette::Io);
    options.factor = 1.0 / NS_A_MS;
    options.count_name = if per_good { format!("ms of waiting {PER_GOOD}") } else { "ms of waiting".into() };
    draw(&mut options, folded)
}

/// What has changed from `before` to `after` for each good response: red grew, blue shrank. Somebody else's processes are
/// left out, and those of the server that only one of them has are called the same. None when either has no stack.
#[must_use]
pub fn difference(before: Side<'_>, after: Side<'_>) -> Option<Difference> {
    let stacks = [per_good(before, after), per_good(after, before)];
    drawn_difference([before.name, after.name], &stacks, &format!("ns of CPU {PER_GOOD}"))
}

/// The difference of two that have these names and folded stacks, which are counted in `unit`.
fn drawn_difference(names: [&str; 2], [first, second]: &[String; 2], unit: &str) -> Option<Difference> {
    let folded = both(first, second)?;
    let back = both(second, first)?;
    let graph = |folded: &str, widths: &str, negate: bool| {
        let [first, second, widths] = [names[0], names[1], widths].map(short_name);
        let mut options = options(&Redacted::text(&format!("{first} to {second}")));
        let about = Redacted::text(&format!("widths of {widths}; red grew, blue shrank"));
        options.subtitle = Some(visible::line(&about).into_owned());
        // Not scaled to us by a factor: inferno would scale the percentages of the change, too.
        options.count_name = unit.to_owned();
        options.negate_differentials = negate;
        draw(&mut options, folded)
    };
    Some(Difference { as_after: graph(&folded, names[1], false)?, as_before: graph(&back, names[0], true)?, folded })
}

/// As much of a name as two of them have room for in a title.
fn short_name(name: &str) -> String {
    let begin: String = name.chars().take(NAME_MAX).collect();
    if begin.len() < name.len() { format!("{begin}...") } else { begin }
}

/// What is the same in every graph, from the one mark to the other: style and script.
pub(crate) fn own_part([begin, end]: [&str; 2]) -> Option<&'static str> {
    static GRAPH: OnceLock<Option<String>> = OnceLock::new();
    let svg = GRAPH.get_or_init(|| draw(&mut options(&Redacted::default()), "any 1\n")).as_deref()?;
    let begin = svg.find(begin)?;
    let end = begin + svg[begin..].find(end)? + end.len();
    Some(&svg[begin..end])
}

fn options(title: &Redacted) -> Options<'static> {
    let mut options = Options::default();
    options.title = visible::line(title).into_owned();
    options.colors = PALETTE;
    // By name, so that a function looks the same in each graph.
    options.hash = true;
    options.min_width = MIN_WIDTH;
    // Processes at the top, where a page begins.
    options.direction = Direction::Inverted;
    options.bgcolors = Some(BackgroundColor::Flat(Color { r: 255, g: 255, b: 255 }));
    options
}

fn draw(options: &mut Options<'_>, folded: &str) -> Option<String> {
    if folded.is_empty() || !can_be_counted(folded) {
        return None;
    }
    // XML has no place for control characters: with one of them, in the name of a process, there would be no graph.
    let lines: Vec<Cow<'_, str>> = folded.lines().map(visible::line).collect();
    let mut svg = Vec::new();
    flamegraph::from_lines(options, lines.iter().map(|line| &**line), &mut svg).ok()?;
    String::from_utf8(svg).ok()
}

/// Characters of a name in a title.
const NAME_MAX: usize = 50;

/// Most that all stacks may count together: inferno multiplies it by 150 for the colours of a difference.
const COUNTED_MAX: u64 = i64::MAX.cast_unsigned() / 1_000;

/// True if the counts of all stacks together are a number that can be calculated with. Each word that is a number is taken for
/// a count, without its fraction: inferno trims lines and drops fractions.
fn can_be_counted(folded: &str) -> bool {
    let whole = |word: &str| word.split('.').next()?.parse::<u64>().ok();
    let counts = folded.split_whitespace().filter_map(whole);
    sum(counts) < COUNTED_MAX
}

/// Folded stacks in ns of CPU for each good response, without those of processes that have nothing to do with the load. Two
/// servers whose programs have different names are laid one over the other.
fn per_good(side: Side<'_>, against: Side<'_>) -> String {
    let others = named(side, |role| role == ProcessRole::Other);
    let servers = |side| named(side, |role| role == ProcessRole::Server);
    let (own, shared) = (servers(side), servers(against));
    let scaled = side.folded.lines().filter_map(|line| {
        let (stack, samples) = line.rsplit_once(' ')?;
        let process = stack.split(';').next()?;
        if others.contains(process) {
            return None;
        }
        let is_alone = own.contains(process) && !shared.contains(process) && !shared.is_empty();
        let (process, frames) = (if is_alone { SERVER } else { process }, &stack[process.len()..]);
        let ns = samples.parse::<f64>().ok()? * side.sample_us_per_good * NS_A_US;
        Some(format!("{process}{frames} {ns:.0}\n"))
    });
    scaled.collect()
}

/// Names of the processes of a role, as they stand in the stacks.
fn named<'a>(side: Side<'a>, is_of: impl Fn(ProcessRole) -> bool) -> BTreeSet<&'a str> {
    let processes = side.profiled.processes.iter().filter(|process| is_of(process.role));
    processes.map(|process| process.name.as_str()).collect()
}

/// Stacks of both with their two figures, in the order of the stacks; none when either has none.
fn both(first: &str, second: &str) -> Option<String> {
    if !can_be_counted(first) || !can_be_counted(second) {
        return None;
    }
    let mut lines = Vec::new();
    let differ =
        differential::from_readers(differential::Options::default(), first.as_bytes(), second.as_bytes(), &mut lines);
    differ.ok().filter(|()| !first.is_empty() && !second.is_empty())?;
    let lines = String::from_utf8(lines).ok()?;
    // From a hash map: each time in another order.
    let sorted: BTreeSet<&str> = lines.lines().collect();
    Some(sorted.into_iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ProfiledProcess;

    const BEFORE: &str = "nginx;main;send_[k] 30\nnginx;main;old 10\n";
    const AFTER: &str = "nginx;main;new 10\nnginx;main;send_[k] 30\n";

    fn title(text: &str) -> Redacted {
        Redacted::text(text)
    }

    #[test]
    fn a_title_shows_no_secret_of_its_url() {
        let svg = graph(BEFORE, &title("CPU time under http://h/?token=s3cret&page=1"), Scale::Samples).unwrap();
        assert!(svg.contains("?token=&lt;redacted&gt;&amp;page=1") && !svg.contains("s3cret"), "{svg}");
    }

    #[test]
    fn a_graph_has_every_frame_and_its_unit() {
        let svg = graph(BEFORE, &title("a <title> & more"), Scale::UsPerGood { sample_us: 2.0 }).unwrap();
        assert!(svg.contains("<svg") && svg.contains("a &lt;title&gt; &amp; more"), "{svg}");
        assert!(svg.contains("send (60 µs of CPU per good response, 75.00%)"), "{svg}");
        assert_eq!(graph("", &title("nothing"), Scale::Samples), None);
    }

    #[test]
    fn control_characters_of_names_and_titles_are_shown() {
        let svg = graph("evil\u{1b}[2J;\u{202e}main 30\n", &title("\u{9b}2J"), Scale::Samples).unwrap();
        for text in [r"evil\u001b[2J", r"\u202emain", r"\u009b2J"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(!svg.contains(|c: char| c.is_control() && !"\n\t".contains(c)));
    }

    #[test]
    fn a_difference_is_per_response_and_goes_both_ways() {
        // Half as many samples for each response: what was the same in samples has halved.
        let process = ProfiledProcess { name: "other".into(), ..ProfiledProcess::default() };
        let profiled = &Profiled { processes: vec![process], ..Profiled::default() };
        let side = |name, folded, sample_us_per_good| Side { name, folded, profiled, sample_us_per_good };
        let before = format!("{BEFORE}other;main 1000\n");
        let difference = difference(side("a", &before, 2.0), side("b", AFTER, 1.0)).unwrap();
        assert_eq!(
            difference.folded,
            "nginx;main;new 0 10000\nnginx;main;old 20000 0\nnginx;main;send_[k] 60000 30000\n"
        );
        let (after, before) = (&difference.as_after, &difference.as_before);
        // Shares of the change are of the whole of the side that is drawn.
        assert!(after.contains("new (10,000 ns of CPU per good response, 25.00%; +25.00%)"), "{after}");
        assert!(after.contains("send (30,000 ns of CPU per good response, 75.00%; -75.00%)"), "{after}");
        assert!(
            after.contains(">a to b</text>") && after.contains(">widths of b; red grew, blue shrank</text>"),
            "{after}"
        );
        assert!(!after.contains("<title>old") && before.contains("<title>old (20,000 ns"), "{before}");
        assert!(super::difference(side("a", "", 1.0), side("b", AFTER, 1.0)).is_none());
    }

    #[test]
    fn names_of_directories_leave_a_title_whole() {
        assert_eq!(short_name("002-5-workers"), "002-5-workers");
        assert_eq!(short_name(&"é".repeat(60)), format!("{}...", "é".repeat(50)));
    }

    #[test]
    fn servers_of_other_names_are_laid_one_over_the_other() {
        let of = |name: &str| {
            let process =
                ProfiledProcess { name: name.into(), role: ProcessRole::Server, ..ProfiledProcess::default() };
            Profiled { processes: vec![process], ..Profiled::default() }
        };
        let (first, second) = (of("old"), of("new"));
        let side = |folded, profiled| Side { name: "x", folded, profiled, sample_us_per_good: 1.0 };
        let found = difference(side("old;main 3\n", &first), side("new;main 4\n", &second)).unwrap();
        assert_eq!(found.folded, "server;main 3000 4000\n");
    }

    #[test]
    fn waiting_is_told_in_ms() {
        let svg = waits("php-fpm: pool www;php-fpm8.2;S;poll;mariadbd 20000000\n", &title("Off-CPU"), true).unwrap();
        assert!(svg.contains("mariadbd (20 ms of waiting per good response, 100.00%)"), "{svg}");
        assert_eq!(waits("", &title("Off-CPU"), true), None);
    }

    #[test]
    fn a_graph_is_the_same_each_time() {
        let draw = || graph(BEFORE, &title("t"), Scale::Samples);
        assert_eq!(draw(), draw());
    }

    #[test]
    fn counts_too_large_for_the_colours_of_a_difference_make_no_graph() {
        let profiled = &Profiled::default();
        let side = |folded| Side { name: "x", folded, profiled, sample_us_per_good: 1.5 };
        assert!(difference(side("n;m 57777777777777\n"), side("main 1\n")).is_none());
        assert!(difference(side("n;m 57777\n"), side("main 1\n")).is_some());
    }
}
