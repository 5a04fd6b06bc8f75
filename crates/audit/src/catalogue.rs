//! Every rule in words: those of own measurements, those of other tools' output, and those that are not checked yet.

use crate::planned_rules;
use judge::{Check, Fires, RenderRule, Rule};
use model::{CatalogueRecord, FORMAT_RULES, Finding, FindingState, FiringText, RuleCard, RuleText, alike};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Families in the order in which a result is questioned.
const FAMILIES: [&str; 13] = ["CL", "ER", "LD", "ST", "SA", "PH", "NE", "SV", "EN", "PR", "CP", "RE", "RP"];
/// Ids that are named for one that is not there.
const NEAREST_MAX: usize = 3;

/// Rules of `audit` that `compare` judges by as well: the first its own blocks, all of them stored results.
const OF_COMPARISONS: [&str; 3] = ["CP-01", "CP-03", "CP-10"];

/// What each rule says of the fault that is made up for it, by id: `cargo xtask docs` writes it, and a test of the laboratory fails
/// when it is out of date.
static EXAMPLES: LazyLock<BTreeMap<String, Finding>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).expect("the examples are findings"));

/// All rules, each id once.
#[must_use]
pub fn catalogue() -> CatalogueRecord {
    let mut cards: Vec<RuleCard> =
        judge::rules().iter().map(own).chain(judge::render_rules().iter().map(of_render)).collect();
    for rule in crate::rules() {
        let text = text(rule.detects, rule.fires, rule.remarks, rule.data);
        match cards.iter_mut().find(|card| card.id == rule.id) {
            Some(card) => card.audit = Some(text),
            None => cards.push(RuleCard { audit: Some(text), ..empty(rule.id, rule.title.unwrap_or_default()) }),
        }
    }
    for rule in planned_rules() {
        cards.push(RuleCard { later: Some(rule.reason.to_owned()), ..empty(rule.id, rule.title) });
    }
    for card in &mut cards {
        card.states = states(card);
    }
    for card in cards.iter_mut().filter(|card| OF_COMPARISONS.contains(&card.id.as_str())) {
        card.judges.push("compare".to_owned());
    }
    for card in cards.iter_mut().filter(|card| card.audit.is_some()) {
        card.judges.push("audit".to_owned());
    }
    cards.sort_by_cached_key(|card| {
        let family = FAMILIES.iter().position(|family| card.id.starts_with(family));
        (family.unwrap_or(FAMILIES.len()), card.id.clone())
    });
    CatalogueRecord { format: FORMAT_RULES.to_owned(), rules: cards }
}

/// The ids most like `text`, which is none of them.
#[must_use]
pub fn nearest(text: &str) -> Vec<String> {
    let rules = catalogue().rules;
    let alike = alike(text, rules.iter().map(|card| card.id.as_str()));
    alike.into_iter().take(NEAREST_MAX).map(str::to_owned).collect()
}

fn own(rule: &Rule) -> RuleCard {
    let judges = match rule.check {
        // A rule of a run is asked of each point of a sweep.
        Check::Run(_) | Check::Both { .. } => ["run", "sweep"].as_slice(),
        Check::Sweep(_) => &["sweep"],
    };
    RuleCard {
        judges: judges.iter().map(|verb| (*verb).to_owned()).collect(),
        own: Some(text(rule.detects, rule.fires, rule.remarks, &rule.data())),
        example: example(rule.id),
        ..empty(rule.id, rule.title)
    }
}

fn of_render(rule: &RenderRule) -> RuleCard {
    RuleCard {
        judges: vec!["render".to_owned()],
        own: Some(text(rule.detects, rule.fires, rule.remarks, rule.data)),
        example: example(rule.id),
        ..empty(rule.id, rule.title)
    }
}

fn example(id: &str) -> Option<Finding> {
    EXAMPLES.get(id).cloned()
}

