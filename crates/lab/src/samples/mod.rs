//! `cargo xtask samples`: the samples of README.md, the guide and the reference, each made by the command that its page shows.
//!
//! A comment in front of a `text` block says by which command it is made ([`Mark`]). The tests of `plimsoll` read the commands
//! of the pages by [`Page`] as well, and run all of them.

mod excerpt;
mod mark;
mod neutral;
mod page;
mod setting;
mod shell;
mod terminal;

pub use excerpt::{Choice, Excerpt};
pub use mark::Mark;
pub use page::{Block, Page};
pub use shell::split_unquoted;
pub use terminal::Width;

use anyhow::{Context, Result, ensure};
use setting::Setting;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xtask::workspace;

/// Folder of the pages whose commands are all run by a test, besides README.md.
const GUIDE: &str = "docs/guide";
/// Folder of the pages of which the samples alone are made.
const REFERENCE: &str = "docs/reference";

/// Samples of README.md, docs/guide and docs/reference: runs the command of each, and writes its output into the page. Needs
/// wrk, Chromium and the Debian packages of WordPress for the pages that show them, port 8080, and a quiet machine: half an hour
#[derive(Debug, clap::Args)]
pub struct Options {
    /// These pages alone, such as README.md or first-test.md
    #[arg(value_name = "PAGE")]
    pages: Vec<String>,
    /// Another plimsoll than the release build, which is made otherwise
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// README.md and the pages of the guide, in the order of their names.
///
/// # Errors
/// When one cannot be read.
pub fn pages() -> Result<Vec<Page>> {
    let mut pages = vec![Page::read("README.md".to_owned())?];
    pages.extend(pages_in(GUIDE)?);
    Ok(pages)
}

/// All pages that can have samples.
fn pages_with_samples() -> Result<Vec<Page>> {
    let mut pages = pages()?;
    pages.extend(pages_in(REFERENCE)?);
    Ok(pages)
}

/// The pages of a folder, in the order of their names.
fn pages_in(folder: &str) -> Result<Vec<Page>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join(folder)).with_context(|| format!("listing {folder}"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            paths.push(format!("{folder}/{name}"));
        }
    }
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

/// Makes the samples of these pages, or of all. A sample that cannot be made stays as it is, and is named at the end.
///
/// # Errors
/// When a page is unknown or has a wrong mark, plimsoll cannot be built, or a sample could not be made.
pub fn run(Options { pages: wanted, binary }: Options) -> Result<()> {
    let all = pages_with_samples()?;
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|page| page.is_called(name))) {
        anyhow::bail!("there is no page {unknown}: name README.md or a file of {GUIDE} or {REFERENCE}");
    }
    let mut outputs = Outputs { program: workspace::plimsoll(binary)?, made: BTreeMap::new() };
    let mut failures = Vec::new();
    for page in all.into_iter().filter(|page| wanted.is_empty() || wanted.iter().any(|name| page.is_called(name))) {
        failures.extend(renew(page, &mut outputs)?);
    }
    ensure!(failures.is_empty(), "samples that stay as they were:\n{}", failures.join("\n"));
    Ok(())
}

/// Makes the samples of a page and writes it; returns a line for each that could not be made.
fn renew(page: Page, outputs: &mut Outputs) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    let mut renewed = Vec::new();
    let blocks = page.blocks()?;
    let files = files(&blocks);
    for block in blocks {
        let Some(recipe) = Recipe::of(&block, &files) else { continue };
        match recipe.made(outputs) {
            Ok(text) => {
                say_if_verdict_changed(&block.text, &text);
                renewed.push((block.lines, text));
            }
            Err(error) => failures.push(format!("{}: {}: {error:#}", page.path, recipe.command)),
        }
    }
    let text = page.with(renewed);
    ensure!(workspace::read(&page.path)? == page.text, "{} was changed meanwhile: make its samples again", page.path);
    if text != page.text {
        workspace::write(&page.path, &text)?;
    }
    Ok(failures)
}

