//! Tests that the rules which [`model::bounding`] names for readers of results are there, and that their findings have the
//! figures by which they say so.

use crate::rules;
use crate::testing::{fault, verdict_of};
use model::{Quantile, bounding};

fn figures(id: &str) -> Vec<String> {
    let verdict = verdict_of(fault(id).unwrap_or_else(|| panic!("no fault was made up for {id}")));
    let finding = verdict.findings.into_iter().find(|finding| finding.rule == id);
    finding.unwrap_or_else(|| panic!("{id} is silent")).evidence.into_keys().collect()
}

fn has_any(id: &str, figure: fn(Quantile) -> String) -> bool {
    let figures = figures(id);
    Quantile::USUAL.into_iter().any(|quantile| figures.contains(&figure(quantile)))
}

#[test]
fn a_quantile_that_is_a_bound_or_withheld_is_named_as_its_readers_ask_for_it() {
    assert!(has_any(bounding::QUANTILE_WITHHELD, Quantile::tail_figure));
    assert!(has_any(bounding::QUANTILE_CUT, Quantile::at_least_figure));
    assert!(has_any(bounding::QUANTILE_DELAYED, Quantile::at_most_figure));
    assert!(figures(bounding::QUANTILE_CUT).iter().any(|name| name == bounding::UNANSWERED_FIGURE));
}

#[test]
fn each_rule_that_makes_a_goodput_a_bound_is_in_the_catalogue() {
    let all = bounding::PEAK_AT_LEAST
        .into_iter()
        .chain(bounding::GOODPUT_AT_LEAST)
        .chain([bounding::SHARED_CPUS, bounding::ALL_CONNECTIONS_BUSY]);
    for id in all {
        assert!(rules().iter().any(|rule| rule.id == id), "{id}");
    }
    assert!(rules().iter().any(|rule| rule.id.starts_with(bounding::CLIENT_FAMILY)));
}
