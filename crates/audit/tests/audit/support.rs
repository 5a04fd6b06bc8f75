//! Fixtures and what is asked of their audits.

use audit::{Audited, Context, audit};
use model::{FindingState, Verdict};
use std::path::{Path, PathBuf};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/fixtures")
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Audits a fixture without context.
#[track_caller]
pub(crate) fn plain(name: &str) -> Audited {
    with(name, &Context::default())
}

#[track_caller]
pub(crate) fn with(name: &str, context: &Context) -> Audited {
    audit(name, &bytes(name), context).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The state of a rule that fired, which is one of those that it names.
pub(crate) fn state(verdict: &Verdict, rule: &str) -> Option<FindingState> {
    let state = verdict.findings.iter().find(|finding| finding.rule == rule).map(|finding| finding.state)?;
    let named = audit::rules().iter().filter(|known| known.id == rule).flat_map(|known| known.fires);
    assert!(named.clone().any(|fires| fires.state == state), "{rule}: {state:?} is none of its states");
    Some(state)
}

/// Message of a rule that fired.
#[track_caller]
pub(crate) fn message<'a>(verdict: &'a Verdict, rule: &str) -> &'a str {
    let found = verdict.findings.iter().find(|finding| finding.rule == rule);
    &found.unwrap_or_else(|| panic!("{rule} did not fire: {verdict:#?}")).message
}