/// What a rule can make of a result, own or of another tool, the mildest first.
fn states(card: &RuleCard) -> Vec<FindingState> {
    let texts = [&card.own, &card.audit].into_iter().flatten();
    let states: BTreeSet<FindingState> = texts.flat_map(|text| &text.fires).map(|fires| fires.state).collect();
    states.into_iter().collect()
}

fn text(detects: &str, fires: &[Fires], remarks: &str, data: &str) -> RuleText {
    let firing = |fires: &Fires| FiringText { state: fires.state, when: fires.when.to_owned() };
    RuleText {
        detects: detects.to_owned(),
        fires: fires.iter().map(firing).collect(),
        remarks: Some(remarks).filter(|text| !text.is_empty()).map(str::to_owned),
        data: data.to_owned(),
    }
}

fn empty(id: &str, title: &str) -> RuleCard {
    RuleCard {
        id: id.to_owned(),
        title: title.to_owned(),
        states: Vec::new(),
        judges: Vec::new(),
        own: None,
        audit: None,
        example: None,
        later: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Reverse;

    #[test]
    fn every_rule_is_there_once_and_says_what_it_makes_of_a_result() {
        let cards = catalogue().rules;
        let ids: BTreeSet<_> = cards.iter().map(|card| card.id.as_str()).collect();
        assert_eq!(ids.len(), cards.len());
        for card in &cards {
            assert_eq!(card.later.is_some(), card.judges.is_empty(), "{}", card.id);
            assert!(FAMILIES.contains(&&card.id[..2]), "{}", card.id);
            assert!(!card.title.is_empty(), "{}", card.id);
            assert_eq!(card.later.is_some(), card.states.is_empty(), "{}", card.id);
        }
        let of = |id: &str| cards.iter().find(|card| card.id == id).expect("it is there");
        assert!(crate::rules().iter().all(|rule| rule.title.is_some() == of(rule.id).own.is_none()));
        assert_eq!(of("ER-01").judges, ["run", "sweep", "audit"]);
        assert_eq!(of("RP-10").judges, ["audit"]);
        assert_eq!(of("RE-01").judges, ["render"]);
        assert_eq!(of("SA-01").judges, ["sweep", "audit"]);
        assert!(cards.iter().position(|card| card.id == "CL-01") < cards.iter().position(|card| card.id == "NE-01"));
    }

    #[test]
    fn slips_are_recognised() {
        assert_eq!(nearest("er-20")[0], "ER-02");
        assert!(nearest("NE-1").contains(&"NE-01".to_owned()) && nearest("NE01").contains(&"NE-01".to_owned()));
        assert_eq!(nearest("goodput"), Vec::<String>::new());
    }

    #[test]
    fn each_state_stands_once_the_worst_first() {
        for card in catalogue().rules {
            for text in [card.own, card.audit].into_iter().flatten() {
                let states: Vec<_> = text.fires.iter().map(|fires| Reverse(fires.state)).collect();
                assert!(!states.is_empty() && states.is_sorted_by(|a, b| a < b), "{}: {states:?}", card.id);
            }
        }
    }

    /// Words that no text of a rule has fewer of: "any load: invalid" is none.
    const WORDS_MIN: usize = 5;

    #[test]
    fn rules_speak_in_whole_sentences() {
        let is_sentence = |text: &str| {
            text.starts_with(char::is_uppercase)
                && text.ends_with('.')
                && !text.contains(['<', '>', '≤', '≥'])
                && text.split_whitespace().count() >= WORDS_MIN
        };
        let mut fragments = Vec::new();
        for card in catalogue().rules {
            for RuleText { detects, fires, remarks, data } in [card.own, card.audit].into_iter().flatten() {
                let texts = fires.into_iter().map(|fires| fires.when).chain(remarks).chain([detects]);
                fragments.extend(texts.filter(|text| !is_sentence(text)).map(|text| format!("{}: {text}", card.id)));
                fragments.extend(data.contains(['<', '>']).then(|| format!("{}: {data}", card.id)));
            }
        }
        assert_eq!(fragments, Vec::<String>::new());
    }
}
