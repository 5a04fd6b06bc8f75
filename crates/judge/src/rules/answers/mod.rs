//! ER: correctness and origin of the responses.

pub(crate) mod bytes;
pub(crate) mod cached;
pub(crate) mod censored;
pub(crate) mod coding;
pub(crate) mod counted;
pub(crate) mod drift;
pub(crate) mod errors;
pub(crate) mod fast_failures;
pub(crate) mod fruitless;
pub(crate) mod happened;
pub(crate) mod mix_shift;
pub(crate) mod other_body;
pub(crate) mod outage;
pub(crate) mod redirect;
pub(crate) mod refused;
pub(crate) mod reuse;
pub(crate) mod wrong_body;
