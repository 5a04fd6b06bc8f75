//! Version of the program: its number, and what tells one build from another.

use std::sync::LazyLock;

/// Commit of the sources; none of a development build, and of one without git.
const COMMIT: Option<&str> = option_env!("PLIMSOLL_BUILD_COMMIT");

/// What stands in its place.
const NO_COMMIT: &str = if cfg!(debug_assertions) { "development build" } else { "unknown commit" };

/// The number.
pub(super) const fn short() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The number with commit, C library and features: `0.1.0 (4a9fcb9f, musl, kubernetes)`.
pub(crate) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(described);
    &LONG
}

fn described() -> String {
    let commit = COMMIT.filter(|commit| !commit.is_empty()).unwrap_or(NO_COMMIT);
    let library = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
    let kubernetes = cfg!(feature = "kubernetes").then_some("kubernetes");
    let parts: Vec<&str> = [commit, library].into_iter().chain(kubernetes).collect();
    format!("{} ({})", short(), parts.join(", "))
}
