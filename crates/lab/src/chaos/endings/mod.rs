//! The table of endings: what `chaos` makes, in this order.

mod agents;
mod clocks;
mod descriptors;
mod disk;
mod hangup;
mod power_cut;
mod removed;
mod streams;
mod suspended;

use super::ending::Ending;
pub(super) use agents::OF_AGENTS;

/// All of them; the page, the options and the tries are made of it.
pub(super) static ENDINGS: [Ending; 15] = [
    power_cut::POWER_CUT,
    disk::FULL,
    disk::FULL_PROFILE,
    disk::NO_ROOM,
    disk::FAILING,
    descriptors::NO_DESCRIPTORS,
    streams::FULL_STDOUT,
    streams::CLOSED,
    streams::STOPPED,
    hangup::SIGHUP,
    hangup::TERMINAL_GONE,
    removed::REMOVED,
    suspended::SUSPENDED,
    clocks::SUSPENSION_TOLD,
    clocks::CLOCK_STEPPED,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::ending::{Effect, When};
    use crate::chaos::setting::Place;
    use std::collections::BTreeSet;

    #[test]
    fn every_ending_has_a_name_of_its_own_and_says_how_it_is_made() {
        let all = || ENDINGS.iter().chain(&OF_AGENTS);
        let names: BTreeSet<&str> = all().map(|ending| ending.name).collect();
        assert_eq!(names.len(), ENDINGS.len() + OF_AGENTS.len());
        for ending in all() {
            assert!(ending.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", ending.name);
            assert!(ending.made.len() > 10 && ending.tries > 0 && !ending.verbs.is_empty(), "{}", ending.name);
        }
    }

    #[test]
    fn what_keeps_a_result_from_the_disk_has_to_be_said() {
        for ending in ENDINGS.iter().filter(|ending| ending.setting.place != Place::Ordinary || !ending.keeps_log) {
            assert!(!ending.says.is_empty() && ending.effect == Effect::GoesOn, "{}", ending.name);
        }
        assert!(ENDINGS.iter().all(|ending| !ending.must_say || !ending.says.is_empty()));
    }

    #[test]
    fn the_tries_of_an_ending_are_of_all_its_verbs_and_can_be_made_again() {
        for ending in &ENDINGS {
            let tried: BTreeSet<_> = (1..=ending.tries).map(|number| ending.verb(number)).collect();
            assert_eq!(tried, ending.verbs.iter().copied().collect(), "{}", ending.name);
            assert_eq!(ending.moment(3, 2), ending.moment(3, 2));
            assert!(ending.when == When::Start || ending.moment(3, 2) != ending.moment(4, 2));
        }
    }
}
