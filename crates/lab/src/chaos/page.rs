//! The endings and what came of them: as a table for the terminal and as a page, of which endings can be made again.

use super::SERVERS;
use super::ending::Ending;
use super::endings::{ENDINGS, OF_AGENTS};
use super::hostile::Hostile;
use super::judge::{HANDLING, Kept};
use super::rows::Row;
use crate::markdown::{self, Table, line};
use std::collections::BTreeSet;
use std::time::Duration;

pub(super) const PATH: &str = "docs/lab/crash-tests.md";

/// Titles of the lists of the page.
const MADE: &str = "Made by:";
const SKIPPED: &str = "Skipped:";
const SAID: &str = "What is said:";

const INTRODUCTION: &str = "\
`cargo xtask chaos` kills plimsoll in each of the ways below, at random instants that a seed makes repeatable, and checks
what is left behind. Each try measures the built-in server for some seconds in a directory of its own, and only processes
that it started are killed.
";

const LEGEND: &str = "\
- *ended before*: the program had ended before the instant. *nothing yet*: nothing had been measured.
- *whole*: the result is on the disk, and the same to the byte when it is made again of its events. *printed*: the disk did
  not take it, stdout did; of its events the result can be made up to the instant. *recovered*: made by
  `plimsoll report --recover DIR`, of a sweep with the loads that had ended, of a profile of the samples. *lost*: half a
  result, or none of what was measured.
- *longest loss*: measured time that events, samples and result lack at the instant, of all that had passed since the load, or
  the sampling, was seen to begin.
- *left*: processes, listening sockets, mounts and files that were left. *said*: tries with a line that says what has
  happened.
- *wrong*: tries in which anything was not as it should be: a loss of more than a second and LATE until a line is written
  (beyond the time for which the machine kept the lab itself waiting), half a result, something left, nothing said, a panic,
  another exit code than documented.
";

const AGENTS: &str = "\
`cargo xtask chaos --agents` does the same to measurements whose load comes from [agents](../reference/agents.md): real ssh and sshd between
network namespaces (which needs root), agents of this machine that a script in the place of ssh starts, or that connect; with
and without an agent on the machine of the servers, and with another that starts them there. Who is killed comes in turns; verb,
agents and instant follow from the seed.
*left* are processes of any machine that are there SOON after the kill (SILENCE after a cut link), listening sockets, and files
of an agent but for the documented copy of the program. *all ended* is the longest time from the kill until no process ran; from
the end of plimsoll where that goes on, as without its server, or had ended before. A result that ends early has to name the
agent that was lost.
";

const COLUMNS: &str = "ending | of | tries | ended before | nothing yet | whole | printed | recovered | lost | \
                       longest loss | left | said | wrong";

/// The last column of a table of agents.
const ALL_ENDED: &str = " | all ended";

/// How the last of them is made.
const SERVERS_MADE: &str = "SIGKILL for plimsoll, its supervisor, a server or a worker of it, of nine servers";

/// How each is made.
fn endings(all: &[Ending]) -> Table {
    let mut table = Table::new("ending | made by");
    all.iter().for_each(|Ending { name, made, .. }| table.row(&[name, made]));
    table
}

/// What came of them.
pub(super) fn table(rows: &[Row]) -> String {
    tables(&lines_of_rows(rows)).into_iter().flatten().map(|table| table.to_string()).collect()
}

/// The table of the lines of all endings but those of agents, and the table of those; none where it has no line.
fn tables(lines: &Lines) -> [Option<Table>; 2] {
    [false, true].map(|agents| {
        let mut lines = lines.iter().filter(|(ending, _)| is_of_agents(ending) == agents).peekable();
        lines.peek()?;
        let mut table = Table::new(&(COLUMNS.to_owned() + if agents { ALL_ENDED } else { "" }));
        lines.for_each(|(_, line)| table.line(line));
        Some(table)
    })
}

/// A line for each row with a try.
fn lines_of_rows(rows: &[Row]) -> Lines {
    let tried = rows.iter().filter(|row| row.tries > 0);
    tried.map(|row| (row.ending.to_owned(), line(cells(row)))).collect()
}

