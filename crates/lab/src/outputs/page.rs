//! What `audit` reads in the kept outputs, beside what the server did.

use std::path::Path;

use anyhow::{Context, Result};
use audit::Audited;

use super::server::{Fault, Truth};
use super::tool::TOOLS;
use super::{CASES, Fixture};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/outputs.md";

const INTRODUCTION: &str = "\
Made by `cargo xtask outputs --write-docs`. Each tool met servers that fail in a known way; the table has the share of failed
requests that [`plimsoll audit`](../reference/audit.md) reads in what the tool printed.

- One share: the server has counted the same, but for what was on its way when the tool's time was up.
- Two shares: what is read, and what the server has counted; the output does not tell. `audit` says of the rule in brackets that
  it is *not checked*. hey, vegeta and bombardier send a request again, unseen, when its connection breaks, and print nothing of
  it.
- *measured nothing*: refused, as the tool got no answer.
";

/// The page.
///
/// # Errors
/// If a fixture cannot be read.
pub(super) fn render(fixtures: &[Fixture], folder: &Path) -> Result<Page> {
    let mut table = Table::new(&format!("output | version | command | {}", CASES.map(|(name, _)| name).join(" | ")));
    for tool in &TOOLS {
        let of_case = |case: &str| fixtures.iter().find(|fixture| fixture.file == tool.file(case));
        let Some(first) = of_case(CASES[0].0) else { continue };
        let mut cells = vec![tool.form.to_owned(), first.version.clone(), format!("`{}`", tool.command)];
        for (case, _) in CASES {
            cells.push(of_case(case).map_or_else(|| Ok(String::new()), |fixture| cell(fixture, folder))?);
        }
        table.texts(cells);
    }
    let cases = CASES.map(|(name, fault)| format!("*{name}*: {}", does(fault)));
    Ok(Page::new("Outputs of other tools").block(INTRODUCTION).block("The servers:").list(cases).block(table))
}

/// What a server does.
fn does(fault: Fault) -> String {
    match fault {
        Fault::None => "answers each request".to_owned(),
        Fault::Status(status, 1) => format!("status {status} for each"),
        Fault::Status(status, every) => format!("status {status} for 1 in {every}"),
        Fault::Close(every) => format!("closes the connection without an answer to 1 in {every}"),
        Fault::Cut(every) => format!("closes it within the body of 1 in {every}"),
        Fault::Refused => "nobody listens".to_owned(),
    }
}

fn cell(fixture: &Fixture, folder: &Path) -> Result<String> {
    let path = folder.join(&fixture.file);
    let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    Ok(match audit::audit(&fixture.file, &bytes, &audit::Context::default()) {
        Ok(audited) => shares(&audited, fixture.truth, fixture.slack),
        Err(audit::Unreadable::NotStarted { .. }) => "measured nothing".to_owned(),
        Err(error) => format!("refused: {error}"),
    })
}

/// The share read, and the server's where it is another.
fn shares(audited: &Audited, truth: Truth, slack: u64) -> String {
    let Truth { good, bad_status, redirects, broken, .. } = truth;
    let failed = bad_status + redirects + broken;
    let all = good + failed;
    let counted = if all == 0 { 1.0 } else { failed as f64 / all as f64 };
    let Some(read) = audited.record.failed_share else { return format!("none, {}", percent(counted)) };
    if (read - counted).abs() <= (slack as f64 + 0.5) / all.max(1) as f64 {
        return percent(read);
    }
    // The rule that such failures break.
    let rule = match truth {
        Truth { redirects: 1.., .. } => Some("ER-02"),
        Truth { cut: 1.., .. } => Some("ER-03"),
        _ => None,
    };
    let unchecked = &audited.record.verdict.unchecked;
    let untold = rule.filter(|rule| unchecked.iter().any(|one| one == rule));
    let untold = untold.map_or_else(String::new, |rule| format!(" ({rule})"));
    format!("{}, {}{untold}", percent(read), percent(counted))
}

fn percent(share: f64) -> String {
    let percent = format!("{:.1}", 100.0 * share);
    format!("{} %", percent.strip_suffix(".0").unwrap_or(&percent))
}

#[cfg(test)]
mod tests {
    use super::super::{FOLDER, stored};
    use super::{PATH, percent, render};
    use xtask::workspace;

    #[test]
    fn the_page_is_of_the_outputs_that_are_kept() {
        let folder = workspace::root().join(FOLDER);
        let page = render(&stored(&folder).unwrap(), &folder).unwrap().to_string();
        assert!(page == workspace::read(PATH).unwrap(), "write it: cargo xtask outputs --stored --write-docs");
        assert!(!page.contains("refused: ") && page.contains("measured nothing"), "{page}");
    }

    #[test]
    fn shares_have_a_digit_where_they_need_it() {
        assert_eq!([0.0, 0.25, 1.0 / 3.0, 1.0].map(percent), ["0 %", "25 %", "33.3 %", "100 %"]);
    }
}
