//! `cargo xtask examined`: commands and servers that plimsoll once answered wrongly, each held against its right answer.

mod commands;
mod page;
mod servers;

use crate::injections::real::scripted;
use crate::progress::each;
use crate::{is_wanted, machine, zoo};
use anyhow::{Result, bail, ensure};
use std::path::{Path, PathBuf};
use xtask::{packages, workspace};

/// Forecast of the time of a script; s.
const SCRIPT_S: f64 = 15.0;

/// A question whose answer was wrong, or could be.
pub struct Case {
    /// Name, as `--only` has it.
    pub name: &'static str,
    /// The command or the server, in a few words.
    pub what: &'static str,
    /// The right answer, in a sentence.
    pub right: &'static str,
    /// How that is seen.
    pub seen: Seen,
}

/// How it is seen whether the answer is right.
pub enum Seen {
    /// By what a script prints.
    Printed {
        /// Programs that it takes.
        needs: &'static [&'static str],
        /// Bash that measures with `say`, in the words of the preludes.
        script: &'static str,
        /// Words that are in it, all of them.
        has: &'static [&'static str],
        /// Words that are not.
        lacks: &'static [&'static str],
    },
    /// By a set-up of the zoo.
    Zoo(&'static str),
    /// By a test of this name.
    Test(&'static str),
}

/// What came of a case.
enum Outcome {
    Right,
    /// Words that are missing, or that should be.
    Wrong(String),
    /// Elsewhere: where.
    Elsewhere(String),
    /// It cannot be seen here.
    NotMeasured(String),
}

/// Commands and servers that once got a wrong answer, each held against the right one. Prints a table; fails on a wrong answer
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only these cases
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Another plimsoll than the one built here
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Print what each script has printed
    #[arg(long)]
    show: bool,
    /// Write docs/lab/examined.md as well
    #[arg(long, conflicts_with = "only")]
    write_docs: bool,
}

fn all() -> impl Iterator<Item = &'static Case> {
    [commands::ALL, servers::ALL].into_iter().flatten()
}

/// Asks, prints the table, and fails on a wrong answer.
///
/// # Errors
/// When a name in `--only` is unknown, plimsoll cannot be built, nothing could be seen, or an answer is wrong.
pub fn run(Options { only, binary, show, write_docs }: Options) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| !all().any(|case| case.name == **name)) {
        bail!("there is no case {unknown}");
    }
    let program = workspace::plimsoll(binary)?;
    let wanted: Vec<&Case> = all().filter(|case| is_wanted(&only, case.name)).collect();
    let forecast_s = |case: &Case| if matches!(case.seen, Seen::Printed { .. }) { SCRIPT_S } else { 0.0 };
    let wanted = each(wanted, |case| (case.name, forecast_s(case)));
    let rows: Vec<(&Case, Outcome)> = wanted.map(|case| (case, see(&program, case, show))).collect();
    println!("{}\n{}", page::table(&rows), page::sums(&rows));
    ensure!(rows.iter().any(|(_, outcome)| !matches!(outcome, Outcome::NotMeasured(_))), "nothing could be seen");
    if write_docs {
        page::render(&machine(), &rows).write(page::PATH)?;
    }
    let wrong: Vec<&str> =
        rows.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Wrong(_))).map(|(case, _)| case.name).collect();
    if wrong.is_empty() { Ok(()) } else { bail!("wrong: {}", wrong.join(", ")) }
}

fn see(program: &Path, case: &Case, show: bool) -> Outcome {
    let (needs, script, has, lacks) = match case.seen {
        Seen::Printed { needs, script, has, lacks } => (needs, script, has, lacks),
        Seen::Zoo(name) => {
            return Outcome::Elsewhere(format!("`{}` of the [zoo](bottleneck-tests.md)", zoo::named(name).name));
        }
        Seen::Test(name) => return Outcome::Elsewhere(format!("test `{name}`")),
    };
    if let Some(missing) = needs.iter().find(|program| packages::find(program).is_none()) {
        return Outcome::NotMeasured(format!("{missing} is not installed"));
    }
    let script = format!("{}\n{}\n{script}", include_str!("../zoo/prelude.sh"), include_str!("prelude.sh"));
    match scripted(program, &script) {
        Ok(printed) => {
            if show {
                println!("==== {}\n{printed}", case.name);
            }
            held_against(&printed, has, lacks)
        }
        Err(why) => Outcome::NotMeasured(why),
    }
}

fn held_against(printed: &str, has: &[&str], lacks: &[&str]) -> Outcome {
    // Lines of a terminal are broken between words.
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing = has.iter().filter(|words| !printed.contains(**words)).map(|words| format!("no \"{words}\""));
    let present = lacks.iter().filter(|words| printed.contains(**words)).map(|words| format!("\"{words}\""));
    let wrong: Vec<String> = missing.chain(present).collect();
    if wrong.is_empty() { Outcome::Right } else { Outcome::Wrong(wrong.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_case_has_a_name_of_its_own_and_something_that_can_be_wrong() {
        let names: BTreeSet<_> = all().map(|case| case.name).collect();
        assert_eq!(names.len(), all().count());
        for case in all() {
            assert!(!case.right.is_empty(), "{}", case.name);
            if let Seen::Printed { has, lacks, .. } = case.seen {
                assert!(!has.is_empty() || !lacks.is_empty(), "{}", case.name);
            }
        }
    }

    /// Reads the files below a directory, one behind the other.
    fn read_all(directory: &Path, text: &mut String) {
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            match entry.path() {
                path if path.is_dir() => read_all(&path, text),
                path => text.push_str(&std::fs::read_to_string(path).unwrap_or_default()),
            }
        }
    }

    /// A set-up or a test that is renamed would leave its row without an answer.
    #[test]
    fn what_is_seen_elsewhere_is_there() {
        let mut tests = String::new();
        for directory in ["crates/plimsoll/tests", "crates/judge/src", "crates/observe/src"] {
            read_all(&workspace::root().join(directory), &mut tests);
        }
        for case in all() {
            match case.seen {
                Seen::Printed { .. } => {}
                Seen::Zoo(name) => assert_eq!(zoo::named(name).name, name),
                Seen::Test(name) => assert!(tests.contains(&format!("fn {name}(")), "{name}"),
            }
        }
    }

    #[test]
    fn words_are_found_across_lines_and_what_should_not_be_there_is_told() {
        assert!(matches!(held_against("goodput\n  5/s", &["goodput 5/s"], &["INVALID"]), Outcome::Right));
        let Outcome::Wrong(why) = held_against("INVALID", &["VALID", "knee"], &["INVALID"]) else {
            panic!("it is wrong")
        };
        assert_eq!(why, "no \"knee\", \"INVALID\"");
    }
}