fn cells(row: &Row) -> Vec<String> {
    let kept = |kept| shown(row.kept(kept));
    let mut cells = vec![
        row.ending.to_owned(),
        row.verb.to_owned(),
        row.tries.to_string(),
        shown(row.had_ended),
        kept(Kept::Nothing),
        kept(Kept::Whole),
        kept(Kept::Printed),
        kept(Kept::Recovered),
        kept(Kept::Broken),
        seconds(row.lost_most),
        row.left.to_string(),
        shown(row.said),
        if row.wrong == 0 { "0".into() } else { format!("**{}**", row.wrong) },
    ];
    cells.extend(is_of_agents(row.ending).then(|| seconds(row.all_ended_most)));
    cells
}

fn seconds(time: Option<Duration>) -> String {
    time.map_or_else(String::new, |time| format!("{:.2} s", time.as_secs_f64()))
}

/// Zeros would hide the others.
fn shown(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// What could not be tried, a line each.
pub(super) fn skipped(rows: &[Row]) -> Vec<String> {
    let told = rows.iter().filter_map(|row| Some((row, row.reason.as_ref()?)));
    told.map(|(row, reason)| format!("- {}, {} ({} skipped): {reason}", row.ending, row.verb, row.skipped)).collect()
}

/// What is said, the first line of each.
fn lines(rows: &[Row]) -> Vec<String> {
    let said = rows.iter().filter_map(|row| Some((row, row.line.as_ref()?)));
    said.map(|(row, line)| format!("- {}, {}: `{line}`", row.ending, row.verb)).collect()
}

/// Lines with the ending that each tells of.
type Lines = Vec<(String, String)>;

/// What `docs/lab/crash-tests.md` says of the tries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The command and the machine.
    made: Lines,
    table: Lines,
    skipped: Lines,
    said: Lines,
}

impl Page {
    /// The rows of tries that `command` made on `machine`.
    pub(super) fn new(command: &str, machine: &str, rows: &[Row]) -> Self {
        let endings: BTreeSet<&str> = rows.iter().map(|row| row.ending).collect();
        let made = endings.into_iter().map(|ending| (ending.to_owned(), format!("`{command}` on {machine}")));
        let (skipped, said) = (by_ending(skipped(rows)), by_ending(lines(rows)));
        Self::default().with(Self { made: made.collect(), table: lines_of_rows(rows), skipped, said })
    }

    /// Reads a page that was rendered.
    pub(super) fn read(text: &str) -> Self {
        let mut page = Self::default();
        let mut list = "";
        for line in text.lines() {
            match (list, line.strip_prefix("- ")) {
                (_, None) if [MADE, SKIPPED, SAID].contains(&line) => list = line,
                (MADE, Some(made)) => {
                    let (how, endings) = made.rsplit_once(": ").unwrap_or((made, ""));
                    page.made.extend(endings.split(", ").map(|ending| (ending.to_owned(), how.to_owned())));
                }
                (SKIPPED, Some(_)) => page.skipped.extend(by_ending(vec![line.to_owned()])),
                (SAID, Some(_)) => page.said.extend(by_ending(vec![line.to_owned()])),
                _ => {}
            }
            let cells: Vec<&str> = line.trim_start_matches("| ").split(" | ").collect();
            let columns = COLUMNS.split(" | ").count();
            let is_row = [columns, columns + 1].contains(&cells.len());
            if is_row && !["ending", "---"].contains(&cells[0]) {
                page.table.push((cells[0].to_owned(), line.to_owned()));
            }
        }
        page
    }

    /// What it says of agents alone.
    pub(super) fn of_agents(self) -> Self {
        let kept = |lines: Lines| lines.into_iter().filter(|(ending, _)| is_of_agents(ending)).collect();
        let Self { made, table, skipped, said } = self;
        Self { made: kept(made), table: kept(table), skipped: kept(skipped), said: kept(said) }
    }

