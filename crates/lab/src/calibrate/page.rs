//! `docs/lab/calibration.md`.

use super::section::Section;
use crate::markdown::Page;

pub(super) const PATH: &str = "docs/lab/calibration.md";

const INTRODUCTION: &str = "\
Everything here is simulated, in virtual time and from fixed seeds: the same call gives the same page. A goal that is
missed is named, and makes the program fail.
";

/// The page.
pub(super) fn render(runs: u64, sections: &[Section]) -> Page {
    let missed = missed(sections);
    let outcome = if missed.is_empty() { "All goals are met." } else { "Goals missed:" };
    let made = format!("Made by `cargo xtask calibrate --runs {runs}`: {runs} runs behind each figure. {outcome}");
    let page = Page::new("Calibration").block(made).list(missed).block(INTRODUCTION);
    sections.iter().fold(page, |page, section| page.part(&section.page))
}

/// Goals that were missed.
pub(super) fn missed(sections: &[Section]) -> Vec<String> {
    sections.iter().flat_map(|section| section.missed.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_that_are_missed_stand_before_the_parts() {
        let part = || Section { page: Page::default().section("Queues").block("A text."), missed: Vec::new() };
        insta::assert_snapshot!("met", render(60, &[part()]));
        let missed = vec!["bracket: 90.0 %".to_owned(), "power: 70.0 %".to_owned()];
        insta::assert_snapshot!("missed", render(60, &[part(), Section { missed, ..part() }]));
    }
}
