//! `docs/lab/comparisons.md`, and its tables for the terminal.

use model::Estimate;

use super::comparison::Kind;
use super::results::Results;
use super::sums::Sums;
use super::truth::Truth;
use super::{Options, Server};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/comparisons.md";

const INTRODUCTION: &str = "\
`plimsoll compare` is asked whether a variant of a real server is slower. For each server there are two kinds of comparison: of
a variant that takes about 3 % more CPU time for a request (*worse*), and of two variants that are the same (*same*, A/A). The
goals are that at least 8 of 10 changes of 3 % are called *worse* within 3 minutes, the start of the servers and everything
else included, and that at most 1 of 20 comparisons without a change is called *worse* or *better*.
";

const COMMAND: &str = "\
Each comparison is this command, of which A and B are the variants, and which has another seed each time:
";

const LEGEND: &str = "\
- *same or small*: called *same* or *small change*. *Invalid*: not all validity checks passed, so that nothing was called.
- *time*: of the whole command; half and nine in ten of the comparisons took at most this time.
- *blocks*: median of the blocks that count. *Thrown away*: blocks of all comparisons together that were measured again because
  one variant was disturbed more than the other, or that were not measured to their end.
- *change*: median of the estimated changes of the server CPU time per request, with the smallest and the largest.
- *holds the truth*: comparisons whose interval has the true change in it, or a part of the interval of the true change.
";

const TRUTH: &str = "\
The true change is measured without any figure of plimsoll, which only starts the servers. A response takes a number of rounds
that are all the same. So the variant before the change is measured beside one with so many more rounds that it takes about 30 %
more CPU time, and from that it is known how many rounds are 3 %: two starts of one server differ by up to a per cent and more,
and hide a change of 3 %. Both run at the same time. 16 plain clients send a fixed number of requests to the one, then to the
other, in turn, a tenth of a second each, 100 times. Each client waits for a random time before each request, as long for either
server, so that they are busy for a little more than two thirds of their turns, as in a comparison. The CPU time of all processes
of a server before and after all of that is read from `/proc`. Then both are started again. The change is taken from the
geometric mean of the ratios of all starts, with a 95 % t interval.

Under another load a request takes another CPU time, and the same rounds are another share of it. For example, a server that is
asked for one thing after the other has to be woken up for each of them.
";

/// A kind of comparison of a server, and what came of it.
pub(super) struct Row {
    pub(super) server: Server,
    pub(super) kind: Kind,
    pub(super) sums: Sums,
}

impl Row {
    fn goal(&self) -> Option<(String, bool)> {
        self.sums.goal(self.server.name(), self.kind)
    }

    /// The goal that was missed, in a sentence.
    pub(super) fn missed(&self) -> Option<String> {
        self.goal().filter(|(_, is_met)| !is_met).map(|(sentence, _)| sentence)
    }
}

/// All tables.
pub(super) fn tables(truths: &[(Server, Truth)], rows: &[Row]) -> String {
    format!("{}\n{}\n{}\n", truth_table(truths), calls(rows), changes(rows))
}

/// The page.
pub(super) fn render(
    machine: &str,
    options: &Options,
    results: &Results,
    truths: &[(Server, Truth)],
    rows: &[Row],
) -> Page {
    let file = options.results.as_ref().map(|path| format!(" --results {}", path.display())).unwrap_or_default();
    let each = options.results.as_ref().map(|path| format!("What came of each of them is in `{}`.", path.display()));
    let names: Vec<&str> = options.servers.iter().map(|server| server.name()).collect();
    let servers =
        if *options.servers == Server::ALL { String::new() } else { format!(" --servers {}", names.join(",")) };
    let command = format!("cargo xtask comparisons{servers} --tries {}{file} --write-docs", options.tries);
    let compare = format!(
        "```sh\nplimsoll compare --serve A --serve B --name before --name after --only fixed --budget {} --seed 1\n```",
        options.budget
    );
    Page::new("Comparisons of servers of which the truth is known")
        .made_by(&command, machine)
        .block(INTRODUCTION)
        .list(conclusions(rows))
        .section("What was called")
        .block(COMMAND)
        .block(compare)
        .block(calls(rows))
        .block(changes(rows))
        .block(LEGEND)
        .list(each)
        .section("The truth")
        .block(TRUTH)
        .block(truth_table(truths))
        .section("The servers")
        .list(truths.iter().map(|(server, truth)| about(*server, truth, results.cpu(*server))))
}

/// What the comparisons of each kind say about its goal.
fn conclusions(rows: &[Row]) -> Vec<String> {
    let conclusion = |(sentence, is_met): (String, bool)| {
        let word = if is_met { "met" } else { "**missed**" };
        format!("{sentence}: the goal is {word}.")
    };
    rows.iter().filter_map(Row::goal).map(conclusion).collect()
}

