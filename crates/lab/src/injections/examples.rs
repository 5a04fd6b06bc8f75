//! What each rule says of the fault that is made up for it, as the catalogue shows it: written, as the product has no made-up loads.

use anyhow::{Context, Result};
use judge::RenderClaim;
use model::{Finding, Verdict};
use std::collections::BTreeMap;
use xtask::workspace;

use super::made_up::verdict_of;

/// Where the catalogue has them.
const FILE: &str = "crates/audit/src/examples.json";

/// What each rule says of the fault that is made up for it (crates/audit/src/examples.json)
#[derive(Debug, clap::Args)]
pub struct Options {}

/// Writes the file.
///
/// # Errors
/// When it cannot be written.
pub fn run(_: Options) -> Result<()> {
    workspace::write(FILE, &text()?)
}

fn text() -> Result<String> {
    Ok(serde_json::to_string_pretty(&examples()).context("writing the examples")? + "\n")
}

/// By the id of the rule.
fn examples() -> BTreeMap<&'static str, Finding> {
    let of_loads = judge::rules().iter().filter_map(|rule| Some((rule.id, verdict_of(faults::fault(rule.id)?))));
    let of_pages = judge::render_rules().iter().filter_map(|rule| {
        let loads = [faults::page_fault(rule.id)?];
        Some((rule.id, judge::judge_render(&RenderClaim { loads: &loads, blocks: 10, is_server_here: true })))
    });
    let own = |(id, verdict): (&'static str, Verdict)| {
        let finding = verdict.findings.iter().find(|finding| finding.rule == id)?;
        // The catalogue shows each rule by itself.
        Some((id, Finding { remedy: judge::full_remedy(&verdict, finding).to_owned(), ..finding.clone() }))
    };
    of_loads.chain(of_pages).filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_shows_what_the_rules_say_now() {
        let shown = std::fs::read_to_string(workspace::root().join(FILE)).expect("it is there");
        assert_eq!(text().expect("it is text"), shown, "write it again: cargo xtask docs");
    }
}
