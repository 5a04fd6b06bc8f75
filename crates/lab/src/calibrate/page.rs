//! `docs/calibration.md`.

use super::section::Section;

pub(super) const PATH: &str = "docs/calibration.md";

const INTRODUCTION: &str = "\
Everything here is simulated, in virtual time and from fixed seeds: the same call gives the same page. A goal that is
missed is named, and makes the program fail.
";

/// The page.
pub(super) fn render(runs: u64, sections: &[Section]) -> String {
    let parts: String = sections.iter().map(|section| section.text.as_str()).collect();
    let missed = match missed(sections) {
        missed if missed.is_empty() => "All goals are met.\n".to_owned(),
        missed => format!("Goals missed:\n\n- {}\n", missed.join("\n- ")),
    };
    format!(
        "# Calibration\n\nMade by `cargo xtask calibrate --runs {runs}`: {runs} runs behind each figure. {missed}\n\
         {INTRODUCTION}{parts}"
    )
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
        let part = || Section { text: "\n## Queues\n\nA text.\n".to_owned(), missed: Vec::new() };
        insta::assert_snapshot!("met", render(60, &[part()]));
        let missed = vec!["bracket: 90.0 %".to_owned(), "power: 70.0 %".to_owned()];
        insta::assert_snapshot!("missed", render(60, &[part(), Section { missed, ..part() }]));
    }
}
