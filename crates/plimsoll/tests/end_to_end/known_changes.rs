//! Comparisons of a server of which the truth is known, as `cargo xtask comparisons` makes them, each of a single block.

use crate::support::skip;
use lab::comparisons::{Server, make_short_ones};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_comparison_of_either_kind_is_made_and_its_change_is_read() {
    if !Server::Go.can_be_had() {
        return skip("Go is not installed");
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    // The server is started as another user.
    set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("its permissions");
    let ratios = make_short_ones(env!("CARGO_BIN_EXE_plimsoll").as_ref(), Server::Go, folder.path());
    let ratios = ratios.unwrap_or_else(|error| panic!("{error:#}"));
    // A block of a second is far from exact: nothing but the order of magnitude is certain.
    assert!(ratios.len() == 2 && ratios.iter().all(|ratio| (0.5..2.0).contains(ratio)), "{ratios:?}");
}