    /// The page with all that `new` says in the place of what this one says of the same endings.
    pub(super) fn with(self, new: Self) -> Self {
        let again: BTreeSet<String> = new.made.iter().map(|(ending, _)| ending.clone()).collect();
        let joined = |old: Lines, new: Lines| {
            let kept = old.into_iter().filter(|(ending, _)| !again.contains(ending));
            let mut lines: Lines = kept.chain(new).collect();
            lines.sort_by_key(|(ending, _)| place(ending));
            lines
        };
        Self {
            made: joined(self.made, new.made),
            table: joined(self.table, new.table),
            skipped: joined(self.skipped, new.skipped),
            said: joined(self.said, new.said),
        }
    }

    /// The text of the page.
    pub(super) fn render(&self) -> String {
        let legend = LEGEND.replace("LATE", &format!("{:.1} s", HANDLING.as_secs_f64()));
        let mut made = endings(&ENDINGS);
        Hostile::ALL.iter().for_each(|hostile| made.row(&[&hostile.name(), &hostile.made()]));
        made.row(&[&SERVERS, &SERVERS_MADE]);
        let [own, agents] = tables(&self.table);
        let mut page = markdown::Page::new("Crash tests").block(INTRODUCTION).block(made);
        page = page.section("Results").block(legend).block(own.unwrap_or_else(|| Table::new(COLUMNS)));
        let within = |ending: &Ending| ending.ends_within.unwrap_or_default();
        let [soon, silence] =
            [&OF_AGENTS[0], &OF_AGENTS[OF_AGENTS.len() - 1]].map(|ending| format!("{:?}", within(ending)));
        let text = AGENTS.replace("SOON", &soon).replace("SILENCE", &silence);
        page = page.section("Agents").block(text).block(endings(&OF_AGENTS));
        page = agents.into_iter().fold(page, markdown::Page::block);
        let lists = [(MADE, self.made()), (SKIPPED, lines_of(&self.skipped)), (SAID, lines_of(&self.said))];
        let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
        lists.fold(page, |page, (title, lines)| page.block(title).block(lines.join("\n"))).to_string()
    }

    /// Each command with the endings that it made.
    fn made(&self) -> Vec<String> {
        let mut made: Vec<(&str, Vec<&str>)> = Vec::new();
        for (ending, how) in &self.made {
            match made.iter_mut().find(|(other, _)| other == how) {
                Some((_, endings)) => endings.push(ending),
                None => made.push((how, vec![ending])),
            }
        }
        made.into_iter().map(|(how, endings)| format!("- {how}: {}", endings.join(", "))).collect()
    }
}

fn lines_of(lines: &Lines) -> Vec<String> {
    lines.iter().map(|(_, line)| line.clone()).collect()
}

/// Lines such as `- sighup, run: ...`.
fn by_ending(lines: Vec<String>) -> Lines {
    let ending = |line: &str| line.trim_start_matches("- ").split(',').next().unwrap_or_default().to_owned();
    lines.into_iter().map(|line| (ending(&line), line)).collect()
}

fn is_of_agents(name: &str) -> bool {
    OF_AGENTS.iter().any(|ending| ending.name == name)
}

