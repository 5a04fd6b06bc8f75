//! `cargo xtask ladder`: the WordPress ladder, measured, beside numbers that others have published.

mod layers;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use model::ExperimentRecord;
use toml::{Table, Value};

use xtask::workspace;

/// Exit codes with a result: 0, a goal that was not met, not valid, inconclusive.
const WITH_RESULT: [i32; 4] = [0, 1, 4, 5];
/// Servers whose PHP functions can be sampled.
const OF_PHP: [&str; 2] = ["wordpress", "php-fpm"];

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
    /// A flame graph of each rung as well, and one of its PHP functions, which costs CPU time; needs php-excimer
    #[arg(long, conflicts_with = "write_docs")]
    profile: bool,
    /// Write docs/lab/wordpress-ladder.md as well, or docs/lab/wordpress-tables.md
    #[arg(long)]
    write_docs: bool,
}

impl Options {
    fn page(&self) -> page::Page {
        if self.tables { page::TABLES } else { page::LADDER }
    }
}

/// Measures the ladder.
///
/// # Errors
/// If a rung does not exist, or the experiment ends without a result.
pub fn run(options: Options) -> Result<()> {
    let plimsoll = workspace::build_plimsoll()?;
    let page = options.page();
    let output = options.output.clone().unwrap_or_else(|| workspace::root().join(page.folder));
    let path = output.join("run.json");
    match read(&path) {
        Ok(record) if is_complete(&record, options.blocks) => {
            eprintln!("{} is complete; remove it to measure again", output.display());
        }
        _ => measure(&plimsoll, &options, &output)?,
    }
    let record = read(&path)?;
    print!("{}", report::experiment_rows(&record));
    layers::table(&record).iter().for_each(|layers| print!("\n{layers}"));
    if options.write_docs {
        page::render(&page, &record).write(page.path)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<ExperimentRecord> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// True if no step of so many blocks is left to be made.
fn is_complete(record: &ExperimentRecord, blocks: u32) -> bool {
    record.plan.repetitions == u64::from(blocks)
        && !record.interrupted
        && record.rows.iter().all(|row| row.missing == 0)
}

/// Measures it into `output`, where it goes on.
fn measure(plimsoll: &Path, options: &Options, output: &Path) -> Result<()> {
    let page = options.page();
    let printed = Command::new(plimsoll).args(["experiment", page.experiment, "--print"]).output()?;
    ensure!(printed.status.success(), "plimsoll experiment --print: {}", String::from_utf8_lossy(&printed.stderr));
    let ladder = chosen(&String::from_utf8(printed.stdout)?, options)?;
    let file = tempfile::Builder::new().prefix(page.experiment).suffix(".toml").tempfile()?;
    std::fs::write(file.path(), ladder)?;
    let mut experiment = Command::new(plimsoll);
    experiment.arg("experiment").arg(file.path()).arg("--output").arg(output);
    let status = experiment.stdout(std::process::Stdio::null()).status()?;
    ensure!(status.code().is_some_and(|code| WITH_RESULT.contains(&code)), "the experiment ended with {status}");
    Ok(())
}

/// The ladder with so many blocks, with profiles if they are asked for; of the rungs those in `only`, if there are any.
fn chosen(ladder: &str, options: &Options) -> Result<String> {
    let mut table: Table = ladder.parse()?;
    table.insert("repetitions".to_owned(), Value::from(i64::from(options.blocks)));
    if options.profile {
        profile(&mut table)?;
    }
    if !options.only.is_empty() {
        keep_only(&mut table, &options.only, options.page().experiment)?;
    }
    Ok(table.to_string())
}

/// Has a profile made of each rung, and of its PHP functions where it has PHP.
fn profile(table: &mut Table) -> Result<()> {
    let flags = table.get_mut("flags").and_then(Value::as_table_mut).context("the ladder has no flags")?;
    flags.insert("profile".to_owned(), Value::from(true));
    for rung in rungs_of(table)?.iter_mut().filter_map(Value::as_table_mut) {
        let Some(Value::String(server)) = rung.get_mut("server") else { continue };
        if OF_PHP.iter().any(|name| server.split(' ').next() == Some(*name)) {
            server.push_str(" php_profile=cpu");
        }
    }
    Ok(())
}

fn rungs_of(table: &mut Table) -> Result<&mut Vec<Value>> {
    let rungs = table.get_mut("variants").and_then(|variants| variants.get_mut("list")).and_then(Value::as_array_mut);
    rungs.context("the ladder has no rungs")
}

/// Takes all rungs but these out of it, and what is only for others.
fn keep_only(table: &mut Table, only: &[String], experiment: &str) -> Result<()> {
    let is_chosen = |name: Option<&Value>| {
        name.and_then(Value::as_str).is_some_and(|name| only.iter().any(|chosen| chosen == name))
    };
    let rungs = rungs_of(table)?;
    for name in only {
        let is_there = rungs.iter().any(|rung| rung.get("name").and_then(Value::as_str) == Some(name));
        ensure!(is_there, "there is no rung {name:?}; plimsoll experiment {experiment} --print lists them");
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
    // A comparison is of all of them.
    loads.retain(|load| load.get("verb").and_then(Value::as_str) != Some("compare"));
    loads.retain(|load| load.get("variants").and_then(Value::as_array).is_none_or(|rungs| !rungs.is_empty()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LADDER: &str = "repetitions = 6\nserve = \"{server}\"\n[flags]\nduration = \"8s\"\n\
        [[variants.list]]\nname = \"1 worker\"\nserver = \"php-fpm children=1\"\n\
        [[variants.list]]\nname = \"2 workers\"\nserver = \"b\"\nafter = \"1 worker\"\n\
        [[loads]]\nname = \"few\"\nvariants = [\"1 worker\"]\n[[loads]]\nname = \"many\"\nvariants = [\"2 workers\"]\n";

    fn options(blocks: u32, only: &[&str]) -> Options {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        Options { blocks, only, tables: false, output: None, profile: false, write_docs: false }
    }

    fn rungs(text: &str) -> Table {
        text.parse().expect("TOML")
    }

    #[test]
    fn all_rungs_are_measured_in_as_many_blocks_as_asked() {
        let table = rungs(&chosen(LADDER, &options(2, &[])).expect("the ladder"));
        assert_eq!((table["repetitions"].as_integer(), &table["variants"]), (Some(2), &rungs(LADDER)["variants"]));
        assert_eq!(table["flags"], rungs(LADDER)["flags"]);
        let profiled = Options { profile: true, ..options(1, &[]) };
        let table = rungs(&chosen(LADDER, &profiled).expect("the ladder"));
        assert_eq!(
            (table["flags"]["profile"].as_bool(), table["flags"]["duration"].as_str()),
            (Some(true), Some("8s"))
        );
        assert_eq!(table["variants"]["list"][0]["server"].as_str(), Some("php-fpm children=1 php_profile=cpu"));
        assert_eq!(table["variants"]["list"][1]["server"].as_str(), Some("b"), "no PHP");
    }

    #[test]
    fn a_rung_alone_refers_to_no_other() {
        let table = rungs(&chosen(LADDER, &options(1, &["2 workers"])).expect("a rung"));
        let list = table["variants"]["list"].as_array().expect("a list");
        assert!(list.len() == 1 && list[0].get("after").is_none(), "{list:?}");
        let loads = table["loads"].as_array().expect("a list");
        assert!(loads.len() == 1 && loads[0]["name"].as_str() == Some("many"), "{loads:?}");
        let error = chosen(LADDER, &options(1, &["3 workers"])).expect_err("no such rung").to_string();
        assert!(error.starts_with("there is no rung \"3 workers\""), "{error}");
    }
}