/// The files that a page shows: name and content.
fn files(blocks: &[Block<'_>]) -> BTreeMap<String, String> {
    let named = blocks.iter().flat_map(|block| block.marks.iter().map(move |mark| (mark, &block.text)));
    named
        .filter_map(|(mark, text)| if let Mark::File(name) = mark { Some((name.clone(), text.clone())) } else { None })
        .collect()
}

/// The first word of a sample is its verdict, and the page may explain another one: on a busy machine for example.
fn say_if_verdict_changed(before: &str, now: &str) {
    let verdict = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let (before, now) = (verdict(before), verdict(now));
    if before != now {
        eprintln!("     it began with \"{before}\" before: does the page still fit \"{now}\"?");
    }
}

/// How a sample is made.
struct Recipe {
    command: String,
    width: Width,
    excerpt: Excerpt,
    /// What is started or run before the command, in this order.
    before: Vec<Mark>,
    /// What the command finds in its directory: name and content.
    files: BTreeMap<String, String>,
}

impl Recipe {
    /// None where the block is no sample.
    fn of(block: &Block<'_>, files: &BTreeMap<String, String>) -> Option<Self> {
        let sample = block.marks.iter().find_map(|mark| match mark {
            Mark::Sample { command, width, excerpt } => Some((command.clone(), *width, excerpt.clone())),
            _ => None,
        });
        let (command, width, excerpt) = sample?;
        let is_before = |mark: &&Mark| matches!(mark, Mark::Server(_) | Mark::Beside(_) | Mark::First(_));
        let before = block.marks.iter().filter(is_before).cloned().collect();
        Some(Self { command, width, excerpt, before, files: files.clone() })
    }

    fn made(&self, outputs: &mut Outputs) -> Result<String> {
        let output = outputs.of(self)?;
        eprintln!("     {}", output.lines().find(|line| !line.is_empty()).unwrap_or("(no output)"));
        self.excerpt.of(&output)
    }
}

/// What commands have printed: a sample on several pages is one measurement.
struct Outputs {
    program: PathBuf,
    made: BTreeMap<(String, Width, Vec<Mark>), String>,
}

impl Outputs {
    fn of(&mut self, recipe: &Recipe) -> Result<String> {
        let key = (recipe.command.clone(), recipe.width, recipe.before.clone());
        if let Some(made) = self.made.get(&key) {
            return Ok(made.clone());
        }
        eprintln!("$ {}", recipe.command);
        let output = printed(&self.program, recipe)?;
        self.made.insert(key, output.clone());
        Ok(output)
    }
}

/// The output of a command in a directory of its own, after what comes before it.
fn printed(program: &Path, recipe: &Recipe) -> Result<String> {
    let mut setting = Setting::new(program)?;
    for (name, content) in &recipe.files {
        setting.write(name, content)?;
    }
    for mark in &recipe.before {
        match mark {
            Mark::Server(command) => setting.serve(command)?,
            Mark::Beside(command) => setting.start(command).map(drop)?,
            Mark::First(command) => drop(setting.output(command, Width::Usual)?),
            Mark::Sample { .. } | Mark::File(_) => {}
        }
    }
    setting.output(&recipe.command, recipe.width)
}

#[cfg(test)]
mod tests {
    use super::{Mark, Page, pages_with_samples};

    /// `text` blocks that no command of their page makes: page, begin of the first line, reason.
    const NOT_MADE: [(&str, &str, &str); 15] = [
        ("docs/guide/how-many-users.md", "requests per second = ", "a formula, and no output"),
        ("docs/reference/agents.md", "waiting 120s for 2 agents;", "several machines, and whoever has no token"),
        ("docs/reference/agents.md", "run                    4521 good", "a cluster, by `cargo xtask kubernetes`"),
        ("docs/reference/agents.md", "limiter      network-limited", "a network of a known speed"),
        ("docs/reference/agents.md", "baseline         'fast'", "several machines"),
        ("docs/reference/experiment.md", "plimsoll: pools.toml:2:1:", "errors, which tests hold"),
        ("docs/reference/experiment.md", "plimsoll: --output pools:", "an error, which a test holds"),
        ("docs/reference/history.md", "series       comparison,", "results of a month, which are simulated"),
        ("docs/reference/history.md", "series       run,", "results of a month, which are simulated"),
        (
            "docs/reference/packages.md",
            "VALID        all validity checks passed",
            "a bare machine, by `cargo xtask first-verdict`",
        ),
        ("docs/reference/requests.md", "# weight 1, GET", "a file, and no output"),
        ("docs/reference/run.md", "plimsoll: load.toml:4:1:", "an error, which a test holds"),
        ("docs/reference/wordpress.md", "warning: import: 1 posts", "an export, of which a test makes one"),
        ("docs/reference/wordpress.md", "CPU per good response ", "the ladder with profiles, by `cargo xtask ladder`"),
        ("docs/reference/wordpress.md", "plimsoll: mariadbd, ", "errors, which tests hold"),
    ];

    /// The `text` blocks of a page that are neither made by a command of the page nor a file that its commands read.
    fn unmade(page: &Page) -> Vec<String> {
        let commands = page.command_lines().unwrap();
        let is_made = |mark: &Mark| match mark {
            Mark::Sample { command, .. } => commands.contains(command),
            Mark::File(name) => commands.iter().any(|command| command.contains(name.as_str())),
            Mark::Server(_) | Mark::Beside(_) | Mark::First(_) => false,
        };
        let blocks = page.blocks().unwrap().into_iter();
        let unmade = blocks.filter(|block| block.language == "text" && !block.marks.iter().any(is_made));
        unmade.map(|block| block.text.lines().next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn every_text_block_is_made_by_a_command_of_its_page_or_says_why_not() {
        let mut found = Vec::new();
        for page in pages_with_samples().unwrap() {
            found.extend(unmade(&page).into_iter().map(|first_line| (page.path.clone(), first_line)));
        }
        let is_listed = |(found, listed): (&(String, String), &(&str, &str, &str))| {
            found.0 == listed.0 && found.1.starts_with(listed.1)
        };
        assert!(
            found.len() == NOT_MADE.len() && found.iter().zip(&NOT_MADE).all(is_listed),
            "each needs a mark such as `<!-- sample: plimsoll sweep -->`, or a line of NOT_MADE: {found:#?}"
        );
    }

    #[test]
    fn a_sample_whose_command_its_page_does_not_show_is_found() {
        let of = |mark: &str| {
            let text = format!("```sh\nplimsoll sweep   # a comment\n```\n\n{mark}\n```text\nVALID\n```\n");
            unmade(&Page { path: "page.md".into(), text })
        };
        assert!(of("<!-- sample: plimsoll sweep -->").is_empty());
        assert_eq!(of("<!-- sample: plimsoll run -->"), ["VALID"]);
        assert_eq!(of("<!-- server: plimsoll target -->"), ["VALID"]);
        assert_eq!(of("<!-- file: mix.txt -->"), ["VALID"]);
        assert_eq!(of("Text."), ["VALID"]);
    }
}
