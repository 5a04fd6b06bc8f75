//! `cargo xtask ladder`: the WordPress ladder, measured, beside numbers that others have published.

mod layers;
mod page;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use model::ExperimentRecord;
use toml::{Table, Value};

use crate::machine;
use xtask::workspace;

/// Exit codes with a result: 0, a goal that was not met, not valid, inconclusive.
const WITH_RESULT: [i32; 4] = [0, 1, 4, 5];

/// The experiment wordpress-ladder: static file, PHP, WordPress with 1 to 25 workers, caches, writing. Prints its table; the
/// same command goes on where it was interrupted. All of it takes 60 minutes; needs the packages of WordPress
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Blocks; each measures every rung once
    #[arg(long, value_name = "N", default_value_t = 6)]
    blocks: u32,
    /// This rung alone; can be repeated
    #[arg(long, value_name = "RUNG", conflicts_with = "write_docs")]
    only: Vec<String>,
    /// Directory of the result [default: target/ladder, or target/wordpress-tables]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The experiment wordpress-tables in its place: 1 to 20 connections, rising rates, caches; 45 minutes
    #[arg(long)]
    tables: bool,
    /// Write docs/wordpress-ladder.md as well, or docs/wordpress-tables.md
    #[arg(long)]
    write_docs: bool,
}

/// Measures the ladder.
///
/// # Errors
/// If a rung does not exist, or the experiment ends without a result.
pub fn run(options: Options) -> Result<()> {
    let plimsoll = workspace::build_plimsoll()?;
    let (page, folder) =
        if options.tables { (page::TABLES, "target/wordpress-tables") } else { (page::LADDER, "target/ladder") };
    let printed = Command::new(&plimsoll).args(["experiment", page.experiment, "--print"]).output()?;
    ensure!(printed.status.success(), "plimsoll experiment --print: {}", String::from_utf8_lossy(&printed.stderr));
    let ladder = chosen(&String::from_utf8(printed.stdout)?, options.blocks, &options.only)?;
    let output = options.output.unwrap_or_else(|| workspace::root().join(folder));
    let file = tempfile::Builder::new().prefix(page.experiment).suffix(".toml").tempfile()?;
    std::fs::write(file.path(), ladder)?;
    let mut experiment = Command::new(&plimsoll);
    experiment.arg("experiment").arg(file.path()).arg("--output").arg(&output);
    let status = experiment.stdout(std::process::Stdio::null()).status()?;
    ensure!(status.code().is_some_and(|code| WITH_RESULT.contains(&code)), "the experiment ended with {status}");
    let path = output.join("run.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let record: ExperimentRecord = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    print!("{}", page::table(&record));
    if options.write_docs {
        workspace::write(page.path, &page::render(&page, &machine(), &record))?;
    }
    Ok(())
}

/// The ladder with so many blocks; of the rungs those in `only`, if there are any.
fn chosen(ladder: &str, blocks: u32, only: &[String]) -> Result<String> {
    let mut table: Table = ladder.parse()?;
    table.insert("repetitions".to_owned(), Value::from(i64::from(blocks)));
    if only.is_empty() {
        return Ok(table.to_string());
    }
    let is_chosen = |name: Option<&Value>| {
        name.and_then(Value::as_str).is_some_and(|name| only.iter().any(|chosen| chosen == name))
    };
    let rungs = table.get_mut("variants").and_then(|variants| variants.get_mut("list")).and_then(Value::as_array_mut);
    let rungs = rungs.context("the ladder has no rungs")?;
    for name in only {
        let is_there = rungs.iter().any(|rung| rung.get("name").and_then(Value::as_str) == Some(name));
        ensure!(is_there, "there is no rung {name:?}; plimsoll experiment NAME --print lists them");
    }
    rungs.retain(|rung| is_chosen(rung.get("name")));
    for rung in rungs.iter_mut().filter_map(Value::as_table_mut) {
        if !is_chosen(rung.get("after")) {
            rung.remove("after");
        }
    }
    let loads = table.get_mut("loads").and_then(Value::as_array_mut).context("the ladder has no loads")?;
    for load in loads.iter_mut() {
        if let Some(rungs) = load.get_mut("variants").and_then(Value::as_array_mut) {
            rungs.retain(|name| is_chosen(Some(name)));
        }
    }
    loads.retain(|load| load.get("variants").and_then(Value::as_array).is_none_or(|rungs| !rungs.is_empty()));
    Ok(table.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: &str = "repetitions = 6\nserve = \"{server}\"\n\
        [[variants.list]]\nname = \"1 worker\"\nserver = \"a\"\n\
        [[variants.list]]\nname = \"2 workers\"\nserver = \"b\"\nafter = \"1 worker\"\n\
        [[loads]]\nname = \"few\"\nvariants = [\"1 worker\"]\n[[loads]]\nname = \"many\"\nvariants = [\"2 workers\"]\n";

    fn rungs(text: &str) -> Table {
        text.parse().expect("TOML")
    }

    #[test]
    fn all_rungs_are_measured_in_as_many_blocks_as_asked() {
        let table = rungs(&chosen(LADDER, 2, &[]).expect("the ladder"));
        assert_eq!((table["repetitions"].as_integer(), &table["variants"]), (Some(2), &rungs(LADDER)["variants"]));
    }

    #[test]
    fn a_rung_alone_refers_to_no_other() {
        let table = rungs(&chosen(LADDER, 1, &["2 workers".to_owned()]).expect("a rung"));
        let list = table["variants"]["list"].as_array().expect("a list");
        assert!(list.len() == 1 && list[0].get("after").is_none(), "{list:?}");
        let loads = table["loads"].as_array().expect("a list");
        assert!(loads.len() == 1 && loads[0]["name"].as_str() == Some("many"), "{loads:?}");
        let error = chosen(LADDER, 1, &["3 workers".to_owned()]).expect_err("no such rung").to_string();
        assert!(error.starts_with("there is no rung \"3 workers\""), "{error}");
    }
}
