//! ER: were these the right answers, and did the server give them?

pub(super) mod bytes;
pub(super) mod cached;
pub(super) mod counted;
pub(super) mod drift;
pub(super) mod fast_failures;
pub(super) mod happened;
pub(super) mod mix_shift;
pub(super) mod refused;
pub(super) mod reuse;
