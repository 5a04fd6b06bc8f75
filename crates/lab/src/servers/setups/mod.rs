//! All set-ups.

mod debian;
mod node;
mod others;
mod python;

use super::setup::Setup;

/// All of them, in the order of the page.
pub(super) fn all() -> impl Iterator<Item = &'static Setup> {
    debian::SETUPS.iter().chain(&python::SETUPS).chain(&node::SETUPS).chain(&others::SETUPS)
}

#[cfg(test)]
mod tests {
    use super::super::setup::{Pages, WORDS};
    use super::all;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_enough_and_names_are_unique() {
        let names: BTreeSet<_> = all().map(|setup| setup.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 45, "{}", names.len());
    }

    #[test]
    fn each_listens_where_it_is_told_to() {
        for setup in all() {
            let texts = || setup.files.iter().map(|(_, text)| *text).chain([setup.start]);
            let has = |word: &str| texts().any(|text| text.contains(word));
            assert!(has("{port}"), "{}", setup.name);
            assert_eq!(has("{tls_port}"), setup.has_tls, "{}", setup.name);
            let is_files = matches!(setup.pages, Pages::Files | Pages::FilesWithoutDates);
            assert_eq!(has("{site}"), is_files, "{}", setup.name);
            // A word that nobody fills in.
            let all_words = texts().flat_map(words);
            assert!(all_words.into_iter().all(|word| WORDS.contains(&word.as_str())), "{}", setup.name);
        }
    }

    /// What stands in braces and is of lower case only; programs have other braces.
    fn words(text: &str) -> Vec<String> {
        let inside = text.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(word, _)| word));
        let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        inside.filter(is_word).map(|word| format!("{{{word}}}")).filter(|word| word != "{name}").collect()
    }
}
