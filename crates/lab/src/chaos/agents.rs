//! `chaos --agents`: measurements with load of agents, of which somebody is killed.

use super::choice::{Choice, choose};
use super::fleet::{Means, Party};
use super::tries::{Case, Tries};
use crate::hosts::Network;
use std::path::Path;
use std::rc::Rc;

/// Machines that are network namespaces, or why there are none.
pub(super) struct Machines(Result<Rc<Network>, String>);

impl Machines {
    /// They serve with `program`, which is plimsoll.
    pub(super) fn new(program: &Path) -> Self {
        Self(Network::start(program).map(Rc::new))
    }

    /// Why some tries cannot be made, in a line.
    pub(super) fn missing(&self) -> Option<String> {
        let why = self.0.as_ref().err()?;
        Some(format!(
            "without root: tries with real ssh are skipped, those with agents on this machine are made ({why})"
        ))
    }
}

/// Makes the try of that number; where it stands, in words.
pub(super) fn make(tries: &mut Tries, machines: &Machines, number: u32) -> String {
    let Choice { ending, verb, means, has_server_host, is_served, which, is_new, moment } = choose(tries.seed, number);
    let network = (means == Means::Ssh).then_some(&machines.0);
    let missing = network.and_then(|network| network.as_ref().err()).cloned();
    let network = network.and_then(|network| network.as_ref().ok()).cloned();
    let party = Party { means, has_server_host, is_served, which, is_new, network };
    let words = format!("{}, {}, {party}", ending.name, verb.name());
    tries.add(&Case { ending, number, verb, moment, party: Some(&party) }, missing);
    words
}