fn calls(rows: &[Row]) -> Table {
    let mut table = Table::with_figures(
        "server | kind | comparisons | worse | within 3 minutes | better | same or small | cannot tell | invalid",
        2,
    );
    for Row { server, kind, sums } in rows {
        table.row(&[
            &server.name(),
            &kind.name(),
            &sums.comparisons,
            &sums.worse,
            &sums.worse_in_time,
            &sums.better,
            &sums.same_or_small,
            &sums.cannot_tell,
            &sums.invalid,
        ]);
    }
    table
}

fn changes(rows: &[Row]) -> Table {
    let mut table = Table::with_figures(
        "server | kind | time, half | time, nine in ten | blocks | thrown away | change | smallest | largest | holds the truth",
        2,
    );
    for Row { server, kind, sums } in rows.iter().filter(|row| row.sums.comparisons > 0) {
        let [half, most] = sums.seconds.map(|seconds| format!("{seconds:.0} s"));
        let [smallest, median, largest] = sums.ratios.map(change);
        let covering = format!("{} of {}", sums.covering, sums.intervals);
        let (blocks, thrown_away) = (sums.blocks, sums.thrown_away);
        table.row(&[
            &server.name(),
            &kind.name(),
            &half,
            &most,
            &blocks,
            &thrown_away,
            &median,
            &smallest,
            &largest,
            &covering,
        ]);
    }
    table
}

fn truth_table(truths: &[(Server, Truth)]) -> Table {
    let mut table = Table::with_figures(
        "server | rounds before and after | measured with | CPU time of a request before | true change | 95 % interval | starts | \
         requests of each variant",
        3,
    );
    for (server, truth) in truths {
        let (before, measured) = (server.rounds(), server.rounds_of_truth());
        let after = before + truth.rounds_of_change(measured);
        let Estimate { value, low, high, .. } = truth.ratio(measured);
        let interval =
            low.zip(high).map_or_else(String::new, |(low, high)| format!("{} to {}", change(low), change(high)));
        let cpu_us = stats::mean(&truth.cpu_ns.iter().map(|(before, _)| before / 1e3).collect::<Vec<_>>());
        table.row(&[
            &server.name(),
            &format_args!("{before} and {after}"),
            &format_args!("{before} and {}", before + measured),
            &format_args!("{cpu_us:.0} µs"),
            &change(value),
            &interval,
            &truth.cpu_ns.len(),
            &truth.requests,
        ]);
    }
    table
}

/// A ratio as a change in per cent.
fn change(ratio: f64) -> String {
    format!("{:+.2} %", 100.0 * (ratio - 1.0))
}

/// The server, what `--serve` takes for its variants, and the CPU that it had.
fn about(server: Server, truth: &Truth, cpu: &str) -> String {
    let words = &truth.variants[0];
    let before = server.rounds();
    let (name, about, after) =
        (server.name(), server.about(), before + truth.rounds_of_change(server.rounds_of_truth()));
    format!("*{name}*: {about}; `--serve '{words}'` for {before} rounds, and the same for {after}. Measured on {cpu}.")
}

#[cfg(test)]
mod tests {
    use super::super::sums::tests::outcome;
    use super::*;
    use clap::Parser;
    use model::Call;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn truth() -> Truth {
        let variants = [2000, 2860].map(|rounds| format!("command -- server -rounds {rounds}"));
        let cpu_ns = (0..6).map(|start| (200_000.0, 260_000.0 + 1000.0 * f64::from(start))).collect();
        Truth { variants, cpu_ns, requests: 12_000 }
    }

    #[test]
    fn a_page_says_what_was_called_and_whether_the_goals_were_met() {
        let worse = [(Call::Worse, 1.03, 120.0), (Call::CannotTell, 1.02, 175.0), (Call::Worse, 1.04, 60.0)];
        let same = [(Call::Same, 1.0, 110.0), (Call::SmallChange, 1.005, 100.0)];
        let ratio = truth().ratio(Server::Go.rounds_of_truth());
        let row = |kind, outcomes: &[(Call, f64, f64)]| {
            let outcomes: Vec<_> =
                outcomes.iter().map(|(call, ratio, seconds)| outcome(Some(*call), *ratio, *seconds)).collect();
            Row { server: Server::Go, kind, sums: Sums::new(&outcomes, &ratio) }
        };
        let rows = [row(Kind::Worse, &worse), row(Kind::Same, &same)];
        let Line { options } = Line::parse_from(["comparisons", "--tries", "3"]);
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open(folder.path().join("measured.json"), "a CPU".to_owned()).unwrap();
        insta::assert_snapshot!("page", render("a machine", &options, &results, &[(Server::Go, truth())], &rows));
        let missed = rows[0].missed().unwrap();
        assert_eq!(missed, "go: 2 of 3 changes of 3 % were called worse within 3 minutes");
        assert_eq!(rows[1].missed(), None);
    }
}