/// Place of an ending on the page.
fn place(name: &str) -> usize {
    let of = |all: &'static [Ending]| all.iter().map(|ending| ending.name);
    let names = of(&ENDINGS).chain(Hostile::ALL.map(Hostile::name)).chain([SERVERS]).chain(of(&OF_AGENTS));
    names.take_while(|other| *other != name).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use xtask::workspace;

    fn rows() -> [Row; 2] {
        [
            Row {
                tries: 40,
                had_ended: 3,
                kept: BTreeMap::from([(Kept::Whole, 12), (Kept::Recovered, 28)]),
                lost_most: Some(Duration::from_millis(1040)),
                line: Some("plimsoll: it is so".into()),
                said: 2,
                ..Row::new("power-cut", "run")
            },
            Row { skipped: 20, reason: Some("a loop device needs root".into()), ..Row::new("failing-disk", "run") },
        ]
    }

    #[test]
    fn the_table_has_what_was_tried_and_the_page_what_was_not() {
        assert!(!table(&rows()).contains("failing-disk"));
        let page = Page::new("cargo xtask chaos --seed 7", "2 cores", &rows()).render();
        assert!(page.contains("- `cargo xtask chaos --seed 7` on 2 cores: power-cut, failing-disk\n"), "{page}");
        assert!(page.contains("- failing-disk, run (20 skipped): a loop device needs root"), "{page}");
        assert!(
            page.contains("- power-cut, run: `plimsoll: it is so`") && page.contains("a second and 0.3 s"),
            "{page}"
        );
    }

    #[test]
    fn agents_have_a_table_of_their_own_that_a_page_without_them_keeps() {
        let all_ended_most = Some(Duration::from_millis(1500));
        let row = Row { tries: 4, all_ended_most, ..Row::new("agent-killed", "sweep") };
        let [own, _] = rows();
        insta::assert_snapshot!("table", table(&[own.clone(), row.clone()]));
        let page = Page::new("agents", "2 cores", &[row]);
        assert!(page.render().contains("| agent-killed | sweep | 4 |  |  |  |  |  |  |  | 0 |  | 0 | 1.50 s |\n"));
        assert_eq!(Page::read(&page.render()), page);
        let both = page.with(Page::new("own", "2 cores", &[own]));
        let agents = Page::read(&both.render()).of_agents();
        assert_eq!((agents.table.len(), agents.made.len()), (1, 1));
        let text = both.render();
        assert!(text.find("| power-cut | run | 40").expect("it stays") < text.find("## Agents").expect("a section"));
    }

    #[test]
    fn what_is_wrong_stands_out() {
        let [row, _] = rows();
        let table = table(&[Row { wrong: 1, left: 2, ..row }]);
        assert!(table.ends_with("| 1.04 s | 2 | 2 | **1** |\n"), "{table}");
    }

    #[test]
    fn endings_that_are_made_again_take_the_place_of_the_old_ones() {
        let [row, skipped] = rows();
        let sighup = Row { tries: 7, line: Some("plimsoll: a, b: c".into()), ..Row::new("sighup", "run") };
        let old = Page::new("old", "2 cores", &[row.clone(), sighup, skipped]);
        assert_eq!(Page::read(&old.render()), old);
        // One more verb, one that has nothing to say any more, and one that can be made now.
        let new = [
            Row { tries: 41, line: None, ..row },
            Row { tries: 2, ..Row::new("power-cut", "sweep") },
            Row { tries: 3, ..Row::new("failing-disk", "run") },
        ];
        let page = Page::read(&old.render()).with(Page::new("new", "4 cores", &new)).render();
        let is_row = |line: &&str| line.split(" | ").count() == COLUMNS.split(" | ").count();
        let rows: Vec<&str> = page.lines().filter(is_row).skip(2).collect();
        let begins = [
            "| power-cut | run | 41 |",
            "| power-cut | sweep | 2 |",
            "| failing-disk | run | 3 |",
            "| sighup | run | 7 |",
        ];
        assert!(rows.len() == 4 && rows.iter().zip(begins).all(|(row, begin)| row.starts_with(begin)), "{page}");
        assert!(page.contains("\n- `new` on 4 cores: power-cut, failing-disk\n- `old` on 2 cores: sighup\n"), "{page}");
        assert!(page.contains("- sighup, run: `plimsoll: a, b: c`") && !page.contains("it is so"), "{page}");
        assert!(!page.contains(SKIPPED), "{page}");
    }

    #[test]
    fn the_page_of_the_repository_was_written_by_this_program() {
        let page = workspace::read(PATH).expect("the page");
        assert_eq!(page, Page::read(&page).render(), "cargo xtask chaos --write-docs");
        let read = Page::read(&page);
        let told: BTreeSet<&str> = read.table.iter().chain(&read.skipped).map(|(ending, _)| ending.as_str()).collect();
        let all = ENDINGS.iter().chain(&OF_AGENTS).map(|ending| ending.name);
        let all: BTreeSet<&str> = all.chain(Hostile::ALL.map(Hostile::name)).chain([SERVERS]).collect();
        assert_eq!(told, all);
        assert!(told.iter().all(|ending| read.made.iter().any(|(made, _)| made == ending)), "{:?}", read.made);
    }
}
