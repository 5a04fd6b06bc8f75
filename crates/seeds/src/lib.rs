//! Inputs for tests that fuzz a parser a little: the committed ones, and changes of them.

use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;

/// Most edits of one input.
const EDITS: usize = 6;

/// Most bytes that one edit takes away.
const REMOVED_BYTES: usize = 12;

/// The files of a directory, in the order of names.
///
/// # Panics
/// When one of them cannot be read.
#[must_use]
pub fn read(directory: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).expect("seeds");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

/// One of the seeds with some edits, each of which puts a token in the place of some bytes.
///
/// The tokens are bits that change what such an input says: random bytes seldom do.
pub fn mutated(seeds: Vec<Vec<u8>>, tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<Index>(), 0..REMOVED_BYTES, prop::sample::select(tokens));
    (prop::sample::select(seeds), prop::collection::vec(edit, 0..EDITS)).prop_map(|(mut bytes, edits)| {
        for (at, length, token) in edits {
            let from = at.index(bytes.len() + 1);
            let to = bytes.len().min(from + length);
            drop(bytes.splice(from..to, token.bytes()));
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn an_edit_reaches_any_place(bytes in mutated(vec![b"abc".to_vec()], &["X"])) {
            prop_assert!(bytes.len() <= 3 + EDITS && bytes.iter().all(|byte| b"abcX".contains(byte)), "{bytes:?}");
        }
    }

    #[test]
    fn seeds_come_unchanged_and_changed() {
        use proptest::strategy::ValueTree as _;
        use proptest::test_runner::TestRunner;
        let (mut runner, strategy) = (TestRunner::deterministic(), mutated(vec![b"a".to_vec(), b"b".to_vec()], &["X"]));
        let all: HashSet<_> = (0..500).map(|_| strategy.new_tree(&mut runner).expect("a value").current()).collect();
        let wanted = [&b"a"[..], b"b", b"X", b"Xa", b"bX"];
        assert_eq!(wanted.map(|bytes| all.contains(bytes)), [true; 5], "{all:?}");
    }
}
